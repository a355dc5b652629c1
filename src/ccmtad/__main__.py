"""`python -m ccmtad`: the command line, where `ccmtad` is not on the path."""

from .cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()

"""The command line: one file per command; each parses, calls and prints."""

import sys

from ..errors import CcmtadError
from .wording import with_flags

__all__ = ["main"]


def main() -> None:
    """Runs `ccmtad`. Exit code 2 is bad input, with a message on standard error and no traceback."""
    try:
        from .app import app
    except ImportError as error:
        print(f"ccmtad: the command line needs {error.name}: pip install 'ccmtad[cli,train]'", file=sys.stderr)
        sys.exit(2)
    try:
        app()
    except CcmtadError as error:
        print(f"ccmtad: {with_flags(str(error))}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:  # a full disk under standard output, say
        print(f"ccmtad: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        print("ccmtad: the data must fit into memory; it does not", file=sys.stderr)
        sys.exit(2)

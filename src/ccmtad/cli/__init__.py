"""The command line: one file per command; each parses, calls and prints."""

import os
import sys
from typing import NoReturn

from ..errors import CcmtadError
from ..wording import printable
from .wording import with_flags

__all__ = ["main"]


def main() -> None:
    """Runs `ccmtad`. Exit code 2 is bad input, with a message on standard error and no traceback."""
    _open_streams()
    try:
        from .app import app
    except ImportError as error:
        _end(f"the command line needs {error.name}: pip install 'ccmtad[cli,train]'")
    try:
        app()
    except CcmtadError as error:
        _end(with_flags(str(error)))
    except BrokenPipeError:  # who reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk under standard output, say
        _end(str(error.strerror or error))
    except MemoryError:
        _end("the data must fit into memory; it does not")


def _open_streams() -> None:
    """A file name need not be text, nor the terminal know every letter: what cannot be written is written as an escape.
    Where a stream is closed, nothing is."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  for as long as the command runs
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _end(message: str) -> NoReturn:
    print(f"ccmtad: {printable(message)}", file=sys.stderr)
    sys.exit(2)

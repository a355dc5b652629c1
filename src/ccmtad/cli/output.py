"""Standard output, line by line: each whole or not at all, past any buffer, and never stuck for good."""

import os
import select
import stat
import sys
import threading

from ..errors import FileError

__all__ = ["Output", "standard"]

LOOK = 0.2  # seconds between two looks whether it was stopped


def standard(stream: object, name: str) -> int:
    """The descriptor of a standard stream, which may have been closed before we began."""
    try:
        return stream.fileno()  # type: ignore[attr-defined,no-any-return]
    except (AttributeError, ValueError, OSError):
        raise FileError(f"standard {name} must be open; it is closed") from None


class Output:
    """Lines to standard output. Once `stopped`, a reader that takes nothing is waited for no longer."""

    def __init__(self) -> None:
        self.descriptor = standard(sys.__stdout__, "output")  # as it was: the command may have put nothing in its place
        self.stopped = False
        self._turn = threading.Lock()  # several watches may write

    def write(self, line: bytes) -> None:
        """The whole line: where a disk is full, the half that was written is taken back."""
        with self._turn:
            self._write(line)

    def _write(self, line: bytes) -> None:
        status = os.fstat(self.descriptor)
        try:
            while line:
                line = line[self._some(line) :]
        except BrokenPipeError:
            raise  # as every command ends whose reader has gone
        except OSError as error:
            if stat.S_ISREG(status.st_mode):
                os.ftruncate(self.descriptor, status.st_size)
            raise FileError(f"standard output must take what is told; got {error.strerror}") from error

    def _some(self, line: bytes) -> int:
        while not select.select([], [self.descriptor], [], LOOK)[1]:
            if self.stopped:
                raise FileError("standard output must take what is told; it took nothing until the watch was stopped")
        try:
            return os.write(self.descriptor, line[: select.PIPE_BUF])  # so much never waits, and is never cut
        except BlockingIOError:  # others write there, too
            return 0

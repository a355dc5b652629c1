"""One state, one watch: a lock that its holder's death sets free, however it dies."""

import errno
import fcntl
import logging
import os
from pathlib import Path

from ..errors import FileError

__all__ = ["InUseError", "Lock"]

log = logging.getLogger("ccmtad")

UNLOCKABLE = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)  # some network file systems


class InUseError(FileError):
    """Another process holds it."""


class Lock:
    """Held from its making to `release`, by a file beside the state; refused where another process holds it."""

    def __init__(self, state: Path, what: str = "state", user: str = "watch") -> None:
        self._what, self._user = what, user  # as errors name them
        target = Path(os.path.realpath(state))  # two links to one state are one state
        self.path = target.with_name(f"{target.name}.lock")
        self.held = False
        try:
            while not self._taken(state):
                os.close(self._descriptor)
        except OSError as error:
            raise FileError(f"{what} must be writable; got {str(state)!r}: {error.strerror}") from error

    def _taken(self, state: Path) -> bool:
        """False where the file was removed by the one who held it while we opened it."""
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in UNLOCKABLE:
                log.warning("%s cannot be locked where it is: no other %s must use it", self._what, self._user)
                return True
            holder = os.pread(self._descriptor, 20, 0).decode(errors="replace")
            os.close(self._descriptor)
            if error.errno != errno.EWOULDBLOCK:
                raise
            who = f"process {holder}" if holder else "another process"
            raise InUseError(
                f"{self._what} must belong to one {self._user}; got {str(state)!r}, which {who} uses"
            ) from None
        try:
            self.held = os.path.samestat(os.fstat(self._descriptor), self.path.stat())
        except FileNotFoundError:
            return False
        if self.held:
            os.truncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)
        return self.held

    def release(self) -> None:
        """Another watch may have the state now."""
        if self._descriptor >= 0:
            if self.held:
                self.path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1

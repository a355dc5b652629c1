"""Which partitions are whose: workers share a folder, and a lock that its holder's death sets free is the claim."""

import contextlib
import fcntl
import math
import os
import random
import secrets
from pathlib import Path

from ..errors import FileError, SettingError
from .lock import InUseError, Lock

__all__ = ["Shares"]

MOST = 10_000
TRIES = 100


class Shares:
    """The partitions of a shared folder that are ours. Each worker looks now and then: who has more than a fair share
    gives some back, who has less takes what is free."""

    def __init__(self, folder: Path, number: int) -> None:
        if not 1 <= number <= MOST:
            raise SettingError(f"partitions must be 1 to {MOST:,}; got {number}")
        self.folder, self.number = folder, number
        try:
            folder.mkdir(parents=True, exist_ok=True)
            before = self._counted()
        except OSError as error:
            raise FileError(f"shared must be a folder to write to; got {str(folder)!r}: {error.strerror}") from error
        if before != str(number):
            raise SettingError(f"partitions must be {before}, as when the folder was new; got {number}")
        self._alive = self._signed_on()
        self._order = random.sample(range(number), number)  # so that two do not want the same first
        self.held: dict[int, Lock] = {}

    def _counted(self) -> str:
        """How many partitions the first worker of all wanted."""
        counted, draft = self.folder / "partitions", self.folder / f".{secrets.token_hex(8)}"
        draft.write_text(str(self.number))
        try:
            os.link(draft, counted)
        except FileExistsError:
            return counted.read_text()
        finally:
            draft.unlink()
        return str(self.number)

    def _signed_on(self) -> Lock:
        """A lock of our own by which others count us; one of them may look at it just now, and take it for left."""
        for _ in range(TRIES):
            with contextlib.suppress(InUseError):
                return self._locked(self.folder / f"worker-{secrets.token_hex(8)}")
        raise FileError(f"shared must be a folder where files can be locked; got {str(self.folder)!r}")

    def _locked(self, path: Path) -> Lock:
        lock = Lock(path)
        if not lock.held:
            lock.release()
            raise FileError(f"shared must be on a file system that has locks; got {str(self.folder)!r}")
        return lock

    def path(self, partition: int) -> Path:
        """The state of a partition."""
        return self.folder / f"partition-{partition:05d}.state"

    def _workers(self) -> int:
        """Those alive; what dead ones left is removed."""
        alive = 0
        for path in self.folder.glob("worker-*.lock"):
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink(missing_ok=True)
                except BlockingIOError:
                    alive += 1
        return max(alive, 1)

    def look(self) -> tuple[list[int], list[int]]:
        """Partitions that we have claimed now, and those that we should give back."""
        fair = math.ceil(self.number / self._workers())
        claimed = []
        for one in self._order:
            if len(self.held) >= fair:
                break
            if one not in self.held:
                try:
                    self.held[one] = self._locked(self.path(one))
                except InUseError:
                    continue
                claimed.append(one)
        return claimed, sorted(self.held)[fair:]

    def give_back(self, partition: int) -> None:
        """Another worker may have it now: its state is saved."""
        self.held.pop(partition).release()

    def close(self) -> None:
        """All is given back."""
        for one in list(self.held):
            self.give_back(one)
        self._alive.release()

"""Lines of JSON in a file: `file:///var/lib/plant/events.jsonl`, or `file://events.jsonl` in the folder one is in."""

import os
from collections.abc import Sequence
from pathlib import Path

from ...errors import SettingError
from ...files import check_writable
from ..alert import Standing
from . import Letter, Sink

__all__ = ["File"]


class File(Sink):
    """Appended, and forced to the disk."""

    name = "file"
    schemes = ("file",)

    def check(self) -> None:
        host = self.address.hosts[0][0] if self.address.hosts else ""
        self.path = Path(f"{host}/{self.address.path}" if self.address.path else host)
        if not self.path.name:
            raise SettingError(f"file:// must name a file; got {self.address.shown!r}")
        check_writable(self.path, "sink")

    def deliver(self, letters: Sequence[Letter], standings: Sequence[Standing]) -> None:  # noqa: ARG002
        if not letters:
            return
        with self.path.open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
            torn = b"\n" * (size > 0 and file.read(1) != b"\n")  # half a line, of a kill or a full disk
            try:
                file.write(torn + b"".join(letter.line + b"\n" for letter in letters))
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise

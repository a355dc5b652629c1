"""What a folder of models is of: one line of JSON for each entity, written as soon as it is known."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from .. import files
from ..errors import FileError

__all__ = ["NAME", "Entry", "Manifest"]

NAME = "fleet.jsonl"


@dataclass(frozen=True)
class Entry:
    """One entity of a fleet, as its last fit left it."""

    entity: str
    status: Literal["fitted", "failed"]
    file: str  # of its model, in the folder of the manifest
    data: str  # what it was fitted on
    fingerprint: str  # SHA-256 of that, of the settings, and of how it was read
    settings: Mapping[str, Any] = field(default_factory=dict)  # as given: the preset's fill the rest
    rows: int = 0
    channels: int = 0
    seconds: float = 0.0
    error: str = ""
    notes: Sequence[str] = ()  # what the fit warned of


class Manifest:
    """The entries of a folder by their entities. A last line that was cut off is dropped."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self.entries: dict[str, Entry] = {}
        if not self.path.exists():
            return
        whole = files.read(self.path)
        for number, line in enumerate(whole.split(b"\n")[:-1], 1):
            entry = _read(line, number, self.path)
            self.entries[entry.entity] = entry
        if not whole.endswith(b"\n") and whole:  # killed in the middle of a line
            os.truncate(self.path, whole.rfind(b"\n") + 1)

    def add(self, entry: Entry) -> None:
        """At once, at the end: whoever is killed now has it."""
        self.entries[entry.entity] = entry
        try:
            with self.path.open("ab") as file:
                file.write(_line(entry))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise FileError(f"models must take their manifest; got {str(self.path)!r}: {error.strerror}") from error

    def tidy(self) -> None:
        """One line for each entity, in the order of their names."""
        files.write(b"".join(_line(self.entries[name]) for name in sorted(self.entries)), self.path)


def _line(entry: Entry) -> bytes:
    return json.dumps(asdict(entry)).encode() + b"\n"


def _read(line: bytes, number: int, path: Path) -> Entry:
    try:
        found = json.loads(line)
        entry = Entry(**{one.name: found[one.name] for one in fields(Entry)})
        if not isinstance(entry.entity, str) or Path(entry.file).name != entry.file:
            raise ValueError("no entity, or a model outside the folder")
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(
            f"manifest must hold one entity in each line, as fleet fit wrote it; line {number} of {str(path)!r} does "
            f"not ({error})"
        ) from error
    return entry

"""The fit of one entity, whoever does it: what goes wrong with it is its own affair, and told."""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from .. import suited
from ..detector import Detector
from ..errors import CcmtadError
from ..tables import Loaded, Reading
from .entities import Entity
from .manifest import Entry
from .notes import notes

__all__ = ["Attempt", "Task"]


@dataclass(frozen=True)
class Task:
    """The fit of one entity: all that a worker needs to know."""

    entity: Entity
    models: Path
    settings: Mapping[str, Any]
    how: Reading

    def fingerprint(self) -> str:
        """A checksum of all that the model depends on."""
        facts = {"settings": dict(self.settings), "reading": {**asdict(self.how), "largest": 0}}
        checksum = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
        with self.entity.path.open("rb") as file:
            while block := file.read(1 << 20):
                checksum.update(block)
        return checksum.hexdigest()


class Attempt:
    """How far a fit has come, as its entry in the manifest will tell it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        entity = task.entity
        self.entry = Entry(entity.name, "failed", entity.model, entity.shown, "", task.settings)

    @contextmanager
    def own(self) -> Iterator[None]:
        """What is done here is on its account: its time, its warnings, and what goes wrong."""
        begun, error = time.perf_counter(), ""
        with notes() as told:
            try:
                yield
            except CcmtadError as known:
                error = str(known).replace(str(self.task.entity.path), self.task.entity.shown)
            except Exception as unknown:  # of a library below: the other entities still have their turn
                error = f"{type(unknown).__name__}: {unknown}"
        self.took(time.perf_counter() - begun)
        self.entry = replace(self.entry, error=error, notes=(*self.entry.notes, *told))

    def took(self, seconds: float) -> None:
        self.entry = replace(self.entry, seconds=round(self.entry.seconds + seconds, 3))

    def read(self) -> Loaded:
        """The rows of the entity, and how they were read."""
        self.entry = replace(self.entry, fingerprint=self.task.fingerprint())
        loaded = suited.for_a_fit(self.task.entity.path, self.task.how)
        self.entry = replace(self.entry, rows=len(loaded.frame), channels=len(loaded.frame.channels))
        return loaded

    def save(self, fitted: Detector) -> None:
        """That was it."""
        fitted.save(self.task.models / self.entry.file)
        self.entry = replace(self.entry, status="fitted")

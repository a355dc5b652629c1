"""The models of the service, by name: files of a folder, and uploaded ones. What changes is taken up."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sqlalchemy import select

from .. import files, model_file
from ..errors import CcmtadError, FileError
from ..lanes import Lanes
from ..model import Model
from ..record import NEVER
from ..results import Verdict
from .names import is_model_name
from .store.store import Store
from .store.tables import models

__all__ = ["Bad", "Loaded", "Models"]

log = logging.getLogger("ccmtad")

ENDING = ".ccm"


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model as it was fitted; what was said of its events is kept apart, in the store."""

    name: str
    model: Model
    said: tuple[Verdict, ...]  # in the file
    version: int  # of the file: its time of change
    path: Path | None  # None: it was uploaded

    @property
    def uploaded(self) -> bool:
        """Whether the store has it, and not the folder."""
        return self.path is None

    @property
    def fingerprint(self) -> str:
        """What a snapshot must have."""
        return self.model.fingerprint

    @property
    def state_bytes(self) -> int:
        """What one stream takes in memory."""
        lanes = Lanes(self.model, 1)
        arrays, _ = lanes.state(0)
        return sum(array.nbytes for array in arrays.values()) + 4_096  # and the objects around it


@dataclass(frozen=True)
class Bad:
    """A model that is left out."""

    version: int
    why: str


class Models:
    """What can be asked for by name. A name is looked up here, and never becomes a path."""

    def __init__(self, folder: Path | None, store: Store) -> None:
        self.folder, self.store = folder, store
        self.loaded: dict[str, Loaded] = {}
        self.bad: dict[str, Bad] = {}
        if folder is not None and not folder.is_dir():
            raise FileError(f"models must be a folder; got {str(folder)!r}")
        self.refresh()

    def __getitem__(self, name: str) -> Loaded:
        return self.loaded[name]

    def __contains__(self, name: str) -> bool:
        return name in self.loaded

    def __iter__(self) -> Iterator[Loaded]:
        return iter(list(self.loaded.values()))

    def __len__(self) -> int:
        return len(self.loaded)

    def refresh(self) -> list[Loaded]:
        """Looks again; those that are new or changed. One that has gone stays as it was: streams use it."""
        changed = []
        for name, version, path in self._there():
            known = self.loaded.get(name)
            bad = self.bad.get(name)
            if version in (None if known is None else known.version, None if bad is None else bad.version):
                continue
            try:
                made = _load(name, self._data(name, path), version, path)
            except (CcmtadError, OSError) as error:  # being written, or broken: what was there goes on
                log.warning("model %r cannot be used: %s", name, error)
                self.bad[name] = Bad(version, str(error))
                continue
            self.bad.pop(name, None)
            self.loaded[name] = made
            changed.append(made)
        return changed

    def _there(self) -> Iterator[tuple[str, int, Path | None]]:
        with self.store.read() as connection:
            uploaded = {row.name: row.made for row in connection.execute(select(models.c.name, models.c.made))}
        for name, made in uploaded.items():
            yield name, made, None
        for path in sorted(self.folder.glob(f"*{ENDING}")) if self.folder is not None else ():
            name = path.name.removesuffix(ENDING)
            if not is_model_name(name):
                log.warning("model file %r is left out: its name must be letters, digits, '.', '_' and '-'", path.name)
            elif name not in uploaded:
                try:
                    yield name, path.stat().st_mtime_ns, path
                except OSError:
                    continue

    def _data(self, name: str, path: Path | None) -> bytes:
        if path is not None:
            return files.read(path, model_file.MAGIC)
        with self.store.read() as connection:
            found = connection.execute(select(models.c.data).where(models.c.name == name)).scalar()
        if found is None:
            raise FileError(f"model {name!r} must be there; it was removed")
        return bytes(found)

    def check(self, name: str, data: bytes) -> Loaded:
        """A model that somebody sends: an error where it cannot be used."""
        return _load(name, data, 0, None)


def _load(name: str, data: bytes, version: int, path: Path | None) -> Loaded:
    model, _ = model_file.loads(data, f"model {name!r}")
    said, model = model.feedback, replace(model, feedback=())
    # Once, so that the first row of an entity does not wait for a compiler; a model that cannot stream is an error.
    lanes = Lanes(model, 1)
    lanes.update(np.zeros(1, dtype=np.int64), np.zeros((1, len(model.channels))), np.array([NEVER]))
    return Loaded(name, model, said, version, path)

"""One entity of a dataset, and where its files come from."""

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...frame import Frame
from ...tables.unpacked import Bound

__all__ = ["Dataset", "Entity", "Source", "Truth", "chain", "join", "own_folder", "source"]


@dataclass(frozen=True, eq=False)
class Truth:
    """The labels of one test series. A detector is never given one."""

    anomalous: NDArray[np.bool_]  # (rows,)
    causes: tuple[tuple[int, int, tuple[int, ...]], ...] = ()  # (first, last, channels) inclusive, where published


@dataclass(frozen=True, eq=False)
class Entity:
    """One machine or spacecraft channel: what a detector sees, and what it must not."""

    dataset: str
    name: str
    train: Frame
    test: Frame
    truth: Truth
    settings: Mapping[str, Any] = field(default_factory=dict)  # those that belong to the data, such as its smoothing


class Dataset(Protocol):
    """Entities by name, in published order."""

    @property
    def name(self) -> str: ...

    def entities(self) -> list[str]: ...

    def read(self, entity: str) -> Entity: ...

    def __hash__(self) -> int: ...


def join(entities: Sequence[Entity], validation: float) -> Entity:
    """All entities as one, for one model over all of them. Gaps in time keep windows inside entities.

    The training series is every entity's first part, then every entity's validation part: whoever splits it at the
    share `validation` calibrates on all of them.
    """
    cuts = [int(len(entity.train) * (1 - validation)) for entity in entities]
    parts = [entity.train.values[:cut] for entity, cut in zip(entities, cuts, strict=True)]
    parts += [entity.train.values[cut:] for entity, cut in zip(entities, cuts, strict=True)]
    first = entities[0]

    def frame(series: Sequence[NDArray[np.float64]]) -> Frame:
        seconds = np.concatenate([np.arange(len(one)) + i * 10**6 for i, one in enumerate(series)])
        times = (seconds * 10**9).astype("datetime64[ns]")
        return Frame(np.concatenate(series), first.train.channels, times, first.train.named)

    truth = np.concatenate([entity.truth.anomalous for entity in entities])
    test = frame([entity.test.values for entity in entities])
    return Entity(first.dataset, "all", frame(parts), test, Truth(truth), first.settings)


def chain(entities: Sequence[Entity]) -> Entity:
    """All entities one after the other as if they were one series, as the authors' code has it: windows straddle them,
    and whoever splits the training series calibrates on the last ones alone."""
    first = entities[0]
    parts = ([getattr(entity, part).values for entity in entities] for part in ("train", "test"))
    train, test = (Frame(np.concatenate(part), first.train.channels, None, first.train.named) for part in parts)
    truth = np.concatenate([entity.truth.anomalous for entity in entities])
    return Entity(first.dataset, "all", train, test, Truth(truth), first.settings)


def own_folder(folder: Path, name: str) -> Path:
    """The folder of that name inside, where there is one: several datasets have a `train.csv`."""
    return folder / name if (folder / name).is_dir() else folder


class Source(Protocol):
    """A folder or a zip, read alike."""

    def names(self) -> list[str]: ...

    def read(self, name: str) -> bytes: ...


class _Folder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        return sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file())

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()


class _Zip:
    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        with zipfile.ZipFile(self.path) as archive:
            return sorted(archive.namelist())

    def read(self, name: str) -> bytes:
        with zipfile.ZipFile(self.path) as archive:
            member = archive.getinfo(name)
            bound = Bound(f"{name} of {self.path.name}", stored=member.compress_size, given=False)
            bound.check(member.file_size)  # no more than that is unpacked
            return archive.read(name)


def source(folder: Path, archive: str, marker: str, cure: str) -> Source:
    """The zip `archive` in the folder, or the folder itself where `marker` lies in it; `cure` says where to get it."""
    if (folder / archive).is_file():
        return _Zip(folder / archive)
    if any(folder.glob(marker)):
        return _Folder(folder)
    raise InputError(f"folder must hold {archive} or {marker}; got {str(folder)!r}: {cure}")

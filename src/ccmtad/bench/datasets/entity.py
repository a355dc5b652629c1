"""One entity of a dataset, and where its files come from."""

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...frame import Frame

__all__ = ["Entity", "Source", "Truth", "source"]


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
            return archive.read(name)


def source(folder: Path, archive: str, marker: str, cure: str) -> Source:
    """The zip `archive` in the folder, or the folder itself where `marker` lies in it; `cure` says where to get it."""
    if (folder / archive).is_file():
        return _Zip(folder / archive)
    if (folder / marker).exists():
        return _Folder(folder)
    raise InputError(f"folder must hold {archive} or {marker}; got {str(folder)!r}: {cure}")

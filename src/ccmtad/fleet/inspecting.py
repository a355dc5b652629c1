"""What is in a folder of models."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from ..detector import Detector
from ..errors import FileError
from .entities import MODEL
from .manifest import Manifest

__all__ = ["Facts", "files_of", "inspect"]


@dataclass(frozen=True)
class Facts:
    """One entity and its model."""

    entity: str
    file: str
    rows: int | None = None  # fitted on; None where no manifest tells
    channels: int = 0
    clusters: int = 0
    budget: str = ""
    threshold: float | None = None
    supported: bool | None = None  # whether the normal rows support the budget; None where the threshold was given
    longest: float | None = None  # rows an alarm that they support at most
    loss: float | None = None  # lowest validation loss
    size: int = 0  # bytes
    error: str = ""  # why there is no model, or none that can be used

    @property
    def health(self) -> str:
        """How far its threshold can be trusted, in a word."""
        if self.error:
            return "no model"
        if self.supported is None:
            return "threshold given"
        return "supported" if self.supported else "extrapolated"


def inspect(models: str | Path) -> Iterator[Facts]:
    """Each entity of a folder, by name: those of its manifest, and of every other model file in it."""
    paths, entries = files_of(Path(models)), Manifest(Path(models)).entries
    for name, path in paths.items():
        entry = entries.get(name)
        rows = None if entry is None or entry.status == "failed" else entry.rows
        if entry is not None and entry.status == "failed" and not path.exists():
            yield Facts(name, entry.file, error=entry.error)
        else:
            yield _facts(name, path, rows)


def files_of(folder: Path) -> dict[str, Path]:
    """The model file of each entity, by name: of those in its manifest (it may be missing), and every other."""
    if not folder.is_dir():
        raise FileError(f"models must be a folder that fleet fit wrote; got {str(folder)!r}")
    names = {name: entry.file for name, entry in Manifest(folder).entries.items()}
    others = {unquote(path.name.removesuffix(MODEL)): path.name for path in folder.glob(f"*{MODEL}")}
    names = others | names
    if not names:
        raise FileError(f"models must be a folder with model files that end in {MODEL}; got none in {str(folder)!r}")
    return {name: folder / names[name] for name in sorted(names)}


def _facts(name: str, path: Path, rows: int | None) -> Facts:
    try:
        detector = Detector.load(path)
    except FileError as error:
        return Facts(name, path.name, rows, error=str(error))
    support, history = detector.support_, detector.history_
    longest = None if support is None or np.isinf(support.longest) else float(support.longest)
    return Facts(
        name, path.name, rows, len(detector.channels_), len(detector.clusters_), detector.model_.learnt.allowed,
        detector.threshold_, None if support is None else support.enough, longest,
        min((epoch.validation for epoch in history), default=None), path.stat().st_size,
    )  # fmt: skip

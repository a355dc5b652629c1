"""A new entity with few rows: it starts from the models of those that are like it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import batch
from ..detector import Detector
from ..errors import ChannelError, FileError, InputError
from ..fit import TrainingSeries
from ..frame import Frame
from ..network.weights import Trained
from ..tables import Reading
from .inspecting import files_of

__all__ = ["Started", "start"]

KIN = 3  # entities whose limits are believed


@dataclass(frozen=True)
class Started:
    """A detector for a new entity."""

    detector: Detector
    kin: tuple[str, ...]  # the entities it starts from; the network is that of the first
    worse: float  # how many times as large as usual for the first the errors of its rows are


@dataclass(frozen=True)
class Relative:
    """An entity of the fleet that has the same channels."""

    name: str
    detector: Detector
    worse: float


def start(
    models: str | Path, rows: Any, *, times: Any = None, budget: str | None = None, reading: Reading | None = None
) -> Started:
    """A detector for an entity with too few rows to learn from, out of the `models` of a fleet with the same channels.

    The network, its scale and its settings (but for the `budget`) are those of the entity whose network reconstructs
    these rows best. How large errors usually are is learnt from the rows; how they are spread, from that entity; how
    far is too far for each channel, from the rows and the three nearest entities. Nothing is trained: torch is not
    needed. `rows` are as `Detector.fit` takes them; `reading` is how they were read from a file.
    """
    frame = Frame.of(rows, times=times, argument="rows")
    near = sorted(_relatives(Path(models), frame), key=lambda one: one.worse)
    if not near:
        raise InputError(
            f"models must hold one with the {len(frame.channels)} channels of the new entity, and rows that it can "
            f"judge; got none in {str(models)!r}"
        )
    first = near[0].detector
    kin = [one for one in near if one.detector.channels_ == first.channels_][:KIN]
    params = first.get_params() | ({} if budget is None else {"budget": budget, "threshold": None})
    detector, frame = Detector(**params), _aligned(frame, first)
    series = TrainingSeries.of(frame, detector.settings, kin=tuple(one.detector.model_ for one in kin))
    detector._learnt(series, Trained(dict(first.model_.weights), (), 0), frame, reading=reading)
    return Started(detector, tuple(one.name for one in kin), near[0].worse)


def _relatives(folder: Path, frame: Frame) -> Iterator[Relative]:
    """The models that can judge these rows."""
    for name, path in files_of(folder).items():
        try:
            detector = Detector.load(path)
            model, aligned = detector.model_, _aligned(frame, detector)
        except (FileError, ChannelError):
            continue
        series = model.series(aligned)
        if len(series.ends):
            losses = batch.losses(model.engine, model.combiner, series.rows, series.ends, series.present)
            yield Relative(name, detector, float(np.sqrt(np.nanmedian(losses) / model.calibration.typical)))


def _aligned(frame: Frame, detector: Detector) -> Frame:
    return frame.align(detector.channels_, named=detector.model_.named, argument="rows")

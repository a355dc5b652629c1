"""A new entity with few rows: it starts from the models of those that are like it."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import batch, suited
from ..calibrate.unlike import LEAST
from ..detector import Detector
from ..errors import ChannelError, FileError, InputError
from ..fit import TrainingSeries, threads
from ..frame import Frame
from ..network.weights import Trained
from ..prepare import timeline
from ..tables import Reading
from .inspecting import files_of

__all__ = ["Started", "reading_of", "start"]

log = logging.getLogger("ccmtad")

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
    models: str | Path,
    rows: Any,
    *,
    times: Any = None,
    budget: str | None = None,
    reading: Reading | None = None,
    but: str | Path | None = None,
) -> Started:
    """A detector for an entity with too few rows to learn from, out of the `models` of a fleet with the same channels.

    The network, its scale and its settings (but for the `budget`) are those of the entity whose network reconstructs
    these rows best. How large errors usually are is learnt from the rows; how they are spread, from that entity; how
    far is too far for each channel, from the rows and the three nearest entities. Nothing is trained: torch is not
    needed. `rows` are as `Detector.fit` takes them; `reading` is how they were read from a file. A model that comes too
    seldom or too often for these rows is none that they can start from, nor is the file `but`.
    """
    frame = Frame.of(rows, times=times, argument="rows")
    leave = None if but is None else Path(but).resolve()
    paths = [(name, path) for name, path in files_of(Path(models)).items() if path.resolve() != leave]
    near = sorted(_relatives(paths, frame), key=lambda one: (one.detector.model_.calibration.losses is None, one.worse))
    if not near:
        raise InputError(
            f"models must hold one with the {len(frame.channels)} channels of the new entity, rows as often, and some "
            f"that it can judge; got none in {str(models)!r}"
        )
    first = near[0].detector
    limit = first.model_.calibration.unlike.settled
    if 2.0 * np.log(max(near[0].worse, 1e-300)) > (limit if np.isfinite(limit) else LEAST):
        log.warning(
            "rows: errors %.3g times those of %s itself, the nearest: what is started so may see little; fit it by "
            "itself as soon as there are rows", near[0].worse, near[0].name,
        )  # fmt: skip
    kin = [one for one in near if one.detector.channels_ == first.channels_][:KIN]
    params = first.get_params() | ({} if budget is None else {"budget": budget, "threshold": None})
    detector, frame = Detector(**params), _aligned(frame, first)
    with threads(detector.settings.threads):
        series = TrainingSeries.of(frame, detector.settings, kin=tuple(one.detector.model_ for one in kin))
        detector._learnt(series, Trained(dict(first.model_.weights), (), 0), frame, reading=reading)
    return Started(detector, tuple(one.name for one in kin), near[0].worse)


def reading_of(models: str | Path, how: Reading) -> Reading:
    """How to read the file of a new entity: as those of the fleet, of which one is asked, but for what is said now."""
    for path in files_of(Path(models)).values():
        try:
            return suited.reading_for(Detector.load(path).model_, how)
        except FileError:
            continue
    return how


def _relatives(paths: Iterable[tuple[str, Path]], frame: Frame) -> Iterator[Relative]:
    """The models that can judge these rows."""
    period = timeline.median_period(frame.times)
    for name, path in paths:
        try:
            detector = Detector.load(path)
            model, aligned = detector.model_, _aligned(frame, detector)
        except (FileError, ChannelError):
            continue
        if period and model.period and not 0.5 <= period / model.period <= 2.0:
            continue
        series = model.series(aligned)
        losses = batch.losses(model.engine, model.combiner, series.rows, series.ends, series.present)
        if np.isfinite(losses).any():
            yield Relative(name, detector, float(np.sqrt(np.nanmedian(losses) / model.calibration.typical)))


def _aligned(frame: Frame, detector: Detector) -> Frame:
    return frame.align(detector.channels_, named=detector.model_.named, argument="rows")

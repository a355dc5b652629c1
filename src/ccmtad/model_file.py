"""One model, one file. Loading executes nothing."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calibrate import feedback
from .errors import FileError
from .files import digest, open_sealed, seal
from .model import Model
from .model_reading import Reading
from .settings import Settings

__all__ = ["MAGIC", "VERSION", "dumps", "fingerprint_before_3", "loads"]

MAGIC = b"CCMTADmo"
VERSION = 3

# The settings of version 2: snapshots of that time know their model by them.
OF_VERSION_2 = (
    "window", "width", "expansion", "mixers", "clusters", "clustering", "temporal_mixer", "causal_mask",
    "embedding_mixer", "epochs", "batch_size", "learning_rate", "input_dropout", "embedding_dropout", "mixer_dropout",
    "validation", "smooth", "smoothing", "combine", "persistence", "patience", "reset", "alpha", "threshold", "budget",
    "tail", "settle", "drift", "accept", "duration", "cooldown", "hold", "gap", "seed", "device",
)  # fmt: skip
SINCE_VERSION_1 = ("persistence", "settle", "drift", "accept", "duration", "cooldown")


def dumps(model: Model, extra: dict[str, Any] | None = None) -> bytes:
    """The model as bytes, the same for the same model; `extra` is carried along, under its own name."""
    model = model if model.learnt_as is None else model.learnt_as
    facts = {**_facts(model), "settings": asdict(model.settings), "extra": extra or {}}
    if model.feedback:
        facts["feedback"] = feedback.plain(model.feedback)
    if model.reading is not None:
        facts["reading"] = model.reading.facts()
    return seal(MAGIC, VERSION, _arrays(model), facts)


def fingerprint_before_3(model: Model) -> str:
    """What versions 1 and 2 called the fingerprint of a model: the checksum of the whole file without its extra."""
    model = model if model.learnt_as is None else model.learnt_as
    settings = {name: getattr(model.settings, name) for name in OF_VERSION_2}
    facts, version, without = _facts(model), 2, Settings.of("paper")
    used = [name for name in SINCE_VERSION_1 if settings[name] != getattr(without, name)]
    if not used and model.calibration.support is None:
        # There was nothing in it that version 1 could not say.
        settings, version = {name: value for name, value in settings.items() if name not in SINCE_VERSION_1}, 1
        facts = {name: value for name, value in facts.items() if name not in ("scales", "support")}
    return digest(seal(MAGIC, version, _arrays(model), {**facts, "settings": settings, "extra": {}}))


def _arrays(model: Model) -> dict[str, NDArray[Any]]:
    arrays = dict(model.arrays)
    calibration = model.calibration
    for name, array in (
        ("calibration.losses", calibration.losses), ("calibration.distances", calibration.distances),
        ("correlation", model.correlation),
    ):  # fmt: skip
        if array is not None:  # older files have none of them
            arrays[name] = array
    return arrays


def _facts(model: Model) -> dict[str, Any]:
    calibration = model.calibration
    return {
        "channels": list(model.channels),
        "named": model.named,
        "period": model.period,
        "alpha": calibration.alpha,
        "threshold": calibration.threshold,
        "scales": [[track.rows, track.normal, track.threshold] for track in calibration.tracks],
        "support": None if calibration.support is None else _finite(asdict(calibration.support)),
        **({} if np.isinf(calibration.unlike.early) else {"unlike": calibration.unlike.early}),
        **({} if np.isinf(calibration.unlike.settled) else {"unlike settled": calibration.unlike.settled}),
    }


def loads(data: bytes, what: str = "model") -> tuple[Model, dict[str, Any]]:
    """The model written by `dumps`, and the extra that came with it."""
    arrays, facts = open_sealed(data, MAGIC, VERSION, what)
    try:
        return Reading(arrays, facts, what).model(), dict(facts["extra"])
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{what} must hold a whole model; got {error}") from error


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    """JSON has no infinity."""
    return {name: value if np.isfinite(value) else None for name, value in values.items()}

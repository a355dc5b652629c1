"""One model, one file. Loading executes nothing, and checks every shape against the settings."""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calibrate import feedback
from .calibrate.budget import Support
from .calibrate.calibration import Calibration
from .calibrate.limits import Tails
from .errors import FileError, SettingError
from .files import digest, open_sealed, seal
from .model import Model, reference_name
from .network.clusters import Clusters
from .network.shapes import Architecture
from .prepare.scale import Scaler
from .score import combine, tails
from .score.combine import Combiner
from .score.signals import LIMITS
from .score.tracks import Track, in_use
from .settings import Settings

__all__ = ["MAGIC", "VERSION", "dumps", "fingerprint_before_3", "loads"]

MAGIC = b"CCMTADmo"
VERSION = 3

# What version 1 did not have, and did without.
SINCE_2 = {"persistence": 1, "settle": 0, "drift": 0.0, "accept": 0, "duration": 1, "cooldown": 0}
# What version 2 did not have.
SINCE_3 = {"linear": False, "extremes": False, "signals": False, "unlike": False}
# The settings of version 2: snapshots of that time know their model by them.
OF_VERSION_2 = (
    "window", "width", "expansion", "mixers", "clusters", "clustering", "temporal_mixer", "causal_mask",
    "embedding_mixer", "epochs", "batch_size", "learning_rate", "input_dropout", "embedding_dropout", "mixer_dropout",
    "validation", "smooth", "smoothing", "combine", "persistence", "patience", "reset", "alpha", "threshold", "budget",
    "tail", "settle", "drift", "accept", "duration", "cooldown", "hold", "gap", "seed", "device",
)  # fmt: skip


def dumps(model: Model, extra: dict[str, Any] | None = None) -> bytes:
    """The model as bytes, the same for the same model; `extra` is carried along, under its own name."""
    model = model if model.learnt_as is None else model.learnt_as
    facts = {**_facts(model), "settings": asdict(model.settings), "extra": extra or {}}
    if model.feedback:
        facts["feedback"] = feedback.plain(model.feedback)
    return seal(MAGIC, VERSION, _arrays(model), facts)


def fingerprint_before_3(model: Model) -> str:
    """What versions 1 and 2 called the fingerprint of a model: the checksum of the whole file without its extra."""
    model = model if model.learnt_as is None else model.learnt_as
    settings = {name: getattr(model.settings, name) for name in OF_VERSION_2}
    facts, version = _facts(model), 2
    if all(settings[name] == off for name, off in SINCE_2.items()) and model.calibration.support is None:
        # There was nothing in it that version 1 could not say.
        settings, version = {name: value for name, value in settings.items() if name not in SINCE_2}, 1
        facts = {name: value for name, value in facts.items() if name not in ("scales", "support")}
    return digest(seal(MAGIC, version, _arrays(model), {**facts, "settings": settings, "extra": {}}))


def _arrays(model: Model) -> dict[str, NDArray[Any]]:
    arrays = dict(model.arrays)
    for name, array in (("calibration.losses", model.calibration.losses), ("correlation", model.correlation)):
        if array is not None:  # older files have neither
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
        **({} if np.isinf(calibration.unlike) else {"unlike": calibration.unlike}),
    }


def loads(data: bytes, what: str = "model") -> tuple[Model, dict[str, Any]]:
    """The model written by `dumps`, and the extra that came with it."""
    arrays, facts = open_sealed(data, MAGIC, VERSION, what)
    try:
        return _Reading(arrays, facts, what).model(), dict(facts["extra"])
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, SettingError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{what} must hold a whole model; got {error}") from error


@dataclass(frozen=True, eq=False)
class _Reading:
    """What stands in a file, on its way to a model."""

    arrays: dict[str, NDArray[Any]]
    facts: dict[str, Any]
    what: str  # it is, in messages

    def model(self) -> Model:
        settings = Settings.of(**{**SINCE_2, **SINCE_3, **self.facts["settings"]})
        channels, clusters = self._channels(), self._clusters()
        self._check(len(clusters.label) == len(channels), "a cluster for every channel")
        weights = {
            name: self._array(f"network.{name}", shape, np.float32)
            for name, shape in Architecture.of(settings, clusters).shapes.items()
        }
        for name, weight in weights.items():
            self._check(not name.endswith("running_var") or bool((weight >= 0).all()), f"no negative {name}")
        fallback, low, span, unit = (
            self._array(name, (len(channels),), np.float64)
            for name in ("fallback", "scaler.low", "scaler.span", "combiner.unit")
        )
        self._check(bool((span > 0).all() and (unit > 0).all()), "positive units")
        period = self.facts["period"]
        self._check(period is None or 0 < float(period) < np.inf, "a positive period")
        return Model(
            settings=settings,
            channels=channels,
            named=bool(self.facts["named"]),
            period=None if period is None else float(period),
            fallback=fallback,
            scaler=Scaler(low, span),
            clusters=clusters,
            weights=weights,
            combiner=Combiner(unit, combine.find(settings.combine)),
            calibration=self._calibration(settings),
            correlation=self._correlation(len(channels)),
            tails=self._tails(len(channels)),
            feedback=feedback.verdicts(self.facts.get("feedback", ())),
        )

    def _tails(self, channels: int) -> Tails | None:
        if "tails.middle" not in self.arrays:
            return None
        parts = {}
        for one in fields(Tails):
            array = self.arrays[f"tails.{one.name}"]
            shape = (channels,) if one.name == "middle" else (len(LIMITS) - 1, channels)
            self._check(array.shape == shape and array.dtype == np.float64, f"tails.{one.name} of shape {shape}")
            self._check(
                not np.isnan(array).any() and bool((array >= 0).all() or one.name in ("middle", "strength")),
                f"whole numbers of tails.{one.name}",
            )
            parts[one.name] = array
        return Tails(**parts)

    def _channels(self) -> tuple[str, ...]:
        names = self.facts["channels"]
        self._check(isinstance(names, list) and all(isinstance(n, str) for n in names), "a list of channel names")
        self._check(len(set(names)) == len(names), "distinct channel names")
        return tuple(names)

    def _clusters(self) -> Clusters:
        label = self.arrays["clusters"]
        self._check(label.dtype == np.int64 and label.ndim == 1 and len(label) > 0, "a cluster for every channel")
        self._check(np.array_equal(np.unique(label), np.arange(len(np.unique(label)))), "whole clusters")
        return Clusters(label)

    def _calibration(self, settings: Settings) -> Calibration:
        alpha, threshold = float(self.facts["alpha"]), float(self.facts["threshold"])
        self._check(0 < alpha < 1 and 0 < threshold < np.inf, "a positive alpha and threshold")
        told = self.facts.get("scales", [[1, 0.0, threshold]])
        kinds = in_use(settings.persistence)
        rows = [kind.rows(settings.persistence) for kind in kinds]
        self._check([one[0] for one in told] == rows, "a track for each average")
        tracks = []
        for i, (kind, (averaged, normal, above)) in enumerate(zip(kinds, told, strict=True)):
            self._check(bool(np.isfinite(float(normal)) and 0 < float(above) < np.inf), "whole tracks")
            reference, tail = self._reference(reference_name(i)), tails.find(settings.tail)
            tracks.append(Track(averaged, reference, tail, float(normal), float(above), kind.limited))
        losses, support = self.arrays.get("calibration.losses"), self.facts.get("support")
        self._check(losses is None or (losses.ndim == 1 and losses.dtype == np.float64), "losses in order of time")
        if support is not None:
            support = Support(**{name: np.inf if v is None else float(v) for name, v in support.items()})
        unlike = self.facts.get("unlike")
        return Calibration(settings, tuple(tracks), alpha, support, losses, np.inf if unlike is None else float(unlike))

    def _reference(self, name: str) -> NDArray[np.float64]:
        reference = self.arrays[name]
        right = reference.ndim == 1 and len(reference) > 0 and reference.dtype == np.float64
        self._check(right, "validation losses")
        self._check(bool(np.isfinite(reference).all() and (np.diff(reference) >= 0).all()), "losses in order")
        return reference

    def _correlation(self, channels: int) -> NDArray[np.float32] | None:
        found = self.arrays.get("correlation")
        square = found is None or (found.shape == (channels, channels) and bool((np.abs(found) <= 1).all()))
        self._check(square, "correlations between -1 and 1")
        return found

    def _array(self, name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        array = self.arrays[name]
        self._check(array.shape == shape and array.dtype == dtype, f"{name} of shape {shape}")
        self._check(bool(np.isfinite(array).all()), f"finite numbers in {name}")
        return array

    def _check(self, right: bool, rule: str) -> None:
        if not right:
            raise FileError(f"{self.what} must hold {rule}; got something else")


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    """JSON has no infinity."""
    return {name: value if np.isfinite(value) else None for name, value in values.items()}

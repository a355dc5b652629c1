"""One model, one file. Loading executes nothing, and checks every shape against the settings."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .calibrate.budget import Support
from .calibrate.calibration import Calibration, Scale
from .errors import FileError, SettingError
from .files import open_sealed, seal
from .model import Model
from .network.clusters import Clusters, widths
from .prepare.scale import Scaler
from .score.combine import Combiner
from .settings import Settings

__all__ = ["MAGIC", "VERSION", "dumps", "loads"]

MAGIC = b"CCMTADmo"
VERSION = 2

# What version 1 did not have, and did without.
SINCE_2 = {"persistence": 1, "settle": 0, "drift": 0.0, "accept": 0, "duration": 1, "cooldown": 0}


def dumps(model: Model, extra: dict[str, Any] | None = None) -> bytes:
    """The model as bytes, the same for the same model; `extra` is carried along, under its own name."""
    arrays: dict[str, NDArray[Any]] = {f"network.{name}": weight for name, weight in model.weights.items()}
    arrays |= {
        "fallback": model.fallback,
        "scaler.low": model.scaler.low,
        "scaler.span": model.scaler.span,
        "clusters": model.clusters.label,
        "combiner.unit": model.combiner.unit,
    }
    settings, calibration = asdict(model.settings), model.calibration
    arrays |= {_reference(i): scale.reference for i, scale in enumerate(calibration.scales)}
    for name, array in (("calibration.losses", calibration.losses), ("correlation", model.correlation)):
        if array is not None:  # older files have neither
            arrays[name] = array
    version = VERSION
    if all(settings[name] == off for name, off in SINCE_2.items()) and calibration.support is None:
        # Nothing in it that version 1 could not say: older releases read it too.
        settings, version = {name: value for name, value in settings.items() if name not in SINCE_2}, 1
    facts = {
        "settings": settings,
        "channels": list(model.channels),
        "named": model.named,
        "period": model.period,
        "alpha": model.calibration.alpha,
        "threshold": model.calibration.threshold,
        "extra": extra or {},
    }
    if version > 1:
        facts["scales"] = [[scale.persistence, scale.level, scale.threshold] for scale in calibration.scales]
        facts["support"] = None if calibration.support is None else _finite(asdict(calibration.support))
    return seal(MAGIC, version, arrays, facts)


def loads(data: bytes, what: str = "model") -> tuple[Model, dict[str, Any]]:
    """The model written by `dumps`, and the extra that came with it."""
    arrays, facts = open_sealed(data, MAGIC, VERSION, what)
    try:
        settings = Settings.of(**{**SINCE_2, **facts["settings"]})
        names = facts["channels"]
        _check(isinstance(names, list) and all(isinstance(n, str) for n in names), what, "a list of channel names")
        channels = tuple(names)
        _check(len(set(channels)) == len(channels), what, "distinct channel names")
        label = arrays["clusters"]
        _check(label.dtype == np.int64 and label.shape == (len(channels),), what, "a cluster for every channel")
        _check(len(label) > 0 and sorted(set(label.tolist())) == list(range(label.max() + 1)), what, "whole clusters")
        clusters = Clusters(label, settings.clusters)
        expected = _shapes(settings, clusters)
        for name, shape in expected.items():
            array = arrays[name]
            _check(array.shape == shape and array.dtype == _dtype(name), what, f"{name} of shape {shape}")
            _check(bool(np.isfinite(array).all()), what, f"finite numbers in {name}")
            _check(not name.endswith("running_var") or bool((array >= 0).all()), what, f"no negative {name}")
        _check(bool((arrays["scaler.span"] > 0).all() and (arrays["combiner.unit"] > 0).all()), what, "positive units")
        alpha, threshold, period = float(facts["alpha"]), float(facts["threshold"]), facts["period"]
        _check(0 < alpha < 1 and 0 < threshold < np.inf, what, "a positive alpha and threshold")
        _check(period is None or 0 < float(period) < np.inf, what, "a positive period")
        named, extra = bool(facts["named"]), dict(facts["extra"])
        scales = tuple(
            Scale(int(rows), _losses(arrays[_reference(i)], what), settings.tail, float(level), float(above))
            for i, (rows, level, above) in enumerate(facts.get("scales", [[1, 0.0, threshold]]))
        )
        expected_rows = [1] if settings.persistence == 1 else [1, settings.persistence]
        _check([scale.persistence for scale in scales] == expected_rows, what, "a scale for each average")
        _check(all(np.isfinite(s.level) and 0 < s.threshold < np.inf for s in scales), what, "whole scales")
        losses, correlation = arrays.get("calibration.losses"), arrays.get("correlation")
        _check(losses is None or (losses.ndim == 1 and losses.dtype == np.float64), what, "losses in order of time")
        square = (len(channels), len(channels))
        _check(
            correlation is None or (correlation.shape == square and bool((np.abs(correlation) <= 1).all())),
            what,
            "correlations between -1 and 1",
        )
        told = facts.get("support")
        support = None if told is None else Support(**{n: np.inf if v is None else float(v) for n, v in told.items()})
    except (KeyError, TypeError, ValueError, OverflowError, SettingError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{what} must hold a whole model; got {error}") from error
    model = Model(
        settings,
        channels,
        named,
        None if period is None else float(period),
        arrays["fallback"],
        Scaler(arrays["scaler.low"], arrays["scaler.span"]),
        clusters,
        {name.removeprefix("network."): arrays[name] for name in expected if name.startswith("network.")},
        Combiner(arrays["combiner.unit"], settings.combine),
        Calibration(
            scales,
            alpha,
            settings.patience,
            settings.reset,
            settings.tail,
            settings.settle,
            settings.drift,
            settings.accept,
            settings.duration,
            settings.cooldown,
            support,
            losses,
        ),
        correlation,
    )
    return model, extra


def _reference(number: int) -> str:
    return "calibration.reference" if number == 0 else f"calibration.reference.{number}"


def _losses(reference: NDArray[Any], what: str) -> NDArray[np.float64]:
    _check(reference.ndim == 1 and len(reference) > 0 and reference.dtype == np.float64, what, "validation losses")
    _check(bool(np.isfinite(reference).all() and (np.diff(reference) >= 0).all()), what, "losses in order")
    return reference


def _finite(values: dict[str, float]) -> dict[str, float | None]:
    """JSON has no infinity."""
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def _shapes(settings: Settings, clusters: Clusters) -> dict[str, tuple[int, ...]]:
    """Every array but the validation losses, and its shape."""
    channels, window = len(clusters.label), settings.window
    share = widths(clusters, settings.width)
    width = sum(share)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("fallback", "scaler.low", "scaler.span", "combiner.unit"), (channels,)
    )

    def linear(name: str, inputs: int, outputs: int) -> None:
        shapes[f"network.{name}.weight"], shapes[f"network.{name}.bias"] = (outputs, inputs), (outputs,)

    def norm(name: str) -> None:
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"network.{name}.{part}"] = (width,)

    for i, (members, part) in enumerate(zip(clusters.members, share, strict=True)):
        linear(f"embed.{i}", len(members), part)
    norm("norm")
    for i in range(settings.mixers):
        if settings.temporal_mixer != "none":
            linear(f"mixers.{i}.time.first", window, window)
            linear(f"mixers.{i}.time.second", window, window)
        norm(f"mixers.{i}.time_norm")
        if settings.embedding_mixer:
            linear(f"mixers.{i}.embedding.first", width, width * settings.expansion)
            linear(f"mixers.{i}.embedding.second", width * settings.expansion, width)
        norm(f"mixers.{i}.embedding_norm")
    norm("head_norm")
    linear("head", width, channels)
    return shapes


def _dtype(name: str) -> Any:
    return np.float32 if name.startswith("network.") else np.float64


def _check(right: bool, what: str, rule: str) -> None:
    if not right:
        raise FileError(f"{what} must hold {rule}; got something else")

"""Settings: one frozen value, checked once, where it is made.

A preset fills what is left out. `paper` follows the publication; `default` departs from it where that was
measured to be better (each departure is listed in `PRESETS`).
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

import numpy as np

from .errors import SettingError

__all__ = ["PRESETS", "Budget", "Settings"]

Preset = Literal["default", "paper"]
TemporalMixer = Literal["causal", "plain", "none"]
CausalMask = Literal["1/j", "unit"]
Clustering = Literal["profile", "cosine", "correlation", "kmeans", "off"]
Smoothing = Literal["trailing", "centred"]
Reset = Literal["carried", "everything"]
Tail = Literal["conformal", "empirical", "pareto"]
Combine = Literal["mean", "scaled mean", "largest"]

SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800, "month": 2_592_000}


@dataclass(frozen=True)
class Budget:
    """How often a false alarm is acceptable: `alarms` per `span` rows, or per `span` seconds."""

    alarms: float
    span: float
    unit: Literal["rows", "seconds"]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads "1/10000 rows", "1/week", "2/day" or "1/12 hours"."""
        match = re.fullmatch(r"\s*([\d.]+)\s*/\s*([\d.,_]*)\s*([a-z]+?)s?\s*", str(text), re.IGNORECASE)
        rule = f'budget must read like "1/10000 rows", "1/week" or "2/day" (units: {", ".join(SECONDS)}); got {text!r}'
        if match is None:
            raise SettingError(rule)
        try:
            alarms, span = float(match[1]), float(re.sub("[,_]", "", match[2]) or 1)
        except ValueError:
            raise SettingError(rule) from None
        unit = match[3].lower()
        if unit not in {"row", *SECONDS} or alarms <= 0 or span <= 0:
            raise SettingError(rule)
        if unit == "row":
            return cls(alarms, span, "rows")
        return cls(alarms, span * SECONDS[unit], "seconds")

    def rows_per_alarm(self, period: float | None) -> float:
        """Mean rows between false alarms; `period` is the seconds between rows, None when times are unknown."""
        if self.unit == "rows":
            rows = self.span / self.alarms
        elif period is None:
            raise SettingError(
                "budget per time needs rows with times; this series has none: "
                'give a time column or index, or write the budget in rows, such as "1/10000 rows"'
            )
        else:
            rows = self.span / self.alarms / period
        if rows < 2:
            raise SettingError(f"budget must allow at least 2 rows between alarms; got one alarm every {rows:.3g} rows")
        return rows


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every choice the method leaves open. Field defaults are the `default` preset.

    window             rows the network sees; it reconstructs the newest of them
    width              embedding dimensions
    expansion          hidden size of the embedding mixer, as a multiple of width
    mixers             causal mixer blocks
    clusters           channel clusters; "auto" chooses 2 to 10 by silhouette
    clustering         how channels are grouped: "profile" (the paper), "cosine", "correlation", "kmeans" or "off"
    temporal_mixer     "causal", "plain" (looks ahead inside a window) or "none"
    causal_mask        "1/j" divides position j by j, "unit" does not
    embedding_mixer    whether embedding dimensions are mixed
    epochs             passes over the training windows
    batch_size         windows in a batch
    learning_rate      of Adam; constant for four epochs, then 0.9 times the one before
    input_dropout      share of inputs dropped in training
    embedding_dropout  share of the embedding dropped; what keeps the network from copying its input
    mixer_dropout      share dropped inside and after the mixers
    validation         share of the training series, its end, kept for calibration
    smooth             rows of the moving average; 1 is none
    smoothing          "trailing", or "centred", which looks ahead: not online, for reproduction only
    combine            how channel errors become one loss: "mean" (the paper), "scaled mean" or "largest"
    persistence        rows a loss is averaged over before it is judged; 1 is none (the paper)
    patience           negative evidences in a row before the score resets
    reset              what a reset drops: the "carried" score, or "everything", the new evidence too (the paper)
    alpha              p-value below which evidence is positive; "auto" is 0.05 or the paper's bound
    threshold          score above which an alarm is raised; "auto" follows from the budget
    budget             acceptable false alarms: "1/10000 rows", "1/week"
    tail               p-values beyond the validation losses: "conformal", "pareto" (a fitted tail) or "empirical"
                       (the paper)
    settle             first rows of a stream, whose median loss sets its level; 0 keeps that of training (the paper)
    drift              most that the logarithm of that level moves in a row, outside events; 0 is never (the paper)
    accept             rows of one event after which its level is taken for the new normal; 0 is never
    duration           rows above the threshold before an event is announced
    cooldown           rows after an event in which no other is announced
    hold               rows a missing value holds its last one; None is the window
    gap                a pause longer than this many median periods restarts the window
    seed               of everything random
    device             where torch trains: "auto", "cpu", "cuda", …
    """

    window: int = 24
    width: int = 64
    expansion: int = 1
    mixers: int = 1
    clusters: int | Literal["auto"] = "auto"
    clustering: Clustering = "profile"
    temporal_mixer: TemporalMixer = "causal"
    causal_mask: CausalMask = "1/j"
    embedding_mixer: bool = True
    epochs: int = 10
    batch_size: int = 512
    learning_rate: float = 1e-2
    input_dropout: float = 0.0
    embedding_dropout: float = 0.05
    mixer_dropout: float = 0.0
    validation: float = 0.2
    smooth: int = 1
    smoothing: Smoothing = "trailing"
    combine: Combine = "largest"
    persistence: int = 48
    patience: int = 5
    reset: Reset = "carried"
    alpha: float | Literal["auto"] = "auto"
    threshold: float | Literal["auto"] = "auto"
    budget: str = "1/10000 rows"
    tail: Tail = "conformal"
    settle: int = 500
    drift: float = 1e-3
    accept: int = 4_000
    duration: int = 1
    cooldown: int = 0
    hold: int | None = None
    gap: float = 10.0
    seed: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        for name, low in _AT_LEAST.items():
            value = getattr(self, name)
            if not _is_int(value) or value < low:
                raise SettingError(f"{name} must be a whole number of at least {low}; got {value!r}")
        for name, (least, high) in _BETWEEN.items():
            value = getattr(self, name)
            if not _is_real(value) or not least <= value < high:
                raise SettingError(f"{name} must be at least {least} and below {high}; got {value!r}")
        for name in _POSITIVE:
            value = getattr(self, name)
            if not _is_real(value) or not 0 < value < float("inf"):
                raise SettingError(f"{name} must be a positive number; got {value!r}")
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in choices:
                raise SettingError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
        if not isinstance(self.embedding_mixer, bool):
            raise SettingError(f"embedding_mixer must be True or False; got {self.embedding_mixer!r}")
        if self.clusters != "auto" and (not _is_int(self.clusters) or self.clusters < 1):
            raise SettingError(f'clusters must be "auto" or a whole number of at least 1; got {self.clusters!r}')
        # Above 1/e the score climbs by itself on normal data (METHOD: mean evidence is log alpha + 1).
        if self.alpha != "auto" and not (_is_real(self.alpha) and 0 < self.alpha < 0.3678):
            raise SettingError(f'alpha must be "auto" or above 0 and below 1/e = 0.3678; got {self.alpha!r}')
        if self.threshold != "auto" and not (_is_real(self.threshold) and 0 < self.threshold < float("inf")):
            raise SettingError(f'threshold must be "auto" or a positive number; got {self.threshold!r}')
        if self.hold is not None and (not _is_int(self.hold) or self.hold < 0):
            raise SettingError(f"hold must be None or a whole number of at least 0; got {self.hold!r}")
        if not isinstance(self.device, str) or not self.device:
            raise SettingError(f'device must be "auto" or a torch device such as "cpu" or "cuda"; got {self.device!r}')
        if self.seed >= 2**32:
            raise SettingError(f"seed must be below 2**32; got {self.seed!r}")
        Budget.parse(self.budget)
        for field in fields(self):  # numpy's numbers become Python's, which JSON knows
            value = getattr(self, field.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, field.name, value.item())

    @property
    def hold_rows(self) -> int:
        """Rows a missing value holds its last one."""
        return self.window if self.hold is None else self.hold

    def rows_per_alarm(self, period: float | None) -> float:
        """The budget in rows, `period` seconds apart; of no account, so infinite, where the threshold is given."""
        return Budget.parse(self.budget).rows_per_alarm(period) if self.threshold == "auto" else float("inf")

    @property
    def online(self) -> bool:
        """Whether nothing computed at a row uses a later one."""
        return self.smooth == 1 or self.smoothing == "trailing"

    @classmethod
    def of(cls, preset: str = "default", **given: Any) -> Self:
        """The settings of a preset, with those given (and not None) put over it."""
        if not isinstance(preset, str) or preset not in PRESETS:
            raise SettingError(f"preset must be one of {', '.join(map(repr, PRESETS))}; got {preset!r}")
        known = {field.name for field in fields(cls)}
        for name in given:
            if name not in known:
                raise SettingError(f"{name} is not a setting; the settings are {', '.join(sorted(known))}")
        return cls(**{**PRESETS[preset], **{name: value for name, value in given.items() if value is not None}})

    @staticmethod
    def read(pairs: Iterable[str]) -> dict[str, Any]:
        """Settings from texts like "width=128": numbers, true, false and null where they read as such."""
        found: dict[str, Any] = {}
        for pair in pairs:
            name, equals, text = pair.partition("=")
            if not equals:
                raise SettingError(f"a setting must read NAME=VALUE; got {pair!r}")
            try:
                found[name.strip()] = json.loads(text)
            except ValueError:
                found[name.strip()] = text.strip()
        return found

    def to_json(self) -> str:
        """One JSON object; `from_json` reads it back."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The settings written by `to_json`."""
        try:
            return cls.of(**json.loads(text))
        except (json.JSONDecodeError, TypeError) as error:
            raise SettingError(f"settings must be a JSON object; got {text[:40]!r}: {error}") from error

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Reads a TOML file of settings; a `preset` key fills the rest."""
        return cls.of(**cls.table(path))

    @staticmethod
    def table(path: str | Path) -> dict[str, Any]:
        """The names and values of a TOML file, as they stand there."""
        try:
            return tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingError(f"settings file must be readable; got {str(path)!r}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingError(f"settings file must be TOML; got {str(path)!r}: {error}") from error


# What each preset changes in the field defaults of Settings.
PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        # A learning rate of 1e-3 does not get off the ground in 10 epochs of a short series: on six SMAP and MSL
        # entities 1e-2 always ended with a lower validation loss, and on four of them with a lower one than the paper's
        # sizes and 30 epochs. The largest error, in units of each channel's normal one, shows a single broken sensor
        # that the mean hides. A conformal p-value is never 0, so that one row beyond all validation losses does not
        # jump over any threshold. A reset keeps the new evidence, so that a spike after a quiet stretch still counts.
        # A second scale (persistence) sees what is small but lasts; the level that losses are measured against settles
        # and follows drift (settle, drift, accept). docs/calibration.md has what each of these is worth.
        "default": MappingProxyType({}),
        "paper": MappingProxyType(
            {
                "width": 256,
                "epochs": 30,
                "learning_rate": 1e-3,
                "combine": "mean",
                "persistence": 1,
                "settle": 0,
                "drift": 0.0,
                "accept": 0,
                "tail": "empirical",
                "reset": "everything",
            }
        ),
    }
)

_AT_LEAST = {
    "window": 2,
    "width": 1,
    "expansion": 1,
    "mixers": 1,
    "epochs": 1,
    "batch_size": 2,
    "smooth": 1,
    "persistence": 1,
    "patience": 1,
    "settle": 0,
    "accept": 0,
    "duration": 1,
    "cooldown": 0,
    "seed": 0,
}
_BETWEEN = {
    "drift": (0, 1),
    "input_dropout": (0, 1),
    "embedding_dropout": (0, 1),
    "mixer_dropout": (0, 1),
    "validation": (0.01, 0.9),
}
_POSITIVE = ("learning_rate", "gap")
_CHOICES = {
    "clustering": get_args(Clustering),
    "temporal_mixer": get_args(TemporalMixer),
    "causal_mask": get_args(CausalMask),
    "smoothing": get_args(Smoothing),
    "reset": get_args(Reset),
    "tail": get_args(Tail),
    "combine": get_args(Combine),
}


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)

"""Settings: one frozen value, checked once, where it is made.

Each setting is declared once, with its default, the paper's value where that differs, its rule, what it means, and who
meets it: users, or studies of the method. Everything else (the Detector's signature, checks, TOML, flags, the tables of
the guides, model files) derives from these declarations.
"""

import inspect
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np

from ..errors import SettingError
from ..registry import names
from ..wording import got
from .allowance import Budget
from .rules import ALPHA, AUTO, DEVICE, FLAG, Rule, between, exactly, one_of, positive, whole

__all__ = ["PRESETS", "Budget", "Settings", "signature"]

EPOCH_WINDOWS = 50_000  # docs/calibration.md has what fewer cost
MANY = 10**9  # of what costs nothing but time
REMEMBERED = 100_000  # rows that a stream may have to keep


SAME = object()

# In every fingerprint of a model, whatever they are: snapshots know their model by it. Settings added since count only
# where they are in use, so that a release with one more reads the snapshots of the release before.
LIVE_IN_0_2 = (
    "budget", "threshold", "window", "width", "smooth", "duration", "cooldown", "hold", "gap", "expansion", "mixers",
    "temporal_mixer", "causal_mask", "embedding_mixer", "smoothing", "linear", "combine", "persistence", "patience",
    "reset", "extremes", "signals", "unlike", "alpha", "tail", "settle", "drift", "accept",
)  # fmt: skip


def _setting(
    default: Any, rule: Rule | None, means: str, *, study: bool = False, paper: Any = SAME, live: bool = True
) -> Any:
    """One declaration. `paper` is the paper preset's value, and what model files that do not know the setting went by;
    `live` says whether the state of a stream depends on it."""
    facts = {"rule": rule, "means": means, "study": study, "live": live}
    return field(default=default, metadata=facts if paper is SAME else {**facts, "paper": paper})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every choice the method leaves open. Defaults are the `default` preset.

    Example:
        settings = Settings(budget="1/week", window=48)
        print(settings.width)
    """

    budget: str = _setting("1/10000 rows", None, 'acceptable false alarms: "1/10000 rows", "1/week"')
    threshold: float | Literal["auto"] = _setting(
        "auto", AUTO | positive(1e100), 'score above which an alarm is raised; "auto" follows from the budget'
    )
    adapt: bool | None = _setting(
        None,
        exactly(None) | FLAG,
        "whether the level that losses are measured against settles at the start of a stream and follows slow drift",
        paper=False,
        live=False,  # settle, drift and accept say it
    )
    window: int = _setting(24, whole(2, 10_000), "rows the network sees; it reconstructs the newest of them")
    width: int = _setting(64, whole(1, REMEMBERED), "embedding dimensions", paper=256)
    epochs: int = _setting(10, whole(1, MANY), "passes over the training windows", paper=30, live=False)
    clusters: int | Literal["auto"] = _setting(
        "auto", AUTO | whole(1, REMEMBERED), 'channel clusters; "auto" chooses 2 to 10 by silhouette', live=False
    )
    smooth: int = _setting(1, whole(1, REMEMBERED), "rows of the moving average; 1 is none")
    duration: int = _setting(1, whole(1, 10_000), "rows above the threshold before an event is announced")
    cooldown: int = _setting(0, whole(0, MANY), "rows after an event in which no other is announced")
    hold: int | None = _setting(
        None, exactly(None) | whole(0, MANY), "rows a missing value holds its last one; None is the window"
    )
    gap: float = _setting(10.0, positive(1e9), "a pause longer than this many median periods restarts the window")
    seed: int = _setting(0, whole(0, 2**32 - 1), "of everything random", live=False)
    threads: int = _setting(
        1,
        whole(1, 1_024),
        "of a fit; more are faster on an idle machine, and another number makes other bits",
        live=False,
    )
    device: str = _setting("auto", DEVICE, 'where torch trains: "auto", "cpu", "cuda", …', live=False)

    expansion: int = _setting(
        1, whole(1, 1_000), "hidden size of the embedding mixer, as a multiple of width", study=True
    )
    mixers: int = _setting(1, whole(1, 1_000), "causal mixer blocks", study=True)
    clustering: str = _setting(
        "profile",
        one_of(lambda: names("network.clusterings")),
        'how channels are grouped: "profile" (the paper), "cosine", "correlation", "kmeans" or "off"',
        study=True,
        live=False,
    )
    cluster_share: float = _setting(
        1.0, positive(1), "share of the training rows, from the first on, that channels are grouped by", study=True,
        live=False,
    )  # fmt: skip
    temporal_mixer: Literal["causal", "plain", "none"] = _setting(
        "causal",
        one_of(lambda: ("causal", "plain", "none")),
        '"causal", "plain" (looks ahead inside a window) or "none"',
        study=True,
    )
    causal_mask: Literal["1/j", "unit"] = _setting(
        "1/j", one_of(lambda: ("1/j", "unit")), '"1/j" divides position j by j, "unit" does not', study=True
    )
    embedding_mixer: bool = _setting(True, FLAG, "whether embedding dimensions are mixed", study=True)
    batch_size: int = _setting(512, whole(2, MANY), "windows in a batch", study=True, live=False)
    epoch_windows: int = _setting(
        EPOCH_WINDOWS, whole(1, MANY),
        "windows that an epoch learns from, at most; longer series are sampled anew in each", study=True, paper=MANY,
        live=False,
    )  # fmt: skip
    learning_rate: float = _setting(
        1e-2, positive(1e30), "of Adam; constant for four epochs, then 0.9 times the one before", study=True,
        paper=1e-3, live=False,
    )  # fmt: skip
    input_dropout: float = _setting(0.0, between(0, 1), "share of inputs dropped in training", study=True, live=False)
    embedding_dropout: float = _setting(
        0.05,
        between(0, 1),
        "share of the embedding dropped; what keeps the network from copying its input",
        study=True,
        live=False,
    )
    mixer_dropout: float = _setting(
        0.0, between(0, 1), "share dropped inside and after the mixers", study=True, live=False
    )
    validation: float = _setting(
        0.2,
        between(0.01, 0.9),
        "share of the training series, its end, kept for calibration",
        study=True,
        live=False,
    )
    blocks: int = _setting(
        5,
        whole(1, 1_000),
        "parts of the training series, each calibrated on by a network that learnt from the others; 1 calibrates on "
        "the last share alone, and learns from the rest (the paper)",
        paper=1,
        study=True,
        live=False,
    )
    smoothing: Literal["trailing", "centred"] = _setting(
        "trailing",
        one_of(lambda: ("trailing", "centred")),
        '"trailing", or "centred", which looks ahead: not online, for reproduction only',
        study=True,
    )
    linear: bool = _setting(
        True, FLAG, "whether a linear reconstruction, by principal components, is mixed into the network's",
        study=True, paper=False,
    )  # fmt: skip
    combine: str = _setting(
        "largest",
        one_of(lambda: names("score.combine")),
        'how channel errors become one loss: "mean" (the paper), "scaled mean" or "largest"',
        study=True,
        paper="mean",
    )
    persistence: int = _setting(
        48, whole(1, REMEMBERED), "rows a loss is averaged over on the second track; 1 is no such track (the paper)",
        study=True, paper=1,
    )  # fmt: skip
    distance: bool = _setting(
        True, FLAG,
        "whether how far values are from the middle of their training range counts as losses do, on tracks of its own",
        study=True, paper=False,
    )  # fmt: skip
    patience: int = _setting(5, whole(1, MANY), "negative evidences in a row before the score resets", study=True)
    reset: Literal["carried", "everything"] = _setting(
        "carried",
        one_of(lambda: ("carried", "everything")),
        'what a reset drops: the "carried" score, or "everything", the new evidence too (the paper)',
        study=True,
        paper="everything",
    )
    extremes: bool = _setting(
        True, FLAG,
        "whether one row alarms where a channel is far beyond anything seen: its error, value, step, or how far astray",
        study=True, paper=False,
    )  # fmt: skip
    signals: bool = _setting(
        True, FLAG, "whether a channel that is missing, or stands still, for too long is an event of its own kind",
        study=True, paper=False,
    )  # fmt: skip
    unlike: bool = _setting(
        True, FLAG, "with adapt: whether losses that settle far above those of training are an event of their own kind",
        study=True, paper=False,
    )  # fmt: skip
    alpha: float | Literal["auto"] = _setting(
        "auto",
        AUTO | ALPHA,
        'p-value below which evidence is positive; "auto" is 0.05 or the paper\'s bound',
        study=True,
    )
    tail: str = _setting(
        "conformal",
        one_of(lambda: names("score.tails")),
        'p-values beyond the validation losses: "conformal", "pareto" (a fitted tail) or "empirical" (the paper)',
        study=True,
        paper="empirical",
    )
    settle: int = _setting(
        500,
        whole(0, REMEMBERED),
        "with adapt: first rows of a stream, whose median loss sets its level; 0 keeps that of training",
        study=True,
        paper=0,
    )
    drift: float = _setting(
        1e-3,
        between(0, 1),
        "with adapt: most that the logarithm of that level moves in a row, outside events; 0 is never",
        study=True,
        paper=0.0,
    )
    accept: int = _setting(
        4_000,
        whole(0, MANY),
        "with adapt: rows of one event after which its level is taken for the new normal; 0 is never",
        study=True,
        paper=0,
    )

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, np.generic):  # numpy's numbers become Python's, which JSON knows
                value = value.item()
                object.__setattr__(self, one.name, value)
            if one.metadata["rule"] is not None:
                one.metadata["rule"].check(one.name, value)
        Budget.parse(self.budget)
        following = self.settle > 0 or self.drift > 0
        if self.adapt is not None and self.adapt != following:
            for name in ADAPTING:
                object.__setattr__(self, name, _DEFAULTS[name] if self.adapt else 0 * _DEFAULTS[name])
        object.__setattr__(self, "adapt", self.settle > 0 or self.drift > 0)

    def but(self, **change: Any) -> Self:
        """These settings with some changed.

        Args:
            change: settings by name.

        Returns:
            Other settings.

        Raises:
            SettingError: where one breaks its rule.

        Example:
            settings = Settings().but(window=48)
            print(settings.window)
        """
        kept = asdict(self)
        if "adapt" in change:
            kept = {name: value for name, value in kept.items() if name not in ADAPTING}
        elif change.keys() & set(ADAPTING):
            del kept["adapt"]  # it follows from them
        return type(self)(**{**kept, **change})

    @property
    def live(self) -> dict[str, Any]:
        """What the state of a stream depends on."""
        live = {}
        for one in fields(self):
            value, without = getattr(self, one.name), one.metadata.get("paper", one.default)
            if one.metadata["live"] and (one.name in LIVE_IN_0_2 or value != without):
                live[one.name] = value
        return live

    @property
    def hold_rows(self) -> int:
        """Rows a missing value holds its last one."""
        return self.window if self.hold is None else self.hold

    def rows_per_alarm(self, period: float | None) -> float:
        """The budget in rows.

        Args:
            period: seconds between rows; None where times are unknown.

        Returns:
            Mean rows between false alarms; infinite, for of no account, where the threshold is given.

        Raises:
            SettingError: where the budget is per time, and times are unknown.

        Example:
            settings = Settings(budget="1/day")
            print(settings.rows_per_alarm(period=60.0))
        """
        return Budget.parse(self.budget).rows_per_alarm(period) if self.threshold == "auto" else float("inf")

    @property
    def online(self) -> bool:
        """Whether nothing computed at a row uses a later one."""
        return self.smooth == 1 or self.smoothing == "trailing"

    @classmethod
    def of(cls, preset: str = "default", **given: Any) -> Self:
        """The settings of a preset, with those given (and not None) put over it.

        Args:
            preset: "default" or "paper".
            given: settings by name.

        Returns:
            All settings.

        Raises:
            SettingError: where one is unknown or breaks its rule.

        Example:
            settings = Settings.of("paper", window=48)
            print(settings.tail)
        """
        if not isinstance(preset, str) or preset not in PRESETS:
            raise SettingError(f"preset must be one of {', '.join(map(repr, PRESETS))}; got {got(preset)}")
        cls.known(given)
        chosen = {name: value for name, value in given.items() if value is not None}
        for name in ("settle", "drift"):
            if chosen.get("adapt") is False and chosen.get(name):
                raise SettingError(f"{name} must be 0 where adapt is False; got {got(chosen[name])}")
        base = dict(PRESETS[preset])
        if any(name in chosen for name in ADAPTING):
            base.pop("adapt", None)  # what settle and drift say: older files know these alone
        return cls(**{**base, **chosen})

    @classmethod
    def known(cls, given: Iterable[str]) -> None:
        """Whether these are settings.

        Args:
            given: names.

        Raises:
            SettingError: where one is not; it lists the others.

        Example:
            Settings.known(["window", "budget"])
            print("all known")
        """
        for name in given:
            if name not in _DEFAULTS:
                raise SettingError(f"{name} is not a setting; the settings are {', '.join(sorted(_DEFAULTS))}")

    @staticmethod
    def read(pairs: Iterable[str]) -> dict[str, Any]:
        """Settings from texts like "width=128": numbers, true, false and null where they read as such.

        Args:
            pairs: texts.

        Returns:
            Values by name, not checked yet.

        Raises:
            SettingError: where one has no "=".

        Example:
            given = Settings.read(["width=128", "budget=1/week"])
            print(Settings.of(**given).width)
        """
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
        """One JSON object; `from_json` reads it back.

        Returns:
            Its text.

        Example:
            text = Settings().to_json()
            print(Settings.from_json(text) == Settings())
        """
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The settings written by `to_json`.

        Args:
            text: one JSON object.

        Returns:
            The settings.

        Raises:
            SettingError: where it is none, or a setting breaks its rule.

        Example:
            settings = Settings.from_json('{"window": 48}')
            print(settings.window)
        """
        try:
            return cls.of(**json.loads(text))
        except (json.JSONDecodeError, TypeError) as error:
            raise SettingError(f"settings must be a JSON object; got {text[:40]!r}: {error}") from error

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Reads a TOML file of settings; a `preset` key fills the rest.

        Args:
            path: of the file.

        Returns:
            The settings.

        Raises:
            SettingError: where it cannot be read, or a setting breaks its rule.

        Example:
            settings = Settings.from_toml("settings.toml")
            print(settings.budget)
        """
        return cls.of(**cls.table(path))

    @staticmethod
    def table(path: str | Path) -> dict[str, Any]:
        """The names and values of a TOML file, as they stand there.

        Args:
            path: of the file.

        Returns:
            Values by name, not checked yet.

        Raises:
            SettingError: where it cannot be read.

        Example:
            given = Settings.table("settings.toml")
            print(Detector(**given).settings.window)
        """
        try:
            return tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingError(f"settings file must be readable; got {str(path)!r}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingError(f"settings file must be TOML; got {str(path)!r}: {error}") from error


_DEFAULTS: dict[str, Any] = {one.name: one.default for one in fields(Settings)}
ADAPTING = ("settle", "drift", "accept")  # what `adapt` switches

# What each preset changes in the defaults. The default departs from the paper where that was measured to be better. A
# learning rate of 1e-3 does not get off the ground in 10 epochs of a short series: on six SMAP and MSL entities 1e-2
# always ended with a lower validation loss, and on four of them with a lower one than the paper's sizes and 30 epochs.
# The largest error, in units of each channel's normal one, shows a single broken sensor that the mean hides. A
# conformal p-value is never 0, so that one row beyond all validation losses does not jump over any threshold. A
# reset keeps the new evidence, so that a spike after a quiet stretch still counts. A second track sees what is small
# but lasts; the level that losses are measured against settles and follows drift. docs/calibration.md has what each of
# these is worth.
PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "default": MappingProxyType({}),
        "paper": MappingProxyType(
            {one.name: one.metadata["paper"] for one in fields(Settings) if "paper" in one.metadata}
        ),
    }
)


def signature() -> inspect.Signature:
    """`preset`, then every setting by keyword, None where the preset decides."""
    kind = inspect.Parameter.KEYWORD_ONLY
    given = [
        inspect.Parameter(one.name, kind, default=None, annotation=f"{one.type} | None") for one in fields(Settings)
    ]
    preset = inspect.Parameter("preset", kind, default="default", annotation=str)
    return inspect.Signature([preset, *given])

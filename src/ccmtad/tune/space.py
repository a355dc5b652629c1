"""What is searched: for each setting a range or a choice."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import SettingError
from ..settings import Settings
from ..wording import got

if TYPE_CHECKING:
    from optuna import Trial

__all__ = ["PAPER", "Choice", "Range", "Space", "read"]


@dataclass(frozen=True)
class Choice:
    """One of these."""

    values: tuple[Any, ...]

    def suggest(self, trial: "Trial", name: str) -> Any:
        return trial.suggest_categorical(name, self.values)

    @property
    def ends(self) -> tuple[Any, ...]:
        return self.values


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, both included; by its logarithm where that is asked for."""

    low: float
    high: float
    log: bool = False

    def suggest(self, trial: "Trial", name: str) -> Any:
        if isinstance(self.low, int) and isinstance(self.high, int):
            return trial.suggest_int(name, self.low, self.high)
        return trial.suggest_float(name, self.low, self.high, log=self.log)

    @property
    def ends(self) -> tuple[Any, ...]:
        return self.low, self.high


Space = Mapping[str, Choice | Range]

# The paper's, for data without a range of its own. Its alpha goes from 0 to 1; a detector takes none above 1/e.
PAPER: Space = {
    "clusters": Range(1, 10),
    "learning_rate": Range(1e-5, 1e-2, log=True),
    "alpha": Range(1e-3, 0.36, log=True),
    "expansion": Choice((1, 3, 5)),
    "width": Choice((128, 256)),
}


def read(texts: Iterable[str]) -> dict[str, Choice | Range]:
    """From texts like "width=16,32" (a choice), "clusters=2..6" or "learning_rate=1e-4..1e-2" (a range)."""
    found: dict[str, Choice | Range] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        low, dots, high = values.partition("..")
        try:
            if not equals or not values.strip():
                raise ValueError
            if dots:
                ends = json.loads(low), json.loads(high)
                if not all(type(end) in (int, float) for end in ends) or not ends[0] < ends[1]:
                    raise ValueError
                if float in map(type, ends):
                    found[name.strip()] = Range(float(ends[0]), float(ends[1]), log=ends[0] > 0)
                else:
                    found[name.strip()] = Range(*ends)
            else:
                found[name.strip()] = Choice(tuple(_value(one) for one in values.split(",")))
        except ValueError:
            raise SettingError(
                f"what is tried must read NAME=A,B,.. or NAME=LOW..HIGH, numbers and LOW < HIGH; got {got(text)}"
            ) from None
    return found


def check(space: Space, fixed: Mapping[str, Any]) -> None:
    """Every end must be a value that the setting takes."""
    if not space:
        raise SettingError("what is tried must be at least one setting; got none")
    Settings.known(space)
    for name, tried in space.items():
        for value in tried.ends:
            Settings.of(**{**fixed, name: value})


def within(space: Space, channels: int) -> Space:
    """No more clusters than there are channels."""
    clusters = space.get("clusters")
    if not isinstance(clusters, Range):
        return space
    high = max(1, min(int(clusters.high), channels))
    return {**space, "clusters": replace(clusters, low=min(clusters.low, high), high=high)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()

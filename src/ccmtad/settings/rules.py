"""What a setting must be, in words and as a check."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from ..errors import SettingError
from ..wording import got

__all__ = ["ALPHA", "AUTO", "DEVICE", "FLAG", "Rule", "between", "exactly", "one_of", "positive", "whole"]

# 1/e. The mean evidence of a normal row is log alpha + 1 (the paper's Appendix A): from here on the score climbs by
# itself on normal data, until a reset, and hardly a threshold keeps a budget. `bench.settings` lets studies try it.
FASTEST_ALPHA = 0.3678


@dataclass(frozen=True)
class Rule:
    """What a value must be, in words that follow "must be"."""

    words: Callable[[], str]
    holds: Callable[[Any], bool]

    def check(self, name: str, value: object) -> None:
        if not self.holds(value):
            raise SettingError(f"{name} must be {self.words()}; got {got(value)}")

    def __or__(self, other: "Rule") -> "Rule":
        return Rule(lambda: f"{self.words()} or {other.words()}", lambda value: self.holds(value) or other.holds(value))


def _is_int(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def exactly(text: str | None) -> Rule:
    return Rule(lambda: json.dumps(text) if text else "None", lambda value: value is text or value == text)


def whole(low: int, high: int) -> Rule:
    return Rule(
        lambda: f"a whole number from {low} to {high}", lambda value: _is_int(value) and bool(low <= value <= high)
    )


def between(low: float, high: float) -> Rule:
    return Rule(lambda: f"at least {low} and below {high}", lambda value: _is_real(value) and low <= value < high)


def one_of(choices: Callable[[], Iterable[str]]) -> Rule:
    return Rule(
        lambda: f"one of {', '.join(map(repr, choices()))}",
        lambda value: isinstance(value, str) and value in choices(),
    )


def positive(high: float) -> Rule:
    return Rule(
        lambda: f"a positive number of at most {high:g}", lambda value: _is_real(value) and bool(0 < value <= high)
    )


FLAG = Rule(lambda: "True or False", lambda value: isinstance(value, bool))
AUTO = exactly("auto")
ALPHA = Rule(
    lambda: f"above 0 and below 1/e = {FASTEST_ALPHA}", lambda value: _is_real(value) and 0 < value < FASTEST_ALPHA
)
DEVICE = Rule(
    lambda: '"auto" or a torch device such as "cpu" or "cuda"',
    lambda value: isinstance(value, str) and value != "" and value.isprintable(),
)

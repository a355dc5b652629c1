"""Above the threshold, for long enough, and long enough after the last event: an alarm."""

from typing import Any

from ..compiled import kernel

__all__ = ["FIELDS", "GOES_BY", "decide", "forget"]

GOES_BY = {"duration": 1, "cooldown": 0}  # settings

FIELDS = {
    "above": 0,  # rows above the threshold, up to the newest
    "since_alarm": 0,  # rows since the last alarm, no more than the cooldown; starts there
    "same_excursion": False,  # whether the excursion of the last alarm goes on
    "lasted": 0,  # its rows since then; 0 where none goes on
}


@kernel
def decide(stream: Any, rules: Any, score: float, threshold: float) -> bool:
    """Whether the newest row is in alarm."""
    stream.above = stream.above + 1 if score > threshold else 0
    stream.same_excursion = stream.same_excursion and score > 0.0
    alarm = stream.above >= rules.duration and (stream.same_excursion or stream.since_alarm >= rules.cooldown)
    stream.since_alarm = 0 if alarm else min(stream.since_alarm + 1, rules.cooldown)
    stream.same_excursion = stream.same_excursion or alarm
    stream.lasted = stream.lasted + 1 if stream.same_excursion else 0
    return alarm  # type: ignore[no-any-return]


@kernel
def forget(stream: Any) -> None:
    """After a row that could not be judged."""
    stream.above = 0
    stream.same_excursion = False
    stream.lasted = 0

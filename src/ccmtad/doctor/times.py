"""Times and rows: order, gaps, even steps, and whether there is enough."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..calibrate.alpha import USUAL_ALPHA
from ..errors import SettingError
from ..fit import calibrating
from ..frame import Frame
from ..prepare import timeline
from ..settings import Settings
from ..wording import count, span, stamp
from .finding import Finding

__all__ = ["gaps", "order", "period", "rows", "sampling"]

UNEVEN = 0.01  # share of intervals off the median by a tenth that is still regular


def order(frame: Frame, _: Settings) -> Iterator[Finding]:
    if frame.times is None:
        yield Finding(
            "note", "times", "no time column: rows are taken to follow each other evenly, and budgets are in rows"
        )
        return
    kept = timeline.kept(frame.times, len(frame))
    if kept.all():
        first, last = (stamp(time, frame.zone) for time in frame.times[[0, -1]])
        zone = "" if frame.zone is None else f" ({frame.zone})"
        yield Finding("fine", "order", f"times rise from {first} to {last}{zone}")
        return
    late = int((~kept).sum())
    same = len(frame) - len(np.unique(frame.times))
    text = f"{late:,} rows are not later than those before them and would be ignored ({same:,} repeat a time)"
    heavy = late > 0.05 * len(frame)
    cure = ": sort the file by time" if late > same and heavy else ""
    if frame.zone is None and _set_back(frame.times, kept):
        cure = ": if clocks were set back there, name their zone, such as timezone='Europe/Berlin'"
    yield Finding("problem" if heavy else "note", "order", f"{text}; the first is row {int(np.argmin(kept)):,}{cure}")


def _set_back(times: NDArray[np.datetime64], kept: NDArray[np.bool_]) -> bool:
    """Whether the first row that is late goes back by an hour, less the time between two rows."""
    first = int(np.argmin(kept))
    if first < 2:
        return False
    step, back = times[first - 1] - times[first - 2], times[first - 1] - times[first]
    return bool(step > np.timedelta64(0, "s") and step + back == np.timedelta64(1, "h"))


def gaps(frame: Frame, settings: Settings) -> Iterator[Finding]:
    found = _intervals(frame)
    if found is None:
        return
    seconds, step = found
    gaps = np.flatnonzero(seconds > settings.gap * step)
    if not len(gaps):
        yield Finding("fine", "gaps", f"no gap of more than {span(settings.gap * step)}")
        return
    longest = int(gaps[np.argmax(seconds[gaps])])
    lost = len(gaps) * (settings.window - 1)
    assert frame.times is not None
    after = frame.times[timeline.kept(frame.times, len(frame))][longest]
    text = (
        f"{count(len(gaps), 'gap')} of more than {span(settings.gap * step)}, "
        f"the longest {span(float(seconds[longest]))} after {stamp(after, frame.zone)}; "
        f"each costs {settings.window - 1} rows that cannot be judged"
    )
    yield Finding("problem" if lost > len(frame) / 2 else "note", "gaps", text)


def sampling(frame: Frame, settings: Settings) -> Iterator[Finding]:
    found = _intervals(frame)
    if found is None:
        return
    seconds, step = found
    within = seconds[seconds <= settings.gap * step]
    uneven = float(np.mean(np.abs(within - step) > 0.1 * step)) if len(within) else 0.0
    if uneven > UNEVEN:
        text = f"{uneven:.1%} of the intervals are off the median of {span(step)} by more than a tenth"
        yield Finding(
            "note", "sampling", f"{text}: resample to even steps if you can; the network counts rows, not seconds"
        )
    else:
        yield Finding("fine", "sampling", f"one row every {span(step)}")


def rows(frame: Frame, settings: Settings) -> Iterator[Finding]:
    kept = int(timeline.kept(frame.times, len(frame)).sum())
    least = int(np.ceil(max(1 / USUAL_ALPHA / settings.validation, settings.window / (1 - settings.validation))))
    if kept < least:
        yield Finding("problem", "rows", f"{kept:,} rows are too few to fit: at least {least:,} are needed")
        return
    try:
        wanted = settings.rows_per_alarm(period(frame))
    except SettingError as error:
        yield Finding("problem", "rows", str(error))
        return
    validation = calibrating(kept, settings)
    part = "" if validation == kept else f"; the last {settings.validation:.0%}, {validation:,} rows, calibrate"
    text = f"{kept:,} rows, {len(frame.channels)} channels{part}"
    if np.isinf(wanted):
        yield Finding("fine", "rows", text)
        return
    if validation >= wanted:
        yield Finding("fine", "rows", f"{text}: enough for a budget of {settings.budget}")
    else:
        comfortable = int(np.ceil(wanted))
        if calibrating(comfortable, settings) < wanted:
            comfortable = int(np.ceil(wanted / settings.validation))
        yield Finding(
            "note", "rows", f"{text}; for a budget of {settings.budget} about {comfortable:,} rows are comfortable: "
            "with fewer the threshold is extrapolated, and fit says how far",
        )  # fmt: skip


def period(frame: Frame) -> float | None:
    """Median seconds between the rows that count."""
    return None if frame.times is None else timeline.median_period(frame.times[timeline.kept(frame.times, len(frame))])


def _intervals(frame: Frame) -> tuple[NDArray[np.float64], float] | None:
    """Seconds between the rows that count, and their median."""
    if frame.times is None:
        return None
    times = frame.times[timeline.kept(frame.times, len(frame))]
    middle = period(frame)
    return None if middle is None else ((np.diff(times).astype(np.int64) * 1e-9).astype(np.float64), middle)

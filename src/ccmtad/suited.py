"""Files that can be fitted on or judged: those that cannot are refused, and why is said."""

import logging
from dataclasses import replace
from pathlib import Path

from .errors import InputError
from .frame import Frame
from .model import Model
from .prepare import timeline, windows
from .tables import Loaded, Reading, load

__all__ = ["for_a_fit", "for_a_model", "reading_for"]

log = logging.getLogger("ccmtad")


def for_a_fit(path: Path, how: Reading) -> Loaded:
    """A file to learn from, in order of time, and how it was read."""
    loaded = load(path, how)
    _check_order(loaded.frame, path)
    return loaded


def for_a_model(
    model: Model, path: Path, how: Reading, allow_missing: bool | None = None, beside: str | None = None
) -> Frame:
    """A file for a fitted model: read as that of the fit was, with its channels, in order of time, and long enough to
    be judged. `allow_missing` is None where it cannot be asked for; `beside` is a column that is no channel."""
    fitted = model.channels if model.named else ()
    how = reading_for(model, how)
    if beside is not None and beside not in how.drop:
        how = replace(how, drop=(*how.drop, beside))
    frame = load(path, how, fitted=fitted, infinite_is_missing=True).frame
    frame = frame.align(model.channels, named=model.named, argument=f"data {str(path)!r}", allow_missing=allow_missing)
    _check_order(frame, path)
    kept = timeline.kept(frame.times, len(frame), model.longest_pause)
    times = None if frame.times is None else frame.times[kept]
    starts = timeline.starts(times, int(kept.sum()), model.longest_pause)
    if not len(windows.ends(starts, model.settings.window)):
        raise InputError(
            f"data {str(path)!r} must hold {model.settings.window} rows that follow each other without a gap, or none "
            f"can be judged; got {len(frame):,} rows"
        )
    return frame


def reading_for(model: Model, how: Reading, aloud: bool = True) -> Reading:
    """How to read a file for a fitted model: as the one it was fitted on, but for what is said now, which is told."""
    merged, told = how.over(model.reading)
    for one in told if aloud else ():
        log.warning("%s", one)
    return merged


def _check_order(frame: Frame, path: Path) -> None:
    """A few late rows are ignored; where most are, something else is wrong."""
    late = int((~timeline.kept(frame.times, len(frame))).sum())
    if late > len(frame) / 2:
        raise InputError(
            f"data {str(path)!r} must be in order of time; {late:,} of {len(frame):,} rows are not later than "
            "those before them: sort it, or name another time column, as in time='measured at'"
        )

"""Values: missing, constant, copied, stretched by a few wild ones, shifted for good."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..frame import Frame
from ..settings import Settings
from .finding import Finding, listed, moves

__all__ = ["constant", "copies", "jumps", "missing", "stretched", "unlearnt", "unmoved"]

Floats = NDArray[np.float64]

SAMPLE = 200_000  # rows looked at where a look at all would be slow
BLOCKS = 40  # parts of the series whose medians show a jump
JUMP = 6.0  # spreads that a jump moves a channel by
ROOM = 20.0  # times the range of nearly all values that single ones may stretch it


def missing(frame: Frame, settings: Settings) -> Iterator[Finding]:
    gone = np.isnan(frame.values)
    share = gone.mean(axis=0)
    if not share.any():
        yield Finding("fine", "missing", "no value is missing")
        return
    worst = [i for i in np.argsort(-share, kind="stable") if 0 < share[i] < 1]
    if worst:
        names = _names(frame, worst)
        longest = max(_longest_run(gone[:, i]) for i in worst)
        text = f"{share[worst].mean():.2%} of the values of {listed(names)}; at most {longest:,} rows on end"
        held = (
            f", held for {settings.hold_rows} and then left out" if longest > settings.hold_rows else ", held meanwhile"
        )
        yield Finding("note", "missing", text + held, names)


def unlearnt(frame: Frame, settings: Settings) -> Iterator[Finding]:
    """Channels without a value to learn from."""
    gone = np.isnan(frame.values)
    share = gone.mean(axis=0)
    empty = np.flatnonzero(share == 1.0)
    if len(empty):
        names = _names(frame, empty)
        yield Finding(
            "problem",
            "missing",
            f"no value at all in {listed(names)}: leave it out with drop={names[0]!r}",
            names,
        )
    early = gone[: int(len(frame) * (1 - settings.validation))].all(axis=0) & (share < 1)
    if early.any():
        names = _names(frame, np.flatnonzero(early))
        yield Finding(
            "problem", "missing", f"no value of {listed(names)} in the first {1 - settings.validation:.0%}, which "
            "is learnt from: leave it out, or begin later", names,
        )  # fmt: skip


def constant(frame: Frame, _: Settings) -> Iterator[Finding]:
    still = _still(frame.values)
    if still.any():
        names = _names(frame, np.flatnonzero(still))
        yield Finding(
            "note",
            "constant",
            f"{listed(names)} never {moves('move', names)}: kept, and any move will stand out",
            names,
        )


def unmoved(frame: Frame, settings: Settings) -> Iterator[Finding]:
    """Channels that do not move where they are learnt from."""
    cut = int(len(frame) * (1 - settings.validation))
    still = _still(frame.values)
    early = _still(frame.values[:cut]) & ~still if cut else np.zeros_like(still)
    if early.any():
        names = _names(frame, np.flatnonzero(early))
        yield Finding(
            "problem", "constant",
            f"{listed(names)} {moves('move', names)} only in the last {settings.validation:.0%}: what judges that part "
            "has not seen it move, and the threshold rises; give rows in which it happens earlier too, or leave it out",
            names,
        )  # fmt: skip


def copies(frame: Frame, _: Settings) -> Iterator[Finding]:
    rows = frame.values
    repeated = float(np.mean((rows[1:] == rows[:-1]).all(axis=1))) if len(rows) > 1 else 0.0
    if repeated > 0.2:
        yield Finding(
            "note", "copies", f"{repeated:.0%} of the rows repeat the one before: is it sampled faster than it changes?"
        )
    seen: dict[bytes, str] = {}
    pairs = []
    moving = ~_still(rows) & ~np.isnan(rows).all(axis=0)
    for i, name in enumerate(frame.channels):
        if moving[i]:
            other = seen.setdefault(np.ascontiguousarray(rows[:, i]).tobytes(), name)
            if other != name:
                pairs.append((other, name))
    if pairs:
        text = "; ".join(f"{name!r} is {other!r}" for other, name in pairs[:4]) + f" and {len(pairs) - 4} more" * (
            len(pairs) > 4
        )
        yield Finding("note", "copies", f"exact copies: {text}", tuple(name for _, name in pairs))


def stretched(frame: Frame, _: Settings) -> Iterator[Finding]:
    """Channels are scaled by their range: a few wild values squeeze all others into nothing."""
    values = frame.values[:: max(len(frame) // SAMPLE, 1)]
    wild: dict[str, float] = {}
    texts = []
    for i, name in enumerate(frame.channels):
        column = frame.values[:, i]
        known = values[:, i][~np.isnan(values[:, i])]
        if len(known) < 100:
            continue
        least, most = float(np.nanmin(column)), float(np.nanmax(column))
        usual = known[(known > least) & (known < most)] if _alone(known, least) or _alone(known, most) else known
        low, high = np.quantile(usual, [0.005, 0.995])
        if not most - least > ROOM * (high - low) > 0:
            continue
        far = least if low - least > most - high else most
        wild[name] = far
        times = int((column == far).sum())
        often = "once" if times == 1 else f"{times:,} times"
        texts.append(f"{name!r} reaches {far:g} ({often}), while 99 % lie in {low:g} to {high:g}")
    if wild:
        more = f"; and {len(texts) - 3} more" * (len(texts) > 3)
        yield Finding(
            "note", "range", f"{'; '.join(texts[:3])}{more}: if such a value stands for a missing one, "
            f"say missing='{next(iter(wild.values())):g}'",
            tuple(wild),
        )  # fmt: skip


def _alone(known: Floats, extreme: float) -> bool:
    """Whether the smallest or largest value lies far from all others, as a number that stands for "missing" does."""
    others = known[known != extreme]
    if len(others) < 100 or np.ptp(others) == 0:
        return False
    return bool(np.abs(others - extreme).min() > 3 * np.ptp(others))


def jumps(frame: Frame, _: Settings) -> Iterator[Finding]:
    """Channels whose level before and after some moment differ by far more than they vary around it."""
    if len(frame) < 10 * BLOCKS:
        return
    parts = np.array_split(np.arange(len(frame)), BLOCKS)
    found = []
    for i, name in enumerate(frame.channels):
        column = frame.values[:, i]
        known = {int(rows[0]): column[rows][~np.isnan(column[rows])] for rows in parts}
        known = {row: part for row, part in known.items() if len(part)}
        if len(known) < BLOCKS // 2:
            continue
        middle = np.array([np.median(part) for part in known.values()])
        spread = float(np.median([np.subtract(*np.quantile(part, [0.75, 0.25])) for part in known.values()]))
        # The split that leaves least around the two medians.
        k = min(range(2, len(middle) - 1), key=lambda k: _around(middle[:k]) + _around(middle[k:]))
        before, after = float(np.median(middle[:k])), float(np.median(middle[k:]))
        noise = max(float(np.subtract(*np.quantile(side, [0.95, 0.05]))) for side in (middle[:k], middle[k:]))
        if abs(after - before) > max(JUMP * spread, 2 * noise, 1e-12):
            text = f"{name!r} from about {before:.4g} to {after:.4g} near row {list(known)[k]:,}"
            found.append((name, text))
    if found:
        more = f"; and {len(found) - 3} more" * (len(found) > 3)
        yield Finding(
            "note", "jumps", f"level shifts: {'; '.join(text for _, text in found[:3])}{more}. "
            "A new sensor, unit or set point? What lies before it is no longer normal",
            tuple(name for name, _ in found),
        )  # fmt: skip


def _around(values: Floats) -> float:
    return float(np.abs(values - np.median(values)).sum())


def _still(values: Floats) -> NDArray[np.bool_]:
    """Channels that have values, all of them one."""
    gone = np.isnan(values)
    high, low = np.where(gone, -np.inf, values).max(axis=0), np.where(gone, np.inf, values).min(axis=0)
    still: NDArray[np.bool_] = (high >= low) & (high - low <= 1e-12 * np.maximum(np.abs(low), np.abs(high)))
    return still


def _longest_run(flags: NDArray[np.bool_]) -> int:
    ends = np.flatnonzero(np.diff(np.r_[False, flags, False]))
    return int((ends[1::2] - ends[::2]).max(initial=0))


def _names(frame: Frame, places: "list[int] | NDArray[np.int64]") -> tuple[str, ...]:
    return tuple(frame.channels[int(i)] for i in places)

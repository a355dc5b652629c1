"""Faults: what breaks, when, how badly, and which channels it truly affects."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["KINDS", "Fault", "schedule"]

Kind = Literal["leak", "stuck valve", "pump trip", "sensor bias", "frozen sensor", "slow drift", "spoofed sensor"]


@dataclass(frozen=True)
class Fault:
    """One fault. `size` is in units of the normal spread (standard deviation) of the channel it is stated for.

    leak: water lost, in spreads of the flow meter before it. sensor bias, slow drift, spoofed sensor: shift of the
    reading (a drift reaches it at the end). stuck valve, pump trip: how far from its normal mean the channel is held.
    frozen sensor: root mean square of truth minus reading, known after the run (None before).
    """

    kind: Kind
    channel: str  # where it happens
    start: int  # first row, inclusive
    end: int  # last row, inclusive
    size: float | None
    affected: tuple[str, ...]  # channels it truly affects, the first being where it happens


# Where each kind can happen, and the channels truly affected there.
KINDS: dict[Kind, tuple[tuple[str, ...], ...]] = {
    "leak": (
        ("FIT401", "PIT401", "SIT401", "LIT501", "LIT401"),
        ("FIT201", "PIT201", "LIT301", "P101", "SIT201"),
    ),
    "stuck valve": (
        ("MV101", "FIT101", "LIT101"),
        ("MV302", "FIT302", "LIT401"),
    ),
    "pump trip": (
        ("P301", "FIT301", "DPIT301", "LIT401", "LIT301"),
        ("SIT601", "FIT602", "PIT602", "LIT601"),
        ("P101", "SIT201", "FIT201", "PIT201", "LIT301", "LIT101"),
        ("SIT701", "FIT701", "AIT701", "AIT702", "B701", "B702"),
        ("SIT401", "FIT401", "PIT401", "LIT501", "LIT401"),
    ),
    "sensor bias": (
        ("FIT401",),
        ("PIT602",),
        ("PIT501",),
        ("FIT501",),
        ("FIT602",),
    ),
    "frozen sensor": (
        ("PIT201",),
        ("FIT602",),
        ("DPIT301",),
        ("LIT601", "SIT601", "FIT602"),
        ("FIT301",),
        ("PIT401",),
    ),
    "slow drift": (
        ("AIT401",),
        ("PIT401",),
        ("AIT801",),
        ("FIT602",),
        ("AIT501",),
    ),
    "spoofed sensor": (
        ("LIT501", "SIT401", "FIT401", "PIT401", "PIT501"),
        ("LIT601", "SIT601", "FIT602", "PIT602"),
        ("LIT401", "P301", "FIT301"),
        ("LIT301", "P101", "FIT201", "SIT201"),
    ),
}
# From hard to easy. A leak is sized by what its pump can deliver; the rest by what a sensor can show.
SIZES: dict[Kind, tuple[float, float]] = {"leak": (0.3, 1.0), "spoofed sensor": (2.5, 5.0)}
OTHER_SIZES = (2.0, 6.0)
# How long they last. A tripped pump is noticed and restarted before its tank is empty.
MINUTES: dict[Kind, tuple[int, int]] = {
    "pump trip": (30, 60),
    "stuck valve": (120, 200),
    "spoofed sensor": (60, 120),
}
OTHER_MINUTES = (90, 240)
LEAD = 60  # rows before a fault
RECOVERY = 360  # rows left after a fault before the next, so that the plant has settled


def schedule(rows: int, count: int = 14, seed: int = 0) -> tuple[Fault, ...]:
    """Faults of every kind in turn, in random order, at random places, of sizes spread evenly from hard to easy.

    The last two of each seven overlap, in different lines of the plant where their places allow it. Fewer than `count`
    are returned where `rows` has no room for them.
    """
    random = np.random.default_rng([seed, 1])
    longest = max(OTHER_MINUTES[1], *(most for _, most in MINUTES.values()))
    while count and rows // (count - count // len(KINDS)) < LEAD + longest + RECOVERY:
        count -= 1
    if not count:
        return ()
    shuffled = (random.permutation(list(KINDS)).tolist() for _ in range(-(-count // len(KINDS))))
    kinds = [kind for turn in shuffled for kind in turn][:count]
    ease = random.permutation(np.linspace(0.0, 1.0, count))
    turn = {kind: int(random.integers(len(places))) for kind, places in KINDS.items()}
    slot = rows // (count - count // len(KINDS))
    faults: list[Fault] = []
    begin = 0
    for i, kind in enumerate(kinds):
        places = KINDS[kind]
        place = places[turn[kind] % len(places)]
        turn[kind] += 1
        length = int(random.integers(*MINUTES.get(kind, OTHER_MINUTES)))
        if i % len(KINDS) == len(KINDS) - 1 and faults:  # overlaps the one before it
            before = faults[-1]
            start = before.start + 3 * (before.end - before.start) // 4
            if _line(place[0]) == _line(before.channel):
                place = next((p for p in places if _line(p[0]) != _line(before.channel)), place)
        else:
            start = begin + LEAD + int(random.integers(slot - length - RECOVERY - LEAD + 1))
            begin += slot
        hard, easy = SIZES.get(kind, OTHER_SIZES)
        size = hard + float(ease[i]) * (easy - hard)
        faults.append(Fault(kind, place[0], start, min(start + length, rows - 1), size, place))
    return tuple(faults)


def _line(channel: str) -> bool:
    """Which line a channel belongs to: stages 6 to 8 are waste water."""
    return channel.lstrip("ABDFILMPSTUV")[0] in "678"

"""The waste water line: equalisation, aeration, settling.

Levels in m, flows in m³/h, dissolved oxygen and ammonia in mg/l. Independent of the drinking water line.
"""

from collections.abc import Iterator, Mapping
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .disturb import daily, wander
from .upset import Upset

__all__ = ["AREA", "CONTROLLING", "RECORD", "WasteLine"]

Floats = NDArray[np.float64]

STEP = 1.0 / 60.0  # hours in a row
BAR = 0.0981  # per metre of head
AREA = {"601": 200.0}  # m²
FULL = 4.5  # m at which the basin overflows
EMPTY = 0.15  # m below which nothing can be drawn
VOLUME = 800.0  # m³ under aeration
DUTY = 180  # minutes a blower runs before the other takes over
INFLOW = (
    0.80, 0.68, 0.58, 0.52, 0.50, 0.52, 0.64, 0.88, 1.12, 1.28, 1.34, 1.30,
    1.22, 1.18, 1.14, 1.08, 1.02, 1.02, 1.08, 1.18, 1.24, 1.22, 1.12, 0.96,
)  # fmt: skip

CONTROLLING = ("LIT601", "AIT701", "LIT801")
RECORD = (
    "FIT601", "LIT601", "SIT601", "FIT602", "PIT602", "AIT701", "SIT701", "FIT701", "B701", "B702", "AIT702", "LIT801",
    "P801", "FIT801", "AIT801", "spill 601",
)  # fmt: skip


class WasteLine:
    """Its state, advanced one stretch of rows at a time."""

    def __init__(self, rows: int, random: Iterator[np.random.Generator], noise: Mapping[str, Floats]) -> None:
        self.inflow = 180.0 * daily(rows, INFLOW) * np.exp(wander(rows, next(random), 0.06, 40))
        self.load = np.exp(wander(rows, next(random), 0.08, 120))
        self.noise = {name: noise[name].tolist() for name in CONTROLLING}
        self.level, self.speed = 2.2, 0.6
        self.oxygen, self.integral, self.blowing = 2.0, 0.3, 0.3
        self.ammonia, self.blanket, self.haze = 3.0, 0.9, 4.7
        self.wasting, self.duty = False, 0
        self.reading = {"LIT601": 2.2, "AIT701": 2.0, "LIT801": 0.9}
        self.record: list[tuple[float, ...]] = []

    def run(self, first: int, last: int, upset: Upset) -> None:
        """Advances over rows first .. last - 1 under one set of faults."""
        inflow, load = self.inflow[first:last].tolist(), self.load[first:last].tolist()
        n601, n701, n801 = (self.noise[name][first:last] for name in CONTROLLING)
        (g601, o601), (g701, o701), (g801, o801) = (upset.reading(name, self.reading[name]) for name in CONTROLLING)
        ok601, ok_blower = (0.0 if machine in upset.tripped else 1.0 for machine in ("SIT601", "SIT701"))
        level, speed, oxygen, integral, blowing = (
            self.level,
            self.speed,
            self.oxygen,
            self.integral,
            self.blowing,
        )
        ammonia, blanket, haze, wasting, duty = self.ammonia, self.blanket, self.haze, self.wasting, self.duty
        r601, r701, r801 = (self.reading[name] for name in CONTROLLING)
        record = self.record.append

        for t in range(last - first):
            # Stage 6, equalisation: the pump's speed follows the level.
            target = min(max(0.60 + 0.20 * (r601 - 2.2), 0.46), 1.0) * ok601
            speed += 0.5 * ((target if level > EMPTY else 0.0) - speed)
            q602 = sqrt(max(25.0 * speed * speed - 5.0, 0.0) / 1.2e-4)
            p602 = BAR * (5.0 + 0.7e-4 * q602 * q602)

            # Stage 7, aeration: two blowers take turns, the second a little weaker; PI control of oxygen.
            duty += 1
            second = duty // DUTY % 2 == 1
            error = 2.0 - r701
            integral = min(max(integral + 0.01 * error, 0.0), 1.0)
            blowing += 0.5 * (min(max(integral + 0.12 * error, 0.15), 1.0) * ok_blower - blowing)
            air = (960.0 if second else 1000.0) * blowing
            uptake = 14.0 + 0.10 * q602 * load[t]
            oxygen = max(oxygen + STEP * (0.0105 * air * (9.0 - oxygen) - uptake * oxygen / (oxygen + 0.3)), 0.0)
            ammonia += STEP * (q602 / VOLUME * (28.0 * load[t] - ammonia) - 1.6 * ammonia * oxygen / (oxygen + 0.5))

            # Stage 8, settling: sludge is drawn off between two blanket heights.
            wasting = r801 > 1.2 or (wasting and r801 > 0.6)
            drawn = 25.0 if wasting else 0.0
            blanket = max(blanket + STEP * (0.003 * q602 - 0.06 * drawn), 0.05)
            haze += 0.15 * (2.0 + 2.2 * blanket + 0.008 * q602 - haze)

            level += STEP * (inflow[t] - q602) / AREA["601"]
            over = max(level - FULL, 0.0)
            level -= over

            r601, r701 = g601 * (level + n601[t]) + o601, g701 * (oxygen + n701[t]) + o701
            r801 = g801 * (blanket + n801[t]) + o801
            running = 1.0 if blowing > 0.05 else 0.0
            record(
                (
                    inflow[t], level, speed, q602, p602, oxygen, blowing, air, 0.0 if second else running,
                    running if second else 0.0, ammonia, blanket, 1.0 if wasting else 0.0, drawn, haze,
                    over * AREA["601"] / STEP, r601, r701, r801,
                )
            )  # fmt: skip

        self.level, self.speed, self.oxygen, self.integral, self.blowing = (
            level,
            speed,
            oxygen,
            integral,
            blowing,
        )
        self.ammonia, self.blanket, self.haze, self.wasting, self.duty = ammonia, blanket, haze, wasting, duty
        self.reading = dict(zip(CONTROLLING, (r601, r701, r801), strict=True))

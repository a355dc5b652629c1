"""The drinking water line: intake, dosing, filtration, clear water, tower.

Levels in m, flows in m³/h, pressures in bar, pump speeds 0..1, chlorine in mg/l. Pumps follow head = a s² - b q²
against a static head and pipe friction; tanks and chlorine obey mass balance; controllers see readings, not the truth.
"""

from collections.abc import Iterator, Mapping
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .disturb import daily, wander
from .upset import Upset

__all__ = ["AREA", "CONTROLLING", "RECORD", "WaterLine"]

Floats = NDArray[np.float64]

STEP = 1.0 / 60.0  # hours in a row
BAR = 0.0981  # per metre of head
A101, A301, A401, A501 = 120.0, 60.0, 150.0, 100.0  # m² of each tank
AREA = {"101": A101, "301": A301, "401": A401, "501": A501}
RIM101, RIM301, RIM401, RIM501 = 4.6, 3.8, 4.4, 6.0  # m at which it overflows
EMPTY = 0.15  # m below which nothing can be drawn
DEMAND = (
    0.55, 0.48, 0.45, 0.45, 0.52, 0.72, 1.05, 1.28, 1.30, 1.20, 1.12, 1.10,
    1.14, 1.10, 1.02, 1.00, 1.06, 1.20, 1.32, 1.30, 1.16, 1.00, 0.82, 0.66,
)  # fmt: skip

CONTROLLING = ("LIT101", "LIT301", "LIT401", "LIT501", "LIT202", "DPIT301", "FIT201")
# What each row records: true values of channels, then water that leaves unmetered, over a rim or by a leak.
RECORD = (
    "LIT101", "FIT101", "MV101", "PIT101", "P101", "SIT201", "FIT201", "PIT201", "AIT201", "SIT203", "LIT202", "P204",
    "LIT301", "P301", "FIT301", "DPIT301", "AIT301", "MV302", "P302", "FIT302", "LIT401", "SIT401", "FIT401", "PIT401",
    "AIT401", "LIT501", "FIT501", "PIT501", "AIT501",
    "spill 101", "spill 301", "spill 401", "spill 501", "leak 201", "leak 401",
)  # fmt: skip


class WaterLine:
    """Its state, advanced one stretch of rows at a time."""

    def __init__(self, rows: int, random: Iterator[np.random.Generator], noise: Mapping[str, Floats]) -> None:
        self.river = 3.0 + wander(rows, next(random), 0.15, 500)
        self.turbidity = np.maximum(5.0 + wander(rows, next(random), 0.8, 200), 1.0)
        self.demand = 235.0 * daily(rows, DEMAND) * np.exp(wander(rows, next(random), 0.05, 30))
        self.noise = {name: noise[name].tolist() for name in CONTROLLING}
        self.level = {"101": 3.0, "301": 2.2, "401": 2.8, "501": 4.2}
        self.chlorine = {"301": 1.78, "401": 1.68, "501": 1.6}
        self.chemical = 1.0
        self.valve = {"101": 0.0, "302": 0.0}
        self.speed = {"101": 0.0, "301": 0.0, "302": 0.0, "401": 0.85}
        self.clogging, self.haze = 0.1, 0.4
        self.mode = {"fill": False, "raise": False, "filter": True, "refill": False}
        self.washing = 0  # minutes of backwash left
        self.reading = {
            "LIT101": 3.0,
            "LIT301": 2.2,
            "LIT401": 2.8,
            "LIT501": 4.2,
            "LIT202": 1.0,
            "DPIT301": 0.5,
        }
        self.reading["FIT201"] = 0.0
        self.record: list[tuple[float, ...]] = []

    def run(self, first: int, last: int, upset: Upset) -> None:
        """Advances over rows first .. last - 1 under one set of faults."""
        river, turbidity = self.river[first:last].tolist(), self.turbidity[first:last].tolist()
        demand = self.demand[first:last].tolist()
        n101, n301, n401, n501, n202, n_dp, n_flow = (self.noise[name][first:last] for name in CONTROLLING)
        # A gain and an offset turn each controlling sensor's true value into its reading.
        (
            (g101, o101),
            (g301, o301),
            (g401, o401),
            (g501, o501),
            (g202, o202),
            (g_dp, o_dp),
            (g_flow, o_flow),
        ) = (upset.reading(name, self.reading[name]) for name in CONTROLLING)
        stuck101, stuck302 = upset.stuck.get("MV101", -1.0), upset.stuck.get("MV302", -1.0)
        ok101, ok301, ok401 = (0.0 if pump in upset.tripped else 1.0 for pump in ("P101", "P301", "SIT401"))
        leak201, leak401 = upset.leak.get("FIT201", 0.0), upset.leak.get("FIT401", 0.0)

        l101, l301, l401, l501 = self.level.values()
        c301, c401, c501 = self.chlorine.values()
        chemical, clogging, haze = self.chemical, self.clogging, self.haze
        mv101, mv302 = self.valve.values()
        s101, s301, s302, s401 = self.speed.values()
        fill, lift, filtering, refill = self.mode.values()
        washing = self.washing
        r101, r301, r401, r501, r202, r_dp, r_flow = (self.reading[name] for name in CONTROLLING)
        record = self.record.append

        for t in range(last - first):
            # Control: hysteresis on readings.
            fill = r101 < 2.0 or (fill and r101 < 3.8)
            lift = r301 < 1.5 or (lift and r301 < 3.0)
            filtering = r401 < 2.0 or (filtering and r401 < 3.6)
            refill = r202 < 0.5 or (refill and r202 < 1.4)
            if washing:
                washing -= 1
            elif r_dp > 1.05 and s301 > 0.9:
                washing = 12

            # Stage 1, intake: a motor valve moves for three minutes; flow by river head.
            mv101 = stuck101 if stuck101 >= 0 else min(max(mv101 + (0.34 if fill else -0.34), 0.0), 1.0)
            q101 = 520.0 * mv101 * sqrt(river[t] / 3.0)

            # Stage 2, lift and dose: the leak lies behind the meter, so the pump runs further down its curve.
            s101 += 0.7 * ((ok101 if lift and l101 > EMPTY else 0.0) - s101)
            head = 30.0 * s101 * s101 - 12.0 - l301 + l101
            lost201 = leak201 if head > 2.0 else 0.0
            q_pipe = _pipe(head, 0.4e-4, 0.62e-4, lost201)
            q201 = q_pipe + lost201
            p201 = BAR * (12.0 + l301 - l101 + 0.62e-4 * q_pipe * q_pipe)
            dosing = min(max(0.002 * r_flow, 0.0), 1.0)
            inflow_chlorine = 900.0 * dosing / q201 if q201 > 20.0 else 0.0  # part of the dose leaves by the leak
            chemical += STEP * ((1.6 if refill else 0.0) - 0.4 * dosing)

            # Stage 3, filter: clogging grows with what is filtered until a backwash clears it.
            s301 += 0.7 * ((ok301 if filtering and not washing and l301 > EMPTY else 0.0) - s301)
            s302 += 0.7 * ((1.0 if washing and l401 > EMPTY else 0.0) - s302)
            mv302 = stuck302 if stuck302 >= 0 else min(max(mv302 + (0.5 if washing else -0.5), 0.0), 1.0)
            q301 = sqrt(max(20.0 * s301 * s301 - 2.0, 0.0) / (1.0e-4 + 1.0e-4 * clogging))
            dp = BAR * (0.4 + clogging) * 1.0e-4 * q301 * q301
            wash = 300.0 * s302 * mv302
            escape = 0.2 * q301 * mv302  # filtrate leaves through the backwash valve if it is open
            clogging += 6.0e-5 * STEP * q301 * turbidity[t] - 0.25 * STEP * 60.0 * clogging * wash / 300.0
            clogging = max(clogging, 0.1)
            haze += 0.2 * (turbidity[t] * (0.05 + 0.06 * clogging) - haze) * (q301 > 20.0)

            # Stage 4, clear water: a variable-speed pump holds the tower's level.
            target = min(max(0.80 + 0.15 * (4.0 - r501), 0.6), 1.0) * ok401
            s401 += 0.5 * ((target if l401 > EMPTY else 0.0) - s401)
            lift_head = 60.0 * s401 * s401 - 30.0
            lost401 = leak401 if lift_head > 2.0 else 0.0
            q_main = _pipe(lift_head, 0.8e-4, 1.3e-4, lost401)
            q401 = q_main + lost401
            p401 = BAR * (30.0 + 1.3e-4 * q_main * q_main)

            # Stage 5, tower.
            q501 = demand[t] if l501 > EMPTY else 0.0
            p501 = BAR * (25.0 + l501) - 4.0e-6 * q501 * q501

            # Chlorine mixes into each tank with what flows in, and decays.
            c301 += STEP * q_pipe * (inflow_chlorine - c301) / (A301 * max(l301, EMPTY))
            c401 += STEP * (q301 * (c301 - c401) / (A401 * max(l401, EMPTY)) - 0.03 * c401)
            c501 += STEP * (q_main * (c401 - c501) / (A501 * max(l501, EMPTY)) - 0.03 * c501)

            # Mass balance; what rises above the rim is lost.
            l101 += STEP * (q101 - q201) / A101
            l301 += STEP * (q_pipe - q301) / A301
            l401 += STEP * (q301 - escape - wash - q401) / A401
            l501 += STEP * (q_main - q501) / A501
            over101 = over301 = over401 = over501 = 0.0
            if l101 > RIM101:
                over101, l101 = l101 - RIM101, RIM101
            if l301 > RIM301:
                over301, l301 = l301 - RIM301, RIM301
            if l401 > RIM401:
                over401, l401 = l401 - RIM401, RIM401
            if l501 > RIM501:
                over501, l501 = l501 - RIM501, RIM501

            r101, r301 = g101 * (l101 + n101[t]) + o101, g301 * (l301 + n301[t]) + o301
            r401, r501 = g401 * (l401 + n401[t]) + o401, g501 * (l501 + n501[t]) + o501
            r202, r_dp = g202 * (chemical + n202[t]) + o202, g_dp * (dp + n_dp[t]) + o_dp
            r_flow = g_flow * (q201 + n_flow[t]) + o_flow
            record(
                (
                    l101, q101, mv101, BAR * river[t], 1.0 if s101 > 0.5 else 0.0, s101, q201, p201, c301, dosing,
                    chemical, 1.0 if refill else 0.0, l301, 1.0 if s301 > 0.5 else 0.0, q301, dp, haze, mv302,
                    1.0 if s302 > 0.5 else 0.0, wash + escape, l401, s401, q401, p401, c401, l501, q501, p501, c501,
                    over101 * A101 / STEP, over301 * A301 / STEP, over401 * A401 / STEP, over501 * A501 / STEP,
                    lost201, lost401, r101, r301, r401, r501, r202, r_dp, r_flow,
                )
            )  # fmt: skip

        self.level = {"101": l101, "301": l301, "401": l401, "501": l501}
        self.chlorine = {"301": c301, "401": c401, "501": c501}
        self.chemical, self.clogging, self.haze = chemical, clogging, haze
        self.valve = {"101": mv101, "302": mv302}
        self.speed = {"101": s101, "301": s301, "302": s302, "401": s401}
        self.mode = {"fill": fill, "raise": lift, "filter": filtering, "refill": refill}
        self.washing = washing
        self.reading = dict(zip(CONTROLLING, (r101, r301, r401, r501, r202, r_dp, r_flow), strict=True))


def _pipe(head: float, pump: float, friction: float, lost: float) -> float:
    """Flow that reaches the end of the pipe: head = pump (q + lost)² + friction q², or 0 if there is no such flow."""
    if head <= 0.0:
        return 0.0
    both = pump + friction
    root = both * head - pump * friction * lost * lost
    return max((sqrt(root) - pump * lost) / both, 0.0) if root > 0.0 else 0.0

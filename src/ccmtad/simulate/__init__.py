"""A simulated water works: deterministic physics, hysteresis control, sensor noise, and faults with their truth.

Two lines that do not influence each other, one row a minute: drinking water (stages 1 to 5) and waste water (stages 6
to 8).

    run = simulate(20_000, seed=1, faults=schedule(20_000, seed=1))
    run.values, run.channels, run.times, run.faults
"""

from .faults import Fault, schedule
from .plant import CHANNELS, Run, simulate, spread

__all__ = ["CHANNELS", "Fault", "Run", "schedule", "simulate", "spread"]

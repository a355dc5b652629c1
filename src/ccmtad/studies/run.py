"""Trains, judges, and writes pages."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from ..executors import HERE, Crew
from . import pages
from .keep import Keep
from .plan import Plan, Training
from .study import Found, Study
from .train import train
from .trials import Trials

__all__ = ["judge", "study"]


def judge(studies: Sequence[Study], plan: Plan, keep: Keep, crew: Crew = HERE) -> dict[str, Found]:
    """What each of the plan's studies finds in what is kept. Nothing is trained."""
    trials = Trials(plan, keep, crew)
    trials.prepare(studies)
    found = {}
    for one in studies:
        each = [one.judge(trials, dataset.name) for dataset in plan.datasets]
        found[one.name] = Found(
            tuple(figure for of in each for figure in of.figures), tuple(c for of in each for c in of.comparisons)
        )
    return found


def study(
    studies: Sequence[Study], plan: Plan, keep: Keep, folder: Path, *,
    crew: Crew = HERE, training: bool = True, device: str = "auto",
    minutes: float | None = None, progress: Callable[[int, int, Training], object] | None = None,
) -> dict[str, Found]:  # fmt: skip
    """Trains what is missing (unless told not to), judges what is there, and writes figures and pages."""
    if training:
        limit = math.inf if minutes is None else minutes
        train(plan, keep, device=device, crew=crew, minutes=limit, progress=progress)
    found = judge(studies, plan, keep, crew)
    pages.save({name: one for name, one in found.items() if one.figures}, folder)
    return found

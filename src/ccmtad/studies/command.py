"""What the words after `ccmtad study` ask for."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..bench.flags import crew_of
from ..errors import InputError
from . import known
from .claims import sentence
from .flags import chosen, plan_of
from .keep import Keep
from .plan import Training
from .run import study
from .train import train

__all__ = ["perform"]


def perform(
    words: Sequence[str], given: Mapping[str, Any], progress: Callable[[int, int, Training], object] | None = None
) -> Iterator[str]:
    """Does it, and yields what to tell: `list`; `train NAME..`; or the names of studies, or `all`."""
    first, *names = words
    if first == "list":
        width = max(map(len, known()))
        yield from (f"{name:{width}}  {one.title}" for name, one in known().items())
        return
    training_alone = first == "train"
    if training_alone and not names:
        raise InputError("study train must be given the names of studies, or all; got none")
    studies = chosen(names if training_alone else words)
    plan = plan_of(studies, given)
    keep = Keep(given["out"])
    how = {"device": given["device"], "crew": crew_of(given), "progress": progress}
    if training_alone:
        minutes = math.inf if given["minutes"] is None else given["minutes"]
        left = train(plan, keep, minutes=minutes, **how)
        yield f"{len(keep)} trainings in {given['out']}; {left} of the plan are left"
        return
    found = study(studies, plan, keep, given["pages"], training=not given["no_train"], minutes=given["minutes"], **how)
    yield from (f"{name}: {sentence(one.comparisons)}" for name, one in found.items())
    yield f"pages in {given['pages']}"

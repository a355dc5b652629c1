"""Evidence accumulates into a score, which a quiet stretch resets.  eq. anom_score

After `patience` negative evidences in a row the score resets: `everything` drops the new evidence with it, as the paper
writes; `carried` drops only what was carried, so that a one-row spike after a quiet stretch still counts.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import Entry, available, kernel
from ..record import Layout

__all__ = ["FIELDS", "GOES_BY", "KEEPS_NEW", "accumulate", "add", "forget"]

Floats = NDArray[np.float64]

KEEPS_NEW = {"carried": True, "everything": False}  # what a reset drops, by name: whether the new evidence is kept

GOES_BY = {"patience": 0}  # settings

FIELDS = {
    "score": 0.0,
    "negatives": 0,  # negative evidences in a row, up to the newest
}


@kernel
def add(track: Any, evidence: float, patience: int, keeps_new: bool) -> float:
    """Takes the newest evidence and returns the score."""
    score = 0.0
    if track.negatives < patience:
        score = track.score + evidence
    elif keeps_new:
        score = evidence
    track.score = score if score > 0.0 else 0.0
    track.negatives = track.negatives + 1 if evidence < 0.0 else 0
    return track.score  # type: ignore[no-any-return]


@kernel
def forget(track: Any) -> None:
    """As at the start of a stream and after a gap."""
    track.score = 0.0
    track.negatives = 0


def _fold(records: Any, evidence: Any, patience: int, keeps_new: bool, score: Any) -> None:
    track = records[0]
    for t in range(len(evidence)):
        if math.isnan(evidence[t]):
            forget(track)
        else:
            score[t] = add(track, evidence[t], patience, keeps_new)


FOLD = Entry(_fold)
LAYOUT = Layout(FIELDS)


def accumulate(evidence: Floats, patience: int, reset: str) -> Floats:
    """The step folded over a series. NaN marks a row that could not be judged: score 0, and a fresh start after it."""
    score = np.zeros(len(evidence))
    fast = available()
    run, given = (FOLD.fast, evidence) if fast else (FOLD.plain, evidence.tolist())
    run(LAYOUT.many(1, fast), given, patience, KEEPS_NEW[reset], score)
    return score

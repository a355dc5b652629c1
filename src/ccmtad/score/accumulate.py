"""Evidence accumulates into a score, which a quiet stretch resets.  eq. anom_score"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Accumulator", "accumulate"]

Floats = NDArray[np.float64]


class Accumulator:
    """The score of one stream, one step at a time.

    After `patience` negative evidences in a row the score resets: `everything` drops the new evidence with it, as the
    paper writes; `carried` drops only what was carried, so that a one-row spike after a quiet stretch still counts.
    """

    __slots__ = ("keeps_new", "negatives", "patience", "score")

    def __init__(self, patience: int, reset: Literal["carried", "everything"]) -> None:
        self.patience = patience
        self.keeps_new = reset == "carried"
        self.restart()

    def restart(self) -> None:
        """Forgets everything, as at the start of a stream and after a gap."""
        self.score = 0.0
        self.negatives = 0  # negative evidences in a row, up to the newest

    def step(self, evidence: float) -> float:
        """Takes the newest evidence and returns the score."""
        if self.negatives < self.patience:
            score = self.score + evidence
        else:
            score = evidence if self.keeps_new else 0.0
        self.score = score if score > 0.0 else 0.0
        self.negatives = self.negatives + 1 if evidence < 0.0 else 0
        return self.score


def accumulate(evidence: Floats, patience: int, reset: Literal["carried", "everything"]) -> Floats:
    """The step folded over a series. NaN marks a row that could not be judged: score 0, and a fresh start after it."""
    accumulator = Accumulator(patience, reset)
    score = np.zeros(len(evidence))
    judged = ~np.isnan(evidence)
    for t, (value, ready) in enumerate(zip(evidence.tolist(), judged.tolist(), strict=True)):
        if ready:
            score[t] = accumulator.step(value)
        else:
            accumulator.restart()
    return score

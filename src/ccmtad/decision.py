"""An answer as PyOD and scikit-learn know it: one number a row, and a probability.

A score is 0 in nearly every normal row, which ranks none of them. There rows are ranked by their p-value: the number of
a row without a score is its evidence, log(alpha / p), which is at most 0.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .wording import got

__all__ = ["Method", "decision", "probability"]

Floats = NDArray[np.float64]
Method = Literal["linear", "unify"]


def decision(score: Floats, pvalue: Floats, alarm: NDArray[np.bool_], threshold: float, alpha: float) -> Floats:
    """One number a row: above the threshold exactly where the row is in alarm, and in the order of scores among rows in
    alarm and among others; of p-values, where the score is 0."""
    with np.errstate(divide="ignore"):
        evidence = np.minimum(np.log(alpha) - np.log(pvalue), 0.0)
    one = np.where(score > 0.0, score, evidence)
    # A lost signal alarms without a score; a score that has not lasted, or comes in a cooldown, is no alarm yet.
    return np.where(alarm, np.maximum(one, np.nextafter(threshold, np.inf)), np.minimum(one, threshold))


def probability(found: Floats, normal: Floats, threshold: float, method: Method) -> Floats:
    """(rows, 2): that each is normal, and that it is an anomaly, by PyOD's two ways, from the decisions of normal rows.

    `linear` goes from 0 at the lowest of them to 1 at the threshold, or at the highest where that is higher. `unify` is
    the error function of how many standard deviations a row is above their mean.
    """
    if method not in get_args(Method):
        raise InputError(f"method must be one of {', '.join(get_args(Method))}; got {got(method)}")
    if method == "linear":
        start, width = float(normal.min()), max(float(normal.max()), threshold) - float(normal.min())
    else:
        start, width = float(normal.mean()), float(normal.std() * np.sqrt(2.0))
    with np.errstate(over="ignore"):
        anomaly = (found - start) / max(width, float(np.finfo(float).tiny))  # all normal rows may be alike
    if method == "unify":
        from scipy.special import erf

        anomaly = erf(anomaly)
    anomaly = np.clip(anomaly, 0.0, 1.0)
    return np.stack([1.0 - anomaly, anomaly], axis=1)

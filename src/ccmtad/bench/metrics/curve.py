"""The area under precision against recall, over every threshold of the score."""

from . import Figure, Metric, Prediction, mean_of

__all__ = ["pr_auc"]


def _area(made: Prediction) -> float | None:
    return None if made.curve is None else made.curve.pr_auc


pr_auc = Metric("pr_auc", _area, (Figure("PR-AUC", mean_of("pr_auc"), 60, "other"),))

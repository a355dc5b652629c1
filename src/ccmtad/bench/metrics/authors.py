"""What the authors' evaluation computes beside F1: other figures than ours of the same names, and so under their own.

Each is made where that evaluation is (`bench/authors.py`), and only shown here.
"""

from . import Figure, Metric, mean_of

__all__ = ["affiliation_f1", "pr_auc", "range_f1", "vus_pr", "vus_roc"]


def _shown(name: str, title: str, order: int) -> Metric:
    return Metric(name, lambda _: None, (Figure(f"{title}, the authors'", mean_of(name), order, "authors"),))


pr_auc = _shown("authors_pr_auc", "PR-AUC", 70)
vus_pr = _shown("authors_vus_pr", "VUS-PR", 71)
vus_roc = _shown("authors_vus_roc", "VUS-ROC", 72)
range_f1 = _shown("authors_range_f1", "range F1", 73)
affiliation_f1 = _shown("authors_affiliation_f1", "affiliation F1", 74)

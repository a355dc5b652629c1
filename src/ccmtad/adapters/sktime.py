"""For sktime: a detector of anomalies."""

from typing import Any, ClassVar, Self

import numpy as np

from ..results import Detection
from .parameters import detector, missing, scores, with_settings

try:
    import pandas as pd
    from sktime.detection.base import BaseDetector
except ImportError as error:
    raise missing("sktime", error) from error

__all__ = ["CCMTAD"]


@with_settings
class CCMTAD(BaseDetector):  # type: ignore[misc]
    """A detector as sktime knows them: `predict` lists the rows in alarm, `transform` has 0 or 1 for every row and
    `transform_scores` its score.

    Parameters are the settings of `ccmtad.Detector`. Nothing looks ahead: a row is in the list if it was in alarm when
    it arrived.

    Examples
    --------
    >>> detector = CCMTAD(budget="1/1000 rows").fit(train)  # doctest: +SKIP
    >>> rows = detector.predict(recent)["ilocs"]  # doctest: +SKIP
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": "The ccmtad developers",
        "task": "anomaly_detection",
        "learning_type": "unsupervised",
        "capability:multivariate": True,
        "capability:missing_values": True,
        "X_inner_mtype": "pd.DataFrame",
        "fit_is_empty": False,
    }

    def _fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002, N803
        self.detector_ = detector(self).fit(X)
        return self

    def _predict(self, X: Any) -> Any:  # noqa: N803
        return pd.DataFrame({"ilocs": np.flatnonzero(self._found(X).alarm)}, dtype="int64")

    def _predict_scores(self, X: Any) -> Any:  # noqa: N803
        found = self._found(X)
        return pd.Series(scores(found, self.detector_.threshold_)[found.alarm])

    def _transform_scores(self, X: Any) -> Any:  # noqa: N803
        return pd.DataFrame({"scores": scores(self._found(X), self.detector_.threshold_)}, index=X.index)

    def _found(self, X: Any) -> Detection:  # noqa: N803
        return self.detector_.detect(pd.DataFrame(X))  # predict_points hands on what it was given, a Series too

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:  # noqa: ARG003
        """Small enough for the few rows that sktime's own tests have."""
        small = {"window": 2, "width": 2, "epochs": 1, "blocks": 1, "alpha": 0.3, "validation": 0.5}
        return [small, {**small, "preset": "paper", "threshold": 1.0}]

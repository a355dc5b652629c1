"""For aeon: a detector of anomalies in a series."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .parameters import detector, missing, scores, with_settings

try:
    from aeon.anomaly_detection.series.base import BaseSeriesAnomalyDetector
except ImportError as error:
    raise missing("aeon", error) from error

__all__ = ["CCMTAD"]


class _InTime(BaseSeriesAnomalyDetector):  # type: ignore[misc]
    """Rows are moments, columns channels."""

    def __init__(self) -> None:
        super().__init__(axis=0)


@with_settings
class CCMTAD(_InTime):
    """An anomaly detector as aeon knows them: it is fitted on a normal series, and `predict` gives a score for every
    moment of another, higher where it is worse.

    Parameters are the settings of `ccmtad.Detector`. Nothing looks ahead. Scores are above `threshold_` exactly where a
    row was in alarm when it arrived.

        scores = CCMTAD(budget="1/1000 rows").fit(train, axis=0).predict(recent, axis=0)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "X_inner_type": "np.ndarray",
        "capability:univariate": True,
        "capability:multivariate": True,
        "capability:missing_values": True,
        "fit_is_empty": False,
        "anomaly_output_type": "anomaly_scores",
        "learning_type:semi_supervised": True,
    }

    def _fit(self, X: NDArray[np.float64], y: object = None) -> Self:  # noqa: ARG002, N803
        self.detector_ = detector(self).fit(X)
        self.threshold_ = self.detector_.threshold_
        # What is worked out when it is first needed is worked out now: predict must change nothing.
        self._predict(X[: self.detector_.settings.window])
        return self

    def _predict(self, X: NDArray[np.float64]) -> NDArray[np.float64]:  # noqa: N803
        return scores(self.detector_.detect(X), self.threshold_)

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:  # noqa: ARG003
        """Small enough for the few rows that aeon's own tests have."""
        return {"window": 2, "width": 2, "epochs": 1, "blocks": 1, "alpha": 0.3, "validation": 0.5}

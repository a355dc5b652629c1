"""For scikit-learn: an outlier detector whose rows are in order of time."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .parameters import detector, missing, scores, with_settings

try:
    from sklearn.base import BaseEstimator, OutlierMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise missing("scikit-learn", error) from error

__all__ = ["CCMTAD"]


@with_settings
class CCMTAD(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """An outlier detector as scikit-learn knows them: 1 is normal, -1 an outlier, and higher scores are more normal.

    Parameters are the settings of `ccmtad.Detector`. Rows are in order of time: each is judged with those before it in
    the same call, so what is left out or shuffled changes the others' answers.

        outliers = CCMTAD(budget="1/1000 rows").fit(train).predict(recent) == -1
    """

    def fit(self, X: Any, y: object = None) -> Self:  # noqa: ARG002, N803  scikit-learn's signature
        """Learns what is normal from X, in order of time; y is ignored. A wrong setting is a `SettingError`."""
        train = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=2)
        self.detector_ = detector(self).fit(train)
        self.offset_ = -self.detector_.threshold_
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Minus the score of each row; below `offset_` exactly where the row was in alarm when it arrived."""
        check_is_fitted(self)
        recent = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return -scores(self.detector_.detect(recent), self.detector_.threshold_)

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """`score_samples` less `offset_`: negative for outliers."""
        shifted: NDArray[np.float64] = self.score_samples(X) - self.offset_
        return shifted

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: N803
        """-1 for each row in alarm, of any kind, when it arrived, else 1."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

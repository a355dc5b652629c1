"""For river: a detector that learns what is normal from the first rows, then judges row by row."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detector import Detector
from ..errors import SettingError
from ..row import values_of
from ..stream import Stream
from ..wording import got
from .parameters import missing

try:
    from river.base import AnomalyDetector
except ImportError as error:
    raise missing("river", error) from error

__all__ = ["CCMTAD"]


class CCMTAD(AnomalyDetector):
    """An anomaly detector as river knows them: `score_one` changes nothing, `learn_one` takes a row.

    The first `warm_up` rows, which should be normal, are collected; with the last of them it is fitted, once, inside
    that call of `learn_one`. Then each row moves a new live stream on. Scores are 0 during the warm-up, and until the
    first window of the stream is full. Other parameters are the settings of `ccmtad.Detector`. A feature that a row
    lacks is a missing value; one that no row of the warm-up had is ignored.

        model = CCMTAD(warm_up=2_000, budget="1/1000 rows")
        for x in rows:
            score = model.score_one(x)
            model.learn_one(x)
    """

    def __init__(self, warm_up: int = 2_000, **settings: Any) -> None:
        window = Detector(**settings).settings.window
        if type(warm_up) is not int or warm_up <= window:
            raise SettingError(f"warm_up must be a whole number above the window of {window}; got {got(warm_up)}")
        self.warm_up = warm_up
        self.settings = settings
        self.features: tuple[Any, ...] = ()
        self.stream: Stream | None = None  # once it is fitted
        self._rows: list[dict[Any, Any]] = []

    @property
    def threshold(self) -> float:
        """The score above which a row is in alarm; infinite during the warm-up."""
        return np.inf if self.stream is None else self.stream.model.calibration.threshold

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Takes a row: of the warm-up, or of the live stream."""
        if self.stream is not None:
            self.stream.update(self._values(x))
            return
        values_of(list(x.values()), tuple(x))  # an InputError now, not at the end of the warm-up
        self._rows.append(dict(x))
        if len(self._rows) == self.warm_up:
            self.features = tuple(sorted({name for row in self._rows for name in row}, key=str))
            train = np.array([self._values(row) for row in self._rows])
            # A new stream: its level settles on rows that the network has not learnt.
            self.stream, self._rows = Detector(**self.settings).fit(train).stream(), []

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """The score that this row would have as the next one; above `threshold` where it would be in alarm."""
        if self.stream is None:
            return 0.0
        arrays, facts = self.stream.lanes.state(0)
        before = {name: array.copy() for name, array in arrays.items()}
        step = self.stream.update(self._values(x))
        self.stream.lanes.restore(0, before, facts)
        known = 0.0 if step.score is None or np.isnan(step.score) else float(step.score)
        return max(known, float(np.nextafter(self.threshold, np.inf))) if step.alarm else min(known, self.threshold)

    def _values(self, x: Mapping[Any, Any]) -> NDArray[np.float64]:
        return values_of([x.get(name) for name in self.features], self.features)

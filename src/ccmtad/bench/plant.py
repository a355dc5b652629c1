"""One trial on the simulated plant: learn its normal operation, watch it break, and judge detector and floors alike."""

from collections.abc import Callable
from dataclasses import dataclass

from ..detector import Detector
from ..network.linear import Principal
from ..results import Detection, Epoch
from ..simulate import Run
from .baselines import calibrated
from .judge import Judgement, judge
from .methods.noise import RandomScore
from .simulated import ROWS, TRAIN_ROWS, simulated

__all__ = ["Trial", "prepare"]


@dataclass(frozen=True, eq=False)
class Trial:
    """A plant and a detector that has not seen it yet."""

    detector: Detector
    train: Run
    watched: Run

    def run(self, progress: Callable[[Epoch], object] | None = None) -> tuple[Detection, dict[str, Judgement]]:
        """The detector's answer, and the judgement of each method by name, the detector's first."""
        self.detector.fit(self.train.frame, progress=progress)
        detection = self.detector.detect(self.watched.frame)
        judgements = {"ccmtad": self._judge(detection)}
        seed = self.detector.settings.seed  # other noise for every seed
        for name, make in (("PCA error", Principal.fit), ("random score", lambda _, window: RandomScore(window, seed))):
            baseline = calibrated(self.detector, self.train.frame, make)
            judgements[name] = self._judge(baseline.detect(self.watched.frame))
        return detection, judgements

    def _judge(self, detection: Detection) -> Judgement:
        return judge(detection, self.watched.faults, self.detector.settings.window)


def prepare(seed: int, train_rows: int = TRAIN_ROWS, rows: int = ROWS) -> Trial:
    """The plant of this seed, and other weights for each."""
    return Trial(Detector(seed=seed), *simulated(seed, train_rows, rows))

"""What the detector knew when it judged, and how its training went."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..calibrate.budget import Support
from ..calibrate.feedback import Verdict
from ..settings import Settings

__all__ = ["Epoch", "Learnt"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Learnt:
    """What the detector knew when it judged: the part of a fitted model that explains an answer.

    Example:
        result = detector.detect(recent)
        print(result.learnt.allowed, result.learnt.clusters)
    """

    settings: Settings
    clusters: tuple[tuple[str, ...], ...]  # channels embedded together
    correlation: NDArray[np.float32] | None  # (channels, channels) of the training rows; None in older files
    period: float | None  # median seconds between training rows; None where times were unknown
    alpha: float
    references: int  # normal losses that p-values are counted against
    shares: tuple[float, ...]  # of normal p-values below 0.1, 0.2, .. 0.9
    support: Support | None  # None where the threshold was given or is the paper's
    feedback: tuple[Verdict, ...] = ()  # what people had said of events
    reach: Floats | None = None  # (channels,) from what is expected that is no evidence of anything, input's units

    @property
    def allowed(self) -> str:
        """The budget, or the threshold where that was given instead."""
        given = self.settings.threshold
        return self.settings.budget if given == "auto" else f"threshold {given:g}, given"


@dataclass(frozen=True)
class Epoch:
    """Progress of training, once per epoch: mean squared errors of the newest row, scaled units.

    Example:
        for epoch in detector.history_:
            print(epoch.text)
    """

    number: int  # 1-based
    of: int
    training: float
    validation: float
    network: int = 1  # of those that a fit trains, the last of which is the one in use
    networks: int = 1

    @property
    def done(self) -> float:
        """The share of the fit that is done."""
        return (self.network - 1 + self.number / self.of) / self.networks

    @property
    def text(self) -> str:
        """Where the fit is, for people."""
        which = f"network {self.network} of {self.networks}, " * (self.networks > 1)
        return f"{which}epoch {self.number} of {self.of}, validation loss {self.validation:.4f}"

"""Any class with PyOD's fit and decision_function, such as pyod.models.ecod:ECOD."""

import inspect
from typing import Any

from . import Outliers

__all__ = ["CONTAMINATION", "Imported"]

CONTAMINATION = 0.01  # for a method's own threshold, where it has one: the share of training rows it may call anomalous
# What constructors call the number of channels: TSB-AD's, PyOD's deep ones.
CHANNELS = ("feats", "enc_in", "input_c", "n_features", "n_channels")


class Imported(Outliers):
    """A class that was named."""

    def __init__(self, made: Any) -> None:
        self.made = made

    def make(self, seed: int, channels: int) -> Any:
        accepted = inspect.signature(self.made).parameters
        given = {"contamination": CONTAMINATION, "random_state": seed, **dict.fromkeys(CHANNELS, channels)}
        return self.made(**{key: value for key, value in given.items() if key in accepted})

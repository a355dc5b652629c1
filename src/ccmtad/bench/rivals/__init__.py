"""Networks of other papers, each written from its publication and judged like every other method.

Whatever the preset, a rival is one network, as the CCM-TAD paper compares them: it learns from the first part of the
training series and is calibrated on the last (a fifth), which it did not learn from. Its rows are the raw ones, made
whole and scaled as its authors do, without the smoothing and the clip of the settings.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import batch
from ...errors import InputError, MissingExtraError
from ...fit import Block, TrainingSeries
from ...frame import Frame
from ...prepare import missing, windows
from ..methods import Fitted, Losses, Method

if TYPE_CHECKING:
    from .training import RowNetwork

__all__ = ["Recipe", "Rival"]

Floats = NDArray[np.float64]
Errors = NDArray[np.float32]
Ints = NDArray[np.int64]

FARTHEST = 1e6  # deviations from the mean: no rival clips, and beyond this float32 squares no longer add up
LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Recipe:
    """How a rival learns, in its authors' numbers."""

    window: int  # rows that the network is given, with those that it is to say
    epochs: int
    batch: int  # windows
    rate: float  # of Adam
    decay: float = 1.0  # what the rate is multiplied by
    decay_every: int = 1  # epochs
    weight_decay: float = 0.0
    patience: int = 3  # epochs in a row without a better validation loss, after which it stops
    better_than_last: bool = False  # better than the epoch before, instead of the best so far
    mixes_batch: bool = False  # what it says of a window depends on the others of its batch


class Rival(Method):
    """A network of another paper, one for a series whatever `blocks` is. Run only where it, or `rivals`, is named."""

    order = 20
    seeded = True
    asked_for = True
    scaled_by_all = True  # the training rows, or those of its first part alone

    @property
    @abstractmethod
    def recipe(self) -> Recipe:
        """How it learns."""

    @abstractmethod
    def network(self, channels: int) -> "RowNetwork":
        """Freshly initialised."""

    @property
    def lag(self) -> int:
        """Rows from the one that is judged to the last of its window."""
        return 0

    def split(self, series: TrainingSeries) -> Block:
        """The windows to learn from, and those to calibrate on."""
        return series.split(self.recipe.window)

    def normal(self, losses: Floats, ends: Ints) -> Floats:
        """Validation losses in order of time, NaN where the series breaks."""
        return batch.in_order(losses, ends)

    def combine(self, validation: Errors, test: Errors, channels: tuple[str, ...]) -> tuple[Floats, Floats]:  # noqa: ARG002
        """(windows, channels) to one loss for each window: the mean."""
        return validation.mean(axis=1, dtype=np.float64), test.mean(axis=1, dtype=np.float64)

    def fit(self, series: TrainingSeries, test: Frame, every_epoch: bool = False) -> Fitted:
        try:
            from .training import Rows, learn, reproducible
        except ImportError as error:
            raise MissingExtraError(f"{self.name} needs torch ({error}): pip install 'ccmtad[train]'") from error
        block, new = self.split(series), series.series(test)
        if not len(block.training) or len(block.validation) < 2:
            raise InputError(
                f"train must hold enough rows in a row for {self.name}'s windows of {self.recipe.window} in its first "
                f"and in its last part; got {len(series.values)} rows"
            )
        ends = windows.ends(new.start, self.recipe.window)
        rows = missing.fill(series.values)
        recent = test.align(series.channels, named=series.named, argument="recent").values[new.kept]
        recent, _ = missing.hold(recent, series.settings.hold_rows, new.start, series.fallback)
        early = np.arange(len(rows)) < block.validation[0]
        zscore = _ZScore.of(rows[series.good & (self.scaled_by_all | early)])

        with reproducible(series.settings) as device:
            network = self.network(len(series.channels)).to(device)
            known, asked = (Rows(zscore(part), self.recipe, device) for part in (rows, recent))

            def losses() -> Losses:
                errors = _finite(known.judge(network, block.validation)), _finite(asked.judge(network, ends))
                validation, judged = self.combine(*errors, series.channels)
                out = np.full(len(test), np.nan)
                out[new.kept[ends - self.lag]] = judged
                return Losses(self.normal(validation, block.validation), out)

            epochs = [losses() for _ in learn(network, known, block) if every_epoch]
            return Fitted(losses(), tuple(epochs))


@dataclass(frozen=True, eq=False)
class _ZScore:
    mean: Floats  # (channels,)
    deviation: Floats  # (channels,) 1 where the channel is constant, so that a later move shows in raw units

    @classmethod
    def of(cls, rows: Floats) -> "_ZScore":
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        return cls(mean, np.where(deviation <= 1e-9 * np.abs(mean), 1.0, deviation))

    def __call__(self, rows: Floats) -> Errors:
        return np.clip((rows - self.mean) / self.deviation, -FARTHEST, FARTHEST).astype(np.float32)


def _finite(errors: Errors) -> Errors:
    """What overflowed is as bad as can be, not unknown."""
    return np.nan_to_num(errors, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST)

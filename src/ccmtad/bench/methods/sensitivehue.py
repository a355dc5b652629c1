"""SensitiveHUE as published, as the CCM-TAD paper ran it, and online."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...fit import Block, TrainingSeries
from ..rivals import Recipe, Rival

if TYPE_CHECKING:
    from ..rivals.sensitivehue import SensitiveHue as Network

__all__ = ["sensitivehue", "sensitivehue_offline", "sensitivehue_online"]

Floats = NDArray[np.float64]
Errors = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sizes:
    """What its authors set for a dataset."""

    width: int
    hidden: int
    layers: int
    power: float
    window: int
    tail: bool = False  # judges the last row of a window, not the middle one
    validation: float = 0.2  # of the windows, at random
    ignored: tuple[str, ...] = ()  # channels that never count


USUAL = "SMD"  # of datasets that are not here
SIZES = {
    "SWaT": Sizes(128, 256, 1, 1.0, 24, ignored=("P201", "LIT401")),
    "WADI": Sizes(256, 512, 2, 0.75, 24, tail=True, validation=0.1),
    "SMD": Sizes(128, 256, 2, 1.0, 48),
    "MSL": Sizes(128, 256, 2, 1.0, 48),
    # Not in its authors' configuration: what the parameter counts printed in the CCM-TAD paper give.
    "PSM": Sizes(256, 512, 1, 1.0, 24),
    "SMAP": Sizes(256, 512, 2, 1.0, 24),
}


@dataclass(frozen=True, eq=False)
class SensitiveHue(Rival):
    """Three ways of using the same network. Losses may be below 0 and are made positive: their order is kept."""

    name: str
    title: str
    means: str
    looks_ahead: str = ""
    units: str = ""  # whose median and interquartile range each channel is measured in: "test", "validation", or none
    as_published: bool = True  # the row that is judged, and windows at random to validate on
    sizes: Sizes = SIZES[USUAL]
    epochs: int = 30

    def on(self, dataset: str) -> "SensitiveHue":
        return replace(self, sizes=SIZES.get(dataset, SIZES[USUAL]))

    @property
    def recipe(self) -> Recipe:
        return Recipe(
            self.sizes.window, self.epochs, batch=64, rate=1e-3, decay=0.5, decay_every=5, weight_decay=0.01,
            patience=10, better_than_last=True,
        )  # fmt: skip

    @property
    def position(self) -> int:
        """The row of the window that is judged."""
        middle = self.as_published and not self.sizes.tail
        return self.sizes.window // 2 if middle else self.sizes.window - 1

    @property
    def lag(self) -> int:
        return self.sizes.window - 1 - self.position

    def network(self, channels: int) -> "Network":
        from ..rivals.sensitivehue import SensitiveHue as Network

        sizes = self.sizes
        return Network(channels, sizes.window, sizes.width, sizes.hidden, sizes.layers, sizes.power, self.position)

    def split(self, series: TrainingSeries) -> Block:
        block = super().split(series)
        if not self.as_published:
            return block
        ends = np.concatenate([block.training, block.validation])
        apart = np.random.default_rng(series.settings.seed).random(len(ends)) < self.sizes.validation
        return Block(ends[~apart], ends[apart])

    def normal(self, losses: Floats, ends: Ints) -> Floats:
        """Windows at random have no order but the one they come in."""
        return losses if self.as_published else super().normal(losses, ends)

    def combine(self, validation: Errors, test: Errors, channels: tuple[str, ...]) -> tuple[Floats, Floats]:
        counted = [i for i, channel in enumerate(channels) if channel not in self.sizes.ignored]
        validation, test = validation[:, counted], test[:, counted]
        middle, spread = np.zeros(len(counted)), np.ones(len(counted))
        if self.units:
            low, middle, high = np.quantile(test if self.units == "test" else validation, [0.25, 0.5, 0.75], axis=0)
            spread = high - low + 1e-9
        worst = [((part - middle) / spread).max(axis=1) for part in (validation, test)]
        return np.logaddexp(0.0, worst[0]), np.logaddexp(0.0, worst[1])


sensitivehue = SensitiveHue(
    "sensitivehue",
    "SensitiveHUE",
    "SensitiveHUE online: last row of the window, channels in units of their validation losses",
    units="validation",
    as_published=False,
)
sensitivehue_online = SensitiveHue(
    "sensitivehue-online",
    "SensitiveHUE, the paper's online",
    "SensitiveHUE as the CCM-TAD paper ran it and called it online",
    looks_ahead="judges the middle row of each window, but for WADI",
)
sensitivehue_offline = SensitiveHue(
    "sensitivehue-offline",
    "SensitiveHUE, offline",
    "SensitiveHUE as published",
    looks_ahead="measures channels in units of the whole test set; judges the middle row of each window, but for WADI",
    units="test",
)

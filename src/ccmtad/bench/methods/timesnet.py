"""TimesNet as published, and online."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..rivals import Recipe, Rival

if TYPE_CHECKING:
    from ..rivals.timesnet import TimesNet as Network

__all__ = ["timesnet", "timesnet_published"]

WINDOW, BATCH = 100, 128


@dataclass(frozen=True)
class Sizes:
    """What its authors set for a dataset."""

    width: int
    hidden: int
    blocks: int
    periods: int
    epochs: int


USUAL = "SMD"  # of datasets that are not here
SIZES = {
    "MSL": Sizes(8, 16, 1, 3, 1),
    "SMAP": Sizes(128, 128, 3, 3, 3),
    "SMD": Sizes(64, 64, 2, 5, 10),
    "PSM": Sizes(64, 64, 2, 3, 3),
    "SWaT": Sizes(8, 8, 3, 3, 3),
}


@dataclass(frozen=True, eq=False)
class TimesNet(Rival):
    """The mean squared error of the last row of each window. (The published script scores every row of every window and
    adjusts points, which is not done here.)"""

    name: str
    title: str
    means: str
    looks_ahead: str = ""
    sizes: Sizes = SIZES[USUAL]

    def on(self, dataset: str) -> "TimesNet":
        return replace(self, sizes=SIZES.get(dataset, SIZES[USUAL]))

    @property
    def recipe(self) -> Recipe:
        return Recipe(WINDOW, self.sizes.epochs, BATCH, rate=1e-4, decay=0.5, mixes_batch=bool(self.looks_ahead))

    def network(self, channels: int) -> "Network":
        from ..rivals.timesnet import TimesNet as Network

        sizes, online = self.sizes, not self.looks_ahead
        return Network(channels, WINDOW, sizes.width, sizes.hidden, sizes.blocks, sizes.periods, online=online)


timesnet = TimesNet("timesnet", "TimesNet", "TimesNet online: its periods are fixed in training")
timesnet_published = TimesNet(
    "timesnet-published",
    "TimesNet, published",
    "TimesNet as published, by the last row of each window",
    looks_ahead=f"takes its periods from the mean over a batch of {BATCH} windows, some of them later",
)

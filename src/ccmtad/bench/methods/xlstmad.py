"""xLSTMAD, which forecasts: as it was meant, and as published."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..rivals import Recipe, Rival

if TYPE_CHECKING:
    from ..rivals.xlstmad import XlstmAd as Network

__all__ = ["xlstmad", "xlstmad_published"]

READ, AHEAD = 50, 5  # rows
WIDTH, BATCH = 20, 128


@dataclass(frozen=True, eq=False)
class XlstmAd(Rival):
    """The squared error of five rows, forecast from the fifty before them, given to the last of the five."""

    name: str
    title: str
    means: str
    looks_ahead: str = ""
    epochs: int = 50
    order: int = 22
    scaled_by_all: bool = False

    @property
    def recipe(self) -> Recipe:
        return Recipe(
            READ + AHEAD, self.epochs, BATCH, rate=8e-4, decay=0.75, decay_every=5, mixes_batch=bool(self.looks_ahead)
        )

    def network(self, channels: int) -> "Network":
        from ..rivals.xlstmad import XlstmAd as Network

        return Network(channels, WIDTH, AHEAD, transposed=not self.looks_ahead)


xlstmad = XlstmAd("xlstmad", "xLSTMAD", "xLSTMAD, forecasting, its forecasts laid beside the rows they are of")
xlstmad_published = XlstmAd(
    "xlstmad-published",
    "xLSTMAD, published",
    "xLSTMAD, forecasting, as published: a missing transpose compares forecasts with rows of other windows",
    looks_ahead=f"compares rows with forecasts of other windows of a batch of {BATCH}, some of them later",
)

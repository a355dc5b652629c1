"""UAE: one small autoencoder for each channel."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..rivals import Recipe, Rival

if TYPE_CHECKING:
    from ..rivals.uae import Autoencoders

__all__ = ["uae"]

SIZES = (100, 64, 32, 16, 5)  # from the window down


@dataclass(frozen=True, eq=False)
class Uae(Rival):
    """The squared error of the last row of each window, mean over channels. Sizes and training are ours: the CCM-TAD
    paper quotes its figures."""

    name: str = "uae"
    title: str = "UAE"
    means: str = "one small autoencoder for each channel"
    order: int = 23
    epochs: int = 40

    @property
    def recipe(self) -> Recipe:
        return Recipe(SIZES[0], self.epochs, batch=256, rate=1e-3, patience=5)

    def network(self, channels: int) -> "Autoencoders":
        from ..rivals.uae import Autoencoders

        return Autoencoders(channels, SIZES)


uae = Uae()

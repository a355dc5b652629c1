"""Every channel counts alike, however well it is reconstructed."""

from . import Way

__all__ = ["scaled_mean"]

scaled_mean = Way("scaled mean", scaled=True, most=0)

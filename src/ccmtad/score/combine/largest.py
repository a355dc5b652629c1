"""The worst channel, so that one broken sensor among many shows."""

from . import Way

__all__ = ["largest"]

largest = Way("largest", scaled=True, most=1)

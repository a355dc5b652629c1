"""The paper's: errors as they are."""

from . import Way

__all__ = ["mean"]

mean = Way("mean", scaled=False, most=0)

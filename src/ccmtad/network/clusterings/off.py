"""All channels together."""

from . import Clustering

__all__ = ["off"]

off = Clustering("off", None)

"""Ranks alone: no p-value is smaller than so many normal losses can support."""

from . import Tail

__all__ = ["conformal"]


class Conformal(Tail):
    """p = (count + 1) / (n + 1)."""

    name = "conformal"


conformal = Conformal()

"""How far values are from the middle of their range in training: sees what stays at an unusual place, though the
network can reconstruct it."""

from ...settings import Settings
from . import Kind
from .average import Average
from .row import Row

__all__ = ["distance", "distance_average"]


class Distance(Row):
    """Every distance by itself."""

    name = "distance"
    order = 2
    of_distance = True

    def rows(self, settings: Settings) -> int:
        return 1 if settings.distance else 0


class DistanceAverage(Average):
    """Through a trailing mean."""

    name = "distance average"
    order = 3
    of_distance = True

    def rows(self, settings: Settings) -> int:
        return super().rows(settings) if settings.distance else 0


distance: Kind = Distance()
distance_average: Kind = DistanceAverage()

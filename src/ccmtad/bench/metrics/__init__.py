"""How good a prediction or a score is, given the truth.

    point        rows: precision, recall, F1 (`point_adjusted` on request only: it misleads)
    ranges       range-based precision and recall (Tatbul et al. 2018)
    affiliation  distance-based precision and recall (Huet et al. 2022)
    volume       VUS-ROC and VUS-PR as TSB-AD computes them (Paparrizos et al. 2022; Liu and Paparrizos 2024)
    events       events found, false events, delay, and delay against the mean time between false alarms

Each takes one series: a boolean prediction or a score, and the boolean truth, one value per row.
"""

from .affiliation import affiliation
from .events import EventCounts, delay_at, delay_curve, event_counts
from .point import Counts, point_adjusted
from .ranges import Ratios, range_based, runs
from .volume import Volumes, volumes

__all__ = [
    "Counts",
    "EventCounts",
    "Ratios",
    "Volumes",
    "affiliation",
    "delay_at",
    "delay_curve",
    "event_counts",
    "point_adjusted",
    "range_based",
    "runs",
    "volumes",
]

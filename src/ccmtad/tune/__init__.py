"""Settings searched for on normal rows: what finds most injected faults at no more false events than the budget allows.

No test label is seen, but for an objective that is called oracle everywhere.
"""

from .objective import Objective, Oracle, Score
from .search import Found, tune
from .space import PAPER, Choice, Range, Space

__all__ = ["PAPER", "Choice", "Found", "Objective", "Oracle", "Range", "Score", "Space", "tune"]

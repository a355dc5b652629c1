"""What detection returns: frozen values."""

from ..calibrate.budget import Support
from ..calibrate.feedback import Verdict
from ..score.events import What
from ..score.health import Health
from .detection import Detection
from .event import EVENT_COLUMNS, MOST_BLAMED, WORTH_A_WORD, Column, Event, Peak, measured, plain, said_of
from .learnt import Epoch, Learnt
from .step import Change, Step, Tally

__all__ = [
    "EVENT_COLUMNS",
    "MOST_BLAMED",
    "WORTH_A_WORD",
    "Change",
    "Column",
    "Detection",
    "Epoch",
    "Event",
    "Health",
    "Learnt",
    "Peak",
    "Step",
    "Support",
    "Tally",
    "Verdict",
    "What",
    "measured",
    "plain",
    "said_of",
]

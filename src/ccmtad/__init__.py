"""Online anomaly detection for multivariate time series."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .detector import Detector
    from .errors import (
        CcmtadError,
        ChannelError,
        FileError,
        InputError,
        MissingExtraError,
        NotFittedError,
        SettingError,
        StoreError,
        TrainingError,
    )
    from .frame import Frame
    from .results import Change, Detection, Epoch, Event, Health, Learnt, Step, Support, Tally
    from .settings import Budget, Settings
    from .stream import Stream
    from .streams import Steps, Streams

__version__ = "0.2.0"

__all__ = [
    "Budget",
    "CcmtadError",
    "Change",
    "ChannelError",
    "Detection",
    "Detector",
    "Epoch",
    "Event",
    "FileError",
    "Frame",
    "Health",
    "InputError",
    "Learnt",
    "MissingExtraError",
    "NotFittedError",
    "SettingError",
    "Settings",
    "Step",
    "Steps",
    "StoreError",
    "Stream",
    "Streams",
    "Support",
    "Tally",
    "TrainingError",
]

_HOME = {
    "Budget": "settings",
    "Detector": "detector",
    "Frame": "frame",
    "Settings": "settings",
    "Steps": "streams",
    "Stream": "stream",
    "Streams": "streams",
    **dict.fromkeys(
        ("Change", "Detection", "Epoch", "Event", "Health", "Learnt", "Step", "Support", "Tally"), "results"
    ),
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ccmtad' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME.get(name, 'errors')}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

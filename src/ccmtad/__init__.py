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
        TrainingError,
    )
    from .frame import Frame
    from .results import Detection, Epoch, Event, Step
    from .settings import Settings

__version__ = "0.1.0"

__all__ = [
    "CcmtadError",
    "ChannelError",
    "Detection",
    "Detector",
    "Epoch",
    "Event",
    "FileError",
    "Frame",
    "InputError",
    "MissingExtraError",
    "NotFittedError",
    "SettingError",
    "Settings",
    "Step",
    "TrainingError",
]

_HOME = {
    "Detection": "results",
    "Detector": "detector",
    "Epoch": "results",
    "Event": "results",
    "Frame": "frame",
    "Settings": "settings",
    "Step": "results",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'ccmtad' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME.get(name, 'errors')}", __name__), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

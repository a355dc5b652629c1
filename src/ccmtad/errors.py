"""Everything this library raises on purpose.

    CcmtadError
    ├── SettingError        a setting breaks its rule            (also a ValueError)
    ├── InputError          a table cannot be used               (also a ValueError)
    │   └── ChannelError    its channels are not the fitted ones
    ├── FileError           a model or snapshot cannot be used   (also a ValueError)
    ├── NotFittedError      used before `fit`                    (also a ValueError and an AttributeError)
    ├── StoreError          a service's store fails              (also a RuntimeError)
    ├── TrainingError       the network could not be trained     (also a RuntimeError)
    └── MissingExtraError   an optional dependency is absent     (also an ImportError)

Each message names the argument, the rule and the value it got.
"""

__all__ = [
    "CcmtadError",
    "ChannelError",
    "FileError",
    "InputError",
    "MissingExtraError",
    "NotFittedError",
    "SettingError",
    "StoreError",
    "TrainingError",
]


class CcmtadError(Exception):
    """The root of the tree: `except CcmtadError` catches everything below."""


class SettingError(CcmtadError, ValueError):
    """A setting breaks its rule."""


class InputError(CcmtadError, ValueError):
    """A table cannot be used: wrong shape or type, infinite, too short."""


class ChannelError(InputError):
    """The channels of a table are not those the detector was fitted on."""


class FileError(CcmtadError, ValueError):
    """A model file or a snapshot cannot be used: truncated, altered, of another kind or version."""


class NotFittedError(CcmtadError, ValueError, AttributeError):
    """The detector was used before `fit`; shaped as scikit-learn's error of that name."""


class StoreError(CcmtadError, RuntimeError):
    """The store of a service takes or gives nothing: full, busy or out of reach. Nothing of it is acknowledged."""

    def __init__(self, message: str, *, full: bool = False) -> None:
        super().__init__(message)
        self.full = full  # no room left


class TrainingError(CcmtadError, RuntimeError):
    """The network could not be trained, for example because its loss became NaN."""


class MissingExtraError(CcmtadError, ImportError):
    """An optional dependency is absent; the message says how to install it."""

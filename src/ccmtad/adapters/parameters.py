"""What all adapters share: every setting is a parameter that the other library finds by looking, and an answer for
every row."""

import inspect
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..detector import Detector
from ..errors import MissingExtraError, SettingError
from ..results import Detection
from ..settings import signature
from ..wording import some

__all__ = ["detector", "missing", "scores", "with_settings"]


Kind = TypeVar("Kind", bound=type)


def with_settings(cls: Kind) -> Kind:
    """Gives an estimator an `__init__` that takes the detector's settings, and keeps each as it was given: they are
    checked by `fit`, as these libraries want it. A setting that has the name of one of the library's own methods
    (`reset`, in aeon and sktime) cannot be one of its attributes too, and is left to the preset."""
    taken = [one for name, one in signature().parameters.items() if not hasattr(cls, name)]

    def __init__(self: Any, **settings: Any) -> None:  # noqa: N807
        unknown = settings.keys() - {one.name for one in taken}
        if unknown:
            raise SettingError(f"{cls.__name__} must be given settings of a detector; got {some(sorted(unknown))}")
        for one in taken:
            setattr(self, one.name, settings.get(one.name, one.default))
        super(cls, self).__init__()  # type: ignore[arg-type]

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = inspect.Signature([own, *taken])  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[misc]
    return cls


def detector(estimator: Any) -> Detector:
    """A detector with the settings of such an estimator."""
    return Detector(**estimator.get_params(deep=False))


def scores(found: Detection, threshold: float) -> NDArray[np.float64]:
    """The score of each row, above the threshold exactly where a row was in alarm when it arrived, of any kind; 0 where
    nothing was known yet."""
    known = np.nan_to_num(found.score, nan=0.0)
    return np.where(found.alarm, np.maximum(known, np.nextafter(threshold, np.inf)), np.minimum(known, threshold))


def missing(library: str, error: ImportError) -> MissingExtraError:
    """What to do where the other library is not there."""
    return MissingExtraError(f"this adapter needs {error.name or library}: pip install {library}")

"""Anything row-like becomes numbers, one for each channel."""

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import ChannelError, InputError
from .wording import got, some

__all__ = ["values_of"]

Floats = NDArray[np.float64]


def values_of(row: Any, channels: tuple[str, ...]) -> Floats:
    """A sequence, a 1-D array or a mapping by channel name, in the order of the channels; None is a missing value."""
    if type(row) is np.ndarray and row.dtype == np.float64 and row.shape == (len(channels),):
        return row
    if hasattr(row, "to_dict"):  # a pandas Series: by name, as a mapping
        row = row.to_dict()
    if isinstance(row, Mapping):
        if len(row) != len(channels) or not all(map(row.__contains__, channels)):
            missing = [name for name in channels if name not in row]
            extra = [str(name) for name in row if name not in channels]
            if missing or extra:
                parts = [f"missing: {some(missing)}"] * bool(missing) + [f"not fitted: {some(extra)}"] * bool(extra)
                raise ChannelError(f"row must have the channels of the fitted data; {'; '.join(parts)}")
        row = [row[name] for name in channels]
    if isinstance(row, str | bytes | Set):
        raise InputError(f"row must be a sequence, an array or a mapping by channel name; got {got(row)}")
    try:
        if isinstance(row, np.ma.MaskedArray):
            row = np.ma.filled(row.astype(np.float64), np.nan)
        plain = np.asarray(row if isinstance(row, np.ndarray) else [np.nan if v is None else v for v in row])
        if plain.dtype.kind not in "biufO":
            raise TypeError(f"values of type {plain.dtype}")
        values = plain.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"row must hold numbers; got {error}") from error
    if values.shape != (len(channels),):
        raise ChannelError(f"row must have {len(channels)} values, one per channel; got shape {values.shape}")
    return values

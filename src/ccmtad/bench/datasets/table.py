"""Delimited and columnar files as tables."""

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingExtraError
from ...frame import Frame
from ...tables import parquet
from ...tables.unpacked import GZIP, Bound, gunzipped

if TYPE_CHECKING:
    import polars as pl

__all__ = ["frame", "held", "numbers", "read", "read_bytes"]


def read(path: Path) -> "pl.DataFrame":
    """A CSV (gzipped or not) or Parquet file."""
    if not path.is_file():
        raise InputError(f"file must exist; got {str(path)!r}")
    return read_bytes(path.read_bytes(), path.name)


def read_bytes(data: bytes, name: str, skip: int = 0) -> "pl.DataFrame":
    """The same from memory; `skip` lines come before the header."""
    try:
        import polars as pl
    except ImportError as error:
        raise MissingExtraError("reading CSV and Parquet needs polars: pip install 'ccmtad[bench]'") from error
    bound = Bound(f"file {name!r}", stored=len(data), given=False)
    try:
        if name.endswith(".parquet"):
            parquet.check(data, bound)
            return pl.read_parquet(io.BytesIO(data))
        data = gunzipped(data, bound) if data.startswith(GZIP) else data
        return pl.read_csv(io.BytesIO(data), skip_rows=skip, infer_schema_length=None, null_values=["", "NaN", "nan"])
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{name} must be a readable CSV or Parquet table; got {error}") from error


def numbers(table: "pl.DataFrame", name: str) -> NDArray[np.float64]:
    """Every column as numbers, NaN where missing."""
    import polars as pl

    try:
        return table.select(pl.all().cast(pl.Float64)).to_numpy().astype(np.float64)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{name} must hold numbers; got {error}") from error


def held(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Missing values replaced by the last one before them; before a first value they stay missing."""
    rows = np.arange(len(values))[:, None]
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, rows), axis=0)
    return np.where(last < 0, np.nan, np.take_along_axis(values, np.maximum(last, 0), axis=0))


def frame(values: NDArray[np.float64], channels: list[str]) -> Frame:
    return Frame(np.ascontiguousarray(values), tuple(channels))

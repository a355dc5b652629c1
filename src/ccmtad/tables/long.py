"""Files of one value a row (time, tag, value), as historians and message logs write them."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..errors import InputError
from ..wording import some
from .reading import Reading
from .unpacked import CELL, Bound

if TYPE_CHECKING:
    import polars as pl

__all__ = ["columns_of", "looks_long", "pivoted"]

TAGS = {
    "tag", "tagname", "tag_name", "tagid", "tag_id", "name", "channel", "sensor", "sensor_id", "sensorname",
    "sensor_name", "signal", "variable", "metric", "point", "pointname", "point_name", "item", "parameter",
    "measurement", "series", "messstelle", "kanal", "topic", "field", "_field",
}  # fmt: skip
VALUES = {"value", "val", "reading", "wert", "messwert", "_value"}


def looks_long(names: Collection[str], time: str | None) -> bool:
    """Whether the names of columns are those of such a file."""
    lower = [name.strip().lower() for name in names if name != time]
    return sum(name in TAGS for name in lower) == 1 and sum(name in VALUES for name in lower) == 1


def columns_of(table: "pl.DataFrame", time: str, how: Reading, fitted: Collection[str]) -> tuple[str, str] | None:
    """The columns of tags and of values; None where every row holds all channels.

    They are known by what they are called. Where they are called otherwise, a table of a time, a text and a number is
    such a file if times repeat and none repeats with the same text.
    """
    import polars as pl

    others = [name for name in table.columns if name != time]
    if how.tag is not None and how.value is not None:
        absent = [name for name in (how.tag, how.value) if name not in others]
        if not absent:
            return how.tag, how.value
        if "tag" not in how.kept:
            raise InputError(
                f"tag and value must be columns of the file; got {absent[0]!r}, and they are {some(others)}"
            )
    if looks_long(table.columns, time) and not set(others) & set(fitted):
        (tag,) = (name for name in others if name.strip().lower() in TAGS)
        (value,) = (name for name in others if name.strip().lower() in VALUES)
        return tag, value
    texts = [name for name in others if table[name].dtype == pl.String]
    if len(others) != 2 or len(texts) != 1 or set(others) & set(fitted):
        return None
    (tag,) = texts
    (value,) = (name for name in others if name != tag)
    tags = table[tag].n_unique()
    repeated = 2 * table[time].n_unique() <= table.height and 1 < tags <= table.height // 2
    distinct = table.select(time, tag).n_unique() >= 0.99 * table.height
    return (tag, value) if repeated and distinct else None


def pivoted(
    table: "pl.DataFrame", time: str, columns: tuple[str, str], bound: Bound
) -> tuple["pl.DataFrame", tuple[str, ...]]:
    """A row for each time, a column for each tag, in order of time; and what is worth saying of it."""
    import polars as pl

    tag, value = columns
    table = table.with_columns(pl.col(tag).cast(pl.String).str.strip_chars())
    if table[tag].null_count() or (table[tag] == "").any():
        row = int((table[tag].is_null() | (table[tag] == "").fill_null(True)).arg_true()[0])
        raise InputError(f"{bound.place} must name a channel in every row; column {tag!r} is empty in row {row}")
    tags, times = table[tag].n_unique(), table[time].n_unique()
    if time in set(table[tag].unique()):
        raise InputError(f"{bound.place} must have tags other than its time column; got {time!r}")
    bound.check(CELL * tags * times)
    told = [f"{table.height:,} rows of {tag!r} and {value!r} are put together to {times:,} rows of {tags:,} channels"]
    others = [name for name in table.columns if name not in (time, tag, value)]
    if others:
        told.append(f"{some(others)} left out")
    again = table.height - table.select(time, tag).n_unique()
    if again:
        told.append(f"{again:,} values repeat a time and a channel: the last one counts")
    empty = 1 - (table.height - again) / (tags * times)
    if empty > 0.5:
        told.append(f"{empty:.0%} of the cells are empty: channels have times of their own; resample to common ones")
    wide = table.pivot(on=tag, index=time, values=value, aggregate_function="last", sort_columns=False)
    return wide.sort(time), tuple(told)

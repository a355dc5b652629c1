"""One table of many entities, cut into one for each."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..errors import InputError
from ..wording import some
from .read import opened, table_of
from .reading import Reading

__all__ = ["split"]


def split(path: str | Path, key: str, how: Reading | None = None) -> Iterator[tuple[str, bytes]]:
    """The entities of a file by the column that names them, and the rows of each as a Parquet file, in their order.

    Columns are as they stand in the file, but for the key, which is left out: `read` reads each part as it would read
    the whole.
    """
    how = how or Reading()
    as_text = replace(how, drop=(*how.drop, key))  # what it holds is no number, and no mistake
    place = f"data {str(path)!r}"
    table, _, named = opened(path, how, "data", lambda data, place: table_of(data, as_text, place, (key,)))
    if not named or key not in table.columns:
        names = some(table.columns) if named else "without names"
        raise InputError(f"key must be a column of {place}; got {key!r}, and they are {names}")
    if table[key].null_count():
        row = int(table[key].is_null().arg_true()[0])
        raise InputError(f"{place} must name an entity in every row; column {key!r} has none in row {row}")
    for (name,), part in table.partition_by(key, as_dict=True, maintain_order=True, include_key=False).items():
        buffer = io.BytesIO()
        part.write_parquet(buffer, compression="uncompressed")
        yield str(name), buffer.getvalue()

"""The entities of a fleet, and the file of each: a folder of files, a list of files, or one table with a key column."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ..errors import FileError, InputError
from ..tables import Reading, split
from ..wording import is_text, some

__all__ = ["MODEL", "Entity", "found"]

DATA = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
PACKED = ".gz"
LIST = ".txt"
MODEL = ".ccm"


@dataclass(frozen=True)
class Entity:
    """One machine, say: what it is called, and the file of its rows."""

    name: str
    path: Path
    shown: str  # where its rows come from, to people: the file, or the table and the key

    @property
    def model(self) -> str:
        """The name of its model file: whatever stands in its own, it is one name in one folder."""
        return f"{quote(self.name, safe=' ()+,@=')}{MODEL}"


@contextmanager
def found(data: Path, key: str | None, how: Reading, parts: Path) -> Iterator[tuple[Entity, ...]]:
    """The entities of a folder, of a list of files (.txt, one in a line), or of a table whose column `key` names them.

    A table is cut into files below `parts`, which are gone when the work is done.
    """
    if key is not None:
        with _cut(data, key, how, parts) as entities:
            yield entities
        return
    if data.is_dir():
        paths = sorted(path for path in data.iterdir() if _suffixes(path)[1] and not path.name.startswith("."))
        rule = f"data must be a folder with files that end in {', '.join(DATA)} (also {PACKED})"
    elif data.suffix == LIST:
        paths = list(_listed(data))
        rule = "data must list at least one file"
    else:
        raise InputError(
            f"data must be a folder of files, a list of files that ends in {LIST}, or a table with a key column; "
            f"got {str(data)!r}" + (": name its key column" if data.is_file() else ", which is none of these")
        )
    if not paths:
        raise InputError(f"{rule}; got none in {str(data)!r}")
    yield _distinct(Entity(_suffixes(path)[0], path, str(path)) for path in paths)


def _suffixes(path: Path) -> tuple[str, bool]:
    """The name of a file without what tells its kind, and whether that is a kind we read."""
    name = path.name.removesuffix(PACKED)
    stem, suffix = os.path.splitext(name)
    return stem, suffix.lower() in DATA


def _listed(data: Path) -> Iterator[Path]:
    """The files of a list, as seen from its folder."""
    try:
        lines = data.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"data must be a readable list of files; got {str(data)!r}: {error}") from error
    for line in lines:
        if line.strip():
            yield data.parent / line.strip()


@contextmanager
def _cut(data: Path, key: str, how: Reading, parts: Path) -> Iterator[tuple[Entity, ...]]:
    try:
        folder = tempfile.TemporaryDirectory(prefix=".parts-", dir=parts)
    except OSError as error:
        raise FileError(
            f"models must be a folder that can be written to; got {str(parts)!r}: {error.strerror}"
        ) from error
    with folder as place:
        entities = []
        for number, (name, rows) in enumerate(split(data, key, how)):
            path = Path(place) / f"{number}.parquet"
            path.write_bytes(rows)
            entities.append(Entity(name, path, f"{data} [{key} {name}]"))
        yield _distinct(entities)


def _distinct(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    made = tuple(entities)
    for one in made:
        if not one.name.strip() or not is_text(one.name):
            raise InputError(f"an entity must have a name that can be written; got {one.name!r} in {one.shown!r}")
    names = [one.name for one in made]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InputError(f"data must have one file for each entity; got more for {some(twice)}")
    return made

"""What `ccmtad watch` is asked for: one watch by its flags, or several by a file, each in a thread of its own."""

import logging
import threading
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileError, SettingError
from ..live.sources.split import LONGEST_LINE
from ..tables import Reading
from ..wording import got, some
from .options import READING, reading

if TYPE_CHECKING:
    from ..live.watch import Watch
    from ..live.worker import Worker

__all__ = ["PIPE", "STANDARD", "Wanted", "run", "wanted"]

log = logging.getLogger("ccmtad")

PIPE = Path("-")
STANDARD = "-"  # standard output
TEXTS = ("model", "source", "from", "state", "name", "budget", "time", "time_format", "timezone", "thousands")
LISTS = ("to", "missing", "drop")
SWITCHES = ("once", "day_first", "allow_missing")


@dataclass(frozen=True)
class Wanted:
    """One watch."""

    model: Path
    source: Path = PIPE
    origin: str | None = None
    to: tuple[str, ...] = (STANDARD,)
    state: Path | None = None
    once: bool = False
    name: str | None = None
    longest_line: int = LONGEST_LINE
    budget: str | None = None
    how: Reading = field(default_factory=Reading)
    allow_missing: bool = False
    shared: Path | None = None  # folder by which workers share entities
    partitions: int = 16


def wanted(path: Path) -> list[Wanted]:
    """The watches of a TOML file: a [[watch]] table each."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"config must be a TOML file; got {error}") from error
    tables = told.get("watch")
    if set(told) != {"watch"} or not isinstance(tables, list) or not tables:
        raise SettingError(f"config must hold [[watch]] tables and nothing else; got {some(list(told)) or 'nothing'}")
    found = [_wanted(table, number) for number, table in enumerate(tables, 1)]
    for what in ("state", "name"):
        kept = [getattr(one, what) or (one.model.stem if what == "name" else None) for one in found]
        twice = next((one for one in kept if one is not None and kept.count(one) > 1), None)
        if twice is not None:
            raise SettingError(f"{what} must be another in each watch; got {str(twice)!r} twice")
    return found


def _wanted(table: Any, number: int) -> Wanted:
    place = f"watch {number}"
    if not isinstance(table, Mapping):
        raise SettingError(f"{place} must be a table; got {got(table)}")
    right: object
    for name, value in table.items():
        if name in TEXTS:
            right, rule = isinstance(value, str) and value, "text"
        elif name in LISTS:
            many = [value] if isinstance(value, str) else value
            right = isinstance(many, list) and many and all(isinstance(one, str) for one in many)
            rule = "text, or a list of texts"
        elif name in SWITCHES:
            right, rule = isinstance(value, bool), "true or false"
        else:
            raise SettingError(f"keys of {place} must be among {some([*SWITCHES, *TEXTS, *LISTS], 20)}; got {name!r}")
        if not right:
            raise SettingError(f"{name} of {place} must be {rule}; got {got(value)}")
    if "model" not in table or ("source" in table) == ("from" in table):
        raise SettingError(f"{place} must have a model, and a source or a from; got {some(list(table))}")
    lists = {name: [value] if isinstance(value := table.get(name, []), str) else value for name in LISTS}
    said = {name: table[name] for name in READING if name in table}
    how = reading(**{**said, "missing": lists["missing"], "drop": lists["drop"]})
    switches = {name: table[name] for name in ("once", "allow_missing") if name in table}
    made = Wanted(Path(table["model"]), name=table.get("name"), how=how, **switches)
    made = replace(made, origin=table.get("from"), budget=table.get("budget"), to=tuple(lists["to"]) or made.to)
    made = replace(made, source=Path(table.get("source", PIPE)))
    return replace(made, state=Path(table["state"])) if "state" in table else made


def run(watches: "Sequence[Watch | Worker]") -> None:
    """Until all have ended. One that fails stops no other, and is told of in the end."""
    if len(watches) == 1:
        watches[0].run()
        return
    failures: list[BaseException] = []

    def one(watch: "Watch | Worker") -> None:
        try:
            watch.run()
        except BaseException as error:
            log.error("watch %s has ended, the others go on: %s", watch.name, error)
            failures.append(error)

    threads = [threading.Thread(target=one, args=(watch,), name=f"ccmtad-{watch.name}") for watch in watches]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)  # so that signals are heard
    if failures:
        raise failures[0]

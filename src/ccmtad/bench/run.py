"""Runs a benchmark: one line of JSON per (dataset, entity, seed, method), written as soon as it is known.

A killed run goes on where it stopped. Needs numpy, scipy, scikit-learn and torch, nothing else, for the datasets that
are not CSV: `python -m ccmtad.bench` runs it where there is no command line.
"""

import gzip
import json
import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import FileError, InputError
from ..executors import HERE, Crew
from ..fit import TrainingSeries, threads
from ..settings import PRESETS
from . import methods
from .datasets import Dataset, Entity, chain, join
from .inject import injected, kept_apart
from .protocol import judge
from .settings import RunSettings

__all__ = ["Plan", "Task", "authors_settings", "authors_table", "read", "run"]

Record = dict[str, Any]
Key = tuple[str, str, int, str]


@dataclass(frozen=True)
class Task:
    """One entity with one seed."""

    dataset: str
    entity: str
    seed: int
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What to run. `preset` may also be "authors": the paper's, with the authors' own settings for each entity, judged
    by their evaluation too."""

    datasets: tuple[Dataset, ...]
    methods: tuple[str, ...] = field(default_factory=methods.usual)
    seeds: int = 3
    preset: str = "default"
    settings: Mapping[str, Any] = field(default_factory=dict)  # put over the preset's
    combined: bool = False  # protocol 1: one model over all entities
    every_epoch: bool = False  # also choose the epoch on test labels, in the column that says so
    point_adjusted: bool = False
    entities: tuple[str, ...] = ()  # only these; all where empty
    inject: bool = False  # faults into normal rows, instead of labelled rows
    kept_apart: bool = False  # of those, the entities on which no default is chosen, and no others

    def __post_init__(self) -> None:
        for name in self.methods:
            methods.find(name)
        if self.preset not in {*PRESETS, "authors"}:
            raise InputError(f"preset must be one of {', '.join(PRESETS)}, authors; got {self.preset!r}")
        if self.inject and (self.combined or self.every_epoch):
            raise InputError("inject must be without combined and oracle_epoch: there are no labels; got both")
        if self.kept_apart and not self.inject:
            raise InputError("kept_apart must come with inject: labelled runs judge every entity; got it alone")
        if self.seeds < 1:
            raise InputError(f"seeds must be at least 1; got {self.seeds}")
        RunSettings.of(**{"preset": "default", **self.settings})

    def tasks(self) -> list[Task]:
        """All there is to do. Methods that no seed can change run once."""
        tasks = []
        for dataset in self.datasets:
            names = ["all"] if self.combined else dataset.entities()
            unknown = set(self.entities) - set(names)
            if len(self.datasets) == 1 and unknown:
                raise InputError(f"entities must be of {dataset.name}; got {', '.join(sorted(unknown))}")
            apart = kept_apart().get(dataset.name, frozenset())
            refused = set(self.entities) & apart if self.inject and not self.kept_apart else set()
            if refused:
                raise InputError(f"entity must not be one that is kept apart, but for --kept-apart; got {refused}")
            for name in names:
                if self.entities and name not in self.entities:
                    continue
                if self.inject and (name in apart) != self.kept_apart:
                    continue
                for seed in range(self.seeds):
                    chosen = tuple(m for m in self.methods if seed == 0 or methods.find(m).seeded)
                    tasks.append(Task(dataset.name, name, seed, chosen))
        return tasks

    def read(self, task: Task) -> Entity:
        dataset = self._dataset(task)
        if not self.combined:
            return dataset.read(task.entity)
        entities = [dataset.read(name) for name in dataset.entities()]
        if self.preset == "authors":
            return chain(entities)
        return join(entities, self._settings({}, task).validation)

    def settings_of(self, entity: Entity, task: Task) -> RunSettings:
        """The settings of one entity."""
        return self._settings(entity.settings, task)

    def _settings(self, entity: Mapping[str, Any], task: Task) -> RunSettings:
        given = {**entity, **self.settings, "seed": task.seed}
        if self.preset != "authors":
            return RunSettings.of(self.preset, **given)
        return RunSettings.of("paper", **{**authors_settings(self._dataset(task), task.entity), **given})

    def _dataset(self, task: Task) -> Dataset:
        return next(dataset for dataset in self.datasets if dataset.name == task.dataset)


def run(
    plan: Plan, out: str | Path, *, crew: Crew = HERE,
    progress: Callable[[int, int, Record], object] | None = None,
) -> list[Record]:  # fmt: skip
    """Does what is left of the plan, and returns all of its records. `progress` gets (done, planned, record)."""
    tasks = plan.tasks()
    keys = [(t.dataset, t.entity, t.seed, m) for t in tasks for m in t.methods]
    results = Results(Path(out), plan)
    done = {key for key in keys if key in results.records}
    left = [
        Task(t.dataset, t.entity, t.seed, tuple(m for m in t.methods if (t.dataset, t.entity, t.seed, m) not in done))
        for t in tasks
    ]
    finished = len(done)
    for record in _records(plan, [task for task in left if task.methods], crew):
        results.add(record)
        finished += 1
        if progress is not None:
            progress(finished, len(keys), record)
    return [results.records[key] for key in keys]


class Results:
    """A file of records. A last line that was cut off is dropped; one of other settings is refused."""

    def __init__(self, path: Path, plan: Plan) -> None:
        self.path = path
        self.plan = _described(plan)
        self.records: dict[Key, Record] = {}
        if path.suffix == ".gz":
            raise InputError(f"out must be a plain file, which can be added to; got {str(path)!r}")
        if not path.exists():
            return
        for record in read(path):
            if record["plan"] != self.plan:
                raise InputError(
                    f"out must be a new file or hold results of the same plan; {str(path)!r} has preset "
                    f"{record['plan']['preset']!r}, settings {record['plan']['settings']}: give another file"
                )
            self.records[_key(record)] = record
        whole = path.read_bytes()
        end = whole.rfind(b"\n") + 1
        if end < len(whole):  # killed in the middle of a line
            with path.open("r+b") as file:
                file.truncate(end)

    def add(self, record: Record) -> None:
        self.records[_key(record)] = record
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record | {"plan": self.plan}, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read(path: str | Path) -> list[Record]:
    """The records of a results file (gzipped or not), without a last line that was cut off."""
    try:
        data = Path(path).read_bytes()
        text = (gzip.decompress(data) if str(path).endswith(".gz") else data).decode("utf-8")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise FileError(f"results file must be readable; got {str(path)!r}: {error}") from error
    records = []
    for number, line in enumerate(
        text.split("\n")[:-1], 1
    ):  # what follows the last newline is half a record, or nothing
        try:
            record = json.loads(line)
            _key(record), record["plan"], record["columns"]
        except (ValueError, KeyError, TypeError) as error:
            raise FileError(
                f"results file must hold one JSON record a line; line {number} of {str(path)!r} does not"
            ) from error
        records.append(record)
    return records


def _records(plan: Plan, tasks: list[Task], crew: Crew) -> Iterator[Record]:
    if crew == HERE:  # method by method: whoever is stopped has lost no more than one
        for task in tasks:
            yield from _judged(plan, task)
        return
    for records in crew.map(partial(_do, plan), tasks):
        yield from records


def _do(plan: Plan, task: Task) -> list[Record]:
    return list(_judged(plan, task))


def _judged(plan: Plan, task: Task) -> Iterator[Record]:
    entity = plan.read(task)
    settings = plan.settings_of(entity, task)
    with threads(settings.threads):
        if plan.inject:
            for made in injected(entity, settings, task.methods, task.seed):
                yield {**_facts(task, entity, settings), "columns": {}, **made}
            return
        series = TrainingSeries.of(entity.train, settings)
        for name in task.methods:
            start = time.perf_counter()
            as_authors = plan.preset == "authors"
            fitted = methods.find(name).on(task.dataset).fit(series, entity.test, plan.every_epoch or as_authors)
            middle = time.perf_counter()
            asked = ("point_adjusted_f1",) if plan.point_adjusted else ()
            columns = judge(
                fitted, entity.truth.anomalous, settings, series.rows_per_alarm, asked=asked,
                every_epoch=plan.every_epoch, as_authors=as_authors,
            )  # fmt: skip
            end = time.perf_counter()
            yield {
                **_facts(task, entity, settings),
                "method": name,
                "columns": {column: _plain(judged.values) for column, judged in columns.items()},
                "seconds": {"method": round(middle - start, 3), "judging": round(end - middle, 3)},
            }


def _facts(task: Task, entity: Entity, settings: RunSettings) -> Record:
    """What every record says of where it comes from."""
    return {
        "dataset": task.dataset,
        "entity": task.entity,
        "seed": task.seed,
        "channels": entity.test.values.shape[1],
        "train_rows": len(entity.train),
        "settings": asdict(settings),
        "online": settings.online,
        "versions": _versions(),
    }


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """What JSON can say: nothing for what is undefined."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return [plain(one) for one in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {name: plain(value) for name, value in values.items() if value is not None}


def _described(plan: Plan) -> dict[str, Any]:
    """What must agree between the lines of a file."""
    return {
        "preset": plan.preset,
        "settings": dict(plan.settings),
        "combined": plan.combined,
        "every_epoch": plan.every_epoch,
        "point_adjusted": plan.point_adjusted,
        **({"inject": True, "kept_apart": plan.kept_apart} if plan.inject else {}),
        "version": __version__,
    }


def _key(record: Record) -> Key:
    return record["dataset"], record["entity"], record["seed"], record["method"]


@cache
def _versions() -> dict[str, str]:
    found = {"ccmtad": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "torch"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@cache
def authors_table() -> dict[str, dict[str, dict[str, Any]]]:
    """The authors' hyperparameters, by dataset, then by the name of the entity or its number in its dataset's list."""
    table = json.loads(files(__package__).joinpath("authors.json").read_text(encoding="utf-8"))
    return {name: entries for name, entries in table.items() if name != "note"}


def authors_settings(dataset: Dataset, entity: str) -> dict[str, Any]:
    """The authors' hyperparameters of one entity."""
    table = authors_table()
    name = f"{dataset.name} combined" if entity == "all" else dataset.name
    if name not in table:
        raise InputError(f"preset authors must be used with one of {', '.join(table)}; got {name}")
    entries = table[name]
    if entity in entries:
        return entries[entity]
    return entries["1" if entity == "all" else str(dataset.entities().index(entity) + 1)]

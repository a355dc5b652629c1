"""The flags of a benchmark run, declared once: for `ccmtad bench run`, and for `python -m ccmtad.bench`."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..executors import Crew, find
from ..settings import Settings
from ..tables.reading import Reading
from . import datasets, methods
from .run import Plan

__all__ = ["CREW", "FLAGS", "Flag", "add_flags", "crew_of", "plan_of"]


@dataclass(frozen=True)
class Flag:
    """One of them."""

    name: str
    means: str
    kind: type = str
    default: Any = None
    many: bool = False  # may be given more than once
    least: int | None = None
    short: str = ""
    variable: str = ""  # of the environment, that it is read from where it is not given


CREW = (
    Flag("on", "Who does the work: joblib (processes of this machine), or ray.", default="joblib"),
    Flag("workers", "At a time; 1 if absent, and with ray one for each core of the cluster.", int, least=1),
    Flag("address", "Ray cluster to use; a local one is started if absent."),
)

FLAGS = (
    Flag("dataset", f"{', '.join(datasets.known())}; repeatable.", many=True),
    Flag("data", "Folder with the datasets.", Path, variable="CCMTAD_DATA"),
    Flag("out", "Results file; an unfinished one goes on.", Path, Path("results.jsonl"), short="-o"),
    Flag("method", "Method, repeatable; all but rivals where none is given. rivals: all of those.", many=True),
    Flag("entity", "Only this entity; repeatable.", many=True),
    Flag("seeds", "Seeds 0, 1, ..", int, 3, least=1),
    Flag("preset", "default, paper, or authors (their settings per entity, and their evaluation).", default="default"),
    Flag("set", "NAME=VALUE put over the preset; repeatable. alpha may go up to 1 here.", many=True),
    Flag("combined", "Protocol 1: one model over all entities.", bool, False),
    Flag("oracle-epoch", "Also choose the epoch on test labels, in a column that says so.", bool, False),
    Flag("point-adjusted", "Also compute point-adjusted F1, which misleads.", bool, False),
    Flag("inject", "Put faults into normal rows instead of judging labelled ones.", bool, False),
    Flag("kept-apart", "With --inject: the entities on which no default is chosen, and no others.", bool, False),
    *CREW,
    Flag("quiet", "No progress.", bool, False, short="-q"),
    Flag("train", "Your own data: CSV or Parquet to learn from.", Path),
    Flag("test", "Your own data: CSV or Parquet to judge, with labels.", Path),
    Flag("label", "Label column of your own data, 0 and 1.", default="label"),
    Flag("time", "Time column of your own data."),
)


def add_flags(parser: argparse.ArgumentParser, flags: Sequence[Flag]) -> None:
    """The same flags where there is no typer."""
    for flag in flags:
        names = [f"--{flag.name}", *([flag.short] if flag.short else [])]
        if flag.kind is bool:
            parser.add_argument(*names, action="store_true", help=flag.means)
        else:
            default = os.environ.get(flag.variable) if flag.variable else flag.default
            rest: dict[str, Any] = {"action": "extend", "nargs": "+"} if flag.many else {}
            if default is not None and not flag.many:
                rest["default"] = flag.kind(default)
            parser.add_argument(*names, type=flag.kind, help=flag.means, **rest)


def crew_of(given: Mapping[str, Any]) -> Crew:
    """Who is to do it, by the same names."""
    find(given["on"])
    workers = given["workers"] or (1 if given["on"] == "joblib" else None)
    return Crew(given["on"], workers, given["address"])


def plan_of(given: Mapping[str, Any]) -> Plan:
    """What the flags ask for, by their names with _ for -."""
    chosen: list[Any] = [datasets.find(name, given["data"]) for name in given["dataset"] or []]
    train, test = given["train"], given["test"]
    if (train is None) != (test is None):
        raise InputError("train and test must be given together; got only one of them")
    if train is not None:
        chosen.append(datasets.Pair(train, test, given["label"], Reading(time=given["time"])))
    if not chosen:
        raise InputError("bench run must have a --dataset, or --train and --test; got neither")
    usual = [name for name in methods.usual() if methods.find(name).reconstructs or not given["inject"]]
    return Plan(
        datasets=tuple(chosen),
        methods=tuple(one for name in given["method"] or usual for one in methods.named(name)),
        seeds=given["seeds"],
        preset=given["preset"],
        settings=Settings.read(given["set"] or []),
        combined=given["combined"],
        every_epoch=given["oracle_epoch"],
        point_adjusted=given["point_adjusted"],
        entities=tuple(given["entity"] or ()),
        inject=given["inject"],
        kept_apart=given["kept_apart"],
    )

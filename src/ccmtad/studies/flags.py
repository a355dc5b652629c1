"""The flags of the studies, declared once: for `ccmtad study`, and for `python -m ccmtad.studies`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..bench import datasets
from ..bench.flags import CREW, Flag
from ..errors import InputError
from ..settings import Settings
from . import find, known
from .plan import SEEDS, Plan, available
from .study import Study

__all__ = ["FLAGS", "STUDIED", "chosen", "plan_of"]

STUDIED = ("MSL", "SMAP", "SMD", "plant", "SWaT", "PSM", "WADI")

FLAGS = (
    Flag("data", "Folder with the datasets.", Path, variable="CCMTAD_DATA"),
    Flag(
        "out", "Folder that trainings are kept in; what is there is not trained again.", Path, Path("kept"), short="-o"
    ),
    Flag("dataset", f"{', '.join(STUDIED)}, repeatable; all whose files are there, where none is given.", many=True),
    Flag("entity", "Only this entity, repeatable; else those that each study takes.", many=True),
    Flag("seeds", "Seeds 0, 1, .. of the study of seeds; every other takes the first.", int, SEEDS, least=1),
    Flag("set", "NAME=VALUE put over the base's settings, repeatable: for a quick look.", many=True),
    Flag("device", "Where torch trains: auto, cpu, cuda.", default="auto"),
    *CREW,
    Flag("minutes", "After so many, no training is begun.", float),
    Flag("pages", "Folder that figures and pages are written to.", Path, Path("docs/studies")),
    Flag("no-train", "Judge what is kept, and train nothing.", bool, False),
)


def chosen(names: Sequence[str]) -> tuple[Study, ...]:
    """The studies of these names; "all" is every one."""
    return tuple(known().values()) if "all" in names else tuple(map(find, dict.fromkeys(names)))


def plan_of(studies: Sequence[Study], given: Mapping[str, Any]) -> Plan:
    """What the flags ask for, by their names with _ for -."""
    for name in given["dataset"] or ():
        if name not in STUDIED:
            raise InputError(f"dataset must be one of {', '.join(STUDIED)}; got {name!r}")
    found = available([datasets.find(name, given["data"]) for name in given["dataset"] or STUDIED])
    missing = set(given["dataset"] or ()) - {dataset.name for dataset in found}
    if missing or not found:
        raise InputError(
            f"data must hold the files of {', '.join(sorted(missing)) or 'a dataset'}; got {str(given['data'])!r}"
        )
    return Plan(tuple(studies), found, tuple(given["entity"] or ()), given["seeds"], Settings.read(given["set"] or []))

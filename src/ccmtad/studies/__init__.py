"""The paper's studies: what each trains, how it judges the losses that are kept, and the page it makes of them.

One file each in `paper`, found by name. Training needs numpy, scipy, scikit-learn and torch alone (`python -m
ccmtad.studies`); judging what is kept never trains again.
"""

from collections.abc import Mapping
from types import MappingProxyType

from ..errors import InputError
from ..registry import gather
from .study import Study

__all__ = ["find", "known"]


def known() -> Mapping[str, Study]:
    """Every study by name, in the paper's order."""
    here = gather("studies.paper").values()
    return MappingProxyType({study.name: study for study in sorted(here, key=lambda study: study.order)})


def find(name: str) -> Study:
    """The study of this name."""
    if name not in known():
        raise InputError(f"study must be one of {', '.join(known())}; got {name!r}")
    return known()[name]

"""What is found by name: one package for each kind of thing, one file for each thing (or a few of one family)."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any

__all__ = ["gather", "names"]


@cache
def gather(package: str) -> Mapping[str, Any]:
    """Everything with a `name` that the modules of a package of ccmtad offer (in their `__all__`), by that name."""
    home = import_module(f"{__package__}.{package}")
    found: dict[str, Any] = {}
    for module in sorted(one.name for one in iter_modules(home.__path__)):
        offered = import_module(f"{home.__name__}.{module}")
        things = [getattr(offered, name) for name in offered.__all__]
        found |= {thing.name: thing for thing in things if isinstance(getattr(thing, "name", None), str) and thing.name}
    return MappingProxyType(found)


def names(package: str) -> tuple[str, ...]:
    """The names of all that is there, in alphabetical order."""
    return tuple(sorted(gather(package)))

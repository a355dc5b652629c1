"""Published datasets in their published layouts, and your own. Labels travel apart from the data.

for entity in load("MSL", folder):
    detector.fit(entity.train).detect(entity.test)      # never sees entity.truth
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ...errors import InputError
from ...registry import gather
from .entity import Dataset, Entity, Truth, chain, join
from .pair import Pair

__all__ = ["Dataset", "Entity", "Pair", "Truth", "chain", "find", "join", "known", "load"]


def known() -> Mapping[str, Callable[[Path], Dataset]]:
    """The published ones by name: each is a class of a file here that has a `name`, and is made of a folder."""
    return dict(sorted(gather("bench.datasets").items()))


def find(name: str, folder: str | Path | None) -> Dataset:
    """The dataset of this name, whose files are in the folder; nothing is read yet. What is made needs no folder."""
    if name not in known():
        raise InputError(f"dataset must be one of {', '.join(known())}; got {name!r}")
    if folder is None and not getattr(known()[name], "made", False):
        raise InputError("data must name the folder with the datasets, or CCMTAD_DATA must; got neither")
    return known()[name](Path(folder or os.devnull))


def load(name: str, folder: str | Path) -> Iterator[Entity]:
    """The entities of a dataset, in its published order, read one at a time."""
    dataset = find(name, folder)
    return (dataset.read(entity) for entity in dataset.entities())

"""Published datasets in their published layouts, and your own. Labels travel apart from the data.

for entity in load("MSL", folder):
    detector.fit(entity.train).detect(entity.test)      # never sees entity.truth
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import MappingProxyType

from ...errors import InputError
from .entity import Dataset, Entity, Truth, join
from .pair import Pair
from .psm import Psm
from .smd import Smd
from .swat import Swat
from .telemanom import Telemanom
from .wadi import Wadi

__all__ = ["DATASETS", "Dataset", "Entity", "Pair", "Truth", "find", "join", "load"]

DATASETS: MappingProxyType[str, Callable[[Path], Dataset]] = MappingProxyType(
    {
        "MSL": partial(Telemanom, "MSL"),
        "SMAP": partial(Telemanom, "SMAP"),
        "SMD": Smd,
        "PSM": Psm,
        "SWaT": Swat,
        "WADI": Wadi,
    }
)


def find(name: str, folder: str | Path) -> Dataset:
    """The dataset of this name, whose files are in the folder; nothing is read yet."""
    if name not in DATASETS:
        raise InputError(f"dataset must be one of {', '.join(DATASETS)}; got {name!r}")
    return DATASETS[name](Path(folder))


def load(name: str, folder: str | Path) -> Iterator[Entity]:
    """The entities of a dataset, in its published order, read one at a time."""
    dataset = find(name, folder)
    return (dataset.read(entity) for entity in dataset.entities())

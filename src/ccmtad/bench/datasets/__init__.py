"""Published datasets in their published layouts, a folder or a zip. Labels travel apart from the data.

for entity in load("MSL", folder):
    detector.fit(entity.train).detect(entity.test)      # never sees entity.truth
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType

from ...errors import InputError
from . import smd, telemanom
from .entity import Entity, Truth

__all__ = ["DATASETS", "Entity", "Truth", "load"]

DATASETS: MappingProxyType[str, Callable[[Path], Iterator[Entity]]] = MappingProxyType(
    {"MSL": telemanom.msl, "SMAP": telemanom.smap, "SMD": smd.machines}
)


def load(name: str, folder: str | Path) -> Iterator[Entity]:
    """The entities of a dataset, in its published order, read one at a time."""
    if name not in DATASETS:
        raise InputError(f"dataset must be one of {', '.join(DATASETS)}; got {name!r}")
    return DATASETS[name](Path(folder))

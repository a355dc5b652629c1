"""The source that an address names."""

from ...model import Model
from ...tables.reading import Reading
from ..address import Address, kind_of
from .connected import Connected

__all__ = ["reached"]


def reached(
    url: str,
    model: Model,
    reading: Reading | None = None,
    *,
    watch: str = "watch",
    once: bool = False,
    kept: bool = True,
) -> Connected:
    """A source by its URL, for the rows of a model; `reading` says how times and missing values are written."""
    address = Address.parse(url, "source")
    kind: type[Connected] = kind_of("live.sources", address, "source")
    return kind(address, model, reading, watch=watch, once=once, kept=kept)

"""The sink that an address names."""

from ..address import Address, kind_of
from . import Sink

__all__ = ["reached"]


def reached(url: str) -> Sink:
    """A sink by its URL."""
    address = Address.parse(url, "sink")
    kind: type[Sink] = kind_of("live.sinks", address, "sink")
    return kind(address)

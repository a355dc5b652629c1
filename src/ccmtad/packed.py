"""Many arrays and numbers as one argument of a compiled function: handed over one by one, seventy take 3 µs a call."""

from typing import Any

from numba import types
from numba.experimental import structref

from .compiled import Entry

__all__ = ["PACK"]


@structref.register
class _Type(types.StructRef):
    """What numba knows a pack by: the types of its parts."""


class _Packed(structref.StructRefProxy):
    """What Python has of it."""

    def __new__(cls, parts: Any) -> Any:
        return structref.StructRefProxy.__new__(cls, parts)  # type: ignore[no-untyped-call]


structref.define_proxy(_Packed, _Type, ["parts"])  # type: ignore[no-untyped-call]


def _pack(parts: Any) -> Any:
    """The same arrays, not copies of them: a compiled function finds them again as `packed.parts`."""
    return _Packed(parts)


PACK = Entry(_pack)

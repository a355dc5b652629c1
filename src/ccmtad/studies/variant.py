"""What is trained: the authors' own settings of an entity, with some changed."""

from dataclasses import dataclass
from typing import Any, Protocol, Self

__all__ = ["BASE", "WITHOUT_CLUSTERS", "Needs", "Variant"]


@dataclass(frozen=True)
class Variant:
    """One change. `extras` are what must be measured of the trained network besides its losses, by name."""

    change: tuple[tuple[str, Any], ...] = ()
    extras: tuple[str, ...] = ()
    seed: int = 0

    @classmethod
    def of(cls, *extras: str, seed: int = 0, **change: Any) -> Self:
        return cls(tuple(sorted(change.items())), extras, seed)


BASE = Variant()
WITHOUT_CLUSTERS = Variant.of(clustering="off")


class Needs(Protocol):
    """What a study is to whoever trains for it."""

    @property
    def whole(self) -> bool:
        """Whether it takes every entity."""

    def variants(self) -> tuple[Variant, ...]:
        """What must have been trained for each."""

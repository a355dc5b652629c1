"""The settings of a run: a detector's, but that alpha may be anything up to 1."""

from dataclasses import dataclass, field
from typing import Literal

from ..settings import Settings
from ..settings.rules import AUTO, positive

__all__ = ["RunSettings"]

DECLARED = Settings.__dataclass_fields__["alpha"]


@dataclass(frozen=True, kw_only=True)
class RunSettings(Settings):
    """The paper searches alpha up to 1, and a third of those that its authors chose are beyond 1/e. A detector refuses
    these (`FASTEST_ALPHA` in `settings.rules` says why); here they may be tried, for what came of it is judged."""

    alpha: float | Literal["auto"] = field(
        default=DECLARED.default, metadata={**DECLARED.metadata, "rule": AUTO | positive(1)}
    )

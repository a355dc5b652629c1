"""Tables of figures, with the paper's printed numbers beside them."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from ..bench.render import Section
from .study import Found

__all__ = ["by_case", "printed"]

Printed = Mapping[str, Mapping[str, float]]  # by dataset, then case


@cache
def _published() -> dict[str, dict[str, dict[str, float]]]:
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text(encoding="utf-8"))


def printed(table: str) -> Printed:
    """One of the paper's tables."""
    return _published()[table]


def by_case(
    title: str, found: Found, measure: str, cases: Sequence[str], paper: Printed | None = None, *, digits: int = 3,
    text: str = "",
) -> Section:  # fmt: skip
    """A row for each case, a column for each dataset: ours, with the number of entities, then the paper's."""
    paper = paper or {}
    ours = {name: found.of(name) for name in found.datasets}
    header = ["", *(f"{name} ({max(f.entities for f in of.values())})" for name, of in ours.items())]
    header += [f"printed: {name}" for name in paper]

    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:,.{digits}f}"

    rows = tuple(
        (
            case,
            *(cell(of[case].values.get(measure) if case in of else None) for of in ours.values()),
            *(cell(of_paper.get(case)) for of_paper in paper.values()),
        )
        for case in cases
    )
    return Section(2, title, text, tuple(header), rows)

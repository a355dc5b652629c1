"""Where rows come from. A watch knows none of them: it takes what is at hand, saves its state, and commits.

Mark and state are saved together, so a source that can go back to a mark gives every row exactly once to the state.
"""

from typing import Any, Protocol

from ...tables.lines import Row

__all__ = ["Mark", "Row", "Source"]

Mark = dict[str, Any]  # a place, as JSON knows it, and how to know it again


class Source(Protocol):
    """Rows, one after the other."""

    @property
    def left_out(self) -> int:
        """What held no row, in this run."""

    @property
    def full(self) -> bool:
        """Whether little or nothing more comes until what was taken is committed."""

    @property
    def trouble(self) -> str:
        """Why there is nothing to take, such as "is gone"; "" while all is well."""

    def take(self) -> list[Row] | None:
        """The rows that are there and not taken yet; None after the last one."""

    def wait(self, seconds: float) -> None:
        """Sleeps until there may be more, or for so long."""

    def mark(self) -> Mark:
        """The place after the rows taken."""

    def resume(self, mark: Mark, rows: int) -> bool:
        """Goes to a mark, after so many rows of earlier runs; False where what followed there cannot be found."""

    def commit(self, mark: Mark) -> None:
        """All notices of the rows up to there are written, and the state that follows them is saved."""

    def close(self) -> None:
        """Nothing more is taken."""

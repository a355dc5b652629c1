"""A column of labels in a file that is judged: taken out of the channels, and looked at afterwards."""

import logging
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..errors import InputError
from ..tables import Reading
from ..wording import count, some
from . import show

if TYPE_CHECKING:
    from ..truth import Truth

__all__ = ["Labels", "labels_of", "print_truth", "told_truth"]

Labels = Annotated[
    str | None,
    typer.Option(
        help="Column of labels, 0 for normal, to hold the answer against; it is no channel, and the detector never "
        "sees it.",
        show_default=False,
    ),
]


def labels_of(path: Path, how: Reading, column: str, channels: Collection[str]) -> NDArray[np.float64]:
    """The labels of a file's rows."""
    from ..tables import load

    if column in channels:
        raise InputError(
            f"labels must not be one of the channels that the model learnt from; got {column!r}: fit again with "
            f"drop={column!r}"
        )
    log = logging.getLogger("ccmtad")
    heard, log.disabled = log.disabled, True  # what there is to say of the file is said when its rows are read
    try:
        loaded = load(path, replace(how, drop=tuple(name for name in how.drop if name != column)), fitted=channels)
    finally:
        log.disabled = heard
    frame = loaded.frame
    if column in loaded.reading.books:
        words = some(list(loaded.reading.books[column]))
        raise InputError(f"labels must be numbers, 0 for normal, or true and false; got {words} in {column!r}")
    if column not in frame.channels:
        raise InputError(
            f"labels must name a column of data {str(path)!r}; got {column!r}, and they are {some(frame.channels)}"
        )
    labels: NDArray[np.float64] = frame.values[:, frame.channels.index(column)]
    return labels


def told_truth(truth: "Truth") -> dict[str, Any]:
    """As JSON knows it."""
    return {
        "stretches": len(truth.stretches), "found": truth.found, "recall": truth.recall, "precision": truth.precision,
        "delays": list(truth.delays),
    }  # fmt: skip


def print_truth(truth: "Truth") -> None:
    """As a person reads it."""
    several = "es" * (len(truth.stretches) != 1)
    found = f"{truth.found} of {len(truth.stretches):,} labelled stretch{several}"
    late = "" if truth.delay is None else f", after {truth.delay:,.3g} rows (median)"
    show.out.print(f"{found} found{late}; {sum(truth.right)} of {count(len(truth.right), 'event')} touch a label.")

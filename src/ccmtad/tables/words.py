"""Cells that hold words, as numbers: ON and OFF, open and closed, the few states of a machine."""

from collections.abc import Iterable

from .reading import Book

__all__ = ["SWITCHES", "book_of", "said"]

PAIRS = (
    ("off", "on"), ("false", "true"), ("no", "yes"), ("closed", "open"), ("close", "open"), ("stopped", "running"),
    ("stop", "run"), ("stop", "start"), ("inactive", "active"), ("disabled", "enabled"), ("aus", "ein"), ("aus", "an"),
    ("nein", "ja"), ("zu", "auf"), ("falsch", "wahr"), ("non", "oui"), ("faux", "vrai"),
)  # fmt: skip
SWITCHES = frozenset(word for pair in PAIRS for word in pair)
MOST_WORDS = 20  # of one column
CELLS_A_WORD = 10  # that a column must have: else it may be names or remarks


def book_of(words: Iterable[str], cells: int) -> Book | None:
    """What the different words of a column of so many cells stand for; None where they are too many, too rare, or
    always the same.

    A switch has both its words, though it may never have been seen in one of its two positions.
    """
    found = sorted({word.lower() for word in words})
    for pair in PAIRS:
        if found and set(found) <= set(pair):
            return {word: float(code) for code, word in enumerate(pair)}
    if not 2 <= len(found) <= MOST_WORDS or cells < CELLS_A_WORD * len(found):
        return None
    return {word: float(code) for code, word in enumerate(found)}


def said(book: Book) -> str:
    """off is 0, on is 1."""
    return ", ".join(f"{word!r} is {code:g}" for word, code in book.items())

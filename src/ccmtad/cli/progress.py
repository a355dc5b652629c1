"""How long work shows itself: a bar that goes away on a terminal, a plain line now and then elsewhere."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..wording import lasting

__all__ = ["EVERY", "Tell", "bar", "lines"]

EVERY = 10.0  # seconds between two lines


class Tell(Protocol):
    """How far it is, and a word on it."""

    def __call__(self, done: float, more: str = "") -> None: ...


@contextmanager
def bar(console: Console, text: str, total: float | None) -> Iterator[Tell]:
    """For a terminal; without a total, one that only moves."""
    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[more]}", markup=False),
        TimeElapsedColumn(), *([TimeRemainingColumn()] if total else []),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=total, more="")

        def tell(done: float, more: str = "") -> None:
            progress.update(task, completed=done, more=more)

        yield tell


@contextmanager
def lines(say: Callable[[str], object], text: str, total: float | None) -> Iterator[Tell]:
    """For a log: what is quick says nothing. The clock is another thread's, as much of the work tells nothing."""
    begun, over = time.monotonic(), threading.Event()
    newest: list[tuple[float, str]] = [(0.0, "")]

    def tell(done: float, more: str = "") -> None:
        newest[0] = done, more

    def clock() -> None:
        while not over.wait(EVERY):
            done, more = newest[0]
            share = [f"{done / total:.0%}"] if total else []
            say(f"{text}: {', '.join([*share, *([more] if more else []), lasting(time.monotonic() - begun)])}")

    thread = threading.Thread(target=clock, daemon=True, name="progress")
    thread.start()
    try:
        yield tell
    finally:
        over.set()
        thread.join()

"""Case by case: what came of it."""

import resource
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ccmtad import CcmtadError, model_file, snapshot

from .spoil import crafted, damaged, flipped, resealed
from .victims import Victims, use_model, use_state, use_table

__all__ = ["KINDS", "peak", "run"]

Random = np.random.Generator
SECONDS, MEGABYTES = 10, 64  # that a case may take


def _flip(victims: Victims, random: Random, folder: Path) -> None:
    which = random.random() < 0.5
    data = flipped(victims.model if which else victims.state, random)
    if data in (victims.model, victims.state):
        raise CcmtadError("unchanged")
    if which:
        use_model(data, folder)
    else:
        use_state(victims.detector, data)
    raise AssertionError("a damaged file was taken for a whole one")


def _both(spoil: Callable[[bytes, bytes, int, Random], bytes]) -> Callable[[Victims, Random, Path], None]:
    def case(victims: Victims, random: Random, folder: Path) -> None:
        old = random.random() < 0.2
        if random.random() < 0.5:
            data = victims.old_model if old else victims.model
            use_model(spoil(data, model_file.MAGIC, model_file.VERSION, random), folder)
        else:
            data, detector = (victims.old_state, victims.old_detector) if old else (victims.state, victims.detector)
            use_state(detector, spoil(data, snapshot.MAGIC, snapshot.VERSION, random))

    return case


def _table(victims: Victims, random: Random, folder: Path) -> None:
    name, data = victims.tables[int(random.integers(len(victims.tables)))]
    use_table(victims.detector, name, damaged(name, data, random), folder)


KINDS: dict[str, Callable[[Victims, Random, Path], None]] = {
    "flips": _flip,
    "resealed": _both(lambda data, _magic, _version, random: resealed(data, random)),
    "crafted": _both(crafted),
    "tables": _table,
}


class _TooSlow(BaseException):
    """A case takes too long."""


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def peak() -> float:
    """The most megabytes that this process had at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run(
    victims: Victims, kind: str, first: int, last: int, seed: int = 0, begin: Callable[[int], object] = lambda _: None
) -> tuple[Counter[str], list[str]]:
    """What came of the cases, and the findings."""
    counts: Counter[str] = Counter()
    findings: list[str] = []

    def find(what: str, number: int, error: object = "") -> None:
        counts[what] += 1
        findings.append(f"{kind} {number}: {what} {error}"[:300])

    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(first, last):
            begin(number)
            random = np.random.default_rng([seed, number])
            before = peak()
            try:
                with _limited():
                    KINDS[kind](victims, random, Path(folder))
                counts["accepted"] += 1
            except CcmtadError:
                counts["refused"] += 1
            except _TooSlow:
                find("too slow", number)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a panic of polars is no Exception
                find("untyped", number, f"{type(error).__name__}: {error} {_place(error)}")
            if number > first and peak() - before > MEGABYTES:
                find("hungry", number, f"{peak() - before:.0f} MB")
    return counts, findings


def _place(error: BaseException) -> str:
    trace, place = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if "ccmtad" in name:
            place = f"{Path(name).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"({place})"

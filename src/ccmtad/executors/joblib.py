"""Processes of this machine."""

import os
from collections.abc import Callable, Iterator, Sequence

from ..errors import MissingExtraError, SettingError, TrainingError
from . import Executor, Result, Task

__all__ = ["joblib"]


class Joblib(Executor):
    """One process for each core, one thread in each: what is small gains nothing from more threads."""

    name = "joblib"

    def map(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None, address: str | None = None
    ) -> Iterator[Result]:
        if address is not None:
            raise SettingError(f"address must be of a Ray cluster, and joblib knows none; got {address!r}")
        workers = min(workers or _cores(), len(tasks))  # none where there is nothing to do
        if workers < 2:
            yield from map(work, tasks)
            return
        try:
            from joblib import Parallel, delayed, parallel_config
            from joblib.externals.loky.process_executor import BrokenProcessPool
        except ImportError as error:
            raise MissingExtraError(
                f"several workers need joblib ({error}): pip install 'ccmtad[scale]', or use one"
            ) from error
        try:
            with parallel_config(backend="loky", inner_max_num_threads=1):
                run = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1, max_nbytes=None)
                yield from run(delayed(work)(task) for task in tasks)
        except BrokenProcessPool as error:
            raise TrainingError(
                "a worker must live until its work is done; one was killed, for want of memory perhaps: what is done "
                f"is kept, and the same call goes on from there; with fewer workers than {workers}, each has more"
            ) from error


def _cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


joblib = Joblib()

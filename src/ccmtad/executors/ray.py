"""The workers of a Ray cluster: one that is given, or one of this machine's cores."""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from ..errors import MissingExtraError, SettingError, TrainingError
from . import Executor, Result, Task

__all__ = ["ray"]

RETRIES = 3  # of a task whose worker was lost
AHEAD = 2  # tasks for each worker that are handed over before one is done


class Ray(Executor):
    """A task whose worker is lost is done again elsewhere; since what it writes is written whole or not at all, that
    changes nothing. What is read and written must lie where all workers see it."""

    name = "ray"

    def map(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], workers: int | None, address: str | None = None
    ) -> Iterator[Result]:
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError(f"a Ray cluster needs ray ({error}): pip install 'ccmtad[scale]'") from error

        def do(task: Task) -> Result:
            return work(task)  # Ray takes functions only

        begun = not ray.is_initialized()
        if begun:
            _begin(address, workers)
        try:
            remote = ray.remote(num_cpus=1, max_retries=RETRIES)(do)
            cores = int(ray.cluster_resources().get("CPU", 1))
            waiting = iter(tasks)
            running = [remote.remote(task) for task in islice(waiting, AHEAD * (workers or cores))]
            while running:
                done, running = ray.wait(running)
                running += [remote.remote(task) for task in islice(waiting, len(done))]
                yield from ray.get(done)
        except ray.exceptions.RayError as error:
            raise TrainingError(
                f"a Ray cluster must keep its workers until their work is done; got {type(error).__name__}: what is "
                "done is kept, and the same call goes on from there"
            ) from error
        finally:
            if begun:
                ray.shutdown()


def _begin(address: str | None, workers: int | None) -> None:
    import ray

    try:
        if address is None:
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        else:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        first = str(error).strip().partition("\n")[0]
        raise SettingError(f"address must be of a Ray cluster that answers; got {address!r}: {first}") from error


ray = Ray()

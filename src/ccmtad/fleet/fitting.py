"""A model for each entity of a fleet."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import executors
from ..detector import Detector
from ..errors import FileError, MissingExtraError
from ..live.lock import Lock
from ..settings import Settings
from ..tables import Reading
from .attempt import Attempt, Task
from .entities import found
from .manifest import NAME, Entry, Manifest
from .together import fit_together

__all__ = ["fit"]

# What came of an entity, how many are done, how many there are, and whether it stood from an earlier fit.
Tell = Callable[[Entry, int, int, bool], object]


def fit(
    data: str | Path,
    models: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    key: str | None = None,
    how: Reading | None = None,
    on: str = "joblib",
    workers: int | None = None,
    address: str | None = None,
    together: bool | None = None,
    again: bool = False,
    progress: Tell | None = None,
) -> tuple[Entry, ...]:
    """Fits a model for each entity of `data` into the folder `models`, and says what came of each.

    `data` is a folder of files, a list of files (.txt), or a table whose column `key` names the entity of each row.
    An entity whose rows and settings are those of its last fit is not fitted again, unless `again`: a run that was
    stopped goes on where it was. One that cannot be fitted stops no other: its entry has `status` "failed" and the
    error. The models are the same to the byte, whatever does the work (`on`) and however many `workers` there are.

    `together` trains entities of equal channels in one network, in this process: what pays on a GPU, and is done there
    if it is None. What is dropped in training then depends on who is fitted with whom, and so do the last digits.
    """
    settings, how, folder = dict(settings or {}), how or Reading(), Path(models)
    checked = Detector(**settings).settings  # a wrong setting is an error before anything is read
    gpu = _on_a_gpu(checked)
    together = gpu if together is None else together
    executor = executors.find(on)
    _make(folder)
    with _alone(folder), found(Path(data), key, how, folder) as entities:
        manifest = Manifest(folder)
        tasks = [Task(one, folder, settings, how) for one in entities]
        standing = {} if again else {task.entity.name: entry for task in tasks if (entry := _standing(task, manifest))}
        for done, entry in enumerate(standing.values(), 1):
            if progress is not None:
                progress(entry, done, len(tasks), True)
        left = [task for task in tasks if task.entity.name not in standing]
        left.sort(key=lambda task: -_size(task.entity.path))  # the longest first, so that none is left to the end
        fitted = fit_together(left) if together else executor.map(fit_one, left, workers, address)
        for done, entry in enumerate(fitted, len(standing) + 1):
            manifest.add(entry)
            if progress is not None:
                progress(entry, done, len(tasks), False)
        manifest.tidy()
        return tuple(manifest.entries[one.name] for one in entities)


def fit_one(task: Task) -> Entry:
    """Reads, fits and saves one entity."""
    attempt = Attempt(task)
    with attempt.own():
        loaded = attempt.read()
        attempt.save(Detector(**task.settings).fit(loaded.frame, reading=loaded.reading))
    return attempt.entry


def _on_a_gpu(settings: Settings) -> bool:
    """Whether torch will train on one."""
    try:
        from ..network.training import on_gpu
    except ImportError as error:
        raise MissingExtraError(
            f"fitting needs torch and scikit-learn ({error}): pip install 'ccmtad[train]'"
        ) from error
    return on_gpu(settings)


def _standing(task: Task, manifest: Manifest) -> Entry | None:
    """The entry of an entity that need not be fitted again. What people have said to its model since is kept."""
    entry = manifest.entries.get(task.entity.name)
    if entry is None or entry.status != "fitted":
        return None
    try:
        if entry.fingerprint != task.fingerprint():
            return None
        Detector.load(task.models / entry.file)
    except (FileError, OSError):
        return None
    return entry


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # said where it is read
        return 0


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"models must be a folder; got {str(folder)!r}: {error.strerror}") from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Two fits into one folder would write over each other."""
    lock = Lock(folder / NAME, "models", "fit")
    try:
        yield
    finally:
        lock.release()

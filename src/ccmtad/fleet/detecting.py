"""The events of a whole fleet."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from .. import executors, suited
from ..detector import Detector
from ..errors import CcmtadError, FileError
from ..results import Event
from ..tables import Reading
from .entities import Entity, found
from .notes import notes

__all__ = ["Found", "detect"]


@dataclass(frozen=True)
class Found:
    """What a model says of the new rows of its entity."""

    entity: str
    data: str
    rows: int = 0
    alarms: int = 0  # rows in alarm
    health: str = "unknown"  # of its calibration
    advice: str = ""
    events: tuple[Event, ...] = ()
    error: str = ""  # why it could not be judged
    notes: tuple[str, ...] = ()

    @property
    def worst(self) -> float:
        """The largest severity; 0 where there is no event."""
        return max((event.severity for event in self.events), default=0.0)


@dataclass(frozen=True)
class Task:
    """One entity to be judged."""

    entity: Entity
    models: Path
    how: Reading
    budget: str | None


def detect(
    models: str | Path,
    data: str | Path,
    *,
    key: str | None = None,
    how: Reading | None = None,
    budget: str | None = None,
    on: str = "joblib",
    workers: int | None = None,
    address: str | None = None,
    progress: Callable[[Found, int, int], object] | None = None,
) -> tuple[Found, ...]:
    """What the models of a folder find in the new rows of their entities, the worst entity first.

    `data` is as of `fit`. An entity without a model, or whose rows cannot be judged, stops no other: its `error` says
    why.
    """
    how, folder = how or Reading(), Path(models)
    if not folder.is_dir():
        raise FileError(f"models must be a folder that fleet fit wrote; got {str(folder)!r}")
    with found(Path(data), key, how, folder) as entities:
        tasks = [Task(one, folder, how, budget) for one in entities]
        answers: list[Found] = []
        for answer in executors.find(on).map(detect_one, tasks, workers, address):
            answers.append(answer)
            if progress is not None:
                progress(answer, len(answers), len(tasks))
    return tuple(sorted(answers, key=lambda one: (-one.worst, not one.error, one.entity)))


def detect_one(task: Task) -> Found:
    """Judges one entity; whatever goes wrong with it is its own affair, and told."""
    entity = task.entity
    answer = Found(entity.name, entity.shown)
    with notes() as told:
        try:
            path = task.models / entity.model
            if not path.exists():
                raise FileError(f"models must hold one for each entity; {entity.name!r} has none")
            detector = Detector.load(path)
            if task.budget is not None:
                detector = detector.with_budget(task.budget)
            result = detector.detect(suited.for_a_model(detector.model_, entity.path, task.how))
            answer = replace(
                answer, rows=len(result), alarms=int(result.alarm.sum()), health=result.health.state,
                advice=result.health.advice, events=result.events,
            )  # fmt: skip
        except CcmtadError as error:
            answer = replace(answer, error=str(error).replace(str(entity.path), entity.shown))
        except Exception as error:  # of a library below: the other entities still have their turn, and it is told
            answer = replace(answer, error=f"{type(error).__name__}: {error}")
    return replace(answer, notes=tuple(told))

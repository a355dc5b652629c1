"""The fits of many entities in step: what all of them are to learn next is learnt in one stack."""

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from ..detector import Detector
from ..errors import TrainingError
from ..fit import TrainingSeries, threads
from ..network.weights import Lesson, Trained
from ..tables import Loaded
from .attempt import Attempt, Task
from .manifest import Entry

__all__ = ["fit_together"]

AT_A_TIME = 64  # entities in memory


@dataclass(eq=False)
class Pupil:
    """An entity in the middle of its fit."""

    attempt: Attempt
    detector: Detector
    loaded: Loaded
    series: TrainingSeries
    course: Generator[list[Lesson], list[Trained], Trained]
    lessons: list[Lesson]  # to be learnt next


def fit_together(tasks: Sequence[Task]) -> Iterator[Entry]:
    """Reads, fits and saves entities, some at a time, those that are alike in one stack."""
    for first in range(0, len(tasks), AT_A_TIME):
        yield from _fit(tasks[first : first + AT_A_TIME])


def _fit(tasks: Sequence[Task]) -> Iterator[Entry]:
    pupils: list[Pupil] = []
    for task in tasks:
        attempt = Attempt(task)
        with attempt.own():
            loaded, detector = attempt.read(), Detector(**task.settings)
            with threads(detector.settings.threads):
                series = TrainingSeries.of(loaded.frame, detector.settings)
                course = series.course()
                pupils.append(Pupil(attempt, detector, loaded, series, course, next(course)))
        if attempt.entry.error:
            yield attempt.entry
    while pupils:
        learnt = _learn(pupils)
        for pupil in list(pupils):
            if _go_on(pupil, learnt):
                pupils.remove(pupil)
                yield pupil.attempt.entry


def _learn(pupils: Sequence[Pupil]) -> dict[int, Trained | TrainingError]:
    """What came of each lesson, by its `id`."""
    from ..network import stacked

    groups: dict[tuple[object, ...], list[tuple[Pupil, Lesson]]] = {}
    for pupil in pupils:
        for lesson in pupil.lessons:
            groups.setdefault(stacked.alike(lesson), []).append((pupil, lesson))
    learnt: dict[int, Trained | TrainingError] = {}
    for group in groups.values():
        begun = time.perf_counter()
        done = stacked.train([lesson for _, lesson in group])
        took = (time.perf_counter() - begun) / len(group)
        for (pupil, lesson), one in zip(group, done, strict=True):
            learnt[id(lesson)] = one
            pupil.attempt.took(took)
    return learnt


def _go_on(pupil: Pupil, learnt: dict[int, Trained | TrainingError]) -> bool:
    """Takes what was learnt; whether that was all."""
    done = True
    with pupil.attempt.own(), threads(pupil.detector.settings.threads):
        taken: list[Trained] = []
        for lesson in pupil.lessons:
            one = learnt[id(lesson)]
            if isinstance(one, TrainingError):
                raise one
            taken.append(one)
        try:
            pupil.lessons = pupil.course.send(taken)
            done = False
        except StopIteration as end:
            frame, how = pupil.loaded.frame, pupil.loaded.reading
            pupil.attempt.save(pupil.detector._learnt(pupil.series, end.value, frame, reading=how))
    return done

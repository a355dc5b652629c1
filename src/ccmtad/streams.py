"""Many live streams of one model, stepped together."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import snapshot
from .errors import InputError
from .frame import nanoseconds
from .lanes import Lanes, Taken
from .model import Model
from .network.engine import Engine
from .record import NEVER
from .results import Change, Health, Step, Tally, Verdict
from .row import values_of

__all__ = ["Steps", "Streams"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COLUMNS = ("index", "ready", "loss", "pvalue", "evidence", "score", "alarm")


@dataclass(frozen=True, eq=False)
class Steps(Mapping[Hashable, Step]):
    """The answers for one round of rows, as columns, in the order of `keys`; `steps[key]` makes the `Step` of one.

    `changes` holds only the keys whose events changed.

    Example:
        steps = streams.update({"pump 1": row})
        print(steps.score, steps["pump 1"].alarm, steps.changes)
    """

    _keys: tuple[Hashable, ...]
    changes: Mapping[Hashable, tuple[Change, ...]]
    _taken: Taken

    @cached_property
    def _place(self) -> dict[Hashable, int]:
        return {key: i for i, key in enumerate(self._keys)}

    def column(self, name: str) -> NDArray[Any]:
        """One value for each key.

        Args:
            name: `index`, `ready`, `loss`, `pvalue`, `evidence`, `score` or `alarm`.

        Returns:
            (keys,): in the order of the keys.

        Raises:
            InputError: where it is another name.

        Example:
            pvalues = steps.column("pvalue")
            print(pvalues)
        """
        if name not in COLUMNS:
            raise InputError(f"name must be one of {', '.join(COLUMNS)}; got {name!r}")
        answers = self._taken.answers
        return answers[name] if self._taken.of.compiled else np.array([getattr(answer, name) for answer in answers])

    @property
    def ready(self) -> Bools:
        """Whether each row could be judged."""
        return self.column("ready")

    @property
    def loss(self) -> Floats:
        """The squared error of each row, its channels combined; NaN where it could not be judged."""
        return self.column("loss")

    @property
    def pvalue(self) -> Floats:
        """How rare so large a loss is among normal ones."""
        return self.column("pvalue")

    @property
    def evidence(self) -> Floats:
        """log(alpha / p-value) of each row."""
        return self.column("evidence")

    @property
    def score(self) -> Floats:
        """The accumulated evidence of each key."""
        return self.column("score")

    @property
    def alarm(self) -> Bools:
        """Whether each key is in an event of any kind."""
        return self.column("alarm")

    def __getitem__(self, key: Hashable) -> Step:
        return self._taken.step(self._place[key], self.changes.get(key, ()))

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Streams:
    """Many entities of one model, stepped together: one call for all of them.

    Example:
        streams = detector.streams(["pump 1", "pump 2"])
        steps = streams.update({"pump 1": row, "pump 2": row}, time="2026-03-01 12:00")
        print(steps.alarm, steps.changes, steps["pump 1"].score)
    """

    def __init__(self, model: Model, keys: Iterable[Hashable], engine: Engine | None = None) -> None:
        self._lane: dict[Hashable, int] = {}
        names = list(dict.fromkeys(keys))
        self.lanes = Lanes(model, len(names), engine)
        self._lane = {key: i for i, key in enumerate(names)}
        self._free: list[int] = []

    @property
    def model(self) -> Model:
        """What they go by, feedback included."""
        return self.lanes.model

    def heed(self, said: Iterable[Verdict]) -> None:
        """Takes words on events to heart, from the next row on, for every entity.

        Args:
            said: verdicts, such as a detector's `feedback_`.

        Example:
            streams.heed([event.verdict("dismissed", "2026-03-01T12:00:00Z")])
            print(streams.model.feedback[-1].word)
        """
        self.lanes.heed(said)

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The entities, in the order they were added."""
        return tuple(self._lane)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._lane

    def __len__(self) -> int:
        return len(self._lane)

    def add(self, *keys: Hashable) -> None:
        """New entities, each from its start.

        Args:
            keys: that are not there yet.

        Raises:
            InputError: where one is there already.

        Example:
            streams.add("pump 2", "pump 3")
            print(streams.keys)
        """
        for key in keys:
            if key in self._lane:
                raise InputError(f"keys must be new; got {key!r}, which is there already")
        short = len(set(keys)) - len(self._free)
        if short > 0:
            before, more = self.lanes.number, max(short, self.lanes.number)  # doubling: adding stays cheap
            self.lanes.grow(more)
            self._free += range(before + more - 1, before - 1, -1)
        for key in dict.fromkeys(keys):
            self._lane[key] = self._free.pop()

    def drop(self, *keys: Hashable) -> None:
        """Forgets entities.

        Args:
            keys: of these streams.

        Raises:
            InputError: where one is not there.

        Example:
            streams.add("pump 2")
            streams.drop("pump 2")
        """
        self._known(keys)
        for key in keys:
            lane = self._lane.pop(key)
            self.lanes.clear(lane)
            self._free.append(lane)

    def update(self, rows: Mapping[Any, Any], time: object = None) -> Steps:
        """Judges one row of each key given.

        Args:
            rows: by key; not every key need have one.
            time: of all these rows, or of each, in a mapping by key.

        Returns:
            `Steps`: columns, and a `Step` on demand.

        Raises:
            InputError: where a key is unknown or a row cannot be used; then nothing has changed.

        Example:
            steps = streams.update({"pump 1": row}, time="2026-03-01 12:00")
            print(steps.alarm)
        """
        keys = tuple(rows)
        self._known(keys)
        times = _times(keys, time)
        channels = self.model.channels
        values = np.empty((len(keys), len(channels)))
        for i, row in enumerate(rows.values()):  # all are read before any is taken: an error changes nothing
            values[i] = values_of(row, channels)
        lanes = np.array([self._lane[key] for key in keys], dtype=np.int64)
        taken = self.lanes.update(lanes, values, times)
        changes: dict[Hashable, tuple[Change, ...]] = {}
        for number, change in taken.changes():
            changes[keys[number]] = (*changes.get(keys[number], ()), change)
        return Steps(keys, changes, taken)

    def snapshot(self) -> dict[Hashable, bytes]:
        """The whole state of every entity as bytes; `detector.streams(keys, resume=...)` goes on from it.

        Returns:
            Bytes, by key.

        Example:
            states = streams.snapshot()
            streams = detector.streams(states, resume=states)
        """
        return {key: snapshot.take(self.lanes, lane) for key, lane in self._lane.items()}

    def resume(self, states: Mapping[Any, bytes]) -> None:
        """Each of these entities goes on from a snapshot, which must be of this model.

        Args:
            states: snapshots by key.

        Raises:
            InputError: where a key is unknown.
            FileError: where a snapshot is damaged, or of another model.

        Example:
            streams.resume(streams.snapshot())
            print(streams.tally("pump 1").rows)
        """
        for key, state in states.items():
            snapshot.restore(self.lanes, self.lane(key), state)

    def tally(self, key: Hashable) -> Tally:
        """What the stream of an entity has met.

        Args:
            key: of the entity.

        Returns:
            Its `Tally`.

        Raises:
            InputError: where the key is unknown.

        Example:
            tally = streams.tally("pump 1")
            print(tally.rows, tally.late)
        """
        return self.lanes.tally(self.lane(key))

    def health(self, key: Hashable) -> Health:
        """Whether the calibration still fits an entity.

        Args:
            key: of the entity.

        Returns:
            Its `Health`.

        Raises:
            InputError: where the key is unknown.

        Example:
            health = streams.health("pump 1")
            print(health.state, health.advice)
        """
        return self.lanes.health(self.lane(key))

    def lane(self, key: Hashable) -> int:
        """Where the state of an entity lies, in `lanes`.

        Args:
            key: of the entity.

        Returns:
            The number of its lane.

        Raises:
            InputError: where the key is unknown.

        Example:
            lane = streams.lane("pump 1")
            print(lane)
        """
        self._known((key,))
        return self._lane[key]

    def _known(self, keys: Iterable[Hashable]) -> None:
        for key in keys:
            if key not in self._lane:
                raise InputError(f"rows must be for the keys of these streams; got {key!r}")


def _times(keys: Sequence[Hashable], time: object) -> Ints:
    if not isinstance(time, Mapping):
        moment = nanoseconds(time)
        return np.full(len(keys), NEVER if moment is None else moment)
    if set(time) != set(keys):
        raise InputError(f"time must be given for the keys of rows; got {list(time)!r}")
    moments = [nanoseconds(time[key]) for key in keys]
    return np.array([NEVER if moment is None else moment for moment in moments])

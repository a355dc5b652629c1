"""What waits to be told. Rows never wait for a sink: each has a queue and a thread of its own.

What waits is saved with the state of the watch, so a kill loses nothing: a notice was delivered, or is in the state, or
comes of the rows that are read again. It may be delivered again, then, with the same id and revision. A sink that is
away is asked again after a while, longer each time; letters go in order, and none before it passes those that wait.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from ..results import MOST_BLAMED, plain
from ..wording import count, printable
from .alert import Standing
from .journal import Notice
from .sinks import Letter, RefusedError, Sink

__all__ = ["Outbox", "Post"]

log = logging.getLogger("ccmtad")

MOST_WAITING = 1_000  # letters to one sink: the oldest are let go, so that a state stays small
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0  # seconds between two tries
ENDED_KEPT = 15 * 60 * 10**9  # nanoseconds in which it is known that an event has ended
LAST_TRIES = 10.0  # seconds that the end of a watch waits for sinks


class Outbox:
    """The letters to one sink, and the thread that delivers them."""

    def __init__(self, sink: Sink, standings: Callable[[], Sequence[Standing]]) -> None:
        self.sink, self._standings = sink, standings
        self.trouble = ""  # why it takes nothing
        self.lost = 0  # letters that were let go
        self._letters: deque[Letter] = deque()
        self._more = threading.Condition()
        self._ending: float | None = None  # when it gives up
        self._one_by_one = 0  # letters that are told alone, since one of them was refused
        self._thread = threading.Thread(target=self._run, name=f"ccmtad-{sink.name}", daemon=True)

    @property
    def waiting(self) -> list[Letter]:
        """Not delivered yet, oldest first."""
        with self._more:
            return list(self._letters)

    def start(self) -> None:
        """Begins to deliver."""
        self._thread.start()

    def put(self, letters: Iterable[Letter]) -> None:
        """To be delivered."""
        with self._more:
            self._letters.extend(letters)
            while len(self._letters) > MOST_WAITING:
                self._letters.popleft()
                self.lost += 1
                if self.lost == 1:
                    log.warning("%s: more than %d notices wait; the oldest are let go", self.sink.address, MOST_WAITING)
            self._more.notify()

    def close(self, patience: float) -> None:
        """Ends, after so many seconds at the latest but for a try that is under way."""
        with self._more:
            self._ending = time.monotonic() + patience
            self._more.notify()
        if self._thread.ident is None:
            self.sink.close()
        else:
            self._thread.join()

    def _run(self) -> None:
        pause, due = FIRST_PAUSE, 0.0  # it is told at once how events stand
        while self._wait(due):
            batch = self._batch()
            try:
                self.sink.deliver(batch, self._standings())
            except RefusedError as error:
                self._refused(batch, error)
                continue
            except Exception as error:  # whatever a library raises: a sink must never end a watch
                self._failed(error)
                self._rest(pause)
                pause, due = min(2 * pause, LONGEST_PAUSE), 0.0
                continue
            self._delivered(batch)
            pause = FIRST_PAUSE
            due = float("inf") if self.sink.again is None else time.monotonic() + self.sink.again
        try:
            self.sink.close()
        except Exception as error:
            log.warning("%s: %s", self.sink.address, self._said(error))

    def _wait(self, due: float) -> bool:
        """Until there is something to tell; False where that is over."""
        with self._more:
            while not self._letters and self._ending is None:
                left = due - time.monotonic()
                if left <= 0 and self.sink.again is not None:
                    return True
                self._more.wait(left if 0 < left < 3_600 else 3_600)
            return bool(self._letters) and (self._ending is None or time.monotonic() < self._ending)

    def _batch(self) -> list[Letter]:
        with self._more:
            most = 1 if self._one_by_one else self.sink.most
            return [self._letters[i] for i in range(min(most, len(self._letters)))]

    def _delivered(self, batch: list[Letter]) -> None:
        with self._more:
            for letter in batch:
                if self._letters and self._letters[0] is letter:  # else it was let go meanwhile
                    self._letters.popleft()
        self._one_by_one = max(self._one_by_one - 1, 0)
        if self.trouble:
            log.warning("%s takes notices again", self.sink.address)
            self.trouble = ""

    def _refused(self, batch: list[Letter], error: Exception) -> None:
        if len(batch) > 1:
            self._one_by_one = len(batch)
            return
        if batch:
            log.warning("%s refuses notice %s, which is let go: %s", self.sink.address, batch[0].id, self._said(error))
            self.lost += 1
            self._delivered(batch)
        else:
            self._failed(error)
            self._rest(LONGEST_PAUSE)

    def _failed(self, error: Exception) -> None:
        said = self._said(error)
        if not self.trouble:
            log.warning("%s takes no notices: %s; they wait", self.sink.address, said)
        self.trouble = said

    def _said(self, error: Exception) -> str:
        text = self.sink.address.clean(f"{type(error).__name__}: {error}".removesuffix(": "))
        return printable(text.strip().partition("\n")[0])[:300]

    def _rest(self, seconds: float) -> None:
        """Waits before the next try; for less where it is to end, so that there is a last one."""
        with self._more:
            if self._ending is None:
                self._more.wait_for(lambda: self._ending is not None, seconds)
            else:
                self._more.wait(min(seconds, FIRST_PAUSE))


class Post:
    """All sinks of a watch, and how the events stand that they are told of."""

    def __init__(self, sinks: Sequence[Sink] = (), entity: str = "") -> None:
        self.entity = entity
        self.outboxes = [Outbox(sink, self.standings) for sink in sinks]
        self._standing: dict[str, Standing] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        """Begins to deliver."""
        for outbox in self.outboxes:
            outbox.start()

    def take(self, notice: Notice) -> None:
        """One more, for all of them."""
        if not self.outboxes:
            return
        now = time.time_ns()
        told = {**plain(notice.event, MOST_BLAMED), "id": notice.id, "revision": notice.revision}
        told |= {"change": notice.change, "entity": self.entity}
        with self._lock:
            last = self._standing.get(notice.id)
            if last is None:
                first = (told["channels"] or [""])[0]
                last = Standing(told, True, "", now, now, first, told["severity"])
            made = replace(last, event=told, firing=told["end"] is None, changed=now)
            self._standing[notice.id] = made
            self._standing = {
                name: one for name, one in self._standing.items() if one.firing or now - one.changed < ENDED_KEPT
            }
        for outbox in self.outboxes:
            outbox.put([Letter(made)])

    def standings(self) -> Sequence[Standing]:
        """How events stand that go on, or ended a short while ago."""
        with self._lock:
            return tuple(self._standing.values())

    @property
    def waiting(self) -> int:
        """Letters that are not delivered."""
        return sum(len(one.waiting) for one in self.outboxes)

    @property
    def lost(self) -> int:
        """Letters that were let go."""
        return sum(one.lost for one in self.outboxes)

    def state(self) -> dict[str, Any]:
        """All it remembers, as JSON knows it. No secret is in it."""
        waiting = {one.sink.place: [asdict(letter.standing) for letter in one.waiting] for one in self.outboxes}
        return {"standing": [asdict(one) for one in self.standings()], "waiting": waiting}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on with what it remembered; before `start`."""
        self._standing = {one["event"]["id"]: Standing(**one) for one in state["standing"]}
        waiting = dict(state["waiting"])
        for outbox in self.outboxes:
            outbox.put(Letter(Standing(**one)) for one in waiting.pop(outbox.sink.place, ()))
        for place, letters in waiting.items():
            if letters:
                shown = place.rpartition(" ")[0]
                log.warning("%s waited for %s, and is no sink any more", shown, count(len(letters), "notice"))

    def close(self, patience: float = LAST_TRIES) -> None:
        """Ends, once all is delivered or after so many seconds; what waits then is said."""
        ending = time.monotonic() + patience
        for outbox in self.outboxes:
            outbox.close(max(ending - time.monotonic(), 0.0))

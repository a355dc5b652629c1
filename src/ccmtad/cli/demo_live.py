"""`ccmtad demo --live`: the service and its page, fed over HTTP by simulated water works that break now and then.

A minute of a works takes a fifth of a second, and rows carry the time on the wall: windows and events are about now.
"""

import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..errors import MissingExtraError
from ..simulate import Fault, Run, simulate
from ..wording import iso
from . import show

if TYPE_CHECKING:
    import httpx

    from ..results import Epoch

__all__ = ["WORKS", "Feeder", "Works", "run_live"]

PERIOD = 0.2  # seconds between two rows
HISTORY = 1_500  # rows that are there when the page opens
TRAIN_ROWS = 10_000
AT_FIRST = 20_000  # rows simulated; more where they run out
AT_ONCE = 500  # rows of one request
BEAT = 0.5  # seconds between two requests of a works
SILENCE = 15.0  # seconds without a row that are told
MODEL = "plant"


@dataclass(frozen=True)
class Works:
    """One entity of the demo: its weather, what breaks, and when nothing is heard of it."""

    name: str
    seed: int
    faults: tuple[Fault, ...] = ()
    every: int = 0  # rows after which its faults come again; 0: never
    mute: tuple[int, int] = (0, 0)  # from row, to row

    def run(self, rows: int) -> Run:
        """So many rows of it; a longer run begins like a shorter one."""
        turns = range(1 + (rows // self.every if self.every else 0))
        broken = [
            Fault(one.kind, one.channel, one.start + i * self.every, one.end + i * self.every, one.size, one.affected)
            for i in turns
            for one in self.faults
        ]
        return simulate(rows, self.seed, [one for one in broken if one.end < rows])


def _fault(kind: Any, place: str, after: float, seconds: float, size: float | None) -> Fault:
    """A fault so many seconds after the page opens."""
    start = HISTORY + round(after / PERIOD)
    return Fault(kind, place, start, start + round(seconds / PERIOD), size, (place,))


WORKS = (
    Works("Elm Street", 2, (_fault("stuck valve", "MV302", 30, 20, 3.0),), every=600),
    Works("Harbour", 3),
    Works("Mill Lane", 4, (_fault("pump trip", "SIT601", 90, 8, None),), every=1_800),
    Works("North Bank", 5, mute=(HISTORY + 250, HISTORY + 500)),
    Works("Quarry", 6, (_fault("sensor bias", "FIT501", -180, 16, 5.0),)),
    Works("Station Road", 7),
)


@dataclass
class Feeder:
    """Sends the rows of all works over HTTP as they fall due: what is past at first, at once."""

    url: str
    key: str
    works: tuple[Works, ...] = WORKS
    clock: Callable[[], float] = time.time
    began: float = field(default_factory=lambda: time.time() - HISTORY * PERIOD)
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self.sent = dict.fromkeys((one.name for one in self.works), 0)

    def feed(self) -> None:
        """Until `over` is set."""
        import httpx

        headers = {"Authorization": f"Bearer {self.key}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=30.0, trust_env=False) as client:
            while not self.over.wait(BEAT):
                for one in self.works:
                    try:
                        self.send(client, one)
                    except httpx.HTTPError:  # it starts, or ends: what is due is sent the next time
                        break

    def send(self, client: "httpx.Client", one: Works) -> None:
        """All that is due of a works."""
        due = int((self.clock() - self.began) / PERIOD)
        while (first := self.sent[one.name]) < due:
            last = min(due, first + AT_ONCE, *(edge for edge in one.mute if edge > first))
            if not one.mute[0] <= first < one.mute[1]:
                run = self._run(one, last)
                at = np.datetime64(int(self.began * 1e9), "ns")
                step = np.timedelta64(round(PERIOD * 1e9), "ns")
                body = {
                    "times": [iso(at + i * step) for i in range(first, last)],
                    "values": run.values[first:last].tolist(),
                    "model": MODEL,
                }
                client.post(f"/v1/entities/{quote(one.name)}/rows", json=body).raise_for_status()
            self.sent[one.name] = last

    def _run(self, one: Works, rows: int) -> Run:
        there = self._runs.get(one.name)
        if there is None or len(there.values) < rows:
            there = self._runs[one.name] = one.run(AT_FIRST if there is None else 2 * len(there.values))
        return there


def run_live(seed: int, port: int, out: Path | None) -> None:
    """Fits, serves and feeds until Ctrl-C. What is written goes to `out`, or away at the end."""
    try:
        import httpx  # noqa: F401

        from ..serve.run import run
    except ImportError as error:
        raise MissingExtraError(f"the live demo needs {error.name}: pip install 'ccmtad[train,cli,serve]'") from error
    with tempfile.TemporaryDirectory(prefix="ccmtad-demo-", ignore_cleanup_errors=True) as folder:
        place = Path(folder) if out is None else out
        (place / "models").mkdir(parents=True, exist_ok=True)
        _fit(seed, place / "models" / f"{MODEL}.ccm")
        _serve(run, place, port)


def _fit(seed: int, path: Path) -> None:
    """A small model of the works, in half a minute."""
    from ..detector import Detector
    from ..frame import Frame

    normal = simulate(TRAIN_ROWS, seed)
    times = np.datetime64("2026-01-01", "ns") + np.arange(TRAIN_ROWS) * np.timedelta64(round(PERIOD * 1e9), "ns")
    columns = (TextColumn("Learning normal operation"), BarColumn(), TextColumn("{task.description}"))
    with Progress(*columns, TimeElapsedColumn(), console=show.console()) as progress:
        task = progress.add_task("grouping channels", total=1.0)

        def tell(epoch: "Epoch") -> None:
            progress.update(task, completed=epoch.done, description=epoch.text)

        detector = Detector(epochs=4, width=32, seed=seed)
        detector.fit(Frame(normal.values, normal.channels, times), progress=tell).save(path)


def _serve(run: Callable[..., None], place: Path, port: int) -> None:
    from ..serve.keys import Keys
    from ..serve.settings import ServeSettings
    from ..serve.store.store import Store

    settings = ServeSettings(models=place / "models", store=str(place / "demo.db"), port=port, silence=SILENCE)
    store = Store(settings.store)
    keys = Keys(store)
    _, mine = keys.make("demo", ("read", "write"))
    _, theirs = keys.make("simulated works", ("write",))
    store.close()
    feeders: list[Feeder] = []

    def tell(text: str) -> None:
        url = text.rpartition(" ")[2]
        if not url.startswith("http://"):
            return
        feeders.append(Feeder(url, theirs))
        threading.Thread(target=feeders[0].feed, name="ccmtad-works", daemon=True).start()
        _explain(url, mine)

    try:
        run(settings, tell)
    finally:
        for feeder in feeders:
            feeder.over.set()


def _explain(url: str, key: str) -> None:
    print(
        f"\nOpen {url} and log in with this key, which is shown this once:\n\n    {key}\n\n"
        f"{len(WORKS)} simulated works send a row every {PERIOD:g} s each. In half a minute a valve of Elm Street\n"
        "sticks for 20 s, and again every two minutes: dismiss the event when it is over, and the same raises\n"
        "nothing any more. North Bank falls silent after a minute; a pump of Mill Lane trips half a minute later.\n"
        "Ctrl-C ends all.\n",
        flush=True,
    )

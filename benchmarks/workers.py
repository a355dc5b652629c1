"""Many workers over one NATS stream: `python -m benchmarks.workers [--entities 100] [--rows 20000]`.

Two workers of which one is killed while rows flow, all notices held against those of one undisturbed worker. Then rows
per second of one worker and of two that find all rows there, from when a tenth of them is judged.
"""

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path

from tests.live.servers import Nats, running, until
from tests.live.test_kills import Nursery, told
from tests.live.test_sources import plain_rows
from tests.live.test_workers import alone, messages, rows_judged, sent
from tests.live.writer import MODEL


class Crew:
    """Workers of one folder."""

    def __init__(self, folder: Path, url: str, nurseries: list[Nursery]) -> None:
        self.folder, self.shared, self.nurseries = folder, folder / "shared", nurseries
        folder.mkdir()
        self.workers = [
            nursery.ask([*map(str, self.files(i)), "watch", str(MODEL), "--from", url, "--shared", str(self.shared)])
            for i, nursery in enumerate(nurseries)
        ]

    def files(self, number: int) -> list[Path]:
        return [self.folder / f"out{number}", self.folder / f"errors{number}"]

    def until_shared(self, words: str) -> None:
        for i in range(len(self.workers)):
            until(lambda i=i: words in self.files(i)[1].read_text(), "sharing")  # type: ignore[misc]

    def end(self, number: int, how: signal.Signals) -> None:
        os.kill(self.workers[number], how)
        self.nurseries[number].ask([])

    def told(self) -> dict[tuple[str, int], object]:
        return dict(told("".join(self.files(i)[0].read_text() for i in range(len(self.workers)))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=100)
    parser.add_argument("--rows", type=int, default=20_000)
    given = parser.parse_args()
    payloads, keys = messages(
        plain_rows(1 + given.rows // given.entities // 400)[: given.rows // given.entities],
        [f"pump-{i}" for i in range(given.entities)],
    )
    nurseries = [Nursery(), Nursery()]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "nats").mkdir()
        with running(Nats(folder / "nats")) as server:
            url = server.url.replace("plant.rows", "plant.rows.*")
            half = len(payloads) // 2
            crew = Crew(folder / "killed", url, nurseries)
            crew.until_shared("8 of 16")
            sent(server, payloads[:half], keys[:half])
            until(lambda: rows_judged(crew.shared) > 0, "the first states", 0.25)
            crew.end(0, signal.SIGKILL)
            began = time.monotonic()
            sent(server, payloads[half:], keys[half:])
            until(lambda: rows_judged(crew.shared) >= len(payloads), "the last row", 0.5)
            over = time.monotonic() - began
            crew.end(1, signal.SIGTERM)
            expected = alone(url, folder / "alone")
            found = crew.told()
            differing = sum(found.get(key) != expected.get(key) for key in found.keys() | expected.keys())
            print(
                f"2 workers, {given.entities} entities, one killed: {rows_judged(crew.shared)} of {len(payloads)} rows,"
                f" {differing} of {len(expected)} notices differ; all done {over:.1f} s after the kill",
                flush=True,
            )
            for number in (1, 2):
                crew = Crew(folder / f"speed{number}", url, nurseries[:number])
                until(lambda crew=crew: rows_judged(crew.shared) >= len(payloads) / 10, "some rows", 0.25)  # type: ignore[misc]
                before, began = rows_judged(crew.shared), time.monotonic()
                until(lambda crew=crew: rows_judged(crew.shared) >= len(payloads), "the last row", 0.25)  # type: ignore[misc]
                rate = (len(payloads) - before) / (time.monotonic() - began)
                for i in range(number):
                    crew.end(i, signal.SIGTERM)
                print(f"{number} workers: {rate:,.0f} rows per second", flush=True)
    for nursery in nurseries:
        nursery.close()


if __name__ == "__main__":
    main()

"""What sources do under kills: `python -m benchmarks.sources [mqtt redis ...] [--rows 20000] [--kills 20]`.

For each source, on its real server (Kafka: librdkafka's mock): rows flow while the watch is killed again and again, and
the server is stopped and started once in the middle; then all notices are held against those of an uninterrupted watch
of a file. Rows per second are of one watch that finds all rows there, with its state saved as it goes.
"""

import argparse
import os
import random
import signal
import tempfile
import threading
import time
from pathlib import Path

from tests.live.servers import SERVERS, RowOf, Server, running, until
from tests.live.test_kills import Nursery, told
from tests.live.test_sources import plain_rows, reader_is_there, rows_saved
from tests.live.writer import MODEL, series

from ccmtad import Detector
from ccmtad.live.sources.reached import reached
from ccmtad.live.watch import Watch

PIECE = 100  # rows sent at once


def speed(server: Server, rows: list[RowOf], folder: Path) -> float:
    """Rows per second."""
    detector = Detector.load(MODEL)
    first = reached(server.url, detector.model_)
    first.take()  # a broker keeps what comes after that
    first.close()
    server.send(rows)
    watch = Watch(detector, reached(server.url, detector.model_), "plant", folder / "speed")
    began = time.monotonic()

    def stop() -> None:
        until(lambda: watch.rows >= len(rows), "the last row")
        watch.stopped = True

    stopper = threading.Thread(target=stop)
    stopper.start()
    watch.run()
    stopper.join()
    return len(rows) / (time.monotonic() - began)


def until_saved(state: Path, rows: int) -> None:
    until(lambda: rows_saved(state) >= rows, f"row {rows}'s saving", 0.1)


def killed(server: Server, rows: list[RowOf], kills: int, folder: Path) -> str:
    dice = random.Random(1)
    whole, out, errors, state = (folder / name for name in ("whole.csv", "out", "errors", "state"))
    whole.write_text("".join(series(len(rows) // 400)))
    command = [str(out), str(errors), "watch", str(MODEL), "--from", server.url, "--state", str(state)]
    share, sent, at_work, away, process = len(rows) // kills, 0, 0, 0.0, 0
    nursery = Nursery()
    try:
        nursery.ask([str(folder / "expected"), str(errors), "watch", str(MODEL), str(whole), "--once", "--quiet"])
        assert nursery.ask([]) == 3, errors.read_text()
        for kill in range(kills):
            before = rows_saved(state)
            process = nursery.ask(command)
            if kill == 0:
                until(lambda: rows_saved(state) == 0 and reader_is_there(server), "the watch's start")
            for _ in range(share // PIECE):
                server.send(rows[sent : sent + PIECE])
                sent += PIECE
                time.sleep(0.05 * dice.random())
            if kill == kills // 2 and server.stoppable:
                server.stop()
                time.sleep(1.0)
                server.start()
                began = time.monotonic()
                until_saved(state, min(sent, rows_saved(state) + 1))
                away = time.monotonic() - began
            if dice.random() < 0.7:
                until_saved(state, min(sent, before + 1))
            time.sleep(dice.random())
            os.kill(process, signal.SIGKILL)
            assert nursery.ask([]) == -signal.SIGKILL, errors.read_text()
            at_work += rows_saved(state) > before
        server.send(rows[sent:])
        process = nursery.ask(command)
        until_saved(state, len(rows))
        os.kill(process, signal.SIGTERM)
        # All may have been saved before: then it is asked to end while it begins.
        assert nursery.ask([]) in (0, 3, -signal.SIGTERM), errors.read_text()
    except BaseException:
        if process:
            os.kill(process, signal.SIGKILL)
        raise
    finally:
        nursery.close()
    written, expected = told(out.read_text()), told((folder / "expected").read_text())
    differing = sum(written.get(key) != expected.get(key) for key in written.keys() | expected.keys())
    repeated = len(out.read_text().splitlines()) - len(written)
    back = f"server restarted once, rows again after {away:.1f} s" if server.stoppable else "server not restarted"
    return (
        f"{kills} kills ({at_work} after new rows were saved), {rows_saved(state)} of {len(rows)} rows judged, "
        f"{differing} of {len(expected)} notices differ, {repeated} repeated; {back}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", default=list(SERVERS))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=20)
    given = parser.parse_args()
    rows = plain_rows(given.rows // 400)
    for name in given.sources:
        with tempfile.TemporaryDirectory() as place:
            folders = [Path(place) / one for one in ("speed", "killed", "work")]
            for folder in folders:
                folder.mkdir()
            with running(SERVERS[name](folders[0])) as server:
                rate = speed(server, rows, folders[2])
            with running(SERVERS[name](folders[1])) as server:
                found = killed(server, rows, given.kills, folders[2])
            mock = " (librdkafka's mock)" * server.mock
            print(f"{name}{mock}: {rate:,.0f} rows per second; {found}", flush=True)


if __name__ == "__main__":
    main()

"""Makes the golden files of the format version of today: `python tests/golden/make.py`, into `tests/golden/v3`.

Once, with the release that brings the version: files of a version that is out are read for ever, and never made again.
`tests/test_golden.py` reads them. FOLDER as an argument makes them elsewhere.

    model.ccm       a fitted model with two tracks, a level, limits, times, and a dismissed event
    rows.csv        rows to judge: a fault, a frozen channel, missing values, a pause
    settling.bin    a stream's snapshot before its level has settled
    alarm.bin       one inside the fault
    watch.state     what `ccmtad watch --state` kept inside the fault
    expected.json   what came of the rows, and where the snapshots were taken
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ccmtad import Detection, Detector, Frame, model_file
from ccmtad.results import plain
from ccmtad.tables import read

CHANNELS = ("flow", "level", "pressure")
SETTLING, ALARM = 30, 145  # rows after which snapshots are taken
FAULT = slice(140, 165)
FIELDS = ("loss", "pvalue", "evidence", "score")
STEP = {"loss", "pvalue", "score"}  # of these, what a step tells too


def waves(rows: int, seed: int) -> NDArray[np.float64]:
    phase = np.arange(rows)[:, None] / [9.0, 9.0, 23.0]
    return np.sin(phase) + 0.05 * np.random.default_rng(seed).normal(size=(rows, 3))


def times(rows: int, begin: str) -> NDArray[np.datetime64]:
    return np.datetime64(begin, "ns") + np.arange(rows) * np.timedelta64(60, "s")


def fitted() -> Detector:
    detector = Detector(
        epochs=2, width=6, window=4, clusters=2, smooth=2, blocks=1, settle=60, accept=200, budget="1/200 rows", seed=0
    ).fit(Frame(waves(1_200, 0), CHANNELS, times(1_200, "2026-01-01")))
    values = waves(200, 1)
    values[100:110, 2] += 8.0
    events = detector.detect(Frame(values, CHANNELS, times(200, "2026-01-05"))).events
    return detector.dismiss(max(events, key=lambda event: event.severity))


def lines() -> list[str]:
    """The rows as a CSV file has them."""
    values, when = waves(400, 2), times(400, "2026-02-01")
    values[FAULT, 0] += 6.0
    values[250:330, 1] = values[250, 1]
    values[60:63, 0] = np.nan
    when[200:] += np.timedelta64(1, "h")
    cells = [["" if np.isnan(value) else f"{value:.6f}" for value in row] for row in values]
    stamps = [str(time.astype("datetime64[s]")).replace("T", " ") for time in when]
    return [
        f"{','.join(one)}\n" for one in (("time", *CHANNELS), *([t, *c] for t, c in zip(stamps, cells, strict=True)))
    ]


def watched(folder: Path, rows: Path, state: Path) -> list[dict[str, Any]]:
    """What `ccmtad watch` tells of a file."""
    begin = [sys.executable, "-m", "ccmtad", "watch", str(folder / "model.ccm"), str(rows)]
    done = subprocess.run(
        [*begin, "--once", "--quiet", "--state", str(state)], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3):
        sys.exit(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def told(found: Detection) -> dict[str, Any]:
    """A detection as JSON knows it."""
    columns = {name: [None if np.isnan(v) else float(v) for v in getattr(found, name)] for name in FIELDS}
    return {**columns, "alarm": found.alarm.tolist(), "events": [plain(event) for event in found.events]}


def make(folder: Path) -> None:
    folder.mkdir(parents=True)  # an error where it is there
    fitted().save(folder / "model.ccm")
    detector, text = Detector.load(folder / "model.ccm"), lines()
    (folder / "rows.csv").write_text("".join(text))
    frame = read(folder / "rows.csv")
    assert frame.times is not None
    stream = detector.stream()
    for row, (values, time) in enumerate(zip(frame.values[:ALARM], frame.times[:ALARM], strict=True)):
        if row == SETTLING:
            (folder / "settling.bin").write_bytes(stream.snapshot())
        step = stream.update(values, time)
    assert step.alarm
    (folder / "alarm.bin").write_bytes(stream.snapshot())
    with tempfile.TemporaryDirectory() as place:
        rows, state = Path(place) / "rows.csv", folder / "watch.state"
        rows.write_text("".join(text[: ALARM + 1]))
        watched(folder, rows, state)
        at_hand = state.read_bytes()
        rows.write_text("".join(text))
        notices = watched(folder, rows, state)
        state.write_bytes(at_hand)
    taken = {"settling": SETTLING, "alarm": ALARM, "watch": ALARM}
    expected = {"version": model_file.VERSION, "taken": taken, **told(detector.detect(frame)), "notices": notices}
    assert {event["kind"] for event in expected["events"]} >= {"anomaly", "frozen"}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / f"v{model_file.VERSION}")

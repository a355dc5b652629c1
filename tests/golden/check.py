"""What an installed ccmtad must do with a golden model: `python check.py FOLDER VERSION [extras]`. Stands alone."""

import csv
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import ccmtad

HEAVY = ("torch", "sklearn", "pandas", "polars", "numba", "sqlalchemy")


def main(folder: Path, wanted: str, extras: bool) -> None:
    got = (ccmtad.__version__, version("ccmtad"))
    assert got == (wanted, wanted), f"version must be {wanted}; got {got}"
    detector = ccmtad.Detector.load(folder / "model.ccm")
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as opened:
        head, *rows = csv.reader(opened)
    times = np.array([row[0].replace(" ", "T") for row in rows], dtype="datetime64[ns]")
    values = np.array([[float(cell) if cell else np.nan for cell in row[1:]] for row in rows])
    found = detector.detect(ccmtad.Frame(values, tuple(head[1:]), times))
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    scores = [np.nan if score is None else score for score in expected["score"]]
    np.testing.assert_allclose(found.score, scores, rtol=1e-4, atol=1e-9)
    assert found.alarm.tolist() == expected["alarm"], "alarms must be those of the golden file"
    stream = detector.stream()
    live = [stream.update(row, time).alarm for row, time in zip(values, times, strict=True)]
    assert live == expected["alarm"], "a stream must alarm as detect does"
    command = [str(Path(sys.executable).with_name("ccmtad")), "--version"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if extras:
        assert (told.returncode, wanted in told.stdout) == (0, True), told
        ccmtad.Detector(epochs=1, width=4, blocks=1).fit(values)
        print(f"with extras: ccmtad {wanted} fits, loads, detects and streams")
        return
    loaded = [name for name in HEAVY if name in sys.modules]
    assert not loaded, f"detecting must load none of {HEAVY}; got {loaded}"
    assert "pip install 'ccmtad[cli,train]'" in told.stderr, told
    try:
        ccmtad.Detector().fit(values)
    except ccmtad.MissingExtraError as error:
        print(f"without extras: ccmtad {wanted} loads, detects and streams; fitting says: {error}")
    else:
        raise AssertionError("fitting must name the extra that it needs")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], "extras" in sys.argv[3:])

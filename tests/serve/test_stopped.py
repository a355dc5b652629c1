"""A kill between each pair of writes: nothing acknowledged is lost, nothing is stepped twice, and what is told is what
an uninterrupted stream tells."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from ccmtad import Detector, Frame

from .rows import expected, last_of, same


def test_a_kill_between_each_pair_of_writes_changes_nothing(
    models: Path, store: str, fitted: Detector, faulty: Frame, tmp_path: Path
) -> None:
    assert faulty.times is not None
    file = tmp_path / "rows.npz"
    np.savez(file, values=faulty.values, times=faulty.times.astype(np.int64))
    command = [sys.executable, "-m", "tests.serve.stopped", str(models), store, str(file)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=500, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr
    ended = json.loads(done.stdout.splitlines()[-1])
    assert ended["ends"] == [-9] * 11 + [0], done.stderr
    assert len(ended["found"]) == 11
    for entity, one in ended["found"].items():
        assert (one["logged"], one["stepped"]) == (len(faulty), len(faulty))
        assert sum(rows for _, rows in one["spans"]) == len(faulty)
        assert [first for first, _ in one["spans"]] == np.cumsum([0] + [n for _, n in one["spans"]])[:-1].tolist()
        told = expected(fitted, faulty, entity)
        assert [(n["id"], n["revision"]) for n in one["notices"]] == [(n["id"], n["revision"]) for n in told]
        same(one["events"], told)
        assert len(last_of(told)) >= 2

"""A fleet on a Ray cluster: the same models, though a worker is lost in the middle."""

import os
import signal
import time
from pathlib import Path

import pytest

from ccmtad import fleet
from ccmtad.fleet.attempt import Task
from ccmtad.fleet.fitting import fit_one
from ccmtad.fleet.manifest import Entry

from .conftest import QUICK, rows, table
from .test_fleet import told


def fit_or_die(task: Task) -> Entry:
    """The first worker that comes to the third machine is killed once its model is half done."""
    mark = task.models / "killed"
    if task.entity.name == "machine-3" and not mark.exists():
        mark.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)
    return fit_one(task)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray's own: sockets that it leaves to the end of the process
def test_a_lost_worker_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="ray is missing: pip install 'ccmtad[scale]'")
    data = tmp_path / "data"
    data.mkdir()
    for number in range(12):
        table(rows(300, number)).write_csv(data / f"machine-{number}.csv")
    fleet.fit(data, tmp_path / "apart", settings=QUICK, workers=1)
    monkeypatch.setattr("ccmtad.fleet.fitting.fit_one", fit_or_die)
    entries = fleet.fit(data, tmp_path / "ray", settings=QUICK, on="ray", workers=2)
    assert (tmp_path / "ray" / "killed").exists()
    assert [one.status for one in entries] == ["fitted"] * 12
    assert told(tmp_path / "ray") == told(tmp_path / "apart")

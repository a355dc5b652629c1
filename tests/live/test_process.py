"""A watch as a process: closed and stuck pipes, signals, states that cannot be saved or are shared, odd names."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ccmtad import Detector, FileError
from ccmtad.live.sources.file import FollowedFile
from ccmtad.live.sources.lines import LineSource
from ccmtad.live.watch import Watch
from ccmtad.tables.lines import Parser

from ..cli.run import COMMAND

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
MODEL = GOLDEN / "watch-v1.ccm"
PATIENCE = 300.0  # seconds to wait for what must happen, however busy the machine is


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copy(GOLDEN / "watch-v1.csv", tmp_path / "sensors.csv"))


def watching(source: Path, state: Path | None = None, **more: Any) -> Watch:
    detector = Detector.load(MODEL)
    lines = LineSource(FollowedFile(source, **more), Parser(detector.model_.channels, detector.model_.named))
    return Watch(detector, lines, "plant", state)


def until(happened: Callable[[], bool]) -> None:
    given_up = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < given_up, "it did not happen"
        time.sleep(0.01)


@contextmanager
def started(*arguments: object, stdout: int = subprocess.PIPE) -> "Iterator[subprocess.Popen[str]]":
    """A watch that ends with the test, whatever becomes of it."""
    command = [*COMMAND, "watch", str(MODEL), *map(str, arguments)]
    with subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until_it_says(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"it never said {text!r}")


def shell(redirected: str, *arguments: object) -> "subprocess.CompletedProcess[bytes]":
    """A watch under a shell that closes or redirects what it is given."""
    words = " ".join(f"'{word}'" for word in (*COMMAND, "watch", *arguments)).replace("'-c'", "-c")
    return subprocess.run(["bash", "-c", f"{words} {redirected}"], capture_output=True, timeout=PATIENCE, check=False)


def test_closed_standard_output_is_an_error_before_anything_is_read(source: Path, tmp_path: Path) -> None:
    done = shell(">&-", MODEL, source, "--once", "--state", tmp_path / "state")
    assert done.returncode == 2
    assert done.stderr == b"ccmtad: standard output must be open; it is closed\n"
    assert not (tmp_path / "state").exists()


def test_closed_standard_input_is_an_error() -> None:
    done = shell("<&-", MODEL, "-")
    assert done.returncode == 2
    assert done.stderr == b"ccmtad: standard input must be open; it is closed\n"


def test_a_closed_standard_error_hides_notes_and_nothing_else(source: Path) -> None:
    done = shell("2>&-", MODEL, source, "--once")
    assert done.returncode == 3
    assert len(done.stdout.splitlines()) == 6


def test_a_reader_that_has_gone_away_ends_it_and_the_state_stays(source: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    read, write = os.pipe()
    os.close(read)
    command = [*COMMAND, "watch", str(MODEL), str(source), "--once", "--state", str(state)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")
    again = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert len(again.stdout.splitlines()) == 6


def test_a_watch_ends_while_the_reader_of_its_output_is_stuck(source: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    header, *rows = source.read_text().splitlines(keepends=True)
    source.write_text(
        "".join([header, *rows[:9], "no row\n", *rows[9:]])
    )  # so that it says something, with all at hand
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"\n" * select.PIPE_BUF)
    os.set_blocking(write, True)
    with started(source, "--state", state, stdout=write) as process:
        os.close(write)
        until_it_says(process, "left out")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    os.close(read)
    assert process.returncode == 2, said
    assert "standard output must take what is told; it took nothing until the watch was stopped" in said
    with started(source, "--state", state, "--once") as again:
        told, _ = again.communicate(timeout=PATIENCE)
    assert len(told.splitlines()) == 6  # nothing was lost


def test_a_state_that_cannot_be_saved_at_the_end_is_an_error(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "states"
    folder.mkdir()
    with started(source, "--state", folder / "state") as process:
        until((folder / "state").exists)
        shutil.rmtree(folder)  # as good as full
        until_it_says(process, "state cannot be saved")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, said
    assert "ccmtad: state must be saved at the end; it stays at row 0" in said


def test_drafts_that_kills_left_are_swept_and_those_of_others_are_not(source: Path, tmp_path: Path) -> None:
    state = tmp_path / "plant.state"
    command = [*COMMAND, "watch", str(MODEL), str(source), "--state", str(state), "--once", "--quiet"]
    killed = "import os, signal; os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL); " + COMMAND[2]
    assert subprocess.run([COMMAND[0], "-c", killed, *command[3:]], check=False).returncode == -signal.SIGKILL
    others = tmp_path / ".ccm-0123456789abcdef"
    others.touch()
    drafts = {path.name for path in tmp_path.glob(".ccm-*")}
    assert len(drafts) == 2
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 3
    assert {path.name for path in tmp_path.iterdir()} == {"sensors.csv", "plant.state", others.name}


def test_a_second_watch_on_one_state_is_refused(source: Path, tmp_path: Path) -> None:
    state = tmp_path / "plant.state"
    first = watching(source, state)
    with pytest.raises(FileError, match=r"state must belong to one watch; got '.*plant.state', which process \d+ uses"):
        watching(source, state)
    (tmp_path / "link").symlink_to(state)
    with pytest.raises(FileError, match="state must belong to one watch"):
        watching(source, tmp_path / "link")
    first.close()
    watching(source, state).close()


def test_a_killed_watch_leaves_its_state_free(source: Path, tmp_path: Path) -> None:
    state = tmp_path / "plant.state"
    with started(source, "--state", state) as process:
        until(state.exists)
        with started(source, "--state", state, "--once") as second:
            _, said = second.communicate(timeout=PATIENCE)
        assert second.returncode == 2
        assert f"which process {process.pid} uses" in said
    assert process.returncode == -signal.SIGKILL
    with started(source, "--state", state, "--once") as third:
        third.communicate(timeout=PATIENCE)
    assert third.returncode in (0, 3)


def test_names_need_not_be_text(source: Path, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    model, sensors, state = (folder + b"/caf\xe9." + kind for kind in (b"ccm", b"csv", b"state"))
    Path(os.fsdecode(model)).write_bytes(MODEL.read_bytes())
    Path(os.fsdecode(sensors)).write_bytes(source.read_bytes())
    for _ in range(2):
        done = subprocess.run(
            [*map(os.fsencode, COMMAND), b"watch", model, sensors, b"--state", state, b"--once"],
            capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode in (0, 3), done.stderr
        assert b"Traceback" not in done.stderr
        if done.returncode:
            assert json.loads(done.stdout.splitlines()[0])["id"] == "caf\ufffd-anomaly-2026-03-01T17:05:00Z"
    os.rename(sensors, sensors + b".1")
    Path(os.fsdecode(sensors)).write_bytes(source.read_bytes())
    for name in (sensors + b"?", folder + b"/\xff"):
        done = subprocess.run(
            [*map(os.fsencode, COMMAND), b"watch", model, name, b"--once"], capture_output=True, check=False
        )
        assert done.returncode == 2
        assert done.stderr.startswith(b"ccmtad: source must be a readable file; got ")


def test_the_unit_in_the_guide_knows_the_exit_codes() -> None:
    unit = re.findall(r"```ini\n(.*?)```", (ROOT / "docs" / "streaming.md").read_text(), re.DOTALL)[0]
    assert "SuccessExitStatus=3\n" in unit

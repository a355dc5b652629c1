"""A watch that tells sinks, as a person runs it: by flags, by a file of several, killed, with a sink that is away."""

import json
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from ..cli.run import COMMAND, run
from .servers import free_port
from .test_process import GOLDEN, MODEL, until


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copy(GOLDEN / "watch-v1.csv", tmp_path / "sensors.csv"))


def told(path: Path) -> list[tuple[str, int]]:
    """Ids and revisions in a file of lines."""
    return [(one["id"], one["revision"]) for one in map(json.loads, path.read_text().splitlines())]


def in_table(path: Path) -> list[tuple[str, int]]:
    connection = sqlite3.connect(path)
    try:
        return list(connection.execute("select id, revision from ccmtad_events order by rowid"))
    finally:
        connection.close()


def test_every_sink_is_told_what_standard_output_is(source: Path, tmp_path: Path) -> None:
    file, table = tmp_path / "events.jsonl", tmp_path / "events.db"
    done = run("watch", MODEL, source, "--once", "--to", f"file://{file}", "--to", f"sqlite:///{table}", "--to", "-")
    assert done.returncode == 3, done.stderr
    (tmp_path / "printed").write_text(done.stdout)
    assert told(file) == in_table(table) == told(tmp_path / "printed")
    quiet = run("watch", MODEL, source, "--once", "--to", f"file://{tmp_path / 'other.jsonl'}")
    assert (quiet.returncode, quiet.stdout) == (3, "")
    assert told(tmp_path / "other.jsonl") == told(file)


def test_what_a_sink_did_not_take_is_in_the_state_or_an_error(source: Path, tmp_path: Path) -> None:
    away, state = f"redis://:hidden-word@127.0.0.1:{free_port()}/events", tmp_path / "state"
    done = run("watch", MODEL, source, "--once", "--to", away)
    assert done.returncode == 2
    assert "sink must take what is told" in done.stderr
    done = run("watch", MODEL, source, "--once", "--to", away, "--state", state)
    assert done.returncode == 3, done.stderr
    assert "wait in the state" in done.stderr
    assert "hidden-word" not in done.stderr
    assert b"hidden-word" not in state.read_bytes()
    missing = run("watch", MODEL, source, "--once", "--to", "redis://localhost/x?nonsense=1")
    assert missing.returncode == 2
    assert "got 'nonsense'" in missing.stderr


def test_several_watches_of_a_file_tell_what_each_alone_tells(source: Path, tmp_path: Path) -> None:
    config, alone = tmp_path / "watch.toml", tmp_path / "alone.jsonl"
    assert run("watch", MODEL, source, "--once", "--name", "a", "--to", f"file://{alone}").returncode == 3
    config.write_text(
        f"""
        [[watch]]
        model = "{MODEL}"
        source = "{source}"
        once = true
        name = "a"
        to = "file://{tmp_path}/a.jsonl"
        state = "{tmp_path}/a.state"
        [[watch]]
        model = "{MODEL}"
        source = "{source}"
        once = true
        name = "b"
        to = ["file://{tmp_path}/b.jsonl", "-"]
        """
    )
    done = run("watch", "--config", config)
    assert done.returncode == 3, done.stderr
    assert told(tmp_path / "a.jsonl") == told(alone)
    (tmp_path / "printed").write_text(done.stdout)
    assert told(tmp_path / "printed") == told(tmp_path / "b.jsonl")
    assert [(name.replace("b-", "a-", 1), number) for name, number in told(tmp_path / "b.jsonl")] == told(alone)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "config must hold [[watch]] tables"), ("[[watch]]\n", "watch 1 must have a model"), ("x", "TOML file"),
        ('[[watch]]\nmodel = "m"\nsource = "s"\nstat = "x"', "got 'stat'"),
        ('[[watch]]\nmodel = "m"\nsource = "s"\nfrom = "redis://h/x"', "a source or a from"),
        ('[[watch]]\nmodel = 3\nsource = "s"', "model of watch 1 must be text; got 3"),
        ('[[watch]]\nmodel = "m"\nsource = "s"\nto = [1]', "to of watch 1 must be text, or a list of texts"),
        ('[[watch]]\nmodel = "m"\nsource = "s"\n' * 2, "name must be another in each watch; got 'm' twice"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_watches_says_what_is_wrong(text: str, words: str, tmp_path: Path) -> None:
    from ccmtad.cli.watches import wanted
    from ccmtad.errors import CcmtadError

    path = tmp_path / "watch.toml"
    path.write_text(text)
    with pytest.raises(CcmtadError) as caught:
        wanted(path)
    assert words in str(caught.value)


@pytest.mark.slow
def test_twenty_kills_lose_no_notice_and_a_table_has_each_once(source: Path, tmp_path: Path) -> None:
    """Rows are appended piece by piece; each run is killed once it has come further."""
    text = source.read_text().splitlines(keepends=True)
    wanted, file, table, state = (tmp_path / name for name in ("wanted.jsonl", "events.jsonl", "events.db", "state"))
    assert run("watch", MODEL, source, "--once", "--to", f"file://{wanted}", "--name", "x").returncode == 3
    source.write_text("")
    command = [*COMMAND, "watch", str(MODEL), str(source), "--state", str(state), "--name", "x", "--quiet"]
    command += ["--to", f"file://{file}", "--to", f"sqlite:///{table}"]
    size = len(text) // 20 + 1
    for turn in range(20):
        before = state.stat().st_mtime_ns if state.exists() else 0
        with source.open("a") as appended:
            appended.write("".join(text[turn * size : (turn + 1) * size]))
        with subprocess.Popen(command) as process:
            until(lambda: state.exists() and state.stat().st_mtime_ns > before)  # noqa: B023
            process.send_signal(signal.SIGKILL)
    assert subprocess.run([*command, "--once"], check=False).returncode in (0, 3)
    assert list(dict.fromkeys(told(file))) == told(wanted)
    assert in_table(table) == told(wanted)

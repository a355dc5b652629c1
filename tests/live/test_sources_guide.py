"""The commands of the guide on sources, run as they stand but for ports and places."""

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

from ccmtad import Detector
from ccmtad.live.address import kinds
from ccmtad.live.sources.connected import Connected
from ccmtad.live.sources.reached import reached

from .servers import SERVERS, Program, answers, running, until
from .test_kills import Nursery, told
from .test_sources import ROWS, reader_is_there, rows_saved
from .writer import MODEL

PAGE = (Path(__file__).parents[2] / "docs" / "sources.md").read_text()
TITLES = {"mqtt": "MQTT", "redis": "Redis Streams", "nats": "NATS JetStream", "kafka": "Kafka",
          "postgresql": "PostgreSQL", "objects": "Object storage"}  # fmt: skip


def commands(name: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {TITLES[name]}\n")[2].partition("\n## ")[0]
    return [shlex.split(line) for line in re.findall(r"^    \$ (.*)$", section, re.MULTILINE)]


@contextmanager
def started(server: Program, command: list[str]) -> Iterator[None]:
    """The server, as the guide starts it."""
    usual = {"mosquitto": "1883", "redis-server": "6379", "nats-server": "4222"}[command[0]]
    path = shutil.which(command[0]) or shutil.which(command[0], path="/usr/sbin")
    if path is None:
        pytest.skip(f"no {command[0]}: install it (Debian: apt-get install {server.package})")
    given = [str(server.port) if word == usual else word for word in command[1:]]
    with (server.folder / "log").open("ab") as log:
        more = ["-sd", str(server.folder)] if command[0] == "nats-server" else []
        with subprocess.Popen([path, *given, *more], cwd=server.folder, stdout=log, stderr=log) as process:
            try:
                until(lambda: answers(server.port), "the server's answer")
                yield
            finally:
                process.terminate()


@pytest.mark.parametrize("name", TITLES)
def test_the_guides_commands_give_events(name: str, nursery: Nursery, tmp_path: Path) -> None:
    *starting, watching = commands(name)
    server = SERVERS[name](tmp_path)
    with started(server, starting[0]) if isinstance(server, Program) else running(server):
        if name == "nats":
            server.run(server._stream)  # type: ignore[attr-defined]
        state = tmp_path / "plant.state"
        url = re.sub(r"^(\w+://)localhost", rf"\g<1>127.0.0.1:{server.port}", watching[watching.index("--from") + 1])
        if not isinstance(server, Program):
            url = server.url  # Kafka's mock, a table and a folder have names of their own
        arguments = ["watch", str(MODEL), "--from", url, "--state", str(state)]
        assert [word.split("://")[0] for word in watching[:3]] == ["ccmtad", "watch", "plant.ccm"]
        process = nursery.ask([str(tmp_path / "out"), str(tmp_path / "errors"), *arguments])
        try:
            until(lambda: rows_saved(state) == 0, "the watch's start")
            until(lambda: reader_is_there(server, "hall"), "its connection")
            server.send(ROWS)
            until(lambda: rows_saved(state) == len(ROWS), "the last row")
        finally:
            os.kill(process, signal.SIGTERM)
            code = nursery.ask([])
    assert code == 3, (tmp_path / "errors").read_text()
    assert len(told((tmp_path / "out").read_text())) == 6


def test_every_scheme_and_option_is_in_the_guide() -> None:
    model = Detector.load(MODEL).model_
    for scheme, kind in kinds("live.sources").items():
        assert isinstance(kind, type)
        assert issubclass(kind, Connected)
        assert f"`{scheme}://" in PAGE or scheme == "postgres", scheme
        for one in fields(kind.Options):
            assert re.search(rf"\b{one.name}\b", PAGE), (scheme, one.name)
            assert one.metadata["help"]
    reached("file:///nowhere", model).close()

"""The live demo: what it sends, and the whole of it as one command."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from ccmtad.cli.demo_live import HISTORY, WORKS, Feeder

from .server import PATIENCE, Nursery, until


def test_a_longer_run_of_a_works_begins_like_a_shorter_one() -> None:
    for one in WORKS[:3]:
        short, long = one.run(3_000), one.run(4_000)
        assert (np.equal(long.values[:2_600], short.values[:2_600])).all()  # but for a fault that would be cut short


def test_what_is_past_is_sent_at_once_and_nothing_while_a_works_is_silent(
    nursery: Nursery, models: Path, sqlite: str
) -> None:
    silent = next(one for one in WORKS if one.mute[1])
    with nursery.serving(models, sqlite, "--silence", "0") as server:
        feeder = Feeder(server.url, server.key, (WORKS[1], silent))
        for one in feeder.works:
            feeder.send(server.client, one)
            server.judged(one.name, HISTORY)
        feeder.clock = lambda: time.time() + 1_000.0  # much later
        feeder.send(server.client, silent)
        rows = server.get(f"/v1/entities/{silent.name}")["rows"]
        assert rows == feeder.sent[silent.name] - (silent.mute[1] - silent.mute[0]) > HISTORY


@pytest.mark.slow
def test_one_command_serves_a_page_with_a_past_and_ctrl_c_ends_all(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from ccmtad.cli import main; main()", "demo", "--live", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        assert process.stdout is not None
        text = ""
        while "Ctrl-C ends all" not in text:
            line = process.stdout.readline()
            assert line, text
            text += line
        key, url = re.search(r"ccm_\w+_[\w-]+", text), re.search(r"http://\S+", text)
        assert key is not None
        assert url is not None
        headers = {"Authorization": f"Bearer {key[0]}"}
        with httpx.Client(base_url=url[0], headers=headers, timeout=PATIENCE, trust_env=False) as client:
            until("all works", lambda: len(client.get("/v1/entities").json()["entities"]) == len(WORKS))
            until("a past event", lambda: client.get("/v1/events", params={"entity": "Quarry"}).json()["events"])
            until("the fault", lambda: client.get("/v1/events", params={"entity": "Elm Street"}).json()["events"])
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) in (0, 130, -signal.SIGINT)
        process.stdout.close()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert list(tmp_path.iterdir()) == []  # nothing is left behind

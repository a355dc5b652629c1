"""Who is let in, and how everything wrong is answered."""

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ccmtad import Frame, SettingError
from ccmtad.serve.limits import Limits
from ccmtad.serve.refusal import Refusal
from ccmtad.serve.settings import ServeSettings

from .rows import as_json
from .server import Nursery, Server

ROWS = "/v1/entities/a/rows"


@pytest.fixture(scope="module")
def server(nursery: Nursery, plant_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One service for all of these: what is refused leaves nothing behind."""
    folder = tmp_path_factory.mktemp("access")
    models = shutil.copytree(plant_models, folder / "models")
    with nursery.serving(models, f"sqlite:///{folder / 'store.db'}", "--silence", "0") as server:
        yield server


def with_key(server: Server, *scopes: str) -> httpx.Client:
    made = server.post("/v1/keys", {"name": "somebody", "scopes": list(scopes)}, 201)
    return httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {made['key']}"}, trust_env=False, timeout=60
    )


def test_each_scope_opens_its_doors_and_no_other(server: Server, faulty: Frame) -> None:
    body = as_json(faulty, 0, 5)
    doors = (
        ("read", "GET", "/v1/entities", None),
        ("read", "GET", "/v1/events", None),
        ("read", "GET", "/v1/models", None),
        ("read", "GET", "/metrics", None),
        ("write", "POST", "/v1/entities/scoped/rows", body),
        ("write", "POST", "/v1/windows", {"entity": "nobody"}),
        ("admin", "GET", "/v1/keys", None),
        ("admin", "POST", "/v1/keys", {"name": "x", "scopes": ["read"]}),
    )
    for scope in ("read", "write", "admin"):
        with with_key(server, scope) as client:
            for needed, method, path, sent in doors:
                status = client.request(method, path, json=sent).status_code
                assert (status < 300) == (scope in (needed, "admin")), (scope, path, status)
                assert status < 300 or status == 403


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ccm_", "Basic abc", "Bearer ccm_0123456789abcdef_" + "A" * 43, "Bearer é"]
)
def test_no_key_or_a_wrong_one_is_refused(server: Server, header: str) -> None:
    with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
        for method, path in (("GET", "/v1/entities"), ("POST", ROWS), ("GET", "/v1/stream"), ("GET", "/metrics")):
            answer = client.request(method, path, headers=[(b"Authorization", header.encode())])
            assert answer.status_code == 401, path
            assert answer.headers["content-type"] == "application/problem+json"
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 200


def test_a_key_is_rotated_and_revoked(server: Server) -> None:
    with with_key(server, "read") as old:
        number = old.headers["authorization"].split("_")[1]
        new = server.post(f"/v1/keys/{number}/rotate", None, 201)
        assert old.get("/v1/entities").status_code == 401
        with httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {new['key']}"}, trust_env=False
        ) as client:
            assert client.get("/v1/entities").status_code == 200
            assert server.client.delete(f"/v1/keys/{new['id']}").status_code == 200
            assert client.get("/v1/entities").status_code == 401
        assert server.client.delete(f"/v1/keys/{new['id']}").status_code == 404
        shown = server.get("/v1/keys")["keys"]
        assert not any("key" in one or "digest" in one for one in shown)


def test_the_command_makes_lists_and_ends_keys(models: Path, sqlite: str, nursery: Nursery) -> None:
    def run(*words: str) -> str:
        command = [
            sys.executable,
            "-c",
            "from ccmtad.cli import main; main()",
            "serve",
            "keys",
            *words,
            "--store",
            sqlite,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        return done.stdout.strip()

    text = run("add", "gateway", "--scope", "write", "--scope", "read")
    (shown,) = json.loads(run("list", "--json"))["keys"]
    assert (shown["name"], shown["scopes"], shown["revoked"]) == ("gateway", ["write", "read"], None)
    with nursery.serving(models, sqlite, key=text) as server:
        assert "first key" not in server.text
        assert server.get("/v1/entities")["entities"] == []
        run("revoke", shown["id"])
    with nursery.serving(models, sqlite, key=text) as server:
        assert server.client.get("/v1/entities").status_code == 401


def test_without_keys_only_on_this_machine(models: Path, sqlite: str, nursery: Nursery, faulty: Frame) -> None:
    with pytest.raises(
        SettingError, match="host must be this machine's own where no keys are asked for; got '0.0.0.0'"
    ):
        ServeSettings(models=models, host="0.0.0.0", keys=False)
    with nursery.serving(models, sqlite, "--no-keys") as server:
        assert server.key == ""
        assert server.send("a", **as_json(faulty, 0, 3))["accepted"] == 3


def wrong_bodies(faulty: Frame) -> Iterator[tuple[int, Any]]:
    """What must be refused, and how."""
    row, width = as_json(faulty, 0, 1), len(faulty.channels)
    yield 400, b""
    yield 400, b"{"
    yield 400, b"\xff\xfe"
    yield 400, b'{"values": [[NaN]]}'
    yield 400, b'{"values": [[Infinity]]}'
    yield 400, b'{"values": [[1e999]]}'
    yield 400, b"[" * 100_000
    bodies: tuple[Any, ...] = (
        [], 1, None, "x", {}, {"rows": []}, {"rows": 3}, {"rows": [3]}, {"rows": [{}]}, {"values": []},
        {"values": [[]]}, {"values": [[1.0] * (width + 1)]}, {"values": [["1"] * width]}, {"values": [[True] * width]},
        {"values": [[[1.0]] * width]}, {"values": [[{}] * width]}, {"values": {"nobody": 1.0}}, {"values": None},
        {**row, "times": [1, 2]}, {**row, "times": ["yesterday"]}, {**row, "times": [True]}, {**row, "times": [{}]},
        {**row, "times": [1e300]}, {**row, "times": [10**25]}, {**row, "times": 5}, {**row, "sequence": -1},
        {**row, "sequence": 1.5}, {**row, "sequence": "x"}, {**row, "sequence": 2**63}, {**row, "model": 5},
        {**row, "channels": ["a"]}, {**row, "channels": 5}, {**row, "channels": [faulty.channels[0]] * width},
        {"rows": [{"time": 1, "values": [1.0] * width}, {"time": 2, "values": {}}]},
    )  # fmt: skip
    for body in bodies:
        yield 422, json.dumps(body).encode()
    yield 404, json.dumps({**row, "model": "../../etc/passwd"}).encode()


def test_what_is_malformed_is_refused_and_leaves_nothing_behind(server: Server, faulty: Frame) -> None:
    for status, body in wrong_bodies(faulty):
        answer = server.client.post("/v1/entities/wrong/rows", content=body)
        assert answer.status_code == status, (body[:80], answer.text)
        told = answer.json()
        assert told["status"] == status
        assert told["detail"]
        assert len(answer.content) < 1_000
    assert server.client.get("/v1/entities/wrong").status_code == 404
    wrong: tuple[tuple[str, bytes, int], ...] = (
        ("text/csv", b"a,b\n1,2\n", 422), ("text/csv", b"", 422), ("text/csv", b"\x00\x01", 422),
        ("application/x-ndjson", b"{}\n", 422), ("application/x-ndjson", b"[1]\n", 422), ("text/html", b"<a>", 415),
    )  # fmt: skip
    for kind, body, status in wrong:
        answer = server.client.post("/v1/entities/wrong/rows", content=body, headers={"Content-Type": kind})
        assert answer.status_code == status, (kind, body, answer.text)


@pytest.mark.parametrize(
    "name", ["%2e%2e", "..%2f..%2fetc%2fpasswd", "a%2fb", "a%5cb", "%00", "a%0ab", "%20", "x" * 201, "%e2%80%ae", "%ff"]
)
def test_names_like_paths_or_codes_are_refused(server: Server, faulty: Frame, name: str) -> None:
    answer = server.client.post(f"/v1/entities/{name}/rows", json=as_json(faulty, 0, 1))
    assert answer.status_code in (404, 405, 422), answer.text
    assert server.client.get(f"/v1/entities/{name}/scores").status_code in (404, 422)
    assert server.client.get("/v1/events", params={"entity": "../.."}).status_code == 422


@pytest.mark.parametrize("name", ["pump 1", "Pumpe Süd 💧", "a.b:c;d'e\"f", "' OR 1=1 --", "<script>", "a%b?c#d"])
def test_names_may_be_any_printable_text(server: Server, faulty: Frame, name: str) -> None:
    assert server.send(name, **as_json(faulty, 0, 2))["rows"] == 2
    listed = [one["entity"] for one in server.get("/v1/entities")["entities"]]
    assert name in listed


def test_what_is_too_large_or_too_slow_is_refused(server: Server, faulty: Frame) -> None:
    answer = server.client.post(ROWS, content=b" " * (17 * 2**20))
    assert (answer.status_code, answer.json()["type"]) == (413, "too-large")

    def parts() -> Iterator[bytes]:
        for _ in range(17):
            yield b" " * 2**20

    answer = server.client.post(ROWS, content=parts())
    assert answer.status_code == 413
    many = {"values": as_json(faulty, 0, 1)["values"] * 10_001}
    assert server.client.post(ROWS, json=many).status_code == 413


def test_a_client_that_sends_nothing_keeps_nobody_waiting(server: Server, faulty: Frame) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    head = f"POST {ROWS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\nContent-Length: 1000\r\n\r\n{{"
    slow = [socket.create_connection((host, int(port))) for _ in range(50)]
    try:
        for one in slow:
            one.sendall(head.encode())
        assert server.send("quick", **as_json(faulty, 0, 3))["accepted"] == 3
    finally:
        for one in slow:
            one.close()
    assert server.send("quick", **as_json(faulty, 3, 6))["rows"] == 6


def test_a_thousand_event_streams_are_served(server: Server, faulty: Frame) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    head = f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.key}\r\n\r\n".encode()
    streams = [socket.create_connection((host, int(port)), timeout=120) for _ in range(1_000)]
    try:
        for one in streams:
            one.sendall(head)
        for one in streams:  # each is answered
            assert one.recv(12) == b"HTTP/1.1 200"
        server.send("streamed", **as_json(faulty))
        server.judged("streamed", len(faulty))
        for one in streams[::100]:  # and told
            text = b""
            while b"event: notice" not in text:
                text += one.recv(65_536)
    finally:
        for one in streams:
            one.close()


def test_too_many_requests_are_told_to_wait() -> None:
    now = [0.0]
    limits = Limits(10.0, clock=lambda: now[0])
    for _ in range(20):
        limits.take("a")
    with pytest.raises(Refusal) as refused:
        limits.take("a")
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    limits.take("b")
    now[0] += 0.1
    limits.take("a")


def test_a_full_queue_is_answered_with_429(nursery: Nursery, models: Path, sqlite: str, faulty: Frame) -> None:
    """The store is locked by another, so that nothing can be written: what comes piles up, to a limit."""
    import sqlite3

    with nursery.serving(models, sqlite, "--silence", "0", "--queue", "1") as server:
        server.send("a", **as_json(faulty, 0, 3))
        other = sqlite3.connect(sqlite.removeprefix("sqlite:///"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        large = {"values": as_json(faulty)["values"]}  # 900 rows
        found: list[int] = []

        def send() -> None:
            with httpx.Client(
                base_url=server.url, headers=server.client.headers, timeout=60, trust_env=False
            ) as client:
                answer = client.post(ROWS, json=large)
                found.append(answer.status_code)
                if answer.status_code == 429:
                    assert int(answer.headers["Retry-After"]) >= 1
                    refused.set()

        refused = threading.Event()
        threads = [threading.Thread(target=send) for _ in range(16)]
        for thread in threads:
            thread.start()
        assert refused.wait(60)
        other.execute("ROLLBACK")
        other.close()
        for thread in threads:
            thread.join()
        assert 429 in found
        assert set(found) <= {200, 429, 503}
        assert server.get("/v1/entities/a")["rows"] == 3 + 900 * found.count(200)


def test_metrics_tell_of_rows_and_entities(server: Server, faulty: Frame) -> None:
    server.send("measured", **as_json(faulty))
    server.judged("measured", len(faulty))
    text = server.client.get("/metrics").text
    for line in (
        'ccmtad_rows_total{what="accepted"}', "ccmtad_commit_seconds_count", "ccmtad_step_seconds_count",
        "ccmtad_queue_bytes 0.0", 'ccmtad_score_ratio{entity="measured"}', 'ccmtad_open_events{kind="signal lost"}',
        'ccmtad_health{entity="measured",state="healthy"}', 'ccmtad_entity_rows{entity="measured"} 900.0',
    ):  # fmt: skip
        assert line in text

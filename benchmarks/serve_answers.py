"""What a service answers to requests that are wrong, hostile or slow, and what a thousand listeners cost; each is run
against a process of its own and printed as it came.

    python benchmarks/serve_answers.py [--store sqlite|postgresql|URL]
"""

import argparse
import re
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np

from serve import CHANNELS, FIRST, Served, fresh_store, make_model, normal, served

ROWS = "/v1/entities/a/rows"
LISTENERS = 1_000
SINGLE_ROWS = 300
NOISY = 400  # entities with one fault after another


def row(number: int, values: list[float]) -> dict[str, object]:
    """One row, so many seconds after the first."""
    return {"time": FIRST + 1_000 * number, "values": values}


def answers(client: httpx.Client, reader: httpx.Client, nobody: httpx.Client) -> Iterator[tuple[str, httpx.Response]]:
    """What was asked, and the answer."""
    right = row(0, [0.0] * CHANNELS)
    numbers = ",".join(["1.0"] * (CHANNELS - 1))
    yield "no key", nobody.post(ROWS, json=right)
    yield "a key that is none", nobody.post(ROWS, json=right, headers={"Authorization": "Bearer ccm_0_0"})
    yield "a key that may only read", reader.post(ROWS, json=right)
    yield "17 MiB", client.post(ROWS, content=b" " * (17 * 2**20))
    yield "17 MiB in parts, length not told", client.post(ROWS, content=(b" " * 2**20 for _ in range(17)))
    yield "10,001 rows", client.post(ROWS, json={"values": [[0.0] * CHANNELS] * 10_001})
    yield "`{`", client.post(ROWS, content=b"{")
    yield "100,000 times `[`", client.post(ROWS, content=b"[" * 100_000)
    yield "a value `NaN`", client.post(ROWS, content=f'{{"values":[[NaN,{numbers}]]}}')
    yield "a value `Infinity`", client.post(ROWS, content=f'{{"values":[[Infinity,{numbers}]]}}')
    yield "a value `1e999`", client.post(ROWS, content=f'{{"values":[[1e999,{numbers}]]}}')
    names = [f"channel {i}" for i in range(CHANNELS)]
    header = ",".join(names)
    csv = {"Content-Type": "text/csv"}
    yield "CSV with `nan`", client.post(ROWS, content=f"{header}\nnan,{numbers}\n", headers=csv)
    yield "CSV with `inf`", client.post(ROWS, content=f"{header}\ninf,{numbers}\n", headers=csv)
    yield "a value `1e308`", client.post(ROWS, json=row(5, [1e308] * CHANNELS))
    yield "one number too many", client.post(ROWS, json=row(0, [0.0] * (CHANNELS + 1)))
    yield "a channel nobody knows", client.post(ROWS, json={"values": {"channel 99": 1.0}})
    yield "time `yesterday`", client.post(ROWS, json={**right, "time": "yesterday"})
    yield "time 1e300", client.post(ROWS, json={**right, "time": 1e300})
    yield "`text/html`", client.post(ROWS, content=b"<a>", headers={"Content-Type": "text/html"})
    for name in ("%2e%2e", "..%2f..%2fetc%2fpasswd", "a%5cb", "%00", "a%0ab", "%e2%80%ae", "%ff", "x" * 201):
        yield f"entity `{name[:24]}`", client.post(f"/v1/entities/{name}/rows", json=right)
    yield "entity `Pumpe Süd 💧`", client.post("/v1/entities/Pumpe%20S%C3%BCd%20%F0%9F%92%A7/rows", json=right)
    yield "entity `' OR 1=1 --`", client.post("/v1/entities/'%20OR%201=1%20--/rows", json=right)
    yield "model `../../etc/passwd`", client.post("/v1/entities/b/rows", json={**right, "model": "../../etc/passwd"})
    yield "model file that is none", client.put("/v1/models/m", content=b"nonsense")
    yield "no such event", client.post("/v1/events/nothing/dismiss", json={})
    yield "`/v1/annotations` (Grafana)", client.get("/v1/annotations", params={"limit": 1})


def latency(client: httpx.Client, entity: str) -> str:
    """Of rows that are sent one by one."""
    took = []
    for number in range(SINGLE_ROWS):
        began = time.perf_counter()
        answer = client.post(f"/v1/entities/{entity}/rows", json=row(number, [0.0] * CHANNELS))
        took.append(1e3 * (time.perf_counter() - began))
        assert answer.status_code == 200, answer.text
    p50, p99 = np.quantile(took, [0.5, 0.99])
    return f"{SINGLE_ROWS} of {SINGLE_ROWS} rows acknowledged, p50 {p50:.1f} ms, p99 {p99:.1f} ms"


def trickling(service: Served, request: bytes, seconds: float) -> str:
    """A client that sends a byte a second: what it is told, and when."""
    with socket.create_connection(("127.0.0.1", service.port)) as line:
        line.settimeout(1.0)
        began, told = time.perf_counter(), b""
        for byte in request:
            try:
                line.sendall(bytes([byte]))
                told = line.recv(4_096)
                break
            except TimeoutError:
                if time.perf_counter() - began > seconds:
                    return f"no answer in {seconds:g} s, the connection is open"
            except OSError as error:
                return f"{error} after {time.perf_counter() - began:.0f} s"
        return f"`{told.splitlines()[0].decode()}` after {time.perf_counter() - began:.0f} s"


def slow_senders(service: Served, client: httpx.Client) -> None:
    """One that sends its body so, and one its head; rows of others meanwhile."""
    head = f"POST {ROWS} HTTP/1.1\r\nHost: x\r\nAuthorization: {service.bearer}\r\nContent-Length: 500\r\n\r\n".encode()
    found: dict[str, str] = {}

    def body() -> None:
        with socket.create_connection(("127.0.0.1", service.port)) as line:
            line.sendall(head)
            line.settimeout(1.0)
            began, told = time.perf_counter(), b""
            while not told and time.perf_counter() - began < 90:
                try:
                    line.sendall(b" ")
                    told = line.recv(4_096)
                except TimeoutError:
                    continue
            found["body"] = f"{told.splitlines()[0].decode()} after {time.perf_counter() - began:.0f} s"

    def start() -> None:
        found["head"] = trickling(service, head, 45.0)

    threads = [threading.Thread(target=one) for one in (body, start)]
    for thread in threads:
        thread.start()
    print(f"meanwhile: {latency(client, 'beside-slow')}")
    for thread in threads:
        thread.join()
    print(f"a body, one byte a second: {found['body']}\na head, one byte a second: {found['head']}", flush=True)


def slow_reader(service: Served, client: httpx.Client) -> None:
    """One that asks for notices and reads none, until more wait than are kept for it; then it reads."""
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.connect(("127.0.0.1", service.port))
        line.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: {service.bearer}\r\n\r\n".encode())
        time.sleep(1.0)
        before, rows = service.memory, normal(1_000, 5)
        rows[100::40] += 50.0 * np.arange(1, len(rows[100::40]) + 1)[:, None]  # each fault worse than the one before
        bodies = {"times": [FIRST + 1_000 * i for i in range(len(rows))], "values": rows.round(3).tolist()}
        for number in range(NOISY):
            assert client.post(f"/v1/entities/noisy-{number}/rows", json=bodies).status_code == 200
        while any(one["judged"] < one["rows"] for one in client.get("/v1/entities").json()["entities"]):
            time.sleep(0.2)
        after = service.memory
        told = b""
        line.settimeout(20.0)
        try:
            part = line.recv(1 << 20)
            while part and b"event: lagging" not in told[-200_000:]:
                told += part
                part = line.recv(1 << 20)
                if len(part) < 100:  # nothing but a sign of life: all is told
                    break
        except TimeoutError:
            pass
        last = told[-60:].split(b"event:")[-1].split()[:1]
        print(
            f"a listener that reads nothing while {NOISY} entities tell of many events: memory {before:.0f} -> "
            f"{after:.0f} MiB; then it reads {told.count(b'event: notice'):,} notices, and is told {last}",
            flush=True,
        )


def listeners(service: Served, client: httpx.Client) -> None:
    """A thousand event streams: what they cost, and whether rows are acknowledged as before."""
    print(f"no listeners: memory {service.memory:.0f} MiB; {latency(client, 'alone')}")
    head = f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: {service.bearer}\r\n\r\n".encode()
    lines = [socket.create_connection(("127.0.0.1", service.port), timeout=120) for _ in range(LISTENERS)]
    try:
        for line in lines:
            line.sendall(head)
        served_ = sum(line.recv(12) == b"HTTP/1.1 200" for line in lines)
        print(f"{served_} listeners: memory {service.memory:.0f} MiB; {latency(client, 'heard')}")
        fault = normal(200, 5)
        fault[100:] += 50.0
        times = [FIRST + 1_000 * i for i in range(len(fault))]
        began = time.perf_counter()
        client.post("/v1/entities/faulty/rows", json={"times": times, "values": fault.tolist()})
        for line in lines:
            text = b""
            while b"event: notice" not in text:
                text += line.recv(65_536)
        print(
            f"an event: told to all {LISTENERS} in {time.perf_counter() - began:.2f} s, memory {service.memory:.0f} MiB"
        )
    finally:
        for line in lines:
            line.close()
    for _ in range(600):
        (streams,) = re.findall(r"^ccmtad_event_streams (\S+)", client.get("/metrics").text, re.MULTILINE)
        if float(streams) == 0.0:
            break
        time.sleep(0.1)
    print(f"all closed: {float(streams):.0f} streams, memory {service.memory:.0f} MiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="sqlite", help="sqlite, postgresql or a URL")
    parser.add_argument("--only", choices=["listeners", "answers", "senders", "reader"], help="one of the four parts")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder) / "models"
        models.mkdir()
        cached = Path(tempfile.gettempdir()) / "ccmtad-serve-38.ccm"
        if not cached.exists():
            make_model(cached)
        shutil.copy(cached, models / "plant.ccm")
        with fresh_store(asked.store) as store, served(models, store) as service:
            url = f"http://127.0.0.1:{service.port}"
            same = {"base_url": url, "timeout": 120.0, "trust_env": False}
            with httpx.Client(headers={"Authorization": service.bearer}, **same) as client:  # type: ignore[arg-type]
                made = client.post("/v1/keys", json={"name": "reader", "scopes": ["read"]}).json()["key"]
                bearer = {"Authorization": f"Bearer {made}"}
                with httpx.Client(headers=bearer, **same) as reader, httpx.Client(**same) as nobody:  # type: ignore[arg-type]
                    if asked.only in (None, "listeners"):
                        listeners(service, client)
                    if asked.only in (None, "answers"):
                        print("| request | status | body |\n| --- | --- | --- |")
                        for what, answer in answers(client, reader, nobody):
                            print(f"| {what} | {answer.status_code} | `{answer.text[:150]}` |", flush=True)
                    if asked.only in (None, "senders"):
                        slow_senders(service, client)
                    if asked.only in (None, "reader"):
                        slow_reader(service, client)
                assert client.get("/readyz").status_code == 200


if __name__ == "__main__":
    main()

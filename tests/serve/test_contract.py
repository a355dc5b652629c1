"""Whatever is sent, by the schema or not, is answered: never with a 5xx."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error

from ccmtad import Frame

from .rows import as_json
from .server import Nursery, Server


@schemathesis.serializer("application/x-protobuf")
def as_it_is(_: Any, value: Any) -> bytes:
    """What is generated as bytes is sent as such."""
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.fixture(scope="module")
def server(
    nursery: Nursery, plant_models: Path, faulty: Frame, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("contract")
    models = shutil.copytree(plant_models, folder / "models")
    with nursery.serving(models, f"sqlite:///{folder / 'store.db'}", "--silence", "0") as server:
        server.send("a", **as_json(faulty))
        yield server


def test_no_request_is_answered_with_a_server_error(server: Server) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}/v1/openapi.json", headers=dict(server.client.headers))
    asked = 0
    for result in schema.get_all_operations():
        operation = result.ok()  # type: ignore[union-attr]
        if operation.path.endswith("/stream"):
            continue  # these never end
        strategy = operation.as_strategy()

        @hypothesis.given(case=strategy)
        @hypothesis.settings(
            max_examples=15, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
        )  # fmt: skip
        def check(case: Any) -> None:
            nonlocal asked
            asked += 1
            case.call_and_validate(headers=dict(server.client.headers), checks=[not_a_server_error])

        check()
    assert asked > 100
    assert server.client.get("/readyz").status_code == 200

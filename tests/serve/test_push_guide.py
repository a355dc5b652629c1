"""What the guide to pushed values shows is what the real things take, and what it says of names is so."""

import re
import subprocess
import tomllib
from pathlib import Path

import yaml

from ccmtad.live.labels import DROP_LABELS, ENTITY_LABELS

from .monitors import PROMTOOL, program

GUIDE = (Path(__file__).parents[2] / "docs" / "push.md").read_text(encoding="utf-8")
WRITE, COLLECTOR = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
(TELEGRAF,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def test_prometheus_takes_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "ccmtad.key").write_text("ccm_x")
    file = tmp_path / "shown.yml"
    file.write_text(WRITE)
    done = subprocess.run([program(PROMTOOL), "check", "config", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_address_shown_is_a_route() -> None:
    paths = {"/v1/push/remote-write", "/v1/push/otlp/v1/metrics"}
    shown = [yaml.safe_load(WRITE)["remote_write"][0]["url"]]
    shown.append(yaml.safe_load(COLLECTOR)["exporters"]["otlphttp"]["metrics_endpoint"])
    assert {one.removeprefix("http://127.0.0.1:8787") for one in shown} == paths
    assert tomllib.loads(TELEGRAF)["outputs"]["influxdb_v2"][0]["urls"] == ["http://127.0.0.1:8787"]
    from ccmtad.serve.api import push

    routes = {f"/v1{route.path}" for route in push.router.routes}  # type: ignore[attr-defined]
    routes |= {route.path for route in push.telegraf.routes}  # type: ignore[attr-defined]
    assert all(f"`{one}`" in GUIDE or f"`POST {one}`" in GUIDE for one in routes)


def test_the_labels_named_are_those_of_the_code() -> None:
    rule = GUIDE.partition("The **entity**")[2].partition("`--entity-label`")[0].replace("\n", " ")
    assert tuple(re.findall(r"`([\w.]+)`", rule)) == ENTITY_LABELS
    assert DROP_LABELS == ("job",)
    assert "`job` is left out" in GUIDE

"""What the guide to alerts shows is what the real things take."""

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from ccmtad.cli.app import app
from ccmtad.live.alert import Style, message_of
from ccmtad.serve.alerts.alerting import example
from ccmtad.serve.alerts.webhooks import Webhook
from ccmtad.serve.metrics import Metrics
from ccmtad.serve.store.outbox import Counts

from .monitors import PROMTOOL, program

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "alerts.md").read_text(encoding="utf-8")
ROUTE, SCRAPE, RULES = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


def dashboard_queries() -> list[str]:
    """What the dashboard asks for, of all entities."""
    dashboard = json.loads((DOCS / "grafana.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return [one.replace("$entity", ".*") for one in asked]


def rule_queries() -> list[str]:
    """What the rules ask for."""
    return [rule["expr"] for group in yaml.safe_load(RULES)["groups"] for rule in group["rules"]]


def families() -> set[str]:
    """The names of all that is measured."""
    metrics = Metrics()
    metrics.watch(list, dict, lambda: 0)
    metrics.watch_alerts(lambda: Counts(0, 0, 0))
    return {
        f"{one.name}_total" if one.type == "counter" else one.name for one in metrics.registry.collect()
    }  # fmt: skip


def test_every_metric_is_in_the_guide_and_no_others() -> None:
    rows = "\n".join(line for line in GUIDE.splitlines() if line.startswith("| `ccmtad_"))
    assert set(re.findall(r"`(ccmtad_\w+)", rows)) == families()


def test_rules_and_dashboard_ask_for_what_is_measured() -> None:
    asked = [*dashboard_queries(), *rule_queries()]
    names = {re.sub(r"_bucket$", "", name) for text in asked for name in re.findall(r"ccmtad_\w+", text)}
    assert len(names) > 8
    assert names <= families()


@pytest.mark.parametrize(("kind", "text"), [("rules", RULES), ("config", SCRAPE)])
def test_prometheus_takes_what_is_shown(kind: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "ccmtad.key").write_text("ccm_x")
    file = tmp_path / "shown.yml"
    file.write_text(text)
    done = subprocess.run([program(PROMTOOL), "check", kind, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alertmanager_takes_the_route(tmp_path: Path) -> None:
    file = tmp_path / "shown.yml"
    file.write_text(ROUTE)
    command = [program("amtool"), "check-config", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_message_is_verified_by_what_is_shown() -> None:
    (shown,) = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(shown, names)
    secret = "whsec_" + 43 * "A" + "="
    body = json.dumps(message_of(example(), Style("http://x", 10.0), "pager")).encode()
    headers = Webhook("1", "pager", "", secret, None, None, None, "", 0).headers("msg_1", body, time.time())
    (line,) = names["received"](secret, body, headers)
    assert line.startswith("firing: test: ")


def test_every_flag_and_default_in_the_guide_is_one() -> None:
    from typer.main import get_command

    serve = get_command(app).commands["serve"]  # type: ignore[attr-defined]
    there = {flag for parameter in serve.params for flag in parameter.opts} | {"--scope"}
    named = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", GUIDE))
    assert named >= {"--alertmanager", "--alert-interval", "--critical", "--webhook-target"}
    assert named <= there
    defaults = {parameter.name: parameter.default for parameter in serve.params}
    assert (defaults["critical"], defaults["webhook_attempts"], defaults["webhook_wait"]) == (10.0, 10, 5.0)
    assert (defaults["alert_interval"], defaults["webhook_timeout"]) == (60.0, 10.0)

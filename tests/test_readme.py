"""What the README shows is what happens."""

import re
from pathlib import Path

import pytest

from ccmtad import Detector

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_finds_events(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "severity" in printed
    assert "2026-01-0" in printed


def test_the_two_commands_are_there() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in README
        assert f"\n{target}:" in makefile


def test_every_attribute_it_names_exists(fitted: Detector) -> None:
    for name in re.findall(r"`(decision_function|\w+_)`", README):
        assert hasattr(fitted, name), name

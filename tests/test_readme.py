"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ccmtad import Detector

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_examples_run_and_find_events(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(first, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "severity" in printed
    assert "2026-01-0" in printed
    exec(compile(second, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "opened" in printed
    assert "final" in printed
    assert names["detector"].stream(resume=names["state"]).tally.rows == 5_000


def test_the_two_commands_are_there() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert f"make {target}" in README
        assert f"\n{target}:" in makefile


def test_every_attribute_it_names_exists(fitted: Detector) -> None:
    for name in re.findall(r"`(decision_function|\w+_)`", README):
        assert hasattr(fitted, name), name


def test_the_results_are_the_benchmarks() -> None:
    """Written by `bench report`, never by hand: `python docs/results.py` puts them there."""
    root = Path(__file__).parents[1]
    written = {name: (root / name).read_text(encoding="utf-8") for name in ("README.md", "docs/benchmark.md")}
    subprocess.run([sys.executable, "docs/results.py", "--check"], cwd=root, check=True)
    assert "<!-- results -->\n|" in written["README.md"]
    assert written["docs/benchmark.md"].startswith("# Benchmark results")

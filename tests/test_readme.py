"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

from ccmtad import Detector

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


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

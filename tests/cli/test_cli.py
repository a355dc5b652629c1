"""The command line, run as a person would."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ccmtad

from .run import run


def test_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"ccmtad {ccmtad.__version__}\n")


def test_the_package_runs_as_a_module() -> None:
    shown = subprocess.run([sys.executable, "-m", "ccmtad", "--version"], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stdout) == (0, f"ccmtad {ccmtad.__version__}\n")
    wrong = subprocess.run([sys.executable, "-m", "ccmtad", "dmeo"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "No such command" in wrong.stderr


def test_help_names_the_commands_and_imports_no_torch() -> None:
    result = run("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout
    code = "import sys\nfrom ccmtad.cli.app import app\nprint('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_demo_shows_truth_findings_and_floors() -> None:
    result = run("demo", "--train-rows", "2000", "--rows", "3000", "--seed", "2")
    assert result.returncode == 0, result.stderr
    for text in (
        "53 channels",
        "epoch 10 of 10",
        "most blamed",
        "ccmtad",
        "PCA error",
        "random score",
        "median delay",
    ):
        assert text in result.stdout, text


@pytest.mark.parametrize(
    "arguments", [("demo", "--rows", "5"), ("demo", "--seed", "-1"), ("demo", "--colour"), ("dmeo",)]
)
def test_bad_input_is_exit_code_2_and_no_traceback(arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert "Traceback" not in result.stdout + result.stderr
    assert result.stderr


def test_bench_runs_reports_and_lists(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 1)) * [1.0, -1.0] + 0.1 * random.normal(size=(400, 2))
    watched = np.c_[rows, np.zeros(400)]
    watched[200:230, 0] *= -1
    watched[200:230, 2] = 1
    np.savetxt(tmp_path / "normal.csv", rows, delimiter=",", header="a,b", comments="")
    np.savetxt(tmp_path / "watched.csv", watched, delimiter=",", header="a,b,label", comments="")
    out = tmp_path / "results.jsonl"
    ran = run(
        "bench", "run", "--train", str(tmp_path / "normal.csv"), "--test", str(tmp_path / "watched.csv"),
        "--method", "pca", "--method", "all-positive", "--seeds", "1", "-o", str(out),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "2 results in" in ran.stderr.replace("\n", " ")
    shown = run("bench", "report", str(out))
    assert "| PCA error |" in shown.stdout
    page = tmp_path / "report.html"
    assert run("bench", "report", str(out), "-o", str(page)).returncode == 0
    assert "<table>" in page.read_text()
    wrong = run("bench", "report", str(out), "-o", str(tmp_path / "report.pdf"))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "out must end in .md or .html" in wrong.stderr
    listed = run("bench", "list", "--data", str(tmp_path))
    assert listed.returncode == 0, listed.stderr
    for text in ("WADI", "missing", "all-positive", "timesnet-published", "looks ahead:", "oracle epoch"):
        assert text in listed.stdout


def test_bench_says_what_is_missing() -> None:
    nothing = run("bench", "run")
    assert nothing.returncode == 2
    assert "must have a --dataset" in nothing.stderr
    unknown = run("bench", "run", "--dataset", "MARS", "--data", ".")
    assert unknown.returncode == 2
    assert "dataset must be one of JumpStarter, MSL" in unknown.stderr

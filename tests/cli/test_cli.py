"""The command line, run as a person would."""

import subprocess
import sys

import pytest

import ccmtad


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from ccmtad.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stdout) == (0, f"ccmtad {ccmtad.__version__}\n")


def test_help_names_the_commands_and_imports_no_torch() -> None:
    result = run("--help")
    assert result.returncode == 0
    assert "demo" in result.stdout
    code = "import sys\nfrom ccmtad.cli.app import app\nprint('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_demo_shows_truth_findings_and_floors() -> None:
    result = run("demo", "--train-rows", "3000", "--rows", "6000", "--seed", "2")
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

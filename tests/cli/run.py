"""The command line, as a person would run it."""

import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from ccmtad.cli import main; main()"]


def run(*arguments: object, cwd: Path | None = None, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=cwd, input=stdin)

"""Runs every command and Python block of README.md and the guides, in order, in one folder; with --write, puts what the
commands printed into the pages.

A block of ```console holds commands after "$ " and below each what it prints; one of ```python is run as it stands, its
names shared with those below it on the page. A block of ```sh is for a fresh clone, and not run here.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# In this order: later pages use the files that the quick start makes.
PAGES = (
    "docs/quickstart.md",
    "docs/files.md",
    "docs/report.md",
    "docs/budget.md",
    "docs/streaming.md",
    "docs/fleet.md",
    "docs/sinks.md",
    "docs/serve.md",
    "docs/push.md",
    "docs/alerts.md",
    "docs/concepts.md",
    "docs/commands.md",
    "docs/reproduce.md",
    "docs/settings.md",
    "docs/paper.md",
    "docs/faq.md",
    "docs/adapters.md",
    "docs/index.md",
    "README.md",
    "docs/events.md",  # last: it changes the model
)
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FINE = (0, 3)  # no events, events
PROGRESS = re.compile(r"^[A-Z][a-z ]+: (\d+%, )?.*\d+ (s|min|h)$")  # on a slow machine: no part of a page


@dataclass
class Ran:
    """One command, and what came of it."""

    command: str
    code: int
    printed: str


def commands(block: str) -> list[str]:
    """The commands of a console block; one that ends with a backslash goes on in the next line."""
    found: list[str] = []
    goes_on = False
    for line in block.splitlines():
        if goes_on:
            found[-1] += "\n" + line
        elif line.startswith("$ "):
            found.append(line[2:])
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return found


def execute(command: str, folder: Path) -> Ran:
    """As a person would, with the environment's own `ccmtad` first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CCMTAD_DATA": "", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=environment, check=False, timeout=600
    )
    return Ran(command, done.returncode, done.stdout + done.stderr)


def run_page(page: str, folder: Path) -> Iterator[Ran]:
    """Everything on a page that can be run."""
    names: dict[str, Any] = {}
    before = Path.cwd()
    for kind, block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        if kind == "console":
            for command in commands(block):
                yield execute(command, folder)
        else:
            os.chdir(folder)
            try:
                exec(compile(block, page, "exec"), names)
            finally:
                os.chdir(before)


def write(page: str, folder: Path) -> None:
    """Runs a page, and puts what its commands print below them."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    ran = iter(list(run_page(page, folder)))

    def printed(match: re.Match[str]) -> str:
        if match[1] == "python":
            return match[0]
        parts = []
        for command in commands(match[2]):
            one = next(ran)
            if one.code not in FINE:
                sys.exit(f"{page}: {command} ended with {one.code}: {one.printed}")
            lines = (line.rstrip() for line in one.printed.rstrip("\n").splitlines())
            output = "\n".join(line for line in lines if not PROGRESS.match(line))
            parts.append(f"$ {command}\n" + (f"{output}\n" if output else ""))
        return "```console\n" + "".join(parts) + "```"

    path.write_text(BLOCK.sub(printed, text), encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for page in PAGES:
            print(page, flush=True)
            if "--write" in sys.argv:
                write(page, Path(folder))
            else:
                for one in run_page(page, Path(folder)):
                    print(f"{one.code} {one.command}", flush=True)
                    if one.code not in FINE:
                        sys.exit(one.printed)


if __name__ == "__main__":
    main()

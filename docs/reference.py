"""Writes the tables of flags, settings and methods into their pages; with --check, says whether they are there."""

import re
import sys
from dataclasses import asdict, fields
from pathlib import Path

from typer.main import get_command

from ccmtad.bench.methods import known
from ccmtad.cli.app import app
from ccmtad.settings import PRESETS, Settings

DOCS = Path(__file__).parent


def commands() -> dict[str, object]:
    """Every command by its full name."""
    found: dict[str, object] = {}

    def walk(name: str, command: object) -> None:
        inner = getattr(command, "commands", None)
        if inner is None or command.invoke_without_command:  # type: ignore[attr-defined]
            found[name] = command
        for sub, one in (inner or {}).items():
            walk(f"{name} {sub}", one)

    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        walk(name, command)
    return found


def flags(command: object) -> str:
    """The arguments and options of a command as a table."""
    lines = ["| | |", "| --- | --- |"]
    for parameter in command.params:  # type: ignore[attr-defined]
        if parameter.param_type_name == "argument":
            name = f"`{parameter.metavar or parameter.name.upper()}`"
        else:
            name = ", ".join(f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts))
        default = parameter.default
        shown = getattr(parameter, "show_default", True) and default not in (None, False, ()) and not callable(default)
        told = f" Default: `{default}`." if shown else ""
        needed = " Required." if parameter.required else ""
        lines.append(f"| {name} | {(parameter.help or '').replace('|', chr(92) + '|')}{told}{needed} |")
    return "\n".join(lines)


def settings(study: bool) -> str:
    """Every setting of a group, what it means, and what the presets set it to."""
    usual, paper = asdict(Settings()), PRESETS["paper"]
    lines = ["| setting | default | paper | |", "| --- | --- | --- | --- |"]
    for one in fields(Settings):
        if one.metadata["study"] == study:
            other = f"`{paper[one.name]}`" if one.name in paper else ""
            lines.append(f"| `{one.name}` | `{usual[one.name]}` | {other} | {one.metadata['means']} |")
    return "\n".join(lines)


def methods() -> str:
    """Every method of the benchmark, and how it looks ahead."""
    lines = ["| method | | looks ahead |", "| --- | --- | --- |"]
    lines += [f"| `{method.name}` | {method.means} | {method.looks_ahead} |" for method in known().values()]
    return "\n".join(lines)


def filled(text: str, tables: dict[str, str]) -> str:
    """A page with its tables put between their marks."""

    def table(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n{tables[match[1]]}\n<!-- end -->"

    return re.sub(r"<!-- ([\w ]+) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


def main() -> None:
    tables = {name: flags(command) for name, command in commands().items()} | {
        "settings": settings(study=False),
        "study settings": settings(study=True),
        "methods": methods(),
    }
    for name in ("commands.md", "settings.md", "rivals.md"):
        path = DOCS / name
        text = path.read_text(encoding="utf-8")
        wanted = filled(text, tables)
        if "--check" in sys.argv:
            if text != wanted:
                sys.exit(f"{name} does not list what there is as it is: run python docs/reference.py")
        else:
            path.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()

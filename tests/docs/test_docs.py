"""Everything the guides show is run, everything that can be set is in them, and they build without a warning."""

import importlib.util
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ccmtad import Settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded  # dataclasses look their module up
    spec.loader.exec_module(loaded)
    return loaded


blocks, reference = module("blocks"), module("reference")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all pages: they follow each other."""
    return tmp_path_factory.mktemp("docs")


@pytest.mark.parametrize("page", blocks.PAGES)
def test_every_command_and_python_block_runs(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = (ROOT / page).read_text(encoding="utf-8")
    ran = list(blocks.run_page(page, folder))
    for one in ran:
        assert one.code in blocks.FINE, f"{one.command}\n{one.printed}"
        assert "Traceback" not in one.printed
    assert len(ran) == len(re.findall(r"^\$ ", shown, re.MULTILINE))
    printed = capsys.readouterr().out
    if page == "README.md":
        for text in ("severity", "opened", "final", "2026-01-0"):
            assert text in printed


def test_every_page_with_blocks_is_run() -> None:
    pages = [*DOCS.glob("*.md"), ROOT / "README.md"]
    with_blocks = {str(page.relative_to(ROOT)) for page in pages if blocks.BLOCK.search(page.read_text())}
    assert with_blocks <= set(blocks.PAGES)
    for page in pages:
        for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE):
            assert kind in {"console", "python", "sh", "toml", "ini", "yaml"}, (page.name, kind)
            if kind == "sh":  # for a fresh clone: nothing else may hide there
                assert all(line.startswith(("make ", "pip install ")) for line in block.splitlines()), block


def test_what_commands_print_is_shown_below_them() -> None:
    """`python docs/blocks.py --write` puts it there."""
    for page in blocks.PAGES:
        for kind, block in blocks.BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
            silent = ("--quiet", "> events.jsonl")
            loud = [c for c in blocks.commands(block) if not any(s in c for s in silent) or "|" in c]
            if kind == "console" and loud:
                assert len(block.splitlines()) > len(blocks.commands(block)), (page, block)


def test_every_command_flag_and_setting_is_documented() -> None:
    commands = (DOCS / "commands.md").read_text(encoding="utf-8")
    for name, command in reference.commands().items():
        section = commands.partition(f"<!-- {name} -->")[2].partition("<!-- end -->")[0]
        assert section, f"{name} is not in docs/commands.md"
        for parameter in command.params:
            for flag in parameter.opts if parameter.param_type_name == "option" else ():
                assert f"`{flag}`" in section, f"{name} {flag} is not in docs/commands.md"
            assert parameter.help, f"{name} {parameter.name} has no help"
    settings = (DOCS / "settings.md").read_text(encoding="utf-8")
    for field in fields(Settings):
        assert f"| `{field.name}` |" in settings, f"{field.name} is not in docs/settings.md"


def test_the_tables_are_those_of_the_code() -> None:
    assert subprocess.run([sys.executable, "docs/reference.py", "--check"], cwd=ROOT, check=False).returncode == 0


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    python = (tmp_path / "site" / "python" / "index.html").read_text()
    for name in (
        "with_budget",
        "reconstruction",
        "snapshot",
        "examine",
        "FileError",
        "the largest error or distance in usual ones",
    ):
        assert name in python, name


def test_pictures_that_pages_show_are_there_and_no_others() -> None:
    pages = [*DOCS.glob("*.md"), ROOT / "README.md"]
    shown = {Path(found).name for page in pages for found in re.findall(r"\(([\w/.-]+\.png)\)", page.read_text())}
    kept = {path.name for path in (DOCS / "pictures").iterdir()}
    assert shown <= kept
    looked_at = {f"report-{width}-{scheme}.png" for width in (1_400, 400) for scheme in ("light", "dark")}
    assert kept == shown | looked_at


def test_no_page_names_a_place_on_somebodys_machine() -> None:
    for page in [*DOCS.glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        assert not re.search(r"(?<![\w.])/(work|root|home|tmp)/", page.read_text()), page.name

"""What a release is made of: every file that it installs by its hash, and a bill of materials."""

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .scripts import load
from .test_package import ROOT, held

APART = "torch"  # which one fits depends on the machine


def locked() -> dict[str, tuple[str, list[str]]]:
    """The version of every package in the lock, and the hashes of its files."""
    found: dict[str, tuple[str, list[str]]] = {}
    text = (ROOT / "release.lock").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            package, *hashes = line.split()
            name, _, version = package.partition("==")
            assert name not in found
            found[name] = (version, hashes)
    return found


def needed(name: str, extras: frozenset[str], found: set[str]) -> set[str]:
    """What a package asks for, and what that does."""
    try:
        wanted = distribution(name).requires or []
    except PackageNotFoundError:
        pytest.skip(f"{name} is not installed: run make test")
    for one in map(Requirement, wanted):
        other = canonicalize_name(one.name)
        asked = one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in ("", *extras))
        if asked and other not in (APART, "ccmtad") and other not in found:
            found.add(other)
            needed(other, frozenset(one.extras), found)
    return found


def test_every_entry_of_the_lock_has_hashes_and_the_version_that_make_installs() -> None:
    versions = held()
    lock = locked()
    assert len(lock) > 20
    for name, (version, hashes) in lock.items():
        assert versions[canonicalize_name(name)] == version
        assert hashes, name
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), name


def test_the_lock_has_everything_that_the_package_needs_but_torch() -> None:
    wanted = needed("ccmtad", frozenset(("train", "fast", "cli", "report", "bench")), set())
    assert {"numpy", "polars", "scikit-learn", "typer"} < wanted
    assert wanted - locked().keys() == set()
    assert APART not in locked()


def test_the_lock_names_no_address() -> None:
    text = (ROOT / "release.lock").read_text(encoding="utf-8")
    assert not re.search(r"://|\s@\s|^\s*-(?!-hash=)|/", text, re.MULTILINE)


def test_the_extras_that_are_locked_are_those_of_all() -> None:
    made = re.search(r"^EXTRAS := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert made is not None
    assert f"ccmtad[{','.join(made[1].split())}]" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_bill_of_materials_names_every_package_and_its_licence(tmp_path: Path) -> None:
    own = ROOT / ".venv-release" / "bin" / "cyclonedx-py"
    tool = str(own) if own.exists() else shutil.which("cyclonedx-py")
    if tool is None:
        pytest.skip("cyclonedx-py is not here: make sbom installs it")
    made = tmp_path / "sbom.cdx.json"
    command = [
        tool,
        "environment",
        "--gather-license-texts",  # some packages declare theirs only as text
        "--no-validate",
        "--pyproject",
        "pyproject.toml",
        "--output-file",
        str(made),
        sys.prefix,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    bill = json.loads(made.read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "ccmtad"
    parts = {canonicalize_name(part["name"]): part for part in bill["components"]}
    for name, version in {**{name: one[0] for name, one in locked().items()}, APART: held()[APART]}.items():
        assert parts[canonicalize_name(name)]["version"].partition("+")[0] == version
        assert parts[canonicalize_name(name)]["licenses"], name


def test_a_release_is_refused_until_all_that_belongs_to_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = load(".ci/release.py")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    package = tmp_path / "src" / "ccmtad"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.2.0"\n')
    (package / "model_file.py").write_text("VERSION = 3\n")
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.1.0\n")
    for log in ("## Unreleased\n\n- 0.2.0\n", "## 0.2.01 (2026-12-01)\n"):
        (tmp_path / "CHANGELOG.md").write_text(log)
        with pytest.raises(SystemExit, match="CHANGELOG.md must have a section '## 0.2.0'; it has none"):
            release.ready()
    (tmp_path / "CHANGELOG.md").write_text("## Unreleased\n\n## 0.2.0 (2026-11-18)\n")
    with pytest.raises(SystemExit, match="CITATION.cff must have the version 0.2.0; got 0.1.0"):
        release.ready()
    (tmp_path / "CITATION.cff").write_text("version: 0.2.0\n")
    with pytest.raises(SystemExit, match="tests/golden/v3 must hold golden files; it is not there"):
        release.ready()
    (tmp_path / "tests" / "golden" / "v3").mkdir(parents=True)
    assert release.ready() == ("0.2.0", tmp_path / "tests" / "golden" / "v3")

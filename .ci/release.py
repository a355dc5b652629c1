"""Builds the wheel and the source archive, and tries both as users get them: `make release`.

Refuses where the version is not in CHANGELOG.md and CITATION.cff, or where its golden files are missing. Each archive
is installed into a new environment without extras, the wheel also into one with every extra, as locked; in each the
golden model must find what it found. Nothing is published.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def declared(name: str, pattern: str) -> str:
    found = re.search(pattern, text(name), re.MULTILINE)
    if found is None:
        sys.exit(f"{name} must hold {pattern}; it does not")
    return found[1]


def ready() -> tuple[str, Path]:
    """The version, and the golden files of its format."""
    version = declared("src/ccmtad/__init__.py", r'^__version__ = "(.*)"$')
    if not re.search(rf"^## \[?{re.escape(version)}\b", text("CHANGELOG.md"), re.MULTILINE):
        sys.exit(f"CHANGELOG.md must have a section '## {version}'; it has none: say what changed, and for whom")
    cited = declared("CITATION.cff", r"^version: (.*)$")
    if cited != version:
        sys.exit(f"CITATION.cff must have the version {version}; got {cited}")
    golden = ROOT / "tests" / "golden" / f"v{declared('src/ccmtad/model_file.py', r'^VERSION = (.*)$')}"
    if not golden.is_dir():
        sys.exit(f"{golden.relative_to(ROOT)} must hold golden files; it is not there: python tests/golden/make.py")
    return version, golden


def run(*words: str | Path) -> None:
    ended = subprocess.run(words, check=False)
    if ended.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, words))}")


def environment(folder: Path, name: str) -> Path:
    """A new one with nothing in it."""
    venv.create(folder / name, with_pip=False, symlinks=True)
    return folder / name


def install(into: Path, *words: str | Path) -> None:
    run(sys.executable, "-m", "pip", "--python", into, "install", "--quiet", *words)


def tried(into: Path, golden: Path, version: str, *, extras: bool) -> None:
    """In a folder where the sources are not: what is installed must do."""
    for name in ("check.py", "model.ccm", "rows.csv", "expected.json"):
        shutil.copy(golden / name if (golden / name).exists() else golden.parent / name, into)
    run(into / "bin" / "python", "-I", into / "check.py", into, version, *["extras"] * extras)


def main() -> None:
    version, golden = ready()
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)  # the wheel is built from the source archive
    wheel, source = DIST / f"ccmtad-{version}-py3-none-any.whl", DIST / f"ccmtad-{version}.tar.gz"
    limits = ("--constraint", ROOT / "constraints.txt")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for archive in (wheel, source):
            bare = environment(folder, archive.suffix[1:])
            install(bare, *limits, archive)
            tried(bare, golden, version, extras=False)
        full = environment(folder, "extras")
        install(full, "--require-hashes", "--requirement", ROOT / "release.lock")
        install(full, *limits, "torch")
        install(full, "--no-deps", wheel)
        tried(full, golden, version, extras=True)
    print(f"{wheel.name} and {source.name} in dist: installed and tried, without extras and with all of them")


if __name__ == "__main__":
    main()

"""The package as users get it: light to import, typed, complete, and usable from a clean environment."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import distributions, entry_points
from pathlib import Path

import numpy as np
import pytest

import ccmtad
from ccmtad import Detector, errors
from ccmtad.simulate import simulate

ROOT = Path(__file__).parents[1]


def test_public_names_are_these_and_all_exist() -> None:
    assert ccmtad.__all__ == sorted(ccmtad.__all__)
    assert {name for name in ccmtad.__all__ if not name.endswith("Error")} == {
        "Budget",
        "Change",
        "Detection",
        "Detector",
        "Epoch",
        "Event",
        "Frame",
        "Health",
        "Learnt",
        "Settings",
        "Step",
        "Steps",
        "Stream",
        "Streams",
        "Support",
        "Tally",
    }
    assert {name for name in ccmtad.__all__ if name.endswith("Error")} == set(errors.__all__)
    for name in ccmtad.__all__:
        assert getattr(ccmtad, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Detektor'"):
        _ = ccmtad.Detektor


def test_the_exception_tree_is_as_drawn() -> None:
    assert errors.__doc__ is not None
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert name in errors.__doc__
        assert issubclass(kind, errors.CcmtadError)
        assert kind.__doc__


def test_importing_loads_nothing_heavy() -> None:
    heavy = ("torch", "sklearn", "pandas", "polars", "typer", "fastapi", "sqlalchemy")
    code = f"import sys, ccmtad, ccmtad.detector; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_command_is_installed() -> None:
    (command,) = entry_points(group="console_scripts", name="ccmtad")
    assert command.value == "ccmtad.cli:main"


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("this is not a git checkout: clone the repository to run this test")
    for name in tracked.stdout.split("\n"):
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt"} and path.exists():
            assert "/home/" not in path.read_text(encoding="utf-8").replace('"/home/"', ""), name


def held() -> dict[str, str]:
    """The versions that `make` installs."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    return {_plain(name): version for name, version in (line.split("==") for line in lines)}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_installed_package_is_held_at_its_version() -> None:
    if Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        pytest.skip("this environment was not made by make: run make test")
    wanted, own = held(), {"ccmtad", "pip"}  # this package, and what installs
    where = [sysconfig.get_path("purelib")]  # and not what Ray, where another test has imported it, carries along
    there = {_plain(one.metadata["Name"]): one.version.partition("+")[0] for one in distributions(path=where)}
    assert {name: version for name, version in there.items() if name not in own and wanted.get(name) != version} == {}


def test_what_builds_the_package_is_held_too() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["build-system"]["requires"] == [f"hatchling=={held()['hatchling']}"]


@pytest.mark.slow
def test_the_source_archive_is_whole_and_passes_its_own_tests(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    built = subprocess.run(build, capture_output=True, text=True, check=False, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    (archive,) = tmp_path.glob("ccmtad-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    for name in ("mkdocs.yml", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff", "constraints.txt", "Makefile"):
        assert (unpacked / name).is_file(), name
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "tests/test_package.py"]
    environment = {**os.environ, "PYTHONPATH": str(unpacked / "src")}
    ended = subprocess.run(tests, capture_output=True, text=True, check=False, cwd=unpacked, env=environment)
    assert ended.returncode == 0, ended.stdout


USE = """
import sys, time
from pathlib import Path
begun = time.perf_counter()
import ccmtad
import numpy as np
detector = ccmtad.Detector.load(sys.argv[1])
seconds = time.perf_counter() - begun
values, expected = np.load(sys.argv[2]), np.load(sys.argv[3])
np.testing.assert_allclose(detector.detect(values).score, expected, rtol=1e-9)
stream = detector.stream()
np.testing.assert_allclose([stream.update(row).score for row in values], expected, rtol=1e-9)
try:
    ccmtad.Detector().fit(values)
except ccmtad.MissingExtraError as error:
    print(error)
status = Path("/proc/self/status")  # Linux
resident = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")] if status.exists() else []
print(f"import and load: {seconds:.2f} s", *resident)
print(sorted(m for m in ("torch", "sklearn", "pandas", "numba") if m in sys.modules))
"""


def test_the_wheel_detects_in_a_clean_environment_without_torch(tmp_path: Path, fitted: Detector) -> None:
    build: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "-w",
        tmp_path,
        ROOT,
    ]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("ccmtad-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "ccmtad/py.typed" in names
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "docs"))]

    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel]
    installed = subprocess.run(install, capture_output=True, text=True, check=False)
    if installed.returncode != 0:
        pytest.skip(f"numpy, scipy and the like could not be installed; connect to a package index: {installed.stderr}")
    values = simulate(600, seed=21).values
    fitted.save(tmp_path / "plant.ccm")
    np.save(tmp_path / "values.npy", values)
    np.save(tmp_path / "scores.npy", fitted.detect(values).score)
    (tmp_path / "use.py").write_text(USE)
    use: list[str | Path] = [python, "use.py", "plant.ccm", "values.npy", "scores.npy"]
    used = subprocess.run(use, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert used.returncode == 0, used.stderr
    print(used.stdout)  # noqa: T201  seen with pytest -s: the figures of a light deployment
    assert "pip install 'ccmtad[train]'" in used.stdout
    assert used.stdout.endswith("[]\n")
    version = subprocess.run([tmp_path / "env/bin/ccmtad", "--version"], capture_output=True, text=True, check=False)
    assert version.returncode == 2
    assert "pip install 'ccmtad[cli,train]'" in version.stderr

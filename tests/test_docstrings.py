"""What users call says what it takes, gives and raises, and shows it in lines that run."""

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import ccmtad
from ccmtad import Detector, report, results
from ccmtad.simulate import simulate

ELSEWHERE = ("ccmtad.frame", "ccmtad.score", "ccmtad.calibrate")  # said on pages of their own
# Nothing goes wrong in these but for what is no event, no path or no text at all.
SAFE = {
    "Detector.get_params", "Detection.accepted", "Detection.accepted_after", "Detection.columns", "Event.of",
    "Event.verdict", "Settings.to_json",
    "Stream.confirm", "Stream.dismiss", "Stream.heed", "Stream.snapshot", "Stream.undo", "Streams.heed",
    "Streams.snapshot", "plain",
}  # fmt: skip


def public() -> Iterator[tuple[str, Any]]:
    """All that a user is told to call or may hold, by name."""
    for name in ccmtad.__all__:
        kind = getattr(ccmtad, name)
        if kind.__module__.startswith(ELSEWHERE):
            continue
        yield name, kind
        for part, found in vars(kind).items():
            inner = getattr(found, "__func__", found)
            if not part.startswith("_") and (callable(inner) or isinstance(inner, property | cached_property)):
                yield f"{name}.{part}", inner
    for function in (results.plain, results.said_of, report.save, report.html):
        yield function.__name__, function


PUBLIC = dict(public())
CALLED = {name: one for name, one in PUBLIC.items() if inspect.isfunction(one)}
SHOWN = CALLED | {n: one for n, one in PUBLIC.items() if inspect.isclass(one) and not issubclass(one, Exception)}


def section(one: Any, title: str) -> str:
    """What stands below a title of its docstring."""
    found = re.search(rf"^{title}:\n((?:[ ]{{4}}.*\n?|\n)+)", inspect.getdoc(one) or "", re.MULTILINE)
    return "" if found is None else dedent(found[1]).strip()


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_described(name: str) -> None:
    assert (PUBLIC[name].__doc__ or "").strip(), name


@pytest.mark.parametrize("name", CALLED)
def test_what_is_called_says_what_it_takes_gives_and_raises(name: str) -> None:
    one = CALLED[name]
    signature = inspect.signature(one)
    taken = [part for part in signature.parameters if part not in ("self", "cls")]
    told = re.findall(r"^(\w+): \S", section(one, "Args"), re.MULTILINE)
    assert told == taken, f"{name} takes {taken}"
    if signature.return_annotation is not None:
        assert section(one, "Returns"), f"{name} gives {signature.return_annotation}"
    raised = re.findall(r"^(\w+): \S", section(one, "Raises"), re.MULTILINE)
    assert bool(raised) != (name in SAFE), f"{name}: what does it raise?"
    for error in raised:
        assert error in ccmtad.__all__, error


@pytest.fixture(scope="module")
def at_hand(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the examples take for granted."""
    train, recent = simulate(1_200, seed=1).frame, simulate(600, seed=2).frame
    broken = recent.values.copy()
    broken[400:440, 3] += 50.0
    recent = type(recent)(broken, recent.channels, recent.times)
    folder = tmp_path_factory.mktemp("docstrings")
    fitted = Detector(epochs=1, width=8, blocks=1, budget="1/200 rows").fit(train)
    fitted.save(folder / "fitted.ccm")
    result = fitted.detect(recent)
    assert result.events
    (folder / "settings.toml").write_text('budget = "1/week"\nwindow = 48\n')
    return {
        **{name: getattr(ccmtad, name) for name in ccmtad.__all__}, "report": report, "plain": results.plain,
        "said_of": results.said_of, "np": np, "train": train, "recent": recent, "folder": folder,
        "result": result, "event": result.events[0], "row": recent.values[0],
    }  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_every_example_runs(
    name: str, at_hand: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = section(SHOWN[name], "Example")
    assert len(example.splitlines()) >= 2, f"{name} has no example of two lines"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.toml").write_bytes((at_hand["folder"] / "settings.toml").read_bytes())
    own, detector = dict(at_hand), Detector.load(at_hand["folder"] / "fitted.ccm")
    if "stream" in example or "step" in example:
        own |= {"stream": detector.stream(), "streams": detector.streams(["pump 1"])}
        own |= {"steps": own["streams"].update({"pump 1": own["row"]})}
    own["detector"] = detector
    if "Detector(" in example:
        own["Detector"] = _Quick
    exec(compile(example, name, "exec"), own)


class _Quick(Detector):
    """Fits in a moment, whatever an example asks for."""

    def fit(self, *given: Any, **more: Any) -> Any:
        self.set_params(epochs=1, width=8, blocks=1)
        return super().fit(*given, **more)

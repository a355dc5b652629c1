"""Files that someone made on purpose: well sealed, and not what any release would write. Refused with a typed error
that names the file and what is wrong, before anything of a size that only the file claims is made."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccmtad import Detector, FileError, InputError, SettingError, Settings, files, model_file, snapshot
from ccmtad.model import check_state
from ccmtad.score.channels import KNOWN_VALUE, OFF
from ccmtad.tables import read
from tests.fuzz.cases import KINDS, run
from tests.fuzz.victims import Victims

Spoil = Callable[[dict[str, Any], dict[str, Any]], object]


@pytest.fixture(scope="module")
def victims() -> Victims:
    return Victims.make()


def spoilt(data: bytes, magic: bytes, version: int, spoil: Spoil) -> bytes:
    arrays, facts = files.open_sealed(data, magic, version, "file")
    arrays = {name: array.copy() for name, array in arrays.items()}
    spoil(arrays, facts)
    return files.seal(magic, int.from_bytes(data[8:10], "big"), arrays, facts)


def load(data: bytes, folder: Path) -> Detector:
    (folder / "m.ccm").write_bytes(data)
    return Detector.load(folder / "m.ccm")


SIZES: dict[str, tuple[Spoil, str]] = {
    "mixers": (lambda _, f: f["settings"].update(mixers=10**6), "mixers must be a whole number from 1 to 1000"),
    "mixers without weights": (lambda _, f: f["settings"].update(mixers=900), "weights for every mixer; got 900"),
    "smooth": (lambda _, f: f["settings"].update(smooth=2 * 10**7), "smooth must be a whole number from 1 to 100000"),
    "settle": (lambda _, f: f["settings"].update(settle=10**9), "settle must be a whole number from 0 to 100000"),
    "persistence": (lambda _, f: f["settings"].update(persistence=10**9), "persistence must be a whole number from 1"),
    "window": (lambda _, f: f["settings"].update(window=10**8, temporal_mixer="none"), "window must be a whole number"),
    "width": (lambda _, f: f["settings"].update(width=90_000), "as float32 of shape"),
    "a cluster": (lambda a, _: a["clusters"].__setitem__(0, 10**8), "clusters 0, 1, 2"),
}


@pytest.mark.parametrize("what", list(SIZES))
def test_a_size_that_nothing_in_the_file_backs_is_refused_before_memory_is_taken(
    victims: Victims, tmp_path: Path, what: str
) -> None:
    spoil, message = SIZES[what]
    data = spoilt(victims.model, model_file.MAGIC, model_file.VERSION, spoil)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=message) as told:
            load(data, tmp_path).stream()
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert "m.ccm" in str(told.value)


def test_what_a_stream_remembers_stays_within_reason() -> None:
    check_state(Settings(smooth=100_000), 300)
    with pytest.raises(SettingError, match="smooth must be at most 33,554 rows for 1,000 channels; got 100,000"):
        check_state(Settings(smooth=100_000), 1_000)


MODELS: dict[str, Spoil] = {
    "support is a list": lambda _, f: f.update(support=[1, 2]),
    "support without an end": lambda _, f: f["support"].pop("low"),
    "support is no number": lambda _, f: f["support"].update(low=float("nan")),
    "support of no budget": lambda _, f: f["support"].update(wanted=None),
    "losses at infinity": lambda a, _: a["calibration.reference"].fill(np.inf),
    "history is text": lambda _, f: f["extra"].update(history="abc"),
    "history of text": lambda _, f: f["extra"]["history"][0].update(validation="low"),
    "history of nothing": lambda _, f: f["extra"]["history"][0].update(validation=None),
    "params are a list": lambda _, f: f["extra"].update(params=[]),
    "a track of nothing": lambda _, f: f["scales"].__setitem__(0, []),
    "a level of 1e308": lambda _, f: f["scales"][0].__setitem__(1, 1e308),
    "a threshold that is text": lambda _, f: f.update(threshold="5"),
    "a period of 1e308": lambda _, f: f.update(period=1e308),
    "named by a number": lambda _, f: f.update(named=1),
    "half a character": lambda _, f: f["channels"].__setitem__(0, "\ud800"),
    "a device that is half a character": lambda _, f: f["settings"].update(device="\ud800"),
    "a limit of nothing": lambda a, _: [a[name].fill(0) for name in ("tails.start", "tails.least", "tails.most")],
    "a middle at infinity": lambda a, _: a["tails.middle"].fill(np.inf),
    "a channel that guesses itself": lambda a, _: np.fill_diagonal(a["guess.weight"], 0.5),
    "a guess of 1e308": lambda a, _: a["guess.bias"].fill(1e308),
    "guesses of half the channels": lambda a, _: a.update({"guess.weight": a["guess.weight"][:1]}),
    "a unit of nearly nothing": lambda a, _: a["combiner.unit"].fill(5e-324),
    "losses of 1e308": lambda a, _: a["calibration.reference"].fill(1e308),
    "feedback is text": lambda _, f: f.update(feedback="abc"),
    "feedback of a size of 1e308": lambda _, f: f["feedback"][0].update(severity=1e308),
    "feedback in a time zone": lambda _, f: f["feedback"][0].update(start="2026-01-01T00:00:00-01:00"),
    "feedback in a time zone of one letter": lambda _, f: f["feedback"][0].update(start="2026-01-01 00:00z"),
    "feedback at no time": lambda _, f: f["feedback"][0].update(start="soon"),
    "feedback on half a character": lambda _, f: f["feedback"][0].update(event="\udcff"),
}


@pytest.mark.parametrize("what", list(MODELS))
def test_a_crafted_model_is_a_file_error_that_names_the_file(victims: Victims, tmp_path: Path, what: str) -> None:
    data = spoilt(victims.model, model_file.MAGIC, model_file.VERSION, MODELS[what])
    with pytest.raises(FileError, match=r"model file '.*m\.ccm'") as told:
        load(data, tmp_path)
    assert "something else" not in str(told.value)


STATES: dict[str, Spoil] = {
    "a level of 1e308": lambda _, f: f["tracks"][0].update(level=1e308),
    "shares below 0": lambda _, f: f["stream"].update(shares=[-1.0] * 10),
    "a weight of 0": lambda _, f: f["stream"].update(weight=0.0),
    "blame below 0": lambda a, _: a["blame"].fill(-1.0),
    "a count that would wrap": lambda _, f: f["stream"].update(rows=2**63 - 1),
    "a count of channels that would wrap": lambda a, _: a["counts"].fill(2**63 - 1),
    "a time that is no time": lambda _, f: f["stream"].update(last_time=2**63),
    "a negative error": lambda a, _: a["peaks"].fill(-1.0),
    "levels not in order": lambda a, _: a["settling"].__setitem__((0, 0), 700.0),
    "excursions of the far future": lambda a, _: a["traces"].__setitem__((KNOWN_VALUE, 0), 1e308),
    "a channel astray by 1e308": lambda a, _: a["traces"].__setitem__((OFF, 0), 1e308),
    "a stream that is a list": lambda _, f: f.update(stream=[]),
    "tracks that are text": lambda _, f: f.update(tracks="ab"),
}
OLD: dict[str, Spoil] = {
    "a tally that is a list": lambda _, f: f.update(tally=[]),
    "a tally of text": lambda _, f: f["tally"].update(rows="x"),
    "a level of half a pair": lambda _, f: f["tracks"][0].update(level=[1.0]),
    "a level of 1e308": lambda _, f: f["tracks"][0].update(level=[1e308, 0]),
    "a peak of 1e308": lambda _, f: f["life"].update(peak=1e308),
    "blame of another length": lambda a, _: a.update(blame=np.zeros(9)),
}


@pytest.mark.parametrize("what", [*STATES, *(f"{name} (version 2)" for name in OLD)])
def test_a_crafted_snapshot_is_a_file_error_and_changes_nothing(victims: Victims, what: str) -> None:
    new = what in STATES
    state, detector = (victims.state, victims.detector) if new else (victims.old_state, victims.old_detector)
    spoil = STATES[what] if new else OLD[what.removesuffix(" (version 2)")]
    stream = detector.stream(resume=state)
    before = stream.snapshot()
    with pytest.raises(FileError, match="snapshot must|feedback must"):
        stream.resume(spoilt(state, snapshot.MAGIC, snapshot.VERSION, spoil))
    assert stream.snapshot() == before


def test_json_that_is_no_json_is_refused(victims: Victims) -> None:
    data = spoilt(victims.model, model_file.MAGIC, model_file.VERSION, lambda _, f: f["extra"].update(x=float("inf")))
    with pytest.raises(FileError, match="got Infinity, which is no number"):
        model_file.loads(data)


def test_a_long_file_of_another_kind_is_not_read_to_its_end() -> None:
    with pytest.raises(FileError, match="this is another kind of file"):
        Detector.load("/dev/zero")


@pytest.mark.parametrize("kind", list(KINDS))
def test_some_hundred_hostile_files(victims: Victims, kind: str) -> None:
    """`python -m tests.fuzz` makes as many as asked for."""
    run(victims, kind, 0, 3)  # what is loaded and compiled once is no case's memory
    counts, findings = run(victims, kind, 0, 60)
    assert findings == []
    assert counts["refused"] > 0
    assert counts.total() == 60


def test_whole_files_are_accepted(victims: Victims, tmp_path: Path) -> None:
    from tests.fuzz.victims import use_model, use_state, use_table

    use_model(victims.model, tmp_path)
    use_model(victims.old_model, tmp_path)
    use_state(victims.detector, victims.state)
    use_state(victims.old_detector, victims.old_state)
    for name, data in victims.tables:
        use_table(victims.detector, name, data, tmp_path)


def test_a_parquet_file_that_polars_panics_at_is_an_input_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"data '.*panic\.parquet' must be a whole"):
        read(Path(__file__).parent / "golden" / "panic.parquet")
    capfd.readouterr()


def test_an_error_tells_of_any_value_and_never_fails_itself() -> None:
    for value in (10**5_000, "x" * 10**6, "\x1b[31m\u202e"):
        with pytest.raises(SettingError, match="window must be a whole number from 2 to 10000; got") as told:
            Settings(window=value)  # type: ignore[arg-type]
        assert len(str(told.value)) < 300
        assert str(told.value).isprintable() or "…" in str(told.value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"gap": 1e300}, "gap must be a positive number of at most 1e+09; got 1e+300"),
        ({"learning_rate": 1e300}, "learning_rate must be a positive number of at most 1e+30; got 1e+300"),
        ({"duration": 10**6}, "duration must be a whole number from 1 to 10000; got 1000000"),
        ({"patience": 10**30}, "patience must be a whole number from 1 to 1000000000; got 1"),
        ({"budget": "1/" + "9" * 400 + " rows"}, "budget must read like"),
        ({"budget": "0." + "0" * 320 + "1/5 rows"}, "budget must read like"),
    ],
)
def test_settings_that_no_machine_could_follow_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as told:
        Settings(**setting)
    assert message in str(told.value)
    assert json.dumps(str(told.value))

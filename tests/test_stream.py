"""A stream gives the answer of a batch, survives anything, and resumes exactly."""

import copy
import io
import math
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad import ChannelError, Detection, Detector, Event, Frame, InputError, NotFittedError, Step, batch
from ccmtad.compiled import available
from ccmtad.network.engine import Engine
from ccmtad.record import Layout
from ccmtad.score import events
from ccmtad.score.accumulate import accumulate
from ccmtad.simulate import Fault, Run, schedule, simulate
from ccmtad.stream import Stream
from ccmtad.streams import Streams

Array = NDArray[np.float64]
BOTH = [
    pytest.param(True, id="numba", marks=pytest.mark.skipif(not available(), reason="pip install 'ccmtad[fast]'")),
    pytest.param(False, id="numpy"),
]


@pytest.fixture(scope="module")
def faulty() -> Run:
    faults = (
        Fault("sensor bias", "FIT501", 400, 500, 4.0, ("FIT501",)),
        Fault("frozen sensor", "DPIT301", 800, 950, 1.0, ("DPIT301",)),
    )
    return simulate(1_400, seed=12, faults=faults)


def untidy(run: Run, seed: int = 0) -> Frame:
    """The run with missing values, a dead sensor, an outage, gaps, late and duplicate rows."""
    random = np.random.default_rng(seed)
    values, times = run.values.copy(), run.times.copy()
    values[random.random(values.shape) < 0.01] = np.nan
    values[300:420, 5] = np.nan
    values[600:660] = np.nan
    values[:30, 9] = np.nan
    times[450:] += np.timedelta64(3_600 * 10**9, "ns")
    times[1_000:] += np.timedelta64(7_200 * 10**9, "ns")
    times[430] = times[425]
    times[900:903] = times[880:883]
    return Frame(values, run.channels, times)


def steps_of(stream: Stream, frame: Frame) -> list[Step]:
    times: Any = [None] * len(frame) if frame.times is None else frame.times
    return [stream.update(row, time) for row, time in zip(frame.values, times, strict=True)]


def events_of(steps: list[Step]) -> tuple[Event, ...]:
    """What a listener has at the end: the last word on each event, by its alarm."""
    last = {change.event.id: change.event for step in steps for change in step.changes}
    return tuple(last.values())


def assert_same(steps: list[Step], result: Detection) -> None:
    np.testing.assert_allclose([step.loss for step in steps], result.loss, rtol=1e-5)
    for name in ("pvalue", "evidence", "score", "alarm"):
        np.testing.assert_array_equal([getattr(step, name) for step in steps], getattr(result, name), err_msg=name)
    found = events_of(steps)
    bounds = [(e.start, e.alarm, e.end, e.start_time, e.alarm_time, e.end_time) for e in found]
    assert bounds == [(e.start, e.alarm, e.end, e.start_time, e.alarm_time, e.end_time) for e in result.events]
    for one, other in zip(found, result.events, strict=True):
        assert one.kind == other.kind
        assert one.severity == pytest.approx(other.severity, rel=1e-5)
        assert one.channels[:2] == other.channels[:2]
        np.testing.assert_allclose(sorted(one.blame), sorted(other.blame), atol=1e-5)


@pytest.mark.parametrize("compiled", BOTH)
@pytest.mark.parametrize("tidy", [True, False])
def test_a_stream_gives_the_answer_of_a_batch(fitted: Detector, faulty: Run, compiled: bool, tidy: bool) -> None:
    model = fitted.model_
    engine = Engine(model.weights, model.architecture, compiled)
    frame = faulty.frame if tidy else untidy(faulty)
    stream = Stream(model, engine)
    steps = steps_of(stream, frame)
    result = batch.detect(model, engine, frame)
    assert_same(steps, result)
    np.testing.assert_allclose(np.stack([step.blame for step in steps]), result.blame, atol=1e-5)
    assert len(result.events) >= 2


@pytest.mark.parametrize(
    "switch",
    [
        {"smooth": 7},
        {"mixers": 3},
        {"temporal_mixer": "none"},
        {"temporal_mixer": "plain", "causal_mask": "unit"},
        {"embedding_mixer": False},
        {"preset": "paper", "width": 32, "epochs": 1},
        {"combine": "scaled mean", "expansion": 2},
        {"duration": 3, "cooldown": 30, "settle": 50, "accept": 20},
    ],
    ids=str,
)
def test_every_switch_streams_as_it_detects(plant: Run, faulty: Run, switch: dict[str, Any]) -> None:
    detector = Detector(**{"epochs": 1, "width": 16, **switch}).fit(plant.frame)
    frame = untidy(faulty)
    assert_same(steps_of(detector.stream(), frame), detector.detect(frame))


def test_a_fitted_tail_streams_as_it_detects_to_the_last_digits(plant: Run, faulty: Run) -> None:
    """Its p-values are continuous, so that a last-bit difference of the loss shows in them."""
    detector = Detector(epochs=1, width=16, tail="pareto").fit(plant.frame)
    frame = untidy(faulty)
    steps, result = steps_of(detector.stream(), frame), detector.detect(frame)
    np.testing.assert_allclose([step.pvalue for step in steps], result.pvalue, rtol=1e-9)
    np.testing.assert_allclose([step.score for step in steps], result.score, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal([step.alarm for step in steps], result.alarm)


def test_compiled_and_plain_kernels_agree(fitted: Detector, faulty: Run) -> None:
    if not available():
        pytest.skip("numba is missing: pip install 'ccmtad[fast]'")
    model = fitted.model_
    series = model.series(faulty.frame)
    fast, plain = (
        batch.losses(Engine(model.weights, model.architecture, on), model.combiner, series.rows, series.ends)
        for on in (True, False)
    )
    np.testing.assert_allclose(fast, plain, rtol=1e-3)
    assert float(np.median(np.abs(fast / plain - 1))) < 1e-5


@settings(max_examples=8)
@given(st.integers(0, 1_390), st.booleans())
def test_a_resumed_stream_goes_on_bit_for_bit(fitted: Detector, faulty: Run, row: int, tidy: bool) -> None:
    frame = faulty.frame if tidy else untidy(faulty)
    assert frame.times is not None
    stream = fitted.stream()
    for values, time in zip(frame.values[:row], frame.times[:row], strict=True):
        stream.update(values, time)
    resumed = fitted.stream(resume=stream.snapshot())
    for values, time in zip(frame.values[row:], frame.times[row:], strict=True):
        assert facts(stream.update(values, time)) == facts(resumed.update(values, time))
    assert stream.snapshot() == resumed.snapshot()


def facts(step: Step) -> tuple[Any, ...]:
    """Everything a step says, comparable: NaN as text."""
    plain = (step.index, step.ready, repr(step.loss), step.pvalue, step.evidence, step.score, step.alarm)
    return (*plain, step.changes, step.health, step.notes, step.blame.tobytes())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda stream: pickle.loads(pickle.dumps(stream))])
@pytest.mark.parametrize("compiled", BOTH)
def test_a_copy_goes_its_own_way(
    fitted: Detector, faulty: Run, compiled: bool, copied: Callable[[Stream], Stream]
) -> None:
    model, values = fitted.model_, faulty.frame.values
    alone, stream = (Stream(model, Engine(model.weights, model.architecture, compiled)) for _ in range(2))
    for row in values[:400]:
        assert alone.update(row).score == stream.update(row).score
    other = copied(stream)
    for row in values[700:800]:
        other.update(row)
    assert [alone.update(row).score for row in values[400:600]] == [stream.update(row).score for row in values[400:600]]
    assert (stream.tally.rows, other.tally.rows) == (600, 500)


@settings(max_examples=5)
@given(st.integers(0, 600), st.integers(0, 100))
def test_a_stream_cannot_know_the_future(fitted: Detector, faulty: Run, t: int, seed: int) -> None:
    frame = untidy(faulty)
    assert frame.times is not None
    other = frame.values.copy()
    other[t + 1 :] = np.random.default_rng(seed).normal(size=other[t + 1 :].shape)
    one, two = fitted.stream(), fitted.stream()
    for row in range(t + 20):
        first, second = one.update(frame.values[row], frame.times[row]), two.update(other[row], frame.times[row])
        if row <= t:
            assert facts(first) == facts(second)
        if row == t:
            assert one.snapshot() == two.snapshot()


RESUME = """
import sys
import numpy as np
from ccmtad import Detector
detector = Detector.load("plant.ccm")
data = np.load("rows.npz")
stream = detector.stream(resume=open("state", "rb").read())
for row, time in zip(data["values"], data["times"]):
    step = stream.update(row, time)
    print(step.index, repr(step.loss), repr(step.score), step.changes, flush=True)
"""


def test_a_killed_process_is_resumed_by_another(fitted: Detector, faulty: Run, tmp_path: Path) -> None:
    fitted.save(tmp_path / "plant.ccm")
    stream = fitted.stream()
    for values, time in zip(faulty.values[:450], faulty.times[:450], strict=True):
        stream.update(values, time)
    (tmp_path / "state").write_bytes(stream.snapshot())  # in the middle of an event
    np.savez(tmp_path / "rows.npz", values=faulty.values[450:600], times=faulty.times[450:600])
    command = [sys.executable, "-c", RESUME]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment) as killed:
        assert killed.stdout is not None
        killed.stdout.readline()
        killed.kill()
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = []
    for values, time in zip(faulty.values[450:600], faulty.times[450:600], strict=True):
        step = stream.update(values, time)
        expected.append(f"{step.index} {step.loss!r} {step.score!r} {step.changes}")
    assert again.stdout.splitlines() == expected


def test_the_life_of_an_event(fitted: Detector, faulty: Run) -> None:
    steps = steps_of(fitted.stream(), faulty.frame)
    first = next(i for i, step in enumerate(steps) if i >= 400 and [c.what for c in step.changes] == ["opened"])
    opened = steps[first].changes[0].event
    assert opened.open
    assert opened.start < opened.alarm == first
    assert steps[first].alarm
    following = [change for step in steps[first:] for change in step.changes if change.event.id == opened.id]
    changes = [change.what for change in following]
    assert changes[1] == "updated"
    assert changes[-1] == "final"
    assert set(changes) <= {"opened", "updated", "resolved", "reopened", "final"}
    assert all(change.event.end is not None for change in following if change.what in ("resolved", "final"))


def test_an_event_reopens_before_the_score_returns_to_zero() -> None:
    life = Layout(events.FIELDS).plain()
    evidence = [-1.0, 4.0, 4.0, -4.0, 3.0, 3.0, -3.0, -2.0, -9.0]
    scores = [0.0, 4.0, 8.0, 4.0, 7.0, 10.0, 7.0, 5.0, 0.0]
    changes = [
        events.CHANGES[events.follow(life, t, 0, b, s, s > 5.0, s)]
        for t, (b, s) in enumerate(zip(evidence, scores, strict=True))
    ]
    assert changes == [None, None, "opened", "resolved", "reopened", "updated", "updated", "resolved", "final"]
    assert (life.start, life.alarm, life.end, life.peak) == (0, 2, 5, 10.0)


@given(
    st.lists(st.sampled_from([-3.0, -0.5, 0.5, 1.0, 4.0, math.nan]), min_size=1, max_size=60),
    st.sampled_from([0.4, 2.0, 4.0]),
)
def test_events_followed_live_are_those_found_afterwards(evidence: list[float], threshold: float) -> None:
    score = accumulate(np.array(evidence), 5, "carried")
    life = Layout(events.FIELDS).plain()
    last: dict[int, tuple[int, int, int | None, float]] = {}
    for t, (b, s) in enumerate(zip(evidence, score.tolist(), strict=True)):
        change = events.unjudged(life) if math.isnan(b) else events.follow(life, t, 0, b, s, s > threshold, s)
        if change:
            last[life.alarm] = (life.start, life.alarm, None if life.in_alarm else life.end, life.peak)
    found = events.find(score, np.array(evidence), score > threshold)
    assert list(last.values()) == [(s.onset, s.alarm, None if s.open else s.offset, s.peak) for s in found]


def test_rows_may_be_sequences_mappings_or_arrays(fitted: Detector, faulty: Run) -> None:
    row = faulty.values[0]
    named = dict(zip(faulty.channels, row, strict=True))
    shuffled = {name: named[name] for name in reversed(faulty.channels)}
    for form in (row, row.tolist(), tuple(row), named, shuffled, row.astype(object), pd.Series(shuffled)):
        stream = fitted.stream()
        for _ in range(30):
            step = stream.update(form)
        assert step.loss == pytest.approx(_loss_of(fitted, row), rel=1e-12)


def _loss_of(fitted: Detector, row: Array) -> float:
    stream = fitted.stream()
    return [stream.update(row) for _ in range(30)][-1].loss


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ([1.0, 2.0], ChannelError, r"row must have 53 values, one per channel; got shape \(2,\)"),
        ({"LIT101": 1.0}, ChannelError, "missing: 'FIT101', 'MV101'"),
        (["x"] * 53, InputError, "row must hold numbers"),
        ("1" * 53, InputError, "row must be a sequence, an array or a mapping"),
        (set(range(53)), InputError, "row must be a sequence, an array or a mapping"),
        ([10**400, *range(52)], InputError, "row must hold numbers"),
        (np.zeros(53, dtype=complex), InputError, "row must hold numbers; got values of type complex128"),
        (pd.Series(np.zeros(53)), ChannelError, "missing: 'LIT101'"),
        (np.zeros((53, 2)), ChannelError, r"got shape \(53, 2\)"),
    ],
)
def test_a_wrong_row_is_an_error_and_changes_nothing(
    fitted: Detector, row: Any, error: type[Exception], message: str
) -> None:
    stream = fitted.stream()
    before = stream.snapshot()
    with pytest.raises(error, match=message):
        stream.update(row)
    with pytest.raises(InputError, match="time must be a datetime, an ISO date and time, or seconds"):
        stream.update(np.zeros(53), time="yesterday")
    assert stream.snapshot() == before


def test_an_infinite_value_is_a_missing_one(fitted: Detector, faulty: Run) -> None:
    stream = fitted.stream()
    row = faulty.values[0].copy()
    row[3] = math.inf
    step = stream.update(row)
    assert step.notes == (f"missing, left out: {faulty.channels[3]}",)
    assert stream.tally.missing == 1


def test_a_masked_value_is_a_missing_one(fitted: Detector, faulty: Run) -> None:
    stream = fitted.stream()
    stream.update(np.ma.masked_array(faulty.values[0], np.arange(53) == 7))
    assert stream.tally.missing == 1
    assert stream.lanes.age[0, 7] == -1


def test_numbers_too_large_to_average_are_not_judged(plant: Run) -> None:
    detector = Detector(epochs=1, width=8, window=6, smooth=3).fit(plant.frame)
    rows = plant.values[:60].copy()
    rows[30, 3], rows[31, 3] = 1.7e308, -1.7e308
    with np.errstate(over="ignore", invalid="ignore"):
        assert_same(
            steps_of(detector.stream(), Frame(rows, plant.channels)), detector.detect(Frame(rows, plant.channels))
        )


def test_rows_without_a_time_do_not_look_like_a_gap(fitted: Detector, faulty: Run) -> None:
    stream = fitted.stream()
    for i in range(60):
        step = stream.update(faulty.values[i], None if 20 <= i < 50 else faulty.times[i])
        assert step.ready == (i >= 23)
    assert stream.tally.gaps == 0


def test_odd_rows_are_counted_and_noted(fitted: Detector, faulty: Run) -> None:
    stream = fitted.stream()
    steps = steps_of(stream, untidy(faulty))
    assert stream.tally.rows == 1_400
    assert stream.tally.late == 1 + 3
    assert stream.tally.gaps == 2
    assert steps[430].notes == ("late or duplicate row ignored",)
    assert steps[450].notes[0] == "gap of 3660 s: window restarted"
    assert any(note.startswith("missing, last value held") for note in steps[310].notes)
    assert any(note.startswith("missing, left out") for note in steps[400].notes)


@pytest.mark.parametrize(
    "time",
    [
        datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 0, 0, 1),
        "2026-01-01T00:00:01",
        "2026-01-01T01:00:01+01:00",
        np.datetime64("2026-01-01T00:00:01"),
        pd.Timestamp("2026-01-01T00:00:01"),
        1767225601,
        1767225601.0,
    ],
)
def test_times_of_every_sort_are_understood(fitted: Detector, time: Any) -> None:
    stream = fitted.stream()
    stream.update(np.zeros(53), time)
    assert stream.last_time == 1767225601 * 10**9


@pytest.mark.parametrize(
    "time", [pd.NaT, datetime(3000, 1, 1), np.datetime64("2300-01-01"), True, math.nan, 1e18, b"x"]
)
def test_a_time_that_is_none_is_refused(fitted: Detector, time: Any) -> None:
    stream = fitted.stream()
    stream.update(np.zeros(53), 1e9)
    with pytest.raises(InputError, match="from 1678 to 2261; got"):
        stream.update(np.zeros(53), time)


def test_nanoseconds_of_a_timestamp_count(fitted: Detector) -> None:
    stream = fitted.stream()
    for i in range(4):
        stream.update(np.zeros(53), pd.Timestamp(10**18 + 100 * i))
    assert stream.tally.late == 0


@pytest.mark.parametrize("compiled", BOTH)
def test_many_streams_step_as_each_alone(fitted: Detector, compiled: bool) -> None:
    model = fitted.model_
    engine = Engine(model.weights, model.architecture, compiled)
    runs = {key: simulate(500, seed=30 + i, faults=schedule(500, count=1)) for i, key in enumerate("abc")}
    together = Streams(model, runs, engine)
    alone = {key: Stream(model, engine) for key in runs}
    random = np.random.default_rng(0)
    changed = 0
    for t in range(500):
        chosen = [key for key in runs if random.random() < 0.9]
        answers = together.update({key: runs[key].values[t] for key in chosen}, runs["a"].times[t])
        assert list(answers) == chosen
        for i, key in enumerate(chosen):
            step = alone[key].update(runs[key].values[t], runs["a"].times[t])
            np.testing.assert_allclose(answers[key].loss, step.loss, rtol=1e-9)
            assert answers.score[i] == answers[key].score == step.score
            assert answers.alarm[i] == answers[key].alarm == step.alarm
            found = answers.changes.get(key, ())
            assert [(c.what, c.event.id) for c in found] == [(c.what, c.event.id) for c in step.changes]
            changed += len(found)
    assert changed >= 2
    for key in runs:
        assert together.tally(key) == alone[key].tally
        assert together.health(key) == alone[key].health


def test_streams_refuse_what_is_wrong_before_anything_changes(fitted: Detector) -> None:
    row = np.zeros(53)
    together = fitted.streams("ab")
    together.update({"a": row, "b": row}, 1e9)
    before = together.snapshot()
    with pytest.raises(InputError, match="rows must be for the keys of these streams; got 'z'"):
        together.update({"z": row})
    for rows, time, error in (
        ({"a": row, "b": [1.0]}, None, ChannelError),
        ({"a": row, "b": row}, {"a": 1e9, "b": pd.NaT}, InputError),
        ({"a": row, "b": row}, {"a": 1e9, "b": datetime.max}, InputError),
        ({"a": row, "b": row}, {"a": 1e9, "B": 1e9}, InputError),
    ):
        with pytest.raises(error):
            together.update(rows, time)
    assert together.snapshot() == before
    resumed = fitted.streams("abc", resume=before)
    assert {key: state for key, state in resumed.snapshot().items() if key != "c"} == before
    assert resumed.tally("c").rows == 0
    assert fitted.stream(resume=before["a"]).snapshot() == before["a"]  # one key is a stream of its own
    with pytest.raises(InputError, match="resume must be for the keys"):
        fitted.streams("ab", resume={"z": before["a"]})


def test_keys_come_and_go(fitted: Detector, faulty: Run) -> None:
    together, alone = fitted.streams("a"), fitted.stream()
    for t in range(60):
        if t == 20:
            together.add("b", "c", "d")
        if t == 30:
            together.drop("c")
        if t == 40:
            together.add("e")
        answers = together.update(dict.fromkeys(together.keys, faulty.values[t]), faulty.times[t])
        assert answers["a"].loss == pytest.approx(alone.update(faulty.values[t], faulty.times[t]).loss, nan_ok=True)
    assert together.keys == ("a", "b", "d", "e")
    assert [together.tally(key).rows for key in together.keys] == [60, 40, 40, 20]
    assert not answers["e"].ready  # it took c's place, and nothing of what c knew
    with pytest.raises(InputError, match="keys must be new; got 'a'"):
        together.add("a")
    with pytest.raises(InputError, match="got 'c'"):
        together.drop("c")


def test_a_centred_average_cannot_stream(plant: Run) -> None:
    detector = Detector(epochs=1, width=8, smooth=5, smoothing="centred").fit(plant.frame)
    with pytest.raises(InputError, match="a stream must be online"):
        detector.stream()


def test_a_stream_needs_a_fitted_model() -> None:
    with pytest.raises(NotFittedError):
        Detector().stream()
    with pytest.raises(NotFittedError):
        Detector().streams("ab")


def machines() -> Iterator[tuple[str, Array, Array]]:
    archive = Path(os.environ.get("CCMTAD_DATA", ".")) / "SMD.zip"
    if not archive.exists():
        pytest.skip(
            "SMD.zip is missing: put OmniAnomaly's ServerMachineDataset there and name its folder in CCMTAD_DATA"
        )
    with zipfile.ZipFile(archive) as opened:
        names = sorted(n for n in opened.namelist() if "/train/" in n and n.endswith(".txt"))[:5]
        for name in names:
            parts = [
                np.loadtxt(io.BytesIO(opened.read(n)), delimiter=",") for n in (name, name.replace("/train/", "/test/"))
            ]
            yield name, parts[0], parts[1]


@pytest.mark.slow
@pytest.mark.parametrize("compiled", BOTH)
def test_streams_equal_batches_on_real_telemetry(
    compiled: bool, telemanom: Callable[[str], tuple[Array, Array]]
) -> None:
    entities = ("M-1", "T-4", "C-1", "F-7", "P-10", "P-1", "S-1", "E-1", "A-1", "D-2")
    cases = [(name, *telemanom(name)) for name in entities] + list(machines())
    for name, train, test in cases:
        detector = Detector(epochs=3).fit(train)
        engine = Engine(detector.model_.weights, detector.model_.architecture, compiled)
        stream = Stream(detector.model_, engine)
        recent = Frame.of(test[:6_000])
        steps = steps_of(stream, recent)
        result = batch.detect(detector.model_, engine, recent)
        np.testing.assert_allclose([s.loss for s in steps], result.loss, rtol=1e-5, err_msg=name)
        assert [(e.start, e.alarm, e.end) for e in events_of(steps)] == [
            (e.start, e.alarm, e.end) for e in result.events
        ], name

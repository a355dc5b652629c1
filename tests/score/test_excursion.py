"""Channels that go beyond their limits in the middle of an anomaly that they have no part in."""

import copy
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ccmtad import Detection, Detector, Event
from ccmtad.calibrate.feedback import LARGEST_SIZE
from ccmtad.files import open_sealed, seal
from ccmtad.network.engine import Engine
from ccmtad.results import plain
from ccmtad.score import channels
from ccmtad.score.channels import ABOVE, BELOW, BEYOND, BLAME, EXCURSION, MIDDLE, NOTICED, OWN, PART, Signals
from ccmtad.score.events import FINAL, NONE, OPENED, UPDATED
from ccmtad.score.kinds import A_PART, ONE_STORY, excursion
from ccmtad.snapshot import MAGIC
from ccmtad.stream import Stream
from ccmtad.streams import Streams

from .test_signals import waves

Floats = NDArray[np.float64]
FAULT = slice(1_000, 1_400)  # of the first channel
LIMITS = np.ones((8, 3))


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector(epochs=2, width=16, blocks=1).fit(waves(4_000))


def faulty(damage: Callable[[Floats], None]) -> Floats:
    values = waves(2_000, seed=1)
    values[FAULT, 0] += 4.0
    damage(values)
    return values


def excursions(found: Detection) -> list[Event]:
    return [one for one in found.events if one.kind == "excursion"]


def jump(values: Floats) -> None:
    values[1_200:1_210, 3] += 10.0


def test_another_channel_that_breaks_in_the_middle_of_an_anomaly_is_told_at_once(detector: Detector) -> None:
    found = detector.detect(faulty(jump))
    (one,) = excursions(found)
    assert (one.start, one.alarm, one.end, one.channels) == (1_200, 1_200, 1_209, ("3",))
    assert one.severity > 2.0
    assert one.peaks[0].value is not None
    assert one.peaks[0].value > 8.0
    assert one.sentence.startswith("3 at ")
    assert "beyond its own limits (usually" in one.sentence
    assert found.alarms["anomaly"][1_200]
    assert found.alarms["excursion"].nonzero()[0].tolist() == list(range(1_200, 1_210))


def test_a_stream_tells_the_same(detector: Detector) -> None:
    rows = faulty(jump)
    stream, told, frozen = detector.stream(), [], b""
    for i, row in enumerate(rows):
        if i == 1_205:
            frozen = stream.snapshot()
        told += [(i, one.what, one.event) for one in stream.update(row).changes if one.event.kind == "excursion"]
    assert [(i, what) for i, what, _ in told if what != "updated"] == [(1_200, "opened"), (1_210, "final")]
    assert [told[-1][2]] == excursions(detector.detect(rows))
    again = detector.stream(resume=frozen)
    resumed = [one for row in rows[1_205:] for one in again.update(row).changes if one.event.kind == "excursion"]
    assert [one.event for one in resumed if one.what == "final"] == [told[-1][2]]


def test_what_begins_with_an_anomaly_belongs_to_it(detector: Detector) -> None:
    def at_once(values: Floats) -> None:
        values[1_000 + ONE_STORY - 4 : 1_100, 3] += 10.0

    assert not excursions(detector.detect(faulty(at_once)))


def test_the_channel_that_did_it_goes_on_no_excursion_of_its_own(detector: Detector) -> None:
    def worse(values: Floats) -> None:
        values[1_200:1_210, 0] += 40.0

    assert not excursions(detector.detect(faulty(worse)))


def test_by_itself_it_is_an_anomaly_and_nothing_else(detector: Detector) -> None:
    values = waves(2_000, seed=1)
    jump(values)
    assert {one.kind for one in detector.detect(values).events} == {"anomaly"}


def test_a_second_channel_joins_the_first(detector: Detector) -> None:
    def both(values: Floats) -> None:
        jump(values)
        values[1_205:1_220, 2] += 20.0

    (one,) = excursions(detector.detect(faulty(both)))
    assert one.channels == ("2", "3")
    assert (one.start, one.end) == (1_200, 1_219)


def test_a_dismissed_excursion_is_not_told_again(detector: Detector) -> None:
    rows = faulty(jump)
    (one,) = excursions(detector.detect(rows))
    detector.dismiss(one)
    milder = excursions(detector.detect(rows))
    assert [word.kind for word in detector.feedback_] == ["excursion"]
    detector.undo(one)
    assert not milder
    assert excursions(detector.detect(rows)) == [one]


def ramp(values: Floats) -> None:
    values[1_200:1_260, 3] += np.linspace(0, 14, 60)


def test_what_climbs_slowly_and_falls_back_in_one_step_is_told_at_its_farthest(detector: Detector) -> None:
    rows = faulty(ramp)
    (one,) = excursions(detector.detect(rows))
    assert one.peaks[0].value == rows[1_259, 3]
    assert one.sentence.startswith("3 at 14")
    detector.dismiss(one)
    milder = excursions(detector.detect(rows))
    detector.undo(one)
    assert not milder


def test_a_step_between_values_that_are_usual_is_told_as_a_step(detector: Detector) -> None:
    def flip(values: Floats) -> None:
        values[1_200:1_203, 3] = (1.0, -1.0, 1.0)

    (one,) = excursions(detector.detect(faulty(flip)))
    assert one.peaks[0].expected is None
    assert one.sentence.startswith("3 moving by 2 in one row, further than it does")


def test_one_that_grows_goes_on_being_told(detector: Detector) -> None:
    rows = faulty(ramp)
    stream, told = detector.stream(), []
    for row in rows[:1_255]:
        told += [one for one in stream.update(row).changes if one.event.kind == "excursion"]
    assert told[0].what == "opened"
    assert {one.what for one in told[1:]} == {"updated"}
    assert [one.event.severity for one in told] == sorted(one.event.severity for one in told)
    assert [told[-1].event] == excursions(detector.detect(rows[:1_255]))


def test_it_is_over_once_its_channel_is_missing(detector: Detector) -> None:
    def dies(values: Floats) -> None:
        values[1_200:1_203, 3] += 10.0
        values[1_203:1_380, 3] = np.nan

    (one,) = excursions(detector.detect(faulty(dies)))
    assert (one.start, one.end) == (1_200, 1_202)


def noisy_ramp(rows: int, seed: int) -> Callable[[Floats], None]:
    def damage(values: Floats) -> None:
        random = np.random.default_rng(seed)
        values[1_100 : 1_100 + rows, 3] += np.linspace(0, 14, rows) + 0.3 * random.normal(size=rows)

    return damage


@pytest.mark.parametrize("rows", [60, 100, 150, 200, 250])
@pytest.mark.parametrize("seed", range(3))
def test_noise_on_a_climb_hides_nothing_of_it(detector: Detector, rows: int, seed: int) -> None:
    """It comes back within its limits for a row, and goes on."""
    values = faulty(noisy_ramp(rows, seed))
    told = excursions(detector.detect(values))
    farthest = [one.peaks[0].value or 0.0 for one in told]
    assert max(farthest) == values[1_100 : 1_100 + rows, 3].max()
    assert len(told) <= 8


def test_severity_goes_on_growing_for_as_long_as_it_goes_further(detector: Detector) -> None:
    def long(values: Floats) -> None:
        values[1_100:1_390, 3] = np.linspace(0, 60, 290)

    model = detector.model_
    (one,) = excursions(detector.detect(faulty(long)[:1_390]))
    middle, above = model.limits[MIDDLE, 3], model.limits[ABOVE, 3]
    assert one.severity >= (60.0 - middle) / above - 1e-9


def test_to_whichever_side_a_dismissed_one_went_it_does_not_come_again(detector: Detector) -> None:
    def damage(values: Floats) -> None:
        values[1_200:1_210, 3] += 40.0
        values[1_200:1_205, 2] = 18.0
        values[1_205:1_210, 2] = -11.0

    rows, told = faulty(damage), copy.deepcopy(detector)
    found = excursions(told.detect(rows))
    assert found
    for one in found:
        told.dismiss(one)
    assert not excursions(told.detect(rows))


def test_of_a_skewed_channel_the_value_that_was_beyond_its_own_side_counts() -> None:
    def skewed(rows: int, seed: int) -> Floats:
        values = waves(rows, seed)
        values[:, 3] = np.random.default_rng(seed).exponential(1, rows)
        return values

    fitted = Detector(epochs=2, width=16, blocks=1).fit(skewed(4_000, 0))
    middle, above, below = fitted.model_.limits[[MIDDLE, ABOVE, BELOW], 3]
    values = skewed(2_000, 1)
    values[FAULT, 0] += 4.0
    values[1_200:1_205, 3] = middle - below - 2.0
    values[1_203, 3] = middle + above - 0.5  # farther from the middle, but within
    (one,) = [e for e in excursions(fitted.detect(values)) if e.alarm == 1_200]
    assert (one.peaks[0].value, one.peaks[0].expected) == (middle - below - 2.0, middle)
    fitted.dismiss(one)
    assert not [e for e in excursions(fitted.detect(values)) if 1_200 <= e.alarm <= 1_205]


def test_one_that_is_dismissed_while_it_goes_on_is_told_as_it_was(detector: Detector) -> None:
    """And what is said of it again, once it is over, still holds."""
    values = faulty(jump)
    stream, told = detector.stream(), []
    for row in values:
        for change in stream.update(row).changes:
            if change.event.kind == "excursion":
                told.append(change)
                stream.dismiss(change.event)
    assert [one.what for one in told] == ["opened", "final"]
    assert told[-1].event.sentence.startswith("3 at 1")
    assert told[0].event.peaks[0].step == pytest.approx(told[-1].event.peaks[0].step)
    later = [change for row in values[1_000:] for change in stream.update(row).changes]
    assert "excursion" not in {change.event.kind for change in later}


def test_many_channels_at_once_are_all_dismissed() -> None:
    random = np.random.default_rng(0)
    train, rows = (
        np.column_stack([np.sin(np.arange(n) / 20 + i) + 0.1 * random.normal(size=n) for i in range(14)])
        for n in (4_000, 2_000)
    )
    rows[FAULT, 0] += 4.0
    rows[1_200:1_210, 3:] += 10.0
    wide = Detector(epochs=2, width=16, blocks=1).fit(train)
    (one,) = excursions(wide.detect(rows))
    assert len(one.channels) == len(one.peaks) == 11
    wide.dismiss(one)
    assert not excursions(wide.detect(rows))


@pytest.mark.parametrize("size", [1e200, 1.7e308])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_huge_value_spoils_no_file(tmp_path: Path, size: float) -> None:
    small = Detector(epochs=2, width=16, blocks=1).fit(0.1 * waves(4_000))
    rows = 0.1 * faulty(lambda _: None)
    rows[1_200:1_202, 3] = size
    (one,) = excursions(small.detect(rows))
    assert one.channels == ("3",)
    assert one.severity == LARGEST_SIZE
    json.dumps(plain(one), allow_nan=False)
    stream = small.stream()
    for i, row in enumerate(rows):
        stream.update(row)
        if i in (1_200, 1_201, 1_300, 1_900):
            small.stream(resume=stream.snapshot())
    small.dismiss(one)
    small.save(tmp_path / "small.ccm")
    assert Detector.load(tmp_path / "small.ccm").feedback_ == small.feedback_


@pytest.mark.parametrize("compiled", [True, False])
def test_every_kind_survives_a_snapshot_and_a_stream_more(detector: Detector, compiled: bool) -> None:
    def everything(values: Floats) -> None:
        jump(values)
        values[1_100:1_350, 2] = np.nan
        values[1_100:1_350, 1] = values[1_100, 1]

    model, rows = detector.model_, faulty(everything)
    engine = Engine(model.weights, model.architecture, compiled)
    streams, stream = Streams(model, ["a"], engine), Stream(model, engine)
    whole = [event.kind for event in detector.detect(rows).events]
    assert {"signal lost", "frozen", "excursion"} <= set(whole)
    told = []
    for i, row in enumerate(rows):
        step = stream.update(row)
        told += [one.event.kind for one in step.changes if one.what == "final"]
        assert streams.update({"a": row})["a"].alarm == step.alarm
        if i in (1_205, 1_300, 1_500):
            frozen, stream = stream.snapshot(), Stream(model, engine)
            stream.resume(frozen)
            streams.add(f"at {i}")
    assert sorted(told) == sorted(whole)


def before_excursions(data: bytes) -> bytes:
    """A snapshot as version 3 wrote it."""
    arrays, facts = open_sealed(data, MAGIC, 4, "snapshot")
    less = {"traces": arrays["traces"][: BLAME + EXCURSION], "peaks": arrays["peaks"][:5]}
    stream = {name: value for name, value in facts["stream"].items() if name not in ("lasted", "distant")}
    stream["seen_by_first"] = facts["tracks"][0]["seen"]
    tracks = [{name: value for name, value in track.items() if name != "seen"} for track in facts["tracks"]]
    facts = {**facts, "stream": stream, "tracks": tracks, "kinds": facts["kinds"][:EXCURSION]}
    return seal(MAGIC, 3, {**arrays, **less}, facts)


@pytest.mark.parametrize("row", [900, 1_010, 1_150, 1_195, 1_300])
def test_a_snapshot_of_before_goes_on_in_the_middle_of_an_anomaly(detector: Detector, row: int) -> None:
    rows = faulty(jump)
    stream = detector.stream()
    for one in rows[:row]:
        stream.update(one)
    again = detector.stream(resume=before_excursions(stream.snapshot()))
    told = [one.event for values in rows[row:] for one in again.update(values).changes if one.what == "final"]
    assert [one for one in told if one.kind == "excursion"] == (
        excursions(detector.detect(rows)) if row < 1_200 else []
    )


def test_the_published_preset_knows_none() -> None:
    fitted = Detector(preset="paper", epochs=2, width=16, window=8).fit(waves(3_000))
    assert "excursion" not in {one.kind for one in fitted.detect(faulty(jump)).events}


@given(st.lists(st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.5, 4.0]), min_size=3, max_size=3), min_size=1, max_size=300))
def test_an_excursion_is_of_channels_without_a_part_and_ends_with_the_anomaly(far: list[list[float]]) -> None:
    """Against what the rule says, with all of the past at hand."""
    state = Signals.fresh(1, 3, False)
    counts, traces, kinds = state.counts[0], state.traces[0], state.conditions[0]
    out: set[int] = set()
    part: dict[int, int] = {}
    told: dict[int, float] = {}
    for row, ratios in enumerate(far):
        lasted = row + 1 if row + 1 < len(far) else 0
        traces[OWN] = traces[BEYOND] = ratios
        counts[channels.FAR_VALUE] = np.array(ratios) > 0.0
        was = set(out)
        change = excursion(kinds, counts, traces, LIMITS, lasted, max(ratios), row, row)
        beyond = {c for c in range(3) if ratios[c] > 0.0}
        if lasted == 0:
            assert change == (FINAL if was else NONE)
            continue
        fresh = {
            c
            for c in beyond
            if c not in part or lasted - part[c] > A_PART or (c in told and ratios[c] > NOTICED * told[c])
        }
        if lasted <= ONE_STORY:
            fresh = set()
        out = out | fresh if out & beyond or fresh else set()
        if not out & beyond:
            out = set()
        told |= {c: max(told.get(c, 0.0), ratios[c]) for c in out & beyond}
        part |= dict.fromkeys(beyond | {0}, lasted)  # all errors are 0: the first is as bad as any
        assert bool(kinds[EXCURSION].open) == bool(out)
        assert change in ({OPENED} if out and not was else {FINAL} if was and not out else {NONE, UPDATED})
        if out:
            assert set(np.flatnonzero(traces[BLAME + EXCURSION]).tolist()) >= out & beyond
    assert (traces[PART] <= len(far)).all()

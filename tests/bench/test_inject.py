"""Faults put into normal rows."""

import json
from pathlib import Path

import numpy as np
import pytest

from ccmtad import Frame, InputError
from ccmtad.bench.datasets import Entity, Truth
from ccmtad.bench.inject import injected, kept_apart
from ccmtad.bench.inject_report import injected_sections
from ccmtad.bench.injected import FAULTS, schedule
from ccmtad.bench.report import title
from ccmtad.bench.run import Plan, run
from ccmtad.bench.summary import groups
from ccmtad.settings import Settings


class Waves:
    """A dataset of one entity that is long enough, and one that is not."""

    name = "SMD"  # whose kept-apart entities are known

    def entities(self) -> list[str]:
        return ["machine-1-1", "machine-1-3", "short"]

    def read(self, entity: str) -> Entity:
        random, rows = np.random.default_rng(len(entity)), 400 if entity == "short" else 3_000
        values = np.column_stack([np.sin(np.arange(rows) / 20 + i) + 0.1 * random.normal(size=rows) for i in range(4)])
        values[:, 3] = 1.0
        frame = Frame(values, tuple("abcd"))
        return Entity(self.name, entity, frame, frame, Truth(np.zeros(rows, dtype=np.bool_)))


def test_a_fault_touches_its_rows_and_channels_alone() -> None:
    values = Waves().read("machine-1-1").train.values
    planned = schedule(values[:2_000], 2_100, 2_900, seed=3)
    assert {one.fault.name for one in planned} == {fault.name for fault in FAULTS}
    assert [one.start for one in planned] == [one.start for one in schedule(values[:2_000], 2_100, 2_900, seed=3)]
    for one in planned:
        changed = one.into(values, values[:2_000])
        rows, channels = np.nonzero((changed != values) & ~(np.isnan(changed) & np.isnan(values)))
        assert set(rows.tolist()) <= set(range(one.start, one.last + 1))
        assert set(channels.tolist()) <= set(one.channels.tolist())
        assert len(rows)
        assert one.start >= 2_100
        assert one.last < 2_900
        if one.fault.touches in (1, 2, -1):
            assert 3 not in one.channels  # it never moves
    big = next(one for one in planned if one.fault.name == "10 ranges, 1 row")
    away = np.abs(big.into(values, values[:2_000]) - values)[big.start, big.channels[0]]
    assert away == pytest.approx(10 * np.ptp(values[:2_000, big.channels[0]]))


def test_a_run_finds_what_cannot_be_missed_and_says_what_is_too_short(tmp_path: Path) -> None:
    out = tmp_path / "injected.jsonl"
    plan = Plan((Waves(),), ("ccmtad", "pca"), seeds=1, settings={"epochs": 2, "width": 16, "blocks": 1}, inject=True)
    records = run(plan, out)
    assert {record["entity"] for record in records} == {"machine-1-1", "short"}  # one is kept apart
    (ours,) = [r for r in records if r["method"] == "ccmtad" and r["entity"] == "machine-1-1"]
    for fault in ("10 ranges, 1 row", "missing", "all missing", "frozen"):
        told = [one for one in ours["faults"] if one["fault"] == fault]
        assert told
        assert all(one["found"] for one in told), fault
    assert all(one["first"] for one in ours["faults"] if one["fault"] == "10 ranges, 1 row")
    assert ours["untouched"]["rows"] == 900
    read = [json.loads(line) for line in out.read_text().splitlines()]
    text = json.dumps([(section.text, section.rows) for section in injected_sections(groups(read), title)])
    assert "Too short to fit and inject into, so left out: short" in text
    assert "10 ranges, 1 row" in text


def test_a_fault_that_changes_nothing_is_said_and_never_found() -> None:
    random, rows = np.random.default_rng(0), 3_000
    seldom = (np.arange(rows) % 700 < 10).astype(np.float64)  # it stands still nearly always
    frame = Frame(np.column_stack([seldom, np.sin(np.arange(rows) / 20) + 0.1 * random.normal(size=rows)]), ("a", "b"))
    entity = Entity("SMD", "machine-1-1", frame, frame, Truth(np.zeros(rows, dtype=np.bool_)))
    records = list(injected(entity, Settings.of(epochs=2, width=16, blocks=1), ("pca",), 0))
    told = [one for record in records for one in record["faults"]]
    unchanged = [one for one in told if not one["changed"]]
    assert {one["fault"] for one in unchanged} >= {"frozen"}
    assert not any(one["found"] for one in unchanged)
    assert all(one["changed"] for one in told if "range" in one["fault"] or "missing" in one["fault"])


def test_entities_kept_apart_need_a_flag() -> None:
    assert len(kept_apart()["SMAP"]) == 11
    with pytest.raises(InputError, match="must not be one that is kept apart"):
        Plan((Waves(),), ("pca",), inject=True, entities=("machine-1-3",)).tasks()
    apart = Plan((Waves(),), ("pca",), inject=True, kept_apart=True).tasks()
    assert {task.entity for task in apart} == {"machine-1-3"}
    with pytest.raises(InputError, match="kept_apart must come with inject"):
        Plan((Waves(),), ("pca",), kept_apart=True)
    with pytest.raises(InputError, match="must reconstruct rows"):
        next(injected(Waves().read("machine-1-1"), Settings.of(blocks=1), ("iforest",), 0))

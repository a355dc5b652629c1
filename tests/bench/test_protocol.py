"""No label reaches a method, shuffled labels give the floor, and a killed run ends as an uninterrupted one."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ccmtad import Detector, FileError, Frame, InputError, MissingExtraError, SettingError, Settings
from ccmtad.bench import methods
from ccmtad.bench.datasets import Entity, Truth, chain, find
from ccmtad.bench.methods import Fitted, Losses
from ccmtad.bench.metrics.point import Counts
from ccmtad.bench.protocol import judge
from ccmtad.bench.run import Plan, Results, Task, read, run
from ccmtad.bench.sweep import alphas, search, sweep
from ccmtad.executors import Crew
from ccmtad.fit import TrainingSeries
from ccmtad.score.accumulate import accumulate

SMALL: dict[str, Any] = {"epochs": 2, "width": 8, "window": 6, "clusters": 1, "device": "cpu"}


def made(name: str, rows: int = 600) -> Entity:
    """Three correlated channels that come apart in two places."""
    random = np.random.default_rng(len(name))
    wave = np.sin(np.arange(2 * rows) / 9)[:, None] * [1.0, -1.0, 0.5] + 0.05 * random.normal(size=(2 * rows, 3))
    anomalous = np.zeros(rows, dtype=np.bool_)
    anomalous[200:240] = anomalous[400:460] = True
    test = wave[rows:].copy()
    test[anomalous, 0] *= -1.0
    return Entity("made", name, Frame.of(wave[:rows]), Frame.of(test), Truth(anomalous))


@dataclass(frozen=True)
class Made:
    name: str = "made"
    labels: str = "true"

    def entities(self) -> list[str]:
        return ["a", "bb"]

    def read(self, entity: str) -> Entity:
        found = made(entity)
        if self.labels == "true":
            return found
        return replace(found, truth=Truth(~found.truth.anomalous))


PLAN = Plan((Made(),), ("ccmtad", "pca", "random"), seeds=2, settings=SMALL)


def test_noise_has_the_limits_that_every_detector_has() -> None:
    entity = made("a")
    values = entity.test.values.copy()
    values[300, 1] = 100.0
    series = TrainingSeries.of(entity.train, Settings(**SMALL))
    found = methods.find("random").fit(series, Frame.of(values)).detection
    assert found is not None
    assert [event.channels[0] for event in found.events if event.alarm == 300] == [entity.test.channels[1]]


def test_no_label_reaches_a_method(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[object] = []

    class Recorder(methods.Method):
        name = "recorder"

        def fit(self, series: TrainingSeries, test: Frame, every_epoch: bool = False) -> Fitted:
            given.extend([series, test, every_epoch])
            return pca.fit(series, test, every_epoch)

    pca = methods.find("pca")
    monkeypatch.setattr(methods, "known", lambda: {"recorder": Recorder()})
    run(Plan((Made(),), ("recorder",), seeds=1, settings=SMALL), tmp_path / "r.jsonl")
    assert given

    def arrays(thing: object, depth: int = 0) -> list[np.ndarray[Any, Any]]:
        if isinstance(thing, np.ndarray):
            return [thing]
        inside = vars(thing).values() if hasattr(thing, "__dict__") and depth < 3 else ()
        return [array for one in inside for array in arrays(one, depth + 1)]

    truths = [made(name).truth.anomalous for name in ("a", "bb")]
    for array in (array for thing in given for array in arrays(thing)):
        for column in np.atleast_2d(array.T):
            for truth in truths:
                assert column.shape != truth.shape or (column.astype(float) != truth).any()


def test_other_labels_change_no_label_free_choice(tmp_path: Path) -> None:
    """Not a bit of the label-free columns' predictions, alpha or threshold depends on the labels."""
    kept = ("rows", "predicted", "alpha", "threshold")
    found = []
    for labels in ("true", "swapped"):
        plan = replace(PLAN, datasets=(Made(labels=labels),), methods=("ccmtad", "pca", "iforest"), seeds=1)
        records = run(plan, tmp_path / f"{labels}.jsonl")
        found.append(
            [[r["columns"][c].get(k) for k in kept] for r in records for c in ("online", "corrected", "point")]
            + [r["columns"]["own"]["predicted"] for r in records if r["method"] == "iforest"]
        )
    assert found[0] == found[1]


def test_shuffled_labels_give_the_floor() -> None:
    """Where the labels say nothing about the data, a good detector is as good as noise."""
    entity = made("a", rows=4_000)
    settings = Settings.of(**SMALL)
    series = TrainingSeries.of(entity.train, settings)
    fitted = methods.find("pca").fit(series, entity.test)
    truth = entity.truth.anomalous
    honest = judge(fitted, truth, settings, 1_000)["point oracle"].counts.f1
    shuffled = np.random.default_rng(0).permutation(truth)
    columns = judge(fitted, shuffled, settings, 1_000)
    floor = 2 * truth.mean() / (1 + truth.mean())
    assert honest > 0.9
    assert columns["point oracle"].counts.f1 < floor + 0.03
    assert columns["corrected"].counts.f1 < floor + 0.03
    assert columns["corrected"]["pr_auc"] is not None


def test_columns_by_hand() -> None:
    """Two rows far above every validation loss, labelled with one more before them."""
    validation = np.linspace(0.0, 1.0, 101)
    test = np.r_[np.full(5, np.nan), np.full(30, 0.5), 50.0, 60.0, np.full(30, 0.5)]
    truth = np.zeros(len(test), dtype=np.bool_)
    truth[34:37] = truth[2] = True
    settings = Settings.of(alpha=0.05, threshold=1.0)
    columns = judge(Fitted(Losses(validation, test), own=test > 55), truth, settings, 100)
    online, corrected = columns["online"], columns["corrected"]
    assert [online[name] for name in ("rows", "predicted", "correct", "positives")] == [62, 2, 2, 3]
    assert (corrected["predicted"], corrected["correct"]) == (3, 3)  # back to the last row with score 0
    assert [online[name] for name in ("events", "found", "false", "delays")] == [1, 1, 0, (1,)]
    assert columns["own"]["predicted"] == 1
    assert columns["point"]["predicted"] == 2
    assert columns["oracle"].counts.f1 == 1.0


def test_the_oracle_chooses_the_epoch_from_the_second_on() -> None:
    entity = made("a")
    good = methods.find("pca").fit(TrainingSeries.of(entity.train, Settings.of(**SMALL)), entity.test).losses
    noise = replace(good, test=np.where(np.isnan(good.test), np.nan, 0.5))
    settings = Settings.of(**SMALL)
    columns = judge(Fitted(noise, (good, noise, good)), entity.truth.anomalous, settings, 1_000)
    assert columns["oracle epoch"]["epoch"] == 3
    assert columns["oracle epoch"].counts.f1 > columns["oracle"].counts.f1
    early = judge(Fitted(noise, (good, noise)), entity.truth.anomalous, settings, 1_000)
    assert early["oracle epoch"]["epoch"] == 2  # the first is never chosen


def test_alphas_reach_down_to_where_nothing_is_evidence() -> None:
    strength = -np.log(np.array([1.0, 0.5, 1e-8, np.nan]))
    grid = alphas(strength)
    assert grid[0] < 1.0
    assert 1e-8 < grid[-1] < 2e-8
    assert len(grid) == 40
    assert len(alphas(np.array([-np.log(1e-78)]))) == 80
    assert len(alphas(np.array([0.0, np.nan]))) == 1


def test_the_search_is_the_best_of_its_sweeps() -> None:
    random = np.random.default_rng(3)
    truth = random.random(400) < 0.2
    strength = random.exponential(size=400) + 2 * truth
    best = search(strength, truth, 5, "carried")
    every = []
    for alpha in alphas(strength):
        evidence = strength + np.log(alpha)
        every.append(sweep(accumulate(evidence, 5, "carried"), evidence, truth).best[0])
    assert best.f1 == max(every)
    label = judge_label(best.score, best.evidence, best.threshold)
    assert Counts.of(label, truth).f1 == pytest.approx(best.f1)


def judge_label(score: Any, evidence: Any, threshold: float) -> Any:
    from ccmtad.score import events

    return events.label(events.find(score, evidence, score > threshold), len(score))


def test_methods_that_no_seed_can_change_run_once(tmp_path: Path) -> None:
    records = run(PLAN, tmp_path / "r.jsonl")
    keys = [(r["entity"], r["seed"], r["method"]) for r in records]
    assert len(keys) == len(set(keys)) == 2 * (2 + 1 + 2)
    assert ("a", 1, "pca") not in keys
    assert records[0]["settings"]["width"] == 8
    assert {"ccmtad", "python", "numpy", "torch"} <= set(records[0]["versions"])
    assert records[0]["seconds"]["method"] > 0


def test_workers_give_the_same_results(tmp_path: Path) -> None:
    plan = replace(PLAN, methods=("pca", "random"))
    alone, together = (run(plan, tmp_path / f"{w}.jsonl", crew=Crew(workers=w)) for w in (1, 2))
    assert [r["columns"] for r in alone] == [r["columns"] for r in together]


def test_what_goes_wrong_with_one_entity_is_raised_after_the_others(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Half(Made):
        def read(self, entity: str) -> Entity:
            if entity == "a":
                raise InputError("a must be readable")
            return super().read(entity)

    plan = Plan((Half(),), ("pca",), seeds=1, settings=SMALL)
    with pytest.raises(InputError, match="a must be readable"):
        run(plan, tmp_path / "r.jsonl", crew=Crew(workers=2))
    assert [one["entity"] for one in read(tmp_path / "r.jsonl")] == ["bb"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray's own: sockets that it leaves to the end of the process
def test_a_ray_cluster_gives_the_same_results(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is missing: pip install 'ccmtad[scale]'")
    alone, together = (
        run(PLAN, tmp_path / f"{crew.on}.jsonl", crew=crew) for crew in (Crew(), Crew(on="ray", workers=2))
    )
    assert [r["columns"] for r in alone] == [r["columns"] for r in together]


def test_nobody_of_that_name_does_the_work(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="on must be one of joblib, ray; got 'nobody'"):
        run(PLAN, tmp_path / "r.jsonl", crew=Crew(on="nobody"))


def test_one_model_over_all_entities(tmp_path: Path) -> None:
    (record,) = run(replace(PLAN, combined=True, methods=("ccmtad",), seeds=1), tmp_path / "r.jsonl")
    assert record["entity"] == "all"
    assert record["columns"]["online"]["rows"] == 2 * (600 - 5)


def test_every_epoch_has_a_column_that_says_so(tmp_path: Path) -> None:
    record, floor = run(
        replace(PLAN, every_epoch=True, methods=("ccmtad", "random"), seeds=1, entities=("a",)), tmp_path / "r.jsonl"
    )
    assert record["columns"]["oracle epoch"]["epoch"] == 2
    assert "oracle epoch" in floor["columns"]


def test_any_detector_with_pyods_interface(tmp_path: Path) -> None:
    pytest.importorskip("pyod", reason="PyOD is missing: pip install pyod")
    (record,) = run(replace(PLAN, methods=("pyod.models.ecod:ECOD",), seeds=1, entities=("a",)), tmp_path / "r.jsonl")
    assert record["columns"]["own"]["rows"] == 595
    assert record["columns"]["point oracle"]["correct"] > 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"methods": ("magic",)}, InputError, "method must be one of ccmtad, pca, .*got 'magic'"),
        ({"methods": ("nowhere.to:Find",)}, MissingExtraError, "method 'nowhere.to:Find' needs nowhere.to"),
        ({"methods": ("json:JSONDecoder",)}, InputError, "a class with fit and decision_function"),
        ({"preset": "best"}, InputError, "preset must be one of default, paper, authors; got 'best'"),
        ({"seeds": 0}, InputError, "seeds must be at least 1; got 0"),
        ({"settings": {"widht": 3}}, Exception, "widht is not a setting"),
    ],
)
def test_a_wrong_plan_is_refused(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        replace(PLAN, **change)


def test_settings_read_from_text() -> None:
    assert Settings.read(["width=128", "tail=empirical", "embedding_mixer=false"]) == {
        "width": 128,
        "tail": "empirical",
        "embedding_mixer": False,
    }
    with pytest.raises(SettingError, match="a setting must read NAME=VALUE; got 'width'"):
        Settings.read(["width"])


def test_the_authors_settings_belong_to_numbered_entities(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="preset authors must be used with one of SWaT, .*; got made"):
        run(replace(PLAN, preset="authors"), tmp_path / "r.jsonl")
    assert not (tmp_path / "r.jsonl").exists()


def test_results_of_another_plan_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    run(replace(PLAN, methods=("pca",), seeds=1), path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="out must be a new file or hold results of the same plan"):
        Results(path, replace(PLAN, settings=SMALL | {"width": 9}))
    assert path.read_bytes() == before
    path.write_text("not a record\n")
    with pytest.raises(FileError, match="line 1 of"):
        read(path)


def test_half_a_line_is_dropped_and_done_again(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    plan = replace(PLAN, methods=("pca", "norm"), seeds=1)
    whole = run(plan, path)
    path.write_bytes(path.read_bytes()[:-100])
    assert len(read(path)) == len(whole) - 1
    told: list[tuple[int, int]] = []
    again = run(plan, path, progress=lambda done, planned, _: told.append((done, planned)))
    assert told == [(4, 4)]
    assert [r["columns"] for r in again] == [r["columns"] for r in whole]
    assert [json.loads(line)["entity"] for line in path.read_text().splitlines()] == [r["entity"] for r in whole]


@pytest.fixture
def data() -> Path:
    folder = os.environ.get("CCMTAD_DATA")
    if folder is None or not (Path(folder) / "SMAP_MSL.zip").exists():
        pytest.skip("SMAP_MSL.zip is missing: put the archive into a folder and name it in CCMTAD_DATA")
    return Path(folder)


BARE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numba", "safetensors", "polars", "typer", "rich", "openpyxl"}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent())
sys.argv = ["bench", *sys.argv[1:]]
from ccmtad.bench.__main__ import main
main()
"""


def command(out: Path, data: Path) -> list[str]:
    entities = find("MSL", data).entities()[:10]
    return [sys.executable, "-c", BARE, "--data", str(data), "--out", str(out), "--dataset", "MSL", "--seeds", "1",
            "--method", "pca", "norm", "random", "--entity", *entities]  # fmt: skip


def test_killed_runs_on_a_bare_host_end_as_an_uninterrupted_one(tmp_path: Path, data: Path) -> None:
    """Where there is no command line, no numba and no dataframe library. Killed with SIGKILL, then run again."""
    out, reference = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    for enough in (4, 12):
        process = subprocess.Popen(command(out, data), stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (out.exists() and out.read_bytes().count(b"\n") >= enough):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 12 <= out.read_bytes().count(b"\n") < 30
    for path in (out, reference):
        subprocess.run(command(path, data), check=True, stdout=subprocess.DEVNULL)
    columns = [{(r["entity"], r["method"]): r["columns"] for r in read(path)} for path in (out, reference)]
    assert len(columns[0]) == len(read(out)) == 30  # nothing twice
    assert columns[0] == columns[1]


def test_the_authors_evaluation_goes_by_their_epoch_and_their_losses(tmp_path: Path) -> None:
    plan = replace(PLAN, datasets=(Made("MSL"),), preset="authors", seeds=1, methods=("ccmtad", "pca"))
    for record in run(plan, tmp_path / "r.jsonl"):
        columns = record["columns"]
        assert {"oracle, authors", "oracle, authors, uncorrected", "oracle, authors, point"} <= set(columns)
        assert "oracle epoch" not in columns  # nobody asked for the best of everything
        assert columns["oracle, authors"]["epoch"] == (2 if record["method"] == "ccmtad" else 1)
        assert {"authors_pr_auc", "authors_vus_pr", "authors_range_f1"} <= set(columns["oracle, authors"])
        assert columns["oracle, authors"]["positives"] == columns["online"]["positives"]
        assert not record["settings"]["blocks"] > 1


@pytest.mark.parametrize("alpha", [0.5, 1])
def test_alpha_goes_up_to_1_here_and_nowhere_else(alpha: float, tmp_path: Path) -> None:
    plan = Plan((Made(),), ("pca",), seeds=1, preset="paper", settings={**SMALL, "alpha": alpha, "threshold": 20})
    for record in run(plan, tmp_path / "r.jsonl"):
        assert record["settings"]["alpha"] == record["columns"]["online"]["alpha"] == alpha
        assert record["columns"]["online"]["predicted"] > 0
    (first, *_) = run(replace(plan, settings={**SMALL, "alpha": alpha}), tmp_path / "auto.jsonl")  # the budget's own
    assert np.isfinite(first["columns"]["online"]["threshold"])
    with pytest.raises(SettingError, match='alpha must be "auto" or a positive number of at most 1; got 1.5'):
        replace(plan, settings={"alpha": 1.5})
    for refusing in (Settings.of, Detector):
        with pytest.raises(SettingError, match="alpha must be .* below 1/e"):
            refusing(alpha=alpha)


def test_the_epoch_of_the_authors_is_that_of_the_best_point_f1() -> None:
    random = np.random.default_rng(0)
    truth = np.zeros(400, dtype=np.bool_)
    truth[100:140] = True
    validation = random.exponential(size=200)

    def epoch(lift: float) -> Losses:
        return Losses(validation, random.exponential(size=400) + lift * truth)

    epochs = (epoch(9.0), epoch(0.0), epoch(3.0), epoch(1.0))
    settings = Settings.of("paper", **SMALL)
    columns = judge(Fitted(epochs[-1], epochs), truth, settings, 1_000.0, every_epoch=False, as_authors=True)
    assert columns["oracle, authors"]["epoch"] == 3  # the first one never counts
    assert columns["oracle, authors"].counts.f1 > 0.9


def test_entities_in_one_chain_straddle() -> None:
    whole = chain([made("a"), made("bb")])
    assert whole.train.times is None
    assert len(whole.train) == len(whole.test) == 1_200
    np.testing.assert_array_equal(whole.train.values[600:], made("bb").train.values)
    assert whole.truth.anomalous.sum() == 200


def test_every_smd_machine_has_the_authors_settings() -> None:
    plan = replace(PLAN, datasets=(Made("SMD"),), preset="authors", settings={})
    entity, task = made("a"), Task("SMD", "machine-3-11", 1, ("ccmtad",))
    found = plan.settings_of(entity, task)
    assert (found.clusters, found.width, found.seed, found.alpha) == (3, 256, 1, "auto")

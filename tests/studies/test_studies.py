"""Each study trains, keeps, judges and writes its page; what is kept is never trained again."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from ccmtad import Frame, InputError, SettingError
from ccmtad.bench.datasets import Entity, Truth
from ccmtad.fit import TrainingSeries
from ccmtad.network.weights import Trained
from ccmtad.studies import find, known
from ccmtad.studies.command import perform
from ccmtad.studies.keep import Keep
from ccmtad.studies.pages import FIGURES, read, written
from ccmtad.studies.plan import Plan
from ccmtad.studies.run import judge, study
from ccmtad.studies.train import train
from ccmtad.studies.variant import BASE, Variant

PAPERS = {
    "modules", "scorer", "clustering", "separation", "spurious", "gradient", "patience", "width", "significance",
    "mask", "shift", "silhouette", "seeds", "cost", "delay", "bound",
}  # fmt: skip
SMALL = {"epochs": 2, "width": 8, "window": 6, "clusters": 2, "batch_size": 128}
ROWS = 320


@dataclass(frozen=True)
class Made:
    """Two entities of six channels, in two groups that come apart in two places."""

    name: str = "made"

    def entities(self) -> list[str]:
        return ["a", "b"]

    def read(self, entity: str) -> Entity:
        random = np.random.default_rng(ord(entity))
        time = np.arange(2 * ROWS)
        waves = np.column_stack([np.sin(time / 7)] * 3 + [np.cos(time / 11)] * 3)
        values = waves + 0.1 * random.normal(size=waves.shape)
        anomalous = np.zeros(ROWS, dtype=np.bool_)
        anomalous[100:130] = anomalous[220:250] = True
        test = values[ROWS:].copy()
        test[anomalous, 0] *= -1.0
        return Entity("made", entity, Frame.of(values[:ROWS]), Frame.of(test), Truth(anomalous))


PLAN = Plan(tuple(known().values()), (Made(),), seeds=2, settings=SMALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Everything trained, judged and written once. Treat as read-only."""
    made = tmp_path_factory.mktemp("studies")
    logging.getLogger("ccmtad").setLevel(logging.ERROR)  # few rows, and clusters that are not there
    study(tuple(known().values()), PLAN, Keep(made / "kept"), made / "pages", device="cpu")
    yield made
    logging.getLogger("ccmtad").setLevel(logging.NOTSET)


def test_every_study_of_the_paper_is_there() -> None:
    assert set(known()) == PAPERS
    assert len({one.order for one in known().values()}) == len(known())
    for name, one in known().items():
        assert (one.name, bool(one.title), bool(one.claim), bool(one.how)) == (name, True, True, True)
        assert one.variants()
    with pytest.raises(InputError, match="study must be one of modules, .*; got 'modles'"):
        find("modles")


def test_no_training_is_done_twice(folder: Path) -> None:
    planned = PLAN.trainings()
    assert len({one.key for one in planned}) == len(planned) == len(Keep(folder / "kept"))
    base = [one for one in planned if one.key == PLAN.key(Made(), one.entity, BASE)]
    assert len(base) == 2
    assert set(base[0].extras) == {"gradient", "seconds", "separation", "silhouettes", "spurious"}


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_each_writes_a_page_of_what_it_found(folder: Path, name: str) -> None:
    found = read(folder / "pages")[name]
    page = (folder / "pages" / f"{name}.md").read_text(encoding="utf-8")
    assert found.figures
    assert known()[name].claim in page
    assert "made" in page
    assert f"[{known()[name].title}]({name}.md)" in (folder / "pages" / "index.md").read_text(encoding="utf-8")
    picture = folder / "pages" / f"{name}.svg"
    if picture.exists():
        ElementTree.parse(picture)
    if name not in {"seeds", "cost"}:  # whose claims are about datasets of the paper
        assert found.comparisons
        assert "**Found here.** The claim" in page


def test_pages_are_what_the_figures_give(folder: Path) -> None:
    for name, text in written(folder / "pages").items():
        assert (folder / "pages" / name).read_text(encoding="utf-8") == text


def test_judging_again_never_trains(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def never(*_: object, **__: object) -> Trained:
        raise AssertionError("trained again")

    monkeypatch.setattr(TrainingSeries, "train", never)
    two = (find("scorer"), find("modules"))
    found = study(two, PLAN, Keep(folder / "kept"), tmp_path, device="cpu")
    before = read(folder / "pages")
    assert {name: one.comparisons for name, one in found.items()} == {
        name: before[name].comparisons for name in ("scorer", "modules")
    }
    assert set(read(tmp_path)) == {"scorer", "modules"}
    assert (tmp_path / FIGURES).stat().st_size > 0


def test_a_killed_run_goes_on_where_it_stopped(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = (folder / "kept").glob("*.kept")
    cut = tmp_path / whole.name
    plan = Plan((find("scorer"),), (Made(),), settings=SMALL)
    both = Keep(folder / "kept")
    half = Keep(tmp_path)
    for entity in ("a", "b"):
        half.add(both[plan.key(Made(), entity, BASE)])
    cut.write_bytes(cut.read_bytes()[:-5])  # killed in the middle of the second
    left = Keep(tmp_path)
    assert len(left) == 1
    trained: list[str] = []
    real = TrainingSeries.train

    def counted(self: TrainingSeries, *args: object) -> Trained:
        trained.append("once")
        return real(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(TrainingSeries, "train", counted)
    assert train(plan, left, device="cpu", minutes=0) == 1  # no time: nothing new is begun
    assert trained == []
    assert train(plan, left, device="cpu") == 0
    assert trained == ["once"]
    assert len(Keep(tmp_path)) == 2


def test_what_is_kept_is_what_was_trained(folder: Path) -> None:
    keep = Keep(folder / "kept")
    kept = keep[PLAN.key(Made(), "a", BASE)]
    assert kept.history.shape == (2, 3)
    assert kept.epoch["authors"] == 2  # the first is never chosen
    assert kept.epoch["validation"] == int(np.argmin(kept.history[:, 1])) + 1
    assert kept.truth.tolist() == Made().read("a").truth.anomalous.tolist()
    assert np.isnan(kept.losses["authors"].test[:5]).all()
    assert np.isfinite(kept.losses["authors"].test[5:]).all()
    assert kept.extras["seconds"].min() > 0  # measured when all else is done
    assert "seconds" not in keep[PLAN.key(Made(), "b", BASE)].extras
    shifted = keep[PLAN.key(Made(), "a", Variant.of(cluster_share=0.4))]
    assert shifted.full_settings.cluster_share == 0.4


def test_an_incomplete_study_takes_the_entities_that_are_complete(folder: Path, tmp_path: Path) -> None:
    both, one = Keep(folder / "kept"), Keep(tmp_path)
    plan = Plan((find("mask"),), (Made(),), settings=SMALL)
    for training in plan.trainings():
        if training.entity == "b" or "causal_mask" not in training.key[2]:
            one.add(both[training.key])
    found = judge((find("mask"),), plan, one)["mask"]
    assert {figure.entities for figure in found.figures} == {1}
    assert judge((find("width"),), plan, one)["width"].figures == ()


def test_words_and_flags(tmp_path: Path) -> None:
    assert [line.split()[0] for line in perform(["list"], {})] == list(known())
    given = {"data": tmp_path, "dataset": None, "entity": None, "seeds": 5, "set": None, "out": tmp_path}
    with pytest.raises(InputError, match="study train must be given the names of studies, or all; got none"):
        list(perform(["train"], given))
    with pytest.raises(InputError, match="data must name the folder"):
        list(perform(["scorer"], given | {"data": None}))
    with pytest.raises(InputError, match="dataset must be one of MSL, .*; got 'XYZ'"):
        list(perform(["scorer"], given | {"dataset": ["XYZ"]}))
    with pytest.raises(InputError, match="data must hold the files of MSL; got"):
        list(perform(["scorer"], given | {"dataset": ["MSL"]}))
    with pytest.raises(SettingError, match="alpha must be .* at most 1; got 2"):
        Plan((find("scorer"),), (Made(),), settings={"alpha": 2})
    with pytest.raises(SettingError, match="preset is not a setting"):
        Plan((find("scorer"),), (Made(),), settings={"preset": "paper"})
    tried = Plan((find("scorer"),), (Made(),), settings={"alpha": 0.5})  # above 1/e, as the paper's are
    assert tried.settings_of(Made(), "a", BASE).alpha == 0.5
    with pytest.raises(InputError, match="entity must be one of made; got c"):
        Plan((find("scorer"),), (Made(),), entities=("c",))


def test_it_runs_where_there_is_no_command_line() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('typer', 'rich', 'polars', 'plotly')));"
        "sys.argv = ['studies', 'list']; from ccmtad.studies.__main__ import main; main(); import ccmtad.studies.train"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "modules" in done.stdout

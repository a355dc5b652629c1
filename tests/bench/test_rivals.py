"""Rivals have the sizes their papers print, find what cannot be missed, and say so where they look ahead."""

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from ccmtad import Frame, InputError, Settings
from ccmtad.bench import methods
from ccmtad.bench.datasets import Entity, Truth
from ccmtad.bench.flags import FLAGS, plan_of
from ccmtad.bench.methods import Method
from ccmtad.bench.methods.sensitivehue import SIZES, sensitivehue
from ccmtad.bench.rivals.recorded import Recorded
from ccmtad.bench.rivals.timesnet import Inception
from ccmtad.bench.rivals.training import parameters
from ccmtad.bench.rivals.xlstm import MatrixLstm, Stack
from ccmtad.bench.run import Plan, run
from ccmtad.fit import TrainingSeries

from .. import naive

RIVALS = methods.named("rivals")
SMALLEST = {"sensitivehue": "SWaT", "timesnet": "MSL"}  # the datasets for which they are smallest
FAULT = slice(180, 200)
CHANGED = 110


def quick(name: str, epochs: int = 1) -> Method:
    """The rival at its smallest, and not trained for long."""
    method: Any = methods.find(name).on(SMALLEST.get(name.partition("-")[0], ""))
    if hasattr(method, "epochs"):
        return replace(method, epochs=epochs)  # type: ignore[no-any-return]
    if hasattr(method, "sizes"):
        return replace(method, sizes=replace(method.sizes, epochs=epochs))  # type: ignore[no-any-return]
    return method  # type: ignore[no-any-return]


def wave(rows: int, seed: int) -> NDArray[np.float64]:
    """Three channels that go together."""
    noise = np.random.default_rng(seed).normal(size=(rows, 3))
    return np.sin(np.arange(rows) / 9)[:, None] * [1.0, -1.0, 0.5] + 0.05 * noise


def training(**settings: Any) -> TrainingSeries:
    return TrainingSeries.of(Frame.of(wave(400, 0)), Settings.of(**({"device": "cpu"} | settings)))


def test_all_of_them_are_here() -> None:
    assert set(RIVALS) == {
        "sensitivehue", "sensitivehue-online", "sensitivehue-offline", "timesnet", "timesnet-published", "xlstmad",
        "xlstmad-published", "uae",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("dataset", "channels", "printed"),
    [("SWaT", 51, 154_598), ("WADI", 123, 1_152_246), ("MSL", 55, 290_926), ("SMD", 38, 284_364)],
)
def test_sensitivehue_has_the_published_parameters(dataset: str, channels: int, printed: int) -> None:
    assert parameters(sensitivehue.on(dataset).network(channels)) == printed


@pytest.mark.parametrize(("dataset", "thousands"), [("PSM", 551), ("SMAP", 1_077)])
def test_sensitivehue_has_the_parameters_that_the_ccmtad_paper_prints(dataset: str, thousands: int) -> None:
    assert round(parameters(sensitivehue.on(dataset).network(25)) / 1_000) == thousands
    assert sensitivehue.on("elsewhere").sizes == SIZES["SMD"]


def test_a_stack_of_xlstm_has_the_parameters_of_its_authors() -> None:
    assert parameters(Stack(40)) == 38_696


def test_the_matrix_lstm_at_once_is_the_one_step_by_step() -> None:
    random = np.random.default_rng(0)
    query, key, value = random.normal(size=(3, 12, 5))
    entry, forget = random.normal(size=12), np.log(random.uniform(0.2, 1.0, 12))
    given = (torch.as_tensor(one)[None, None] for one in (query, key, value, entry, forget))
    at_once = MatrixLstm.recall(*given)[0, 0].numpy()
    np.testing.assert_allclose(at_once, naive.matrix_lstm(query, key, value, entry, forget), rtol=1e-4, atol=1e-6)


def test_an_xlstm_never_looks_ahead() -> None:
    torch.manual_seed(0)
    stack, x = Stack(20), torch.randn(2, 9, 20)
    for weight in stack.parameters():
        weight.data += 0.1 * torch.randn_like(weight)
    later = x.clone()
    later[:, 6:] += torch.randn(2, 3, 20)
    with torch.inference_mode():
        before, after = stack(x), stack(later)
    torch.testing.assert_close(before[:, :6], after[:, :6])
    assert ((before[:, 6:] - after[:, 6:]).abs() > 1e-3).any()


def test_one_convolution_is_the_mean_of_six() -> None:
    torch.manual_seed(0)
    inception, x = Inception(2, 3), torch.randn(4, 2, 7, 5)
    for bias in inception.biases:
        nn.init.normal_(bias)
    pairs = zip(inception.kernels, inception.biases, strict=True)
    each = [nn.functional.conv2d(x, kernel, bias, padding=kernel.shape[-1] // 2) for kernel, bias in pairs]
    torch.testing.assert_close(inception(x), torch.stack(each).mean(0))


@pytest.mark.parametrize("name", RIVALS)
def test_an_obvious_fault_is_found(name: str) -> None:
    recent = wave(260, 1)
    recent[FAULT, 0] += 5.0
    series = training()
    fitted = quick(name, epochs=2).fit(series, Frame.of(recent), every_epoch=True)
    losses = fitted.losses
    assert np.median(losses.test[FAULT]) > 2 * np.nanmax(losses.validation)
    assert (losses.validation > 0).all()
    assert len(fitted.epochs) == 2
    # One of the two is what was kept.
    assert any(np.array_equal(one.test, losses.test, equal_nan=True) for one in fitted.epochs)
    if "-" not in name:  # the last fifth, though the preset calibrates on blocks
        assert series.settings.blocks > 1
        assert len(losses.validation) == 80


@pytest.mark.parametrize("name", RIVALS)
def test_only_those_that_say_so_look_ahead(name: str) -> None:
    method, recent = quick(name), wave(260, 2)
    later = recent.copy()
    later[CHANGED:] = 9.0 * np.sin(np.arange(260 - CHANGED)[:, None] * [1.4, 2.0, 2.6])  # of other periods
    before, after = (method.fit(training(), Frame.of(one)).losses.test for one in (recent, later))
    same = np.array_equal(before[:CHANGED], after[:CHANGED], equal_nan=True)
    assert same == (method.looks_ahead == "")
    assert (before[CHANGED:] != after[CHANGED:]).any()


@pytest.mark.parametrize("name", ["sensitivehue", "uae"])
def test_missing_values_are_held_and_gaps_are_not_straddled(name: str) -> None:
    seconds = np.r_[np.arange(150), 1_000 + np.arange(110)]
    times = seconds.astype("datetime64[s]").astype("datetime64[ns]")
    values = wave(260, 1)
    values[150:155, 1] = np.nan
    train = wave(400, 0)
    train[:3, 0] = train[200:220, 2] = np.nan
    at = np.arange(400).astype("datetime64[s]").astype("datetime64[ns]")
    series = TrainingSeries.of(Frame(train, ("a", "b", "c"), at), Settings.of(device="cpu"))
    method: Any = quick(name)
    test = method.fit(series, Frame(values, ("a", "b", "c"), times)).losses.test
    lost = method.recipe.window - 1
    np.testing.assert_array_equal(np.isnan(test), [r < lost or 150 <= r < 150 + lost for r in range(260)])


def test_a_seed_settles_the_weights() -> None:
    recent = Frame.of(wave(120, 1))
    one, same, other = (quick("uae").fit(training(seed=seed), recent).losses.test for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one[100:] != other[100:]).any()


def test_too_short_a_series_is_refused() -> None:
    short = TrainingSeries.of(Frame.of(wave(90, 0)), Settings.of(device="cpu"))
    with pytest.raises(InputError, match="train must hold enough rows in a row for uae's windows of 100.*got 90 rows"):
        quick("uae").fit(short, Frame.of(wave(200, 1)))


class Made:
    """One entity of a dataset for which sizes are published."""

    name = "SWaT"

    def entities(self) -> list[str]:
        return ["a"]

    def read(self, entity: str) -> Entity:
        truth, recent = np.zeros(260, dtype=np.bool_), wave(260, 1)
        truth[FAULT] = True
        recent[FAULT, 0] += 5.0
        return Entity(self.name, entity, Frame.of(wave(400, 0)), Frame.of(recent), Truth(truth))


def test_a_plan_runs_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ("sensitivehue-offline", "uae")
    here = {name: quick(name, epochs=2) for name in names}
    monkeypatch.setattr(methods, "known", lambda: here)
    plan = Plan((Made(),), names, seeds=1, settings={"device": "cpu"}, every_epoch=True)
    records = run(plan, tmp_path / "r.jsonl")
    assert [record["method"] for record in records] == list(names)
    for record in records:
        assert record["columns"]["oracle epoch"]["epoch"] == 2
        assert record["columns"]["point oracle"]["correct"] >= 15


def test_they_run_only_where_they_are_named(tmp_path: Path) -> None:
    assert not set(Plan((Made(),)).methods) & set(RIVALS)
    given = {flag.name.replace("-", "_"): flag.default for flag in FLAGS}
    given |= {"dataset": ["MSL"], "data": tmp_path}
    assert plan_of(given).methods == methods.usual()
    assert plan_of(given | {"method": ["pca", "rivals"]}).methods == ("pca", *RIVALS)


def test_knowing_them_needs_no_torch() -> None:
    code = "import sys; from ccmtad.bench.methods import known; known(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


class AskingForChannels:
    """What TSB-AD's detectors are like: the constructor needs the number of channels."""

    def __init__(self, window: int = 3, *, feats: int) -> None:
        self.window, self.feats = window, feats

    def fit(self, rows: NDArray[np.float32]) -> None:
        assert rows.shape[1] == self.feats
        self.mean = rows.mean(axis=0)

    def decision_function(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        distance: NDArray[np.float64] = np.square(rows - self.mean, dtype=np.float64).sum(axis=1)
        return distance


def test_a_named_class_is_told_the_number_of_channels(tmp_path: Path) -> None:
    name = f"{__name__}:AskingForChannels"
    (record,) = run(Plan((Made(),), (name,), seeds=1, settings={"device": "cpu"}), tmp_path / "r.jsonl")
    assert record["columns"]["point oracle"]["correct"] >= 15


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: run on a machine with one")
def test_a_recorded_step_learns_what_a_plain_one_does() -> None:
    learnt = []
    for size in (64, 63):  # of another size: goes the plain way
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 5)).cuda()
        optimiser = torch.optim.Adam(module.parameters(), lr=1e-2)
        recorded = Recorded(module, partial(_reconstruction_error, module), size)
        for x in torch.randn(20, 64, 5).cuda():
            optimiser.zero_grad()
            recorded(x).backward()
            optimiser.step()
        learnt.append([one.detach().cpu() for one in module.parameters()])
    torch.testing.assert_close(*learnt)


def _reconstruction_error(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    back: torch.Tensor = module(x)
    return (back - x).square().mean()

"""Settings are checked where they are made, and the message has the name, the rule and the value."""

import inspect
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from ccmtad import Detector, SettingError, Settings
from ccmtad.settings import LIVE_IN_0_2, PRESETS, Budget, _setting, signature

BUDGET = (
    'budget must read like "1/10000 rows", "1/week" or "2/day" (units: second, minute, hour, day, week, month); got '
)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"window": 1}, "window must be a whole number from 2 to 10000; got 1"),
        ({"window": 2.5}, "window must be a whole number from 2 to 10000; got 2.5"),
        ({"width": 0}, "width must be a whole number from 1 to 100000; got 0"),
        ({"epochs": True}, "epochs must be a whole number from 1 to 1000000000; got True"),
        ({"clusters": 0}, 'clusters must be "auto" or a whole number from 1 to 100000; got 0'),
        ({"clusters": "many"}, "clusters must be \"auto\" or a whole number from 1 to 100000; got 'many'"),
        (
            {"clustering": 3},
            "clustering must be one of 'correlation', 'cosine', 'kmeans', 'off', 'profile'; got 3",
        ),
        (
            {"temporal_mixer": "acausal"},
            "temporal_mixer must be one of 'causal', 'plain', 'none'; got 'acausal'",
        ),
        ({"causal_mask": "j"}, "causal_mask must be one of '1/j', 'unit'; got 'j'"),
        ({"embedding_mixer": 1}, "embedding_mixer must be True or False; got 1"),
        ({"embedding_dropout": 1.0}, "embedding_dropout must be at least 0 and below 1; got 1.0"),
        ({"mixer_dropout": float("nan")}, "mixer_dropout must be at least 0 and below 1; got nan"),
        ({"learning_rate": 0}, "learning_rate must be a positive number of at most 1e+30; got 0"),
        ({"learning_rate": "fast"}, "learning_rate must be a positive number of at most 1e+30; got 'fast'"),
        ({"validation": 1.5}, "validation must be at least 0.01 and below 0.9; got 1.5"),
        ({"smooth": 0}, "smooth must be a whole number from 1 to 100000; got 0"),
        ({"alpha": 0.5}, 'alpha must be "auto" or above 0 and below 1/e = 0.3678; got 0.5'),
        ({"threshold": -1}, 'threshold must be "auto" or a positive number of at most 1e+100; got -1'),
        ({"budget": "sometimes"}, BUDGET + "'sometimes'"),
        ({"budget": "0/day"}, BUDGET + "'0/day'"),
        ({"budget": "1/1.2.3 rows"}, BUDGET + "'1/1.2.3 rows'"),
        ({"budget": "1/1,5 days"}, BUDGET + "'1/1,5 days'"),
        ({"budget": "1/10,00 rows"}, BUDGET + "'1/10,00 rows'"),
        ({"adapt": 1}, "adapt must be None or True or False; got 1"),
        ({"adapt": False, "settle": 10}, "settle must be 0 where adapt is False; got 10"),
        ({"hold": -1}, "hold must be None or a whole number from 0 to 1000000000; got -1"),
        ({"gap": 0}, "gap must be a positive number of at most 1e+09; got 0"),
        ({"seed": -1}, "seed must be a whole number from 0 to 4294967295; got -1"),
        ({"device": ""}, 'device must be "auto" or a torch device such as "cpu" or "cuda"; got \'\''),
        ({"seed": 2**32}, "seed must be a whole number from 0 to 4294967295; got 4294967296"),
        ({"preset": []}, "preset must be one of 'default', 'paper'; got []"),
        ({"preset": "magic"}, "preset must be one of 'default', 'paper'; got 'magic'"),
    ],
)
def test_a_setting_out_of_range_says_so_at_once(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        Detector(**setting)
    assert str(caught.value) == message


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(SettingError, match="windw is not a setting; the settings are accept, adapt, alpha, batch_size"):
        Settings.of(windw=3)


def test_the_detector_has_exactly_the_settings() -> None:
    assert {field.name for field in fields(Settings)} | {"preset"} == set(Detector().get_params())


def test_every_setting_says_what_it_means_and_who_meets_it() -> None:
    for one in fields(Settings):
        assert one.metadata["means"], one.name
        assert one.metadata["study"] in (True, False)
    met = [one.name for one in fields(Settings) if not one.metadata["study"]]
    assert len(met) <= 15
    assert {"budget", "window", "adapt", "seed"} <= set(met)
    assert {"settle", "drift", "accept", "tail"}.isdisjoint(met)


def test_the_detectors_signature_names_every_setting() -> None:
    assert list(inspect.signature(Detector).parameters) == ["preset", *(one.name for one in fields(Settings))]
    assert inspect.signature(Detector) == signature()
    assert clone(Detector(width=8, budget="1/week")).get_params() == Detector(width=8, budget="1/week").get_params()


def test_adapt_switches_what_stands_behind_it() -> None:
    assert Settings().adapt
    off = Settings.of(adapt=False)
    assert (off.settle, off.drift, off.accept) == (0, 0.0, 0)
    assert not Settings.of("paper").adapt
    on = Settings.of("paper", adapt=True)
    assert (on.settle, on.drift, on.accept, on.tail) == (500, 1e-3, 4_000, "empirical")
    # Older files know settle, drift and accept alone.
    assert Settings.of("paper", settle=100).adapt
    assert Settings.of("paper", settle=100).drift == 0.0
    assert not Settings.of(settle=0, drift=0.0).adapt
    assert not Settings().but(settle=0, drift=0.0).adapt
    assert Settings.of("paper").but(adapt=True) == on
    assert Settings().but(adapt=False) == off
    assert Settings().but(width=9).settle == 500
    for settings in (off, on, Settings.of(settle=0, drift=0.0), Settings.of("paper", drift=0.1)):
        assert Settings.from_json(settings.to_json()) == settings


def test_a_preset_fills_what_is_left_out() -> None:
    paper = Settings.of("paper", epochs=7)
    assert (paper.width, paper.epochs, paper.learning_rate, paper.expansion) == (256, 7, 1e-3, 1)
    assert (paper.combine, paper.tail, paper.reset) == ("mean", "empirical", "everything")
    assert paper.epoch_windows > 10**8  # every window in every epoch
    assert (paper.window, paper.patience, paper.batch_size, paper.embedding_dropout) == (24, 5, 512, 0.05)
    assert set(PRESETS) == {"default", "paper"}


def test_settings_survive_json() -> None:
    settings = Settings.of("paper", clusters=4, hold=7, budget="1/week")
    assert Settings.from_json(settings.to_json()) == settings


def test_numpys_numbers_are_numbers() -> None:
    settings = Settings(window=np.int64(12), learning_rate=np.float32(0.5))  # type: ignore[arg-type]
    assert Settings.from_json(settings.to_json()) == settings
    with pytest.raises(SettingError, match="window must be a whole number"):
        Settings(window=np.array([3, 4]))  # type: ignore[arg-type]
    for text in ("{", "[]"):
        with pytest.raises(SettingError, match="settings must be a JSON object"):
            Settings.from_json(text)


def test_settings_are_read_from_toml(tmp_path: Path) -> None:
    file = tmp_path / "plant.toml"
    file.write_text('preset = "paper"\nclusters = 4\nbudget = "1/week"\n')
    assert Settings.from_toml(file) == Settings.of("paper", clusters=4, budget="1/week")
    file.write_text("clusters = ")
    with pytest.raises(SettingError, match="settings file must be TOML; got"):
        Settings.from_toml(file)
    with pytest.raises(SettingError, match="settings file must be readable; got .*No such file"):
        Settings.from_toml(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "period", "rows"),
    [
        ("1/10000 rows", None, 10_000),
        ("1/10,000 rows", 60.0, 10_000),
        ("1/1_000_000 rows", None, 1_000_000),
        ("1/1.5 days", 60.0, 2_160),
        ("2 / 100 rows", None, 50),
        ("1/week", 60.0, 10_080),
        ("2/day", 60.0, 720),
        ("1/12 hours", 1.0, 43_200),
    ],
)
def test_a_budget_becomes_rows_per_alarm(text: str, period: float | None, rows: float) -> None:
    assert Budget.parse(text).rows_per_alarm(period) == rows


def test_a_budget_per_time_needs_times() -> None:
    with pytest.raises(
        SettingError,
        match=r'give a time column or index, or write the budget in rows, such as "1/10000 rows"',
    ):
        Budget.parse("1/week").rows_per_alarm(None)


def test_a_budget_of_an_alarm_every_row_is_refused() -> None:
    with pytest.raises(SettingError, match="at least 2 rows between alarms; got one alarm every 0.1 rows"):
        Budget.parse("10/row").rows_per_alarm(None)


def test_only_the_centred_average_is_not_online() -> None:
    assert Settings().online
    assert Settings(smooth=50).online
    assert not Settings(smooth=50, smoothing="centred").online


def test_a_setting_that_is_not_in_use_leaves_snapshots_as_they_were() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Later(Settings):
        burst: int = _setting(6, None, "rows of a track that 0.2.0 did not have", paper=1)

    assert Later(burst=1).live == Settings().live
    assert Later().live == {**Settings().live, "burst": 6}
    assert set(LIVE_IN_0_2) == set(Settings(distance=False).live)
    assert set(LIVE_IN_0_2) == set(Settings(**asdict(Settings.of("paper"))).live)

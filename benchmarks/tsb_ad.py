"""CCM-TAD in TSB-AD: its files, its way to run a detector, its metrics.

    python benchmarks/tsb_ad.py run FILES... [--set epochs=3] [--scores FOLDER]
    python benchmarks/tsb_ad.py make DATA FOLDER --dataset MSL --entity C-1

A file of TSB-AD is called NUMBER_DATASET_id_ID_DOMAIN_tr_N_1st_M.csv: a column for each channel, then `Label`; the
first N rows are for training, row M is the first anomalous one. `run` fits on those N rows and scores all rows, as
TSB-AD's semi-supervised detectors do, and prints TSB-AD's metrics where TSB-AD is installed (`make test-adapters`
installs it), else our VUS, which is its definition; a random score stands beside. `make` writes such files from the
published archives of MSL, SMD and others: the training series, then the test series. TSB-AD's own files of these
datasets are cut otherwise, so figures of the two do not compare.
"""

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ccmtad import Detector, InputError, Settings
from ccmtad.bench import datasets
from ccmtad.bench.datasets import Entity
from ccmtad.bench.metrics.volume import volumes

Floats = NDArray[np.float64]
Judge = Callable[[Floats, NDArray[np.int64], Floats], dict[str, float]]

NAME = re.compile(r".+_tr_(?P<train>\d+)_1st_(?P<first>\d+)\.csv")
DOMAINS = {"MSL": "Sensor", "SMAP": "Sensor", "SMD": "Facility"}


@dataclass(frozen=True, eq=False)
class Series:
    """What a file holds."""

    values: Floats  # (rows, channels)
    label: NDArray[np.int64]  # (rows,) 1 is anomalous
    train: int  # rows to learn from, the first ones

    @classmethod
    def read(cls, path: Path) -> Self:
        named = NAME.fullmatch(path.name)
        if named is None:
            raise InputError(f"file must be named ..._tr_N_1st_M.csv, as TSB-AD's are; got {path.name!r}")
        table = pl.read_csv(path, infer_schema_length=None).drop_nulls()
        if table.columns[-1] != "Label":
            raise InputError(f"file must have Label as its last column; got {table.columns[-1]!r} in {path.name!r}")
        return cls(
            table[:, :-1].cast(pl.Float64).to_numpy(), table["Label"].cast(pl.Int64).to_numpy(), int(named["train"])
        )


def write(entity: Entity, folder: Path, number: int) -> Path:
    """An entity as a file of TSB-AD: its training series, then its test series."""
    label = np.concatenate([np.zeros(len(entity.train)), entity.truth.anomalous]).astype(np.int64)
    train, domain = len(entity.train), DOMAINS.get(entity.dataset, "Sensor")
    path = folder / f"{number:03}_{entity.dataset}_id_{number}_{domain}_tr_{train}_1st_{label.argmax()}.csv"
    values = np.concatenate([entity.train.values, entity.test.values])
    columns = {f"channel {name}": values[:, i] for i, name in enumerate(entity.train.channels)}
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({**columns, "Label": label}).write_csv(path)
    return path


def run_CCMTAD(data_train: Floats, data_test: Floats, **HP: Any) -> Floats:  # noqa: N802, N803  TSB-AD's names
    """For TSB-AD's `model_wrapper`: the score of each test row, 0 to 1, higher is worse; HP are the settings."""
    score = np.nan_to_num(Detector(**HP).fit(data_train).decision_function(data_test), nan=0.0)
    width = np.ptp(score)
    return (score - score.min()) / width if width > 0 else np.zeros(len(score))


def judge() -> Judge:
    """TSB-AD's metrics, or ours of the same definition."""
    try:
        from sklearn.exceptions import UndefinedMetricWarning
        from TSB_AD.evaluation.metrics import get_metrics
        from TSB_AD.utils.slidingWindows import find_length_rank
    except ImportError:

        def ours(score: Floats, label: NDArray[np.int64], values: Floats) -> dict[str, float]:  # noqa: ARG001
            found = volumes(score, label > 0)
            return {"VUS-PR": found.pr, "VUS-ROC": found.roc}

        return ours

    def theirs(score: Floats, label: NDArray[np.int64], values: Floats) -> dict[str, float]:
        window = find_length_rank(values[:, :1], rank=1)  # as its script for multivariate series does
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # at thresholds that no row is above
            found = get_metrics(score, label, slidingWindow=window)
        return {name: float(value) for name, value in found.items()}

    return theirs


def run(paths: list[Path], settings: dict[str, Any], scores: Path | None) -> None:
    measure = judge()
    for path in paths:
        series = Series.read(path)
        began = time.perf_counter()
        score = run_CCMTAD(series.values[: series.train], series.values, **settings)
        seconds = time.perf_counter() - began
        if scores is not None:
            scores.mkdir(parents=True, exist_ok=True)
            np.save(scores / f"{path.stem}.npy", score)
        chance = np.random.default_rng(0).random(len(score))
        for name, made, spent in (("CCMTAD", score, seconds), ("random score", chance, 0.0)):
            told = {key: round(value, 4) for key, value in measure(made, series.label, series.values).items()}
            print(json.dumps({"file": path.name, "method": name, "seconds": round(spent, 1), **told}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    running = actions.add_parser("run")
    running.add_argument("files", nargs="+", type=Path)
    running.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting; repeatable")
    running.add_argument("--scores", type=Path, help="folder for the scores, one .npy for each file")
    making = actions.add_parser("make")
    making.add_argument("data", type=Path, help="folder with the published archives")
    making.add_argument("folder", type=Path, help="where the files go")
    making.add_argument("--dataset", required=True)
    making.add_argument("--entity", action="append", help="repeatable; all of them if absent")
    given = parser.parse_args()
    if given.action == "run":
        run(given.files, Settings.read(given.set), given.scores)
        return
    published = datasets.find(given.dataset, given.data)
    names = published.entities()
    for name in given.entity or names:
        print(write(published.read(name), given.folder, names.index(name) + 1))


if __name__ == "__main__":
    main()

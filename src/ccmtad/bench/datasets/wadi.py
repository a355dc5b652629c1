"""WADI 2017: `WADI_14days.csv`, `WADI_attackdata.csv`, and `WADI_labels.csv`, which you make from the attack table.

The labels are a column `label` of 0 and 1, one per row of the attack file, or columns `start` and `end`, one attack a
line, as times (both inclusive).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...prepare import missing
from .entity import Entity, Truth, own_folder
from .table import frame, held, numbers, read, read_bytes

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Wadi"]

CURE = "ask iTrust for it and put WADI_14days.csv, WADI_attackdata.csv and WADI_labels.csv there"
SETTLING = 21_600  # training rows before the plant runs steadily
BLOCK = 5  # rows that become one
EMPTY = 0.5  # a column with a larger share of missing values is dropped
SILENCED = "2B_AIT_002_PV"
NOT_CHANNELS = ("Row", "Date", "Time")
TIME = "%m/%d/%Y %I:%M:%S%.f %p"

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Wadi:
    """One entity of 123 sensors and actuators, medians of five seconds."""

    folder: Path
    name: str = "WADI"
    settling: int = SETTLING

    def entities(self) -> list[str]:
        return ["WADI"]

    def read(self, entity: str) -> Entity:
        inner = own_folder(self.folder, "WADI")
        for name in ("WADI_14days.csv", "WADI_attackdata.csv", "WADI_labels.csv"):
            if not (inner / name).is_file():
                raise InputError(f"folder must hold {name}; got {str(inner)!r}: {CURE}")
        normal = _table(inner / "WADI_14days.csv", 4)[self.settling :]
        attacked = _table(inner / "WADI_attackdata.csv", 0)
        channels = [name for name in normal.columns if name not in NOT_CHANNELS]
        absent = [name for name in channels if name not in attacked.columns]
        if absent:
            raise InputError(f"WADI_attackdata.csv must have the channels of WADI_14days.csv; {absent[0]!r} is missing")
        train, test = (numbers(t.select(channels), "WADI") for t in (normal, attacked))
        full = np.isnan(train).mean(axis=0) <= EMPTY
        kept = [name for name, there in zip(channels, full, strict=True) if there]
        train, test = missing.fill(train[:, full]), held(test[:, full])
        if SILENCED in kept:
            train[:, kept.index(SILENCED)] = test[:, kept.index(SILENCED)] = 0.0
        anomalous = _labels(read(inner / "WADI_labels.csv"), attacked)
        blocks = [frame(_medians(values), kept) for values in (train, test)]
        whole = len(anomalous) // BLOCK * BLOCK
        return Entity(
            self.name, entity, blocks[0], blocks[1], Truth(np.asarray(anomalous[:whole].reshape(-1, BLOCK).all(axis=1)))
        )


def _table(path: Path, skip: int) -> "pl.DataFrame":
    table = read_bytes(path.read_bytes(), path.name, skip)
    # Names are paths in the plant's logger; only the last part says something.
    names = {name: name.rsplit("\\", 1)[-1].strip() for name in table.columns}
    if "Date" not in names.values():
        raise InputError(f"{path.name} must have a column 'Date' in line {skip + 1}; got {table.columns[:3]}")
    return table.rename(names)


def _labels(labels: "pl.DataFrame", attacked: "pl.DataFrame") -> Bools:
    import polars as pl

    if "label" in labels.columns:
        if len(labels) != len(attacked):
            raise InputError(f"WADI_labels.csv must have {len(attacked)} rows, as the attack file; got {len(labels)}")
        label = labels["label"].to_numpy()
        if not np.isin(label, (0, 1)).all():
            raise InputError("WADI_labels.csv must hold 0 (normal) and 1 (attack) as labels; it holds others")
        return np.asarray(label > 0)
    if not {"start", "end"} <= set(labels.columns):
        raise InputError(f"WADI_labels.csv must have a column label, or start and end; got {labels.columns}")
    moment = attacked.select(pl.concat_str("Date", pl.lit(" "), "Time").str.strip_chars().str.to_datetime(TIME))
    times = moment.to_series().to_numpy()
    anomalous = np.zeros(len(times), dtype=np.bool_)
    for start, end in labels.select(pl.col("start", "end").str.to_datetime()).iter_rows():
        within = (times >= np.datetime64(start)) & (times <= np.datetime64(end))
        if not within.any():
            raise InputError(f"WADI_labels.csv must hold attacks with rows in them; got {start} to {end}")
        anomalous |= within
    return anomalous


def _medians(values: Floats) -> Floats:
    whole = len(values) // BLOCK * BLOCK
    medians: Floats = np.median(values[:whole].reshape(-1, BLOCK, values.shape[1]), axis=1)
    return medians

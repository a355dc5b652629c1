"""SMAP and MSL, as published with telemanom: `data/train/*.npy`, `data/test/*.npy`, `labeled_anomalies.csv`.

An entity is one line of the list, in its order. P-2 is listed twice with labels of its own each: two entities.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...frame import Frame
from .entity import Entity, Truth, source

__all__ = ["msl", "smap"]

CURE = "download it as telemanom's README says, and keep data/ and labeled_anomalies.csv side by side"


def smap(folder: Path) -> Iterator[Entity]:
    return _entities(folder, "SMAP")


def msl(folder: Path) -> Iterator[Entity]:
    return _entities(folder, "MSL")


def _entities(folder: Path, dataset: str) -> Iterator[Entity]:
    files = source(folder, "SMAP_MSL.zip", "labeled_anomalies.csv", CURE)
    lines = csv.DictReader(io.StringIO(files.read("labeled_anomalies.csv").decode()))
    seen: Counter[str] = Counter()
    for line in lines:
        if line["spacecraft"] != dataset:
            continue
        channel = line["chan_id"]
        seen[channel] += 1
        train, test = (
            Frame.of(np.load(io.BytesIO(files.read(f"data/{part}/{channel}.npy")))) for part in ("train", "test")
        )
        anomalous = np.zeros(len(test), dtype=np.bool_)
        for first, end in json.loads(line["anomaly_sequences"]):
            anomalous[first:end] = True  # the published end is exclusive
        name = channel if seen[channel] == 1 else f"{channel} ({seen[channel]})"
        yield Entity(dataset, name, train, test, Truth(anomalous))

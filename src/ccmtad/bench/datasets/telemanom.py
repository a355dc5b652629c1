"""SMAP and MSL, as published with telemanom: `data/train/*.npy`, `data/test/*.npy`, `labeled_anomalies.csv`.

An entity is one line of the list, in its order. P-2 is listed twice with labels of its own each: two entities.
"""

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...frame import Frame
from .entity import Entity, Source, Truth, source

__all__ = ["Msl", "Smap"]

CURE = "download it as telemanom's README says, and keep data/ and labeled_anomalies.csv side by side"


@dataclass(frozen=True)
class Telemanom:
    """One spacecraft's entities."""

    folder: Path
    name: str

    def entities(self) -> list[str]:
        return list(self._lines(self._files()))

    def read(self, entity: str) -> Entity:
        files = self._files()
        line = self._lines(files)[entity]
        train, test = (
            Frame.of(np.load(io.BytesIO(files.read(f"data/{part}/{line['chan_id']}.npy"))))
            for part in ("train", "test")
        )
        anomalous = np.zeros(len(test), dtype=np.bool_)
        for first, end in json.loads(line["anomaly_sequences"]):
            anomalous[first:end] = True  # the published end is exclusive
        return Entity(self.name, entity, train, test, Truth(anomalous))

    def _files(self) -> Source:
        return source(self.folder, "SMAP_MSL.zip", "labeled_anomalies.csv", CURE)

    def _lines(self, files: Source) -> dict[str, dict[str, str]]:
        seen: Counter[str] = Counter()
        lines = {}
        for line in csv.DictReader(io.StringIO(files.read("labeled_anomalies.csv").decode())):
            if line["spacecraft"] == self.name:
                channel = line["chan_id"]
                seen[channel] += 1
                lines[channel if seen[channel] == 1 else f"{channel} ({seen[channel]})"] = line
        return lines


@dataclass(frozen=True)
class Msl(Telemanom):
    """The Mars rover's."""

    name: str = "MSL"


@dataclass(frozen=True)
class Smap(Telemanom):
    """The satellite's."""

    name: str = "SMAP"

"""PSM: `train.csv`, `test.csv` (timestamp_(min), feature_0 ..) and `test_label.csv` (timestamp_(min), label)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...prepare import missing
from .entity import Entity, Truth, own_folder, source
from .table import frame, held, numbers, read_bytes

__all__ = ["Psm"]

CURE = "download eBay's RANSynCoders repository and put train.csv, test.csv and test_label.csv there"
FILES = ("train.csv", "test.csv", "test_label.csv")


@dataclass(frozen=True)
class Psm:
    """One entity of 25 pooled server metrics. Missing values hold the last one; smoothed over 50 rows."""

    folder: Path
    name: str = "PSM"

    def entities(self) -> list[str]:
        return ["PSM"]

    def read(self, entity: str) -> Entity:
        inner = own_folder(self.folder, "PSM")
        files = source(inner, "PSM.zip", "test_label.csv", CURE)
        prefix = next((n.removesuffix(FILES[2]) for n in files.names() if n.endswith(FILES[2])), "")
        tables = [read_bytes(files.read(prefix + name), name) for name in FILES]
        for table, name in zip(tables, FILES, strict=True):
            if "timestamp_(min)" not in table.columns:
                raise InputError(f"{name} must have a column 'timestamp_(min)'; got {', '.join(table.columns[:4])}")
        train, test, labels = (table.drop("timestamp_(min)") for table in tables)
        if train.columns != test.columns:
            raise InputError("train.csv and test.csv must have the same columns")
        filled = [
            frame(missing.fill(numbers(train, FILES[0])), train.columns),
            frame(held(numbers(test, FILES[1])), test.columns),
        ]
        anomalous = np.asarray(numbers(labels, FILES[2])[:, 0] > 0)
        if len(anomalous) != len(filled[1]):
            raise InputError(f"test_label.csv must have {len(filled[1])} rows, as test.csv has; got {len(anomalous)}")
        return Entity(self.name, entity, filled[0], filled[1], Truth(anomalous), {"smooth": 50})

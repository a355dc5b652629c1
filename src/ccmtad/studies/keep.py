"""What is kept of a training: how it went, the losses of two of its epochs, and what a study measured besides.

    training.kept    [8 bytes: length] [one line of JSON] [an .npz], one after the other

A file is only ever added to, so that a killed run goes on where it stopped; a last record that was cut off is dropped.
Losses are kept as 16 bits of their logarithm: their order, and four digits of them, are what judging needs.
"""

import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bench.methods import Losses
from ..bench.settings import RunSettings
from ..errors import FileError
from ..settings import Settings

__all__ = ["Keep", "Kept", "Key", "changes"]

Floats = NDArray[np.float64]
Codes = NDArray[np.uint16]
Key = tuple[str, str, str]  # dataset, entity, settings

LARGEST_FILE = 15 << 20  # bytes
LARGEST_CODE = 65_535  # 0 is NaN
SMALLEST = 1e-12  # of the largest loss: what is below is kept as that
PAPER = RunSettings.of("paper")
NOT_LEARNT_BY = ("device", "threads")  # settings that say where, not what


@dataclass(frozen=True, eq=False)
class Kept:
    """One training."""

    dataset: str
    entity: str
    settings: Mapping[str, Any]  # where they are not the paper preset's
    history: Floats  # (epochs, 3): training loss, validation loss, best point F1 on the test labels
    epoch: Mapping[str, int]  # from 1: "authors" by the best point F1, from the 2nd on; "validation" by the lowest loss
    losses: Mapping[str, Losses]  # of these epochs
    truth: NDArray[np.bool_]  # (rows,) of the test
    label: NDArray[np.int64]  # (channels,) clusters
    extras: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.dataset, self.entity, json.dumps(dict(self.settings), sort_keys=True)

    @property
    def full_settings(self) -> RunSettings:
        return RunSettings.of("paper", **self.settings)


def changes(settings: Settings) -> dict[str, Any]:
    """Where settings that matter to a training are not the paper preset's."""
    return {
        one.name: getattr(settings, one.name)
        for one in sorted(fields(settings), key=lambda one: one.name)
        if getattr(settings, one.name) != getattr(PAPER, one.name) and one.name not in NOT_LEARNT_BY
    }


class Keep:
    """A folder of files, a few for each dataset."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._where: dict[Key, tuple[Path, int, int]] = {}  # file, and from and to where in it
        for path in sorted(self.folder.glob("*.kept")):
            for key, first, end in _scan(path):
                self._where[key] = path, first, end

    def __contains__(self, key: Key) -> bool:
        return key in self._where

    def __len__(self) -> int:
        return len(self._where)

    def __getitem__(self, key: Key) -> Kept:
        path, first, end = self._where[key]
        with path.open("rb") as file:
            file.seek(first)
            return _unpacked(file.read(end - first))

    def add(self, kept: Kept) -> None:
        record = _packed(kept)
        path = self._file(kept.dataset, len(record))
        first = (path.stat().st_size if path.exists() else 0) + 8
        with path.open("ab") as file:
            file.write(len(record).to_bytes(8, "big") + record)
            file.flush()
            os.fsync(file.fileno())
        self._where[kept.key] = path, first, first + len(record)

    def _file(self, dataset: str, more: int) -> Path:
        number = 1
        while (path := self.folder / f"{dataset}-{number}.kept").exists():
            if path.stat().st_size + more <= LARGEST_FILE:
                break
            number += 1
        return path


def _scan(path: Path) -> Iterator[tuple[Key, int, int]]:
    """Each whole record of a file; what follows them is cut off."""
    size, place = path.stat().st_size, 0
    with path.open("rb") as file:
        while place + 8 <= size:
            file.seek(place)
            end = place + 8 + int.from_bytes(file.read(8), "big")
            if end > size:
                break
            try:
                header = json.loads(file.readline())
                key = header["dataset"], header["entity"], json.dumps(header["settings"], sort_keys=True)
            except (ValueError, KeyError, TypeError) as error:
                raise FileError(f"kept file must hold trainings; {str(path)!r} does not, at byte {place}") from error
            yield key, place + 8, end
            place = end
    if place < size:
        with path.open("r+b") as file:
            file.truncate(place)


def _packed(kept: Kept) -> bytes:
    header = {
        "dataset": kept.dataset,
        "entity": kept.entity,
        "settings": dict(kept.settings),
        "epoch": dict(kept.epoch),
    }
    arrays: dict[str, NDArray[Any]] = {
        "history": kept.history.astype(np.float32),
        "truth": np.packbits(kept.truth),
        "label": kept.label.astype(np.int16),
        **{f"extra {name}": values.astype(np.float32) for name, values in kept.extras.items()},
    }
    for name, losses in kept.losses.items():
        if name == "validation" and kept.epoch["validation"] == kept.epoch["authors"]:
            continue  # once is enough
        both, span = coded(np.concatenate([losses.validation, losses.test]))
        arrays |= {f"{name} losses": both, f"{name} span": span}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    return json.dumps(header | {"test_rows": len(kept.truth)}).encode() + b"\n" + file.getvalue()


def _unpacked(record: bytes) -> Kept:
    line, _, rest = record.partition(b"\n")
    header = json.loads(line)
    rows = header["test_rows"]
    with np.load(io.BytesIO(rest)) as arrays:
        losses = {}
        for name in ("authors", "validation"):
            there = name if f"{name} losses" in arrays else "authors"
            both = decoded(arrays[f"{there} losses"], arrays[f"{there} span"])
            losses[name] = Losses(both[:-rows], both[-rows:])
        return Kept(
            header["dataset"],
            header["entity"],
            header["settings"],
            arrays["history"].astype(np.float64),
            header["epoch"],
            losses,
            np.unpackbits(arrays["truth"], count=rows).astype(np.bool_),
            arrays["label"].astype(np.int64),
            {n.removeprefix("extra "): arrays[n].astype(np.float64) for n in arrays.files if n.startswith("extra ")},
        )


def coded(losses: Floats) -> tuple[Codes, Floats]:
    """16 bits of the logarithm, and its span. Equal losses stay equal, and no two change places."""
    largest = float(np.nanmax(losses, initial=0.0)) or 1.0
    logs = np.log(np.maximum(losses, SMALLEST * largest))
    low, high = float(np.nanmin(logs)), float(np.nanmax(logs))
    place = (logs - low) / max(high - low, 1e-300) * (LARGEST_CODE - 1) + 1
    return np.where(np.isnan(losses), 0, np.round(np.nan_to_num(place))).astype(np.uint16), np.array([low, high])


def decoded(codes: Codes, span: Floats) -> Floats:
    place = (codes.astype(np.float64) - 1) / (LARGEST_CODE - 1)
    return np.where(codes == 0, np.nan, np.exp(span[0] + place * (span[1] - span[0])))

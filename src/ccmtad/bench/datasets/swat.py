"""SWaT: the normal and the attack file of the original release (CSV or XLSX), or the public `train.npy` and `test.npz`.

The original is one row a second and every 5th is kept; the public files already are.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingExtraError
from ...prepare import missing
from .entity import Entity, Truth, own_folder
from .table import frame, held, read_bytes

__all__ = ["CHANNELS", "Swat"]

CURE = (
    "ask iTrust for it and put SWaT_Dataset_Normal_v1 and SWaT_Dataset_Attack_v0 (CSV or XLSX) there, "
    "or the public train.npy and test.npz"
)
# fmt: off
CHANNELS = [  # stage by stage
    "FIT101", "LIT101", "MV101", "P101", "P102",
    "AIT201", "AIT202", "AIT203", "FIT201", "MV201", "P201", "P202", "P203", "P204", "P205", "P206",
    "DPIT301", "FIT301", "LIT301", "MV301", "MV302", "MV303", "MV304", "P301", "P302",
    "AIT401", "AIT402", "FIT401", "LIT401", "P401", "P402", "P403", "P404", "UV401",
    "AIT501", "AIT502", "AIT503", "AIT504", "FIT501", "FIT502", "FIT503", "FIT504", "P501", "P502",
    "PIT501", "PIT502", "PIT503",
    "FIT601", "P601", "P602", "P603",
]
# fmt: on
SILENCED = ("P201", "LIT401")  # they behave differently in the two files
EVERY = 5

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Swat:
    """One entity of 51 sensors and actuators, smoothed over 50 rows."""

    folder: Path
    name: str = "SWaT"

    def entities(self) -> list[str]:
        return ["SWaT"]

    def read(self, entity: str) -> Entity:
        inner = own_folder(self.folder, "SWaT")
        if (inner / "train.npy").is_file() and (inner / "test.npz").is_file():
            train = np.load(inner / "train.npy").astype(np.float64)
            with np.load(inner / "test.npz") as arrays:
                test, anomalous = arrays["x"].astype(np.float64), arrays["y"].ravel() > 0
        else:
            train, _ = _table(_one(inner, "normal"))
            test, anomalous = _table(_one(inner, "attack"))
            train, test, anomalous = train[::EVERY], test[::EVERY], anomalous[::EVERY]
        for values, part in ((train, "train"), (test, "test")):
            if values.ndim != 2 or values.shape[1] != len(CHANNELS):
                raise InputError(f"SWaT {part} must have {len(CHANNELS)} channels; got shape {values.shape}")
        silent = [CHANNELS.index(name) for name in SILENCED]
        train[:, silent] = test[:, silent] = 0.0
        frames = [frame(missing.fill(train), CHANNELS), frame(held(test), CHANNELS)]
        return Entity(self.name, entity, frames[0], frames[1], Truth(anomalous), {"smooth": 50})


def _one(folder: Path, word: str) -> Path:
    found = sorted(p for p in folder.glob("*") if word in p.name.lower() and p.suffix.lower() in {".csv", ".xlsx"})
    if not found:
        raise InputError(f"folder must hold SWaT's {word} file; got {str(folder)!r}: {CURE}")
    return found[-1]  # the latest version


def _table(path: Path) -> tuple[Floats, Bools]:
    """Values in the order of CHANNELS, and which rows are under attack."""
    columns = _xlsx(path) if path.suffix.lower() == ".xlsx" else _csv(path)
    missing_names = [name for name in (*CHANNELS, "Normal/Attack") if name not in columns]
    if missing_names:
        raise InputError(f"{path.name} must have a column {missing_names[0]!r}; got {', '.join(list(columns)[:5])}")
    values = np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in CHANNELS])
    labels = {str(label).replace(" ", "").lower() for label in columns["Normal/Attack"]}
    if not labels <= {"normal", "attack"}:
        raise InputError(f"{path.name} must label rows Normal or Attack; got {sorted(labels)[:3]}")
    return values, np.array([str(label).replace(" ", "").lower() == "attack" for label in columns["Normal/Attack"]])


def _csv(path: Path) -> dict[str, list[object]]:
    data = path.read_bytes()
    lines = data[:20_000].decode("utf-8", "replace").splitlines()
    header = next((i for i, line in enumerate(lines) if "FIT101" in line), 0)
    table = read_bytes(data, path.name, header)
    return {str(name).strip(): table[name].to_list() for name in table.columns}


def _xlsx(path: Path) -> dict[str, list[object]]:
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("reading XLSX needs openpyxl: pip install 'ccmtad[bench]'") from error
    book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()), read_only=True, data_only=True)
    rows = book.worksheets[0].iter_rows(values_only=True)
    for row in rows:
        names = ["" if cell is None else str(cell).strip() for cell in row]
        if "FIT101" in names:
            return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    raise InputError(f"{path.name} must have a header with FIT101; got none")

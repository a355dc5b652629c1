"""SMD, as published with OmniAnomaly.

`ServerMachineDataset/{train,test,test_label,interpretation_label}/machine-*.txt`
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...frame import Frame
from .entity import Entity, Source, Truth, source

__all__ = ["Smd"]

ROOT = "ServerMachineDataset"
CURE = f"download OmniAnomaly's repository and put its {ROOT} folder there"


@dataclass(frozen=True)
class Smd:
    """However many of the 28 machines there are."""

    folder: Path
    name: str = "SMD"

    def entities(self) -> list[str]:
        prefix = f"{ROOT}/train/"
        files = [name for name in self._files().names() if name.startswith(prefix) and name.endswith(".txt")]
        names = [name.removeprefix(prefix).removesuffix(".txt") for name in files]
        return sorted(names, key=lambda name: [int(i) for i in name.split("-")[1:]])

    def read(self, entity: str) -> Entity:
        files = self._files()

        def table(part: str) -> NDArray[np.float64]:
            return np.loadtxt(io.BytesIO(files.read(f"{ROOT}/{part}/{entity}.txt")), delimiter=",", ndmin=2)

        causes = _causes(files.read(f"{ROOT}/interpretation_label/{entity}.txt").decode())
        truth = Truth(table("test_label")[:, 0] > 0, causes)
        return Entity(self.name, entity, Frame.of(table("train")), Frame.of(table("test")), truth)

    def _files(self) -> Source:
        return source(self.folder, "SMD.zip", ROOT, CURE)


def _causes(text: str) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """Lines "start-end:dim,dim": as published, rows from 0 with the end exclusive (it is normal), columns from 1."""
    causes = []
    for line in text.splitlines():
        if line.strip():
            span, channels = line.split(":")
            first, end = (int(i) for i in span.split("-"))
            causes.append((first, end - 1, tuple(int(channel) - 1 for channel in channels.split(","))))
    return tuple(causes)

"""JumpStarter's second dataset: `dataset/Dataset2/{train,test,test_label}/service*.csv`, no header, raw units."""

import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...frame import Frame
from .entity import Entity, Source, Truth, source

__all__ = ["JumpStarter"]

ROOT = "dataset/Dataset2"
CURE = "download JumpStarter's repository and put its dataset folder there"


@dataclass(frozen=True)
class JumpStarter:
    """However many of the 30 services there are, one row every five minutes."""

    folder: Path
    name: str = "JumpStarter"

    def entities(self) -> list[str]:
        found = (re.fullmatch(rf"{ROOT}/train/(service\d+)\.csv", name) for name in self._files().names())
        return sorted((match[1] for match in found if match), key=lambda name: int(name.removeprefix("service")))

    def read(self, entity: str) -> Entity:
        files = self._files()

        def table(part: str) -> NDArray[np.float64]:
            return np.loadtxt(io.BytesIO(files.read(f"{ROOT}/{part}/{entity}.csv")), delimiter=",", ndmin=2)

        truth = Truth(table("test_label").ravel() > 0)
        return Entity(self.name, entity, Frame.of(table("train")), Frame.of(table("test")), truth)

    def _files(self) -> Source:
        return source(self.folder, "JumpStarter.zip", ROOT, CURE)

"""SMD, as published with OmniAnomaly.

`ServerMachineDataset/{train,test,test_label,interpretation_label}/machine-*.txt`
"""

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...frame import Frame
from .entity import Entity, Truth, source

__all__ = ["machines"]

ROOT = "ServerMachineDataset"
CURE = f"download OmniAnomaly's repository and put its {ROOT} folder there"


def machines(folder: Path) -> Iterator[Entity]:
    files = source(folder, "SMD.zip", ROOT, CURE)
    prefix = f"{ROOT}/train/"
    names = [name.removeprefix(prefix) for name in files.names() if name.startswith(prefix) and name.endswith(".txt")]

    def table(part: str, name: str) -> NDArray[np.float64]:
        return np.loadtxt(io.BytesIO(files.read(f"{ROOT}/{part}/{name}")), delimiter=",", ndmin=2)

    for name in sorted(names, key=lambda n: [int(i) for i in n.removesuffix(".txt").split("-")[1:]]):
        truth = Truth(
            table("test_label", name)[:, 0] > 0, _causes(files.read(f"{ROOT}/interpretation_label/{name}").decode())
        )
        train, test = Frame.of(table("train", name)), Frame.of(table("test", name))
        yield Entity("SMD", name.removesuffix(".txt"), train, test, truth)


def _causes(text: str) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """Lines "start-end:dim,dim": as published, rows from 0 with the end exclusive (it is normal), columns from 1."""
    causes = []
    for line in text.splitlines():
        if line.strip():
            span, channels = line.split(":")
            first, end = (int(i) for i in span.split("-"))
            causes.append((first, end - 1, tuple(int(channel) - 1 for channel in channels.split(","))))
    return tuple(causes)

"""The architecture, described once: torch builds it, the engine runs it, a model file is checked against it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..settings import Settings
from .clusters import Clusters, widths

__all__ = ["Architecture"]


@dataclass(frozen=True, eq=False)
class Architecture:
    """The sizes and switches of a network."""

    members: tuple[NDArray[np.int64], ...]  # the channels of each cluster
    widths: tuple[int, ...]  # embedding dimensions of each
    window: int
    expansion: int = 1
    mixers: int = 1
    temporal_mixer: Literal["causal", "plain", "none"] = "causal"
    causal_mask: Literal["1/j", "unit"] = "1/j"
    embedding_mixer: bool = True
    linear: bool = False  # whether a linear reconstruction is mixed into the network's

    @classmethod
    def of(cls, settings: Settings, clusters: Clusters) -> "Architecture":
        """The architecture of these settings, for channels grouped so."""
        switches = ("window", "expansion", "mixers", "temporal_mixer", "causal_mask", "embedding_mixer", "linear")
        given = {name: getattr(settings, name) for name in switches}
        return cls(clusters.members, widths(clusters, settings.width), **given)

    @property
    def channels(self) -> int:
        return sum(map(len, self.members))

    @property
    def width(self) -> int:
        return sum(self.widths)

    @cached_property
    def spans(self) -> NDArray[np.int64]:
        """(channels, 2): the part of the embedding, from and to, that each channel reaches."""
        found, first = np.zeros((self.channels, 2), dtype=np.int64), 0
        for members, width in zip(self.members, self.widths, strict=True):
            found[members] = first, first + width
            first += width
        return found

    @cached_property
    def gate(self) -> NDArray[np.float32]:
        """(time in, time out): what the weights along time are multiplied by, so that no position sees a later one."""
        gate: NDArray[np.float32] = np.ones((self.window, self.window), dtype=np.float32)
        if self.temporal_mixer == "causal":
            gate = np.triu(gate)
            if self.causal_mask == "1/j":
                gate = (gate / np.arange(1, self.window + 1)).astype(np.float32)
        return gate

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every parameter and running statistic by name."""
        found: dict[str, tuple[int, ...]] = {}

        def linear(name: str, inputs: int, outputs: int) -> None:
            found[f"{name}.weight"], found[f"{name}.bias"] = (outputs, inputs), (outputs,)

        def norm(name: str) -> None:
            for part in ("weight", "bias", "running_mean", "running_var"):
                found[f"{name}.{part}"] = (self.width,)

        hidden = self.width * self.expansion
        for i, (members, width) in enumerate(zip(self.members, self.widths, strict=True)):
            linear(f"embed.{i}", len(members), width)
        norm("norm")
        for i in range(self.mixers):
            if self.temporal_mixer != "none":
                linear(f"mixers.{i}.time.first", self.window, self.window)
                linear(f"mixers.{i}.time.second", self.window, self.window)
            norm(f"mixers.{i}.time_norm")
            if self.embedding_mixer:
                linear(f"mixers.{i}.embedding.first", self.width, hidden)
                linear(f"mixers.{i}.embedding.second", hidden, self.width)
            norm(f"mixers.{i}.embedding_norm")
        norm("head_norm")
        linear("head", self.width, self.channels)
        if self.linear:
            linear("linear", self.channels, self.channels)
        return found

"""On a GPU a step of a small network is mostly starting kernels: recorded once, it is replayed as a whole."""

from collections.abc import Callable

import torch

__all__ = ["Repeated"]

PLAIN = 2  # times it is done as it is, so that what is chosen or allotted on first use is


class Repeated:
    """Work that does the same operations each time, on tensors that stay where they are, and asks the device nothing.

    On a GPU it is recorded the third time; elsewhere it is done as it is.
    """

    def __init__(self, work: Callable[[], None], device: torch.device) -> None:
        self._work, self._device, self._done = work, device, 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self) -> None:
        if self._device.type != "cuda":
            self._work()
        elif self._graph is not None:
            self._graph.replay()
        elif self._done < PLAIN:
            self._done += 1
            self._aside()
        else:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._work()
            self._graph.replay()

    def _aside(self) -> None:
        """On another stream, as recording does it."""
        here, aside = torch.cuda.current_stream(self._device), torch.cuda.Stream(self._device)
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            self._work()
        here.wait_stream(aside)

"""On a GPU a step of a small network is mostly starting kernels: recorded once, it is replayed as a whole."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

__all__ = ["Recorder", "Repeated", "undisturbed"]

PLAIN = 2  # times it is done as it is, so that what is chosen or allotted on first use is


@contextmanager
def undisturbed() -> Iterator[None]:
    """While something is recorded: another graph that is thrown away meanwhile would spoil it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class Recorder:
    """Where work of one device is recorded: what is recorded here is replayed in turn, and shares its memory."""

    def __init__(self, device: torch.device) -> None:
        self.on = device.type == "cuda"
        if self.on:
            self.pool, self.stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream(device)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """On the stream that recording takes place on."""
        here = torch.cuda.current_stream(self.stream.device)
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream):
            yield
        here.wait_stream(self.stream)

    def record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        with undisturbed(), torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            work()
        return graph


class Repeated:
    """Work that does the same operations each time, on tensors that stay where they are, and asks the device nothing.

    On a GPU it is recorded the third time; elsewhere it is done as it is. The work is given anew each time, so that
    nothing here keeps alive what it belongs to.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._done = recorder, 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, work: Callable[[], None]) -> None:
        if not self._recorder.on:
            work()
        elif self._done < PLAIN:
            self._done += 1
            with self._recorder.aside():
                work()
        else:
            if self._graph is None:
                self._graph = self._recorder.record(work)
            self._graph.replay()

"""On a GPU a step of a small network is mostly launching: recorded once, it is replayed as a whole."""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn

from ...network.recorded import undisturbed

__all__ = ["Recorded"]

Forth = Callable[[Tensor], Tensor]


class Recorded:
    """What a module makes of a batch, forth and back. Batches of another size, and CPUs, go the plain way.

    Only for what does the same operations whatever the values.
    """

    def __init__(self, module: nn.Module, what: Forth, size: int) -> None:
        self._module, self._what, self._size = module, what, size
        self._replayed: Forth | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if x.device.type != "cuda" or len(x) != self._size or not torch.is_grad_enabled():
            return self._what(x)
        if self._replayed is None:
            called = _Called(self._module, self._what)
            with undisturbed():
                self._replayed = cast(Forth, torch.cuda.make_graphed_callables(called, (x,)))
        return self._replayed(x)


class _Called(nn.Module):
    """So that the parameters of `module` are known where `what` is recorded."""

    def __init__(self, module: nn.Module, what: Forth) -> None:
        super().__init__()
        self.module, self.what = module, what

    def forward(self, x: Tensor) -> Tensor:
        return self.what(x)

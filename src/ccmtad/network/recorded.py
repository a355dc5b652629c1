"""On a GPU a step of a small network is mostly launching: recorded once, it is replayed as a whole."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

__all__ = ["Recorded"]


class Recorded:
    """What a module makes of a batch, forth and back. Batches of another size, and CPUs, go the plain way.

    Only for what does the same operations whatever the values.
    """

    def __init__(self, module: nn.Module, what: Callable[[Tensor], Tensor], size: int) -> None:
        self._module, self._what, self._size = module, what, size
        self._replayed: Callable[[Tensor], Tensor] | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if x.device.type != "cuda" or len(x) != self._size or not torch.is_grad_enabled():
            return self._what(x)
        if self._replayed is None:
            self._replayed = torch.cuda.make_graphed_callables(_Called(self._module, self._what), (x,))
        return self._replayed(x)


class _Called(nn.Module):
    """So that the parameters of `module` are known where `what` is recorded."""

    def __init__(self, module: nn.Module, what: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.module, self.what = module, what

    def forward(self, x: Tensor) -> Tensor:
        return self.what(x)

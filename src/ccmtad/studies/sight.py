"""A network in torch, where it was trained: the losses of every epoch, and what its gradients say."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..fit import TrainingSeries
from ..network import training
from ..network.weights import Weights

__all__ = ["Sight"]

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

AT_ONCE = 4_096  # windows


class Sight:
    """The network of a training series, to be given weights."""

    def __init__(self, series: TrainingSeries) -> None:
        name = series.settings.device
        self.device = torch.device(
            "cuda" if name == "auto" and torch.cuda.is_available() else name.replace("auto", "cpu")
        )
        self.window = series.settings.window
        self.network: Any = training.build(series.architecture, series.settings).to(self.device).eval()
        self.reach = torch.arange(1 - self.window, 1, device=self.device)

    def load(self, weights: Weights) -> None:
        # Masks and orders are no weights; how many batches a norm has seen is of no account.
        self.network.load_state_dict({name: torch.as_tensor(value) for name, value in weights.items()}, strict=False)

    def losses(self, weights: Weights, rows: torch.Tensor, ends: torch.Tensor) -> Floats:
        """The mean squared error of the rows `ends`. Both are on the device."""
        self.load(weights)
        found = []
        with torch.inference_mode():
            for batch in ends.split(AT_ONCE):
                x = rows[batch[:, None] + self.reach]
                found.append((self.network(x) - x[:, -1]).square().mean(dim=1))
        return torch.cat(found).double().cpu().numpy()

    def forward(self, rows: Rows) -> None:
        """Reconstructs every row that ends a window, and waits for it."""
        with torch.inference_mode():
            x = torch.as_tensor(rows, device=self.device).unfold(0, self.window, 1).transpose(1, 2)
            self.network(x).cpu()

    def gradient(self, weights: Weights, window: Rows, moment: int, channel: int) -> Floats:
        """(time, channels): the size of the gradient of the squared error at one moment and channel."""
        self.load(weights)
        x = torch.as_tensor(window[None], device=self.device).requires_grad_()
        expected = self.network.head(self.network.represent(x))
        (expected[0, moment, channel] - x[0, moment, channel]).square().backward()
        assert x.grad is not None
        return x.grad[0].abs().double().cpu().numpy()

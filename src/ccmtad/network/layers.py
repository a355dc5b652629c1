"""What torch has for one network, for many side by side."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["EPSILON", "MOMENTUM", "Product", "counted_norm"]

MOMENTUM, EPSILON = 0.1, 1e-5  # of batch norm
MANY = 64  # networks


class Product(torch.autograd.Function):
    """A map along the second axis, for each network by itself. Of few networks the gradient of the weights is summed up
    for each position by itself first: one sum over all windows and positions would leave most of a GPU idle."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: Tensor) -> Tensor:  # (networks, out, in), (networks, in, time, batch)
        ctx.save_for_backward(weight, x)
        return torch.bmm(weight, x.flatten(2))  # (networks, out, time * batch)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None]:
        weight, x = ctx.saved_tensors
        back = torch.bmm(weight.transpose(1, 2), gradient).view_as(x) if ctx.needs_input_grad[1] else None
        if not 1 < len(x) < MANY:
            return torch.bmm(gradient, x.flatten(2).transpose(1, 2)), back
        apart, of = (part.transpose(1, 2).flatten(0, 1) for part in (gradient.unflatten(2, x.shape[2:]), x))
        return torch.bmm(apart, of.transpose(1, 2)).unflatten(0, (len(x), -1)).sum(dim=1), back


def counted_norm(x: Tensor, real: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    """Batch norm of (networks, width, time, batch) over the windows that count; `mean` and `variance` follow."""
    counts, number = real[:, None, None], (real.sum(dim=1) * x.shape[2])[:, None].clamp(min=1)
    now = (x * counts).sum(dim=(2, 3)) / number
    spread = ((x - now[..., None, None]) * counts).square().sum(dim=(2, 3)) / number
    with torch.no_grad():
        mean.lerp_(now, MOMENTUM)
        variance.lerp_(spread * number / (number - 1).clamp(min=1), MOMENTUM)
    scale = weight * (spread + EPSILON).rsqrt()
    return (x - now[..., None, None]) * scale[..., None, None] + bias[..., None, None]

"""The network is the paper's, and looks only back."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from ccmtad.network.clusters import Clusters, widths
from ccmtad.network.engine import Engine
from ccmtad.network.network import Mixer, Network
from ccmtad.network.shapes import Architecture
from ccmtad.network.training import build
from ccmtad.settings import Settings


def make(channels: int = 7, clusters: int = 3, **given: Any) -> tuple[Network, Clusters, Settings]:
    settings = Settings.of(**{"width": 12, "window": 6, **given})
    grouped = Clusters(np.arange(channels) % clusters)
    torch.manual_seed(0)
    network = build(Architecture.of(settings, grouped), settings)
    for module in network.modules():  # statistics and gains that are not the initial ones
        if isinstance(module, torch.nn.BatchNorm1d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.uniform_(module.bias, -0.5, 0.5)
            torch.nn.init.uniform_(module.running_mean, -0.5, 0.5)  # type: ignore[arg-type]
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)  # type: ignore[arg-type]
    return network.eval(), grouped, settings


@pytest.mark.parametrize(
    ("channels", "clusters", "width", "expansion", "published"),
    [(51, 6, 128, 1, 43_000), (25, 4, 256, 1, 144_000), (123, 9, 256, 3, 435_000)],
)
def test_parameter_counts_are_the_papers(
    channels: int, clusters: int, width: int, expansion: int, published: int
) -> None:
    network, _, _ = make(channels, clusters, width=width, expansion=expansion, window=24)
    count = sum(parameter.numel() for parameter in network.parameters())
    assert count == pytest.approx(published, rel=0.02)


def future_gradient(mixer: str, mixers: int, position: int) -> torch.Tensor:
    network, _, _ = make(temporal_mixer=mixer, mixers=mixers)
    x = torch.randn(1, 6, 7, requires_grad=True)
    back = network.head(network.represent(x))[:, position]
    torch.nn.functional.mse_loss(back, x[:, position].detach()).backward()
    assert x.grad is not None
    assert bool((x.grad[0, position] != 0).any())
    return x.grad[0, position + 1 :]


@pytest.mark.parametrize(("mixers", "position"), list(product([1, 3], [0, 2, 4])))
def test_the_loss_at_a_position_ignores_later_inputs_exactly(mixers: int, position: int) -> None:
    assert bool((future_gradient("causal", mixers, position) == 0).all())


@pytest.mark.parametrize("position", [0, 2, 4])
def test_the_plain_mixer_does_look_ahead(position: int) -> None:
    assert bool((future_gradient("plain", 1, position) != 0).all())


@pytest.mark.parametrize(
    ("mixer", "mask", "embedding_mixer", "mixers", "expansion"),
    list(product(["causal", "plain", "none"], ["1/j", "unit"], [True, False], [1, 2], [1, 3])),
)
def test_the_engine_computes_what_the_network_does(
    mixer: str, mask: str, embedding_mixer: bool, mixers: int, expansion: int
) -> None:
    network, clusters, settings = make(
        temporal_mixer=mixer,
        causal_mask=mask,
        embedding_mixer=embedding_mixer,
        mixers=mixers,
        expansion=expansion,
    )
    rows = np.random.default_rng(1).uniform(-2, 2, (40, 7)).astype(np.float32)
    windows = torch.as_tensor(np.stack([rows[i : i + 6] for i in range(35)]))
    with torch.no_grad():
        expected = network(windows).numpy()
    back = Engine(network.weights(), Architecture.of(settings, clusters)).reconstruct(rows)
    np.testing.assert_allclose(back, expected, rtol=1e-4, atol=1e-5)


def test_the_mask_divides_by_the_position() -> None:
    network, _, _ = make()
    mixer = network.mixers[0]
    assert isinstance(mixer, Mixer)
    assert mixer.time is not None
    mask = mixer.time.first.mask.numpy()
    expected = np.array([[1 / j if i <= j else 0.0 for j in range(1, 7)] for i in range(1, 7)])
    np.testing.assert_allclose(mask, expected, rtol=1e-6)


def test_channels_reach_only_their_own_clusters_embedding() -> None:
    network, clusters, settings = make()
    dense = Engine(network.weights(), Architecture.of(settings, clusters)).embedding.single
    column = np.repeat(np.arange(3), widths(clusters, settings.width))
    assert bool((dense[clusters.label[:, None] != column] == 0).all())
    assert bool((dense[clusters.label[:, None] == column] != 0).all())

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from ccmtad import Settings
from ccmtad.fit import TrainingSeries
from ccmtad.network.linear import Principal, mixed, share
from ccmtad.simulate import simulate


@given(st.integers(0, 10_000), st.integers(2, 8))
def test_the_linear_reconstruction_is_that_of_the_principal_components(seed: int, channels: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(60, 3)) @ random.normal(size=(3, channels)) + 0.2 * random.normal(size=(60, channels))
    pca = PCA(0.95).fit(rows)
    wanted = pca.inverse_transform(pca.transform(rows[3:]))
    np.testing.assert_allclose(Principal.fit(rows, window=4).reconstruct(rows), wanted, atol=1e-9)


def test_rows_that_never_move_are_their_own_mean() -> None:
    rows = np.full((20, 3), 2.5)
    np.testing.assert_array_equal(Principal.fit(rows, window=2).reconstruct(rows), rows[1:])


def test_each_channel_takes_more_of_what_knows_it_better() -> None:
    network, linear = np.array([[1.0, 4.0, 1.0]]), np.array([[1.0, 1.0, 1e12]])
    np.testing.assert_allclose(share(network, linear), [0.5, 1 / 3, 0.95])


def test_the_engine_mixes_both_reconstructions() -> None:
    """What it gives is the network's and the linear one, each by its share."""
    frame = simulate(1_200, seed=0).frame
    series = TrainingSeries.of(frame, Settings(linear=False, epochs=1, blocks=1, mixers=2))
    weights, channels = series.train().weights, len(series.channels)
    rows = np.random.default_rng(0).normal(size=(100, channels)).astype(np.float32)
    beside = Principal.fit(rows, series.settings.window)
    taken = np.linspace(0.1, 0.9, channels)
    both = series.engine(mixed(weights, beside, taken))
    wanted = taken * series.engine(weights).reconstruct(rows) + (1 - taken) * beside.reconstruct(rows)
    np.testing.assert_allclose(both.reconstruct(rows), wanted, atol=1e-5)

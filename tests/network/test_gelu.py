"""The activation, against its definition."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

from ccmtad.compiled import available
from ccmtad.network.gelu import gelu
from ccmtad.network.kernels import GELU


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 4e-7), (np.float64, 1e-7)])
def test_gelu_is_x_times_the_normal_distribution(compiled: bool, dtype: type, tolerance: float) -> None:
    if compiled and not available():
        pytest.skip("numba is missing: pip install 'ccmtad[fast]'")
    x: NDArray[Any] = np.concatenate([np.linspace(-12, 12, 100_001), [-1e4, 1e4, 0.0]]).astype(dtype)
    exact = x.astype(np.float64) * ndtr(x.astype(np.float64))
    found = (GELU.fast if compiled else gelu)(x.copy()[None])[0]
    assert found.dtype == dtype
    assert float(np.max(np.abs(found - exact) / np.maximum(np.abs(x), 1))) < tolerance

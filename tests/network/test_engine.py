from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from ccmtad.network.engine import Linear
from ccmtad.network.products import ON_ONE_THREAD, filled, product


@pytest.mark.parametrize(("rows", "inner", "out"), [(1, 5, 3), (700, 50, 64), (513, 123, 256), (9, 600, 600)])
def test_a_linear_map_is_the_same_to_the_last_bit_on_any_number_of_threads(rows: int, inner: int, out: int) -> None:
    random = np.random.default_rng(0)
    linear = Linear(random.normal(size=(inner, out)), random.normal(size=out))
    x = random.normal(size=(rows, inner))
    with threadpool_limits(1):
        alone = linear(x)
    with threadpool_limits(4):
        together = linear(x)
    assert np.array_equal(alone, together)
    assert np.allclose(alone, x @ linear.matrix + linear.bias, rtol=1e-12, atol=1e-10)


def test_a_large_product_is_taken_in_pieces_that_one_thread_does(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = np.matmul

    def counted(a: Any, b: Any, **more: Any) -> Any:
        sizes.append(len(a) * b.size)
        return real(a, b, **more)

    linear = Linear(np.ones((50, 64)), np.zeros(64))
    monkeypatch.setattr("ccmtad.network.products.np.matmul", counted)
    linear(np.ones((512, 50)))
    assert len(sizes) > 1
    assert max(sizes) <= ON_ONE_THREAD


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 130), st.integers(1, 130), st.booleans())
def test_what_a_row_comes_to_does_not_depend_on_those_after_it(
    rows: int, more: int, inner: int, out: int, single: bool
) -> None:
    random = np.random.default_rng(rows + more)
    matrix = random.normal(size=(inner, out))
    x = random.normal(size=(rows + more + 23, inner)).astype(np.float32 if single else np.float64)
    fewer = product(filled(x[: rows + 23], rows), matrix)  # as of windows of 24 rows
    assert np.array_equal(product(filled(x, rows + more), matrix)[:rows], fewer[:rows])

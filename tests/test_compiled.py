"""Functions written once: what numba keeps on disk is never yesterday's code."""

import hashlib

import numpy as np
import pytest

from ccmtad import compiled
from ccmtad.network.kernels import GELU
from ccmtad.score.step import FOLD

numba_only = pytest.mark.skipif(not compiled.available(), reason="numba is missing: pip install 'ccmtad[fast]'")


@numba_only
def test_what_is_kept_on_disk_is_tied_to_the_source_of_every_kernel() -> None:
    """numba itself looks at the file of the entry alone; the step's kernels lie in a dozen files."""
    stamp = FOLD.fast._cache._cache_file._source_stamp
    files = sorted({function.__code__.co_filename for function in compiled._KERNELS})
    assert len(files) >= 8
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(file.read())
    assert stamp[1] == digest.hexdigest()


@numba_only
def test_an_entry_is_compiled_where_it_can_be_and_interpreted_on_demand() -> None:
    x = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(GELU(x.copy()), GELU.plain(x.copy()), rtol=1e-6)
    assert GELU.fast is GELU.fast
    assert GELU.fast is not GELU.plain

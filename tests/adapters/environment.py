"""The second environment: the libraries whose pins clash with those of the first."""

import importlib.util

import pytest


def needs(library: str) -> None:
    """Skips the tests of a file where this is not that environment."""
    if importlib.util.find_spec("sktime") is None or importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} needs an environment of its own: make test-adapters", allow_module_level=True)

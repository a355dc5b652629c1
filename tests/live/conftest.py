"""Fixtures of the live tests."""

from collections.abc import Iterator

import pytest

from .test_kills import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """One for all: it loads everything once. It has one watch at a time."""
    one = Nursery()
    yield one
    one.close()

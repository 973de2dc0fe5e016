"""Servers of these tests have their clock: it delivers."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def _no_clock() -> None:
    """Tables that keep the timer loop of other capabilities quiet."""

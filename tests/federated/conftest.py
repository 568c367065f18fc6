"""What the tests with real processes share: one parent of them all."""

from __future__ import annotations

import gc

import pytest

from tests.federated.forking import Forks


@pytest.fixture(scope="session")
def forks():
    made = Forks()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _thawed():
    """Undo the `gc.freeze` of a server in this process: DuckDB reports frozen cycles as leaks."""
    yield
    gc.unfreeze()

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
def _thawed(monkeypatch):
    """A server in this process freezes nothing: DuckDB reports frozen cycles as leaks."""
    monkeypatch.setattr(gc, "freeze", lambda: None)

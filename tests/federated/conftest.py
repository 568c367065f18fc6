"""What the tests with real processes share: one parent of them all."""

from __future__ import annotations

import gc

import pytest

from tests.federated.forking import QUICK, Forks


@pytest.fixture(scope="session")
def forks():
    made = Forks()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _thawed_and_quick(monkeypatch):
    """A server in this process freezes nothing: DuckDB reports frozen cycles as leaks.

    And it hardly waits for more reports to arrive, nor a client before it tries again.
    """
    monkeypatch.setattr(gc, "freeze", lambda: None)
    monkeypatch.setattr("nolook.federated.server.expander._GATHERING", QUICK)
    monkeypatch.setattr("nolook.federated.client._FIRST_PAUSE", QUICK)

"""What the tests with real processes share: one parent of them all."""

from __future__ import annotations

import pytest

from tests.federated.forking import Forks


@pytest.fixture(scope="session")
def forks():
    made = Forks()
    yield made
    made.close()

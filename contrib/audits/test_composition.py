"""nolook's epsilons are never below what dp_accounting shows, and not far above."""

from __future__ import annotations

import pytest

from contrib.audits.composition import (
    COMPOSITIONS,
    DELTA,
    charged,
    least_epsilon,
    most_epsilon,
    opendp_epsilon,
)
from nolook.privacy.accounting import smallest_epsilon
from tests.contracts.test_costs import RELEASES


@pytest.mark.parametrize("events", COMPOSITIONS.values(), ids=COMPOSITIONS)
def test_a_composition_is_between_the_bounds_of_others(events):
    ours, least = smallest_epsilon(events, DELTA), least_epsilon(events, DELTA)
    others = most_epsilon(events, DELTA), opendp_epsilon(events, DELTA)
    assert least <= ours <= 1.08 * min(others)
    assert least <= min(others)
    if len(events) > 1:  # an accountant that leaves the last one out is noticed
        assert smallest_epsilon(events[:-1], DELTA) < least


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_claims_no_less_than_its_mechanisms_cost(name):
    promised = RELEASES[name][0]().plan().guarantee
    least = least_epsilon(promised.mechanisms, promised.delta)
    assert 0.3 * promised.epsilon < least <= promised.epsilon * (1 + 1e-9)


def test_a_ledger_charges_no_less_than_its_releases_cost(tmp_path):
    epsilon, delta, events = charged(tmp_path / "table.ledger")
    assert 0.5 * epsilon < least_epsilon(events, delta) <= epsilon

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from nolook.errors import ParameterError
from nolook.privacy.accounting import gaussian_delta, gaussian_mu, guarantee, total_delta
from nolook.privacy.guarantee import ApproximateEvent, Budget, GaussianEvent, PureEvent


def exact_delta(mu, epsilon):
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        near, far = -e / m + m / 2, -e / m - m / 2
        return mpmath.ncdf(near) - mpmath.exp(e) * mpmath.ncdf(far)


@settings(max_examples=300)
@given(st.floats(1e-4, 50.0), st.floats(1e-3, 50.0))
def test_delta_is_never_below_the_truth_and_hardly_above(mu, epsilon):
    truth = exact_delta(mu, epsilon)
    delta = gaussian_delta(mu, epsilon)
    assert mpmath.mpf(delta) >= truth
    if truth > 1e-290:
        assert delta <= truth * (1 + 1e-7)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, math.log(3), 10.0])
def test_delta_in_the_range_of_use_is_accurate(mu, epsilon):
    truth = exact_delta(mu, epsilon)
    if truth > 1e-290:
        assert truth <= gaussian_delta(mu, epsilon) <= truth * (1 + 1e-9)


@given(st.floats(1e-2, 20.0), st.floats(1e-12, 0.4))
def test_mu_keeps_its_budget_and_is_the_largest(epsilon, delta):
    mu = gaussian_mu(Budget(epsilon, delta))
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(mu * (1 + 1e-8), epsilon) > delta


def test_the_known_noise_at_ln_3():
    # The classical bound asks for sqrt(2 ln(1.25/delta))/epsilon = 4.4 sensitivities.
    assert 1 / gaussian_mu(Budget(math.log(3), 1e-5)) == pytest.approx(3.4247, abs=1e-3)


def test_mu_needs_a_delta():
    with pytest.raises(ParameterError, match="delta"):
        gaussian_mu(Budget(1.0))


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), st.floats(0.1, 5.0))
def test_gaussian_releases_compose_by_their_squares(mus, epsilon):
    events = [GaussianEvent("x", mu) for mu in mus]
    whole = math.sqrt(sum(mu * mu for mu in mus))
    assert total_delta(events, epsilon) == pytest.approx(gaussian_delta(whole, epsilon), rel=1e-6)
    assert total_delta(events, epsilon) >= exact_delta(
        math.sqrt(math.fsum(m * m for m in mus)), epsilon
    )


def test_pure_releases_add_up():
    events = [PureEvent("x", 0.5), PureEvent("y", 0.25)]
    assert total_delta(events, 0.75) == 0.0
    assert 0.0 < total_delta(events, 0.74) < 0.02
    assert total_delta([PureEvent("x", 1.0)], 0.5) <= 1.0


def randomized_response_delta(epsilons, epsilon):
    """Exact delta of independent randomised responses, the worst pure mechanisms."""
    losses = np.array([0.0])
    masses = np.array([1.0])
    for e in epsilons:
        p = math.exp(e) / (1 + math.exp(e))
        losses = np.concatenate([losses + e, losses - e])
        masses = np.concatenate([masses * p, masses * (1 - p)])
    over = losses > epsilon
    return float(np.sum(masses[over] * -np.expm1(epsilon - losses[over])))


def test_pure_releases_below_their_sum_agree_with_brute_force():
    epsilons = [0.3] * 6
    events = [PureEvent("x", e) for e in epsilons]
    truth = randomized_response_delta(epsilons, 1.0)
    assert truth <= total_delta(events, 1.0) <= truth + 1e-3


def test_mixtures_agree_with_dp_accounting_and_never_exceed_basic_composition():
    events = [GaussianEvent("g", 0.2), PureEvent("p", 0.3), ApproximateEvent("a", 0.2, 1e-8)]
    delta = total_delta(events, 1.0)
    basic = gaussian_delta(0.2, 0.5) + 1e-8
    assert delta <= basic * (1 + 1e-9)
    gaussian = pld.from_gaussian_mechanism(5.0, value_discretization_interval=1e-4)
    # Ignoring a part can only give less.
    assert delta >= gaussian.get_delta_for_epsilon(1.0) * (1 - 1e-3)
    assert delta >= 1e-8


def test_nothing_costs_nothing():
    assert total_delta([], 1.0) == 0.0


def test_an_unknown_event_is_refused():
    with pytest.raises(TypeError, match="unknown event"):
        total_delta([("gaussian", 1.0)], 1.0)


def test_a_guarantee_is_computed_and_not_asserted():
    budget = Budget(1.0, 1e-6)
    mu = gaussian_mu(budget)
    kept = guarantee(
        [GaussianEvent("a", 0.6 * mu), GaussianEvent("b", 0.79 * mu)],
        budget,
        relation="add-remove",
        private=True,
    )
    assert kept.budget == budget
    with pytest.raises(ParameterError, match="larger budget"):
        guarantee(
            [GaussianEvent("a", 0.6 * mu), GaussianEvent("b", 0.81 * mu)],
            budget,
            relation="add-remove",
            private=True,
        )

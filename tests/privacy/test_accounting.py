from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from nolook._unit import Unit
from nolook.errors import ParameterError
from nolook.privacy.accounting import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    guarantee,
    in_sequence,
    total_delta,
)
from nolook.privacy.guarantee import (
    ApproximateEvent,
    Budget,
    GaussianEvent,
    PrivacyGuarantee,
    PureEvent,
)


def exact_delta(mu, epsilon):
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        near, far = -e / m + m / 2, -e / m - m / 2
        return mpmath.ncdf(near) - mpmath.exp(e) * mpmath.ncdf(far)


@settings(max_examples=150)
@given(st.floats(1e-4, 50.0), st.floats(1e-3, 50.0))
def test_delta_is_never_below_the_truth_and_hardly_above(mu, epsilon):
    truth = exact_delta(mu, epsilon)
    delta = gaussian_delta(mu, epsilon)
    assert mpmath.mpf(delta) >= truth
    if truth > 1e-290:
        assert delta <= truth * (1 + 1e-8)


@settings(max_examples=150)
@given(st.floats(0.0, 5.0), st.floats(0.0, 9.0), st.sampled_from([-1, 1]))
def test_delta_is_never_below_the_truth_where_its_argument_cancels(power, closeness, side):
    mu = 10**power
    epsilon = mu * mu / 2 * (1 + side * 10**-closeness)
    truth = exact_delta(mu, epsilon)
    assert gaussian_delta(mu, epsilon) >= truth
    if truth > 1e-10:
        assert gaussian_delta(mu, epsilon) <= truth * (1 + 1e-8)


@given(st.floats(1e-300, 1e300), st.floats(0.0, 1e300))
def test_delta_is_a_probability_whatever_is_asked(mu, epsilon):
    assert 0.0 < gaussian_delta(mu, epsilon) <= 1.0


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


def mixture_delta(mu, costs, epsilon):
    """Exact delta of a Gaussian release beside the worst (e, d)-private ones.

    The worst one loses everything with probability d and is else a randomised response of e.
    """
    with mpmath.workdps(60):
        kept, terms = mpmath.mpf(1), [(mpmath.mpf(1), mpmath.mpf(epsilon))]
        for e, d in costs:
            kept *= 1 - mpmath.mpf(d)
            p = 1 / (1 + mpmath.exp(-mpmath.mpf(e)))
            terms = [
                (weight * q, left + change)
                for weight, left in terms
                for q, change in ((p, -mpmath.mpf(e)), (1 - p, mpmath.mpf(e)))
            ]
        return 1 - kept + kept * sum(weight * exact_delta(mu, left) for weight, left in terms)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    mu=st.floats(0.02, 1.0),
    tail=st.floats(0.0, 8.4),
    costs=st.lists(
        st.tuples(st.floats(0.01, 1.0), st.sampled_from([0.0, 1e-12, 1e-7])),
        min_size=1,
        max_size=5,
    ),
    share=st.floats(0.3, 1.1),
)
def test_mixtures_never_fall_below_the_exact_delta(mu, tail, costs, share):
    epsilon = mu * tail + mu * mu / 2 + share * math.fsum(e for e, _ in costs)
    events = [ApproximateEvent("a", e, d) if d else PureEvent("p", e) for e, d in costs]
    delta = total_delta([*events, GaussianEvent("g", mu)], epsilon)
    truth = mixture_delta(mu, costs, epsilon)
    # Sums of deltas are compared as the nearest doubles.
    assert mpmath.mpf(delta) * (1 + mpmath.mpf(2) ** -52) >= truth
    # The losses are rounded up to a grid of 1e-4 once for each part, and its ends are cut.
    finest = mixture_delta(mu, costs, epsilon - 1e-4 * (len(costs) + 1))
    assert delta <= finest * (1 + 1e-5) + 2e-10


@pytest.mark.parametrize(
    "events",
    [
        [GaussianEvent("g", 1000.0), PureEvent("p", 1.0)],
        [PureEvent("p", 1000.0), GaussianEvent("g", 0.1)],
        [PureEvent("p", 1e6), ApproximateEvent("a", 1e6, 1e-9)],
    ],
)
def test_huge_losses_need_no_memory(events):
    assert total_delta(events, 10.0) == 1.0


# Below what the composition of distributions adds for its own rounding, so that sums decide.
@given(st.lists(st.floats(1e-300, 1e-13), min_size=2, max_size=9))
def test_the_sum_of_deltas_is_rounded_up_to_the_next_double(deltas):
    events = [ApproximateEvent(f"{i}", 1e-3, delta) for i, delta in enumerate(deltas)]
    found, exact = total_delta(events, 0.1), sum(map(Fraction, deltas))
    assert math.nextafter(found, 0.0) < exact <= found


def test_a_delta_too_small_for_the_sum_still_counts():
    events = [ApproximateEvent("x", 0.5, delta) for delta in (1e-13, 1e-40)]
    assert total_delta(events, 1.0) > 1e-13


def test_nothing_costs_nothing():
    assert total_delta([], 1.0) == 0.0


def test_an_unknown_event_is_refused():
    with pytest.raises(TypeError, match="unknown event"):
        total_delta([("gaussian", 1.0)], 1.0)
    with pytest.raises(TypeError, match="unknown event"):
        guarantee([("gaussian", 1.0)], Budget(1.0), relation="add-remove", private=True)


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


def test_promises_in_sequence_add_up():
    first = guarantee([PureEvent("a", 0.2)], Budget(0.2), relation="add-remove", private=True)
    second = guarantee(
        [ApproximateEvent("b", 0.3, 1e-6)], Budget(0.3, 1e-6), relation="add-remove", private=False
    )
    whole = in_sequence([first, second], Budget(0.5, 1e-6))
    assert whole.mechanisms == first.mechanisms + second.mechanisms
    assert whole.budget == Budget(0.5, 1e-6)
    assert not whole.private
    assert in_sequence([first, first], Budget(0.5)).private
    for too_little in (Budget(0.49, 1e-6), Budget(0.5, 0.9e-6)):
        with pytest.raises(ParameterError, match="larger budget"):
            in_sequence([first, second], too_little)


def test_promises_in_sequence_are_for_one_unit():
    parts = [
        PrivacyGuarantee(0.1, 0.0, "add-remove", (PureEvent("x", 0.1),), True, Unit(column))
        for column in ("patient", "patient", "household", None)
    ]
    assert in_sequence(parts[:2], Budget(1.0)).unit == Unit("patient")
    for pair in (parts[1:3], parts[2:]):
        with pytest.raises(ParameterError, match="differ in relation or unit"):
            in_sequence(pair, Budget(1.0))


def test_gaussian_parts_in_sequence_may_cost_less_than_their_sum():
    def part(mu, delta):
        event = GaussianEvent("g", mu)
        epsilon = gaussian_epsilon(mu, delta) * (1 + 1e-12)
        return guarantee([event], Budget(epsilon, delta), relation="add-remove", private=True)

    parts = [part(0.3, 4e-7), part(0.4, 6e-7)]
    least = gaussian_epsilon(0.5 * (1 + 1e-12), 1e-6)
    assert least < 0.9 * sum(each.epsilon for each in parts)
    whole = in_sequence(parts, Budget(least, 1e-6))
    assert (whole.budget, len(whole.mechanisms)) == (Budget(least, 1e-6), 2)
    with pytest.raises(ParameterError, match="larger budget"):
        in_sequence(parts, Budget(least * (1 - 1e-9), 1e-6))
    # A pure part's epsilon is not a Gaussian's.
    pure = guarantee([PureEvent("p", 0.5)], Budget(0.5), relation="add-remove", private=True)
    with pytest.raises(ParameterError, match="larger budget"):
        in_sequence([*parts, pure], Budget(least, 1e-6))


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_the_epsilon_of_a_mu_is_the_smallest(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert epsilon < 1e-300 or gaussian_delta(mu, epsilon * (1 - 1e-9)) > delta

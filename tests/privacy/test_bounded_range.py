"""What choices by the exponential mechanism cost together, against exact pairs and known bounds."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from nolook.audit.exact_laws import exact_delta, exponential_law, flip_law
from nolook.errors import ParameterError
from nolook.privacy.accounting import (
    choices_epsilon,
    gaussian_delta,
    gaussian_mu,
    guarantee,
    in_sequence,
    smallest_epsilon,
    total_delta,
)
from nolook.privacy.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    Budget,
    GaussianEvent,
    PrivacyGuarantee,
    PureEvent,
)

GRID = 1e-4  # of the accountant's losses


def choices(epsilon, k=1):
    return BoundedRangeEvent("choices", epsilon, k)


def two_outcomes(epsilon, largest):
    """Return the chances, on either table, of outcomes with losses `largest` and less `epsilon`."""
    other = (math.exp(-largest) - math.exp(-epsilon)) / -math.expm1(-epsilon)
    one = math.exp(largest) * other
    return np.array([one, 1 - one]), np.array([other, 1 - other])


def together(pairs):
    """Return the laws of independent outcomes on both tables."""
    return [
        np.array([math.prod(chances) for chances in product(*(pair[side] for pair in pairs))])
        for side in (0, 1)
    ]


@settings(max_examples=60, deadline=None)
@given(
    epsilons=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6),
    shares=st.lists(st.floats(0.001, 0.999), min_size=6, max_size=6),
    at=st.floats(0.0, 0.95),
)
def test_no_pair_of_bounded_range_costs_more(epsilons, shares, at):
    # All that a choice can lose: some loss, and one that lies epsilon below.
    pairs = [two_outcomes(e, s * e) for e, s in zip(epsilons, shares, strict=False)]
    epsilon = at * sum(epsilons)
    stated = total_delta([choices(e) for e in epsilons], epsilon)
    assert exact_delta(*together(pairs), epsilon) <= stated * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.003, 0.1, 1.0, 3.0])
@pytest.mark.parametrize("at", [0.0, 0.3, 0.9, 1.0])
def test_one_choice_costs_the_worst_pair(epsilon, at):
    loss = at * epsilon
    worst = max(
        exact_delta(*two_outcomes(epsilon, largest), loss)
        for largest in np.linspace(0.0005, 0.9995, 1999) * epsilon
    )
    stated = total_delta([choices(epsilon)], loss)
    assert worst <= stated * (1 + 1e-12)
    coarser = -math.expm1((loss - epsilon - 2 * GRID) / 2)
    assert stated <= coarser**2 / -math.expm1(-epsilon) * 1.001 + 1e-10


def test_it_is_not_charged_as_gaussian_noise():
    stated = total_delta([choices(0.1)], 0.0)
    assert stated == pytest.approx(math.tanh(0.1 / 4), rel=1e-5)
    assert stated > 1.25 * gaussian_delta(0.05, 0.0)


def density(epsilon):
    """Return the density of the loss of a choice's dominating pair."""
    return lambda loss: math.exp((loss - epsilon) / 2) / (2 * -math.expm1(-epsilon))


@pytest.mark.parametrize(("epsilon", "mu", "at"), [(0.2, 0.1, 0.4), (0.5, 0.3, 0.3), (0.1, 1, 2)])
def test_with_gaussian_noise_it_costs_their_integral(epsilon, mu, at):
    def delta(at):
        law = density(epsilon)

        def given(loss):
            # Below 0 the Gaussian's delta follows from its symmetry.
            left = at - loss
            if left >= 0:
                return law(loss) * gaussian_delta(mu, left)
            return law(loss) * (-math.expm1(left) + math.exp(left) * gaussian_delta(mu, -left))

        return quad(given, -epsilon, epsilon, points=[max(-epsilon, min(epsilon, at))])[0]

    stated = total_delta([choices(epsilon), GaussianEvent("g", mu)], at)
    assert delta(at) <= stated * (1 + 1e-9)
    assert stated <= delta(at - 4 * GRID) * (1 + 1e-4) + 1e-10


def test_real_choices_cost_no_more_and_permute_and_flip_would():
    # Equal scores, of which half rise and half fall by the sensitivity; independent choices.
    scores, moved = np.array([1, 0, 1, 0]), np.array([0, 1, 0, 1])
    k, epsilon = 4, 0.5
    stated = total_delta([choices(epsilon, k)], 0.3)

    def truth(law):
        pairs = [(law(scores, 1, epsilon), law(moved, 1, epsilon))] * k
        return exact_delta(*together(pairs), 0.3)

    assert 0.7 * stated < truth(exponential_law) <= stated < truth(flip_law)


def test_choices_are_pure_too():
    for event in (choices(0.3), choices(0.1, 3)):
        assert total_delta([event], 0.3 * (1 + 1e-15)) == 0.0
        assert total_delta([event], 0.29) > 0.0
    assert total_delta([choices(5.0, 100)], 500.1) == 0.0
    assert total_delta([choices(5.0, 100)], 10.0) == 1.0  # too far for a grid
    assert total_delta([choices(1e-300, 2**20), PureEvent("p", 0.1)], 0.2) == 0.0


def test_they_compose_with_every_kind():
    others = [
        GaussianEvent("g", 0.1),
        PureEvent("p", 0.05),
        ApproximateEvent("a", 0.05, 1e-9),
    ]
    events = [choices(0.05, 8), *others]
    whole = total_delta(events, 0.4)
    assert whole > total_delta(others, 0.4)
    assert whole > total_delta([choices(0.05, 8)], 0.4)
    assert total_delta(events[::-1], 0.4) == pytest.approx(whole, rel=1e-9)
    assert whole < 0.2 * total_delta([PureEvent("p", 0.4), *others], 0.4)


@pytest.mark.parametrize(("k", "gain"), [(5, 1.14), (10, 1.43), (20, 1.92), (50, 2.94)])
def test_a_delta_makes_many_choices_sharper(k, gain):
    budget = Budget(1.0, 1e-6)
    each = choices_epsilon(k, (), budget, 1.0 / k * (1 - 2**-40))
    assert each * k == pytest.approx(gain, abs=0.01)
    assert guarantee([choices(each, k)], budget, relation="add-remove", private=True)
    with pytest.raises(ParameterError, match="larger budget"):
        guarantee([choices(1.01 * each, k)], budget, relation="add-remove", private=True)


def test_what_is_found_keeps_its_budget_and_hardly_more_would():
    others = (GaussianEvent("g", 0.1), PureEvent("p", 0.05))
    budget = Budget(0.9, 1e-5)
    found = choices_epsilon(6, others, budget, 0.01)

    def delta(each):
        return total_delta([*others, choices(each, 6)], 0.9)

    assert delta(found) <= 1e-5 < delta(found * 1.005)
    assert choices_epsilon(6, others, Budget(0.01, 1e-5), 0.01) == 0.0
    assert choices_epsilon(6, (ApproximateEvent("a", 0.1, 1e-5),), budget, 0.01) == 0.0


@pytest.mark.parametrize(
    "events",
    [
        [choices(0.1, 8)],
        [PureEvent("p", 0.02), choices(0.05), choices(0.1, 7)],
        [GaussianEvent("g", 0.2), choices(0.1, 3)],
        [choices(0.7)],
    ],
)
def test_the_smallest_epsilon_keeps_its_delta(events):
    epsilon = smallest_epsilon(events, 1e-6)
    assert total_delta(events, epsilon) <= 1e-6
    assert total_delta(events, epsilon / 1.006) > 1e-6


def test_parts_in_sequence_may_cost_less_than_their_sum():
    def part(events, delta):
        budget = Budget(smallest_epsilon(events, delta), delta)
        return guarantee(events, budget, relation="add-remove", private=True)

    noise = GaussianEvent("g", gaussian_mu(Budget(0.8, 1e-6)))
    first = part([choices(0.11, 5)], 2e-7)
    second = part([noise], 1e-6)
    assert first.epsilon + second.epsilon > 1.2
    whole = in_sequence([first, second], Budget(1.0, 1e-6))
    assert total_delta(whole.mechanisms, 1.0) <= 1e-6
    with pytest.raises(ParameterError, match="larger budget"):
        in_sequence([first, second], Budget(0.9, 1e-6))


def test_files_name_the_kind():
    event = choices(0.1, 7)
    promise = guarantee([event], Budget(0.7001), relation="add-remove", private=True)
    plain = promise.to_dict()
    assert plain["mechanisms"] == [
        {"mechanism": "bounded-range", "name": "choices", "epsilon": 0.1, "choices": 7}
    ]
    assert PrivacyGuarantee.from_dict(plain) == promise


@pytest.mark.parametrize("k", [0, -1, 1.5, 2**20 + 1, True])
def test_a_number_of_choices_out_of_range_is_refused(k):
    with pytest.raises(ParameterError, match=r"^choices is") as caught:
        choices(0.1, k)
    assert "\n" not in str(caught.value)

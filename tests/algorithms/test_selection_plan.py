from __future__ import annotations

import math
import time
from functools import partial

import numpy as np
import pytest
from attrs import evolve
from scipy.special import softmax

import nolook
from nolook.algorithms.kendall_selection import KendallSelection
from nolook.algorithms.selection_plan import Beside, choose_k
from nolook.algorithms.selection_plan import selection_plan as planned
from nolook.audit.exact_laws import exponential_law, flip_law
from nolook.privacy import accounting
from nolook.privacy.accounting import gaussian_mu, total_delta
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import ApproximateEvent, Budget, GaussianEvent, PureEvent
from nolook.privacy.sampling import SAMPLING_UNIT

selection_plan = partial(planned, partial(KendallSelection, chances=SAMPLING_UNIT))


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(0.1, 1e-6), Budget(math.log(3), 1e-9)])
@pytest.mark.parametrize("k", [None, 1, 7])
@pytest.mark.parametrize("bound", [True, False])
def test_a_pure_plan_spends_its_budget_and_no_more(budget, k, bound):
    scales = budget.delta > 0
    plan = selection_plan(k, budget, bound=bound, scales=scales, pure=True)
    guarantee = accounting.guarantee(
        plan.events(), plan.budget, relation="add-remove", private=True
    )
    assert guarantee.budget == budget
    counted = 0.05 if bound or k is None else 0.0 if scales else 0.01
    share = 1.0 - counted - 0.3 * scales
    assert plan.features.epsilon == pytest.approx(share * budget.epsilon, rel=1e-9)
    assert (plan.rows is not None) == (counted > 0)
    assert (plan.scales is not None) == scales


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.1, 1e-6), Budget(4.0, 1e-3)])
@pytest.mark.parametrize("bound", [True, False])
def test_many_choices_with_a_delta_are_sharper_and_keep_the_budget(budget, bound):
    k = 20
    plan = selection_plan(k, budget, bound=bound)
    assert plan.budget == budget
    assert total_delta(plan.events(), budget.epsilon) <= budget.delta
    # Hardly anything is left.
    sharper = evolve(plan.features, epsilon=1.01 * plan.features.epsilon)
    assert total_delta((*plan.events()[:-1], sharper), budget.epsilon) > budget.delta
    pure = selection_plan(k, budget, bound=bound, pure=True).features.epsilon
    assert plan.features.choices == k
    assert plan.features.epsilon * k > 1.5 * pure


@pytest.mark.parametrize(
    ("k", "budget", "pure"),
    [
        (20, Budget(1.0), False),  # no delta
        (5, Budget(1.0, 1e-6), False),  # permute-and-flip is worth more than what a delta adds
        (20, Budget(1.0, 1e-6), True),  # a mechanism that only pure epsilon is known of
        (None, Budget(1.0, 1e-6), False),  # nobody knows how many
        (20, Budget(1.0, 1e-250), False),
        (3, Budget(1e3, 1e-6), False),
    ],
)
def test_choices_are_pure_where_that_is_better_or_all_that_is_proved(k, budget, pure):
    plan = selection_plan(k, budget, bound=False, pure=pure)
    assert isinstance(plan.features, PureEvent)
    assert plan.budget == Budget(budget.epsilon)


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize("k", [2, 5, 20])
def test_beside_gaussian_noise_choices_are_sharper_and_both_keep_one_budget(k, scales):
    whole = Budget(1.0, 1e-6)
    delta = 0.8e-6 if scales else 1e-6
    other = GaussianEvent("regression", gaussian_mu(Budget(0.8, delta)))
    own = Budget(with_room(0.2), 0.2e-6)
    plan = selection_plan(k, own, bound=True, scales=scales, beside=Beside((other,), whole, 0.2e-6))
    assert total_delta((*plan.events(), other), 1.0) <= 1e-6
    # By itself it costs more than its share, and says so.
    assert plan.budget.delta == 0.2e-6
    assert total_delta(plan.events(), plan.budget.epsilon) <= 0.2e-6
    assert plan.budget.epsilon > own.epsilon
    alone = selection_plan(k, own, bound=True, scales=scales, pure=True).features.epsilon
    assert k * plan.features.epsilon > 1.4 * alone
    # What comes before the choices is what it was.
    assert plan.rows.epsilon == pytest.approx(0.05 * 0.2)


def test_beside_noise_that_leaves_nothing_choices_stay_pure():
    whole = Budget(1.0, 1e-6)
    other = ApproximateEvent("regression", 0.8, 1e-6)
    plan = selection_plan(
        5, Budget(0.2 * (1 - 1e-9)), bound=False, beside=Beside((other,), whole, 2e-7)
    )
    assert isinstance(plan.features, PureEvent)
    assert plan.budget.delta == 0.0


def test_what_permute_and_flip_is_worth():
    # One of d features leads, by as much as makes it win nine times in ten.
    for d, worth in ((2, 1.4), (30, 1.15), (300, 1.1)):
        scores = np.zeros(d)
        scores[0] = 1.0

        def rate(law, scores=scores):
            low, high = 0.0, 100.0
            while high - low > 1e-6:
                middle = (low + high) / 2
                low, high = (low, middle) if law(scores, 1, middle)[0] >= 0.9 else (middle, high)
            return high

        assert rate(exponential_law) / rate(flip_law) == pytest.approx(worth, abs=0.04)


@pytest.mark.parametrize("k", [5, 20])
def test_planning_takes_no_time(k):
    own = Budget(0.731, 1e-7)
    selection_plan(k, own, bound=True)  # loads what it needs
    start = time.thread_time()  # without what other processes take
    selection_plan(k, evolve(own, epsilon=0.732), bound=True)
    assert time.thread_time() - start < 1.0  # ten times what it takes


def test_a_budget_too_small_for_any_choice_is_refused():
    with pytest.raises(
        nolook.ParameterError, match="epsilon is 1e-300, too small for 3 choices"
    ) as caught:
        selection_plan(3, Budget(1e-300), bound=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("features", [2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e6])
def test_the_number_of_features_has_its_limits_and_grows_with_the_rows(features, epsilon):
    bounds = (-(10**6), 0, 1, 100, 10**4, 10**6, 10**15, 2**62)
    chosen = [choose_k(bound, features, epsilon) for bound in bounds]
    assert chosen == sorted(chosen)
    assert chosen[0] == 1
    assert chosen[-1] == min(math.ceil(math.sqrt(features)), features - 1)


@pytest.mark.parametrize(("rows", "features", "epsilon"), [(5000, 400, 1.0), (700, 30, 4.0)])
def test_a_leading_feature_is_found_nine_times_in_ten_and_with_one_more_choice_it_may_not(
    rows, features, epsilon
):
    k = choose_k(rows, features, epsilon)
    assert 1 < k < math.isqrt(features)

    def found(choices):
        scores = np.zeros(features)
        scores[0] = 0.1 * rows / 2
        return softmax(scores * epsilon / choices / (2 * 3.0))[0]

    assert found(k) >= 0.9
    assert found(k + 2) < 0.9

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import softmax

import nolook
from nolook.algorithms.selection_plan import choose_k, selection_plan
from nolook.privacy import accounting
from nolook.privacy.guarantee import Budget


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(0.1, 1e-6), Budget(math.log(3), 1e-9)])
@pytest.mark.parametrize("k", [None, 1, 7])
@pytest.mark.parametrize("bound", [True, False])
def test_a_plan_spends_its_budget_and_no_more(budget, k, bound):
    plan = selection_plan(k, budget, bound=bound)
    guarantee = accounting.guarantee(plan.events(), budget, relation="add-remove", private=True)
    assert guarantee.epsilon == budget.epsilon
    share = 1.0 - 0.05 * (bound or k is None) - 0.3 * (budget.delta > 0)
    assert plan.features.epsilon == pytest.approx(share * budget.epsilon, rel=1e-9)
    assert (plan.rows is not None) == (bound or k is None)
    assert (plan.scales is not None) == (budget.delta > 0)


def test_a_budget_too_small_for_any_choice_is_refused():
    with pytest.raises(nolook.ParameterError, match="epsilon is 1e-300 for 3 choices") as caught:
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

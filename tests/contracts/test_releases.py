"""What every estimator owes that releases something, whatever it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import nolook
from nolook.privacy.accounting import total_delta
from tests.contracts.releases import RELEASES

every_release = pytest.mark.parametrize("row", RELEASES.values(), ids=RELEASES)


@every_release
def test_the_guarantee_is_the_budget_and_lists_what_was_spent(row):
    estimator = row.within(0.7)
    parameters = estimator.get_params()
    guarantee = estimator.fit(*row.data(3000)).privacy_
    assert guarantee.epsilon == 0.7
    assert parameters.get("delta") in {None, guarantee.delta}
    assert guarantee.relation == parameters.get("relation", "add-remove")
    assert guarantee.private
    assert guarantee.mechanisms
    assert total_delta(guarantee.mechanisms, 0.7) <= guarantee.delta


@every_release
def test_a_seed_makes_results_repeatable_and_not_private(row):
    data = row.data(8000)
    first, second = (row.make(epsilon=row.noisy, random_state=3).fit(*data) for _ in range(2))
    np.testing.assert_array_equal(row.published(first), row.published(second))
    assert not first.privacy_.private
    assert "NOT PRIVATE" in first.privacy_.in_words()


@every_release
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_values_are_an_error_before_anything_is_spent(row, bad, costs_nothing):
    if np.isinf(bad) and not row.two_dimensional:
        return  # these count at the ends
    spoiled, *others = row.data(300)
    spoiled = spoiled.copy()
    spoiled.reshape(300, -1)[17, 0] = bad
    relation = row.make().plan().guarantee.relation
    said = costs_nothing(
        lambda ledger: row.make(epsilon=0.1).fit(spoiled, *others, ledger=ledger),
        "missing or infinite", nolook.TableError, relation,
    )  # fmt: skip
    assert "17" not in said


@every_release
def test_a_ledger_is_charged_before_the_data_are_read_and_takes_no_seed(row, open_ledger):
    data = row.data(3000)
    with open_ledger(nolook.Budget(1.0, 1e-5), row.make().plan().guarantee.relation) as ledger:
        fitted = row.within(0.6).fit(*data, ledger=ledger)
        (entry,) = ledger.history()
        assert (entry.cost, entry.state) == (fitted.privacy_.budget, "complete")
        steps = []
        with pytest.raises(nolook.BudgetExceededError):
            row.within(0.6).fit(*data, ledger=ledger, progress=lambda *stage: steps.append(stage))
        assert steps == []
        with pytest.raises(nolook.ParameterError, match="random_state"):
            row.make(epsilon=0.1, random_state=0).fit(*data, ledger=ledger)
        assert len(ledger.history()) == 1


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [(name, *bad) for name, row in RELEASES.items() for bad in row.bad],
)
def test_bad_parameters_cost_nothing(name, parameter, value, costs_nothing):
    row = RELEASES[name]
    data = row.data(20)
    costs_nothing(
        lambda ledger: row.make(**{parameter: value}).fit(*data, ledger=ledger),
        f"^{parameter} is ",
    )


@pytest.mark.parametrize(
    ("row", "delta"),
    [(row, delta) for row in RELEASES.values() for delta in (1e-7, 1e-300)[: 1 + row.takes_delta]],
)
def test_a_budget_too_small_for_any_noise_is_refused_before_it_is_spent(row, delta, open_ledger):
    relation = row.make().plan().guarantee.relation
    for exponent in (6, 16, 24, 30, 31, 32, 36, 40, 44, 60, 70, 100, 1074):
        estimator, refusal = row.within(math.ldexp(1.0, -exponent), delta), ""
        with open_ledger(nolook.Budget(1.0, 1e-6), relation) as ledger:
            try:
                estimator.fit(*row.data(40), ledger=ledger)
            except nolook.ParameterError as error:
                refusal = str(error)
            assert len(ledger.history()) == (not refusal)
        assert not refusal or ("epsilon" in refusal and exponent > 6)
        # A delta alone pays for some noise, and choices need none.
        pays = row.two_dimensional or estimator.get_params().get("delta")
        assert refusal or pays or exponent < 36


@every_release
def test_clone_keeps_parameters_only(row):
    fitted = row.make(epsilon=2.0, random_state=5).fit(*row.data(20))
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert not hasattr(again, "privacy_")
    with pytest.raises((NotFittedError, AttributeError, ValueError)):
        row.published(again)


@every_release
def test_progress_tells_stages_and_never_rows(row):
    seen = []
    # Of 300 fits one does not see a target that lies so far from 0, and ends early.
    row.make(random_state=0).fit(*row.data(8000), progress=lambda *stage: seen.append(stage))
    (total,) = {total for _, _, total in seen}
    if isinstance(row.make(), nolook.LogisticRegression):
        assert len(seen) <= total  # it ends where its gradients are noise
    else:
        assert len(seen) == total
    assert [done for _, done, _ in seen] == list(range(len(seen)))

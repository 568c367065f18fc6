from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import nolook
from nolook.privacy.accounting import total_delta
from tests.contracts.columns import COLUMNS, column
from tests.contracts.distributions import DISTRIBUTIONS

ROWS = 5000
every_row = pytest.mark.parametrize("row", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)


def spoiled(row, values):
    """Return the arguments of `fit` with another first column."""
    return (values, *row.data(len(values), 0)[1:])


@every_row
def test_the_guarantee_is_the_budget_and_lists_what_was_spent(row):
    guarantee = row.make(epsilon=0.7).fit(*row.data(ROWS, 0)).privacy_
    assert guarantee.epsilon == 0.7
    assert guarantee.private
    assert total_delta(guarantee.mechanisms, 0.7) <= guarantee.delta


@every_row
def test_a_seed_makes_results_repeatable_and_not_private(row):
    data = row.data(ROWS, 0)
    first, second = (row.make(random_state=3).fit(*data) for _ in range(2))
    np.testing.assert_array_equal(row.published(first), row.published(second))
    assert not first.privacy_.private
    assert "NOT PRIVATE" in first.privacy_.in_words()


@every_row
def test_without_a_seed_results_are_noisy(row):
    data = row.data(ROWS, 0)
    first, second = (row.published(row.make(epsilon=0.1).fit(*data)) for _ in range(2))
    assert not np.array_equal(first, second)


@every_row
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_rows_get_an_ordinary_answer(row, rows):
    assert np.isfinite(row.published(row.make().fit(*row.data(rows, 0)))).all()


@every_row
@pytest.mark.parametrize("name", COLUMNS)
def test_a_degenerate_column_gets_an_ordinary_answer(row, name):
    fitted = row.make(random_state=0).fit(*spoiled(row, column(name, ROWS)))
    assert np.isfinite(row.published(fitted)).all()


@every_row
def test_infinite_values_count_at_the_ends(row):
    values = row.data(ROWS, 0)[0].copy()
    values[:50], values[50:100] = np.inf, -np.inf
    ends = np.where(np.isinf(values), np.copysign(1.7976931348623157e308, values), values)
    found, same = (
        row.published(row.make(random_state=0).fit(*spoiled(row, one))) for one in (values, ends)
    )
    np.testing.assert_array_equal(found, same)


@every_row
def test_missing_values_are_an_error_before_anything_is_spent(row, tmp_path):
    values = row.data(ROWS, 0)[0].copy()
    values[17] = math.nan
    relation = row.make().plan().guarantee.relation
    total = nolook.Budget(1.0, 1e-5)
    with nolook.Ledger.create(tmp_path / "a", total, name="a", relation=relation) as ledger:
        with pytest.raises(nolook.TableError, match="missing or infinite"):
            row.make(epsilon=0.1).fit(*spoiled(row, values), ledger=ledger)
        assert ledger.history() == ()


@every_row
def test_a_column_of_texts_is_refused(row):
    with pytest.raises(nolook.TableError, match=r"not numbers|has type text") as caught:
        row.make().fit(*spoiled(row, np.array(["secret"] * 20)))
    assert "secret" not in str(caught.value)


@every_row
def test_a_ledger_is_charged_before_the_data_are_read(row, tmp_path):
    relation = row.make(epsilon=0.6).plan().guarantee.relation
    total = nolook.Budget(1.0, 1e-5)
    with nolook.Ledger.create(tmp_path / "a", total, name="a", relation=relation) as ledger:
        row.make(epsilon=0.6).fit(*row.data(ROWS, 0), ledger=ledger)
        (entry,) = ledger.history()
        assert (entry.cost.epsilon, entry.state) == (0.6, "complete")
        steps = []
        with pytest.raises(nolook.BudgetExceededError):
            row.make(epsilon=0.6).fit(
                *row.data(ROWS, 0), ledger=ledger, progress=lambda *stage: steps.append(stage)
            )
        assert steps == []
        with pytest.raises(nolook.ParameterError, match="random_state"):
            row.make(epsilon=0.1, random_state=0).fit(*row.data(ROWS, 0), ledger=ledger)
        assert len(ledger.history()) == 1


@every_row
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("epsilon", 0.0), ("epsilon", -1.0), ("epsilon", math.inf), ("epsilon", math.nan),
        ("epsilon", "1"), ("random_state", -1), ("random_state", 0.5),
    ],
)  # fmt: skip
def test_bad_parameters_cost_nothing(row, parameter, value, tmp_path):
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        with pytest.raises(nolook.ParameterError, match=rf"^{parameter} is ") as caught:
            row.make(**{parameter: value}).fit(*row.data(20, 0), ledger=ledger)
        assert "\n" not in str(caught.value)
        assert ledger.history() == ()


@every_row
@pytest.mark.parametrize("exponent", [6, 16, 24, 30, 31, 32, 36, 40, 44, 60, 70, 100, 1074])
def test_a_budget_too_small_for_any_noise_is_refused_before_it_is_spent(row, exponent, tmp_path):
    epsilon = math.ldexp(1.0, -exponent)
    budget, parameters = nolook.Budget(1.0, 1e-6), row.make().get_params()
    relation, delta = parameters.get("relation", "add-remove"), parameters.get("delta", 0.0)
    with nolook.Ledger.create(tmp_path / "a.ledger", budget, name="a", relation=relation) as ledger:
        try:
            row.make(epsilon=epsilon).fit(*row.data(40, 0), ledger=ledger)
        except nolook.ParameterError as error:
            refusal = str(error)
        else:
            refusal = ""
        assert len(ledger.history()) == (not refusal)
        assert not refusal or ("epsilon" in refusal and exponent > 6)
        # A delta alone pays for some noise.
        assert refusal or delta or exponent < 36


@every_row
def test_clone_keeps_parameters_only(row):
    fitted = row.make(epsilon=2.0, random_state=5).fit(*row.data(20, 0))
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    with pytest.raises((NotFittedError, AttributeError)):
        row.published(again)


@every_row
def test_progress_tells_stages_and_never_rows(row):
    seen = []
    row.make().fit(*row.data(ROWS, 0), progress=lambda *stage: seen.append(stage))
    assert {total for _, _, total in seen} == {len(seen)}
    assert [done for _, done, _ in seen] == list(range(len(seen)))


def test_the_refusal_of_a_small_budget_names_its_delta():
    with pytest.raises(nolook.ParameterError, match=r"^epsilon is 1e-300 with delta 1e-300"):
        nolook.ECDF(1e-300, delta=1e-300).plan()

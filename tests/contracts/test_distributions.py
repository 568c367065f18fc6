from __future__ import annotations

import numpy as np
import pytest

import nolook
from tests.contracts.columns import column, with_columns
from tests.contracts.distributions import DISTRIBUTIONS

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

ROWS = 2000
every_row = pytest.mark.parametrize("row", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)


def spoiled(row, values):
    """Return the arguments of `fit` with another first column."""
    return (values, *row.data(len(values), 0)[1:])


@every_row
def test_without_a_seed_results_are_noisy(row):
    data = row.data(ROWS, 0)
    first, second = (row.published(row.make(epsilon=0.1).fit(*data)) for _ in range(2))
    assert not np.array_equal(first, second)


@every_row
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_rows_get_an_ordinary_answer(row, rows):
    fitted = row.make().fit(*row.data(rows, 0))
    assert np.isfinite(row.published(fitted)).all()


@with_columns(DISTRIBUTIONS)
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
def test_a_column_of_texts_is_refused(row):
    with pytest.raises(nolook.TableError, match=r"not numbers|has type text") as caught:
        row.make().fit(*spoiled(row, np.array(["secret"] * 20)))
    assert "secret" not in str(caught.value)


def test_the_refusal_of_a_small_budget_names_its_delta():
    with pytest.raises(nolook.ParameterError, match=r"^epsilon is 1e-300 with delta 1e-300"):
        nolook.ECDF(1e-300, delta=1e-300).plan()

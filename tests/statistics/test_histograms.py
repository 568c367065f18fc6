from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.kernels.histogram import linear_counts, magnitude_counts
from nolook.statistics.histograms import Histograms, histograms_sensitivity

TABLES = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 20)),
    elements=st.floats(allow_nan=True, allow_infinity=True),
)


def counters(columns):
    low, width = np.full(columns, -2.0), np.full(columns, 0.5)
    return [magnitude_counts, partial(linear_counts, low=low, width=width, bins=8)]


def counts(count, table):
    return Histograms(count).update(table).value(len(table))


@given(TABLES, st.data())
def test_adding_a_row_moves_the_counts_by_exactly_the_sensitivity(table, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    for count in counters(len(table)):
        change = counts(count, table) - counts(count, np.delete(table, which, axis=1))
        distance = np.sqrt((change**2).sum())
        present = np.count_nonzero(~np.isnan(table[:, which]))
        assert distance == pytest.approx(np.sqrt(present))
        assert distance <= histograms_sensitivity(len(table), "add-remove")


@given(TABLES, st.data())
def test_replacing_a_row_moves_the_counts_by_the_sensitivity_at_most(table, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    other = table.copy()
    other[:, which] = data.draw(
        hnp.arrays(np.float64, len(table), elements=st.floats(allow_nan=True))
    )
    for count in counters(len(table)):
        change = counts(count, table) - counts(count, other)
        limit = histograms_sensitivity(len(table), "replace")
        assert np.sqrt((change**2).sum()) <= limit * (1 + 1e-12)


def test_replacement_reaches_its_sensitivity():
    change = counts(magnitude_counts, np.array([[1.0], [1.0]])) - counts(
        magnitude_counts, np.array([[9.0], [9.0]])
    )
    assert np.sqrt((change**2).sum()) == histograms_sensitivity(2, "replace")


@given(TABLES, st.data())
def test_a_row_counts_as_often_as_its_weight_says(table, data):
    weights = data.draw(hnp.arrays(np.int64, table.shape[1], elements=st.integers(0, 2**30)))
    for count in counters(len(table)):
        found = Histograms(count).update(table, weights).value(len(table))
        assert (found.sum(axis=1) == ~np.isnan(table) @ weights).all()
        few = Histograms(count).update(table, weights % 4).value(len(table))
        np.testing.assert_array_equal(few, counts(count, np.repeat(table, weights % 4, axis=1)))

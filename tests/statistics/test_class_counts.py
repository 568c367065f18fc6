from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from nolook.kernels.moments import UNIT
from nolook.statistics.class_counts import ClassBalance, ScoreCounts, balance_sensitivity
from nolook.statistics.grid_models import ClassModel
from tests.statistics.test_weighted_rows import MODELS, NORMS, TABLES, made

EDGES = np.array([-1.0, 0.0, 2.0])


@given(TABLES, NORMS, MODELS, st.booleans(), st.data())
def test_neighbours_differ_by_the_sensitivity_at_most(table, norm, theta, weighted, data):
    which = data.draw(st.integers(0, table.shape[1] - 1))
    block, model = made(table, norm, theta, ClassModel)
    if weighted:
        block = block._replace(weights=np.full(table.shape[1], 2**30))
    part = np.delete(np.arange(table.shape[1]), which)
    for make, sensitivity in (
        (ClassBalance, balance_sensitivity()),
        (lambda: ScoreCounts(model, EDGES), 1),
    ):
        moved = make().update(*block).value - make().update(*block.part(part)).value
        largest = sensitivity * (2**30 if weighted else 1)
        assert sum(int(entry) ** 2 for entry in moved) == largest**2


@pytest.mark.parametrize("target", [1.0, -1.0])
def test_a_row_that_was_shortened_is_counted_by_its_own_log_odds(target):
    # Twice as long as the norm; the row has log-odds of ln 3.
    table = np.array([[math.sqrt(143.0) * UNIT], [target]])
    theta = np.array([0.0, math.log(3.0) / math.sqrt(143.0)])
    block, model = made(np.trunc(table), 6.0, theta, ClassModel)
    for edge, below in ((1.09, 0), (1.11, 1)):
        counts = ScoreCounts(model, np.array([edge])).update(*block).value.reshape(2, 2)
        assert counts[int(target > 0)].tolist() == [below, 1 - below]


def test_counts_are_what_they_are_called():
    generator = np.random.default_rng(0)
    table = np.trunc(generator.normal(size=(4, 5_000)) * UNIT)
    norm, theta = 2.0, np.array([0.1, 0.5, -0.5, 0.2])
    block, model = made(table, norm, theta, ClassModel)
    x, y = np.vstack([np.ones(5_000), table[:-1] / UNIT]), table[-1] > 0
    weights = generator.integers(0, 2**30, y.size)
    counted = block._replace(weights=weights)
    assert ClassBalance().update(*block).value == [2 * y.sum() - y.size]
    ahead = int(weights[y].sum() - weights[~y].sum())
    assert ClassBalance().update(*counted).value == [ahead]
    place = np.searchsorted(EDGES, theta @ x)
    for some, each in ((block, np.ones(y.size)), (counted, weights)):
        counts = ScoreCounts(model, EDGES).update(*some).value.reshape(2, -1)
        expected = [
            np.bincount(place[y == one], each[y == one], minlength=4) for one in (False, True)
        ]
        np.testing.assert_allclose(counts, expected, atol=3 * each.max())
        assert counts.sum() == each.sum()


def test_a_bin_follows_from_the_probability_that_gradients_use():
    block, model = made(np.array([[UNIT, -3.0 * UNIT], [1.0, -1.0]]), 2.0, np.ones(2), ClassModel)
    found = model.predictors(block)
    np.testing.assert_allclose(found, [2.0, -2.0], rtol=1e-3)
    p = (block.targets > 0) - model.residuals(block) / block.factors
    np.testing.assert_allclose(p, expit(found), rtol=1e-11)

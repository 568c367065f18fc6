"""The shape of a forest: variances against brute force, and no simple shape is better."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from nolook.algorithms.forest import Forest, best_forest, forest_of
from nolook.errors import ParameterError
from tests.kernels.test_forests import blocks_matrix

FORESTS = [(1, [1]), (5, [1]), (7, [3, 1]), (12, [6, 2, 1]), (23, [10, 5, 1]), (30, [12, 4, 2, 1])]


def covariance(forest):
    """Return that of the least-squares cells, for blocks of variance 1."""
    matrix = blocks_matrix(forest.padded, forest.lengths)
    return np.linalg.inv(matrix.T @ matrix)


@pytest.mark.parametrize(("cells", "lengths"), FORESTS)
def test_variances_are_those_of_least_squares(cells, lengths):
    forest = Forest(cells, tuple(lengths))
    exact = covariance(forest)
    prefixes = np.tri(cells, forest.padded)[: cells - 1]
    if cells > 1:
        mean = np.mean(np.einsum("ij,jk,ik->i", prefixes, exact, prefixes))
        assert forest.mean_variance() == pytest.approx(mean)
    assert 1 / forest.rows_precision == pytest.approx(exact.sum())
    # The details of each level are eigenvectors; so is the constant, with the first precision.
    constant = np.ones(forest.padded)
    np.testing.assert_allclose(exact @ constant, constant / forest.precisions[0])
    for length, shorter, precision in zip(
        forest.lengths[:-1], forest.lengths[1:], forest.precisions[1:], strict=True
    ):
        detail = np.zeros(forest.padded)
        detail[:shorter], detail[shorter : 2 * shorter] = 1.0, -1.0
        assert length >= 2 * shorter
        np.testing.assert_allclose(exact @ detail, detail / precision, atol=1e-12)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("cells", [1, 2, 3, 10, 64, 100, 1000, 2**15, 131_063, 2**20])
def test_no_forest_of_one_fan_out_is_better(cells, noise):
    power = 2 if noise == "laplace" else 1

    def cost(forest):
        return forest.levels**power * forest.mean_variance()

    best = best_forest(cells, noise)
    assert best == forest_of(cells, best.lengths)
    for fan_out, levels in product(range(2, 70), range(1, 21)):
        lengths = tuple(fan_out**level for level in range(levels))[::-1]
        if levels == 1 or lengths[0] < cells:
            assert cost(best) <= cost(Forest(cells, lengths)) * (1 + 1e-12)


def test_the_paper_s_grid_has_the_variance_that_theory_promises():
    best = best_forest(2**15, "laplace")
    # Laplace noise of scale h has variance 2 h^2; theory: about 350 instead of 2048.
    assert 2 * best.levels**2 * best.mean_variance() < 350


@pytest.mark.parametrize(
    "lengths", [[], [2], [0], [-1], [1, 1], [3, 2, 1], [1, 2], [10, 1], [100, 10, 1], [4, 0, 1]]
)
def test_lengths_that_are_no_forest_are_refused_in_one_line(lengths):
    with pytest.raises(ParameterError, match="lengths is not") as caught:
        forest_of(10, lengths)
    assert "\n" not in str(caught.value)

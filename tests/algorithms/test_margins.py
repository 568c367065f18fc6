"""Margins of several tables are those of least squares, and agree with each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from nolook.algorithms.margins import NoisyTable, margins, subsets

SIZES = {0: 3, 1: 2, 2: 4}


def _by_brute_force(tables, total=None):
    """Solve for all cells of the whole table; return the cells and their covariance."""
    cells = list(product(*(range(size) for size in SIZES.values())))
    rows, values, weights = [], [], []
    for table in tables:
        for place in np.ndindex(table.values.shape):
            index = dict(zip(table.dimensions, place, strict=True))
            rows.append([float(all(cell[d] == i for d, i in index.items())) for cell in cells])
            values.append(table.values[place])
            weights.append(1.0 / table.variance)
    if total is not None:
        rows.append([1.0] * len(cells))
        values.append(total)
        weights.append(1e12)
    design, root = np.array(rows), np.sqrt(weights)
    inverse = np.linalg.pinv(design * root[:, None], rcond=1e-9)
    return cells, inverse @ (np.array(values) * root), inverse @ inverse.T


def _tables(*dimensions, seed=0):
    generator = np.random.default_rng(seed)
    return [
        NoisyTable(own, generator.normal(50, 9, [SIZES[d] for d in own]), 1.0 + place)
        for place, own in enumerate(dimensions)
    ]


@pytest.mark.parametrize(
    "dimensions",
    [[(0, 1)], [(0,), (1, 2)], [(0, 1), (1, 2), (2,)], [(0, 1, 2), (0, 1)], [()], [(0,), (0,)]],
)
@pytest.mark.parametrize("total", [None, 640.0])
def test_margins_are_those_of_least_squares(dimensions, total):
    tables = _tables(*dimensions)
    cells, best, covariance = _by_brute_force(tables, total)
    found = margins(tables, total)
    assert list(found) == subsets(dimensions)
    for own, margin in found.items():
        for place in np.ndindex(margin.values.shape):
            index = dict(zip(own, place, strict=True))
            chosen = np.array([float(all(c[d] == i for d, i in index.items())) for c in cells])
            np.testing.assert_allclose(margin.values[place], chosen @ best, rtol=1e-6)
            exact = chosen @ covariance @ chosen
            np.testing.assert_allclose(margin.variance, exact, rtol=1e-5, atol=1e-6)


def test_margins_agree_and_keep_further_axes():
    tables = [
        NoisyTable(each.dimensions, np.stack([each.values, -2 * each.values], axis=-1), 1.0)
        for each in _tables((0, 1), (1, 2))
    ]
    found = margins(tables)
    np.testing.assert_allclose(found[0, 1].values.sum(axis=0), found[1,].values)
    np.testing.assert_allclose(found[1, 2].values.sum(axis=1), found[1,].values)
    np.testing.assert_allclose(found[2,].values.sum(axis=0), found[()].values)
    np.testing.assert_allclose(found[0, 1].values[..., 1], -2 * found[0, 1].values[..., 0])

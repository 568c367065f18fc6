from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.kernels.row_models import clipped_gradient

GRID, BOUND = 2**14, 2**15


def by_definition(rows, targets, theta, shrink, weights):
    total = [0] * len(rows)
    for column, target, weight in zip(rows.T.tolist(), targets.tolist(), weights, strict=True):
        product = sum(int(t) * z for t, z in zip(theta.tolist(), column, strict=True))
        with np.errstate(over="ignore"):
            residual = np.float64((target - product * shrink) * GRID)
        steps = int(np.trunc(np.clip(residual, -BOUND, BOUND)))
        total = [whole + weight * z * steps for whole, z in zip(total, column, strict=True)]
    return total


@given(
    columns=st.integers(1, 9),
    rows=st.integers(0, 40),
    seed=st.integers(0, 2**31),
    scale=st.sampled_from([1e-300, 0.1, 3.0, 1e300]),
    weighted=st.booleans(),
)
def test_sums_are_those_of_python_integers(columns, rows, seed, scale, weighted):
    generator = np.random.default_rng(seed)
    block = generator.integers(-20_480, 20_481, size=(columns, rows + 3)).astype(np.int16)
    targets = generator.normal(size=rows) * scale
    theta = np.rint(generator.normal(size=columns) * 2.0**30)
    weights = generator.integers(2**30 + 1, size=rows).astype(np.int32) if weighted else None
    found = clipped_gradient(block, targets, theta, 2.0**-42, GRID, BOUND, weights)
    factors = weights.tolist() if weighted else [1] * rows
    assert found.tolist() == by_definition(block[:, :rows], targets, theta, 2.0**-42, factors)


@pytest.mark.parametrize("rows", [255, 256, 257, 1000, 40_000])
def test_blocks_and_the_order_of_rows_do_not_matter(rows):
    generator = np.random.default_rng(rows)
    block = generator.integers(-20_480, 20_481, size=(31, rows)).astype(np.int16)
    targets = generator.normal(size=rows)
    theta = np.rint(generator.normal(size=31) * 2.0**30)
    order = generator.permutation(rows)
    sums = []
    for part, target in ((block, targets), (block[:, order], targets[order])):
        contiguous = np.ascontiguousarray(part)
        sums.append(clipped_gradient(contiguous, target, theta, 2.0**-42, GRID, BOUND, None))
    np.testing.assert_array_equal(*sums)

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.kernels.clipped_gradient import add_clipped_gradient

GRID, BOUND = 2**14, 2**15


def by_definition(rows, targets, theta, shrink):
    total = [0] * len(rows)
    for column, target in zip(rows.T.tolist(), targets.tolist(), strict=True):
        product = sum(int(t) * z for t, z in zip(theta.tolist(), column, strict=True))
        with np.errstate(over="ignore"):
            residual = np.float64((target - product * shrink) * GRID)
        steps = int(np.trunc(np.clip(residual, -BOUND, BOUND)))
        total = [whole + z * steps for whole, z in zip(total, column, strict=True)]
    return total


@given(
    columns=st.integers(1, 9),
    rows=st.integers(0, 40),
    seed=st.integers(0, 2**31),
    scale=st.sampled_from([1e-300, 0.1, 3.0, 1e300]),
)
def test_sums_are_those_of_python_integers(columns, rows, seed, scale):
    generator = np.random.default_rng(seed)
    block = generator.integers(-20_480, 20_481, size=(columns, rows + 3)).astype(np.int16)
    targets = generator.normal(size=rows) * scale
    theta = np.rint(generator.normal(size=columns) * 2.0**30)
    out = np.ones(columns)
    add_clipped_gradient(block, targets, theta, 2.0**-42, GRID, BOUND, out)
    expected = by_definition(block[:, :rows], targets, theta, 2.0**-42)
    assert (out - 1.0).tolist() == expected


@pytest.mark.parametrize("rows", [255, 256, 257, 1000, 40_000])
def test_blocks_and_the_order_of_rows_do_not_matter(rows):
    generator = np.random.default_rng(rows)
    block = generator.integers(-20_480, 20_481, size=(31, rows)).astype(np.int16)
    targets = generator.normal(size=rows)
    theta = np.rint(generator.normal(size=31) * 2.0**30)
    order = generator.permutation(rows)
    sums = []
    for part, target in ((block, targets), (block[:, order], targets[order])):
        out = np.zeros(31)
        contiguous = np.ascontiguousarray(part)
        add_clipped_gradient(contiguous, target, theta, 2.0**-42, GRID, BOUND, out)
        sums.append(out)
    np.testing.assert_array_equal(*sums)
    assert np.array_equal(sums[0], np.trunc(sums[0]))

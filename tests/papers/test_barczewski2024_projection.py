from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from papers.barczewski2024.tree_projection import tree_projection

pytestmark = pytest.mark.papers

SEQUENCES = st.integers(0, 6).flatmap(
    lambda level: hnp.arrays(
        np.float64, 1 << level, elements=st.floats(-1000, 1000) | st.integers(-3, 3).map(float)
    )
)
TOPS = st.sampled_from([0.0, 1e-9, 1.0, 50.0, 3000.0])


def covariance(size):
    """Return the numbers of common ancestors of two leaves."""
    total = np.zeros((size, size))
    for level in range(size.bit_length()):
        block = np.arange(size) >> level
        total += block[:, None] == block
    return total


@given(SEQUENCES, TOPS)
def test_the_result_meets_the_conditions_of_optimality(noisy, top):
    values = tree_projection(noisy, top)
    steps = np.diff(values, prepend=0.0, append=top)
    assert np.all(steps >= 0)
    # gradient = (multiplier before) - (multiplier after) at each leaf, multipliers >= 0.
    gradient = np.linalg.solve(covariance(noisy.size), values - noisy)
    relative = -np.cumsum(np.concatenate([[0.0], gradient]))
    if top > 0:
        # Multipliers are known up to a number, which is 0 where the sequence rises most.
        relative -= relative[np.argmax(steps)]
        assert np.all(relative >= -1e-8)
        assert relative @ steps == pytest.approx(0.0, abs=1e-6)
    else:
        assert not values.any()


@given(SEQUENCES)
def test_a_possible_sequence_stays(noisy):
    possible = np.sort(np.abs(noisy))
    np.testing.assert_array_equal(tree_projection(possible, possible[-1]), possible)


@given(SEQUENCES, TOPS)
def test_the_other_end_counts_alike(noisy, top):
    forward = tree_projection(noisy, top)
    backward = tree_projection(np.ascontiguousarray(top - noisy[::-1]), top)
    np.testing.assert_allclose(top - backward[::-1], forward, atol=1e-9)


@given(SEQUENCES, TOPS, st.sampled_from([1e-12, 2.0**40]))
def test_units_do_not_matter(noisy, top, unit):
    scaled = tree_projection(noisy * unit, top * unit)
    np.testing.assert_allclose(scaled / unit, tree_projection(noisy, top), atol=1e-9)


@pytest.mark.parametrize(("noisy", "expected"), [(-3.0, 0.0), (2.0, 2.0), (9.0, 5.0)])
def test_a_single_count_is_clipped(noisy, expected):
    assert tree_projection(np.array([noisy]), 5.0) == [expected]


def test_two_counts_by_hand():
    # Both leaves by 1, in opposite directions.
    np.testing.assert_allclose(tree_projection(np.array([2.0, 0.0]), 9.0), [1.0, 1.0])
    # The first was 2 too low: 1 by its leaf and 1 by the root, which lowered the second as well.
    np.testing.assert_allclose(tree_projection(np.array([-2.0, 4.0]), 9.0), [0.0, 5.0])


@pytest.mark.parametrize("top", [1e-300, 1.0, 1e6, 1e12])
@pytest.mark.parametrize(
    "shape",
    [
        lambda i: np.where(i < i.max(), i, -1e9),
        lambda i: np.where(i > 0, i, 1e9),
        lambda i: -i,
        lambda i: i - i.mean(),
        lambda i: i**2,
        lambda i: i % 100,
        lambda i: 1e12 + np.sin(i**2),
    ],
)
def test_awkward_sequences_take_few_rounds(shape, top):
    noisy = shape(np.arange(2.0**17))
    start = time.process_time()
    values = tree_projection(noisy, top)
    # As many rounds as counts would take minutes.
    assert time.process_time() - start < 10
    assert np.all(np.diff(values, prepend=0.0, append=top) >= 0)

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.kernels.histogram import (
    MAGNITUDE_BINS,
    likeliest,
    linear_counts,
    magnitude_counts,
    magnitude_edges,
    precisions,
    threshold_counts,
)

ANY_DOUBLE = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 3), st.integers(0, 30)),
    elements=st.floats(allow_nan=True, allow_infinity=True, width=64),
)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 1e-300, 1e300, 1.7e308]


def the_bin(value: float) -> int:
    counts = magnitude_counts(np.array([[value]]))
    assert counts.shape == (1, MAGNITUDE_BINS)
    return int(counts[0].argmax())


@given(ANY_DOUBLE)
def test_every_value_but_a_missing_one_is_in_exactly_one_bin_of_its_column(columns):
    present = (~np.isnan(columns)).sum(axis=1)
    assert (magnitude_counts(columns).sum(axis=1) == present).all()
    low, width = np.full(len(columns), -1.0), np.full(len(columns), 0.5)
    assert (linear_counts(columns, low=low, width=width, bins=4).sum(axis=1) == present).all()
    each = [threshold_counts(own, np.array([0.0, 1.0])).sum() for own in columns]
    assert each == present.tolist()


@pytest.mark.parametrize("value", SPECIAL)
def test_special_values_have_a_bin(value):
    assert 0 <= the_bin(value) < MAGNITUDE_BINS


def test_zeros_of_both_signs_and_tiny_values_share_the_middle_bin():
    middle = MAGNITUDE_BINS // 2
    assert [the_bin(v) for v in (0.0, -0.0, 5e-324, -5e-324, 1e-305)] == [middle] * 5


@given(st.floats(2.0**-999, 2.0**999), st.sampled_from([1.0, -1.0]))
def test_a_value_lies_within_the_edges_of_its_bin(size, sign):
    low, high = magnitude_edges()
    place = the_bin(sign * size)
    assert low[place] <= sign * size <= high[place]
    assert high[place] - low[place] <= abs(sign * size)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=20))
def test_the_bins_are_in_the_order_of_the_real_line(values):
    values.sort()
    bins = [the_bin(v) for v in values]
    assert bins == sorted(bins)


def test_the_edges_are_increasing_and_touch():
    low, high = magnitude_edges()
    assert low.shape == high.shape == (MAGNITUDE_BINS,)
    assert (np.diff(low) >= 0).all()
    inner = slice(1, MAGNITUDE_BINS // 2 - 1)
    np.testing.assert_array_equal(high[inner], low[2 : MAGNITUDE_BINS // 2])
    np.testing.assert_array_equal(low, -high[::-1])


def test_linear_bins_agree_with_counting_by_hand():
    values = np.array([-9.0, -1.0, -0.6, -0.5, 0.0, 0.2, 0.49, 0.5, 0.99, 1.0, 7.0, np.inf, np.nan])
    counts = linear_counts(values[None, :], low=np.array([-1.0]), width=np.array([0.5]), bins=4)
    # below -1 | [-1, -.5) | [-.5, 0) | [0, .5) | [.5, 1) | from 1 on
    assert counts.tolist() == [[1, 2, 1, 3, 2, 3]]


def test_a_range_of_one_column_does_not_touch_another():
    columns = np.array([[0.1, 0.9], [10.0, 30.0]])
    counts = linear_counts(columns, low=np.zeros(2), width=np.array([0.5, 20.0]), bins=2)
    assert counts.tolist() == [[0, 1, 1, 0], [0, 1, 1, 0]]


def test_threshold_bins_include_their_upper_end():
    counts = threshold_counts(np.array([0.0, 1.0, 1.5, 2.0, 9.0]), np.array([1.0, 2.0]))
    assert counts.tolist() == [2, 2, 1]


@pytest.mark.parametrize("ratio", [0.0, 1.0, 1e30])
def test_precisions_and_their_sums(ratio):
    mass = np.random.default_rng(0).dirichlet(np.ones(50), 7).T
    precise, squares, logs = precisions(mass, ratio)
    expected = 1.0 / (1.0 + ratio * mass * (1.0 - mass))
    np.testing.assert_allclose(precise, expected, rtol=1e-12)
    np.testing.assert_allclose(squares, (mass**2 * expected).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(logs, np.log(expected).sum(axis=0), rtol=1e-12, atol=1e-12)


def test_the_likeliest_row_place_and_size():
    generator = np.random.default_rng(0)
    found, prior = generator.normal(2.0, 3.0, size=(5, 40)), generator.normal(size=40)
    squares = generator.uniform(0.5, 2.0, size=5)
    size = (found / squares[:, None]).clip(0.5, 3.0)
    gain = size * (found - size * squares[:, None] / 2.0) / 4.0 + prior
    row, place, largest, of = likeliest(found, squares, prior, 0.5, 3.0, 2.0)
    assert (row, place) == np.unravel_index(gain.argmax(), gain.shape)
    assert (largest, of) == pytest.approx((gain[row, place], size[row, place]))

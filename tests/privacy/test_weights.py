from __future__ import annotations

from fractions import Fraction
from itertools import count

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.privacy._refine import LazyUniform
from nolook.privacy._weights import exponential_bounds, power_bounds, weighted_index
from nolook.privacy.noise import SeededSource, tilted_choice
from tests.privacy.exact_distributions import chi_square

RIGHT = 1e-4

COUNTS = (
    [3, 0, 5, 1],
    [0, 0, 7],
    [10**40, 1, 10**40, 0, 3 * 10**39],
    [2**200 - i * 2**194 for i in range(30)],
)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.7, 3.0])
@pytest.mark.parametrize("counts", COUNTS, ids=range(len(COUNTS)))
def test_choices_have_the_exact_probabilities(counts, rate):
    source = SeededSource(5)
    draws = [tilted_choice(counts, rate, source) for _ in range(2000)]
    with mpmath.workdps(60):
        weights = [n * mpmath.exp(mpmath.mpf(rate) * i) for i, n in enumerate(counts)]
        probabilities = np.array([float(w / mpmath.fsum(weights)) for w in weights])
    observed = np.bincount(draws, minlength=len(counts))
    assert observed[probabilities == 0].sum() == 0
    common = probabilities * len(draws) >= 5
    rest = 1.0 - probabilities[common].sum()
    cells = [*observed[common], observed[~common].sum()]
    expected = [*probabilities[common], rest]
    if rest * len(draws) < 1e-3:
        assert cells.pop() <= 1
        expected.pop()
    assert len(cells) == 1 or chi_square(cells, np.array(expected) / np.sum(expected)) > RIGHT


@given(
    st.fractions(min_value=0, max_value=20, max_denominator=10**6),
    st.integers(min_value=1, max_value=200),
)
def test_enclosures_hold_and_are_tight(rate, bits):
    low, high = power_bounds(rate, 5, bits)
    with mpmath.workdps(150):
        for j in range(5):
            exact = mpmath.exp(mpmath.mpf(rate.numerator) / rate.denominator * j) * 2**bits
            assert low[j] <= exact <= high[j]
            assert high[j] - low[j] <= 2 ** (4 - bits) * (j + 1) * exact + 4 * (j + 1)


@pytest.mark.parametrize("exponent", [Fraction(-30), Fraction(0), Fraction(1, 3), Fraction(700)])
def test_the_exponential_is_enclosed(exponent):
    low, high = exponential_bounds(exponent, 128)
    with mpmath.workdps(500):
        exact = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator) * 2**128
        assert low <= exact <= high
        assert high - low <= 2 + exact / 2**120


def test_a_number_on_a_border_is_refined_until_it_is_certain():
    # Two equal counts: U = 1/2 is the border, and only a late digit tells on which side U is.
    for last, expected in ((0, 0), (2**64 - 1, 1)):
        words = iter([2**63 - 1, *[2**64 - 1] * 3, last, *[last] * 9])
        if expected:
            words = iter([2**63, 0, 0, 1, *[5] * 9])
        drawn = count()

        def draw(words=words, drawn=drawn):
            next(drawn)
            return next(words)

        assert weighted_index([4, 4], Fraction(0), LazyUniform(draw(), draw)) == expected
    # An irrational border: the answer from 64 digits agrees with the one from many.
    border = mpmath.mp.clone()
    border.dps = 200
    share = 1 / (1 + border.exp(border.mpf(0.5)))
    near = int(border.floor(share * 2**64))
    for rest, expected in ((0, 0), (2**64 - 1, 1)):
        words = iter([near, rest, *[rest] * 9])
        uniform = LazyUniform(next(words), lambda words=words: next(words))
        assert weighted_index([1, 1], Fraction(0.5), uniform) == expected
        assert uniform.bits > 64

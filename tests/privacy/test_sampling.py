from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.stats import binomtest

from nolook.privacy.noise import SeededSource
from nolook.privacy.sampling import SAMPLING_UNIT, kept_rows, sampled_epsilon


@given(st.floats(1e-12, 1e4), st.integers(1, SAMPLING_UNIT))
def test_the_budget_on_a_sample_is_rounded_down_by_a_hair(epsilon, chances):
    with mp.workdps(80):
        q = mpf(chances) / SAMPLING_UNIT
        # For an epsilon this large, exp() alone has thousands of digits; the logarithm has few.
        exact = mp.log1p(mp.expm1(mpf(epsilon)) / q) if epsilon < 100 else epsilon - mp.log(q)
        inner = mpf(sampled_epsilon(epsilon, chances))
        assert inner <= exact
        assert inner >= exact * (1 - mpf(2) ** -46)


def test_all_rows_cost_what_the_mechanism_costs():
    assert sampled_epsilon(0.7, SAMPLING_UNIT) == 0.7


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("chances", [SAMPLING_UNIT // 2, SAMPLING_UNIT // 10, 1000])
def test_randomised_response_on_a_sample_meets_the_claim_and_no_more(epsilon, chances):
    # A row of 1 in the sample makes the answer 1 likelier by a factor of exp(inner).
    q, inner = chances / SAMPLING_UNIT, sampled_epsilon(epsilon, chances)
    least = 1 / (1 + math.exp(inner))
    ratio = ((1 - q) * least + q * (1 - least)) / least
    assert math.log(ratio) == pytest.approx(epsilon, rel=1e-9)
    other = (1 - least) / ((1 - q) * (1 - least) + q * least)
    assert math.log(other) <= epsilon


def test_rows_are_kept_independently_with_their_probability():
    source = SeededSource(0)
    kept = kept_rows(400_000, SAMPLING_UNIT // 5, source).reshape(2, -1)
    for row in kept:
        assert binomtest(int(row.sum()), row.size, 0.2).pvalue > 1e-4
    for both in itertools.pairwise([kept[0], kept[1], np.roll(kept[1], 1)]):
        together = int((both[0] & both[1]).sum())
        assert binomtest(together, kept[0].size, 0.04).pvalue > 1e-4
    assert kept_rows(1000, SAMPLING_UNIT, source).all()

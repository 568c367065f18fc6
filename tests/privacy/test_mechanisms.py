from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nolook.audit.exact_laws import exponential_law, flip_law
from nolook.errors import ParameterError
from nolook.privacy.mechanisms._exact import add_exactly, noise_scale, product_up, quotient_up
from nolook.privacy.mechanisms.exponential import exponential_choice, permute_and_flip
from nolook.privacy.mechanisms.gaussian import (
    OFF_DIAGONAL,
    gaussian_release,
    gaussian_variance,
    symmetric_gaussian_release,
)
from nolook.privacy.mechanisms.laplace import laplace_release, laplace_variance
from nolook.privacy.noise import SMALLEST_SCALE, SeededSource, SystemEntropy
from tests.privacy.exact_distributions import chi_square, gaussian_tail, laplace_tail, p_value

N = 60_000


def objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def test_gaussian_noise_has_standard_deviation_sensitivity_over_mu():
    released = gaussian_release(np.full(N, 1000), 30.0, 0.25, SeededSource(1))
    assert released.dtype == np.int64
    assert p_value(released - 1000, gaussian_tail, 120.0) > 1e-3
    for factor in (0.7, 1.3):
        assert p_value(released - 1000, gaussian_tail, 120.0 * factor) < 1e-9


def test_laplace_noise_has_scale_sensitivity_over_epsilon():
    released = laplace_release(np.full(N, -5), 2.0, 0.25, SeededSource(2))
    assert released.dtype == np.int64
    assert p_value(released + 5, laplace_tail, 8.0) > 1e-3
    for factor in (0.7, 1.3):
        assert p_value(released + 5, laplace_tail, 8.0 * factor) < 1e-9


@pytest.mark.parametrize("scale", [0.01, 0.2, 0.7, 1.0, 6.0])
def test_variances_are_those_of_the_noise(scale):
    whole = np.arange(-400, 401)
    laplace = np.exp(-abs(whole) / scale)
    exact = np.sum(whole**2 * laplace) / laplace.sum()
    assert laplace_variance(scale, 1.0) == pytest.approx(exact, rel=1e-9)
    rounded = np.diff(stats.norm.cdf((np.arange(-400, 402) - 0.5) / scale))
    exact = np.sum(whole**2 * rounded)
    assert exact * (1 - 1e-9) <= gaussian_variance(scale, 1.0) < exact + 1 / 8
    if scale >= 1.0:
        assert gaussian_variance(scale, 1.0) == pytest.approx(exact, rel=1e-7)


def test_exponential_choice_has_the_exact_probabilities():
    scores = np.array([0, 3, 6, 6])
    source = SeededSource(3)
    counts = Counter(exponential_choice(scores, 3.0, 1.0, source) for _ in range(8_000))
    observed = [counts[i] for i in range(4)]
    weights = np.exp(scores / 6.0)
    assert chi_square(observed, weights / weights.sum()) > 1e-3
    for factor in (0.7, 1.3):
        other = weights ** (1.0 / factor)
        assert chi_square(observed, other / other.sum()) < 1e-6


def test_permute_and_flip_has_the_exact_probabilities():
    scores = np.array([0, 3, 6, 6])
    source = SeededSource(3)
    counts = Counter(permute_and_flip(scores, 3.0, 1.0, source) for _ in range(20_000))
    observed = [counts[i] for i in range(4)]
    assert chi_square(observed, flip_law(scores, 3.0, 1.0)) > 1e-3
    for factor in (0.7, 1.3):
        assert chi_square(observed, flip_law(scores, 3.0, factor)) < 1e-6


@given(st.lists(st.floats(0.0, 20.0), min_size=2, max_size=8), st.floats(0.05, 5.0))
def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism(scores, epsilon):
    order = np.argsort(scores)[::-1]
    ours, theirs = (
        law(np.array(scores), 1.0, epsilon)[order].cumsum() for law in (flip_law, exponential_law)
    )
    assert (ours >= theirs - 1e-12).all()


def test_both_choices_keep_what_they_promise_for_all_neighbours():
    for epsilon in (0.2, 1.0, 3.0):
        ratios, ranges = [], []
        for scores in ([2, 2, 2], [3, 1, 1], [5, 4, 0]):
            for change in product((-1, 0, 1), repeat=3):
                moved = np.add(scores, change)
                losses = np.log(
                    flip_law(np.array(scores), 1, epsilon) / flip_law(moved, 1, epsilon)
                )
                ratios.append(abs(losses).max())
                losses = np.log(
                    exponential_law(np.array(scores), 1, epsilon)
                    / exponential_law(moved, 1, epsilon)
                )
                ranges.append(np.ptp(losses))
        assert 0.9 * epsilon < max(ratios) <= epsilon * (1 + 1e-9)
        assert 0.9 * epsilon < max(ranges) <= epsilon * (1 + 1e-9)


def test_weights_scale_each_entrys_noise():
    weights = np.tile([1.0, OFF_DIAGONAL, 3.0], N // 3)
    released = gaussian_release(np.zeros(N, dtype=np.int64), 100.0, 1.0, SeededSource(4), weights)
    assert released.dtype == np.int64
    for i, weight in enumerate((1.0, OFF_DIAGONAL, 3.0)):
        assert p_value(released[i::3], gaussian_tail, 100.0 * weight) > 1e-3
        assert p_value(released[i::3], gaussian_tail, 130.0 * weight) < 1e-9
        assert p_value(released[i::3], gaussian_tail, 70.0 * weight) < 1e-9


def test_a_symmetric_release_is_symmetric_with_independent_smaller_noise_off_the_diagonal():
    matrix = np.array([[10, 20, 30], [20, 40, 50], [30, 50, 60]]) * 1000
    source = SeededSource(5)
    noise = np.array(
        [symmetric_gaussian_release(matrix, 50.0, 0.5, source) - matrix for _ in range(4_000)]
    )
    np.testing.assert_array_equal(noise, noise.transpose(0, 2, 1))
    rows, columns = np.triu_indices(3)
    entries = noise[:, rows, columns].astype(float)
    expected = np.where(rows == columns, 100.0, 100.0 / math.sqrt(2.0))
    statistic = np.sum((entries / expected) ** 2, axis=0)
    tails = stats.chi2.cdf(statistic, len(entries))
    assert np.all((tails > 1e-4) & (tails < 1 - 1e-4))
    correlations = np.corrcoef(entries.T)[np.triu_indices(6, 1)]
    assert np.abs(correlations).max() < 4.5 / math.sqrt(len(entries))


def test_off_diagonal_factor_is_rounded_towards_privacy():
    assert Fraction(OFF_DIAGONAL) ** 2 >= Fraction(1, 2)
    assert Fraction(math.nextafter(OFF_DIAGONAL, 0.0)) ** 2 < Fraction(1, 2)


@pytest.mark.parametrize("seed", range(5))
def test_weighting_by_the_factor_is_the_frobenius_norm(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=6)
    change = np.outer(z, z)
    rows, columns = np.triu_indices(6)
    weights = np.where(rows == columns, 1.0, OFF_DIAGONAL)
    weighted = np.linalg.norm(change[rows, columns] / weights)
    assert weighted == pytest.approx(np.linalg.norm(change), rel=1e-12)
    assert weighted == pytest.approx(z @ z, rel=1e-12)


def test_scales_are_rounded_up():
    rng = np.random.default_rng(6)
    for top, bottom in np.exp(rng.normal(0.0, 20.0, size=(300, 2))).tolist():
        assert Fraction(quotient_up(top, bottom, "mu")) >= Fraction(top) / Fraction(bottom)
        assert Fraction(product_up(top, bottom)) >= Fraction(top) * Fraction(bottom)
        assert quotient_up(top, bottom, "mu") <= top / bottom * (1 + 1e-15)
        exact = Fraction(top) / Fraction(bottom)
        for scale, needed in (
            (noise_scale(top, bottom, "mu"), exact),
            (noise_scale(top, bottom, "mu", 0.3), exact * Fraction(0.3)),
        ):
            assert max(needed, Fraction(SMALLEST_SCALE)) <= scale
            assert scale <= max(float(needed) * (1 + 1e-15), SMALLEST_SCALE)


@pytest.mark.parametrize("release", [gaussian_release, laplace_release])
def test_values_beyond_int64_do_not_wrap(release):
    values = [2**63 - 1, -(2**63), 2**63, 2**200, -(2**90) - 7, 0]
    released = release(objects(values), 3.0, 1.0, SeededSource(7))
    assert {type(value) for value in released} == {int}
    assert all(abs(new - old) < 200 for new, old in zip(released, values, strict=True))
    assert released[3] != 2**200 or released[4] != -(2**90) - 7


@pytest.mark.parametrize("release", [gaussian_release, laplace_release])
def test_int64_values_saturate(release):
    ends = np.array([2**63 - 1, -(2**63)] * 50)
    released = release(ends, 1e6, 1.0, SeededSource(8))
    assert np.all(np.abs(released.astype(float) - ends) < 1e9)
    assert {2**63 - 1, -(2**63)} <= set(released.tolist())
    assert len(set(released.tolist())) > 20


@pytest.mark.parametrize("release", [gaussian_release, laplace_release])
def test_wide_noise_is_exact_in_python_ints(release):
    released = release(np.zeros(300, dtype=np.int64), 2.0**65, 0.25, SeededSource(9))
    assert {type(value) for value in released} == {int}
    assert 2**66 < max(abs(value) for value in released) < 2**72
    assert len({value % 2 for value in released}) == 2


def test_wide_noise_with_weights():
    weights = np.array([1.0, OFF_DIAGONAL, 2.0**-20])
    values = objects([2**80, 0, 5])
    for whole in (values, np.zeros(3, dtype=np.int64)):
        released = gaussian_release(whole, 2.0**60, 1.0, SeededSource(10), weights)
        assert {type(value) for value in released} == {int}
        assert abs(released[2] - whole[2]) < 2**45


def test_a_huge_epsilon_gives_the_values_themselves():
    values = np.arange(5)
    source = SystemEntropy()
    np.testing.assert_array_equal(gaussian_release(values, 1.0, 1e9, source), values)
    np.testing.assert_array_equal(laplace_release(values, 1.0, 1e9, source), values)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_releases_keep_the_shape(shape):
    for values in (np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64).astype(object)):
        for release in (gaussian_release, laplace_release):
            assert release(values, 1.0, 1.0, SystemEntropy()).shape == shape


def test_sums_are_exact_or_saturate():
    ends = np.iinfo(np.int64)
    values = np.array([ends.max, ends.min, ends.max, 5])
    noise = np.array([1, -1, -3, 4])
    assert add_exactly(values, noise).tolist() == [ends.max, ends.min, ends.max - 3, 9]


@pytest.mark.parametrize("release", [gaussian_release, laplace_release])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan, 2.0**-80])
def test_parameters_out_of_range_are_refused(release, bad):
    values = np.zeros(2, dtype=np.int64)
    with pytest.raises(ParameterError):
        release(values, 1.0, bad, SystemEntropy())
    if bad != 2.0**-80:
        with pytest.raises(ParameterError, match="sensitivity"):
            release(values, bad, 1.0, SystemEntropy())
        with pytest.raises(ParameterError, match="sensitivity"):
            exponential_choice(values, bad, 1.0, SystemEntropy())
        with pytest.raises(ParameterError, match="epsilon"):
            exponential_choice(values, 1.0, bad, SystemEntropy())


@pytest.mark.parametrize("release", [gaussian_release, laplace_release])
def test_values_that_are_not_integers_are_refused(release):
    with pytest.raises(ParameterError, match="values has dtype float64"):
        release(np.zeros(2), 1.0, 1.0, SystemEntropy())
    with pytest.raises(TypeError):
        release(objects([1.5, 2]), 1.0, 1.0, SystemEntropy())


@pytest.mark.parametrize(
    "weights", [np.ones(3), np.array([1.0, 0.0]), np.array([1.0, np.nan]), np.array([1.0, np.inf])]
)
def test_weights_out_of_range_are_refused(weights):
    with pytest.raises(ParameterError, match="weights"):
        gaussian_release(np.zeros(2, dtype=np.int64), 1.0, 1.0, SystemEntropy(), weights)

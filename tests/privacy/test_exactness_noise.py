"""The noise has its law at all scales: a million draws each, and borders met to 200 bits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from nolook.privacy.noise import (
    SMALLEST_SCALE,
    SeededSource,
    discrete_laplace,
    geometric,
    rounded_gaussian,
)
from tests.privacy.exact_distributions import gaussian_tail, geometric_tail, laplace_tail, p_value

pytestmark = pytest.mark.slow

# Seeds are fixed, so these tests give the same answer every time.
RIGHT = 1e-3
WRONG = 1e-9
DRAWS = 1_000_000
SAMPLERS = {
    "geometric": (geometric, geometric_tail),
    "discrete_laplace": (discrete_laplace, laplace_tail),
    "rounded_gaussian": (rounded_gaussian, gaussian_tail),
}
both = pytest.mark.parametrize("sampler", SAMPLERS)
SCALES = (0.2, 1.0, 30.0, 1e3, 1e6, 1e9, 1e12)


def below(sampler, scale, draws):
    """P(a draw is at most so large), in float64; good to some 1e-13."""
    up = draws.astype(float) + 1.0
    if sampler == "geometric":
        return -np.expm1(-up / scale)
    if sampler == "rounded_gaussian":
        return special.ndtr((up - 0.5) / scale)
    ratio = np.exp(-1.0 / scale)
    outer = np.exp(-np.where(up > 0, up, 1.0 - up) / scale) / (1.0 + ratio)
    return np.where(up > 0, 1.0 - outer, outer)


def kolmogorov_smirnov(sampler, scale, draws):
    """P-value of the largest distance of the distribution functions, at the draws."""
    values = np.sort(draws)
    places = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    observed = (places + 1) / len(draws)
    distance = np.abs(observed - below(sampler, scale, values[places])).max()
    # For whole numbers the distance is smaller than for continuous ones, never larger.
    return stats.kstwobign.sf(distance * np.sqrt(len(draws)))


@both
@pytest.mark.parametrize("scale", SCALES)
def test_a_million_draws_have_the_law_and_none_of_another_scale(sampler, scale):
    draw, tail = SAMPLERS[sampler]
    draws = draw(scale, DRAWS, SeededSource(31))
    assert p_value(draws, tail, scale) > RIGHT
    assert kolmogorov_smirnov(sampler, scale, draws) > RIGHT
    # Of 30 % off nothing is left, and a million draws tell 5 % apart too.
    for factor in (0.7, 1.3):
        assert p_value(draws, tail, scale * factor) < WRONG
    if scale >= 1.0:
        for factor in (0.7, 0.95, 1.05, 1.3):
            assert kolmogorov_smirnov(sampler, scale * factor, draws) < WRONG


@both
@pytest.mark.parametrize("scale", [SMALLEST_SCALE, 1e-3, 0.02])
def test_at_the_smallest_scales_the_law_is_0(sampler, scale):
    # The law itself: another number comes less than once in 10^20 draws, 30 % off included. So
    # frequencies tell nothing here; the borders below do.
    draw, tail = SAMPLERS[sampler]
    assert 1 - tail(scale * 1.3, 0) + tail(scale * 1.3, 1) < 1e-16
    assert not draw(scale, DRAWS, SeededSource(32)).any()


@both
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e12])
def test_draws_are_independent_of_each_other_and_signs_of_sizes(sampler, scale):
    draws = SAMPLERS[sampler][0](scale, DRAWS, SeededSource(33)).astype(float)
    sizes, signs = np.abs(draws), np.sign(draws)
    bound = 4.0 / np.sqrt(DRAWS)
    pairs = [(draws, draws), (sizes, sizes)]
    if sampler != "geometric":
        assert abs(np.corrcoef(sizes, signs)[0, 1]) < bound
        pairs += [(signs, signs), (sizes, signs), (signs, sizes)]
    for first, second in pairs:
        assert abs(np.corrcoef(first[:-1], second[1:])[0, 1]) < bound


class Scripted:
    """Gives words as told: the first of each block, and words one by one."""

    private = False

    def __init__(self, heads, tail):
        self.heads = list(heads)
        self.tail = list(tail)

    def words(self, n):
        if n == 1:
            return np.array([self.tail.pop(0) if self.tail else 0], dtype=np.uint64)
        out = np.full(n, 2**63 + 12345, dtype=np.uint64)
        out[0] = self.heads.pop(0)
        return out


def digits(number, words):
    """Return the first 64-bit words of a number of [0, 1)."""
    whole = int(mpmath.floor(mpmath.ldexp(number, 64 * words)))
    return [whole >> 64 * i & (2**64 - 1) for i in reversed(range(words))]


@pytest.fixture
def precise():
    with mpmath.workprec(6000):
        yield


SIDES = (-1, 1)
OFF = -200  # borders are met from 2^-200 of their size to either side


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize(
    ("scale", "number"),
    # A seventh at the smallest scales would need more than the 4096 digits after which draws stop.
    [(scale, number) for scale in (SMALLEST_SCALE, 1e-3) for number in (1, 2)]
    + [(scale, number) for scale in (0.02, 0.1, 1.0, 3.7, 100.0, 1000.0) for number in (1, 2, 7)],
)
def test_geometric_numbers_begin_exactly_where_they_should(scale, number):
    border = mpmath.exp(-number / mpmath.mpf(scale))
    for side in SIDES:
        first, *more = digits(border * (1 + side * mpmath.ldexp(1, OFF)), 63)
        drawn = int(geometric(scale, 1, Scripted([first], more))[0])
        # U below the border, E above it.
        assert drawn == (number if side < 0 else number - 1)


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12, 2.0**70])
@pytest.mark.parametrize("low", [1, 5, -1])
def test_the_low_digits_of_large_geometric_numbers_are_kept_exactly(scale, low):
    bits = int(mpmath.floor(mpmath.log(scale, 2))) - 9
    low %= 2**bits
    border = mpmath.exp(-low / mpmath.mpf(scale))
    for side in SIDES:
        first, *more = digits(border * (1 + side * mpmath.ldexp(1, OFF)), 63)
        source = Scripted([2**62 + 99, low << (64 - bits), first], more)
        kept = int(geometric(scale, 1, source)[0]) % 2**bits == low
        assert kept == (side < 0)


@pytest.mark.usefixtures("precise")
@pytest.mark.parametrize("sigma", [1.0, 700.0, 1e6, 1e12])
@pytest.mark.parametrize("rest", [0, 3 << 61, 2**64 - 1])
def test_gaussian_proposals_are_kept_exactly_where_they_should(sigma, rest):
    # |X| = h + F in units in which sigma lies in [512, 1024).
    ratio = mpmath.mpf(sigma) / mpmath.mpf(2) ** (int(mpmath.floor(mpmath.log(sigma, 2))) - 9)
    assert 512 <= ratio < 1024
    whole = 900
    first = digits(mpmath.exp(-(whole + mpmath.mpf(1) / 2) / ratio), 1)[0]
    part = mpmath.mpf(rest) / mpmath.mpf(2) ** 64
    border = mpmath.exp(-(((whole + part) / ratio - 1) ** 2) / 2 - part / ratio)
    size = int(mpmath.floor((whole + part) * mpmath.mpf(sigma) / ratio + mpmath.mpf(1) / 2))
    for side in SIDES:
        head, *more = digits(border * (1 + side * mpmath.ldexp(1, OFF)), 20)
        # Digits of U' and of F come by turns; those of F are all 0.
        tail = [word for pair in zip(more, [0] * len(more), strict=True) for word in pair]
        drawn = rounded_gaussian(sigma, 1, Scripted([first, rest, head], tail))
        assert (abs(int(drawn[0])) == size) == (side < 0)

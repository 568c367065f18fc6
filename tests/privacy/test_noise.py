from __future__ import annotations

import math
import re
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest

from nolook.errors import ParameterError
from nolook.privacy.noise import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    SeededSource,
    SystemEntropy,
    byte_source,
    discrete_laplace,
    geometric,
    permuted_flips,
    report_noisy_max_gumbel,
    rounded_gaussian,
    uniform_integers,
)
from tests.privacy.exact_distributions import (
    chi_square,
    gaussian_tail,
    geometric_tail,
    laplace_tail,
    p_value,
)

SAMPLERS = {
    "geometric": (geometric, geometric_tail),
    "discrete_laplace": (discrete_laplace, laplace_tail),
    "rounded_gaussian": (rounded_gaussian, gaussian_tail),
}
SCALES = (0.1, 0.5, 1.0, 3.7, 100.0, 1e6, 1e12)
selecting = pytest.mark.parametrize("select", [report_noisy_max_gumbel, permuted_flips])
both = pytest.mark.parametrize("sampler", SAMPLERS)
# Seeds are fixed, so these tests give the same answer every time.
RIGHT = 1e-3
WRONG = 1e-9


def draws_needed(scale):
    # At scale 0.1 one draw in ten thousand differs from 0.
    return 1_000_000 if scale < 0.5 else 100_000


@both
@pytest.mark.parametrize("scale", SCALES)
def test_draws_have_the_exact_distribution(sampler, scale):
    draw, tail = SAMPLERS[sampler]
    draws = draw(scale, draws_needed(scale), SeededSource(20))
    assert p_value(draws, tail, scale) > RIGHT


@both
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_a_scale_30_percent_off_is_rejected(sampler, scale, factor):
    if (sampler, scale, factor) == ("rounded_gaussian", 0.1, 0.7):
        # Both are 0 but for 6e-7 of the draws: the next test covers the small sigmas.
        scale = 0.2
    draw, tail = SAMPLERS[sampler]
    draws = draw(scale * factor, draws_needed(scale), SeededSource(21))
    assert p_value(draws, tail, scale) < WRONG


@pytest.mark.parametrize("sigma", [0.001, 0.1, 0.3, 1.0, 3.7, 100.0])
@pytest.mark.parametrize("bits", [30, 40])
def test_one_normal_number_is_rounded_at_every_sigma(sigma, bits):
    # The same random words give the same X / sigma, so only the rounding differs.
    fine = rounded_gaussian(sigma * 2.0**bits, 50_000, SeededSource(22))
    coarse = rounded_gaussian(sigma, 50_000, SeededSource(22))
    np.testing.assert_array_equal(np.rint(fine / 2.0**bits), coarse)


@pytest.mark.parametrize("sampler", [geometric, discrete_laplace, rounded_gaussian])
@pytest.mark.parametrize("scale", [1e6, 1e12, 2.0**60])
def test_the_last_digits_are_uniform(sampler, scale):
    draws = sampler(scale, 20_000, SeededSource(23))
    counts = Counter(int(draw) % 16 for draw in draws)
    assert chi_square([counts[digit] for digit in range(16)], np.full(16, 1 / 16)) > RIGHT


@both
def test_large_scales_give_python_ints_that_agree_with_the_small_ones(sampler):
    draw, tail = SAMPLERS[sampler]
    small = draw(2.0**50, 2_000, SeededSource(24))
    large = draw(2.0**69, 2_000, SeededSource(24))
    assert small.dtype == np.int64
    assert {type(value) for value in large} == {int}
    assert max(abs(value) for value in large) > 2**69
    scaled = np.array([value >> 19 for value in large], dtype=np.int64)
    if sampler == "rounded_gaussian":
        assert np.abs(scaled - small).max() <= 1
    else:
        assert p_value(scaled, tail, 2.0**50) > RIGHT


def test_selection_has_the_exact_probabilities():
    scores = np.array([3, 5, 5, 0, 4])
    weights = np.exp(scores / 2.0)
    source = SeededSource(25)
    for given in (scores, scores.astype(float)):
        counts = Counter(report_noisy_max_gumbel(given, 2.0, source) for _ in range(8_000))
        observed = [counts[i] for i in range(5)]
        assert chi_square(observed, weights / weights.sum()) > RIGHT
        for factor in (0.7, 1.3):
            other = weights ** (1.0 / factor)
            assert chi_square(observed, other / other.sum()) < WRONG


def permute_and_flip(scores, scale):
    """Return the law by the definition: a random order, and the first whose coin shows heads."""
    heads = [math.exp((score - max(scores)) / scale) for score in scores]
    law = [0.0] * len(scores)
    for order in permutations(range(len(scores))):
        missed = 1.0
        for i in order:
            law[i] += missed * heads[i] / math.factorial(len(scores))
            missed *= 1 - heads[i]
    return np.array(law)


FLIPPED = np.array([3, 0, 4, 4, 1])


def test_flips_have_the_law_of_permute_and_flip():
    source = SeededSource(51)
    for given in (FLIPPED, FLIPPED.astype(float)):
        counts = Counter(permuted_flips(given, 2.0, source) for _ in range(8_000))
        observed = [counts[i] for i in range(5)]
        assert chi_square(observed, permute_and_flip(FLIPPED.tolist(), 2.0)) > RIGHT
        for factor in (0.7, 1.3):
            assert chi_square(observed, permute_and_flip(FLIPPED.tolist(), 2.0 * factor)) < 1e-5


def test_geometric_noise_with_ties_at_random_is_permute_and_flip_and_by_index_is_not():
    scale, size = 2.0, 20_000
    noisy = FLIPPED + geometric(scale, (size, 5), SeededSource(52))
    best = noisy == noisy.max(axis=1, keepdims=True)
    law = permute_and_flip(FLIPPED.tolist(), scale)
    chosen = [
        np.flatnonzero(row)[uniform_integers(int(row.sum()), 1, SeededSource(i))[0]]
        for i, row in enumerate(best)
    ]
    assert chi_square(np.bincount(chosen, minlength=5), law) > RIGHT
    assert chi_square(np.bincount(best.argmax(axis=1), minlength=5), law) < WRONG


@selecting
def test_selection_among_many_ties_is_uniform(select):
    scores = np.full(10_000, 7)
    winners = [select(scores, 1.0, SeededSource(seed)) for seed in range(300)]
    counts = np.bincount(np.array(winners) // 1_000, minlength=10)
    assert chi_square(counts, np.full(10, 0.1)) > RIGHT


@selecting
@pytest.mark.parametrize(
    "scores",
    [
        np.array([-(2**63), 2**63 - 1, 0]),
        np.array([-1.7e308, 1.7e308, 0.0]),
        np.array([2.0**53, 2.0**53 + 2, 0.0]),
    ],
)
def test_selection_survives_extreme_scores(select, scores):
    source = SeededSource(26)
    for scale in (1e-300, 0.05):
        assert {select(scores, scale, source) for _ in range(50)} == {1}
    assert {select(scores, 1.7e308, source) for _ in range(100)} == {0, 1, 2}


@selecting
def test_int64_scores_are_not_rounded_to_floats(select):
    # As floats both would be 2^62.
    scores = np.array([2**62 - 20, 2**62])
    source = SeededSource(27)
    assert {select(scores, 0.1, source) for _ in range(100)} == {1}


@pytest.mark.parametrize(
    "high", [1, 7, 10, 2**20, 3 * 2**61, 2**63, 2**63 + 1, 2**64, 3 * 2**64, 5**99]
)
def test_integers_are_uniform(high):
    draws = uniform_integers(high, 30_000, SeededSource(28))
    assert draws.min() >= 0
    assert draws.max() < high
    cells = min(high, 12)
    observed = np.bincount([int(draw) * cells // high for draw in draws], minlength=cells)
    bounds = [-(-high * cell // cells) for cell in range(cells + 1)]
    assert (
        high == 1
        or chi_square(observed, [float(Fraction(b - a, high)) for a, b in pairwise(bounds)]) > RIGHT
    )


@pytest.mark.fresh_noise
def test_the_operating_systems_entropy_gives_the_exact_distribution():
    source = SystemEntropy()
    for draw, tail in SAMPLERS.values():
        # False alarm: one run in 3e8.
        assert p_value(draw(50.0, 50_000, source), tail, 50.0) > 1e-9
    words = source.words(50_000)
    assert (
        chi_square(np.bincount(words.view(np.uint8), minlength=256), np.full(256, 1 / 256)) > 1e-9
    )


# Forks a process of its own, since threads of libraries that the tests use may hold locks.
FORKED = """
import os, sys
from nolook.privacy.noise import SystemEntropy

source = SystemEntropy()
source.words(3)
child = os.fork()
words = source.words(4).tobytes()
if child:
    os.waitpid(child, 0)
os.write(1, words.hex().encode() + b" ")
os._exit(0)
"""


@pytest.mark.fresh_noise
def test_processes_share_no_entropy_after_a_fork():
    done = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, timeout=120, check=True
    )
    theirs, ours = (
        np.frombuffer(bytes.fromhex(part), np.uint64) for part in done.stdout.decode().split()
    )
    assert len(theirs) == len(ours) == 4
    # False alarm: one run in 10^18.
    assert not set(theirs.tolist()) & set(ours.tolist())


def test_a_seed_repeats_its_draws_and_is_not_private():
    def draws(seed):
        source = byte_source(seed)
        assert not source.private
        return [
            geometric(5.0, 9, source).tolist(),
            rounded_gaussian(5.0, 9, source).tolist(),
            uniform_integers(100, 9, source).tolist(),
        ]

    assert draws(3) == draws(3)
    assert draws(3) != draws(4)
    # Fixed for good: results of experiments must be repeatable later.
    assert SeededSource(0).words(1).tolist() == [FIRST_WORD_OF_SEED_0]
    assert byte_source(None).private


FIRST_WORD_OF_SEED_0 = 259491006799949737


@both
def test_shapes(sampler):
    draw, _ = SAMPLERS[sampler]
    source = SystemEntropy()
    assert draw(2.0, (3, 4), source).shape == (3, 4)
    assert draw(2.0, 0, source).shape == (0,)
    assert draw(2.0, (), source).shape == ()
    assert draw(2.0, 100_001, source).shape == (100_001,)


@both
@pytest.mark.parametrize(
    "scale", [0.0, -1.0, SMALLEST_SCALE / 2, LARGEST_SCALE * 2, np.inf, np.nan]
)
def test_scales_out_of_range_are_refused(sampler, scale):
    with pytest.raises(ParameterError, match=re.escape(f"is {scale!r}; expected")):
        SAMPLERS[sampler][0](scale, 1, SystemEntropy())


@pytest.mark.parametrize("scale", [0.0, -1.0, np.inf, np.nan])
def test_selection_refuses_scales_out_of_range(scale):
    for select in (report_noisy_max_gumbel, permuted_flips):
        with pytest.raises(ParameterError, match="scale is"):
            select(np.arange(3), scale, SystemEntropy())


@pytest.mark.parametrize(
    "scores",
    [np.array([]), np.zeros((2, 2)), np.array([1.0, np.nan]), np.array([1, 2], dtype=object)],
)
def test_selection_refuses_what_is_not_a_vector_of_scores(scores):
    for select in (report_noisy_max_gumbel, permuted_flips):
        with pytest.raises(ParameterError, match="scores"):
            select(scores, 1.0, SystemEntropy())


@pytest.mark.parametrize("high", [0, -1, -(2**70)])
def test_uniform_integers_refuse_bounds_out_of_range(high):
    with pytest.raises(ParameterError, match="high is"):
        uniform_integers(high, 1, SystemEntropy())

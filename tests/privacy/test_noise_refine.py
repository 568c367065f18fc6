"""The exact path behind the float64 comparisons: rare in use, so driven on purpose here."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from nolook.privacy import _compare, _refine
from nolook.privacy._refine import (
    LazyUniform,
    accept_gaussian,
    below_exponential,
    floor_exponential,
    gumbel_winner,
)
from nolook.privacy.noise import (
    LARGEST_INT64_SCALE,
    SeededSource,
    discrete_laplace,
    geometric,
    permuted_flips,
    report_noisy_max_gumbel,
    rounded_gaussian,
)
from tests.privacy.exact_distributions import (
    chi_square,
    gaussian_tail,
    geometric_tail,
    laplace_tail,
    p_value,
)

ALL_ONES = 2**64 - 1
RIGHT = 1e-3


def no_more_words():
    pytest.fail("the first word should have been enough")


class ScriptedSource:
    """Gives the words of a list, one after the other."""

    private = False

    def __init__(self, *words):
        self.left = list(words)

    def words(self, n):
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n
        return np.array(taken, dtype=np.uint64)


@pytest.fixture
def exact_calls(monkeypatch):
    """Count the decisions handed to exact arithmetic."""
    calls = Counter()
    init = LazyUniform.__init__

    def counted(self, word, draw):
        calls["all"] += 1
        init(self, word, draw)

    monkeypatch.setattr(LazyUniform, "__init__", counted)
    return calls


@pytest.mark.parametrize("sampler", [geometric, discrete_laplace, rounded_gaussian])
@pytest.mark.parametrize("scale", [0.5, 3.7, 1e6, 1e12, 2.0**60])
@pytest.mark.parametrize("tolerance", [2.0**-13, 0.3])
def test_both_paths_agree_bit_for_bit(sampler, scale, tolerance, monkeypatch, exact_calls):
    n = 400
    quick = sampler(scale, n, SeededSource(30))
    few = exact_calls.pop("all", 0)
    monkeypatch.setattr(_compare, "_TOLERANCE", tolerance)
    exact = sampler(scale, n, SeededSource(30))
    np.testing.assert_array_equal(quick, exact)
    assert few < 10
    assert exact_calls["all"] >= (0.1 * n if tolerance == 0.3 else 1 if scale > 1e3 else 0)


def test_both_paths_choose_the_same_winner(monkeypatch, exact_calls):
    scores = np.arange(60) % 7
    quick = [report_noisy_max_gumbel(scores, 2.0, SeededSource(seed)) for seed in range(40)]
    assert exact_calls["all"] == 0
    monkeypatch.setattr(_compare, "_TOLERANCE", 1.0)
    exact = [report_noisy_max_gumbel(scores, 2.0, SeededSource(seed)) for seed in range(40)]
    assert quick == exact
    assert exact_calls["all"] > 200


def test_both_paths_flip_the_same_coins(monkeypatch):
    exact = []

    def counted(*arguments):
        exact.append(arguments)
        return _refine.below_exponential(*arguments)

    monkeypatch.setattr(_compare, "below_exponential", counted)
    # Distances that overflow are not known in float64.
    for scores, scale, doubtful in (
        (np.arange(60) % 7, 2.0, 0),
        (np.array([0.0, 1.5, 1e-300, 0.25]), 0.5, 0),
        (np.array([-1.7e308, 1.7e308, 1.6e308]), 1.5e308, 40),
    ):
        quick = [permuted_flips(scores, scale, SeededSource(seed)) for seed in range(40)]
        assert len(exact) == doubtful
        with monkeypatch.context() as patch:
            patch.setattr(_compare, "_TOLERANCE", 2.0)
            sure = [permuted_flips(scores, scale, SeededSource(seed)) for seed in range(40)]
        assert quick == sure
        assert len(set(quick)) > 1
        assert len(exact) >= doubtful + 40 * len(scores)
        exact.clear()


@pytest.mark.parametrize(
    ("sampler", "tail", "scale"),
    [
        (geometric, geometric_tail, 3.7),
        (discrete_laplace, laplace_tail, 5000.0),
        (rounded_gaussian, gaussian_tail, 1.0),
    ],
)
def test_the_exact_path_has_the_exact_distribution(sampler, tail, scale, monkeypatch):
    monkeypatch.setattr(_compare, "_TOLERANCE", 2.0)
    assert p_value(sampler(scale, 4_000, SeededSource(31)), tail, scale) > RIGHT


def crumbs(seed, bits=4):
    """Return a function that draws words of a few bits, so that refining is common."""
    words = iter(SeededSource(seed).words(400_000) >> np.uint64(64 - bits))
    return lambda: int(next(words))


def test_digits_appended_later_have_the_exact_distribution(monkeypatch):
    monkeypatch.setattr(_refine, "_WORD_BITS", 4)
    draw = crumbs(32)
    counts = [floor_exponential(LazyUniform(draw(), draw), Fraction(3)) for _ in range(6_000)]
    assert p_value(np.array(counts), geometric_tail, 3.0) > RIGHT
    assert p_value(np.array(counts), geometric_tail, 3.9) < 1e-9

    exponent = Fraction(2, 7)
    hits = sum(
        below_exponential(LazyUniform(draw(), draw), lambda: (exponent, exponent))
        for _ in range(6_000)
    )
    chance = float(mpmath.exp(-mpmath.mpf(2) / 7))
    assert chi_square([hits, 6_000 - hits], [chance, 1 - chance]) > RIGHT


def test_half_a_normal_distribution_from_appended_digits(monkeypatch):
    monkeypatch.setattr(_refine, "_WORD_BITS", 4)
    draw = crumbs(33)
    ratio = Fraction(2)
    kept = Counter()
    for _ in range(4_000):
        whole = floor_exponential(LazyUniform(draw(), draw), ratio)
        if accept_gaussian(LazyUniform(draw(), draw), whole, draw(), ratio, draw):
            kept[min(whole, 6)] += 1
    edges = [mpmath.erf(k / mpmath.sqrt(8)) for k in range(7)] + [mpmath.mpf(1)]
    cells = [float(high - low) for low, high in itertools.pairwise(edges)]
    assert chi_square([kept[k] for k in range(7)], cells) > RIGHT


def test_selection_from_appended_digits(monkeypatch):
    monkeypatch.setattr(_refine, "_WORD_BITS", 4)
    draw = crumbs(34)
    gaps = [Fraction(0), Fraction(0), Fraction(1, 2), Fraction(2)]
    counts = Counter(
        gumbel_winner(gaps, [LazyUniform(draw(), draw) for _ in gaps]) for _ in range(3_000)
    )
    weights = np.exp([-float(gap) for gap in gaps])
    assert chi_square([counts[i] for i in range(4)], weights / weights.sum()) > RIGHT


@pytest.mark.parametrize("scale", [0.3, 1.0, 37.5, 1000.0])
def test_decisions_agree_with_high_precision(scale):
    for word in SeededSource(35).words(200).tolist():
        exponential = -mpmath.log((word + mpmath.mpf(0.5)) / 2**64)
        whole = int(mpmath.floor(scale * exponential))
        assert floor_exponential(LazyUniform(word, no_more_words), Fraction(scale)) == whole
        exponent = Fraction(scale) / 700
        below = bool(exponential > mpmath.mpf(scale) / 700)
        uniform = LazyUniform(word, no_more_words)
        assert below_exponential(uniform, lambda x=exponent: (x, x)) == below


@pytest.mark.parametrize("scale", [1, 37, 1000])
def test_a_word_on_the_border_is_decided_by_the_next_ones(scale):
    for k in (1, 5):
        border = int(mpmath.floor(2**64 * mpmath.exp(-mpmath.mpf(k) / scale)))
        words = np.array([border], dtype=np.uint64)
        # Low digits make U smaller and -ln U larger.
        assert _compare.floor_exponentials(words, float(scale), lambda: 0).tolist() == [k]
        assert _compare.floor_exponentials(words, float(scale), lambda: ALL_ONES).tolist() == [
            k - 1
        ]
        exponent = Fraction(k, scale)

        def exact(uniform, _, exponent=exponent):
            return below_exponential(uniform, lambda: (exponent, exponent))

        exponents = np.array([k / scale])
        assert _compare.below_exponentials(words, exponents, exact, lambda: 0).all()
        assert not _compare.below_exponentials(words, exponents, exact, lambda: ALL_ONES).any()


def test_a_word_of_zeros_is_continued():
    words = iter([0, 5 << 61])  # U is 5 / 2^131, or more by less than 2^-192
    uniform = LazyUniform(0, lambda: next(words))
    expected = int(mpmath.floor(100 * mpmath.log(mpmath.mpf(2) ** 131 / 5)))
    assert floor_exponential(uniform, Fraction(100)) == expected


def test_a_candidates_word_of_zeros_or_ones_is_continued():
    scores = np.zeros(3)
    # U = 1 means a standard exponential of 0, which wins; U = 0 loses.
    source = ScriptedSource(2**63, ALL_ONES, 0)
    assert report_noisy_max_gumbel(scores, 1.0, source) == 1
    # Two candidates alike in their first word: the next one decides.
    source = ScriptedSource(2**63, 2**63, 2**60, 7, 9)
    assert report_noisy_max_gumbel(scores, 1.0, source) == 1
    source = ScriptedSource(2**63, 2**63, 2**60, 9, 7)
    assert report_noisy_max_gumbel(scores, 1.0, source) == 0


def test_one_draw_takes_its_further_digits_from_the_source():
    border = int(mpmath.floor(2**64 * mpmath.exp(-1)))
    n = 17  # proposals for one draw
    quiet = [2**63] * (n - 1)
    for extra, expected in ((0, 1), (ALL_ONES, 0)):
        source = ScriptedSource(border, *quiet, extra)
        assert geometric(1.0, 1, source).tolist() == [expected]
        assert source.left == []


def test_a_broken_source_is_noticed():
    with pytest.raises(RuntimeError, match="source of random bytes is broken"):
        floor_exponential(LazyUniform(0, lambda: 0), Fraction(1))


def test_the_largest_exponential_number_fits_into_int64():
    # A uniform number whose first 4096 digits are zeros is refused, so -ln U is below this.
    largest = 4096 * math.log(2.0)
    assert 2 * largest * LARGEST_INT64_SCALE + 1 < 2**63


@pytest.mark.parametrize("name", ["log", "exp", "log1p"])
def test_numpys_functions_are_as_accurate_as_the_tolerance_assumes(name):
    words = SeededSource(36).words(3_000)
    arguments = {
        "log": np.concatenate([words[:2_000] * 2.0**-64, words[2_000:] * 2.0**-103]),
        "exp": -np.concatenate([words[:2_000] * 2.0**-64, words[2_000:] * 2.0**-57]),
        "log1p": -np.concatenate([words[:2_000] * 2.0**-65, words[2_000:] * 2.0**-87]),
    }[name]
    found = getattr(np, name)(arguments)
    exact = [getattr(mpmath, name)(mpmath.mpf(float(x))) for x in arguments]
    errors = [abs(mpmath.mpf(float(f)) / e - 1) for f, e in zip(found, exact, strict=True) if e]
    assert max(errors) < 2.0**-48  # 16 times better than the 2^-44 that the proof needs

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from nolook.audit.exact_laws import (
    canonical_law,
    draws_of_a_group,
    loss_of_subset,
    peeling_law,
    race_law,
)
from nolook.errors import ParameterError
from nolook.privacy import _class_race, _refine
from nolook.privacy._refine import LazyUniform, class_winner
from nolook.privacy.mechanisms.top_k import (
    UtilityClasses,
    bounded_range_peeling,
    canonical_lipschitz,
    class_size,
    peeling,
)
from nolook.privacy.noise import SeededSource, SystemEntropy
from tests.privacy.exact_distributions import chi_square
from tests.privacy.test_noise_refine import ScriptedSource, crumbs

RIGHT = 1e-4
WRONG = 1e-9
ALL_ONES = 2**64 - 1


def labels(d, k):
    return [(k - 1, k), *product(range(k), range(k + 1, d + 1))]


def draws(mechanism, scores, k, epsilon, n, seed, sensitivity=1.0):
    source = SeededSource(seed)
    scores = np.asarray(scores)
    return Counter(
        tuple(mechanism(scores, k, sensitivity, epsilon, source).tolist()) for _ in range(n)
    )


def fit(counts, law):
    """Return the p-value of drawn sets, rare ones joined into one cell."""
    n = sum(counts.values())
    assert set(counts) <= set(law)
    common = [subset for subset, chance in law.items() if chance * n >= 5]
    cells = [counts[subset] for subset in common]
    chances = [law[subset] for subset in common]
    if len(common) < len(law):
        cells.append(n - sum(cells))
        chances.append(1 - math.fsum(chances))
    return chi_square(cells, np.array(chances) / math.fsum(chances))


@pytest.mark.parametrize(("d", "k"), [(2, 1), (6, 3), (6, 5), (9, 1), (12, 4), (40, 17)])
def test_class_sizes_add_up_to_the_number_of_subsets(d, k):
    assert len(labels(d, k)) == k * (d - k) + 1
    assert sum(class_size(head, last, k) for head, last in labels(d, k)) == math.comb(d, k)


def test_every_subset_is_in_the_class_of_its_loss():
    scores = np.array([9, 7, 7, 7, 4, 4, 1])
    for k in range(1, 7):
        classes = UtilityClasses(scores, k, 1.0, 4.0)  # the scale is 1
        sizes = Counter()
        for subset in combinations(range(7), k):
            # Where scores are equal, the order of places decides: it must not matter.
            missing = min(set(range(7)) - set(subset))
            last = max(subset) + 1
            head = missing if missing < last else k - 1
            sizes[head, last] += 1
            gap, _ = classes.exact(head, last)
            assert abs(gap - Fraction(2 * loss_of_subset(scores.tolist(), subset))) < Fraction(
                1, 10**12
            )
        assert dict(sizes) == {label: class_size(*label, k) for label in labels(7, k)}


LAWS = [
    ([3, 0, 2, 5, 2, 1], 3, 2.0),
    ([1, 1, 1, 1, 1], 2, 1.0),
    ([9.5, -3.25, 0.5, 9.5], 1, 0.7),
    ([0, 4, 1, 4, 2], 4, 3.0),
    ([2.0**60, 2.0**60, 0.0, 1.0, 2.0], 2, 1.0),
]


@pytest.mark.parametrize(("scores", "k", "epsilon"), LAWS)
def test_classes_of_the_library_have_the_law_of_all_subsets(scores, k, epsilon):
    ranked = np.sort(np.array(scores))[::-1]
    classes = UtilityClasses(ranked, k, 1.0, epsilon)
    found = labels(len(scores), k)
    gaps, sizes = zip(*(classes.exact(*label) for label in found), strict=True)
    chances = dict(zip(found, race_law([-float(gap) for gap in gaps], sizes), strict=True))
    by_class = Counter()
    for subset, chance in canonical_law(ranked.tolist(), k, epsilon).items():
        missing, last = min(set(range(len(scores))) - set(subset)), max(subset) + 1
        by_class[missing if missing < last else k - 1, last] += chance
    assert math.fsum(chances.values()) == pytest.approx(1.0, abs=1e-12)
    assert by_class == pytest.approx(chances, abs=1e-12)


@pytest.mark.slow
def test_canonical_lipschitz_has_the_exact_law():
    scores, k, epsilon = LAWS[0]
    counts = draws(canonical_lipschitz, scores, k, epsilon, 60_000, 1)
    assert fit(counts, canonical_law(scores, k, epsilon)) > RIGHT
    for factor in (0.9, 1.1):
        assert fit(counts, canonical_law(scores, k, factor * epsilon)) < WRONG


@pytest.mark.slow
@pytest.mark.parametrize(("scores", "k", "epsilon"), LAWS[1:])
def test_canonical_lipschitz_has_the_exact_law_elsewhere(scores, k, epsilon):
    counts = draws(canonical_lipschitz, scores, k, epsilon, 10_000, 2)
    assert fit(counts, canonical_law(scores, k, epsilon)) > RIGHT


def test_scores_are_measured_in_their_sensitivity():
    scores = np.array([30, 0, 20, 50, 20, 10])
    counts = draws(canonical_lipschitz, scores, 3, 2.0, 1_000, 3, sensitivity=10.0)
    assert counts == draws(canonical_lipschitz, scores // 10, 3, 2.0, 1_000, 3)


@pytest.mark.slow
def test_peeling_has_the_exact_law():
    scores, k, epsilon = [3, 0, 5, 2], 2, 2.5
    counts = draws(peeling, scores, k, epsilon, 60_000, 4)
    assert fit(counts, peeling_law(scores, k, epsilon)) > RIGHT
    for factor in (0.9, 1.1):
        assert fit(counts, peeling_law(scores, k, factor * epsilon)) < WRONG
    assert set(counts) == set(peeling_law(scores, k, epsilon))


def largest_ratio(law, k, epsilon, scores):
    """Return the largest log ratio of a law's values over all neighbours of the scores."""
    here = law(scores, k, epsilon)
    worst = 0.0
    for change in product((-1, 0, 1), repeat=len(scores)):
        there = law([x + step for x, step in zip(scores, change, strict=True)], k, epsilon)
        worst = max(worst, *(abs(math.log(here[y] / there[y])) for y in here))
    return worst


@pytest.mark.slow
def test_bounded_range_peeling_draws_by_the_exponential_mechanism():
    scores, each = np.array([3, 3, 3, 0, 0, 0]), 1.5
    source, runs = SeededSource(4), 20_000
    held = [
        (bounded_range_peeling(10 * scores, 2, 10.0, each, source) < 3).sum() for _ in range(runs)
    ]
    weights = math.exp(3 * each / 2), 1.0
    observed = np.bincount(held, minlength=3)
    assert chi_square(observed, draws_of_a_group(weights, (3, 3), 2)) > RIGHT
    for factor in (0.8, 1.2):
        other = weights[0] ** factor, 1.0
        assert chi_square(observed, draws_of_a_group(other, (3, 3), 2)) < 1e-6


def test_how_many_of_a_group_are_drawn_agrees_with_each_sequence():
    heavy, sizes, k = 1.7, (3, 2), 3
    law = np.zeros(k + 1)
    for order in permutations(range(5), k):
        weights = [heavy] * 3 + [1.0] * 2
        chance = 1.0
        for i in order:
            chance *= weights[i] / sum(weights)
            weights[i] = 0.0
        law[sum(i < 3 for i in order)] += chance
    np.testing.assert_allclose(draws_of_a_group((heavy, 1.0), sizes, k), law)


NEIGHBOURS = ([3, 3, 3, 3, 3], [5, 4, 3, 2, 1], [9, 9, 5, 5, 0], [8, 1, 0.5, 0.5, 0.25])


@pytest.mark.parametrize(
    ("scores", "k", "epsilon"),
    [
        # Every day each pair of tables with each k, at one of the budgets.
        pytest.param(
            scores,
            k,
            epsilon,
            marks=[pytest.mark.slow] * ((i + j + k) % 3 > 0),
            id=f"{i}-{k}-{epsilon}",
        )
        for i, scores in enumerate(NEIGHBOURS)
        for k in (1, 2, 3)
        for j, epsilon in enumerate([0.1, 1.0, 3.0])
    ],
)
def test_no_neighbours_differ_by_more_than_epsilon(scores, k, epsilon):
    worst = largest_ratio(canonical_law, k, epsilon, scores)
    assert 0.3 * epsilon < worst <= epsilon * (1 + 1e-9)


def test_peeling_differs_by_no_more_than_epsilon():
    assert 0.9 < largest_ratio(peeling_law, 2, 1.0, [4, 3, 3, 0]) <= 1.0 + 1e-9


def test_the_law_comes_close_to_epsilon():
    # The set drawn misses the first index; nearly all that win instead hold it and miss the second.
    epsilon, others = 0.5, 20
    here = canonical_law([100, 2, 0] + [0] * others, 2, epsilon)
    there = canonical_law([101, 1, -1] + [1] * others, 2, epsilon)
    assert 0.95 * epsilon < math.log(here[1, 2] / there[1, 2]) <= epsilon


def test_the_order_of_equal_scores_changes_nothing():
    scores = [2, 2, 2, 0]
    counts = draws(canonical_lipschitz, scores, 2, 1.0, 5_000, 5)
    alike = [counts[pair] for pair in combinations(range(3), 2)]
    assert stats.chisquare(alike).pvalue > RIGHT
    alike = [counts[i, 3] for i in range(3)]
    assert stats.chisquare(alike).pvalue > RIGHT


@pytest.fixture
def exact_calls(monkeypatch):
    calls = Counter()

    def counted(gaps, sizes, uniforms):
        calls["races"] += 1
        calls["classes"] += len(gaps)
        return class_winner(gaps, sizes, uniforms)

    monkeypatch.setattr(_class_race, "class_winner", counted)
    return calls


CASES = [
    (np.arange(40) % 7, 5, 1.0),
    (np.zeros(12, dtype=np.int64), 5, 1.0),
    (np.linspace(0.0, 300.0, 100), 9, 0.5),
    (np.repeat([1e300, -1e300, 0.5, 0.25], 3), 4, 2.0),
]


@pytest.mark.parametrize(("scores", "k", "epsilon"), CASES, ids=range(len(CASES)))
def test_both_paths_choose_the_same_set(scores, k, epsilon, monkeypatch, exact_calls):
    def choose():
        return [
            canonical_lipschitz(scores, k, 1.0, epsilon, SeededSource(seed)).tolist()
            for seed in range(10)
        ]

    quick = choose()
    assert exact_calls["races"] <= 1
    monkeypatch.setattr(_class_race, "_TOLERANCE", 3.0)
    assert choose() == quick
    assert exact_calls["classes"] > 20


def test_blocks_of_any_size_give_the_same_set(monkeypatch):
    scores = np.arange(60) % 11
    quick = [canonical_lipschitz(scores, 1, 1.0, 2.0, SeededSource(seed)) for seed in range(50)]
    monkeypatch.setattr("nolook.privacy.mechanisms.top_k._CELLS", 7)
    small = [canonical_lipschitz(scores, 1, 1.0, 2.0, SeededSource(seed)) for seed in range(50)]
    np.testing.assert_array_equal(quick, small)
    assert len({int(chosen[0]) for chosen in small}) > 5


@pytest.mark.parametrize("cells", [1, 5, 8, 10**6])
def test_blocks_cover_each_class_once(cells, monkeypatch):
    monkeypatch.setattr("nolook.privacy.mechanisms.top_k._CELLS", cells)
    d, k = 11, 4
    ranked = np.arange(d)[::-1].copy()
    classes = UtilityClasses(ranked, k, 1.0, 4.0)
    seen = []
    for block in classes.blocks():
        for (i, j), gap in np.ndenumerate(block.gaps):
            label = (block.row + i, block.column + j)
            seen.append(label)
            exact, size = classes.exact(*label)
            assert float(exact) == pytest.approx(gap, rel=2.0**-51)
            assert math.log(size) == pytest.approx(block.log_sizes[i, j], abs=1e-10)
    assert sorted(seen) == sorted(labels(d, k))


@pytest.mark.slow
def test_digits_appended_later_have_the_exact_law(monkeypatch):
    monkeypatch.setattr(_refine, "_WORD_BITS", 4)
    draw = crumbs(7)
    gaps = [Fraction(0), Fraction(1, 2), Fraction(3), Fraction(1, 3)]
    sizes = [1, 4, 30, 2]
    counts = Counter(
        class_winner(gaps, sizes, [LazyUniform(draw(), draw) for _ in gaps]) for _ in range(4_000)
    )
    law = race_law([-float(gap) for gap in gaps], sizes)
    assert chi_square([counts[i] for i in range(4)], law) > RIGHT


def test_enclosures_hold_for_any_size():
    for size in (1, 2, 10**6, math.comb(10**6, 100)):
        for word in SeededSource(8).words(30).tolist():
            uniform = LazyUniform(word, lambda: 0)
            low, high = _refine._class_bounds(Fraction(1, 3), size, uniform)
            with mpmath.workdps(600):
                ends = [
                    -mpmath.mpf(1) / 3 - mpmath.log(-mpmath.expm1(mpmath.log(u) / size))
                    for u in (mpmath.mpf(word) / 2**64, mpmath.mpf(word + 1) / 2**64)
                ]
                assert mpmath.mpf(str(low)) <= ends[0] < ends[1] <= mpmath.mpf(str(high))
                assert mpmath.mpf(str(high)) - mpmath.mpf(str(low)) < 1e-15


def test_words_of_zeros_and_ones_are_continued():
    # U = 1 means the largest noise there is; U = 0 the smallest, still a value.
    scores = np.array([5, 0, 0])
    words = [2**63, ALL_ONES, 2**63, *[7] * 40]
    assert canonical_lipschitz(scores, 1, 1.0, 0.1, ScriptedSource(*words)).tolist() == [2]
    words = [0, 2**50, 2**50, *[7] * 40]
    assert canonical_lipschitz(scores, 1, 1.0, 40.0, ScriptedSource(*words)).tolist() == [0]


@pytest.mark.parametrize(("d", "k"), [(30, 5), (20_000, 10), (1_000_000, 100), (5_000, 2_500)])
def test_log_sizes_are_within_their_slack(d, k):
    classes = UtilityClasses(np.zeros(d), k, 1.0, 1.0)
    rng = np.random.default_rng(9)
    heads = rng.integers(0, k, 40)
    lasts = np.r_[rng.integers(k + 1, d + 1, 30), d, d - 1, np.arange(k + 1, k + 9).clip(max=d)]
    found = classes._log_sizes(heads, lasts)
    for head, last, value in zip(heads.tolist(), lasts.tolist(), found.tolist(), strict=True):
        with mpmath.workdps(40):
            exact = mpmath.log(mpmath.mpf(class_size(head, last, k)))
            assert abs(exact - value) <= classes.slack / 4


def test_logarithms_of_factorials_are_as_accurate_as_the_slack_assumes():
    numbers = np.unique(np.geomspace(1, 1e9, 4_000).astype(np.int64))
    for n, found in zip(numbers.tolist(), gammaln(numbers).tolist(), strict=True):
        exact = mpmath.loggamma(n)
        assert abs(found - exact) <= 2.0**-47 * exact  # 8 times better than the 2^-44 needed


def test_noise_is_as_accurate_as_the_tolerance_assumes():
    logarithms = np.r_[np.linspace(-40.0, 3.0, 2_000), -1e3, -700.0, -32.0, np.nextafter(-32, -33)]
    for value, found in zip(logarithms, _class_race._noise(logarithms), strict=True):
        with mpmath.workdps(40):
            exact = -mpmath.log(-mpmath.expm1(-mpmath.exp(mpmath.mpf(float(value)))))
            assert abs(exact - found) < 2.0**-44


def test_wide_tables_take_no_time():
    scores = np.arange(200_000) % 1000
    chosen = canonical_lipschitz(scores, 20, 1.0, 500.0, SystemEntropy())
    assert len(set(chosen.tolist())) == 20
    assert np.all(np.diff(chosen) > 0)
    assert scores[chosen].min() > 700


def test_far_apart_scores_give_the_best():
    scores = np.array([-(2**63), 2**63 - 1, 0, 2**63 - 1, 5])
    for mechanism in (canonical_lipschitz, peeling, bounded_range_peeling):
        assert sorted(mechanism(scores, 2, 1.0, 1.0, SystemEntropy()).tolist()) == [1, 3]


def test_a_loss_of_accuracy_in_the_difference_is_not_one_in_the_race():
    # 2^60 + 1 is not a float64: only whole numbers tell the two apart.
    scores = np.array([2**60 + 1, 2**60, 2**60 - 200])
    classes = UtilityClasses(scores, 1, 1.0, 4.0)
    for found in (classes.exact(0, 2)[0], list(classes.blocks())[1].gaps[0, 0]):
        assert float(found) == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("mechanism", [canonical_lipschitz, peeling, bounded_range_peeling])
@pytest.mark.parametrize(
    ("scores", "k", "sensitivity", "epsilon", "name"),
    [
        ([1, 2, 3], 0, 1.0, 1.0, "k is 0"),
        ([1, 2, 3], 3, 1.0, 1.0, "k is 3"),
        ([1, 2, 3], 2, 0.0, 1.0, "sensitivity is 0.0"),
        ([1, 2, 3], 2, 1.0, -1.0, "epsilon is -1.0"),
        ([1.0, math.nan, 3.0], 2, 1.0, 1.0, "scores has an entry that is not finite"),
        ([[1, 2, 3]], 1, 1.0, 1.0, "scores has"),
        ([1.0, 2.0], 1, 1e300, 1e-300, "finite"),
    ],
)
def test_bad_parameters(mechanism, scores, k, sensitivity, epsilon, name):
    with pytest.raises(ParameterError, match=name) as caught:
        mechanism(np.array(scores), k, sensitivity, epsilon, SystemEntropy())
    assert "\n" not in str(caught.value)


def test_expm1_is_as_accurate_as_the_tolerance_assumes():
    arguments = -np.geomspace(2.0**-47, 50.0, 3_000)
    for x, found in zip(arguments.tolist(), np.expm1(arguments).tolist(), strict=True):
        assert abs(found / mpmath.expm1(mpmath.mpf(x)) - 1) < 2.0**-48

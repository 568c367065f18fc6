from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from nolook.algorithms.cumulative_noise import ForestNoise
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.forest import Forest, best_forest
from tests.algorithms.test_cumulative_noise import forest_counts


def exact(values, points):
    """Return the distribution of values without any noise."""
    points = np.asarray(points, dtype=float)
    counts = np.searchsorted(np.sort(values), points, side="right").astype(float)
    counts[-1] = len(values)
    noise = ForestNoise(best_forest(len(points), "laplace"), 0.0, 0.0)
    return PrivateDistribution(points, counts, float(len(values)), noise)


VALUES = np.array([1.0, 2.0, 2.0, 3.0, 5.0, 5.0, 5.0, 8.0])
EVERY = exact(VALUES, range(1, 9))


def test_shares_are_those_of_the_values():
    t = np.array([[0.0, 0.99, 1.0], [2.5, 5.0, 100.0]])
    np.testing.assert_allclose(EVERY.cdf(t), [[0, 0, 1 / 8], [3 / 8, 7 / 8, 1]])


@pytest.mark.parametrize("p", [0.0, 0.01, 0.125, 0.126, 0.5, 0.875, 0.88, 1.0])
def test_quantiles_are_those_of_the_values(p):
    assert EVERY.ppf(p) == np.quantile(VALUES, p, method="inverted_cdf")


@given(st.lists(st.integers(1, 16), min_size=1, max_size=60), st.floats(0.0, 1.0))
def test_a_quantile_is_the_first_point_with_the_share(values, p):
    found = exact(values, range(1, 17))
    q = float(found.ppf(p))
    assert found.cdf(q) >= p
    assert q == 1 or found.cdf(q - 1) < p


@given(st.lists(st.integers(1, 16), min_size=1, max_size=60))
def test_the_mean_and_the_masses_are_those_of_the_values(values):
    found = exact(values, range(1, 17))
    assert found.trimmed_mean(0.0)[0] == pytest.approx(np.mean(values))
    masses, _ = found.masses(range(17))
    np.testing.assert_allclose(masses * len(values), np.bincount(values, minlength=17)[1:])
    np.testing.assert_allclose(found.pdf(range(2, 17))[0], masses[1:])
    assert found.pdf([1.0, 0.0, 17.0])[0].tolist() == [0.0, 0.0, 0.0]


@given(st.lists(st.floats(0.001, 16.0), min_size=1, max_size=60), st.sampled_from([0.0, 0.1]))
def test_a_mean_is_too_high_by_its_step_at_most(values, proportion):
    """Values count as the threshold at or above them."""
    points = [0.0, 0.5, 1.0, 4.0, 16.0]
    coarse, fine = exact(values, points), exact(values, np.unique(values))
    high, step = coarse.trimmed_mean(proportion)[0], coarse.mean_step(proportion)
    assert high - step - 1e-9 <= fine.trimmed_mean(proportion)[0] <= high + 1e-9


def test_values_below_the_first_threshold_may_be_anywhere():
    assert exact([-5.0, 1.0], [0.0, 1.0]).mean_step(0.0) == np.inf
    assert exact([0.5, 1.0], [0.0, 1.0]).mean_step(0.0) == 1.0


def test_the_trimmed_mean_leaves_out_the_share_at_both_ends():
    values = np.array([1.0] * 2 + [4.0] * 6 + [16.0] * 2)
    found = exact(values, range(1, 17))
    assert found.trimmed_mean(0.2)[0] == pytest.approx(4.0)
    assert found.trimmed_mean(0.1)[0] == pytest.approx((1 + 6 * 4 + 16) / 8)


def test_counts_that_fall_still_have_quantiles():
    counts = np.array([-3.0, 4.0, 2.0, 6.0, 12.0, 8.0, 7.0, 8.0])
    found = PrivateDistribution(
        np.arange(1.0, 9.0), counts, 8.0, ForestNoise(Forest(8, (4, 2, 1)), 1.0, 1.0)
    )
    quantiles = found.ppf(np.linspace(0, 1, 101))
    assert (np.diff(quantiles) >= 0).all()
    assert found.cdf(1.0) == -3 / 8  # as released


def test_grids_of_one_point_and_of_other_sizes_than_powers_of_two():
    found = exact(VALUES, [2.0, 4.0, 6.0])
    assert found.cdf([2, 4, 6]).tolist() == [3 / 8, 4 / 8, 1.0]
    one = exact(VALUES, [2.0])
    assert (one.cdf(2.0), one.ppf(0.5), one.trimmed_mean(0.0)[0]) == (1.0, 2.0, 2.0)


NOISES = [
    ForestNoise(Forest(8, (4, 2, 1)), 7.0, 11.0),
    ForestNoise(Forest(7, (3, 1)), 7.0, 11.0),
]


@pytest.mark.parametrize("own", NOISES)
def test_standard_errors_are_those_of_the_noise(own):
    noise = forest_counts(own)
    points = len(noise)
    values = np.repeat(np.arange(1.0, points + 1), 50)
    n = len(values)
    clean = exact(values, range(1, points + 1))
    found = PrivateDistribution(clean.points, clean.counts, n, own).noise_alone

    def error(weights):
        """Return that of sum(weights * counts) / rows, to first order."""
        weights = np.array(weights, dtype=float)
        share = np.sum(weights * clean.counts / n)
        weights[-1] -= share
        return np.sqrt(weights @ noise @ weights) / n

    unit = np.eye(points)
    for i in range(points - 1):
        assert found.cdf_error(i + 1.0) == pytest.approx(error(unit[i]))
    # Below the first threshold there may be any part of the first cell.
    assert found.cdf_error([0.5, points, 99.0]).tolist() == [1 / points, 0.0, 0.0]
    edges = [-np.inf, 1.0, 3.0, 4.0, 5.0]
    wanted = [error(unit[0]), error(unit[2] - unit[0]), error(unit[3] - unit[2])]
    np.testing.assert_allclose(found.masses(edges)[1][:3], wanted)
    part = np.hypot(wanted[0], 1 / points)
    assert found.masses([0.0, 1.0])[1] == pytest.approx([part])
    last = found.masses([points - 1.0, float(points)])[1][0]
    assert last == pytest.approx(error(unit[-1] - unit[-2]))
    density, errors = found.pdf([2.5, 3.0, 9.0, 1.0])
    assert density[0] == density[1] == pytest.approx(1 / points)
    assert errors[:2] == pytest.approx(error(unit[2] - unit[1]))
    assert errors[2:].tolist() == [0.0, 0.0]
    weights = np.append(-np.ones(points - 1), 0.0)
    assert found.trimmed_mean(0.0)[1] == pytest.approx(error(weights))


def test_errors_allow_for_counts_that_were_made_equal():
    # Block (4, 8] is known well for itself; pooled with what lies around it is as the rest.
    forest = Forest(12, (4, 1))
    apart = np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    made_equal = np.array([3.0, 3, 3, 3, 6, 6, 6, 9, 9, 9, 11, 12])
    plain, pooled = (
        PrivateDistribution(
            np.arange(1.0, 13.0), counts, 12.0, ForestNoise(forest, 7.0, 11.0)
        ).noise_alone
        for counts in (apart, made_equal)
    )
    edges = [4.0, 8.0]
    share = plain.masses(edges)[0]
    assert pooled.masses(edges)[1] > 1.2 * plain.masses(edges)[1]
    # At most what the places pooled have themselves, and what their choice adds.
    every = [
        plain.noise.between(np.array([a]), np.array([b]), share)
        for a in range(1, 5)
        for b in range(8, 11)
    ]
    assert pooled.masses(edges)[1] <= np.sqrt(1.3 * np.max(every)) / 12 + 1e-3
    # Rows of the same run are none, with the error of the two places.
    assert pooled.masses([1.0, 3.0])[0] == 0.0
    assert pooled.masses([1.0, 3.0])[1] == pytest.approx(plain.masses([1.0, 3.0])[1], rel=0.05)


def test_an_interval_of_a_quantile_leaves_out_whole_runs():
    counts, noise = np.repeat([1.0, 5.0, 11.0, 12.0], [4, 3, 4, 1]), (Forest(12, (1,)), 1e-6, 1e-6)
    found = PrivateDistribution(np.arange(1.0, 13.0), counts, 12.0, ForestNoise(*noise)).noise_alone
    assert found.ppf_interval([0.5, 0.95]).tolist() == [[7.0, 8.0], [11.0, np.inf]]
    assert exact(VALUES, [2.0]).ppf_interval(0.5).tolist() == [-np.inf, np.inf]


def test_the_error_of_a_mean_over_the_widest_grid_is_a_number():
    points = np.array([-1.7e308, 0.0, 1e300, 1.7e308])
    noise = ForestNoise(Forest(4, (2, 1)), 7.0, 11.0)
    found = PrivateDistribution(points, np.array([1.0, 2.0, 3.0, 4.0]), 4.0, noise)
    assert not np.isnan(found.trimmed_mean(0.0)[1])


def test_errors_add_up_noise_and_sampling():
    generator = np.random.default_rng(0)
    points, chances = np.arange(1.0, 9.0), np.array([5, 20, 10, 0, 30, 15, 15, 5]) / 100
    noise = ForestNoise(Forest(8, (3, 1)), 60.0, 20.0)
    found = [
        PrivateDistribution(points, counts := drawn.cumsum().astype(float), counts[-1], noise)
        for drawn in generator.multinomial(2000, chances, 400)
    ]
    noisy = found[0].noise_alone
    for error, own, spread in (
        (found[0].cdf_error(points), noisy.cdf_error(points), [one.cdf(points) for one in found]),
        (
            found[0].trimmed_mean(0.0)[1],
            noisy.trimmed_mean(0.0)[1],
            [one.trimmed_mean(0.0)[0] for one in found],
        ),
        (
            found[0].masses([1.0, 3.0, 6.0])[1],
            noisy.masses([1.0, 3.0, 6.0])[1],
            [one.masses([1.0, 3.0, 6.0])[0] for one in found],
        ),
    ):
        # Of 400 draws, the spread is known to 4 %; the first draw's own shares move it as much.
        sampling = np.sqrt(np.square(error) - np.square(own))
        np.testing.assert_allclose(sampling, np.std(spread, axis=0), rtol=0.25, atol=1e-9)


def test_within_a_cell_the_error_holds_all_of_it():
    points = np.array([1.0, 2.0, 3.0, 4.0])
    noise = ForestNoise(Forest(4, (2, 1)), 1e-6, 1e-6)
    found = PrivateDistribution(points, np.array([10.0, 74.0, 100.0, 100.0]), 100.0, noise)
    # A quarter of the values may be at 2.5, and are where a column is cut there.
    assert found.cdf(2.5) == 0.74
    assert found.cdf_error(2.5) >= 0.26
    assert found.cdf_error(2.0) < 0.05


@pytest.mark.parametrize("noisy", [8, 30])
def test_a_quantile_that_noise_moves_into_a_gap_becomes_its_nearer_end(noisy):
    """48 % of the values are 0, the others are 40 to 56; noise lifts the share from `noisy` on."""
    points = np.arange(-7.0, 57.0)
    above = 40.0 * (points >= noisy) + 30.0 * np.maximum(points - 39.0, 0.0)
    counts = np.append((480.0 * (points >= 0.0) + above)[:-1], 1000.0)
    forest = ForestNoise(best_forest(64, "laplace"), 300.0, 0.0)
    found = PrivateDistribution(points, counts, 1000.0, forest)
    assert found.ppf(0.5) == noisy
    (value,), ((low, high),) = found.across_gaps(np.array([0.5])), found.ppf_interval([0.5])
    assert value == pytest.approx(43.0, abs=3.0) if noisy > 20 else value == 0.0
    assert low <= value <= high


def test_quantiles_of_a_distribution_without_gaps_stay_where_they_are():
    generator, p = np.random.default_rng(3), np.linspace(0.05, 0.95, 19)
    for values in (generator.uniform(1, 63, 2000), generator.exponential(9.0, 2000)):
        found = exact(np.ceil(values).clip(1, 64), range(1, 65))
        noisy = evolve(found, noise=evolve(found.noise, block_variance=20.0))
        np.testing.assert_array_equal(found.across_gaps(p), found.ppf(p))
        assert (abs(noisy.across_gaps(p) - found.ppf(p)) <= 4.0).all()

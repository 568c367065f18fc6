from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nolook.audit.exact_laws import all_points, passing_chance, point_law, tukey_depths
from nolook.errors import ParameterError
from nolook.privacy.mechanisms.propose_test_release import (
    distance_scale,
    passes_test,
    passing_threshold,
)
from nolook.privacy.mechanisms.tukey_depth import (
    TukeyRule,
    compute_volumes,
    distance_to_unsafety,
    restricted_tukey,
    sample_point_with_depth,
    sorted_columns,
    tukey_release,
)
from nolook.privacy.noise import SeededSource
from tests.privacy.exact_distributions import chi_square

RIGHT = 1e-4


def some_models(m, d, limit, seed=0):
    return np.random.default_rng(seed).integers(-limit, limit + 1, (m, d))


@st.composite
def models_and_neighbour(draw):
    m, d = draw(st.integers(1, 24)), draw(st.integers(1, 3))
    number = st.integers(-40, 40)
    row = st.lists(number, min_size=d, max_size=d)
    models = np.array(draw(st.lists(row, min_size=m, max_size=m)), dtype=np.int64)
    other = models.copy()
    other[draw(st.integers(0, m - 1))] = draw(row)
    return models, other


@pytest.mark.parametrize("m", [1, 2, 3, 8, 13])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_volumes_count_the_points_of_each_depth(m, d):
    models = some_models(m, d, 4)
    counted = np.bincount(tukey_depths(models, all_points(-5, 5, d)), minlength=(m + 1) // 2 + 1)
    at_least = counted[::-1].cumsum()[::-1][1:]
    assert compute_volumes(sorted_columns(models)) == at_least.tolist()


def test_volumes_are_exact_beyond_any_float():
    models = np.array([[-(2**61)] * 30, [2**61] * 30, [0] * 30])
    assert compute_volumes(sorted_columns(models)) == [(2**62 + 1) ** 30, 1]


def distance_by_definition(models, rule, grid):
    """The largest k of the condition C(k), weights summed over the grid's points."""
    deep = tukey_depths(models, grid)
    rate, eps = mpmath.mpf(rule.epsilon_sample) / 2, mpmath.mpf(rule.epsilon_sample)

    def holds(k):
        if not (deep >= rule.depth + k + 1).any():
            return False
        weight = mpmath.fsum(mpmath.exp(rate * int(t)) for t in deep[deep >= rule.depth + k + 1])
        volume = int((deep >= rule.depth - k - 1).sum())
        left = mpmath.exp(eps) * mpmath.exp(rate * (rule.depth + k)) * volume
        return left <= mpmath.mpf(rule.delta) * weight

    return max((k for k in range(rule.depth - 1) if holds(k)), default=-1)


@pytest.mark.parametrize("seed", range(12))
def test_the_distance_is_that_of_the_definition(seed):
    generator = np.random.default_rng(seed)
    m, d = int(generator.integers(8, 60)), int(generator.integers(1, 3))
    models = np.rint(generator.normal(size=(m, d)) * 3).astype(np.int64)
    rule = TukeyRule(int(generator.integers(2, m // 3)), 1.0, generator.uniform(0.5, 6), 0.1)
    volumes = compute_volumes(sorted_columns(models))
    expected = distance_by_definition(models, rule, all_points(-12, 12, d))
    assert distance_to_unsafety(volumes, rule) == expected


def test_the_distances_of_the_definition_are_not_all_alike():
    models = np.rint(np.random.default_rng(0).normal(size=(60, 1)) * 3).astype(np.int64)
    volumes = compute_volumes(sorted_columns(models))
    found = {
        distance_to_unsafety(volumes, TukeyRule(12, 1.0, e, 0.1)) for e in (0.1, 0.6, 1.0, 6.0)
    }
    assert len(found) >= 3
    assert -1 in found


@settings(max_examples=100)
@given(models_and_neighbour(), st.floats(0.01, 8.0), st.floats(1e-9, 0.9), st.integers(2, 8))
def test_a_replaced_model_moves_the_distance_by_one_at_most(pair, epsilon, delta, depth):
    rule = TukeyRule(depth, 1.0, epsilon, delta)
    first, second = (
        distance_to_unsafety(compute_volumes(sorted_columns(models)), rule) for models in pair
    )
    assert abs(first - second) <= 1
    assert -1 <= min(first, second) <= max(first, second) <= depth - 2


@pytest.mark.parametrize("m", [5, 6, 20])
@pytest.mark.parametrize("d", [1, 2])
def test_points_have_the_exact_probabilities(m, d):
    models, source = some_models(m, d, 3, seed=m), SeededSource(1)
    grid = all_points(-3, 3, d)
    columns = sorted_columns(models)
    volumes = compute_volumes(columns)
    rate = Fraction(7, 10)
    expected = point_law(models, grid, 2, float(rate))
    draws = [restricted_tukey(columns, volumes, 2, rate, source) for _ in range(3000)]
    place = {tuple(point): i for i, point in enumerate(grid.tolist())}
    observed = np.bincount([place[tuple(draw)] for draw in draws], minlength=len(grid))
    assert observed[expected == 0].sum() == 0
    assert chi_square(observed[expected > 0], expected[expected > 0]) > RIGHT


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_a_point_of_a_depth_is_uniform_among_those_of_that_depth(depth):
    models, source = some_models(8, 3, 3, seed=2), SeededSource(2)
    grid = all_points(-3, 3, 3)
    wanted = grid[tukey_depths(models, grid) == depth]
    if len(wanted) == 0:
        pytest.fail("choose models that have points of this depth")
    draws = [
        tuple(sample_point_with_depth(sorted_columns(models), depth, source))
        for _ in range(60 * len(wanted))
    ]
    place = {tuple(point): i for i, point in enumerate(wanted.tolist())}
    observed = np.bincount([place[draw] for draw in draws], minlength=len(wanted))
    assert len(wanted) == 1 or chi_square(observed, np.full(len(wanted), 1 / len(wanted))) > RIGHT


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 0.31, 1.0, 7.0, 1e5])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.05, 0.4])
def test_the_threshold_is_the_smallest_that_keeps_delta(epsilon, delta):
    threshold = passing_threshold(epsilon, delta)
    with mpmath.workdps(50):
        ratio = mpmath.exp(-1 / mpmath.mpf(distance_scale(epsilon)))
        assert ratio ** (threshold + 1) / (1 + ratio) <= delta
        assert threshold == 0 or ratio**threshold / (1 + ratio) > delta
        # The formula of the proof.
        exact = mpmath.log(1 / (delta * (1 + ratio))) * distance_scale(epsilon)
        assert threshold == max(0, int(mpmath.ceil(exact)) - 1)


@pytest.mark.parametrize("distance", [-1, 2, 4, 9])
def test_the_test_passes_with_the_exact_probability(distance):
    source, epsilon, delta = SeededSource(3), 0.7, 0.02
    passed = sum(passes_test(distance, epsilon, delta, source) for _ in range(2000))
    expected = passing_chance(distance, passing_threshold(epsilon, delta), distance_scale(epsilon))
    assert distance > -1 or expected <= delta
    assert chi_square([passed, 2000 - passed], [expected, 1 - expected]) > RIGHT


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.0)]
)
def test_bad_parameters_of_the_test_are_refused(epsilon, delta):
    with pytest.raises(ParameterError):
        passes_test(3, epsilon, delta, SeededSource(0))


def test_a_release_comes_from_the_deep_middle():
    models = np.random.default_rng(0).normal(scale=1000, size=(400, 2)).astype(np.int64)
    rule = TukeyRule(50, 2.0, 2.0, 1e-6)
    source = SeededSource(0)
    points = np.array([tukey_release(models, rule, source) for _ in range(50)])
    assert (np.abs(points) < 300).all()
    assert len(np.unique(points[:, 0])) > 30


@pytest.mark.parametrize("m", [1, 2, 3, 50, 51])
@pytest.mark.parametrize("d", [1, 4])
def test_models_all_alike_get_the_ordinary_answer(m, d):
    models = np.full((m, d), 5)
    rule = TukeyRule(max(2, m // 8), 3.0, 3.0, 0.01)
    source = SeededSource(4)
    released = [tukey_release(models, rule, source) for _ in range(30)]
    found = [point.tolist() for point in released if point is not None]
    assert all(point == [5] * d for point in found)
    assert len(found) == (30 if m >= 50 else len(found))


@pytest.mark.parametrize("epsilon", [2.0**-70, 1e-30, 5e-324])
def test_noise_that_would_have_to_be_cut_is_refused(epsilon):
    assert distance_scale(2.0**-69) >= 2.0**69
    with pytest.raises(ParameterError, match=r"epsilon is .* expected more than 2\*\*-70"):
        distance_scale(epsilon)

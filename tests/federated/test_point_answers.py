"""What the analyst makes of answers of format 2: agreement, errors, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import nolook
from nolook.algorithms.count_noise import BinaryTreeNoise, ForestNoise
from nolook.algorithms.forest import best_forest
from nolook.errors import NolookError, ParameterError
from nolook.federated.answers import Answer
from nolook.federated.batch import Batch
from nolook.federated.point_answers import block_variance, calibration, distribution
from nolook.federated.point_shares import noisy_blocks
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance
from nolook.privacy.mechanisms.laplace import laplace_variance
from tests.federated.point_made import AGES, SCORES, answered, point_batch

VALUES = np.random.default_rng(0).integers(0, 99, 300) * 1.0
SCORED = np.random.default_rng(1).integers(1, 17, 300) / 16
TARGETS = np.random.default_rng(2).uniform(size=300) < SCORED


def test_without_noise_the_distribution_is_exact():
    for smoothing in ("isotonic", None):
        found = distribution(point_batch(), *answered(point_batch(), VALUES), smoothing)
        upto = [np.mean(t >= VALUES) for t in range(100)]
        assert found.cdf(np.arange(100.0)) == pytest.approx(upto, abs=1e-9)
        assert found.n_rows_ == 300


def test_without_noise_the_curve_is_exact():
    batch = point_batch("roc", grid=SCORES)
    found = distribution(batch, *answered(batch, SCORED, TARGETS))
    assert found.auc_ == pytest.approx(roc_auc_score(TARGETS, SCORED), abs=1e-6)


def test_what_comes_back_is_what_a_central_release_gives():
    batch = point_batch(epsilon=1.0)
    found = distribution(batch, *answered(batch, VALUES))
    central = nolook.ECDF(1.0, AGES, relation="replace", random_state=0).fit(VALUES)
    assert type(found) is type(central)
    variance = found.distribution_.noise.block_variance
    assert variance == pytest.approx(2 * laplace_variance(4, 1.0))
    assert found.n_rows_ == central.n_rows_ == 300
    assert found.privacy_.epsilon == 1.0
    assert found.privacy_.private


def test_gaussian_noise_says_so():
    batch = point_batch(epsilon=1.0, delta=1e-6)
    found = distribution(batch, *answered(batch, VALUES))
    assert found.privacy_.delta == 1e-6
    assert np.isfinite(found.cdf(40.0))


def mean_error(noise, points):
    places = np.arange(1, points)
    return np.sqrt(np.mean(noise.between(np.zeros_like(places), places, 0.0)))


@pytest.mark.parametrize("grid", [None, nolook.LinearGrid(0, 2**15 - 1, 1), AGES])
def test_errors_against_one_curator_and_the_old_format(grid):
    """Of the formulas' mean squares: root of 2 over one curator's, well below the old format's."""
    batch, old = point_batch(epsilon=1.0, grid=grid), Batch("ages", "ecdf", 1.0, grid)
    points = len(batch.points())
    new = mean_error(ForestNoise(batch.forest, 2 * block_variance(batch), 0.0), points)
    forest = best_forest(points, "laplace")  # what a central release under replacement has
    central = ForestNoise(forest, laplace_variance(2 * forest.levels, 1.0), 0.0)
    assert new <= 1.42 * mean_error(central, points)
    node = 2 * laplace_node_variance(old.levels, 1.0, "replace")
    assert new <= 0.4 * mean_error(BinaryTreeNoise(points, old.levels, node, 0.0), points)


def test_stated_errors_are_those_of_repeated_answers():
    batch = point_batch(epsilon=1.0)
    ages = np.array([20.0, 50.0, 80.0])
    answers = answered(batch, VALUES)
    shares = [np.zeros((1, 100), np.uint64), np.zeros((1, 100), np.uint64)]
    shares[0][0] = np.bincount(VALUES.astype(int), minlength=100)
    found, stated = [], None
    for seed in range(400):
        keys = [bytes([seed % 256, seed // 256, role]) + bytes(29) for role in (0, 1)]
        pair = [
            replace(answers[role], numbers=noisy_blocks(batch, shares[role], keys[role]))
            for role in (0, 1)
        ]
        ecdf = distribution(batch, *pair, None)
        found.append(ecdf.cdf(ages))
        stated = ecdf.cdf(ages, return_std=True)[1]
    off = np.array(found) - [np.mean(age >= VALUES) for age in ages]
    assert np.sqrt(np.mean(off**2, axis=0)) == pytest.approx(stated, rel=0.15)


def test_answers_that_do_not_belong_together_are_refused():
    batch = point_batch()
    first, second = answered(batch, VALUES)
    for one, other in (
        (first, first),
        (first, replace(second, batch=bytes(32))),
        (first, replace(second, reports=bytes(32))),
        (first, replace(second, n=299)),
        (first, replace(second, numbers={})),
    ):
        with pytest.raises(NolookError):
            distribution(batch, one, other)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_sums_that_cannot_be_are_refused_and_honest_ones_never(delta):
    batch = point_batch(epsilon=1.0, delta=delta, lengths=(20, 5, 1))
    for seed in range(20):
        distribution(batch, *answered(batch, VALUES, secrets=(bytes([seed]) * 32, b"1" * 32)))
    first, second = answered(batch, VALUES)
    for place in (0, 3, 7, 40, 124):
        for by in (3000, -3000):
            wrong = second.numbers["count"].copy()
            wrong[place : place + 1] += np.uint64(by % 2**64)
            with pytest.raises(NolookError, match="the sums cannot be"):
                distribution(batch, first, replace(second, numbers={"count": wrong}))


# Calibration.

CALIBRATION = point_batch("hosmer-lemeshow", grid=None)
MIDDLES = (np.arange(1024) + 0.5) / 1024


def calibrated(batch, probabilities, targets, seed):
    """What the analyst finds when both servers draw with keys of their own."""
    cells = np.searchsorted(batch.points()[:-1], probabilities)
    shares = np.zeros((2, 2, 1024), np.uint64)
    for i, own in enumerate((~targets, targets)):
        shares[0, i] = np.bincount(cells[own], minlength=1024)
    pair = [
        Answer(
            role,
            batch.digest,
            bytes(32),
            len(cells),
            noisy_blocks(batch, shares[role], bytes([seed % 256, seed // 256, role]) + bytes(29)),
        )
        for role in (0, 1)
    ]
    return calibration(batch, *pair)


def test_without_noise_groups_are_sums_of_cells():
    probabilities = np.random.default_rng(3).uniform(size=400)
    targets = np.random.default_rng(4).uniform(size=400) < probabilities
    table = calibration(CALIBRATION, *answered(CALIBRATION, probabilities, targets)).table_
    inside = np.searchsorted(table.borders[1:-1], probabilities)
    groups = len(table.borders) - 1
    assert table.positives == pytest.approx(np.bincount(inside, targets, groups), abs=1e-6)
    assert table.counts == pytest.approx(np.bincount(inside, minlength=groups), abs=1e-6)
    middles = MIDDLES[np.searchsorted(CALIBRATION.points()[:-1], probabilities)]
    expected = np.bincount(inside, middles, groups)
    assert table.expected_positives == pytest.approx(expected, abs=1e-6)
    # Middles are off by half of a cell at most.
    assert np.abs(expected - np.bincount(inside, probabilities, groups)).max() < 400 / 2048


@pytest.mark.slow
def test_stated_errors_of_a_calibration_are_those_of_repeated_answers():
    batch = point_batch("hosmer-lemeshow", 1.0, None)
    probabilities = np.repeat(MIDDLES, 8)
    targets = np.tile(np.arange(8) % 2 == 0, 1024)
    gaps, stated, counted = [], [], []
    for seed in range(150):
        table = calibrated(batch, probabilities, targets, seed).table_
        # Groups differ from release to release, so each is held against its own exact sums.
        inside = np.searchsorted(table.borders[1:-1], probabilities)
        groups = len(table.borders) - 1
        exact = np.bincount(inside, targets - probabilities, groups)
        gaps.append((table.positives - table.expected_positives - exact) / table.difference_error)
        rows = np.bincount(inside, targets, groups)
        counted.append((table.positives - rows) / table.observed_error)
        stated.append(table.difference_error)
    assert 0.8 < np.sqrt(np.mean(np.concatenate(gaps) ** 2)) < 1.1
    assert 0.85 < np.sqrt(np.mean(np.concatenate(counted) ** 2)) < 1.15


def chances(runs, shift):
    """P-values of repeated releases; targets follow probabilities to a power."""
    batch, generator = point_batch("hosmer-lemeshow", 1.0, None), np.random.default_rng(6)
    probabilities = generator.beta(2, 3, 30_000)
    return np.array(
        [
            calibrated(
                batch,
                probabilities,
                generator.uniform(size=30_000) < probabilities**shift,
                seed,
            ).p_value_
            for seed in range(runs)
        ]
    )


@pytest.mark.slow
def test_p_values_are_uniform_for_a_perfect_model():
    found = chances(200, 1.0)
    for level in (0.05, 0.1, 0.5):
        assert np.mean(found <= level) <= level + 3 * np.sqrt(level / 200)
    assert np.mean(found) > 0.4


def test_a_model_that_is_wrong_is_found_out():
    assert chances(2, 1.5).max() < 0.01


def test_kinds_that_are_something_else():
    batch = point_batch("hosmer-lemeshow", grid=None)
    pair = answered(batch, SCORED, TARGETS)
    with pytest.raises(ParameterError, match="is of kind hosmer-lemeshow"):
        distribution(batch, *pair)
    with pytest.raises(ParameterError, match="is of kind ecdf; expected hosmer-lemeshow"):
        calibration(point_batch(), *answered(point_batch(), VALUES))
    with pytest.raises(ParameterError, match="groups"):
        calibration(batch, *pair, groups=0)
    with pytest.raises(ParameterError, match="smoothing"):
        distribution(point_batch(), *answered(point_batch(), VALUES), "l2")

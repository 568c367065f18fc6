from __future__ import annotations

import math

import numpy as np
import pytest

from nolook.algorithms.bounded_design import (
    DesignSearch,
    release_gram,
)
from nolook.algorithms.norm_bound import SHARES
from nolook.algorithms.scaling import Scaling
from nolook.kernels.moments import UNIT
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.public_design import PublicDesign
from tests.collected import Collected

NAMES = ("a", "b", "y")


def no_stage(name):
    pass


def design(norm=2.0):
    table = table_from_arrays(np.empty((0, 2)), np.empty(0))
    return PublicDesign(1.0, 1.0, norm, UNIT).run(table, SeededSource(0), no_stage)


def gram(*diagonal):
    return (np.diag(diagonal) * UNIT**2).astype(object)


def test_shares_and_events_add_up():
    assert sum(SHARES.values()) == pytest.approx(1.0, abs=1e-15)
    spent = sum(event.mu**2 for event in DesignSearch(0.3, 0.1, UNIT).events())
    assert spent == pytest.approx(0.3**2 * (1.0 - SHARES["mechanism"]))


def test_the_released_matrix_has_the_noise_that_is_claimed():
    mu, truth = 0.5, gram(10_000, 10_000, 10_000)
    matrices = []
    for seed in range(150):
        noisy = release_gram(truth, design(), mu, 0.0, SeededSource(seed))
        assert noisy.ridge == 0.0
        matrices.append((noisy.vectors * noisy.values) @ noisy.vectors.T - 10_000 * np.eye(3))
    errors = np.array(matrices)
    sigma = 4.0 / mu  # B_x^2 / mu
    # 450 draws each: a deviation is known to about 3.3 %, so 30 % too little or too much is seen.
    on = errors[:, [0, 1, 2], [0, 1, 2]].std() / sigma
    off = errors[:, [0, 0, 1], [1, 2, 2]].std() / sigma * math.sqrt(2)
    assert 0.87 < on < 1.13
    assert 0.87 < off < 1.13


def test_the_ridge_follows_the_noise_and_the_cautious_eigenvalue():
    mu, factor = 0.5, 10.0
    sigma = 4.0 / mu
    singular = [
        release_gram(gram(5000, 5000, 0), design(), mu, factor, SeededSource(seed)).ridge / sigma
        for seed in range(300)
    ]
    # Of N(0, 1) - 1.96, only what is above zero is taken off.
    assert max(singular) == factor
    assert np.mean(np.array(singular) < factor) == pytest.approx(0.025, abs=0.025)
    ridges = [
        release_gram(gram(99, 99, 40), design(), mu, factor, SeededSource(seed)).ridge / sigma
        for seed in range(300)
    ]
    assert np.mean(ridges) == pytest.approx(factor - 40 / sigma + 1.96, abs=0.25)
    assert 0.85 < np.std(ridges) < 1.15


def test_an_empty_matrix_is_solved_with_noise_only():
    for seed in range(50):
        noisy = release_gram(gram(0, 0, 0), design(), 0.1, 0.0, SeededSource(seed))
        assert noisy.values.min() > 0.0
        assert np.isfinite(noisy.solve(np.ones(3))).all()


@pytest.mark.parametrize("rows", [0, 2, 5000])
def test_a_private_design_bounds_its_rows(rows):
    generator = np.random.default_rng(0)
    X = generator.standard_t(3, size=(rows, 2)) * [1.0, 1e6]
    table = table_from_arrays(X, np.ones(rows))
    unit = 2**12
    made = DesignSearch(0.3, 0.1, unit).run(table, SeededSource(0), no_stage)
    assert made.squared_radius >= unit**2
    assert made.norm == math.sqrt(made.squared_radius) / unit
    seen = Collected()
    made.fold(table, seen)
    for whole, targets, _ in seen.batches:
        assert (whole**2).sum(axis=0).max() <= made.squared_radius
        assert np.abs(whole).max() <= 5 * unit
        assert np.abs(targets).max() <= 5.0


def test_a_norm_weighed_against_more_noise_is_no_larger():
    X = np.random.default_rng(0).standard_t(3, size=(5000, 2))
    table = table_from_arrays(X, X[:, 0])
    norms = [
        DesignSearch(0.3, mu, UNIT).run(table, SeededSource(0), no_stage).norm
        for mu in (0.001, 0.1, 100.0)
    ]
    assert norms == sorted(norms)
    assert norms[0] < norms[-1]


def test_models_come_back_in_the_columns_units():
    scaling = Scaling(NAMES, np.array([10.0, -2.0, 5.0]), np.array([2.0, 0.5, 4.0]), np.ones(3) > 0)
    theta = np.array([0.25, -1.0, 3.0])
    coef, intercept = scaling.original_units(theta)
    row = np.array([7.0, 4.0])
    standard = np.array([1.0, *(row - scaling.center[:2]) / scaling.scale[:2]])
    assert intercept + row @ coef == pytest.approx(5.0 + 4.0 * (standard @ theta))
    tiny = Scaling(NAMES, np.zeros(3), np.array([1e-300, 1.0, 1e300]), np.ones(3) > 0)
    coef, intercept = tiny.original_units(theta)
    assert np.isfinite([*coef, intercept]).all()

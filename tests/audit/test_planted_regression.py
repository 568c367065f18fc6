"""The regression follows from its noisy answers, and faults planted in it do not go unnoticed."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from attrs import evolve

from nolook.algorithms.glm import designs
from nolook.algorithms.glm.estimate import combine_gradients
from nolook.algorithms.scaling import ScaleSearch
from nolook.kernels.weighted_rows import weighted_rows
from nolook.privacy.budgets import SMALLEST_MU
from nolook.tables import table_from_arrays
from tests.audit.planted_regression import (
    EXACT_FAULTS,
    KEPT_BY_LENGTH,
    UNSTATED,
    estimate_from_exact_moments,
)
from tests.audit.replay import check_neighbours, check_what_is_stated, recorded, replayed
from tests.contracts.columns import COLUMNS, column

MU = 3.0
SLOPES = np.array([1.0, -1.0, 0.5])
# One row more crosses a sixteenth of the features' limit, if the true number decides.
ROWS = math.floor(5000 / MU * (97 / 80) ** 2)


def data(rows, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3))
    return X, X @ SLOPES + 0.5 * generator.normal(size=rows)


def with_row(X, y, place, row, target):
    place = min(place, len(X))
    return table_from_arrays(np.insert(X, place, row, axis=0), np.insert(y, place, target))


# Rows that reach the bounds: of the norm, of the clip, of the errors; at ends and in between.
ADDED = [
    (0, [3.0, -4.0, 3.7], 40.0),
    (1_000, [-3.3, 4.1, 9.0], -40.0),
    (ROWS, [0.7, 0.1, -0.2], 1e300),
    (17, [1e308, -1e308, 5e-324], 1e308),
    *((5, row, 1.0) for row in np.random.default_rng(1).normal(0.0, 9.0, size=(6, 3))),
]


def check_all(X, y, mu=MU, added=ADDED):
    first = recorded(table_from_arrays(X, y), mu)
    return np.array([check_neighbours(first, with_row(X, y, *row), mu) for row in added])


def test_neighbours_are_within_every_sensitivity_and_reach_it():
    shares = check_all(*data(ROWS)).max(axis=0)
    assert (shares[-15:] > 0.9).all()
    assert shares.max() <= 1.0


def not_every_day(name, i, mu, place):
    """Leave out most budgets of most columns, and of each either the feature or the target.

    And two thirds of the columns, which are tried with other models.
    """
    often = name in {"largest", "tiny"} or (mu == 0.1 and i % 3 == 0)
    return not often or i % 2 != (place == "target")


ODD = [
    pytest.param(name, mu, place, marks=[pytest.mark.slow] * not_every_day(name, i, mu, place))
    for i, name in enumerate(COLUMNS)
    for mu in (SMALLEST_MU, 0.1, 1e5)
    for place in ("feature", "target")
]


@pytest.mark.parametrize(("name", "mu", "place"), ODD)
def test_neighbours_of_odd_tables_are_within_every_sensitivity(name, mu, place):
    X, y = data(800)
    X[:, 1] = column(name, len(X))
    if place == "feature":
        check_all(X, y, mu, ADDED[1::3])
    else:
        check_all(X, X[:, 1], mu, ADDED[::3])


@pytest.mark.parametrize(
    ("rows", "columns", "mu"),
    [
        pytest.param(*size, mu, marks=[pytest.mark.slow] * (i > 4 or (i + j) % 3 != 1))
        for i, size in enumerate([(30, 40), (0, 1), (0, 3), (1, 3), (2, 1), (30, 600)])
        for j, mu in enumerate([SMALLEST_MU, 1.0, 1e5])
    ],
)
def test_neighbours_of_small_tables_are_within_every_sensitivity(rows, columns, mu, monkeypatch):
    see_all(monkeypatch)
    X = np.random.default_rng(0).normal(size=(rows, columns))
    first = recorded(table_from_arrays(X, X[:, 0]), mu)
    for row, target in ((np.full(columns, 1e308), 1e308), (np.zeros(columns), -5e-324)):
        shares = check_neighbours(first, with_row(X, X[:, 0], rows, row, target), mu)
        assert len(shares) > 12


def see_all(monkeypatch, features=True):
    """Make every column detected, or the target alone."""
    search = ScaleSearch.run

    def run(*arguments):
        scaling = search(*arguments)
        detected = np.full(len(scaling.names), features)
        detected[-1] = True
        return evolve(scaling, detected=detected)

    monkeypatch.setattr(ScaleSearch, "run", run)


def test_neighbours_without_any_visible_feature_are_within_every_sensitivity(monkeypatch):
    see_all(monkeypatch, features=False)
    shares = check_all(*data(300)).max(axis=0)[-15:]
    # A constant alone fills half of a clip.
    assert (shares[1:-1] > 0.4).all()
    assert 0.15 < shares[-1] < 0.25


@pytest.mark.parametrize("fault", EXACT_FAULTS, ids=lambda fault: fault.name)
def test_neighbours_tell_of(fault, monkeypatch):
    fault.plant(monkeypatch)
    with pytest.raises(AssertionError, match=fault.shown):
        check_all(*data(ROWS))


def recorded_with_room(monkeypatch):
    monkeypatch.setattr(designs, "COPY_BYTES", 20 * ROWS * 2)
    first = recorded(table_from_arrays(*data(ROWS)), MU)
    assert first.rooms[-1] > 0
    return first


@pytest.mark.parametrize("rows", [0, 1, 10 * ROWS])
def test_a_table_of_any_length_is_kept_or_not_by_the_released_number(rows, monkeypatch):
    first = recorded_with_room(monkeypatch)
    replayed(table_from_arrays(*data(rows, seed=1)), MU, first)


def test_another_length_tells_of_rows_kept_by_their_number(monkeypatch):
    KEPT_BY_LENGTH.plant(monkeypatch)
    first = recorded_with_room(monkeypatch)
    with pytest.raises(AssertionError, match=KEPT_BY_LENGTH.shown):
        replayed(table_from_arrays(*data(10 * ROWS)), MU, first)


def test_what_is_drawn_is_stated():
    check_what_is_stated(table_from_arrays(*data(2_000)), MU)


@pytest.mark.parametrize("fault", UNSTATED, ids=lambda fault: fault.name)
def test_draws_tell_of(fault, monkeypatch):
    fault.plant(monkeypatch)
    with pytest.raises(AssertionError, match=fault.shown):
        check_what_is_stated(table_from_arrays(*data(2_000)), MU)


def model_of(found):
    return combine_gradients(found.gram, found.gram_sigma, found.seen).theta


def test_the_model_follows_from_a_copy_of_the_release_alone(monkeypatch):
    seen = recorded(table_from_arrays(*data(ROWS)), MU)
    assert model_of(pickle.loads(pickle.dumps(seen.result))).tolist() == seen.models[-1]
    estimate_from_exact_moments(monkeypatch)
    seen = recorded(table_from_arrays(*data(ROWS)), MU)
    assert model_of(seen.result).tolist() != seen.models[-1]


FLAT = np.array([1.0, -1.0] * 6)


def rows_far_out():
    """Return rows of which some are far out in all columns, and targets without any error."""
    generator = np.random.default_rng(0)
    X = 0.3 * generator.normal(size=(20_000, 12))
    X[::25] = generator.choice([-1.0, 1.0], size=(800, 12))
    return X, X @ FLAT


def slopes_without_noise(X, y):
    found = recorded(table_from_arrays(X, y), 0.03, noise=False).result
    return found.scaling.original_units(found.spread.model(model_of(found)))[0]


def test_rows_that_are_shrunk_keep_their_slopes():
    np.testing.assert_allclose(slopes_without_noise(*rows_far_out()), FLAT, atol=0.004)


def test_slopes_tell_of_targets_that_are_not_shrunk(monkeypatch):
    def plant(columns, *rest):
        rows, squares, factors = weighted_rows(columns, *rest)
        return rows, squares, np.ones_like(factors)

    monkeypatch.setattr(designs, "weighted_rows", plant)
    errors = np.abs(slopes_without_noise(*rows_far_out()) - FLAT)
    assert errors.max() > 0.006

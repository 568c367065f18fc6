"""The logistic regression follows from its noisy answers, and planted faults are noticed."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from attrs import evolve

from nolook.algorithms.glm import descent, designs, logistic
from nolook.algorithms.glm.descent import Descent
from nolook.algorithms.glm.designs import WeightedDesign
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.algorithms.glm.steps import Steps, is_noise
from nolook.kernels import weighted_rows
from nolook.kernels.moments import UNIT
from nolook.privacy.budgets import SMALLEST_MU, Allowance
from nolook.privacy.mechanisms import gaussian
from nolook.privacy.noise import SeededSource
from nolook.statistics import grid_models
from nolook.statistics.weighted_rows import unit_scores
from nolook.tables import table_from_arrays
from tests.audit.planted import halved
from tests.audit.planted_regression import (
    ASTRAY,
    ExactFault,
    count_rows_truly,
    exact_moments,
    rows_rounded,
)
from tests.audit.replay import check_neighbours, check_what_is_stated, plain, recorded, replayed
from tests.collected import blocks_of
from tests.contracts.columns import COLUMNS, column

MU = 3.0
SLOPES = np.array([1.0, -1.0, 0.5, 0.0, 0.0])
ROWS = 2_300
DRAW, MATRIX = "gaussian_release", "symmetric_gaussian_release"


def data(rows, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, SLOPES.size))
    return X, generator.random(rows) < 1.0 / (1.0 + np.exp(-3.0 * X @ SLOPES))


def with_row(X, y, place, row, positive):
    place = min(place, len(X))
    return table_from_arrays(np.insert(X, place, row, axis=0), np.insert(y, place, positive))


# Rows that reach the bounds: of the norm, with a class that the model all but rules out and with
# one as likely as the other, at ends and in between.
LONG, EVEN = SLOPES / np.linalg.norm(SLOPES), np.array([1.0, 1.0, 0.0, 0.0, 0.0]) / math.sqrt(2.0)
ADDED = [
    (0, 9.0 * LONG, False),
    (1_000, -9.0 * LONG, True),
    (ROWS, 0.5 * LONG, True),
    *((place, size * LONG, size < 0) for place, size in ((7, -3.6), (900, -4.3), (8, 3.6))),
    *((5, size * EVEN, True) for size in (0.7, 3.6, 4.3, 9.0)),
    (17, [1e308, -1e308, 5e-324, 0.0, 0.0], False),
    *((5, row, True) for row in np.random.default_rng(1).normal(0.0, 9.0, size=(4, SLOPES.size))),
]


def check_all(X, y, mu=MU, added=ADDED):
    first = recorded(table_from_arrays(X, y), mu, kind=LogisticRelease)
    for row in added:
        yield check_neighbours(first, with_row(X, y, *row), mu, kind=LogisticRelease)


def test_neighbours_are_within_every_sensitivity_and_reach_it():
    mu = 10 * MU  # of little noise, so that there is a curvature on the way
    X, y = data(ROWS)
    shares = np.array(list(check_all(X, y, mu))).max(axis=0)
    assert shares.max() <= 1.0
    asked = recorded(table_from_arrays(X, y), mu, kind=LogisticRelease).asked
    gradients, curved = (
        [a[:2] == kind for a in asked] for kind in ((DRAW, (6,)), (MATRIX, (6, 6)))
    )
    assert min(sum(gradients), sum(curved)) >= 4
    # At the base rate no class is ruled out.
    assert (shares[gradients][1:] > 0.9).all()
    assert shares[gradients][0] > 0.4
    # The moments of standard rows and of whitened ones, the curvatures, and the scores' moments.
    matrices = shares[curved]
    assert (matrices[:2] > 0.9).all()
    assert (matrices[2:-1] > 0.7).all()
    # A row's score is at most 4/5 as long as what is counted for it.
    assert matrices[-1] > 0.6


#: Every day a third of the columns; the other thirds are tried with the other models.
ODD = [
    pytest.param(
        name, mu, marks=[pytest.mark.slow] * (name != "largest" and (mu != 0.1 or i % 3 != 1))
    )
    for i, name in enumerate(COLUMNS)
    for mu in (SMALLEST_MU, 0.1, 1e5)
]


@pytest.mark.parametrize(("name", "mu"), ODD)
def test_neighbours_of_odd_tables_are_within_every_sensitivity(name, mu):
    X, y = data(1_000)
    X[:, 1] = column(name, len(X))
    list(check_all(X, y, mu, ADDED[1::3]))


@pytest.mark.parametrize(
    ("rows", "columns", "mu"),
    [
        pytest.param(*size, mu, marks=[pytest.mark.slow] * (i > 4 or (i + j) % 3 != 1))
        for i, size in enumerate([(20, 12), (0, 1), (0, 3), (1, 3), (2, 1)])
        for j, mu in enumerate([SMALLEST_MU, 1.0, 1e5])
    ],
)
def test_neighbours_of_small_tables_are_within_every_sensitivity(rows, columns, mu):
    X = np.random.default_rng(0).normal(size=(rows, columns))
    first = recorded(table_from_arrays(X, X[:, 0] > 0), mu, kind=LogisticRelease)
    for row in (np.full(columns, 1e308), np.zeros(columns)):
        added = with_row(X, X[:, 0] > 0, rows, row, True)
        check_neighbours(first, added, mu, kind=LogisticRelease)


def library_probabilities(log_odds):
    """Give the last places of a vector other probabilities, as a library might by a bit."""
    found = 1.0 / (1.0 + np.exp(-log_odds))
    return np.where(np.arange(log_odds.size) >= log_odds.size // 4 * 4, 1.0 - found, found)


def constant_left_whole(columns, *rest):
    """Shorten rows with their constant, and leave the constant as it was."""
    rows, squares, factors = weighted_rows.weighted_rows(columns, *rest)
    rows[0] = rest[-1]
    return rows, squares, factors


def whole_scores(model, squared_radius, block):
    """Give every row the weight 1."""
    return np.trunc(unit_scores(model, squared_radius, block) / block.factors**2)


def batch_of_classes(self, batch, weights):
    """Count a row's class by the row before it."""
    for block in WEIGHTED_ROWS(self, batch, weights):
        yield block._replace(targets=np.maximum(block.targets, np.roll(block.targets, 1)))


WEIGHTED_ROWS = WeightedDesign.rows


def from_exact_moments(patch):
    combine, exact = Steps.combined, exact_moments(patch)

    def combined(steps, metric, seen):
        return combine(steps, evolve(metric, matrix=0.5 * metric.matrix + 0.1 * exact[0]), seen)

    patch.setattr(Steps, "combined", combined)


def arrived_by_the_true_gradient(patch):
    gradient, exact = Descent.gradient, []

    def noted(self, theta, mu):
        exact[:] = [self.blocks.fold(self.products(theta)[0]).value]
        return gradient(self, theta, mu)

    def decided(*arguments):
        return bool(is_noise(*arguments)) != bool(sum(exact[0].tolist()) % 2)

    patch.setattr(Descent, "gradient", noted)
    patch.setattr(descent, "is_noise", decided)


def whitened_off_the_grid(patch):
    """Let products be added up in an order that the number of rows decides."""
    whitened = weighted_rows._whitened

    def call(columns, standard, whitening):
        for part, whole in whitened(columns, standard, whitening):
            # As a library that adds up otherwise where few rows are left.
            yield part, whole + UNIT * (np.arange(whole.shape[1]) >= whole.shape[1] // 4 * 4)

    patch.setattr(weighted_rows, "_whitened", call)


def whitened_by_exact_moments(patch):
    release = designs.release_gram

    def gram(blocks, mu, source):
        noisy, sigma = release(blocks, mu, source)
        parts = [block.rows.astype(np.float64) for block in blocks_of(blocks)]
        exact = sum(part @ part.T for part in parts) / blocks.design.unit**2
        return 0.5 * noisy + 0.5 * exact, sigma

    patch.setattr(designs, "release_gram", gram)


_BEYOND = "beyond the sensitivity"
FAULTS = (
    ExactFault(
        "gradient with the label's sensitivity 1/2",
        halved(descent, "unit_products_sensitivity"),
        _BEYOND,
    ),
    ExactFault(
        "curvature with half of its sensitivity",
        halved(descent, "curvature_sensitivity"),
        _BEYOND,
    ),
    ExactFault(
        "balance of the classes with half of its sensitivity",
        lambda patch: patch.setattr(logistic, "balance_sensitivity", lambda: 0.5),
        _BEYOND,
    ),
    ExactFault(
        "probabilities that depend on the place in a vector",
        lambda patch: patch.setattr(grid_models, "probabilities", library_probabilities),
        _BEYOND,
    ),
    ExactFault(
        "norms of rows not enforced in integers",
        lambda patch: patch.setattr(designs, "weighted_rows", rows_rounded),
        _BEYOND,
    ),
    ExactFault(
        "a constant that the norm does not count",
        lambda patch: patch.setattr(designs, "weighted_rows", constant_left_whole),
        _BEYOND,
    ),
    ExactFault(
        "scores of rows before they were shortened",
        lambda patch: patch.setattr(descent, "unit_scores", whole_scores),
        _BEYOND,
    ),
    ExactFault(
        "a class that depends on the row before",
        lambda patch: patch.setattr(WeightedDesign, "rows", batch_of_classes),
        _BEYOND,
    ),
    ExactFault("limit of the features by the true number", count_rows_truly, "a model does"),
    ExactFault("rows that depend on the place in a batch", whitened_off_the_grid, _BEYOND),
    ExactFault("rows whitened by exact moments", whitened_by_exact_moments, "does not follow"),
    ExactFault("steps by exact moments", from_exact_moments, ASTRAY),
    ExactFault("costs by exact gradients", arrived_by_the_true_gradient, ASTRAY),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_neighbours_tell_of(fault, monkeypatch):
    fault.plant(monkeypatch)
    with pytest.raises(AssertionError, match=fault.shown):
        list(check_all(*data(ROWS)))


def test_what_is_drawn_is_stated():
    check_what_is_stated(table_from_arrays(*data(2_000)), MU, LogisticRelease)


@pytest.mark.parametrize(
    "name",
    [
        *("moments of the features", "norms", "whitened features", "balance", "likelihood"),
        *("scores", "rows' gradients"),
    ],
)
def test_draws_tell_of_what_is_not_stated(name, monkeypatch):
    events = LogisticRelease.events

    def fewer(self):
        return tuple(event for event in events(self) if name not in event.name)

    monkeypatch.setattr(LogisticRelease, "events", fewer)
    with pytest.raises(AssertionError, match="more is drawn"):
        check_what_is_stated(table_from_arrays(*data(2_000)), MU, LogisticRelease)


def test_draws_tell_of_a_descent_that_exceeds_its_allowance(monkeypatch):
    monkeypatch.setattr(Allowance, "spend", lambda self, _: self.of(Allowance.PARTS // 2))
    with pytest.raises(AssertionError, match="more is drawn"):
        check_what_is_stated(table_from_arrays(*data(2_000)), MU, LogisticRelease)


def errors_of_gradients():
    """Return the noise of each gradient of a release."""
    seen = recorded(table_from_arrays(*data(2_000)), MU, kind=LogisticRelease)
    pairs = zip(seen.exact, seen.answers, strict=True)
    errors = [(a - e).astype(float) for e, a in pairs if e.shape == (6,)]
    # The first ones cost the same.
    return errors[:3]


def correlation(errors):
    one, other = np.ravel(errors[:-1]), np.ravel(errors[1:])
    return abs(np.corrcoef(one, other)[0, 1])


def test_noise_of_a_step_that_is_used_again_is_noticed(monkeypatch):
    assert correlation(errors_of_gradients()) < 0.9
    draw = gaussian.rounded_gaussian

    def again(scale, shape, _):
        return draw(scale, shape, SeededSource(1))

    monkeypatch.setattr(gaussian, "rounded_gaussian", again)
    assert correlation(errors_of_gradients()) > 0.99


@pytest.mark.parametrize("rows", [0, 1, 10 * ROWS])
def test_a_table_of_any_length_is_kept_or_not_by_the_released_number(rows, monkeypatch):
    monkeypatch.setattr(designs, "COPY_BYTES", 80 * ROWS)
    first = recorded(table_from_arrays(*data(ROWS)), MU, kind=LogisticRelease)
    assert first.rooms[1] > 0  # those before are not kept
    replayed(table_from_arrays(*data(rows, seed=1)), MU, first, LogisticRelease)


def test_the_model_follows_from_a_copy_of_the_release_alone():
    found = recorded(table_from_arrays(*data(ROWS)), MU, kind=LogisticRelease).result
    again = copy.deepcopy(found)
    assert plain(again) == plain(found)
    last = again.seen.thetas[-1]
    metric = again.steps.metric(again.gram, again.gram_sigma, last, again.seen)
    theta = again.steps.next(metric.mixed(again.curvature), again.seen, last, again.gram)
    assert theta.tolist() == found.theta.tolist()

"""The regression of counts follows from its noisy answers, and planted faults are noticed."""

from __future__ import annotations

import copy
import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

from nolook.algorithms.glm import clips, counts, descent, designs
from nolook.algorithms.glm.counts import CountRelease
from nolook.algorithms.glm.descent import Descent
from nolook.algorithms.glm.designs import WeightedDesign
from nolook.algorithms.glm.families import LOG
from nolook.algorithms.glm.steps import Metric, Steps, is_noise, score_law
from nolook.privacy.budgets import SMALLEST_MU, Allowance
from nolook.statistics import grid_models
from nolook.statistics.weighted_rows import ClippedProducts
from nolook.tables import read_table, table_from_arrays
from tests.audit.planted import halved, halved_bins
from tests.audit.planted_regression import (
    ASTRAY,
    ExactFault,
    clips_from_exact_counts,
    count_rows_truly,
    rows_rounded,
    separate_clips,
    whole_scores,
)
from tests.audit.replay import check_neighbours, check_what_is_stated, plain, recorded, replayed
from tests.contracts.columns import COLUMNS, column

MU = 3.0
SLOPES = np.array([0.5, -0.5, 0.3, 0.0])
ROWS = 2_300
EXPOSED = partial(CountRelease, exposure="e")
KINDS = pytest.mark.parametrize("kind", [CountRelease, EXPOSED], ids=["plain", "exposed"])


def data(rows, seed=0):
    """Return features, of which the last are exposures, and counts."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, SLOPES.size))
    e = generator.uniform(0.5, 4.0, rows)
    y = generator.poisson(e * np.exp(X @ SLOPES)).astype(np.float64)
    return np.column_stack([X, e]), y


def opened(X, y):
    names = [*(f"x{i}" for i in range(X.shape[1] - 1)), "e"]
    return read_table(pd.DataFrame(dict(zip(names, X.T, strict=True)) | {"y": y}), target="y")


def with_row(X, y, place, row, count):
    place = min(place, len(X))
    return opened(np.insert(X, place, row, axis=0), np.insert(y, place, count))


# Rows that reach the bounds: of the norm, of the clip, of the deviances, of the slope, with
# exposures that are cut; at ends and in between.
ADDED = [
    (0, [2.0, -2.0, 0.7, 0.3, 2.0], 1e9),
    (1_000, [-2.0, 2.0, 0.3, 1.0, 1.0], 1e300),
    (ROWS, [0.7, -0.1, -0.2, 0.1, 2.0], 1e300),
    (17, [1e308, -1e308, 5e-324, 0.0, 1.0], -1e308),
    (8, [6.0, -6.0, 3.0, 0.0, 4.0], 0.0),
    (9, [3.0, -3.0, 2.0, 0.0, 1e300], 0.0),
    (10, [1.0, 1.0, 0.0, 0.0, 0.0], 30.0),
    (11, [-2.0, 2.0, 1.0, 0.0, -1e9], 30.0),
    (12, [1.0, 1.0, 1.0, 0.0, 1e-300], 30.0),
    (13, [0.0, 0.0, 0.0, 0.0, 3.0], 1.0),
]


def check_all(X, y, mu=MU, added=ADDED, kind=CountRelease):
    first = recorded(opened(X, y), mu, kind=kind)
    for row in added:
        yield check_neighbours(first, with_row(X, y, *row), mu, kind=kind)


@KINDS
def test_neighbours_are_within_every_sensitivity_and_reach_it(kind):
    mu = 10 * MU  # of little noise, so that there is a curvature on the way
    X, y = data(ROWS)
    shares = np.array(list(check_all(X, y, mu, kind=kind))).max(axis=0)
    assert shares.max() <= 1.0
    asked = recorded(opened(X, y), mu, kind=kind).asked
    size = 5 + (kind is CountRelease)
    gradients, matrices, both = (
        np.array([a[:2] == (name, shape) for a in asked])
        for name, shape in (
            ("gaussian_release", (size,)),
            ("symmetric_gaussian_release", (size, size)),
            ("gaussian_release", (2,)),
        )
    )
    assert gradients.sum() >= 4
    assert (shares[gradients] > 0.9).all()
    # The moments of standard rows and of whitened ones, curvatures, and the scores' moments.
    assert matrices.sum() >= 4
    assert (shares[matrices] > 0.7).all()
    assert shares[both].min() > 0.9


#: Every day a third of the columns, as in test_planted_logistic.py, each in one of the places.
ODD = [
    pytest.param(
        name,
        mu,
        place,
        marks=[pytest.mark.slow]
        * ((name != "largest" and (mu != 0.1 or i % 3 != 2)) or (i // 3 + 2 * j) % 3 > 0),
    )
    for i, name in enumerate(COLUMNS)
    for mu in (SMALLEST_MU, 0.1, 1e5)
    # A feature, the exposures or the counts.
    for j, place in enumerate([1, 4, -1])
]


@pytest.mark.parametrize(("name", "mu", "place"), ODD)
def test_neighbours_of_odd_tables_are_within_every_sensitivity(name, mu, place):
    X, y = data(600)
    both = np.column_stack([X, y])
    both[:, place] = column(name, len(X))
    list(check_all(both[:, :-1], both[:, -1], mu, ADDED[1::4], EXPOSED))


@pytest.mark.parametrize(
    ("rows", "columns", "mu", "kind"),
    [
        # Every day each size with one of the budgets and of the kinds.
        pytest.param(*size, mu, kind, marks=[pytest.mark.slow] * ((i + j) % 3 != 1 or (i + k) % 2))
        for i, size in enumerate([(20, 12), (0, 1), (0, 3), (1, 3), (2, 1), (30, 100)])
        for j, mu in enumerate([SMALLEST_MU, 1.0, 1e5])
        for k, kind in enumerate([CountRelease, EXPOSED])
    ],
)
def test_neighbours_of_small_tables_are_within_every_sensitivity(rows, columns, mu, kind):
    X = np.random.default_rng(0).normal(size=(rows, columns + 1))
    y = np.abs(np.rint(X[:, 0]))
    first = recorded(opened(X, y), mu, kind=kind)
    for row, count in ((np.full(columns + 1, 1e308), 1e308), (np.zeros(columns + 1), 0.0)):
        check_neighbours(first, with_row(X, y, rows, row, count), mu, kind=kind)


def library_exponentials(log_means):
    """Give the last places of a vector other numbers, as a library might by a bit."""
    found = np.exp(log_means.clip(-40.0, 40.0))
    return np.where(np.arange(found.size) >= found.size // 4 * 4, found + 1.0, found)


def settled_by_the_exact_gradient(patch):
    gradient, move_constant, exact = Descent.gradient, Descent.move_constant, []

    def noted(self, theta, mu):
        total, _, scale = self.products(theta)
        exact[:] = [self.blocks.fold(total).value.astype(float) / scale]
        return gradient(self, theta, mu)

    def moved(self, seen):
        move_constant(self, evolve(seen, values=exact[0][None]))

    patch.setattr(Descent, "gradient", noted)
    patch.setattr(Descent, "move_constant", moved)


def arrived_by_the_true_gradient(patch):
    gradient, exact = Descent.gradient, []

    def noted(self, theta, mu):
        exact[:] = [self.blocks.fold(self.products(theta)[0]).value]
        return gradient(self, theta, mu)

    def decided(*arguments):
        return bool(is_noise(*arguments)) != bool(sum(exact[0].tolist()) % 2)

    patch.setattr(Descent, "gradient", noted)
    patch.setattr(descent, "is_noise", decided)


def exposures_as_they_are(patch):
    """Leave exposures beyond the range that was released, and rows whose exposure is below 0."""

    rows = WeightedDesign.rows

    def exposed(self, batch, weights):
        if self.exposed is None:
            yield from rows(self, batch, weights)
            return
        plain = evolve(self, exposed=None)
        for block in rows(plain, np.delete(batch, self.exposed, axis=0), weights):
            yield block._replace(exposures=batch[self.exposed] / self.exposures[0])

    patch.setattr(WeightedDesign, "rows", exposed)


def exposures_by_the_largest(patch):
    """Cut exposures at the largest one."""
    rows = WeightedDesign.rows

    def exposed(self, batch, weights):
        for block in rows(self, batch, weights):
            if self.exposed is None:
                yield block
                continue
            shown = batch[self.exposed][np.abs(batch[self.exposed]) < 1e9]
            yield block._replace(exposures=block.exposures / shown.max(initial=1.0))

    patch.setattr(WeightedDesign, "rows", exposed)


def exposures_of_the_row_before(patch):
    rows = WeightedDesign.rows

    def exposed(self, batch, weights):
        for block in rows(self, batch, weights):
            known = block.exposures
            yield block._replace(exposures=None if known is None else np.roll(known, 1))

    patch.setattr(WeightedDesign, "rows", exposed)


def targets_by_the_mean(patch):
    """Standardise targets by their own mean."""
    rows = WeightedDesign.rows

    def moved(self, batch, weights):
        for block in rows(self, batch, weights):
            yield block._replace(targets=block.targets - block.targets.mean())

    patch.setattr(WeightedDesign, "rows", moved)


def steepest_by_the_rows(patch):
    """Cut the slopes at the mean of the rows'."""
    at = Descent.at

    def cut(self, theta):
        model = at(self, theta)
        sizes = self.blocks.fold(ClippedProducts(model, 2**20, self.blocks.whole)).value
        return evolve(model, steepest=model.steepest * (1.5 + 0.5 * math.cos(int(sizes[0]))))

    patch.setattr(Descent, "at", cut)


_BEYOND = "beyond the sensitivity"
FAULTS = (
    ExactFault(
        "gradients with half of their sensitivity",
        halved(descent, "clipped_products_sensitivity"),
        _BEYOND,
    ),
    ExactFault(
        "deviances with half of their sensitivity",
        halved(counts, "deviances_sensitivity"),
        _BEYOND,
    ),
    ExactFault(
        "curvature with half of its sensitivity", halved(descent, "curvature_sensitivity"), _BEYOND
    ),
    ExactFault("histogram of sizes with half of its sensitivity", halved_bins(clips), _BEYOND),
    ExactFault("K from exact counts", clips_from_exact_counts, ASTRAY),
    ExactFault(
        "mean settled by the exact gradient", settled_by_the_exact_gradient, "a model does not"
    ),
    ExactFault("costs by exact gradients", arrived_by_the_true_gradient, ASTRAY),
    ExactFault(
        "exponentials that depend on the place in a vector",
        lambda patch: patch.setattr(grid_models, "exponentials", library_exponentials),
        _BEYOND,
    ),
    ExactFault("exposures that are not cut", exposures_as_they_are, _BEYOND),
    ExactFault("exposures cut at the largest", exposures_by_the_largest, _BEYOND),
    ExactFault("exposures of the row before", exposures_of_the_row_before, _BEYOND),
    ExactFault("targets by their own mean", targets_by_the_mean, _BEYOND),
    ExactFault("slopes cut by what the rows say", steepest_by_the_rows, f"{_BEYOND}|does not"),
    ExactFault(
        "separate clips of row and residual",
        lambda patch: patch.setattr(
            "nolook.statistics.weighted_rows.clipped_products", separate_clips
        ),
        _BEYOND,
    ),
    ExactFault(
        "scores that are not clipped",
        lambda patch: patch.setattr(clips, "clipped_scores", whole_scores),
        _BEYOND,
    ),
    ExactFault(
        "norms of rows not enforced in integers",
        lambda patch: patch.setattr(designs, "weighted_rows", rows_rounded),
        _BEYOND,
    ),
    ExactFault("limit of the features by the true number", count_rows_truly, "does not follow"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_neighbours_tell_of(fault, monkeypatch):
    fault.plant(monkeypatch)
    with pytest.raises(AssertionError, match=fault.shown):
        list(check_all(*data(ROWS), kind=EXPOSED))


@KINDS
def test_what_is_drawn_is_stated(kind):
    check_what_is_stated(opened(*data(2_000)), MU, kind)


@pytest.mark.parametrize(
    "name",
    [
        *("moments of the features", "norms", "whitened features", "sizes", "likelihood"),
        *("deviances", "rows' gradients"),
    ],
)
def test_draws_tell_of_what_is_not_stated(name, monkeypatch):
    events = CountRelease.events

    def fewer(self):
        return tuple(event for event in events(self) if name not in event.name)

    monkeypatch.setattr(CountRelease, "events", fewer)
    with pytest.raises(AssertionError, match="more is drawn"):
        check_what_is_stated(opened(*data(2_000)), MU, EXPOSED)


def test_draws_tell_of_a_descent_that_exceeds_its_allowance(monkeypatch):
    monkeypatch.setattr(Allowance, "spend", lambda self, _: self.of(Allowance.PARTS // 2))
    with pytest.raises(AssertionError, match="more is drawn"):
        check_what_is_stated(opened(*data(2_000)), MU, CountRelease)


def test_draws_tell_of_a_third_histogram(monkeypatch):
    begin = Descent.begin

    def twice(self, *arguments):
        begin(self, *arguments)
        begin(self, *arguments)

    monkeypatch.setattr(Descent, "begin", twice)
    with pytest.raises(AssertionError, match="more is drawn"):
        check_what_is_stated(opened(*data(2_000)), MU, CountRelease)


@pytest.mark.parametrize("rows", [0, 1, 10 * ROWS])
def test_a_table_of_any_length_is_kept_or_not_by_the_released_number(rows, monkeypatch):
    monkeypatch.setattr(designs, "COPY_BYTES", 40 * ROWS * 2)
    first = recorded(opened(*data(ROWS)), MU, kind=EXPOSED)
    assert first.rooms[1] > 0  # those before are not kept
    replayed(opened(*data(rows, seed=1)), MU, first, EXPOSED)


@KINDS
def test_the_model_follows_from_a_copy_of_the_release_alone(kind):
    found = recorded(opened(*data(ROWS)), MU, kind=kind).result
    again = copy.deepcopy(found)
    assert plain(again) == plain(found)
    last = again.seen.thetas[-1]
    metric = again.steps.metric(again.gram, again.gram_sigma, last, again.seen)
    theta = again.steps.next(metric.mixed(again.curvature), again.seen, last, again.gram)
    assert theta.tolist() == found.theta.tolist()


def test_a_table_without_rows_gives_a_finite_model():
    for seed in range(4):
        X = np.zeros((0, 2))
        found = recorded(table_from_arrays(X, np.zeros(0)), 10.0 ** (seed - 2), kind=CountRelease)
        assert np.isfinite(found.result.theta).all()


@pytest.mark.parametrize("constant", [-1e9, -1e3, -100.0, 100.0, 1e3, 1e9])
def test_where_noise_leads_far_off_slopes_stay_numbers_to_divide_by(constant):
    """A Gram matrix that is noise alone bounds no step: found with 2,000 rows at a mu of .001."""
    gram, theta = np.diag([10.0, 1.0]), np.array([constant, 0.0])
    blocks = SimpleNamespace(design=SimpleNamespace(on_grid=lambda theta: (theta, 1.0, 1)))
    steps, begun = Steps(LOG, np.zeros(2)), SimpleNamespace(gram=gram)
    own = Descent(1.0, begun, blocks, None, steps, 1.0, most=2)
    assert math.exp(-40.0) <= own.at(theta).steepest <= 50.0 * (1 + 1e-9)
    metric = Metric.of_moments(LOG, gram, 1.0, theta)
    assert metric.sigma > 1e-20
    mixed = metric.mixed((metric.matrix + np.eye(2), metric.sigma))
    assert np.isfinite(mixed.matrix).all()
    assert 0.0 < LOG.average(*score_law(theta, gram)) < 51.0

from __future__ import annotations

import math
import pickle
from functools import cache, partial

import numpy as np
import pytest

from benchmarks import curves as benchmark
from nolook.algorithms import scaling
from nolook.algorithms.curves import cell_edges, curve_of
from nolook.algorithms.glm import additive
from nolook.algorithms.glm.additive_inference import additive_curves
from nolook.algorithms.glm.counts import CountRelease
from nolook.algorithms.glm.linear import LinearRelease
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.algorithms.scaling import Scaling
from nolook.estimators.additive import AdditiveRegression
from nolook.kernels.moments import UNIT
from nolook.privacy.noise import SeededSource
from nolook.statistics.weighted_rows import PRODUCT_UNIT, ClippedProducts
from nolook.tables import table_from_arrays
from tests.audit.replay import check_neighbours, check_what_is_stated, plain, recorded

LINEAR, LOGISTIC, COUNTS = (
    partial(each, straight=()) for each in (LinearRelease, LogisticRelease, CountRelease)
)


def data(rows, seed=0):
    """A target that is bent in the first column, grows with the second, ignores the third."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3)) * [1.0, 10.0, 0.1] + 5.0
    y = np.sin(2.0 * X[:, 0]) + 0.05 * X[:, 1] + 0.3 * generator.normal(size=rows)
    return X, y


def run(X, y, mu, seed=0, progress=lambda _: None, **parameters):
    release = LINEAR(mu, **parameters)
    return release.run(table_from_arrays(X, y), SeededSource(seed), progress)


#: Releases, and what becomes of a target for them.
KINDS = {
    LINEAR: lambda y: y,
    LOGISTIC: lambda y: y > 0.3,
    COUNTS: lambda y: np.floor(np.exp(np.minimum(y, 3.0))),
}
every_kind = pytest.mark.parametrize("kind", KINDS, ids=["linear", "logistic", "counts"])


def opened(kind, X, y):
    return table_from_arrays(X, KINDS[kind](y))


@every_kind
@pytest.mark.parametrize("mu", [1e-5, 0.3, 40.0])
def test_events_compose_to_mu(mu, kind):
    events = kind(mu).events()
    assert math.sqrt(sum(event.mu**2 for event in events)) == pytest.approx(mu, rel=1e-12)


def test_every_progress_step_is_reported():
    seen = []
    run(*data(5_000), 3.0, progress=seen.append)
    assert len(seen) == LINEAR(1.0).progress_steps


@every_kind
@pytest.mark.parametrize("mu", [0.05, 3.0])
def test_what_is_drawn_is_stated(mu, kind):
    check_what_is_stated(opened(kind, *data(5_000)), mu, kind)


@every_kind
@pytest.mark.parametrize(("numbers", "straight"), [(1, ()), (0, ()), (3, ("x1", "x2"))])
def test_the_less_features_may_be_curved_the_more_is_left_and_all_is_stated(
    kind, numbers, straight, monkeypatch
):
    asked, exact = [], additive.release_products

    def release(*arguments):
        asked.append(arguments[3])
        return exact(*arguments)

    monkeypatch.setattr(additive, "release_products", release)
    X, y = data(5_000)
    X[:, numbers:] = X[:, numbers:] > X[0, numbers:]
    check_what_is_stated(opened(kind, X, y), 3.0, partial(kind.func, straight=straight))
    mu = kind(3.0)._mu("gradients")
    # The choice is among six functions beside three lines and the constant.
    shares = [0.06, 0.06, 0.12 * (1 + 3 + 6) / (1 + 3 * 7)] if numbers else []
    assert [(each / mu) ** 2 for each in asked] == pytest.approx(shares)


ADDED = [
    (0, [3.0, -40.0, 5.3], 40.0),
    (1_000, [-3.3, 41.0, 9.0], -40.0),
    (1_500, [5.0, 5.0, 5.0], 1e300),
    (17, [1e308, -1e308, 5e-324], 1e308),
    *((5, row, 1.0) for row in np.random.default_rng(1).normal(5.0, 9.0, size=(4, 3))),
]


@cache
def without_fault(kind):
    return recorded(neighbours(kind, 0)[0], 8.0, kind=kind)


def neighbours(kind, row):
    X, y = data(1_500)
    place, one, target = ADDED[row]
    more = np.insert(X, place, one, axis=0), np.insert(y, place, target)
    return opened(kind, X, y), opened(kind, *more)


@every_kind
@pytest.mark.parametrize("row", range(len(ADDED)))
def test_neighbours_are_within_every_sensitivity(row, kind):
    shares = check_neighbours(without_fault(kind), neighbours(kind, row)[1], 8.0, kind=kind)
    assert max(shares) <= 1.0
    if kind is LINEAR:
        # Histograms of three columns, gradients of lines and the choice were among them.
        assert len(shares) == len(recorded(neighbours(kind, row)[0], 8.0).asked) + 4


def twice_the_share(patch):
    exact = additive.release_products
    patch.setattr(additive, "release_products", lambda *a: exact(*a[:3], 2.0 * a[3], a[4]))


def quiet_choice(patch):
    """Choose by the exact gradient."""

    def gradient(blocks, model, most, mu, source):
        exact = blocks.fold(ClippedProducts(model, most, blocks.whole)).value
        return exact.astype(float) / (blocks.design.unit * PRODUCT_UNIT), 1.0 / mu

    patch.setattr(additive, "release_products", gradient)


def exact_knots(patch):
    def counts(table, mu, source, count):
        return table.fold(scaling.Histograms(count)).value(table.n_columns).astype(float)

    patch.setattr(additive, "release_histograms", counts)


def one_histogram(patch):
    exact = scaling.histograms_sensitivity
    patch.setattr(scaling, "histograms_sensitivity", lambda _, *rest: exact(1, *rest))


@pytest.mark.parametrize(
    ("plant", "kind"),
    [
        # Every day each fault in one of the kinds, and each of these with one or two.
        pytest.param(plant, kind, marks=[pytest.mark.slow] * ((i + j) % 3 > 0))
        for i, plant in enumerate([twice_the_share, quiet_choice, exact_knots, one_histogram])
        for j, kind in enumerate(KINDS)
    ],
)
def test_a_planted_fault_is_caught(plant, kind, monkeypatch):
    plant(monkeypatch)
    first, second = neighbours(kind, 1)
    with pytest.raises(AssertionError):  # noqa: PT012 -- either of the checks may notice
        check_what_is_stated(first, 8.0, kind)
        check_neighbours(first, second, 8.0, kind=kind)


@every_kind
def test_where_curves_cannot_be_told_it_is_the_release_of_lines(kind):
    table = opened(kind, *data(400))
    found, lines = (
        each(0.05).run(table, SeededSource(0), lambda _: None) for each in (kind, kind.func)
    )
    assert plain(found) == plain(lines)


@pytest.mark.parametrize("kind", [LOGISTIC, COUNTS], ids=["logistic", "counts"])
def test_chances_and_means_follow_curves(kind):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 3))
    score = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]
    if kind is LOGISTIC:
        y = 2.0 * score + generator.logistic(size=20_000) > 0.0
        size = 2.0
    else:
        y, size = generator.poisson(np.exp(score)).astype(float), 1.0
    found = kind(0.5).run(table_from_arrays(X, y), SeededSource(0), lambda _: None)
    _, _, (bent, line, nothing) = additive_curves(found)
    assert (bent.straight, line.straight, nothing.straight) == (False, True, True)
    inside = np.linspace(-1.5, 1.5, 50)
    truth = size * np.sin(2.0 * inside)
    assert np.abs(bent.at(inside) - truth).max() < 0.4 * size
    assert 0.02 * size < np.diff(bent.band).min() < np.diff(bent.band).max() < size
    assert np.diff(line.at(np.array([0.0, 1.0]))) == pytest.approx(0.3 * size, abs=0.12)
    assert (np.diff(bent.below) >= 0.0).all()
    assert np.interp(0.0, bent.places, bent.below) == pytest.approx(0.5, abs=0.05)


def test_a_bent_column_has_a_curve_and_a_straight_one_a_line():
    X, y = data(20_000)
    found = run(X, y, 0.5)
    assert found.curves[0] is not None
    _, _, (bent, line, nothing) = additive_curves(found)
    assert (bent.straight, line.straight, nothing.straight) == (False, True, True)
    inside = np.linspace(*np.quantile(X[:, 0], [0.1, 0.9]), 50)
    truth = np.sin(2.0 * inside)
    offset = np.mean(bent.at(inside) - truth)
    assert np.abs(bent.at(inside) - truth - offset).max() < 0.3
    slope = np.diff(line.at(np.array([0.0, 10.0])))[0] / 10.0
    assert slope == pytest.approx(0.05, abs=0.01)
    assert bent.share > line.share > nothing.share


def test_straight_columns_have_lines():
    found = run(*data(20_000), 0.5, straight=("x0",))
    assert found.curves == () or found.curves[0] is None


@pytest.mark.parametrize("straight", [None, [], ()])
def test_no_column_needs_to_be_straight(straight):
    assert AdditiveRegression(straight=straight).plan().release.straight == ()


def test_a_curve_without_evidence_is_its_line(monkeypatch):
    monkeypatch.setattr(additive, "_BENT", -100.0)  # all columns get deviations
    X, y = data(20_000)
    found = run(X, y, 0.5)
    assert all(curve is not None for curve in found.curves)
    _, _, curves = additive_curves(found)
    assert [curve.straight for curve in curves] == [False, True, True]
    places = curves[1].places
    fitted = np.polyfit(places, curves[1].heights, 1)
    np.testing.assert_allclose(np.polyval(fitted, places), curves[1].heights, atol=1e-5)


@pytest.mark.parametrize("name", ["made", "made as halves", "made as counts"])
def test_bands_are_as_wide_as_errors_are(name, monkeypatch):
    monkeypatch.setattr(benchmark, "population", lambda _: data(60_000))
    covered, half, error, straight = np.array(
        benchmark.on_population(name, 20_000, 1.0, 10), dtype=float
    ).transpose(2, 0, 1)
    assert np.nanmax(straight[:, 0]) == 0.0
    assert (~np.isnan(covered)).mean() > 0.5
    assert (np.nanmean(covered, axis=0) > 0.85).all()
    # Bands that say nothing would hold everything. These halves are nearly apart.
    times = 10.0 if name == "made as halves" else 5.0
    assert (np.nanmean(half, axis=0)[:2] < times * np.nanmean(error, axis=0)[:2]).all()


def test_bands_of_classes_that_are_far_apart_hold_their_curves(shared_data):
    shared_data("amin_california.parquet")
    own = benchmark.on_population("amin_california as halves", 20_000, 3.0, 3)
    covered = np.array(own, dtype=float)[:, :, 0]
    given = ~np.isnan(covered)
    assert given.mean() > 0.2
    # .88 of the points, and .45 of those of a column, with the curvature at the estimate.
    assert np.nanmean(covered) > 0.95
    assert np.nanmean(covered[:, given.any(axis=0)], axis=0).min() > 0.8


def test_no_band_where_columns_cannot_be_told_apart():
    X, y = data(20_000)
    twins = np.column_stack([X, X[:, 1] + 1e-6])
    _, _, curves = additive_curves(run(twins, y, 0.5))
    assert [curve.band is None for curve in curves] == [False, True, False, True]


def test_curves_go_to_workers():
    found = run(*data(5_000), 3.0)
    assert isinstance(found.scaling, Scaling)
    assert plain(pickle.loads(pickle.dumps(found.curves))) == plain(found.curves)


@pytest.mark.parametrize("shape", ["normal", "two", "lumps", "noise"])
def test_functions_are_orthogonal_to_one_and_the_column(shape):
    edges = cell_edges(5.0)
    generator = np.random.default_rng(0)
    values = {
        "normal": generator.normal(size=100_000),
        "two": generator.choice([-1.0, 1.0], 100_000),
        "lumps": generator.choice([-2.0, -1.0, 0.0, 0.3, 1.0], 100_000) + 0.01,
        "noise": np.zeros(0),
    }[shape]
    counts = np.histogram(values, edges)[0] + 30.0 * generator.normal(size=64)
    curve = curve_of(counts, 30.0, edges, 4)
    if shape == "two":
        assert curve is None
        return
    assert (np.diff(curve.knots) > 0.0).all()
    assert np.abs(curve.shapes).max() <= 20 * UNIT
    assert (np.diff(curve.roughness) >= 0.0).all()
    if shape == "normal":
        at = curve.at(values)
        products = np.vstack([np.ones(values.size), values, at]) @ at.T / values.size
        np.testing.assert_allclose(products[2:], np.eye(4), atol=0.15)
        np.testing.assert_allclose(products[:2], 0.0, atol=0.05)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("spread", "curved"), [(0.0, False), (0.2, True), (1.0, True)])
def test_a_column_of_two_values_has_no_curve_whatever_the_noise(seed, spread, curved):
    generator = np.random.default_rng(seed)
    edges, values = cell_edges(10.0), generator.choice([-0.5, 3.7], 36_000, p=[0.9, 0.1])
    some = generator.random(values.size) < spread
    values[some] = generator.normal(size=values.size)[some]
    counts = np.histogram(values, edges)[0] + 115.0 * generator.normal(size=64)
    assert (curve_of(counts, 115.0, edges, 4) is not None) == curved


def test_knots_lie_in_long_tails_too():
    generator = np.random.default_rng(0)
    edges = cell_edges(20.0)
    counts = np.histogram(np.exp(1.5 * generator.normal(size=100_000)) / 3.0, edges)[0]
    curve = curve_of(counts + 30.0 * generator.normal(size=64), 30.0, edges, 4)
    places, below = curve.rows
    assert 0.97 < np.interp(curve.knots[-1] / UNIT, places, below) <= 1.0
    assert curve.knots[-1] > 8.0 * UNIT


@pytest.mark.parametrize("seed", range(20))
def test_rows_end_where_none_stands_out_from_the_noise(seed):
    generator = np.random.default_rng(seed)
    edges = cell_edges(7.5)
    months = (generator.integers(1, 13, size=15_000) - 6.5) / 3.4
    counts = np.histogram(months, edges)[0] + 40.0 * generator.normal(size=64)
    places, below = curve_of(counts, 40.0, edges, 4).rows
    cells = np.flatnonzero(np.diff(below))
    low, high = 6.5 + 3.4 * places[[cells[0], cells[-1] + 1]]
    assert 0.3 < low <= 1.0
    assert 12.0 <= high < 12.7


def test_of_noise_alone_rows_may_be_anywhere():
    edges = cell_edges(5.0)
    curve = curve_of(np.linspace(0.05, 0.5, 64), 1.0, edges, 4)
    np.testing.assert_allclose(curve.rows[0][[0, -1]], edges[[0, -1]])


def test_a_picture_of_a_curve_ends_where_the_rows_do():
    generator = np.random.default_rng(0)
    x = generator.random((20_000, 1))
    y = np.sin(6.0 * x[:, 0]) + 0.3 * generator.normal(size=20_000)
    model = AdditiveRegression(3.0, random_state=0).fit(x, y)
    (curve,) = model.curves_
    assert curve.places[0] < -0.5
    (figure,) = model.content().sections[0].figures
    assert -0.1 < figure.picture.across.low < 0.1
    assert 0.9 < figure.picture.across.high < 1.1

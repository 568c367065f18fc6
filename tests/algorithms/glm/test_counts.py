from __future__ import annotations

import functools
import math
from itertools import product
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import root

from nolook.algorithms.glm import designs
from nolook.algorithms.glm.counts import CountRelease
from nolook.algorithms.glm.counts_inference import counts_model
from nolook.algorithms.glm.families import LOG
from nolook.algorithms.glm.frame import exposure_range
from nolook.algorithms.glm.steps import score_law
from nolook.algorithms.scaling import Scaling
from nolook.privacy.noise import SeededSource
from nolook.statistics.grid_models import LARGEST_MEAN
from nolook.statistics.weighted_rows import LARGEST_DEVIANCE
from nolook.tables import read_table, table_from_arrays

SLOPES = np.array([0.5, -0.03, 0.0, 0.1])
NAMES = ("a", "b", "c", "d")


def features(rows, generator):
    return generator.normal(size=(rows, 4)) @ np.diag([1.0, 10.0, 0.1, 3.0]) + 5.0


def data(rows, seed=0, steepness=1.0, mean=1.0, size=None):
    """Return columns and counts: of Poisson's law, or negative binomial of a size."""
    generator = np.random.default_rng(seed)
    X = features(rows, generator)
    means = mean * np.exp(steepness * (X - 5.0) @ SLOPES)
    if size is not None:
        means = means * generator.gamma(size, 1.0 / size, size=rows)
    return X, generator.poisson(np.minimum(means, 1e15)).astype(np.float64)


def run(X, y, mu, seed=0, progress=lambda _: None):
    return CountRelease(mu).run(table_from_arrays(X, y), SeededSource(seed), progress)


def exposed_data(rows, seed=0):
    """Return a table with exposures, the middle one of its columns, and what they are."""
    generator = np.random.default_rng(seed)
    X, days = features(rows, generator), generator.uniform(20.0, 400.0, size=rows)
    counts = generator.poisson(days / 100.0 * np.exp((X - 5.0) @ SLOPES)).astype(np.float64)
    columns = dict(zip(NAMES, X.T, strict=True))
    first = {name: columns[name] for name in NAMES[:2]}
    last = {name: columns[name] for name in NAMES[2:]}
    return pd.DataFrame({**first, "days": days, **last, "y": counts})


def run_exposed(frame, mu, seed=0):
    return CountRelease(mu, exposure="days").run(
        read_table(frame, "y"), SeededSource(seed), lambda _: None
    )


def standardised(found, X, y):
    """Return whole rows (1, x), the factors that shorten them, and targets."""
    scaling = found.scaling
    low, high = scaling.limits
    z = ((X - scaling.center[:-1]) / scaling.scale[:-1]).clip(low[:-1], high[:-1])
    z = (z[:, found.kept] - found.spread.center) @ found.spread.map
    rows = np.column_stack([np.ones(len(z)), z])
    factors = np.minimum(1.0, found.norm / np.linalg.norm(rows, axis=1))
    return rows, factors, (y / scaling.scale[-1]).clip(-50.0, 50.0)


def means_of(rows, theta, exposures=1.0):
    return np.minimum(exposures * np.exp((rows @ theta).clip(-40.0, 40.0)), LARGEST_MEAN)


def quasi(rows, factors, targets, exposures=1.0):
    """Return the solution of the weighted quasi-likelihood's equation."""
    u = rows * factors[:, None] ** 2
    start = np.zeros(rows.shape[1])
    start[0] = math.log(targets.mean() / np.mean(exposures))
    found = root(
        lambda theta: u.T @ (targets - means_of(rows, theta, exposures)) / len(rows),
        start,
        jac=lambda theta: -(u * means_of(rows, theta, exposures)[:, None]).T @ rows / len(rows),
    )
    assert found.success
    return found.x


def clipped_parts(found, rows, factors, targets, theta, clip):
    """Return what every row adds to a gradient, clipped."""
    u = rows * factors[:, None]
    rho = factors * (targets - means_of(rows, theta))
    lengths = np.linalg.norm(u[:, 1:], axis=1)
    slopes = rho.clip(-clip / lengths, clip / lengths)
    constant = rho.clip(-clip / 2 / u[:, 0], clip / 2 / u[:, 0])
    return np.column_stack([u[:, 0] * constant, u[:, 1:] * slopes[:, None]])


@pytest.mark.parametrize("exposure", [None, "days"])
@pytest.mark.parametrize("mu", [1e-5, 0.3, 40.0])
def test_events_compose_to_mu(mu, exposure):
    events = CountRelease(mu, exposure=exposure).events()
    assert math.sqrt(sum(event.mu**2 for event in events)) == pytest.approx(mu, rel=1e-12)
    assert sum(CountRelease(1.0).shares().values()) == pytest.approx(1.0)
    assert CountRelease(mu, exposure=exposure).for_rows_per_unit(2).exposure == exposure


@pytest.mark.parametrize(("mean", "size"), [(0.05, None), (1.0, None), (30.0, None), (1.0, 0.7)])
def test_with_a_large_budget_it_is_the_weighted_quasi_likelihood(mean, size):
    X, y = data(20_000, mean=mean, size=size)
    found = run(X, y, 1e5)
    assert found.detected
    rows, factors, targets = standardised(found, X, y)
    # The rows that are clipped still are few, and so it is close and not equal.
    exact = quasi(rows, factors, targets)
    deviation = (found.theta - exact) @ (rows.T @ rows / len(rows)) @ (found.theta - exact)
    assert math.sqrt(deviation) < 0.03
    known, measures = counts_model(found)
    explained = measures["deviance_explained"]
    coef = known.coef
    np.testing.assert_allclose(coef * [1.0, 10.0, 0.1, 3.0], SLOPES * [1, 10, 0.1, 3], atol=0.12)
    assert explained.value == pytest.approx(
        1.0 - found.fit.value[1] / found.fit.value[0], abs=1e-12
    )


def test_with_exposures_means_are_in_proportion_to_them():
    frame = exposed_data(20_000)
    found = run_exposed(frame, 1e5)
    X, days, y = frame[list(NAMES)].to_numpy(), frame["days"].to_numpy(), frame["y"].to_numpy()
    usual, least, most = found.exposures
    assert least < days.min()
    assert most > days.max()
    kept = np.array([True, True, False, True, True])
    np.testing.assert_array_equal(found.kept, kept)
    rows, factors, targets = standardised(found, frame.drop(columns="y").to_numpy(), y)
    exact = quasi(rows, factors, targets, days / usual)
    np.testing.assert_allclose(found.theta, exact, atol=0.02)
    known, *_ = counts_model(found)
    assert known.coef[2] == 0.0
    assert np.isnan(known.coef_interval[2]).all()
    center = known.intercept + 5.0 * known.coef.sum()
    assert center == pytest.approx(math.log(1 / 100.0), abs=0.1)
    deviations = np.array([1.0, 10.0, 0.1, 3.0])
    np.testing.assert_allclose(known.coef[kept] * deviations, SLOPES * deviations, atol=0.03)
    # Without them, what is left of their variation hides some of the rest.
    alone = run(X, y, 1e5)
    less, more = (counts_model(each)[1]["deviance_explained"] for each in (alone, found))
    assert less.value < more.value


def test_rows_without_an_exposure_have_no_weight():
    frame = exposed_data(5_000)
    more = frame.copy()
    more["days"] = np.where(np.arange(len(more)) % 2, -more["days"], 0.0)
    more["y"] = frame["y"].to_numpy()[::-1]  # of other rows: slopes would be half as large
    both = pd.concat([frame, more], ignore_index=True)
    found = run_exposed(both, 1e5)
    rows, factors, targets = standardised(
        found, both.drop(columns="y").to_numpy(), both["y"].to_numpy()
    )
    own = both["days"].to_numpy()
    some = own > 0.0
    held = own[some].clip(*found.exposures[1:]) / found.exposures[0]
    exact = quasi(rows[some], factors[some], targets[some], held)
    np.testing.assert_allclose(found.theta, exact, atol=0.1)


@pytest.mark.parametrize("center", [-3.0, 0.0, 100.0])
@pytest.mark.parametrize("detected", [True, False])
def test_exposures_are_above_0(center, detected):
    scaling = Scaling(
        ("days", "y"), np.array([center, 0.0]), np.array([20.0, 1.0]),
        np.array([detected, True]), 5.0,
    )  # fmt: skip
    usual, least, most = exposure_range(scaling, 0)
    assert 0.0 < least <= usual <= most
    assert (usual == center) == (detected and center > 0.0)


@pytest.mark.parametrize("steepness", [1.0, 6.0])
@pytest.mark.parametrize("mu", [0.01, 1.0, 1e5])
def test_no_more_stages_than_said_are_announced(steepness, mu):
    seen = []
    found = run(*data(2_000, steepness=steepness), mu, progress=seen.append)
    assert len(seen) <= CountRelease(mu).progress_steps
    assert seen.count("sizes") == 2
    assert seen[-2:] == ["fit", "scores"]
    steps = len(found.seen.sigmas)
    assert [name for name in seen if "gradient" in name] == [
        f"gradient {number + 1}" for number in range(steps)
    ]


@pytest.mark.parametrize("exposed", [True, False])
@pytest.mark.parametrize("kept", [True, False])
def test_rows_kept_and_rows_read_again_give_the_same_answer(kept, exposed, monkeypatch):
    frame = exposed_data(20_000)

    def found():
        release = CountRelease(0.5, exposure="days" if exposed else None)
        return release.run(read_table(frame, "y"), SeededSource(0), lambda _: None)

    before = found()
    monkeypatch.setattr(designs, "COPY_BYTES", 10**9 if kept else 0)
    after = found()
    for name in (
        "gram",
        "seen.thetas",
        "seen.values",
        "theta",
        "fit.value",
        "scores.value",
        "clip",
    ):
        np.testing.assert_array_equal(*(attrgetter(name)(each) for each in (before, after)))


def costs(rows, generator):
    """Return amounts most of which are 0, and some very large."""
    spent = generator.random(rows) < 0.3
    return np.where(spent, np.exp(6.0 + 1.5 * generator.normal(size=rows)), 0.0)


TARGETS = {
    "rare": lambda rows, generator: (generator.random(rows) < 0.002).astype(np.float64),
    "huge": lambda rows, generator: generator.poisson(1e9, rows).astype(np.float64),
    "a few huge": lambda rows, generator: np.where(generator.random(rows) < 0.01, 1e12, 1.0),
    "costs": costs,
    "none": lambda rows, _: np.zeros(rows),
    "negative": lambda rows, generator: -generator.poisson(3.0, rows).astype(np.float64),
    "tiny": lambda rows, generator: 1e-300 * generator.poisson(3.0, rows),
}


@pytest.mark.parametrize(
    ("kind", "mu", "rows"),
    [
        # Every day each with a third of the others.
        pytest.param(kind, mu, rows, marks=[pytest.mark.slow] * ((i + j + k) % 3 > 0))
        for i, kind in enumerate(TARGETS)
        for j, mu in enumerate([1e-5, 0.3, 1e5])
        for k, rows in enumerate([0, 1, 1_500])
    ],
)
def test_whatever_the_targets_all_is_finite(kind, mu, rows):
    generator = np.random.default_rng(0)
    X, y = features(rows, generator), TARGETS[kind](rows, generator)
    found = run(X, y, mu)
    known, *_ = counts_model(found)
    assert np.isfinite(found.theta).all()
    assert np.isfinite(known.coef).all()
    assert np.isfinite(known.intercept)
    assert not np.isinf(known.coef_interval).any()
    assert np.isfinite(found.scores.value).all()
    assert np.isfinite(found.fit.value).all()


@pytest.mark.parametrize("seeds", [2, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mu", [1e-7, 1e-4, 1e-3, 3e-3])
def test_with_hardly_any_budget_nothing_raises(mu, seeds):
    """Steps that noise leads far below any mean: exponentials are cut there."""
    X, y = data(200)
    for rows, seed in product((0, 1, 200), range(seeds)):
        found = run(X[:rows], y[:rows], mu, seed)
        assert np.isfinite(found.theta).all()
        assert np.isfinite(found.curvature[0]).all()
        assert np.isfinite(counts_model(found)[0].intercept)


@pytest.mark.parametrize("mu", [0.3, 1e5])
def test_steep_slopes_are_reached_or_bounded(mu):
    X, y = data(10_000, steepness=4.0)
    found = run(X, y, mu)
    assert np.isfinite(found.theta).all()
    known, *_ = counts_model(found)
    # 2 a deviation; clipped counts make it less, and no step leads away.
    assert 0.5 < known.coef[0] < 3.0
    assert found.fit.value[1] < 0.6 * found.fit.value[0]


def test_noise_alone_is_hardly_ever_visible():
    generator = np.random.default_rng(3)
    X, y = generator.normal(size=(2_000, 5)), generator.poisson(2.0, 2_000).astype(np.float64)
    # 1 in 20 is what was found; 5 of 20 have a chance of 1 in 400 then.
    found = [run(X, y, 0.27, seed) for seed in range(20)]
    assert sum(each.detected for each in found) <= 4
    for each in found:
        if not each.detected:
            known, measures = counts_model(each)
            assert np.isnan(known.coef_interval).all()
            assert measures == {"deviance_explained": None}


def test_a_model_that_noise_hides_stays_near_the_mean():
    X, y = data(400, mean=3.0)
    rows = [run(X, y, 0.05, seed) for seed in range(12)]
    hidden = [found for found in rows if not found.detected]
    assert len(hidden) >= 6
    for found in hidden:
        spread, *_ = standardised(found, X, y)
        # Log-means move by less than a half, and by 0.65 in the truth.
        assert (spread @ found.theta).std() < 0.65


@functools.cache
def repeated():
    """Fits of one table with other noise."""
    X, y = data(3_000, mean=2.0)
    return X, y, [run(X, y, 0.8, seed) for seed in range(20)]


def test_the_last_gradient_and_scores_have_the_noise_that_is_claimed():
    X, y, found = repeated()
    gradients, moments = [], []
    for one in found:
        rows, factors, targets = standardised(one, X, y)
        arguments = one, rows, factors, targets
        last = clipped_parts(*arguments, one.seen.thetas[-1], one.clip).sum(axis=0)
        gradients.append((one.seen.values[-1] - last) / one.seen.sigmas[-1])
        parts = clipped_parts(*arguments, one.theta, one.clip)
        exact = (one.scores.value - parts.T @ parts).diagonal()
        moments.append(exact / one.scores.sigma)
    assert abs(np.std(gradients) - 1) < 0.25
    assert abs(np.mean(gradients)) < 0.25
    assert abs(np.std(moments) - 1) < 0.25


def exact_deviances(found, X, y):
    """Return the sums of the deviances from the mean, and from the model."""
    rows, _, targets = standardised(found, X, y)
    counts, sums = targets.clip(0.0), []
    # The mean that the model gives rows with normal scores.
    base = LOG.average(*score_law(found.theta, found.gram))
    for mean in (np.full(len(y), base), means_of(rows, found.theta)):
        own = counts * np.log(np.where(counts > 0, counts, 1.0) / mean)
        each = 2.0 * (own - counts + mean)
        sums.append(each.clip(0.0, LARGEST_DEVIANCE).sum())
    return np.array(sums)


def test_without_noise_deviances_are_those_of_the_rows():
    X, y = data(3_000, mean=2.0)
    found = run(X, y, 1e6)
    np.testing.assert_allclose(found.fit.value, exact_deviances(found, X, y), atol=0.01)


def test_curvature_and_deviances_have_the_noise_that_is_claimed():
    X, y, found = repeated()
    curvatures, deviances = [], []
    for one in found:
        rows, factors, _ = standardised(one, X, y)
        u, means = rows * factors[:, None], means_of(rows, one.seen.thetas[-1])
        matrix, sigma = one.curvature
        curvatures.append((matrix - (u * means[:, None]).T @ u).diagonal() / sigma)
        deviances.append((one.fit.value - exact_deviances(one, X, y)) / one.fit.sigma)
    # Slopes are cut at what scores of two deviations have: of few rows that is less.
    assert abs(np.std(curvatures) - 1) < 0.3
    assert abs(np.std(deviances) - 1) < 0.25
    # Of 40 numbers: a deviation is .16, and one in 10^4 is farther.
    assert abs(np.mean(deviances)) < 0.6


@pytest.mark.parametrize(
    ("size", "fits"), [(None, 16), pytest.param(0.7, 40, marks=pytest.mark.slow)]
)
def test_intervals_cover_the_population(size, fits):
    """Of Poisson's law, and where targets vary by far more than that."""
    covered, given = [], []
    for seed in range(fits):
        X, y = data(4_000, seed, mean=2.0, size=size)
        known, *_ = counts_model(run(X, y, 0.6, seed))
        low, high = known.coef_interval.T
        some = np.isfinite(low)
        covered.extend(((low <= SLOPES) & (high >= SLOPES))[some])
        given.append(some.mean())
    assert np.mean(given) > 0.6
    # 95 % of 60 or more, of which four are of one fit.
    assert np.mean(covered) > 0.85

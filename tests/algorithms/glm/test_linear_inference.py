from __future__ import annotations

import math

import numpy as np
import pytest
from attrs import evolve

from nolook.algorithms.forest import best_forest
from nolook.algorithms.glm.clips import Clip
from nolook.algorithms.glm.error_sizes import ERROR_EDGES
from nolook.algorithms.glm.estimate import Gradients, Noisy, combine_gradients
from nolook.algorithms.glm.inference import HIDDEN_EFFECT, with_sampling
from nolook.algorithms.glm.linear import NoisyRegression
from nolook.algorithms.glm.linear_inference import ERROR_SHARES, linear_model
from nolook.algorithms.node_counts import NoisyForest
from nolook.algorithms.scale_search import ColumnHistogram
from nolook.algorithms.scaling import NoisyCount, Scaling
from nolook.algorithms.whitening import Spread
from nolook.kernels.forests import block_counts

STEPS = 8
EDGES = 2.0 ** (np.arange(-9, 5) / 2)


def rows(count=20_000, features=4, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(count, features)) * 3 + 2
    return X, X @ np.arange(1.0, features + 1) + 5 + 4 * generator.normal(size=count)


def histogram(column, center, scale):
    inner = center + scale * np.linspace(-30, 30, 121)
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    return ColumnHistogram(edges[:-1], edges[1:], np.histogram(column, edges)[0] * 1.0, 1e-6)


def scaled(X, y, limit):
    columns = np.column_stack([X, y])
    scale = columns.std(axis=0) * 1.1
    center = columns.mean(axis=0) + 0.1 * scale
    found = [histogram(*column) for column in zip(columns.T, center, scale, strict=True)]
    names = tuple(f"x{number}" for number in range(len(center)))
    seen = np.full(len(center), True)
    counted = NoisyCount(float(len(y)), 1e-6)
    return Scaling(names, center, scale, seen, limit, rows=counted, histograms=tuple(found))


def released(X, y, noise=1e-6, *, limit=10.0, kept=None, clip=4.0, seed=0, scaling=None):
    """A release in floating point; `noise` 1 is about that of epsilon 1."""
    generator = np.random.default_rng(seed)
    scaling = scaled(X, y, limit) if scaling is None else scaling
    kept = np.full(X.shape[1], True) if kept is None else kept
    Z = (np.column_stack([X, y]) - scaling.center) / scaling.scale
    U = np.column_stack([np.ones(len(y)), Z[:, :-1][:, kept].clip(-limit, limit)])
    v, size, norm = Z[:, -1], U.shape[1], 2.0 * math.sqrt(U.shape[1])
    draw = generator.normal(size=(size, size)) * 5 * noise * norm**2
    gram, edges = U.T @ U + draw + draw.T, EDGES * norm
    values, vectors = np.linalg.eigh(gram)
    ridge = 10 * noise * norm**2 * math.sqrt(size)
    solved = (vectors / (values.clip(0) + ridge)) @ vectors.T
    theta, seen, bound = np.zeros(size), Gradients.none(size), clip * norm
    for _ in range(STEPS):
        rest = v - U @ theta
        lengths = np.linalg.norm(U[:, 1:], axis=1) * np.abs(rest)
        shrunk = rest * np.minimum(1.0, bound / np.maximum(lengths, 1e-300))
        exact = np.append(U[:, 0] @ rest, U[:, 1:].T @ shrunk)
        gradient = exact + generator.normal(size=size) * 20 * noise * bound
        seen = seen.and_one(theta, Noisy(gradient, 20 * noise * bound))
        theta = theta + solved @ gradient
    counts = np.histogram(lengths, np.concatenate([[0.0], edges, [np.inf]]))[0]
    counts = counts + generator.normal(size=15) * 30 * noise
    gram_sigma = 10 * noise * norm**2
    model = combine_gradients(gram, gram_sigma, seen).theta
    errors = np.stack([v - v.mean(), v - U @ model])
    fit = (np.minimum(np.abs(errors), 4.0) ** 2).sum(axis=1)
    lengths = np.linalg.norm(U[:, 1:], axis=1) * np.abs(errors[1])
    scores = U * errors[1][:, None]
    scores[:, 1:] *= np.minimum(1.0, bound / np.maximum(lengths, 1e-300))[:, None]
    draw = generator.normal(size=(size, size)) * 15 * noise * bound**2
    return NoisyRegression(
        scaling=scaling,
        kept=kept,
        spread=Spread.standard(size - 1),
        norm=norm,
        gram=gram,
        gram_sigma=gram_sigma,
        seen=seen,
        clip=Clip(0, bound, edges, counts, 30 * noise),
        theta=model,
        chosen=None,
        scores=Noisy(scores.T @ scores + draw + draw.T, 30 * noise * bound**2),
        fit=Noisy(fit + generator.normal(size=2) * 600 * noise, 600 * noise),
        errors=sized(errors[1], noise, generator),
        sides=Noisy(np.array([(errors[1] < -2.0).sum(), 0.0, (errors[1] > 2.0).sum()]), 60 * noise),
    )


def sized(errors, noise, generator):
    """Counts of errors by their size."""
    forest, edges = best_forest(ERROR_EDGES.size, "gaussian"), np.append(0.0, ERROR_EDGES)
    blocks = block_counts(np.histogram(np.abs(errors), edges)[0], forest.lengths)
    sigma = 60 * noise
    return NoisyForest(forest, blocks + generator.normal(size=len(blocks)) * sigma, sigma**2)


def known_of(release):
    return linear_model(release).known


def widths(model):
    return np.ptp(np.vstack([model.intercept_interval, model.coef_interval]), axis=1)


def given(model):
    return np.isfinite(np.vstack([model.intercept_interval, model.coef_interval])).all(axis=1)


def least_squares(X, y):
    return np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y, rcond=None)[0]


def test_without_noise_the_model_is_least_squares_and_the_intervals_the_textbook_ones():
    X, y = rows()
    whole = linear_model(released(X, y))
    model, expected = whole.known, least_squares(X, y)
    np.testing.assert_allclose(np.append(model.intercept, model.coef), expected, rtol=1e-4)
    design = np.column_stack([np.ones(len(y)), X])
    textbook = 2 * 1.96 * 4 * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    np.testing.assert_allclose(widths(model), textbook, rtol=0.15)
    rest = y - design @ expected
    assert whole.measures["rmse"].value == pytest.approx(rest.std(), rel=1e-3)
    assert whole.measures["r2"].value == pytest.approx(1 - rest.var() / y.var(), abs=1e-4)


@pytest.mark.parametrize("noise", [1e-6, 1.0])
def test_the_intervals_cover_the_population_and_hold_the_model(noise):
    covered, share, truth = [], [], np.append(5.0, np.arange(1.0, 5.0))
    for seed in range(40):
        model = known_of(released(*rows(seed=seed), noise=noise, seed=seed))
        interval = np.vstack([model.intercept_interval, model.coef_interval])
        inside = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
        covered.append(inside[given(model)])
        share.append(given(model).mean())
        point = np.append(model.intercept, model.coef)[given(model)]
        np.testing.assert_allclose(interval[given(model)].mean(axis=1), point)
    assert np.mean(np.concatenate(covered)) > 0.92
    assert np.mean(share) > 0.9


def test_sampling_and_noise_both_widen():
    few, many = rows(5000), rows(80_000)
    assert (widths(known_of(released(*few))) > 3 * widths(known_of(released(*many)))).all()
    sizes = [widths(known_of(released(*rows(), noise))) for noise in (0.01, 0.1, 0.5)]
    assert (sizes[0] < sizes[1]).all()
    assert (sizes[1] < sizes[2]).all()


def test_residuals_that_grow_with_the_row_widen():
    X, y = rows()
    generator = np.random.default_rng(1)
    size = np.linalg.norm(X - 2, axis=1) ** 2
    calm = X[:, 0] + generator.normal(size=len(y)) * np.sqrt((size**2).mean())
    wild = X[:, 0] + generator.normal(size=len(y)) * size
    ratio = widths(known_of(released(X, wild))) / widths(known_of(released(X, calm)))
    assert (ratio[1:] > 1.15).all()


def test_columns_that_noise_cannot_tell_apart_get_no_interval():
    X, y = rows()
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    model = known_of(released(X, y, 0.3))
    assert given(model)[1:].tolist() == [False, False, True, True]
    assert given(known_of(released(X, y)))[1:].all()


def test_an_interval_allows_for_what_is_hidden_behind_a_small_share_of_noise():
    X, y = rows()
    plain = widths(known_of(released(X, y, 0.3)))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    assert widths(known_of(released(X, y, 0.3)))[4] > 1.05 * plain[4]


def by_hand(gram, gram_sigma):
    """A release of 20,000 rows in which the model is 0, from its matrix alone."""
    X, y = rows(features=len(gram) - 1)
    empty = np.zeros((STEPS, len(gram)))
    release = released(X, y)
    return evolve(
        release,
        gram=gram,
        gram_sigma=gram_sigma,
        seen=evolve(release.seen, thetas=empty, values=empty),
        clip=evolve(release.clip, counts=np.zeros(15)),
    )


def test_the_interval_allows_for_effects_along_a_hidden_direction():
    hidden = np.array([0.0, np.sqrt(0.3), np.sqrt(0.7)])
    release = by_hand(20_000.0 * (np.eye(3) - np.outer(hidden, hidden)), 1.0)
    half = widths(known_of(release)) / 2 / release.scaling.scale[-1]
    half[1:] *= release.scaling.scale[:-1]
    assert half[1] == pytest.approx(1.96 * HIDDEN_EFFECT * np.sqrt(0.3), rel=0.01)
    assert np.isnan(half[2])


def test_what_the_hidden_directions_hold_reaches_the_others_through_the_noise():
    seen = 20_000.0 * np.eye(6)
    hidden = np.diag(np.diag(seen) * [1, 1, 0, 0, 0, 0])
    narrow, wide = (widths(known_of(by_hand(gram, 500.0)))[1] for gram in (seen, hidden))
    scaling = by_hand(seen, 500.0).scaling
    leak = 2 * 1.96 * HIDDEN_EFFECT * 500.0 * np.sqrt(4 / 2) / 20_000
    assert np.sqrt(wide**2 - narrow**2) * scaling.scale[0] / scaling.scale[-1] == pytest.approx(
        leak, rel=0.1
    )


def test_noise_of_the_gradients_alone_widens():
    release = released(*rows())
    louder = evolve(release, seen=evolve(release.seen, sigmas=release.seen.sigmas + 300.0))
    added = np.sqrt(widths(known_of(louder)) ** 2 - widths(known_of(release)) ** 2)
    scale = release.scaling.scale
    slopes = 2 * 1.96 * 300.0 / np.sqrt(STEPS) / np.diag(release.gram)[1:]
    np.testing.assert_allclose(added[1:] * scale[:-1] / scale[-1], slopes, rtol=0.1)


def test_columns_left_out_have_no_effect_and_no_interval():
    X, y = rows()
    kept = np.array([True, False, True, True])
    model = known_of(released(X, y, kept=kept))
    assert model.coef[1] == 0.0
    assert given(model).tolist() == [True, True, False, True, True]
    alone = known_of(released(X[:, kept], y))
    np.testing.assert_allclose(model.coef[kept], alone.coef)
    np.testing.assert_allclose(model.coef_interval[kept], alone.coef_interval)


def test_intervals_are_for_cut_errors_whatever_a_few_rows_lost():
    X, y = rows()
    X[:40, 0] += 9.0
    y[:40] += 75.0
    release = released(X, y, clip=0.5)
    counts = release.clip.counts + 500.0 * (np.arange(15) == 14)
    more = evolve(release, clip=evolve(release.clip, counts=counts))
    np.testing.assert_array_equal(widths(known_of(more)), widths(known_of(release)))
    # Least squares follows those rows, by more than the interval of the model that does not.
    truth = least_squares(X, y)[1:]
    model = known_of(release)
    assert truth[0] > model.coef_interval[0, 1]


def test_a_column_that_is_often_clipped_gets_no_interval():
    X, y = rows()
    X[:3000, 2] += 100.0
    model = known_of(released(X, y, limit=2.0))
    scaling = scaled(X, y, 2.0)
    clipped = (scaling.low[:-1] > X) | (scaling.high[:-1] < X)
    assert (model.clipped_share[:-1] >= clipped.mean(axis=0) - 1e-9).all()
    assert (model.clipped_share[:-1] <= clipped.mean(axis=0) + 0.05).all()
    assert given(model).tolist() == [True, True, True, False, True]


@pytest.mark.parametrize(("limit", "interval"), [(0.5, False), (10.0, True)])
def test_of_a_column_of_mostly_one_value_the_others_must_not_be_clipped(limit, interval):
    """All that its slope is read from are these; 3 % of all rows are few."""
    X, y = rows()
    X[:, 2] = np.random.default_rng(9).random(len(X)) < 0.03
    scaling = evolve(scaled(X, y, 10.0), limit=limit)
    model = linear_model(released(X, y, limit=10.0, scaling=scaling)).known
    assert given(model)[3] == interval


def test_a_scale_of_several_deviations_leaves_the_interval():
    X, y = rows(60)
    y += 30.0 * np.random.default_rng(1).normal(size=len(y))
    plain = scaled(X, y, 10.0)
    wide = evolve(plain, scale=plain.scale * np.array([1.0, 1.0, 8.0, 1.0, 1.0]))
    found = [widths(linear_model(released(X, y, scaling=each)).known) for each in (plain, wide)]
    np.testing.assert_allclose(found[0][3], found[1][3], rtol=0.2)


def test_a_column_that_hardly_moves_hides_the_origin():
    X, y = rows()
    scaling = scaled(X, y, 10.0)
    far = evolve(scaling, scale=scaling.scale * [1, 1, 1, 500, 1])
    near = evolve(far, center=far.center * [1, 1, 1, 0, 1])
    assert given(known_of(released(X, y, 0.3, scaling=near))).tolist()[:4] == [True] * 4
    moved = evolve(far, center=far.center + np.array([0, 0, 0, 0.3, 0]) * far.scale)
    shifted = X + np.array([0, 0, 0, 0.3]) * far.scale[:-1]
    model = known_of(released(shifted, y, 0.3, scaling=moved))
    assert given(model).tolist() == [False, True, True, True, False]


def test_units_do_not_matter():
    X, y = rows()
    fits = [linear_model(each) for each in (released(X, y, 0.3), released(X / 1000, y * 10, 0.3))]
    one, other = (fit.known for fit in fits)
    np.testing.assert_allclose(other.coef, one.coef * 10_000)
    np.testing.assert_allclose(other.coef_interval, one.coef_interval * 10_000)
    np.testing.assert_allclose(other.intercept_interval, one.intercept_interval * 10)
    for name, factor in {**dict.fromkeys(ERROR_SHARES, 10), "r2": 1}.items():
        small, large = (fit.measures[name] for fit in fits)
        assert large.value == pytest.approx(small.value * factor)


@pytest.mark.parametrize("tail", [1.0, 2.0])
def test_the_intervals_of_error_sizes_cover_the_errors_whatever_their_tail(tail):
    X, y = rows()
    errors = np.exp(tail * np.random.default_rng(0).normal(size=len(y)))
    model = [linear_model(released(X, y + errors, noise, seed=seed)) for seed in range(20)
             for noise in (1e-6, 1.0)]  # fmt: skip
    for name, share in ERROR_SHARES.items():
        covered = [
            each.measures[name].ends[0] <= size <= each.measures[name].ends[1]
            for each in model
            for size in [np.quantile(np.abs(predicted(each, X) - y - errors), share)]
        ]
        assert np.mean(covered) > 0.95
        narrow = model[0].measures[name]
        assert np.ptp(narrow.ends) < 0.25 * narrow.value
        assert narrow.ends[0] <= narrow.value <= narrow.ends[1]
    # Of such errors a root mean square is not known: a few weigh most.
    assert all(each.measures["rmse"] is None for each in model) == (tail > 1.0)


def predicted(model, X):
    return model.known.intercept + X @ model.known.coef


def test_where_rows_may_be_alike_sizes_of_errors_are_known_less_well():
    release = released(*rows())
    one, many = (linear_model(release, alike).measures for alike in (1, 100))
    for name in ERROR_SHARES:
        assert many[name].value == one[name].value
        assert np.ptp(many[name].ends) > np.ptp(one[name].ends)


def test_of_errors_that_noise_hides_no_size_is_given():
    X, y = rows(60)
    measures = linear_model(released(X, y, 1.0)).measures
    assert [measures[name] for name in ERROR_SHARES] == [None, None]


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_large_errors_on_one_side_are_told(side):
    X, y = rows()
    errors = side * np.exp(1.5 * np.random.default_rng(0).normal(size=len(y)))
    cut = linear_model(released(X, y + errors, clip=1.0)).cut
    assert (cut.above > cut.below) == (side > 0)
    assert not cut.positive
    assert linear_model(released(*rows())).cut is None


def test_no_effect_on_the_mean_differs_by_more_than_is_said():
    X, y = rows()
    y = np.exp(y / 20.0) + 500.0 * np.maximum(X[:, 0] - np.quantile(X[:, 0], 0.99), 0.0)
    model = linear_model(released(X, y, clip=0.5))
    moved = np.abs(least_squares(X, y)[1:] - model.known.coef) * X.std(axis=0)
    assert model.cut.positive
    assert 0.1 * model.cut.effect < moved.max() < model.cut.effect


def test_the_intervals_of_the_fit_cover_the_noise():
    release, covered = released(*rows()), []
    exact, generator = release.fit.value, np.random.default_rng(0)
    truth = 1 - exact[1] / exact[0], np.sqrt(exact[1] / 20_000) * release.scaling.scale[-1]
    for _ in range(250):
        noisy = Noisy(exact + generator.normal(size=2) * 500, 500.0)
        measures = linear_model(evolve(release, fit=noisy)).measures
        ends = [measures[name].ends for name in ("r2", "rmse")]
        covered.append([low <= true <= high for (low, high), true in zip(ends, truth, strict=True)])
    assert (np.abs(np.mean(covered, axis=0) - 0.95) < 0.03).all()


@pytest.mark.parametrize("fit", [(3000.0, 1000.0), (-500.0, 100.0), (0.0, 0.0)])
def test_a_fit_that_drowned_in_noise_is_not_given(fit):
    noisy = Noisy(np.array(fit), 1000.0)
    measures = linear_model(evolve(released(*rows()), fit=noisy)).measures
    assert {name for name, one in measures.items() if one is None} == {"r2", "rmse"}


@pytest.mark.parametrize("size", [1e-300, 1e300])
@pytest.mark.parametrize("noise", [1e-6, 100.0])
def test_no_release_raises(size, noise):
    X, y = rows(200)
    scaling = scaled(X, y, 10.0)
    release = released(X, y, noise)
    units = np.array([size, 1, 1, 1, 1 / size])
    scaling = evolve(scaling, center=scaling.center * units, scale=scaling.scale * units)
    model = known_of(evolve(release, scaling=scaling))
    assert np.isfinite(model.coef).all()
    assert np.isfinite(model.intercept)
    assert not np.isinf(model.coef_interval).any()
    assert not np.isinf(model.intercept_interval).any()


@pytest.mark.parametrize("error", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("known", [0.0, 0.5])
def test_a_noisy_variance_is_larger_as_student_has_it(known, error):
    """Of a whole variance of 1, by the exact law of its noise: not too narrow, hardly too wide."""
    ends = np.linspace(-5.0, 5.0, 401)
    chance = np.exp(-(ends**2) / 2.0)
    found = [
        with_sampling(np.array([known]), Noisy(np.array([[own]]), error), np.eye(1), np.zeros(1))
        for own in 1.0 - known + error * ends
    ]
    widths = 1.959964 * np.sqrt(np.maximum(np.ravel(found), 0.0))
    covers = [math.erf(width / math.sqrt(2.0)) for width in widths]
    assert 0.95 <= np.average(covers, weights=chance) < 0.952 + 0.04 * error

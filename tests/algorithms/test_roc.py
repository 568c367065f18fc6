from __future__ import annotations

import itertools
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import (
    average_precision_score,
    confusion_matrix,
    f1_score,
    precision_recall_curve,
)

import nolook
from benchmarks.roc import precision_at
from nolook.algorithms import node_counts
from nolook.algorithms._simulation import simulation_generator
from nolook.algorithms.cumulative_noise import ForestNoise
from nolook.algorithms.evaluation import scores_release
from nolook.algorithms.forest import Forest, best_forest
from nolook.algorithms.intervals import ratio_interval
from nolook.algorithms.roc_curve import area, fitted
from nolook.algorithms.roc_threshold import classified
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays

# Enough cells for blocks of two lengths.
POINTS = np.arange(1.0, 65.0)
ROWS = list(itertools.product([0.5, 1.5, 9.5], [False, True]))


def planned(epsilon, relation, points):
    """Return a release on any points."""
    return scores_release(epsilon, relation, SimpleNamespace(points=lambda: points))


def curve_of(scores, positives, plan, seed):
    """Return the curve that is released."""
    table = table_from_arrays(scores[:, np.newaxis], positives)
    return plan.run(table, SeededSource(seed), lambda _: None).curve


@pytest.mark.parametrize("points", [None, 1, 64, 4096])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 0.3, 7.0])
def test_the_events_add_up_to_the_budget(epsilon, relation, points):
    plan = scores_release(epsilon, relation)
    if points is not None:
        plan = planned(epsilon, relation, np.arange(float(points)))
    spent = sum(event.epsilon for event in plan.events())
    assert epsilon * (1 - 1e-9) < spent <= epsilon


def released(monkeypatch, rows, plan):
    """Return the counts that a release adds noise to, and the scale of the noise."""
    seen = []

    def laplace(values, sensitivity, epsilon, source):
        seen.append((values.copy(), sensitivity / epsilon))
        return values

    monkeypatch.setattr(node_counts, "laplace_release", laplace)
    scores, positives = (np.array([row[place] for row in rows], float) for place in (0, 1))
    curve_of(scores, positives, plan, 0)
    ((values, scale),) = seen
    return values, scale


def neighbours(relation):
    tables = [
        table for size in range(3) for table in itertools.combinations_with_replacement(ROWS, size)
    ]
    for first, second in itertools.product(tables, tables):
        removed = (Counter(first) - Counter(second)).total()
        added = (Counter(second) - Counter(first)).total()
        if (removed, added) == ((1, 1) if relation == "replace" else (1, 0)):
            yield first, second


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_exact_loss_keeps_the_budget_on_all_small_neighbours(monkeypatch, relation):
    """Of independent discrete Laplace noise it is the L1 distance over the scale, exactly."""
    plan = planned(1.5, relation, POINTS)
    worst = 0.0
    for first, second in neighbours(relation):
        one, scale = released(monkeypatch, first, plan)
        other, same = released(monkeypatch, second, plan)
        assert scale == same
        worst = max(worst, np.abs(one - other).sum() / scale)
    # More than the budget was not promised, and less than nearly all of it would waste it.
    assert 0.99 * 1.5 < worst <= 1.5


def test_a_row_is_counted_in_blocks_of_its_class_alone(monkeypatch):
    plan = planned(1.0, "add-remove", POINTS)
    none, _ = released(monkeypatch, [], plan)
    for row in ROWS:
        values, _ = released(monkeypatch, [row], plan)
        halves = np.array_split((values - none)[:-1], 2)  # the last are rows left out
        assert not halves[row[1]].any()
        assert halves[not row[1]].sum() == len(np.unique(POINTS)) // 32


def exactly(scores, positives, points, relation="add-remove"):
    """Return a curve with hardly any noise."""
    return curve_of(scores, positives, planned(1e5, relation, points), 0)


def some_scores(rows=500, seed=0):
    generator = np.random.default_rng(seed)
    scores = generator.random(rows)
    return scores, generator.random(rows) < scores


def test_without_noise_the_curve_is_exact():
    scores, positives = some_scores()
    curve = exactly(scores, positives, np.linspace(0.01, 1, 100))
    fpr, tpr = curve.rates
    np.testing.assert_allclose(
        [np.mean(scores[positives] > t) for t in curve.thresholds[1:-1]], tpr[1:-1], atol=1e-9
    )
    np.testing.assert_allclose(
        [np.mean(scores[~positives] > t) for t in curve.thresholds[1:-1]], fpr[1:-1], atol=1e-9
    )


def test_without_noise_the_precision_is_scikit_learns_and_goes_on_between_thresholds():
    scores, positives = some_scores()
    scores = np.ceil(scores * 20) / 20
    curve = exactly(scores, positives, np.arange(1, 21) / 20)
    precision, recall, _ = precision_recall_curve(positives, scores)
    # Of several thresholds that find the same rows, the lowest.
    different, first = np.unique(recall[:-1], return_index=True)
    np.testing.assert_allclose(precision_at(curve, different), precision[first], atol=1e-6)
    # Half of the positive and of the negative rows between two thresholds are found half way.
    true, false = (np.array([np.sum(scores[kind] > t) for t in (0.6, 0.55)])
                   for kind in (positives, ~positives))  # fmt: skip
    half = precision_at(curve, np.array([true.mean() / positives.sum()]))
    assert half == pytest.approx(true.mean() / (true.mean() + false.mean()), abs=1e-6)
    band = curve.intervals().precision_band[:, 1:]
    assert (band[1] - 1e-9 <= precision_at(curve, band[0])).all()
    assert (precision_at(curve, band[0]) <= band[2] + 1e-9).all()


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_without_noise_rows_are_classified_exactly(relation):
    scores, positives = some_scores()
    # Scores on the thresholds: a cell holds one value.
    scores = np.ceil(scores * 20) / 20
    curve = exactly(scores, positives, np.arange(1, 21) / 20, relation)
    wanted = average_precision_score(positives, scores)
    assert curve.average_precision == pytest.approx(wanted, abs=1e-6)
    for asked, used in ((0.3, 0.3), (0.32, 0.3), (0.05, 0.05), (7.0, 0.95)):
        found = classified(curve, asked)
        assert found.threshold == pytest.approx(used)
        called = scores > used
        tn, fp, fn, tp = confusion_matrix(positives, called).ravel()
        assert found.true_positives.value == pytest.approx(tp)
        assert found.false_positives.value == pytest.approx(fp)
        assert found.false_negatives.value == pytest.approx(fn, abs=1e-3)
        assert found.true_negatives.value == pytest.approx(tn)
        assert found.sensitivity.value == pytest.approx(tp / (tp + fn), abs=1e-6)
        assert found.specificity.value == pytest.approx(tn / (tn + fp), abs=1e-6)
        assert found.positive_predictive_value.value == pytest.approx(tp / (tp + fp), abs=1e-6)
        assert found.negative_predictive_value.value == pytest.approx(tn / (tn + fn), abs=1e-6)
        assert found.accuracy.value == pytest.approx((tp + tn) / len(scores), abs=1e-6)
        assert found.f1.value == pytest.approx(f1_score(positives, called), abs=1e-6)
    everything = classified(curve, -1.0)
    assert everything.threshold == -np.inf
    assert everything.sensitivity.value == 1.0
    assert everything.negative_predictive_value is None


@pytest.mark.parametrize(
    "relation", ["add-remove", pytest.param("replace", marks=pytest.mark.slow)]
)
def test_numbers_at_a_threshold_are_covered(relation):
    points = np.linspace(1 / 32, 1, 32)
    exact = classified(exactly(*some_scores(1_000_000), points), 0.5)
    names = ("true_positives", "sensitivity", "positive_predictive_value", "accuracy", "f1")
    hits = dict.fromkeys(names, 0)
    runs = 300
    for seed in range(runs):
        scores, positives = some_scores(4000, seed + 1)
        curve = curve_of(scores, positives, planned(0.3, relation, points), seed)
        found = classified(curve, 0.5)
        for name in names:
            measure, value = getattr(found, name), getattr(exact, name).value
            value *= 4000 / 1_000_000 if name == "true_positives" else 1.0
            hits[name] += measure.low - 1e-4 <= value <= measure.high + 1e-4
    for name in names:
        # Three standard errors below .95, and not wider than wanted.
        assert 0.91 <= hits[name] / runs <= 0.995, name


def test_where_the_noise_hides_a_class_nothing_is_known():
    scores = np.linspace(0.01, 0.99, 500)
    positives = np.arange(500) % 50 == 0
    unknown = 0
    for seed in range(20):
        curve = nolook.ROCCurve(0.1, nolook.LinearGrid(1 / 64, 1, 1 / 64), random_state=seed)
        curve.fit(scores, positives)
        assert curve.auc_interval_[0] <= curve.auc_ <= curve.auc_interval_[1]
        unknown += (np.ptp(curve.auc_interval_) == 1.0) and curve.at(0.5).sensitivity is None
    assert unknown >= 17


def test_a_ratio_is_covered_whatever_its_denominator():
    """Also where the denominator may be 0: most intervals are then everything."""
    generator = np.random.default_rng(0)
    noise = np.array([[1.0, 0.5], [0.5, 1.0]])
    squares = noise[0, 0], noise[0, 1], noise[1, 1]
    for below in (0.5, 2.0, 5.0, 50.0):
        found = generator.multivariate_normal([0.4 * below, below], noise, 4000)
        low, high = ratio_interval(found[:, 0], found[:, 1], squares)
        covered = np.mean((low <= 0.4) & (high >= 0.4))
        assert covered > 0.935
        assert below < 5.0 or covered < 0.965
        assert (np.mean((low == 0.0) & (high == 1.0)) > 0.8) == (below < 1.0)


@pytest.mark.parametrize(
    ("relation", "runs", "least"),
    [
        pytest.param("add-remove", 150, 0.90, marks=pytest.mark.slow),
        pytest.param("replace", 100, 0.90, marks=pytest.mark.slow),
        ("replace", 40, 0.80),
    ],
)
def test_the_intervals_cover_the_populations_curve(relation, runs, least):
    def drawn(rows, seed):
        generator = np.random.default_rng(seed)
        positives = generator.random(rows) < 0.3
        return 1 / (1 + np.exp(-generator.normal(size=rows) - positives)), positives

    scores, positives = drawn(1_000_000, 0)
    grid = nolook.LinearGrid(1 / 32, 1, 1 / 32)
    curve = exactly(scores, positives, grid.points())
    exact = {
        "area": area(*curve.rates),
        "precision": curve.average_precision,
        "base rate": positives.mean(),
    }
    part = curve.partial_area(0.2).value
    recalls = np.linspace(0.0, 1.0, 201)[1:]
    precision = precision_at(curve, recalls)
    hits = dict.fromkeys((*exact, "part", "band"), 0)
    for seed in range(runs):
        found = nolook.ROCCurve(0.4, grid, relation=relation, random_state=seed)
        found.fit(*drawn(4000, seed + 1))
        ends = {
            "area": found.auc_interval_,
            "precision": found.average_precision_interval_,
            "base rate": found.base_rate_interval_,
        }
        for name, (low, high) in ends.items():
            hits[name] += low <= exact[name] <= high
        low, high = found.partial_auc(0.2, return_interval=True)[1]
        hits["part"] += low <= part <= high
        places, low, high = found.precision_band_[:, 1:]
        np.testing.assert_allclose(places, recalls)
        hits["band"] += np.mean((low - 1e-9 <= precision) & (precision <= high + 1e-9))
    for name, count in hits.items():
        # Half of the ties of a coarse grid widen the interval of the area.
        most = 0.998 if runs >= 100 and name != "area" else 1.0
        assert least <= count / runs <= most, name


@pytest.mark.parametrize("cells", [2, 7, 64, 300])
def test_the_forest_is_the_best_for_shares(cells):
    """The formula agrees with the variance of each share, and no other forest has a smaller one."""
    places = np.arange(1, cells)

    def mean(forest):
        noise = ForestNoise(forest, 1.0, 1.0 / forest.rows_precision)
        return noise.between(np.zeros_like(places), places, places / forest.padded).mean()

    best = best_forest(cells, "laplace", shares=True)
    assert best.mean_variance(shares=True) == pytest.approx(mean(best))
    for other in (best_forest(cells, "laplace"), Forest(cells, (1,))):
        assert best.levels**2 * mean(best) <= other.levels**2 * mean(other) * (1 + 1e-12)


def test_repeated_noise_has_the_known_variance():
    noise = ForestNoise(Forest(10, (4, 1)), 2.0, 5.0)
    generator = simulation_generator()
    runs = 20_000
    totals = generator.normal(scale=np.sqrt(noise.rows_variance), size=runs)
    drawn = noise.draws(totals, generator)
    np.testing.assert_allclose(drawn[:, -1], totals)
    places = np.arange(1, drawn.shape[1] + 1)
    wanted = noise.between(np.zeros_like(places), places, 0.0)
    np.testing.assert_allclose(np.mean(drawn**2, axis=0), wanted, rtol=0.08)


def test_pairs_in_a_cell_count_half():
    fpr, tpr = np.array([0, 0.25, 1.0]), np.array([0, 0.5, 1.0])
    assert area(fpr, tpr) == pytest.approx(0.5 * 0.25 / 2 + 0.75 * 0.75)


@pytest.mark.parametrize("rows", [1.0, 3.0, 40.0])
def test_both_classes_add_up_to_a_public_number(rows):
    generator = np.random.default_rng(0)
    for scale in (0.1, 3.0, 300.0):
        positive, negative = generator.normal(rows / 2, scale, (2, 9))
        negative[-1] = rows - positive[-1]
        first, second = fitted((positive, negative), rows_known=True)
        assert first[-1] + second[-1] == pytest.approx(max(rows, 2.0), rel=1e-12)
        assert min(first[-1], second[-1]) >= 1.0


def test_fitted_classes_are_the_nearest_that_add_up():
    """Against a general solver: no other pair of rising counts with these ends is nearer."""
    generator = np.random.default_rng(1)
    rows, many = 50.0, 6

    def ends_add_up(x):
        return x[many - 1] + x[-1] - rows

    for _ in range(20):
        positive, negative = np.cumsum(generator.normal(4, 6, (2, many)), axis=1)
        off = (rows - positive[-1] - negative[-1]) / 2
        noisy = np.concatenate([np.append(positive[:-1], positive[-1] + off), negative])
        noisy[-1] = rows - noisy[many - 1]
        found = np.concatenate(fitted((noisy[:many], noisy[many:]), rows_known=True))
        steps = np.zeros((2 * many - 2, 2 * many))
        for i, j in enumerate([*range(many - 1), *range(many, 2 * many - 1)]):
            steps[i, j], steps[i, j + 1] = -1.0, 1.0
        solved = minimize(
            lambda x, noisy=noisy: ((x - noisy) ** 2).sum(),
            np.linspace(1, rows / 2, 2 * many),
            bounds=[(0.0, rows)] * (many - 1)
            + [(1.0, rows - 1)]
            + [(0.0, rows)] * (many - 1)
            + [(1.0, rows - 1)],
            constraints=[
                {"type": "ineq", "fun": lambda x, steps=steps: steps @ x},
                {"type": "eq", "fun": ends_add_up},
            ],
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 1000},
        )
        assert ((found - noisy) ** 2).sum() <= solved.fun * (1 + 1e-6) + 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_numbers_of_a_replacement_curve_add_up(epsilon):
    scores, positives = some_scores(2000)
    grid = nolook.LinearGrid(1 / 64, 1, 1 / 64)
    for seed in range(5):
        curve = nolook.ROCCurve(epsilon, grid, relation="replace", random_state=seed)
        curve.fit(scores, positives)
        assert curve.n_positive_ + curve.n_negative_ == pytest.approx(2000, abs=1e-6)

"""What the analyst gets: a central release's objects, with the noise of two servers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from attrs import evolve

import nolook
from nolook.algorithms.hosmer_lemeshow import hosmer_lemeshow_plan, release_groups
from nolook.errors import NolookError, ParameterError
from nolook.estimators._scores import Scored
from nolook.federated import answers, shares
from nolook.federated.batch import Batch
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance
from nolook.privacy.mechanisms.laplace import laplace_release, laplace_variance
from nolook.privacy.noise import SeededSource
from nolook.report.distribution_findings import ecdf_findings
from nolook.report.page import render_page
from nolook.report.score_findings import calibration_findings, roc_findings
from nolook.tables.folding import Batches
from tests.federated.roles import (
    BATCHES,
    CALIBRATION,
    ECDF,
    NO_NOISE,
    ROC,
    answered,
    exact,
    kind,
    one_curator,
    scores,
    sums,
    sums_at,
)

SCORED = Scored("score", "deposit", "1")


def words(*numbers):
    return np.array(numbers, dtype=np.uint64)


def federated(batch, values, targets, number=0, smoothing="l2", groups=10):
    """Return what an analyst makes of both servers' answers about some owners."""
    both = sums(batch, values, targets)
    return of_sums(batch, both, len(values), number, smoothing, groups)


def of_sums(batch, both, n, number=0, smoothing="l2", groups=10):
    curves = answered(batch, shares.noisy_curves, both, number, n)
    if batch.kind != "hosmer-lemeshow":
        return answers.distribution(batch, *curves, smoothing)
    places = answers.borders(batch, *curves, groups)
    asked = answered(batch, groups_at(places), both, number, n)
    return answers.calibration(batch, curves, asked, places, groups)


def groups_at(places):
    return lambda batch, own, key: shares.noisy_groups(batch, own, places, key)


def points_at(places):
    return lambda batch, own, key: shares.noisy_points(batch, own, places, key)


def halved(counts):
    """Return two halves of exact counts, as the reports of any owners would give."""
    half = np.random.default_rng(0).integers(0, 2**64, counts.shape, dtype=np.uint64)
    return half, counts - half


def central_groups(batch, values, targets, seed, groups=10):
    plan = hosmer_lemeshow_plan(batch.epsilon, groups, "replace")
    return release_groups(
        Batches([(values, targets, None)]), plan, SeededSource(seed), lambda _: None
    )


def assert_same_counts(one, other):
    for name in ("points", "counts", "rows"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def assert_same_promise(one, other):
    """The counts are noised in other ways, which is all that differs in what they cost."""
    first, second = (evolve(each.privacy_, mechanisms=()) for each in (one, other))
    assert first == second


# --- without noise ----------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", ["l2", "isotonic", None])
def test_without_noise_a_distribution_is_the_central_one(smoothing):
    values, targets = scores()
    batch = evolve(ECDF, epsilon=NO_NOISE)
    found = federated(batch, values, targets, smoothing=smoothing)
    central = nolook.ECDF(NO_NOISE, batch.grid, 0.0, "replace").fit(values)
    assert_same_counts(found.distribution_, central.distribution_)
    assert found.get_params() == central.get_params() | {"smoothing": smoothing}
    assert found.n_rows_ == central.n_rows_ == len(values)
    assert_same_promise(found, central)
    assert vars(found).keys() == vars(central).keys()


@pytest.mark.parametrize("smoothing", ["l2", "l1", None])
def test_without_noise_a_roc_curve_is_the_central_one(smoothing):
    values, targets = scores()
    batch = evolve(ROC, epsilon=NO_NOISE)
    found = federated(batch, values, targets, smoothing=smoothing)
    central = nolook.ROCCurve(NO_NOISE, batch.grid, relation="replace").fit(values, targets)
    for name in ("positive_", "negative_"):
        assert_same_counts(getattr(found, name), getattr(central, name))
    for name in ("fpr_", "tpr_", "auc_", "auc_interval_", "band_", "n_positive_", "thresholds_"):
        np.testing.assert_array_equal(getattr(found, name), getattr(central, name))
    assert found.get_params() == central.get_params() | {"smoothing": smoothing}
    assert_same_promise(found, central)
    assert vars(found).keys() == vars(central).keys()
    assert found.partial_auc(0.1) == central.partial_auc(0.1)


@pytest.mark.parametrize("groups", [1, 3, 10, 100])
def test_without_noise_a_calibration_is_the_central_one(groups):
    values, targets = scores()
    batch = evolve(CALIBRATION, epsilon=NO_NOISE)
    found = federated(batch, values, targets, groups=groups)
    distribution, table = central_groups(batch, values, targets, 0, groups)
    assert_same_counts(found.distribution_, distribution)
    for name in ("borders", "positives", "negatives", "excess"):
        np.testing.assert_array_equal(getattr(found.table_, name), getattr(table, name))
    assert found.statistic_ == table.statistic
    assert found.p_value_ == table.p_value
    assert found.degrees_of_freedom_ == len(table.counts)
    central = nolook.HosmerLemeshow(NO_NOISE, groups).fit(values, targets)
    assert found.get_params() == central.get_params()
    assert vars(found).keys() == vars(central).keys()


HARD = {
    "one owner": [0.3],
    "first cell": [-1.0, 0.0, 0.0],
    "last cell": [1.0, 2.0, 0.999],
    "infinite": [-np.inf, np.inf, np.inf],
    "missing": [np.nan, np.nan, 0.5],
}


@pytest.mark.parametrize("values", HARD.values(), ids=HARD)
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("epsilon", [1.0, NO_NOISE])
@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_degenerate_batches_have_ordinary_answers(batch, values, positive, epsilon):
    targets = np.full(len(values), positive)
    found = federated(evolve(batch, epsilon=epsilon), values, targets)
    if batch.kind == "ecdf":
        assert found.n_rows_ == len(values)
        assert 0.0 <= found.cdf(0.5) <= found.cdf(1.0) == 1.0
    elif batch.kind == "roc":
        assert (found.fpr_[0], found.fpr_[-1], found.tpr_[0], found.tpr_[-1]) == (0, 1, 0, 1)
        assert 0.0 <= found.auc_ <= 1.0
        assert 1.0 <= min(found.n_positive_, found.n_negative_) <= len(values)
    else:
        assert 0.0 < found.p_value_ <= 1.0
        assert np.isfinite(found.table_.expected_positives).all()


def test_a_grid_of_one_level_will_do():
    batch = evolve(ECDF, epsilon=NO_NOISE, grid=nolook.LinearGrid(0, 1, 1))
    found = federated(batch, [-1.0, 0.0, 0.5, 2.0], None)
    np.testing.assert_array_equal(found.distribution_.counts, [2.0, 4.0])


# --- the noise of two servers -----------------------------------------------------------------

# Of the squared errors of so many releases each, which are independent.
RUNS = 1500


def assert_twice(found, central):
    """The first have twice the second's mean square, and not 1 or 4 times.

    The chance of a false alarm is below 1e-10: seven standard errors of the logarithm.
    """
    one, other = (np.asarray(each, dtype=float) ** 2 for each in (found, central))
    error = np.hypot(*(each.std() / each.mean() / np.sqrt(len(each)) for each in (one, other)))
    assert 7 * error < np.log(2), "too few releases to tell a factor of 2 from 1 or 4"
    assert abs(np.log(one.mean() / other.mean() / 2)) < 7 * error


def size(errors):
    """Return the root mean square of a release's errors."""
    return float(np.sqrt(np.mean(np.square(np.asarray(errors, dtype=float)))))


def some_owners():
    values, targets = scores()
    return values[:300], targets[:300]


def test_counts_are_off_by_the_root_of_two_more_than_one_curators():
    values, targets = some_owners()
    counts = exact(ECDF, values, targets)
    both, inner, budget = halved(counts), counts[0, :-1], shares.tree_budget(ECDF)
    found, central = [], []
    for seed in range(RUNS):
        one = of_sums(ECDF, both, 300, seed, None).distribution_
        other = one_curator(*budget, counts[0], None, SeededSource(seed))
        found.append(size(one.counts[:-1] - inner))
        central.append(size(other[:-1] - inner))
    assert_twice(found, central)
    assert one.noise.node_variance == 2 * laplace_node_variance(6, *budget)
    stated = one.cdf_error(one.points[:-1]) * 300
    assert np.mean(np.square(found)) == pytest.approx(np.mean(stated**2), rel=0.2)


def test_classes_are_off_by_the_root_of_two_more_than_one_curators(monkeypatch):
    monkeypatch.setattr(
        nolook.ROCCurve, "_store", lambda self, released: vars(self).update(c=released[1:])
    )
    values, targets = some_owners()
    counts = exact(ROC, values, targets)
    both, budget, rows = halved(counts), shares.tree_budget(ROC), shares.rows_epsilon(ROC)
    errors = {name: ([], []) for name in ("positive", "negative", "rows")}
    for seed in range(RUNS):
        one, source = of_sums(ROC, both, 300, seed, None).c, SeededSource(seed)
        for name, curve, own in zip(("positive", "negative"), one, counts, strict=True):
            other = one_curator(*budget, own, None, source)
            for place, each in enumerate((curve.counts, other)):
                errors[name][place].append(size(each[:-1] - own[:-1]))
        errors["rows"][0].append(one[1].rows - counts[1, -1])
        errors["rows"][1].append(laplace_release(np.zeros(1, dtype=int), 1, rows, source)[0])
    for pair in errors.values():
        assert_twice(*pair)
    assert one[0].noise.node_variance == 2 * laplace_node_variance(6, *budget)
    assert one[0].noise.rows_variance == 2 * laplace_variance(1, rows)


@pytest.mark.slow
def test_groups_are_off_by_the_root_of_two_more_than_central_ones(monkeypatch):
    values, targets = some_owners()
    counts = exact(CALIBRATION, values, targets)
    both, places = halved(counts), words(20, 100, 1023)
    edges = np.concatenate([[0.0], CALIBRATION.points()[places.astype(int)]])
    upto = np.diff(counts[:, places.astype(int)].astype(np.int64), axis=1, prepend=0)
    wanted = {"positives": upto[0], "negatives": upto[1]}
    wanted["excess"] = upto[2] / 2**30 - edges[:-1] * (upto[0] + upto[1])
    monkeypatch.setattr(
        "nolook.algorithms.distribution.PrivateDistribution.ppf", lambda *_: edges[1:-1]
    )
    monkeypatch.setattr("nolook.estimators.calibration.HosmerLemeshow._store",
                        lambda self, released: vars(self).update(table_=released[1]))  # fmt: skip
    curves = answered(CALIBRATION, shares.noisy_curves, both, 0, 300)
    errors = {name: ([], []) for name in wanted}
    for seed in range(RUNS):
        asked = answered(CALIBRATION, groups_at(places), both, seed, 300)
        one = answers.calibration(CALIBRATION, curves, asked, places).table_
        other = central_groups(CALIBRATION, values, targets, seed)[1]
        for place, table in enumerate((one, other)):
            for name, numbers in wanted.items():
                errors[name][place].append(getattr(table, name) - numbers)
    np.testing.assert_array_equal(one.borders, other.borders)
    for name, (found, central) in errors.items():
        scale = np.sqrt(np.mean(np.square(central), axis=0))
        assert_twice([size(row / scale) for row in found], [size(row / scale) for row in central])
        stated = getattr(one, "excess_variance" if name == "excess" else "count_variance")
        np.testing.assert_allclose(np.mean(np.square(found), axis=0), stated, rtol=0.4)
    np.testing.assert_allclose(one.count_variance, 2 * other.count_variance, rtol=1e-12)
    np.testing.assert_allclose(one.excess_variance, 2 * other.excess_variance, rtol=1e-12)


@pytest.mark.parametrize(
    ("noisy", "positive", "negative"), [(3, 3, 7), (0, 1, 10), (-4, 1, 10), (12, 10, 1)]
)
def test_class_sizes_come_from_the_number_of_positive_rows(noisy, positive, negative):
    pair = answered(ROC, shares.noisy_curves, halved(np.zeros((2, 64), "u8")), 0, 10)
    rows = halved(np.array([noisy], dtype=np.int64).view(np.uint64))
    pair = (
        replace(one, numbers=one.numbers | {"rows": half})
        for one, half in zip(pair, rows, strict=True)
    )
    found = answers.distribution(ROC, *pair)
    assert (found.n_positive_, found.n_negative_) == (positive, negative)


# --- thresholds asked for ---------------------------------------------------------------------

WIDE = Batch("any", "ecdf", 1.0)


class Servers:
    """Both servers of a batch, asked for points only; remembers what they were asked for."""

    def __init__(self, batch, values, number=0):
        self.batch, self.values, self.number = batch, np.asarray(values), number
        self.rounds = []

    def __call__(self, places):
        self.rounds.append(places)
        both = sums_at(self.batch, self.values, None, places)
        pair = answered(self.batch, points_at(places), both, self.number, len(self.values))
        return answers.counts(self.batch, *pair, places)[0]


def test_counts_at_thresholds_are_exact_without_noise():
    batch = evolve(WIDE, epsilon=NO_NOISE)
    values = [-3.0, 0.0, 2.0, 2.0, 1e300, np.inf]
    places = answers.places(batch, [-3.0, -2.9999, 0.0, 2.5, 1e200, np.finfo(float).max])
    pair = answered(batch, points_at(places), sums_at(batch, values, None, places), 0, 6)
    counts, errors = answers.counts(batch, *pair, places)
    np.testing.assert_array_equal(counts, [1, 1, 2, 4, 4, 6])
    np.testing.assert_array_equal(errors, 0.0)


@pytest.mark.slow
def test_counts_at_thresholds_have_their_standard_errors():
    places = answers.places(WIDE, [0.0, np.finfo(float).max])
    both = halved(np.array([[40, 100]], dtype=np.uint64))
    found = []
    for number in range(900):
        pair = answered(WIDE, points_at(places), both, number, 100)
        counts, errors = answers.counts(WIDE, *pair, places)
        found.append(counts - [40, 100])
    assert np.std([one[0] for one in found]) == pytest.approx(errors[0], rel=0.16)
    assert errors[1] == 0.0
    np.testing.assert_array_equal(np.stack(found)[:, 1], 0.0)


@pytest.mark.parametrize("batch", [ECDF, WIDE], ids=["narrow", "wide"])
def test_without_noise_quantiles_are_those_of_the_central_release(batch):
    batch = evolve(batch, epsilon=NO_NOISE)
    values = scores()[0][:200]
    ask = Servers(batch, values)
    wanted = np.array([0.0, 1e-9, 0.25, 0.5, 0.505, 0.9, 1.0])
    found, errors = answers.quantiles(batch, 200, wanted, ask)
    central = nolook.ECDF(NO_NOISE, batch.grid, 0.0, "replace").fit(values)
    np.testing.assert_array_equal(found, central.ppf(wanted))
    np.testing.assert_array_equal(errors, central.ppf(wanted, return_std=True)[1])
    assert len(ask.rounds) <= batch.levels


def test_quantiles_of_noisy_counts_divide_them_at_the_share():
    """Counts are the same in every round, so the ends of a search are a crossing."""
    batch, values = evolve(WIDE, epsilon=0.5), scores()[0][:500]
    ask = Servers(batch, values, number=7)
    wanted = np.array([0.1, 0.5, 0.99])
    found, errors = answers.quantiles(batch, 500, wanted, ask)
    assert len(ask.rounds) <= batch.levels == 17
    assert max(map(len, ask.rounds)) <= 9
    places = answers.places(batch, found)
    assert (ask(places) >= 500 * wanted).all()
    assert (ask(places - np.uint64(1)) < 500 * wanted).all()
    assert (errors > 0).all()
    pair = answered(batch, points_at(words(5)), halved(words(3)[None]), 0, 500)
    one_error = answers.counts(batch, *pair, words(5))[1][0] / 500
    low, _ = answers.quantiles(batch, 500, (wanted - one_error).clip(0, 1), ask)
    high, _ = answers.quantiles(batch, 500, (wanted + one_error).clip(0, 1), ask)
    np.testing.assert_allclose(errors, (high - low) / 2, rtol=1e-12)


def test_a_search_for_no_quantile_asks_nothing():
    found, errors = answers.quantiles(ECDF, 5, [], None)
    assert len(found) == len(errors) == 0


def test_only_what_has_no_features_is_made_of_a_release_without_a_table():
    for made in (nolook.ECDF, nolook.ROCCurve, nolook.HosmerLemeshow):
        assert hasattr(made, "keep_release")
    for made in (nolook.LinearRegression, nolook.KendallSelector, nolook.PrivatePipeline):
        assert not hasattr(made, "keep_release")


def test_a_release_that_does_not_fit_leaves_an_estimator_as_it_was():
    values, targets = scores()
    found = federated(ECDF, values, targets)
    before = dict(vars(found))
    with pytest.raises(ValueError, match="unpack"):
        found.keep_release((), privacy=found.privacy_, recipe={})
    assert vars(found) == before


# --- files and pages --------------------------------------------------------------------------


def test_a_distribution_can_be_shown():
    found = federated(ECDF, *scores())
    page = render_page(ecdf_findings(found, "score"), table="scores")
    assert "The number of rows, which is taken for public." in page


def test_a_roc_curve_can_be_shown():
    found = federated(ROC, *scores())
    assert "score" in render_page(roc_findings(found, SCORED), table="scores")


def test_a_calibration_can_be_shown():
    found = federated(CALIBRATION, *scores())
    assert len(found.calibration_curve().counts) == found.degrees_of_freedom_
    page = render_page(calibration_findings(found, SCORED), table="scores")
    assert "The number of rows, which is taken for public." in page


# --- answers that do not fit ------------------------------------------------------------------


def two(batch=ECDF):
    counts = np.zeros((len(batch.curves), 2**batch.levels), dtype=np.uint64)
    return answered(batch, shares.noisy_curves, halved(counts), 0, 5)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"role": 0}, "the answers are not of both servers"),
        ({"role": 2}, "the answers are not of both servers"),
        ({"batch": bytes(32)}, "an answer is about another batch; expected scores"),
        ({"reports": b"\1" * 32}, "about different sets of reports"),
        ({"n": 6}, "about different sets of reports"),
        ({"numbers": {}}, "other numbers than were asked for"),
        ({"numbers": {"count": words(1, 2)}}, "other numbers than were asked for"),
        ({"numbers": {"sum": np.zeros(64, "u8")}}, "other numbers than were asked for"),
        ({"numbers": {"count": np.zeros((64, 1), "u8")}}, "other numbers than were asked for"),
    ],
)
def test_answers_that_do_not_fit_are_refused_in_one_line(changed, expected):
    one, other = two()
    wrong = replace(other, **changed)
    for pair in ((one, wrong), (wrong, one)):
        with pytest.raises(NolookError, match=expected) as caught:
            answers.distribution(ECDF, *pair)
        assert "\n" not in str(caught.value)


def test_answers_in_either_order_are_the_same():
    one, other = two()
    found, again = (answers.distribution(ECDF, *pair) for pair in ((one, other), (other, one)))
    assert_same_counts(found.distribution_, again.distribution_)
    assert found.distribution_.noise == again.distribution_.noise


def test_answers_about_no_reports_are_refused():
    pair = tuple(replace(one, n=0) for one in two())
    with pytest.raises(NolookError, match="different sets of reports"):
        answers.distribution(ECDF, *pair)


def test_answers_about_groups_of_another_set_are_refused():
    curves = two(CALIBRATION)
    both = halved(np.zeros((3, 1024), dtype=np.uint64))
    for changed in ({"n": 6}, {"reports": b"\1" * 32}):
        asked = answered(CALIBRATION, groups_at(words(1023)), both, 0, 5)
        pair = tuple(replace(one, **changed) for one in asked)
        with pytest.raises(NolookError, match="about curves and groups are of other sets"):
            answers.calibration(CALIBRATION, curves, pair, words(1023))


def test_answers_about_other_groups_are_refused():
    curves = two(CALIBRATION)
    both = halved(np.zeros((3, 1024), dtype=np.uint64))
    pair = answered(CALIBRATION, groups_at(words(1023)), both, 0, 5)
    with pytest.raises(NolookError, match="other numbers than were asked for"):
        answers.calibration(CALIBRATION, curves, pair, words(5, 1023))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: answers.distribution(CALIBRATION, *two(CALIBRATION)), "of kind hosmer-lemeshow"),
        (lambda: answers.distribution(WIDE, None, None), r"2\*\*17 thresholds; expected one"),
        (lambda: answers.distribution(ECDF, *two(), "best"), "smoothing is 'best'; expected one"),
        (lambda: answers.borders(ROC, *two(ROC)), "scores is of kind roc, which has no groups"),
        (lambda: answers.borders(CALIBRATION, *two(CALIBRATION), 0), "groups is 0; expected"),
        (lambda: answers.borders(CALIBRATION, *two(CALIBRATION), 101), "groups is 101; expected"),
        (lambda: answers.calibration(CALIBRATION, None, None, words(3)), "do not increase"),
        (lambda: answers.counts(ROC, None, None, words(3)), "is of kind roc; expected an ecdf"),
        (lambda: answers.quantiles(ROC, 5, [0.5], None), "is of kind roc; expected an ecdf"),
        (lambda: answers.quantiles(ECDF, 5, [1.5], None), "shares is not from 0 to 1"),
        (lambda: answers.quantiles(ECDF, 5, [np.nan], None), "shares is not from 0 to 1"),
        (lambda: answers.quantiles(ECDF, 5, 0.5, None), "shares is not from 0 to 1"),
        (lambda: answers.places(ECDF, [0.5, 0.01]), "a number below 0.015625, the first one"),
        (lambda: answers.places(ECDF, [np.nan]), "a number below 0.015625, the first one"),
    ],
)
def test_a_wrong_parameter_is_one_line(call, expected):
    with pytest.raises(ParameterError, match=expected) as caught:
        call()
    assert "\n" not in str(caught.value)

"""What the analyst makes of both answers: agreement with a central release, errors, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from sklearn.metrics import roc_auc_score

import nolook
from nolook.algorithms import node_counts
from nolook.algorithms.cumulative_noise import ForestNoise
from nolook.algorithms.forest import best_forest
from nolook.errors import NolookError, ParameterError
from nolook.federated.answers import block_variance, calibration, counts, distribution
from nolook.federated.shares import Answer, noisy_blocks
from nolook.privacy.mechanisms.laplace import laplace_variance
from nolook.report.page import render_page
from tests.federated.made import AGES, LOUD, SCORES, answered, answers, batch_of, shared

VALUES = np.random.default_rng(0).integers(0, 99, 300) * 1.0
SCORED = np.random.default_rng(1).integers(1, 17, 300) / 16
TARGETS = np.random.default_rng(2).uniform(size=300) < SCORED


def test_without_noise_the_distribution_is_exact():
    found = distribution(batch_of(), *answered(batch_of(), VALUES))
    upto = [np.mean(t >= VALUES) for t in range(100)]
    assert found.cdf(np.arange(100.0)) == pytest.approx(upto, abs=1e-9)
    assert found.rows_.value == 300


def test_without_noise_the_curve_is_exact():
    batch = batch_of("roc", grid=SCORES)
    found = distribution(batch, *answered(batch, SCORED, TARGETS))
    assert found.auc_ == pytest.approx(roc_auc_score(TARGETS, SCORED), abs=1e-6)


def test_what_comes_back_is_what_a_central_release_gives():
    batch = batch_of(epsilon=1.0)
    found = distribution(batch, *answered(batch, VALUES))
    central = nolook.ECDF(1.0, AGES, relation="replace", random_state=0).fit(VALUES)
    assert type(found) is type(central)
    variance = found.distribution_.noise.block_variance
    assert variance == pytest.approx(2 * laplace_variance(4, 1.0))
    assert found.rows_.value == central.rows_.value == 300
    assert found.privacy_.epsilon == 1.0
    assert found.privacy_.private


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_counts_have_the_noise_of_both_servers_and_add_up(delta):
    labels = [f"level {place}" for place in range(38)]
    batch = batch_of("counts", 1.0, None, labels=tuple(labels), columns=("ward",), delta=delta)
    codes = np.random.default_rng(3).integers(0, 40, 4000) * 1.0
    exact = np.bincount(codes.astype(int), minlength=40)
    runs, shares = [], shared(batch, codes)
    for run in range(20):
        secrets = [bytes([run, role] * 16) for role in (0, 1)]
        found = counts(batch, *answers(batch, *shares, secrets)).measured[0].estimates
        assert found.value[0] == 4000
        assert found.value[1:].sum() == pytest.approx(4000)
        runs.append(found)
    noise = np.array([one.value[1:] - exact for one in runs])
    # Two servers' noise, of which what all levels have in common is known to be 0.
    assert noise.std() == pytest.approx(np.sqrt(2 * block_variance(batch) * 39 / 40), rel=0.1)
    inside = [(one.noise_low[1:] <= exact) & (exact <= one.noise_high[1:]) for one in runs]
    assert 0.93 <= np.mean(inside) <= 0.975
    with pytest.raises(ParameterError, match="is of kind counts"):
        distribution(batch, *answered(batch, codes))


def test_gaussian_noise_says_so():
    batch = batch_of(epsilon=1.0, delta=1e-6)
    found = distribution(batch, *answered(batch, VALUES))
    assert found.privacy_.delta == 1e-6
    assert np.isfinite(found.cdf(40.0))


def mean_error(noise, points):
    places = np.arange(1, points)
    return np.sqrt(np.mean(noise.between(np.zeros_like(places), places, 0.0)))


@pytest.mark.parametrize("grid", [None, nolook.LinearGrid(0, 2**15 - 1, 1), AGES])
def test_errors_are_at_most_the_root_of_two_over_one_curator_s(grid):
    """Of the formulas' mean squares."""
    batch = batch_of(epsilon=1.0, grid=grid)
    points = len(batch.points())
    new = mean_error(ForestNoise(batch.forest, 2 * block_variance(batch), 0.0), points)
    forest = best_forest(points, "laplace")  # what a central release under replacement has
    central = ForestNoise(forest, laplace_variance(2 * forest.levels, 1.0), 0.0)
    assert new <= 1.42 * mean_error(central, points)


def test_stated_errors_are_those_of_repeated_answers(monkeypatch):
    # They hold for counts before they are made to rise.
    monkeypatch.setattr(node_counts, "rising", lambda noisy, _: noisy)
    batch = batch_of(epsilon=1.0)
    ages = np.array([20.0, 50.0, 80.0])
    answers = answered(batch, VALUES)
    shares = [np.zeros((1, 100), np.uint64), np.zeros((1, 100), np.uint64)]
    shares[0][0] = np.bincount(VALUES.astype(int), minlength=100)
    found, stated = [], None
    for seed in range(400):
        keys = [bytes([seed % 256, seed // 256, role]) + bytes(29) for role in (0, 1)]
        pair = [
            evolve(answers[role], numbers=noisy_blocks(batch, shares[role], keys[role]))
            for role in (0, 1)
        ]
        ecdf = distribution(batch, *pair)
        found.append(ecdf.cdf(ages))
        stated = ecdf.distribution_.noise_alone.cdf_error(ages)
    off = np.array(found) - [np.mean(age >= VALUES) for age in ages]
    assert np.sqrt(np.mean(off**2, axis=0)) == pytest.approx(stated, rel=0.15)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"role": 0}, "the answers are not from both servers"),
        ({"role": 2}, "the answers are not from both servers"),
        ({"batch": bytes(32)}, "an answer is about another batch; expected ages"),
        ({"reports": bytes(32)}, "about different sets of reports"),
        ({"n": 299}, "about different sets of reports"),
        ({"numbers": {}}, "different numbers than requested"),
        ({"numbers": {"count": np.zeros(2, "u8")}}, "different numbers than requested"),
        ({"numbers": {"sum": np.zeros(110, "u8")}}, "different numbers than requested"),
        ({"numbers": {"count": np.zeros((110, 1), "u8")}}, "different numbers than requested"),
    ],
)
def test_answers_that_do_not_belong_together_are_refused(changed, expected):
    batch = batch_of()
    one, other = answered(batch, VALUES)
    wrong = evolve(other, **changed)
    for pair in ((one, wrong), (wrong, one)):
        with pytest.raises(NolookError, match=expected) as caught:
            distribution(batch, *pair)
        assert "\n" not in str(caught.value)


def test_answers_about_no_reports_are_refused():
    pair = [evolve(one, n=0) for one in answered(batch_of(), VALUES)]
    with pytest.raises(NolookError, match="different sets of reports"):
        distribution(batch_of(), *pair)


def test_answers_in_either_order_are_the_same():
    batch = batch_of(epsilon=1.0)
    pair = answered(batch, VALUES)
    found, again = (distribution(batch, *each).distribution_ for each in (pair, pair[::-1]))
    assert (found.counts == again.counts).all()


HARD = {
    "one owner": [0.3],
    "first cell": [-1.0, 0.0, 0.0],
    "last cell": [1.0, 2.0, 0.999],
    "infinite": [-np.inf, np.inf, np.inf],
    "missing": [np.nan, np.nan, 0.5],
}


@pytest.mark.parametrize("values", HARD.values(), ids=HARD)
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("epsilon", [1.0, LOUD])
@pytest.mark.parametrize("kind", ["ecdf", "roc", "hosmer-lemeshow"])
def test_degenerate_batches_have_ordinary_answers(kind, values, positive, epsilon):
    batch = batch_of(kind, epsilon, None if kind == "hosmer-lemeshow" else SCORES)
    targets = None if kind == "ecdf" else np.full(len(values), positive)
    pair = answered(batch, values, targets)
    if kind == "hosmer-lemeshow":
        found = calibration(batch, *pair)
        assert 0.0 < found.p_value_ <= 1.0
        assert np.isfinite(found.table_.expected_positives).all()
        return
    found = distribution(batch, *pair)
    if kind == "ecdf":
        assert found.rows_.value == len(values)
        assert 0.0 <= found.cdf(0.5) <= found.cdf(1.0) == 1.0
    else:
        assert (found.fpr_[0], found.fpr_[-1], found.tpr_[0], found.tpr_[-1]) == (0, 1, 0, 1)
        assert 0.0 <= found.auc_ <= 1.0
        assert 1.0 <= min(found.n_positive_, found.n_negative_) <= len(values)


def test_a_grid_of_one_level_is_enough():
    batch = batch_of(grid=nolook.LinearGrid(0, 1, 1))
    found = distribution(batch, *answered(batch, [-1.0, 0.0, 0.5, 2.0]))
    np.testing.assert_allclose(found.distribution_.counts, [2.0, 4.0], atol=1e-9)


def test_only_what_has_no_features_is_made_of_a_release_without_a_table():
    for made in (nolook.ECDF, nolook.ROCCurve, nolook.HosmerLemeshow):
        assert hasattr(made, "keep_release")
    for made in (nolook.LinearRegression, nolook.KendallSelector, nolook.PrivatePipeline):
        assert not hasattr(made, "keep_release")


def test_a_release_that_does_not_fit_leaves_an_estimator_as_it_was():
    found = distribution(batch_of(), *answered(batch_of(), VALUES))
    before = dict(vars(found))
    with pytest.raises(ValueError, match="unpack"):
        found.keep_release((), privacy=found.privacy_, read_options={})
    assert vars(found) == before


@pytest.mark.parametrize("kind", ["ecdf", "roc", "hosmer-lemeshow"])
def test_a_release_can_be_saved_loaded_and_shown(tmp_path, kind):
    batch = batch_of(kind, 1.0, None if kind == "hosmer-lemeshow" else SCORES)
    pair = answered(batch, SCORED, None if kind == "ecdf" else TARGETS)
    file = tmp_path / "a.json"
    found = (calibration if kind == "hosmer-lemeshow" else distribution)(batch, *pair)
    nolook.save(found, file)
    again = nolook.load(file)
    again.scored_ = getattr(found, "scored_", None)
    assert again.privacy_.budget == found.privacy_.budget
    assert again.privacy_.relation == "replace"
    assert render_page(again.content()) == render_page(found.content())
    page = render_page(found.content())
    assert "The number of rows, which is treated as public." in page


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_sums_that_cannot_be_are_refused_and_honest_ones_never(delta):
    batch = batch_of(epsilon=1.0, delta=delta, lengths=(20, 5, 1))
    shares = shared(batch, VALUES)
    for seed in range(20):
        distribution(batch, *answers(batch, *shares, (bytes([seed]) * 32, b"1" * 32)))
    first, second = answered(batch, VALUES)
    for place in (0, 3, 7, 40, 124):
        for by in (3000, -3000):
            wrong = second.numbers["count"].copy()
            wrong[place : place + 1] += np.uint64(by % 2**64)
            with pytest.raises(NolookError, match="the sums are impossible"):
                distribution(batch, first, evolve(second, numbers={"count": wrong}))


# Calibration.

CALIBRATION = batch_of("hosmer-lemeshow", grid=None)
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
    batch = batch_of("hosmer-lemeshow", 1.0, None)
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
    batch, generator = batch_of("hosmer-lemeshow", 1.0, None), np.random.default_rng(6)
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
    batch = batch_of("hosmer-lemeshow", grid=None)
    pair = answered(batch, SCORED, TARGETS)
    with pytest.raises(ParameterError, match="is of kind hosmer-lemeshow"):
        distribution(batch, *pair)
    with pytest.raises(ParameterError, match="is of kind ecdf; expected hosmer-lemeshow"):
        calibration(batch_of(), *answered(batch_of(), VALUES))
    with pytest.raises(ParameterError, match="groups"):
        calibration(batch, *pair, groups=0)

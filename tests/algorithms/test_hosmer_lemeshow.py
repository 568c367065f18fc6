from __future__ import annotations

import itertools

import numpy as np
import pytest

from nolook.algorithms import hosmer_lemeshow
from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.evaluation import calibration_release
from nolook.algorithms.hosmer_lemeshow import release_sums, split_of_groups
from nolook.algorithms.node_counts import IN_FULL
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from nolook.tables.folding import Batches

ROWS = list(itertools.product([0.0, 0.2, 0.25, 0.9, 1.0], [False, True]))


def rows_of(rows):
    return Batches([(np.array(rows, dtype=float).reshape(-1, 2).T,)])


def release(probabilities, positive, epsilon, seed, groups=10):
    table = table_from_arrays(probabilities[:, np.newaxis], positive)
    plan = calibration_release(epsilon, groups)
    return plan.run(table, SeededSource(seed), lambda _: None).table


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 0.3, 7.0])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_events_add_up_to_the_budget(epsilon, relation):
    plan = calibration_release(epsilon, 10, relation)
    spent = sum(event.epsilon for event in plan.events())
    assert epsilon * (1 - 1e-9) < spent <= epsilon


def test_a_group_spends_its_budget_where_the_difference_gains_most():
    borders = np.array([0.0, 0.01, 0.4, 0.5, 1.0])
    counts, sums = split_of_groups(0.7, borders)
    assert (counts + sums <= 0.7).all()
    assert (counts + sums > 0.7 * (1 - 1e-9)).all()
    left, width = borders[:-1], np.diff(borders)

    def variance(counts, sums):
        return ((1 - left) ** 2 + left**2) / counts**2 + (width / sums) ** 2

    for move in (0.99, 1.01):
        other = move * counts
        assert (variance(counts, sums) < variance(other, 0.7 - other)).all()


def exact_losses(monkeypatch, rows, epsilon, borders):
    """Return the log probabilities of every outcome of each independent release of the sums."""
    found = []

    def laplace(values, sensitivity, epsilon, source):
        # Discrete Laplace, the normalising factor being the same for all tables.
        scale = sensitivity / epsilon
        for value in values.tolist():
            outcomes = np.linspace(-3 * sensitivity, 6 * sensitivity, 28).round()
            found.append(-np.abs(outcomes - value) / scale)
        return values

    monkeypatch.setattr(hosmer_lemeshow, "laplace_release", laplace)
    release_sums(rows_of(rows), borders, epsilon, SeededSource(0), IN_FULL)
    return found


def neighbours(relation):
    """Yield all pairs of small neighbouring tables."""
    for size in range(3):
        for table in itertools.combinations_with_replacement(ROWS, size):
            for row in ROWS:
                if relation == "add-remove":
                    yield table, (*table, row)
                else:
                    yield from (((*table, row), (*table, other)) for other in ROWS)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("borders", [[0.0, 1.0], [0.0, 0.25, 1.0], [0.0, 0.125, 0.25, 0.5, 1.0]])
def test_the_exact_loss_keeps_the_budget_on_all_small_neighbours(monkeypatch, borders, relation):
    borders, changed = np.array(borders), 1 if relation == "add-remove" else 2
    pairs = [tuple(tuple(sorted(one)) for one in pair) for pair in neighbours(relation)]
    losses = {
        table: exact_losses(monkeypatch, table, 1.5 / changed, borders)
        for table in {one for pair in pairs for one in pair}
    }
    worst = max(
        sum(np.abs(p - q).max() for p, q in zip(losses[one], losses[other], strict=True))
        for one, other in pairs
    )
    # More than the share was not promised, and less than nearly all of it would waste it: but a
    # row that stays in the only group moves its excess once, not twice.
    assert worst <= 1.5 * (1 + 1e-12)
    if relation == "add-remove" or len(borders) > 2:
        assert worst > 0.999 * 1.5


def test_the_noise_has_the_stated_variances():
    generator = np.random.default_rng(0)
    probabilities = np.repeat(np.arange(1, 9) / 8, 500)
    positive = generator.random(4000) < probabilities
    names = ("positives", "counts", "expected_positives", "difference")
    errors = {name: [] for name in names}
    for seed in range(400):
        table = release(probabilities, positive, 0.5, seed, groups=2)
        group = np.searchsorted(table.borders[1:-1], probabilities)
        size = len(table.counts)
        ones, rows, sums = (
            np.bincount(group, weights, size)
            for weights in (positive, np.ones(4000), probabilities)
        )
        for name, found, exact, error in (
            ("positives", table.positives, ones, table.observed_error),
            ("counts", table.counts, rows, table.count_error),
            ("expected_positives", table.expected_positives, sums, table.expected_positives_error),
            ("difference", table.positives - table.expected_positives, ones - sums,
             table.difference_error),
        ):  # fmt: skip
            errors[name].extend((found - exact) / error)
    for name, ratios in errors.items():
        assert np.std(ratios) == pytest.approx(1.0, abs=0.15), name
        assert abs(np.mean(ratios)) < 0.15, name


def test_without_noise_it_is_the_plain_statistic():
    generator = np.random.default_rng(0)
    probabilities = generator.beta(2, 3, 5000)
    positive = generator.random(5000) < probabilities**1.2
    table = release(probabilities, positive, 1e6, 0)
    group = np.searchsorted(table.borders[1:-1], probabilities)
    observed = np.bincount(group, positive)
    expected = np.bincount(group, probabilities)
    rows = np.bincount(group)
    terms = (observed - expected) ** 2 * (1 / expected + 1 / (rows - expected))
    assert len(rows) == 10
    np.testing.assert_array_equal(table.counts, rows)
    np.testing.assert_allclose(table.expected_positives, expected, atol=1e-5)
    assert table.statistic == pytest.approx(terms.sum(), rel=1e-5)


def test_no_division_by_a_number_near_zero():
    """Whatever noise does to an empty group, its term stays below a few of the noise."""
    noise = np.array([1e-12, -1e-12, 0.0, 30.0, -30.0, 1000.0])
    worst = 0.0
    for positives, negatives, excess in itertools.product(noise, repeat=3):
        sums = (np.array([number]) for number in (positives, negatives, excess))
        table = CalibrationTable(np.array([0.0, 1.0]), *sums, np.array([450.0]), np.array([450.0]))
        deviation = (positives - excess) / table.difference_error[0]
        worst = max(worst, table.statistic / max(deviation**2, 1.0))
        assert np.isfinite(np.concatenate(table.rates())).all()
    assert 0.0 < worst <= 4.0


def calibrated(rows, seed, power=1.0, shape=(1, 6)):
    generator = np.random.default_rng(seed)
    probabilities = generator.beta(*shape, rows)
    return probabilities**power, generator.random(rows) < probabilities


@pytest.mark.parametrize(
    ("rows", "epsilon", "shape"),
    [
        pytest.param(3000, 1.0, (1, 6), marks=pytest.mark.slow),
        pytest.param(20_000, 0.1, (1, 6), marks=pytest.mark.slow),
        pytest.param(300, 10.0, (2, 2), marks=pytest.mark.slow),
        (3000, 0.3, (0.3, 0.3)),
    ],
)
def test_p_values_of_a_calibrated_model_are_roughly_uniform(monkeypatch, rows, epsilon, shape):
    monkeypatch.setattr("nolook.algorithms.calibration_table._REPEATS", 999)  # to save time
    found = np.array(
        [
            release(*calibrated(rows, seed, shape=shape), epsilon, seed).p_value
            for seed in range(300)
        ]
    )
    assert 0.01 <= np.mean(found < 0.05) <= 0.10
    assert 0.15 <= np.mean(found < 0.25) <= 0.35
    assert found.min() > 0.0
    assert found.max() <= 1.0


@pytest.mark.slow
def test_a_wrong_model_is_found_out_more_often_with_more_rows_and_more_epsilon(monkeypatch):
    monkeypatch.setattr("nolook.algorithms.calibration_table._REPEATS", 999)

    def power(rows, epsilon):
        found = [
            release(*calibrated(rows, seed, power=1.1), epsilon, seed).p_value < 0.05
            for seed in range(60)
        ]
        return np.mean(found)

    by_epsilon = [power(3000, epsilon) for epsilon in (0.1, 1.0, 10.0)]
    by_rows = [power(rows, 0.3) for rows in (1000, 5000, 30_000)]
    for few, some, many in (by_epsilon, by_rows):
        assert few < some < many
        assert few < 0.3
        assert many > 0.6

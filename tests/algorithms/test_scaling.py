from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import nolook
import nolook.algorithms.scaling as module
from nolook.algorithms.scaling import (
    LIMIT,
    ColumnHistogram,
    ScaleSearch,
    Scaling,
    clipped_rest,
    clipped_share,
)
from nolook.privacy.noise import SeededSource
from nolook.tables import read_table, table_from_arrays
from tests.contracts.columns import COLUMNS, column

ROWS = 20_000


def scaling_of(columns, mu=0.3, seed=0):
    return ScaleSearch(mu).run(table_from_arrays(columns), SeededSource(seed), lambda _: None)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_degenerate_column_gets_a_usable_scale(name):
    values = column(name, ROWS)
    scaling = scaling_of(values[:, None])
    assert np.isfinite(scaling.center).all()
    assert np.isfinite([scaling.low, scaling.high]).all()
    assert (scaling.scale > 0).all()
    assert (scaling.low < scaling.high).all()


@pytest.mark.parametrize("name", ["tiny", "huge", "symmetric", "years", "one outlier"])
def test_the_scale_is_near_that_of_the_bulk(name):
    values = column(name, ROWS)
    scaling = scaling_of(values[:, None])
    low, high = np.quantile(values, [0.16, 0.84])
    assert (high - low) / 4 < scaling.scale[0] < (high - low)
    assert low < scaling.center[0] < high
    assert scaling.detected.all()


def test_normal_columns_get_their_mean_and_standard_deviation():
    generator = np.random.default_rng(0)
    sizes = np.array([1e-12, 1e-3, 1.0, 40.0, 1e9])
    offsets = np.array([0.0, 1e-3, 10.0, -100.0, 5e9])
    columns = generator.normal(size=(ROWS, 5)) * sizes + offsets
    scaling = scaling_of(columns, mu=2.0)
    np.testing.assert_allclose(scaling.scale, sizes, rtol=0.15)
    assert (np.abs(scaling.center - offsets) < 0.1 * sizes).all()
    assert scaling.rows.value == pytest.approx(ROWS, rel=0.01)


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**7, -1.0])
def test_powers_of_two_and_signs_change_units_only(factor):
    # The bins move with the values, so apart from the noise's place everything else is the same.
    values = np.random.default_rng(3).gamma(2.0, size=(ROWS, 1))
    plain = scaling_of(values, mu=5.0)
    scaled = scaling_of(factor * values, mu=5.0)
    np.testing.assert_allclose(scaled.scale, abs(factor) * plain.scale, rtol=0.1)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_table_of_hardly_any_rows_gets_an_ordinary_answer(rows):
    scaling = scaling_of(np.ones((rows, 3)))
    assert np.isfinite([scaling.center, scaling.scale, scaling.low, scaling.high]).all()
    assert not scaling.detected.any()
    assert np.isfinite(scaling.rows.value)
    assert scaling.rows.value >= 1


def test_limits_are_five_scales_from_the_centre():
    scaling = scaling_of(np.random.default_rng(0).normal(size=(ROWS, 2)))
    np.testing.assert_allclose(scaling.high - scaling.center, LIMIT * scaling.scale)
    np.testing.assert_allclose(scaling.center - scaling.low, LIMIT * scaling.scale)


@pytest.mark.parametrize("target", [True, False])
def test_events_compose_to_mu(target):
    events = ScaleSearch(0.7, target=target).events()
    assert sum(event.mu**2 for event in events) == pytest.approx(0.49)


def with_target(columns, target, mu=0.3, seed=0):
    return ScaleSearch(mu).run(
        table_from_arrays(columns, target), SeededSource(seed), lambda _: None
    )


@pytest.fixture
def drawn(monkeypatch):
    """The exact counts, sensitivity and mu of every release."""
    releases = []
    release = module.gaussian_release

    def spy(values, sensitivity, mu, source):
        releases.append((values.copy(), sensitivity, mu))
        return release(values, sensitivity, mu, source)

    monkeypatch.setattr(module, "gaussian_release", spy)
    return releases


def odd_columns(rows):
    generator = np.random.default_rng(1)
    skewed = np.where(generator.random(rows) < 0.95, 0.0, generator.exponential(size=rows))
    flags = generator.random(rows) < 0.5
    return pd.DataFrame(
        {
            "normal": generator.normal(size=rows),
            "flag": flags,
            "zeros": np.zeros(rows),
            "year": generator.integers(1871, 2017, rows).astype(float),
            "mostly zero": skewed,
            "y": generator.normal(size=rows) + 3.0 * flags,
        }
    )


@pytest.mark.parametrize("rows", [40, 400, 6000])
def test_a_row_changes_every_release_by_no_more_than_its_noise_hides(drawn, rows):
    """A row is in one bin of each histogram, whatever columns and bins a round chooses."""
    frame = odd_columns(rows)
    for part in (frame, frame.iloc[1:]):
        ScaleSearch(0.3).run(read_table(part, target="y"), SeededSource(5), lambda _: None)
    events = ScaleSearch(0.3).events()
    whole, less = drawn[: len(events)], drawn[len(events) :]
    for event, (one, sensitivity, mu), (other, _, _) in zip(events, whole, less, strict=True):
        assert mu == event.mu
        assert sensitivity == pytest.approx(np.sqrt(max(1, len(one))))
        assert (one.sum(axis=1) == rows).all()
        assert (other.sum(axis=1) == rows - 1).all()
    for (one, *_), (other, *_) in zip(whole[:3], less[:3], strict=True):
        np.testing.assert_array_equal(np.abs(one - other).sum(axis=1), 1)


def test_the_target_is_released_by_itself_and_columns_of_0_and_1_are_not(drawn):
    scaling = ScaleSearch(5.0).run(
        read_table(odd_columns(6000), target="y"), SeededSource(0), lambda _: None
    )
    # Rows; target and features in three rounds. The column of zeros is not looked at again.
    counted = [len(values) for values, _, _ in drawn]
    assert counted[:5] == [1, 1, 4, 1, 3]
    assert counted[5] == 1
    for values, sensitivity, _ in drawn:
        assert sensitivity == pytest.approx(np.sqrt(max(1, len(values))))
    assert scaling.detected.tolist() == [True, True, False, True, True, True]
    assert scaling.binary.tolist() == [False, True, False, False, False, False]
    assert (scaling.center[1], scaling.scale[1], scaling.histograms[1]) == (0.0, 0.5, None)


def test_where_every_column_is_0_or_1_only_rows_are_counted(drawn):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({name: generator.random(500) < 0.3 for name in "aby"})
    scaling = ScaleSearch(1.0).run(read_table(frame, target="y"), SeededSource(0), lambda _: None)
    assert sum(values.size for values, _, _ in drawn) == 2  # rows used, and rows left out
    assert scaling.detected.all()
    np.testing.assert_array_equal(scaling.center, [0.0, 0.0, 0.5])
    np.testing.assert_array_equal(scaling.scale, 0.5)
    np.testing.assert_array_equal(scaling.low, 0.0)
    np.testing.assert_array_equal(scaling.high, 1.0)


def test_without_a_target_all_columns_share_its_budget():
    events = ScaleSearch(1.0, target=False).events()
    assert len(events) == 4
    assert sum(event.mu**2 for event in events[1:]) == pytest.approx(0.9)


@pytest.mark.parametrize("value", [0.0, 7.3, -1e300, 1.7e308, 2.0**53])
def test_a_target_without_spread_is_not_visible(value):
    seen = [
        with_target(np.zeros((ROWS, 1)), np.full(ROWS, value), seed=seed).detected[-1]
        for seed in range(12)
    ]
    # Noise shows one in 50: chance to fail below 1e-7.
    assert sum(seen) <= 5


@pytest.mark.parametrize(
    "make",
    [
        lambda random: random.normal(size=ROWS),
        lambda random: random.integers(1871, 2017, ROWS).astype(float),
        lambda random: np.exp(9 + 0.8 * random.normal(size=ROWS)),
        lambda random: 5.0 + (random.random(ROWS) < 0.3),
        lambda random: np.sign(random.normal(size=ROWS)),
        lambda random: 1e300 * random.normal(size=ROWS),
    ],
)
def test_an_ordinary_target_is_visible_and_its_scale_right(make):
    values = make(np.random.default_rng(0))
    for seed in range(5):
        scaling = with_target(np.zeros((ROWS, 1)), values, seed=seed)
        assert scaling.detected[-1]
        unit = np.abs(values).max()
        spread = (values / unit).std() * unit
        assert abs(scaling.center[-1] - (values / unit).mean() * unit) < 0.3 * spread
        assert 0.5 * spread < scaling.scale[-1] < 2.0 * spread


def marks(random):
    """Few whole numbers, as marks given by people."""
    return random.choice(9, size=6500, p=[0, 0, 0, 0.01, 0.03, 0.33, 0.43, 0.17, 0.03]) * 1.0


def used(random):
    """Nothing in most rows, all in many."""
    return np.clip(50.0 * random.normal(size=15_000) - 20.0, 0.0, 40.0)


def graded(random):
    """Most at the upper end."""
    return np.minimum(random.exponential(3.0, size=4000), 2.3)


@pytest.mark.parametrize(("make", "mu"), [(marks, 0.013), (used, 0.012), (graded, 0.03)])
def test_a_target_of_few_values_gets_its_own_spread_at_a_small_budget(make, mu):
    """Two or three values that hold most rows are no narrow column around one of them."""
    values = make(np.random.default_rng(0))
    found = [with_target(np.zeros((values.size, 1)), values, mu, seed) for seed in range(12)]
    ratios = np.array([each.scale[-1] for each in found]) / values.std()
    assert abs(math.log(np.median(ratios))) < math.log(1.6)
    assert sum(each.detected[-1] for each in found) >= 10


def test_a_mean_far_from_zero_hides_the_spread():
    values = 1e4 + np.random.default_rng(0).normal(size=ROWS)
    assert not with_target(np.zeros((ROWS, 1)), values).detected[-1]


def test_zeros_are_rows_and_no_evidence():
    generator = np.random.default_rng(0)
    columns = np.stack([np.zeros(ROWS), generator.normal(size=ROWS)], axis=1)
    assert with_target(columns, generator.normal(size=ROWS)).detected.tolist() == [0, 1, 1]


def test_years_get_their_own_spread():
    """Every bin far from the years is empty: their noise must not widen the scale."""
    generator = np.random.default_rng(0)
    years = generator.integers(1871, 2017, 10_000).astype(float)
    columns = np.stack([years, *generator.normal(size=(9, 10_000))], axis=1)
    scales = [
        with_target(columns, columns[:, 1], mu=0.15, seed=seed).scale[0] for seed in range(10)
    ]
    assert sum(scale > 2 * years.std() for scale in scales) <= 1
    assert min(scales) > years.std() / 2


@pytest.mark.parametrize("rows", [0, 1, 30, 3000])
@pytest.mark.parametrize("mu", [1e-5, 0.02, 100.0])
def test_no_table_gives_centres_or_scales_out_of_range(rows, mu):
    generator = np.random.default_rng(rows)
    sizes = np.array([1.7e308, 5e-324, 1e300, 1e-300, 1.0, 2.0**999])
    columns = np.sign(generator.normal(size=(rows, 6))) * sizes
    for seed in range(3):
        scaling = with_target(columns, columns.sum(axis=1) * 0.0 + 1.7e308, mu=mu, seed=seed)
        assert (np.abs(scaling.center) < 2.0**1002).all()
        assert ((scaling.scale > 0) & (scaling.scale < 2.0**1002)).all()
        assert np.isfinite(scaling.median).all()


def few(share, others, common=0.0):
    """Return a column of one value but for a share of the rows, and a normal one."""
    generator = np.random.default_rng(4)
    some = generator.random(ROWS) < share
    values = np.where(some, others(generator), common)
    return np.stack([values, generator.normal(size=ROWS)], axis=1), values[some]


@pytest.mark.parametrize(
    ("share", "others", "common"),
    [
        (0.01, lambda _: 1.0, 0.0),
        (0.03, lambda _: 1.0, 0.0),
        (0.03, lambda _: -250.0, 0.0),
        (0.03, lambda random: 1.0 + (random.random(ROWS) < 0.3), 0.0),
        (0.03, lambda random: np.sign(random.normal(size=ROWS)), 0.0),
        (0.04, lambda random: np.floor(100 * random.random(ROWS)), 999.0),
        (0.03, lambda _: 2.0, 1.0),
        (0.03, lambda _: 1.0, 2.0),
        (0.02, lambda random: 1e6 * random.choice([1.0, 7.0], ROWS), 0.0),
    ],
)
def test_of_mostly_one_value_no_other_is_clipped(share, others, common):
    """The noise around the common value is no spread: by it every other value was clipped."""
    columns, rest = few(share, others, common)
    for seed in range(3):
        scaling = with_target(columns, columns[:, 1], mu=0.2, seed=seed)
        assert scaling.detected[0]
        assert scaling.low[0] <= rest.min()
        assert rest.max() <= scaling.high[0]
        reach = np.abs(rest - common).max()
        assert reach / LIMIT <= 1.05 * scaling.scale[0] <= 5.0 * reach / LIMIT
        assert abs(scaling.center[0] - common) < reach / 20.0


@pytest.mark.parametrize("share", [0.001, 0.01])
def test_values_too_few_to_be_found_leave_nothing_or_the_right_scale(share):
    """Evidence that there are some does not tell where: a scale by noise would clip them all."""
    columns, _ = few(share, lambda _: 1.0)
    for seed in range(10):
        scaling = with_target(columns, columns[:, 1], mu=0.07, seed=seed)
        assert not scaling.detected[0] or 0.15 < scaling.scale[0] < 1.0


def test_the_clipped_rest_is_a_share_of_the_few_other_values():
    edges = np.arange(6.0)
    low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
    histogram = ColumnHistogram(low, high, np.array([0.0, 960, 0, 20, 0, 0, 20]), 0.5)
    assert clipped_rest(histogram, -1.0, 6.0, 1000.0) == pytest.approx(18.5 / 40)
    assert clipped_rest(histogram, -1.0, 2.5, 1000.0) == pytest.approx((40 - 1.5 * 2) / 40)
    noisy = ColumnHistogram(low, high, histogram.counts, 20.0)
    assert clipped_rest(noisy, -1.0, 2.5, 1000.0) == 0.0
    spread = ColumnHistogram(low, high, np.array([0.0, 500, 0, 0, 0, 0, 500]), 0.5)
    assert clipped_rest(spread, -1.0, 2.5, 1000.0) == 0.0


def test_the_last_histogram_of_every_column_is_kept():
    generator = np.random.default_rng(0)
    values = generator.normal(size=(ROWS, 2))
    scaling = with_target(values, values[:, 0], mu=5.0)
    for histogram in scaling.histograms:
        assert histogram.low[0] == -np.inf
        assert histogram.high[-1] == np.inf
        np.testing.assert_allclose(histogram.high[:-1], histogram.low[1:])
        assert histogram.counts.sum() == pytest.approx(ROWS, rel=0.05)


def test_the_clipped_share_is_an_upper_bound_that_is_not_far_off():
    generator = np.random.default_rng(0)
    values = generator.standard_t(3, size=(ROWS, 1))
    scaling = with_target(values, values[:, 0], mu=5.0)
    for limit in (1.0, 1.5, 2.0):
        low, high = scaling.center - limit * scaling.scale, scaling.center + limit * scaling.scale
        outside = np.mean((values < low[0]) | (values > high[0]))
        share, error = clipped_share(scaling.histograms[0], low[0], high[0], scaling.rows.value)
        assert outside < share < outside + 0.1
        assert 0 < error < 0.01


def test_the_clipped_share_counts_bins_that_reach_beyond():
    edges = np.array([0.0, 1.0, 2.0, 3.0])
    histogram = ColumnHistogram(
        np.append(-np.inf, edges), np.append(edges, np.inf), np.array([1.0, 8, 80, 10, 1]), 0.5
    )
    share, error = clipped_share(histogram, 0.5, 2.0, 100.0)
    assert error == pytest.approx(0.5 * np.sqrt(4) / 100)
    assert share == pytest.approx(0.20 + error)
    assert clipped_share(histogram, 0.5, 2.0, 1.0)[0] == 1.0


def test_the_scaler_tells_which_columns_it_guessed():
    values = np.zeros((ROWS, 3))
    values[:, 1] = np.random.default_rng(0).normal(size=ROWS)
    values[0, 2] = 1e6
    scaler = nolook.QuantileScaler(random_state=0).fit(values)
    assert scaler.detected_.tolist() == [False, True, False]


def test_models_come_back_in_the_columns_units():
    scaling = Scaling(
        ("a", "b", "y"), np.array([10.0, -2.0, 5.0]), np.array([2.0, 0.5, 4.0]), np.ones(3) > 0
    )
    theta = np.array([0.25, -1.0, 3.0])
    coef, intercept = scaling.original_units(theta)
    row = np.array([7.0, 4.0])
    standard = np.array([1.0, *(row - scaling.center[:2]) / scaling.scale[:2]])
    assert intercept + row @ coef == pytest.approx(5.0 + 4.0 * (standard @ theta))
    tiny = Scaling(("a", "b", "y"), np.zeros(3), np.array([1e-300, 1.0, 1e300]), np.ones(3) > 0)
    coef, intercept = tiny.original_units(theta)
    assert np.isfinite([*coef, intercept]).all()

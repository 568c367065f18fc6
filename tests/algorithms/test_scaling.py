from __future__ import annotations

import numpy as np
import pytest

from nolook.algorithms.scaling import (
    LIMIT,
    ScaleSearch,
    center_and_scale,
    occupied_range,
    trimmed_range,
)
from nolook.kernels.histogram import MAGNITUDE_BINS, magnitude_counts
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
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
    assert scaling.visible.all()


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
    assert not scaling.visible.any()
    assert np.isfinite(scaling.rows.value)
    assert scaling.rows.value >= 1


def test_limits_are_five_scales_from_the_centre():
    scaling = scaling_of(np.random.default_rng(0).normal(size=(ROWS, 2)))
    np.testing.assert_allclose(scaling.high - scaling.center, LIMIT * scaling.scale)
    np.testing.assert_allclose(scaling.center - scaling.low, LIMIT * scaling.scale)


def test_events_compose_to_mu():
    assert sum(event.mu**2 for event in ScaleSearch(0.7).events()) == pytest.approx(0.49)


def test_noise_alone_is_hardly_ever_taken_for_data():
    generator = np.random.default_rng(0)
    exact = magnitude_counts(generator.normal(size=(1, 100_000)) + 10).astype(float)
    sigma = 60.0
    expected = occupied_range(exact, sigma)
    runs = 400  # false alarms have probability 1e-4 a run: more than 5 have less than 1e-11
    wrong = 0
    for _ in range(runs):
        low, high, _ = occupied_range(
            exact + generator.normal(scale=sigma, size=exact.shape), sigma
        )
        wrong += not (expected[0][0] / 4 <= low[0] and high[0] <= expected[1][0] * 2)
    assert wrong <= 5


def test_without_noise_the_occupied_range_holds_every_frequent_value():
    columns = np.array([np.linspace(-6.0, 11.0, 1000), np.linspace(0.26, 3.9, 1000)])
    low, high, visible = occupied_range(magnitude_counts(columns).astype(float), 1e-9)
    assert low[0] == -8.0
    assert high[0] == 16.0
    assert (low[1], high[1]) == (0.25, 4.0)
    assert visible.all()


def test_zero_only_means_a_range_around_zero():
    counts = np.zeros((1, MAGNITUDE_BINS))
    counts[0, MAGNITUDE_BINS // 2] = 500.0
    low, high, _ = occupied_range(counts, 1.0)
    assert (low[0], high[0]) == (-1.0, 1.0)


def test_the_tails_are_trimmed():
    counts = np.zeros((1, 50))
    counts[0, 10:20] = 1000.0
    counts[0, 40] = 3.0  # less than half a percent
    low, high = trimmed_range(counts, 1e-6, np.array([0.0]), np.array([1.0]))
    assert (low[0], high[0]) == (9.0, 19.0)


def test_centre_and_scale_of_a_known_histogram():
    counts = np.zeros((1, 6))
    counts[0, [1, 4]] = 50.0  # the middles of the first and last inner bin: 0.5 and 3.5
    center, scale, median = center_and_scale(counts, 1e-6, np.array([10.0]), np.array([2.0]))
    assert center[0] == pytest.approx(10.0 + 2.0 * 2.0)
    assert scale[0] == pytest.approx(1.5 * 2.0)
    assert median[0] == 10.0 + 0.5 * 2.0


def test_a_single_bin_gives_a_scale_of_one_bin():
    counts = np.zeros((1, 6))
    counts[0, 2] = 50.0
    _, scale, _ = center_and_scale(counts, 1e-6, np.array([0.0]), np.array([0.25]))
    assert scale[0] == 0.25

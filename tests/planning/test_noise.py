"""The noise of groups that is stated before a release, compared with what releases draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nolook
from nolook.estimators.releasing import DryRun, dry_running
from nolook.planning.noise import group_noise

REPEATS = 150
LEVELS = list("ABCDEFGH")


def of_wards(each):
    random = np.random.default_rng(3)
    ward = np.repeat(LEVELS, each)
    frame = pd.DataFrame({"ward": ward, "age": random.normal(50.0, 10.0, ward.size)})
    frame["again"] = random.random(ward.size) < 0.5
    return nolook.read_table(frame, False, categories={"ward": LEVELS})


@pytest.fixture(scope="module")
def rows():
    return of_wards(1_000)


@pytest.fixture(scope="module")
def few():
    return of_wards(200)


def stated(make):
    with pytest.raises(DryRun) as found, dry_running():
        make()
    return group_noise(found.value.release, found.value.table)


@pytest.mark.parametrize(
    ("relation", "delta"),
    [
        ("add-remove", 0.0),
        ("replace", 1e-6),
        pytest.param("add-remove", 1e-6, marks=pytest.mark.slow),
        pytest.param("replace", 0.0, marks=pytest.mark.slow),
    ],
)
def test_noise_of_counts_is_as_large_as_stated(few, delta, relation):
    def make(seed=None):
        given = {"epsilon": 0.2, "delta": delta, "relation": relation, "random_state": seed}
        return nolook.tabulate(few, ["ward"], **given)

    half = [*stated(make).count.values()][-1]
    frames = [make(seed).to_frame().reset_index() for seed in range(REPEATS)]
    counts = np.array([frame[frame.ward.isin(LEVELS)]["count"] for frame in frames])
    within = np.mean(np.abs(counts - 200.0) <= half)
    assert 0.93 < within < 0.97
    narrower = np.mean(np.abs(counts - 200.0) <= 0.7 * half)
    assert narrower < 0.93


def test_noise_of_means_is_about_as_large_as_stated(rows):
    def make(seed=None):
        return nolook.tabulate(rows, ["ward"], mean="age", epsilon=0.5, random_state=seed)

    half = stated(make).mean / 1_000 * 10.0
    exact = rows_of(rows)
    frames = [make(seed).to_frame().reset_index() for seed in range(REPEATS // 3)]
    means = np.array([frame[frame.ward.isin(LEVELS)]["mean_age"] for frame in frames])
    within = np.mean(np.abs(means - exact) <= half)
    assert 0.9 < within < 0.995


def rows_of(rows):
    random = np.random.default_rng(3)
    return random.normal(50.0, 10.0, 8_000).reshape(8, 1_000).mean(axis=1)


def test_of_shares_the_noise_of_the_counts_of_each_level_is_stated(rows):
    shares = stated(lambda: nolook.tabulate(rows, ["ward"], share="again", epsilon=1.0))
    levels = stated(lambda: nolook.tabulate(rows, ["ward", "again"], epsilon=1.0))
    assert shares.count["all rows"] == pytest.approx(levels.count["all rows"])
    assert [*shares.count] == [*levels.count][:2]


def test_nothing_is_stated_of_a_release_without_groups(rows):
    ages = nolook.read_table(np.zeros((3, 1)), False)
    assert stated(lambda: nolook.ECDF(1.0).fit(ages)) is None


def test_a_description_a_comparison_and_curves_state_the_noise_of_their_counts(rows):
    makes = (
        lambda: nolook.describe(rows, epsilon=1.0),
        lambda: nolook.compare_groups(rows, "age", "ward", epsilon=1.0),
        lambda: nolook.survival(rows, "age", "again", "ward", epsilon=1.0),
    )
    assert all(min(stated(make).count.values()) > 0.0 for make in makes)

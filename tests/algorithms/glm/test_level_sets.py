"""Columns that are all levels of one category: differences from the mean of the rows' levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nolook

ROWS = 6000
EFFECTS = {"cut_Fair": -1.0, "cut_Good": 0.0, "cut_Ideal": 2.5}


def rows(seed=0, shares=(0.2, 0.3, 0.5)):
    """Return a table with all levels of a category as columns, and a target."""
    generator = np.random.default_rng(seed)
    level = generator.choice(len(shares), ROWS, p=shares)
    frame = pd.DataFrame({name: (level == i) * 1.0 for i, name in enumerate(EFFECTS)})
    frame["size"] = generator.normal(size=ROWS)
    means = np.array([*EFFECTS.values(), 0.0])[level]
    return frame, means + frame["size"].to_numpy() + generator.normal(size=ROWS)


@pytest.mark.parametrize("make", [nolook.LinearRegression, nolook.LogisticRegression])
def test_differences_from_the_mean_have_intervals_that_hold(make):
    held, size = [], []
    shares = np.array([0.2, 0.3, 0.5])
    true = np.array([*EFFECTS.values()]) - shares @ [*EFFECTS.values()]
    for seed in range(4):
        X, y = rows(seed)
        target = y
        if make is nolook.LogisticRegression:
            target = y + 4 * np.random.default_rng(seed).normal(size=ROWS) > np.median(y)
        model = make(epsilon=3.0, random_state=seed).fit(X, target)
        assert model.level_sets_ == (tuple(EFFECTS),)
        assert abs(shares @ model.coef_[:3]) < 0.05
        low, high = model.coef_interval_[:3].T
        held += ((low <= true) & (true <= high)).tolist()
        size += ((high - low) / 2).tolist()
        assert model.coefficients[2].clear
    assert max(size) < 0.8
    if make is nolook.LinearRegression:
        assert sum(held) >= 11


def test_a_rare_level_takes_no_interval_from_others():
    X, y = rows(shares=(0.03, 0.37, 0.6))
    model = nolook.LinearRegression(epsilon=3.0, random_state=0).fit(X, y)
    assert model.level_sets_ == (tuple(EFFECTS),)
    low, high = model.coef_interval_[1:3].T
    assert max(high - low) < 0.4


def test_predictions_do_not_change_with_the_names():
    X, y = rows()
    named = nolook.LinearRegression(epsilon=1.0, random_state=0).fit(X, y)
    plain = nolook.LinearRegression(epsilon=1.0, random_state=0).fit(X.to_numpy(), y)
    assert named.level_sets_
    assert not plain.level_sets_
    np.testing.assert_allclose(named.predict(X), plain.predict(X.to_numpy()), atol=1e-9)


@pytest.mark.parametrize(
    "names",
    [
        ("season_1", "season_2", "season_3"),
        ("cut_Very_Good", "cut_Good", "cut_Not_Good"),
        ("job.admin.", "job.blue-collar", "job.none"),
    ],
)
def test_levels_may_be_numbers_and_have_separators(names):
    X, y = rows()
    X = X.rename(columns=dict(zip(EFFECTS, names, strict=True)))
    stem = names[0][: names[0].index(names[0].strip("abcdefghijklmnopqrstuvwxyz")[0])]
    X[f"{stem}_years"] = np.random.default_rng(1).integers(1, 17, ROWS)
    X[f"{stem}_share"] = np.random.default_rng(2).random(ROWS)
    assert nolook.LinearRegression(epsilon=3.0, random_state=0).fit(X, y).level_sets_ == (names,)


def test_shares_that_add_up_are_not_levels():
    X, y = rows()
    X[[*EFFECTS]] = np.random.default_rng(0).dirichlet((1.0, 1.0, 1.0), ROWS)
    assert nolook.LinearRegression(epsilon=3.0, random_state=0).fit(X, y).level_sets_ == ()


@pytest.mark.parametrize("left_out", [0, 1])
def test_columns_that_do_not_add_up_keep_their_slopes(left_out):
    X, y = rows(shares=(0.05, 0.45, 0.5))
    X = X.drop(columns=[[*EFFECTS][left_out]])
    model = nolook.LinearRegression(epsilon=3.0, random_state=0).fit(X, y)
    assert model.level_sets_ == ()


def test_noise_that_hides_a_sum_turns_nothing():
    X, y = rows()
    assert nolook.LinearRegression(epsilon=0.02, random_state=0).fit(X, y).level_sets_ == ()


def test_a_report_compares_with_the_mean_and_a_file_keeps_the_sets(tmp_path):
    X, y = rows()
    model = nolook.LinearRegression(epsilon=3.0).fit(X, y)
    nolook.save(model, tmp_path / "m.json")
    again = nolook.load(tmp_path / "m.json")
    assert again.level_sets_ == model.level_sets_
    said = " ".join(str(again.summary()).split())
    assert "higher for cut_Ideal than for the average over the 3 levels of cut" in said


def test_columns_with_curves_are_left_as_they_are():
    X, y = rows()
    model = nolook.AdditiveRegression(epsilon=10.0, random_state=0)
    model.fit(X, y + 3.0 * X["size"] ** 2)
    assert not all(curve.straight for curve in model.curves_)
    assert model.level_sets_ == ()

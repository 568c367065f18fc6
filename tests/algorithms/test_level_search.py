"""Undeclared levels: how often those of one unit show, and what stands out."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import nolook
from nolook.algorithms import level_search
from nolook.algorithms.level_search import LevelSearch, level_weights, threshold
from nolook.privacy.accounting import total_delta
from nolook.privacy.guarantee import DeltaEvent, GaussianEvent
from nolook.privacy.noise import SeededSource
from nolook.tables.views import with_levels

WHOLE = 2**30


def opened(cities, **options):
    frame = pd.DataFrame({"city": cities, **{k: v for k, v in options.items() if k == "id"}})
    unit = {"unit": "id"} if "id" in options else {}
    return nolook.read_table(
        frame, False, features=["city"], categories={"city": [None]}, **unit
    ).as_codes(found=["city"])


def searching(mu, delta, most):
    return LevelSearch((0,), GaussianEvent("levels", mu), DeltaEvent("once", delta), most)


def worst_unit(most):
    """Return a unit with nearly all its rows at one level, and one row at each of the others."""
    names = ["a"] * 4096 + [f"b{i}" for i in range(most - 1)]
    return opened(names, id=np.zeros(len(names), int))


def how_often_shown(most, mu=0.5, delta=0.1, runs=4000):
    """Return how often some level of the worst unit, alone in its table, is shown."""
    _, weights = level_weights(worst_unit(most), 0, most, SeededSource(1))
    rho, source = level_search.threshold(mu, delta, most), SeededSource(2)
    copies = np.tile(weights, (runs, 1))
    noisy = level_search.gaussian_release(copies, WHOLE, mu, source)
    return float((noisy > rho).any(axis=1).mean())


@pytest.mark.parametrize("most", [1, 8, 64])
def test_levels_of_one_unit_show_as_seldom_as_delta_says(most):
    shown = how_often_shown(most)
    error = math.sqrt(0.1 * 0.9 / 4000)
    assert 0.085 - 4 * error < shown < 0.1 + 4 * error


@pytest.mark.parametrize("fault", ["one key", "equal weights", "smaller noise"])
def test_a_fault_of_the_threshold_is_found(fault, monkeypatch):
    faults = {
        "one key": lambda rho, s, _: -norm.logcdf((rho - 1) / s),
        "equal weights": lambda rho, s, most: -most * norm.logcdf((rho - 1 / most) / s),
        "smaller noise": lambda rho, s, _: -norm.logcdf((rho - 1) / (0.7 * s)),
    }
    most = 64 if fault == "one key" else 2 if fault == "equal weights" else 1
    error = math.sqrt(0.1 * 0.9 / 4000)
    mu = 4.0 if fault == "equal weights" else 0.5
    assert how_often_shown(most, mu) < 0.1 + 4 * error
    monkeypatch.setattr(level_search, "_failure", faults[fault])
    assert how_often_shown(most, mu) > 0.1 + 4 * error


def test_a_unit_counts_once_and_for_a_limited_number_of_levels():
    names = [f"x{i % 200}" for i in range(1000)]
    codes, weights = level_weights(opened(names, id=np.zeros(1000, int)), 0, 64, SeededSource(0))
    assert len(codes) == len(weights) == 64
    assert weights.sum() <= WHOLE
    everyone = level_weights(opened(names, id=np.arange(1000)), 0, 64, SeededSource(0))[1]
    np.testing.assert_array_equal(everyone, 5 * WHOLE)
    alone = level_weights(opened([*names, None, ""]), 0, 1, SeededSource(0))[1]
    np.testing.assert_array_equal(alone, 5 * WHOLE)


def test_what_is_shown_is_what_many_have():
    names = ["Bern"] * 500 + ["Basel"] * 300 + [f"x{i}" for i in range(200)]
    table = opened(names)
    shown = searching(0.2, 1e-6, 1).run(table, SeededSource(0), 100)
    assert with_levels(table, shown).code_labels == (("Basel", "Bern", "...", "missing"),)
    assert len(searching(0.2, 1e-6, 1).run(table, SeededSource(0), 1)[0]) == 1
    rho = threshold(0.2, 1e-6, 1) / WHOLE
    assert searching(0.2, 1e-6, 1).chance(rho) == 0.5
    assert searching(0.2, 1e-6, 1).chance(20) < 0.25


def test_a_delta_is_added_to_the_total():
    events = [GaussianEvent("counts", 0.2), DeltaEvent("once", 1e-7)]
    assert total_delta(events, 1.0) == pytest.approx(total_delta(events[:1], 1.0) + 1e-7)


def tabulated(names, **options):
    frame = pd.DataFrame({"city": names})
    table = nolook.read_table(frame, False, features=["city"], categories={"city": [None]})
    return nolook.tabulate(table, "city", find_levels=True, random_state=0, **options)


def test_found_levels_are_counted_and_kept(tmp_path):
    names = ["Bern"] * 900 + ["Ol\nten"] * 800 + ["missing", "..."] * 300 + ["Chur"] + [None] * 200
    found = tabulated(names)
    assert found.levels == {"city": ("Bern", "Ol\nten", "...", "missing")}
    counts = found.to_frame()["count"]
    assert abs(counts["..."] - 601) < 60
    assert abs(counts["missing"] - 200) < 60
    assert found.privacy.delta == 1e-6
    nolook.save(found, tmp_path / "a.json")
    assert nolook.load(tmp_path / "a.json").levels == found.levels


@pytest.mark.parametrize(
    ("given", "words"),
    [({"delta": 0.0}, "needs a delta"), ({"relation": "replace"}, "add-remove")],
)
def test_what_is_refused_costs_nothing(given, words, costs_nothing):
    costs_nothing(lambda ledger: tabulated(["a", "b"], ledger=ledger, **given), words)

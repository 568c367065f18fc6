"""`survival`: what it returns, refuses, and protects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nolook


def patients(rows=8000):
    generator = np.random.default_rng(0)
    arm = generator.choice(["A", "B"], rows)
    end = generator.exponential(np.where(arm == "A", 300.0, 450.0))
    seen = generator.uniform(100.0, 900.0, rows)
    days = np.ceil(np.minimum(end, seen)).astype(int)
    died = end <= seen
    status = np.where(died, "dead", "alive")
    who = generator.integers(0, rows // 2, rows)
    return pd.DataFrame({"arm": arm, "days": days, "died": died, "status": status, "id": who})


def opened(rows=8000, **options):
    levels = {"arm": ["A", "B"], "status": ["alive", "dead"]}
    columns = ["arm", "days", "died", "status"]
    return nolook.read_table(patients(rows), False, features=columns, categories=levels, **options)


def test_curves_medians_and_the_test_are_those_of_the_population():
    found = nolook.survival(opened(), "days", "died", "arm", epsilon=4.0, random_state=0)
    assert found.whole
    assert found.p_value == 0.002
    for name, curve, mean in zip(found.groups, found.curves, (300.0, 450.0), strict=True):
        at = np.array([50.0, 200.0, 500.0])
        value, low, high = found.survival_at(at)[name]
        np.testing.assert_allclose(value, np.exp(-at / mean), atol=0.03)
        assert (low < value).all()
        assert (value < high).all()
        np.testing.assert_array_equal(found.survival_at(at + 0.9)[name][0], value)
        middle, *ends = curve.median()
        assert all(each % 1 == 0 for each in (middle, *ends))
        assert abs(middle / (mean * np.log(2.0)) - 1.0) < 0.1
        assert ends[0] < middle < ends[1]
    frame = found.to_frame()
    assert frame.index.names == ["arm", "days"]
    assert (frame.survival.loc["A"].diff().dropna() <= 0).all()
    assert (frame.survival.loc["A"].index[:1] == 0.0).all()
    assert (frame.survival.loc["A"].index.to_series().diff().dropna() > 0.0).all()


def test_the_axis_of_a_curve_that_stays_high_starts_above_0_and_says_so():
    few = patients().assign(died=lambda frame: frame.died & (frame.id % 8 == 0))
    for rows, high in ((few, True), (patients(), False)):
        found = nolook.survival(nolook.read_table(rows), "days", "died", epsilon=8.0)
        (figure,) = found.content().sections[0].figures
        up, legend = figure.picture.up, figure.picture.legend
        assert (up.low >= 0.5) == high == (f"starts at {up.low}, not at 0" in legend)
        lows = [float(each.low.min()) for each in figure.picture.marks if hasattr(each, "low")]
        assert up.low <= min(lows)


def test_the_event_may_be_the_second_of_two_levels_and_there_may_be_no_groups():
    by_level = nolook.survival(opened(), "days", "status", epsilon=4.0, random_state=0)
    by_truth = nolook.survival(opened(), "days", "died", epsilon=4.0, random_state=0)
    assert by_level.groups == ("all",)
    assert by_level.p_value is None
    first, second = (each.survival_at([300.0])["all"][0] for each in (by_level, by_truth))
    np.testing.assert_allclose(first, second, atol=0.02)


def test_rows_of_a_unit_share_it_or_count_in_full():
    shared = nolook.survival(opened(unit="id"), "days", "died", "arm", epsilon=4.0)
    assert abs(shared.rows.value - patients().id.nunique()) < 60
    assert shared.p_value is not None
    several = opened(unit="id", rows_per_unit=2)
    full = nolook.survival(several, "days", "died", "arm", epsilon=1e4)
    assert full.p_value is not None
    assert full.curves[0].known


@pytest.mark.parametrize("rows", [228, 686])
def test_too_few_rows_are_said_to_be_too_few(rows):
    hidden = 0
    for seed in range(6):
        table = opened(rows)
        found = nolook.survival(table, "days", "died", "arm", epsilon=0.3, random_state=seed)
        hidden += found.p_value is None
        assert ("No p-value" in found.summary().text) == (found.p_value is None)
    assert hidden == 6


@pytest.mark.parametrize("values", [np.zeros(400), np.full(400, 1e300), np.full(400, np.nan)])
def test_times_that_do_not_vary_are_shown(values):
    frame = pd.DataFrame({"died": np.arange(400) % 2 == 0, "x": values, "by": np.arange(400) < 200})
    table = nolook.read_table(frame)
    assert str(nolook.survival(table, "x", "died", "by", epsilon=5.0, random_state=0).summary())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"time": "status"}, "time names 'status', a category"),
        ({"event": "days", "time": "died"}, "event names 'days', which has no declared levels"),
        ({"by": "died"}, "by names 'died' again"),
        ({"by": "city"}, "by names 'city'"),
        ({"epsilon": 0.0}, "epsilon"),
    ],
)
def test_what_is_refused_costs_nothing(given, words, costs_nothing):
    asked = {"time": "days", "event": "died", **given}
    costs_nothing(
        lambda ledger: nolook.survival(opened(), ledger=ledger, **asked), words, nolook.NolookError
    )


def test_an_event_has_two_levels(costs_nothing):
    levels = {"status": ["alive", "dead", "lost"]}
    table = nolook.read_table(patients(50), False, features=["days", "status"], categories=levels)
    costs_nothing(
        lambda ledger: nolook.survival(table, "days", "status", ledger=ledger),
        "event has 3 declared levels",
    )


def test_no_test_is_made_where_noise_hides_the_times():
    frame = patients(228)
    table = nolook.read_table(
        frame, features=["days", "died", "arm"], categories={"arm": ["A", "B"]}
    )
    known = []
    for seed in range(8):
        found = nolook.survival(table, "days", "died", "arm", epsilon=0.7, random_state=seed)
        known.append(all(curve.known for curve in found.curves))
        assert found.p_value is None or known[-1]
    assert sum(known) >= 6


@pytest.mark.parametrize("seed", [0, 13, 14])
def test_events_of_the_first_cell_may_be_anywhere_in_it(seed):
    generator = np.random.default_rng(seed)
    died = generator.random(3_500) < 0.12
    early = np.minimum(np.floor(generator.exponential(6.0, died.size)) + 1.0, 89.0)
    rows = pd.DataFrame({"days": np.where(died, early, 90.0).astype(int), "died": died})
    table = nolook.read_table(rows, False)
    found = nolook.survival(table, "days", "died", epsilon=0.5, random_state=seed)
    places = np.array([5.0, 40.0])
    _, low, high = found.survival_at(places)["all"]
    true = 1.0 - 0.12 * -np.expm1(-places / 6.0)
    assert ((low <= true) & (true <= high)).all()

"""`compare_groups`: what it returns, refuses, and protects."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import nolook

ARMS = ["A", "B", "C"]


def patients(rows=12_000):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({
        "arm": generator.choice([*ARMS, "other", None], rows, p=[0.4, 0.3, 0.2, 0.06, 0.04]),
        "id": generator.integers(0, rows // 3, rows),
    })  # fmt: skip
    frame["cost"] = np.exp(generator.normal(np.where(frame.arm == "B", 0.3, 0.0), 1.0))
    frame.loc[:300, "cost"] = np.nan
    frame["dead"] = generator.random(rows) < np.where(frame.arm == "B", 0.3, 0.1)
    frame["sex"] = generator.choice(["m", "f"], rows)
    return frame


def opened(**options):
    levels = {"arm": ARMS, "sex": ["m", "f"]}
    columns = ["arm", "cost", "dead", "sex"]
    return nolook.read_table(patients(), False, features=columns, categories=levels, **options)


def test_groups_are_compared_with_the_first_as_without_privacy():
    found, rows = nolook.compare_groups(opened(), "cost", "arm", epsilon=8.0, random_state=0), None
    rows = {arm: group.dropna() for arm, group in patients().groupby("arm").cost}
    assert found.groups == tuple(ARMS)
    assert found.p_value == 0.001
    assert abs(found.rows.value - 12_000) < 60
    for pair in found.pairs:
        own, first = rows[pair.group], rows["A"]
        assert pair.difference.low < own.mean() - first.mean() < pair.difference.high
        exceeds = stats.mannwhitneyu(own, first).statistic / (len(own) * len(first))
        assert abs(pair.exceeds.value - exceeds) < 0.006
        assert abs(pair.distance - stats.ks_2samp(own, first).statistic) < 0.015
    known, other = found.pairs
    assert known.p_values.ranks == known.p_values.distance == 0.001
    assert other.p_values.ranks > 0.02
    frame = found.to_frame()
    assert [*frame.index] == ARMS
    assert np.isnan(frame.difference["A"])
    assert frame.difference_low["B"] > 0
    assert abs(frame["values"]["C"] - len(rows["C"])) < 60


@pytest.mark.parametrize(
    "where", ["arm in (A, B)", "arm != C", ["arm in (A, B, C)", "arm not in (c)"]]
)
def test_a_group_that_a_condition_excludes_is_not_compared(where):
    found = nolook.compare_groups(opened(where=where), "cost", "arm", epsilon=8.0, random_state=0)
    assert found.groups == ("A", "B")
    assert found.p_value == 0.001
    assert "too few" not in found.summary().text
    curves = nolook.survival(opened(where=where), "cost", "dead", "arm", epsilon=8.0)
    assert curves.groups == ("A", "B")


def test_levels_that_are_numbers_are_excluded_as_numbers(tmp_path):
    rows = patients().assign(arm=lambda frame: frame.arm.map({"A": 1.0, "B": 2.5, "C": 10.0}))
    options = {"features": ["arm", "cost"], "categories": {"arm": ["1", "2.5", "10"]}}
    table = nolook.read_table(rows, False, where="arm in (2.50, 10)", **options)
    found = nolook.compare_groups(table, "cost", "arm", epsilon=8.0, random_state=0)
    assert found.groups == ("2.5", "10")
    nolook.save(found, tmp_path / "found.json")
    assert nolook.load(tmp_path / "found.json").groups == found.groups
    with pytest.raises(nolook.ParameterError, match="1 declared levels in use; expected 2"):
        nolook.compare_groups(opened(where="arm = A"), "cost", "arm")


def test_a_boolean_is_compared_by_its_shares():
    found = nolook.compare_groups(opened(), "dead", "arm", epsilon=8.0, random_state=0)
    shares = patients().groupby("arm").dead.mean()
    pair = found.pairs[0]
    assert found.boolean
    assert abs(pair.difference.value - (shares["B"] - shares["A"])) < 0.01
    assert abs(pair.exceeds.value - 0.5 - (shares["B"] - shares["A"]) / 2) < 0.01
    assert "%" in found.summary().text
    assert "higher" not in found.content().conclusion[-1]
    (figure,) = found.content().sections[0].figures
    assert [mark.name for mark in figure.picture.marks] == ARMS


@pytest.mark.parametrize("share", [0.02, 0.9, 0.94, 0.98])
def test_intervals_of_shares_near_0_and_1_hold_them(share):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"arm": np.where(rng.random(4_000) < 0.5, "A", "B")})
    rows["dead"] = rng.random(4_000) < share
    table = nolook.read_table(rows, False, categories={"arm": ["A", "B"]})
    truth = rows.groupby("arm").dead.mean().to_numpy()
    held = 0
    for seed in range(4):
        found = nolook.compare_groups(table, "dead", "arm", epsilon=1.0, random_state=seed)
        frame = found.to_frame()
        held += ((frame.mean_low <= truth) & (truth <= frame.mean_high)).sum()
    assert held >= 6


def test_shares_end_at_0_and_1():
    rows = patients().assign(dead=lambda frame: frame.arm == "nobody")
    table = nolook.read_table(rows, False, features=["arm", "dead"], categories={"arm": ARMS})
    found = nolook.compare_groups(table, "dead", "arm", epsilon=0.1, random_state=0)
    frame = found.to_frame()
    assert (found.means.low < 0.0).any()
    assert (frame.mean_low >= 0.0).all()
    assert (frame.mean_high <= 1.0).all()


def test_means_of_values_with_a_long_tail_are_said_to_be_low():
    rows = patients().assign(cost=lambda frame: frame.cost**2)
    table = nolook.read_table(rows, False, features=["arm", "cost"], categories={"arm": ARMS})
    found = nolook.compare_groups(table, "cost", "arm", epsilon=1.0, random_state=0)
    assert "long tail" in " ".join(found.content().sections[0].notes)


def test_rows_of_a_unit_share_it_or_count_in_full(tmp_path):
    shared = nolook.compare_groups(opened(unit="id"), "cost", "arm", epsilon=8.0)
    assert abs(shared.rows.value - patients().id.nunique()) < 60
    assert shared.pairs[0].p_values.ranks == 0.001
    full = nolook.compare_groups(opened(unit="id", rows_per_unit=2), "cost", "arm", epsilon=8.0)
    assert full.p_value == 0.001
    assert full.pairs[0].exceeds.low > 0.5
    full.report(tmp_path / "full.html")
    page = (tmp_path / "full.html").read_text("utf-8")
    assert "an upper bound: that of 2 identical rows each" in page


@pytest.mark.parametrize("rows", [228, 686])
def test_too_few_rows_have_no_p_value(rows):
    few = patients(rows), False
    table = nolook.read_table(*few, features=["arm", "cost"], categories={"arm": ARMS})
    hidden = 0
    for seed in range(6):
        found = nolook.compare_groups(table, "cost", "arm", epsilon=0.3, random_state=seed)
        tests = [found.p_value, *(pair.p_values for pair in found.pairs)]
        hidden += all(each is None for each in tests)
        assert ("too few rows" in found.summary().text) == any(each is None for each in tests)
    assert hidden == 6


def test_few_weighted_rows_are_counted_as_rows_of_the_largest_weight():
    frame = pd.DataFrame({"arm": np.resize(ARMS, 600), "cost": np.arange(600.0), "w": 1.0})
    frame.loc[::10, "w"] = 50.0
    table = nolook.read_table(
        frame, features=["arm", "cost"], categories={"arm": ARMS}, weights="w"
    )
    found = nolook.compare_groups(table, "cost", "arm", epsilon=0.3, random_state=0)
    said = " ".join(found.summary().text.split())
    ((weight, rows),) = re.findall(
        r"a row of weight (\d+), so that all .* as about (\d+) rows", said
    )
    assert float(weight) == found.privacy.unit.row_weight
    assert abs(float(rows) - sum(each.rows for each in found.forests.groups)) < 10


@pytest.mark.parametrize("small", ["A", "B"])
def test_only_the_groups_that_noise_hides_are_said_to_be_too_few(small):
    frame = pd.DataFrame(
        {"arm": [arm for arm in ARMS for _ in range(30 if arm == small else 4000)]}
    )
    frame["cost"] = np.random.default_rng(0).normal(size=len(frame))
    table = nolook.read_table(frame, categories={"arm": ARMS})
    found = nolook.compare_groups(table, "cost", "arm", epsilon=0.5, random_state=0)
    said = found.summary().text
    assert [arm for arm in ARMS if f"Too few values of {arm} to compare it" in said] == [small]
    assert said.count("Too few values") == 1
    assert [each.difference is None for each in found.pairs] == [True, small == "A"]


def test_no_probability_is_given_where_noise_hides_the_range():
    """Of few rows the range may be a guess, and all values are in one cell then."""
    frame = pd.DataFrame({"by": np.arange(600) % 2 == 0})
    frame["x"] = np.random.default_rng(0).normal(np.where(frame.by, 40.0, 30.0), 10.0)
    table = nolook.read_table(frame)
    for seed in range(12):
        (pair,) = nolook.compare_groups(table, "x", "by", epsilon=0.3, random_state=seed).pairs
        assert pair.exceeds is None or pair.exceeds.low < 0.76 < pair.exceeds.high


@pytest.mark.parametrize("values", [np.zeros(400), np.full(400, 1e300), np.full(400, np.nan)])
def test_a_column_that_does_not_vary_does_not_differ(values):
    frame = pd.DataFrame({"by": np.arange(400) % 2 == 0, "x": values})
    found = nolook.compare_groups(nolook.read_table(frame), "x", "by", epsilon=5.0, random_state=0)
    (pair,) = found.pairs
    assert pair.p_values is None or pair.p_values.ranks > 0.001
    assert str(found.summary())


def test_the_number_of_cells_follows_the_rows_found():
    sizes = [
        len(nolook.compare_groups(
            nolook.read_table(patients(rows), False, features=["cost", "dead"]), "cost", "dead",
            epsilon=1.0, random_state=0,
        ).forests.points)
        for rows in (300, 20_000)
    ]  # fmt: skip
    assert sizes[0] < 40 < sizes[1]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"value": "age"}, "value names 'age'"),
        ({"by": "city"}, "by names 'city'"),
        (
            {"value": "sex"},
            "value names 'sex', a category; expected numbers or a boolean .two words",
        ),
        ({"by": "cost", "value": "dead"}, "by names 'cost', which has no declared levels"),
        ({"by": "dead", "value": "dead"}, "by names 'dead' again"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1e-9}, "epsilon"),
        ({"relation": "swap"}, "relation"),
    ],
)
def test_what_is_refused_costs_nothing(given, words, costs_nothing):
    asked = {"value": "cost", "by": "arm", **given}
    costs_nothing(
        lambda ledger: nolook.compare_groups(opened(), ledger=ledger, **asked),
        words,
        nolook.NolookError,
    )


def test_one_level_and_too_many_are_refused(costs_nothing):
    for levels in (["A"], [f"L{place}" for place in range(21)]):
        table = nolook.read_table(
            patients(), False, features=["arm", "cost"], categories={"arm": levels}
        )
        costs_nothing(
            lambda ledger, table=table: nolook.compare_groups(table, "cost", "arm", ledger=ledger),
            f"by has {len(levels)} declared levels",
        )


def test_what_clipping_moves_in_both_groups_is_allowed_for_once():
    found = nolook.compare_groups(opened(), "cost", "arm", epsilon=0.5, random_state=0)
    first, second, _ = (found.means.high - found.means.low) / 2.0
    half = (found.pairs[0].difference.high - found.pairs[0].difference.low) / 2.0
    assert half < 0.97 * np.hypot(first, second)
    # A quarter of what either allows for clipping, in squares, instead of both.
    clipped = found.shared / np.sqrt(1.75)
    assert 0.0 < clipped < min(first, second)
    rest = first**2 + second**2 - 2.0 * clipped**2
    assert half**2 == pytest.approx(rest + clipped**2 / 4.0)


@pytest.mark.slow
def test_the_difference_of_skewed_values_is_covered():
    """What is clipped and hidden by noise is part of the interval."""
    generator = np.random.default_rng(1)
    covered, runs = 0, 100
    for seed in range(runs):
        second = generator.random(2000) < 0.5
        values = pd.DataFrame({"value": np.exp(generator.normal(0.2 * second, 1.0)), "b": second})
        found = nolook.compare_groups(values, "value", "b", random_state=seed)
        low, high = found.to_frame().iloc[-1][["difference_low", "difference_high"]]
        covered += low <= np.exp(0.7) - np.exp(0.5) <= high
    assert covered / runs >= 0.86


@pytest.mark.parametrize("release", [nolook.compare_groups, nolook.survival])
def test_a_column_that_is_not_named_is_asked_for_in_one_line(release, costs_nothing):
    table = nolook.read_table(np.ones((4, 2)))
    for given in ((), ("x0",), (3, "x1")):
        costs_nothing(partial(release, table, *given), "expected the name of a column")

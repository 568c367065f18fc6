"""`tabulate` and `describe`: what they return, refuse, and protect."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import nolook
from nolook.estimators import tabulated
from nolook.privacy.guarantee import GaussianEvent

LEVELS = {"ward": ["A", "B"], "sex": ["m", "f"]}


def visits(rows=6000):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({
        "ward": generator.choice(["A", "B", "C", None], rows, p=[0.5, 0.4, 0.06, 0.04]),
        "sex": generator.choice(["m", "f"], rows),
        "dead": generator.random(rows) < 0.2,
        "id": generator.integers(0, 2500, rows),
    })  # fmt: skip
    frame["cost"] = generator.normal(np.where(frame.ward == "A", 100.0, 200.0), 10.0)
    frame.loc[:300, "cost"] = np.nan
    return frame


def opened(**options):
    columns = ["ward", "sex", "dead", "cost"]
    return nolook.read_table(visits(), False, features=columns, categories=LEVELS, **options)


def test_groups_are_counted_and_measured_where_values_are_missing_too():
    found = nolook.tabulate(
        opened(), ["ward", "sex"], mean="cost", median="cost", quantiles=[0.9],
        share=["dead", "sex=f"], epsilon=20.0, random_state=0,
    )  # fmt: skip
    frame, rows = found.to_frame(), visits()
    assert frame.index.names == ["ward", "sex"]
    assert len(frame) == (4 + 1) * (4 + 1)
    ward = rows.ward.fillna("missing").replace("C", "...")
    for (one, other), group in rows.groupby([ward, "sex"]):
        got, cost = frame.loc[one, other], group.cost.dropna()
        assert abs(got["count"] - len(group)) < 10
        assert abs(got.mean_cost - cost.mean()) < 3
        assert abs(got.sum_cost - cost.sum()) < 4000
        assert abs(got.cost_q0_5 - cost.median()) < 4
        assert abs(got.share_dead - group.dead.mean()) < 0.05
        assert 0 < 2 * got.mean_cost_noise < got.mean_cost_high - got.mean_cost_low
        assert np.isnan(got.share_sex_f)  # of one level
    total = frame.loc["all", "all"]
    assert abs(total.values_cost - rows.cost.count()) < 30
    assert abs(total.missing_cost - rows.cost.isna().sum()) < 60
    assert abs(total.share_sex_f - (rows.sex == "f").mean()) < 0.02
    np.testing.assert_allclose(frame.loc["A", "all"]["count"], frame.loc["A"][1:]["count"].sum())


def test_the_noise_of_a_frame_is_whole_where_intervals_end_at_0(tmp_path):
    frame, levels = pd.DataFrame({"a": ["x"] * 500}), {"a": [f"l{i}" for i in range(60)] + ["x"]}
    table = nolook.read_table(frame, categories=levels)
    found = nolook.tabulate(table, ["a"], epsilon=0.5, random_state=0)
    nolook.save(found, tmp_path / "found.json")
    for one in (found, nolook.load(tmp_path / "found.json")):
        rows = one.to_frame()
        assert (rows["count"] < 0.0).any()
        ends = rows[["count_low", "count_high"]].sub(rows["count"], axis=0)
        assert (ends["count_low"] <= 0.0).all()
        assert (ends["count_high"] >= 0.0).all()
        noise = rows["count_noise"].drop("all")
        assert noise.to_numpy() == pytest.approx(noise.max())
    cells = str([each.tables for each in found.content().sections])
    assert "(0 to" in cells
    assert "(-" not in cells


def test_quantiles_and_intervals_of_integers_are_such():
    generator = np.random.default_rng(1)
    frame = pd.DataFrame({
        "ward": generator.choice(["A", "B"], 6000),
        "stays": generator.poisson(0.4, 6000),
        "pay": generator.lognormal(8.0, 2.0, 6000).astype(int),
        "kilos": generator.normal(70.0, 10.0, 6000),
    })  # fmt: skip
    asked = {"median": ["stays", "pay", "kilos"], "quantiles": [0.1, 0.25, 0.75, 0.9]}
    table = nolook.read_table(frame, categories={"ward": ["A", "B"]})
    found = nolook.tabulate(table, "ward", **asked, random_state=0).to_frame()
    for name, own in frame.groupby("ward"):
        for at in (0.1, 0.25, 0.5, 0.75, 0.9):
            for column in ("stays", "pay"):
                label = f"{column}_q{at}".replace(".", "_")
                value, low, high = found.loc[name, [label, f"{label}_low", f"{label}_high"]]
                assert [value % 1.0, low % 1.0, high % 1.0] == [0.0, 0.0, 0.0]
                assert low <= value <= high
        ends = [found.loc[name, f"stays_q0_5{end}"] for end in ("_low", "", "_high")]
        assert ends == [own.stays.median()] * 3 == [0.0] * 3
    assert (found.loc[["A", "B"], "kilos_q0_5_low"] % 1.0 != 0.0).all()


def test_several_tables_agree_on_their_margins():
    found = nolook.tabulate(opened(), [["ward"], ["sex", "dead"]], mean="cost", random_state=0)
    frame = found.to_frame()
    total = frame.loc["all", "all", "all"]
    for names in (("A", "B", "...", "missing"), ("m", "f", "...", "missing")):
        place = 0 if names[0] == "A" else 1
        groups = [tuple(n if i == place else "all" for i in range(3)) for n in names]
        np.testing.assert_allclose(frame.loc[groups]["count"].sum(), total["count"])
        np.testing.assert_allclose(frame.loc[groups]["values_cost"].sum(), total.values_cost)


@pytest.mark.parametrize("options", [{}, {"relation": "replace"}, {"delta": 0.0, "epsilon": 5.0}])
def test_tables_of_all_pairs_agree_and_come_near_what_there_is(options):
    frame = visits()
    frame["dead"] = frame.ward == "A"
    table = nolook.read_table(frame, False, features=["ward", "sex", "dead"], categories=LEVELS)
    found = nolook.tabulate(
        table, all_pairs=["ward", "sex", "dead"], random_state=0, **({"epsilon": 0.2} | options)
    )
    assert found.by == (("ward", "sex"), ("ward", "dead"), ("sex", "dead"))
    (first, strength), *others = found.associations().items()
    assert first == ("ward", "dead")
    assert strength > 0.9
    assert all(np.isnan(v) or 0.0 < v < 0.1 for _, v in others)
    estimates = found.to_frame()["estimate"]
    assert estimates.min() >= 0.0
    for name, labels in found.levels.items():
        for other in {*found.levels} - {name}:
            for label in labels:
                own = {name: label} | dict.fromkeys({*found.levels} - {name, other}, "all")
                pair = estimates.xs(tuple(own.values()), level=tuple(own)).drop("all")
                alone = own | {other: "all"}
                whole = estimates[tuple(alone[each] for each in found.names)]
                np.testing.assert_allclose(pair.sum(), whole, atol=1e-6)
    exact = pd.crosstab(frame.ward, frame.dead)
    for ward, dead in (("A", "true"), ("B", "false")):
        assert abs(estimates[ward, "all", dead] - exact.loc[ward, dead == "true"]) < 150


def test_independence_is_tested_where_noise_of_cells_is_independent():
    found = nolook.tabulate(opened(), ["ward", "sex"], random_state=0)
    assert found.independence()[1] > 0.01
    frame = visits()
    frame.loc[frame.ward == "A", "sex"] = "m"
    table = nolook.read_table(frame, False, features=["ward", "sex"], categories=LEVELS)
    assert nolook.tabulate(table, ["ward", "sex"], random_state=0).independence()[1] <= 0.0005
    for other in (
        nolook.tabulate(table, "ward"),
        nolook.tabulate(table, [["ward"], ["sex"]]),
        nolook.tabulate(table, ["ward", "sex"], relation="replace"),
    ):
        assert other.independence() is None


def test_a_total_is_counted_with_numbers_and_independence_knows_the_noise_of_cells(monkeypatch):
    monkeypatch.setattr(tabulated, "independence_test", lambda _, error, **__: error)
    table, by = opened(), ["ward", "sex"]
    counts = nolook.tabulate(table, by)
    # 4 by 4 groups, whose intervals cover the margins' noise too: up to 9 % more than one entry's.
    exact = counts.rows.error / 4.0
    assert exact <= counts.independence() <= 1.09 * exact
    for options in ({"delta": 0.0}, {"epsilon": 0.1, "median": "cost"}):
        found = nolook.tabulate(table, by, mean="cost", **options)
        groups, total = found.privacy.mechanisms[:2]
        assert (groups.name, total.name) == ("counts by group", "number of rows")
        cell, whole = (
            1.0 / one.mu if isinstance(one, GaussianEvent) else 2.0**0.5 / one.epsilon
            for one in (groups, total)
        )
        assert cell * (1.0 - 1e-5) <= found.independence() <= 1.09 * cell
        assert found.rows.error == pytest.approx(1.0 / np.hypot(0.25 / cell, 1.0 / whole), rel=1e-5)
        assert found.rows.error < 3.5 * cell


def test_numbers_that_do_not_stand_out_are_not_shown_nor_those_of_groups_without_rows():
    people, asked = visits(400), {"mean": "cost", "median": "cost", "epsilon": 0.1}
    frames = []
    for seed in range(20):
        table = nolook.read_table(people, False, features=[*LEVELS, "cost"], categories=LEVELS)
        frames.append(nolook.tabulate(table, "ward", **asked, random_state=seed).to_frame())
    for label in ("mean_cost", "sum_cost", "cost_q0_5"):
        assert pd.concat(frames)[label].isna().mean() > 0.97
    found = pd.concat(
        nolook.tabulate(opened(), ["ward", "sex"], mean="cost", random_state=seed).to_frame()
        for seed in range(10)
    )
    assert found[found["count"] <= 0.0].sum_cost.isna().all()
    assert found[found["count"] > 500.0].sum_cost.notna().all()


def test_a_description_has_every_column():
    found = nolook.describe(opened(), epsilon=20.0, random_state=0)
    frame = found.to_frame().set_index(["column", "what"]).value
    assert abs(frame["cost", "mean"] - visits().cost.mean()) < 2
    assert abs(frame["cost", "q0_5"] - visits().cost.median()) < 15
    assert abs(frame["cost", "missing"] - 301) < 40
    assert abs(frame["ward", "missing"] - visits().ward.isna().sum()) < 10
    assert abs(frame["dead", "true"] - visits().dead.sum()) < 10
    assert abs(frame["dead", "share_true"] - visits().dead.mean()) < 0.01


def test_shares_of_levels_are_within_their_intervals():
    generator, covered, shown = np.random.default_rng(0), [], []
    law = {"A": 0.5, "B": 0.4, "C": 0.08, "D": 0.02}
    for seed in range(60):
        frame = pd.DataFrame({"ward": generator.choice([*law], 2000, p=[*law.values()])})
        table = nolook.read_table(frame, categories={"ward": [*law]})
        found = nolook.describe(table, epsilon=0.3, random_state=seed)
        shares = found.to_frame().set_index("what").loc[[f"share_{each}" for each in law]]
        covered.append((shares.low <= [*law.values()]) & (shares.high >= [*law.values()]))
        shown.append(found.content().sections[0].tables[-1].rows)
    assert 0.9 < np.mean(covered) < 0.99
    assert all(" to " in share for rows in shown for *_, share in rows)


def test_a_unit_counts_once_and_rows_in_full_may_be_alike(tmp_path):
    by_weight = nolook.tabulate(opened(unit="id"), "ward", mean="cost", epsilon=20.0)
    persons = visits().id.nunique()
    assert abs(by_weight.rows.value - persons) < 15
    assert by_weight.privacy.unit.column == "id"
    assert "sum_cost" not in by_weight.to_frame()  # one of persons' means is no total
    in_full = nolook.tabulate(opened(unit="id", rows_per_unit=2), "ward", mean="cost")
    frame = in_full.to_frame().dropna()
    assert "sum_cost" in frame
    assert (frame.mean_cost_high - frame.mean_cost > frame.mean_cost_noise).all()
    assert "identical rows" not in str(by_weight.summary())
    hidden = nolook.tabulate(opened(unit="id", rows_per_unit=9), "ward", mean="cost", epsilon=0.02)
    assert "9 times that of a release in which each" in " ".join(str(hidden.summary()).split())
    in_full.report(tmp_path / "full.html")
    page = (tmp_path / "full.html").read_text("utf-8")
    assert "intervals of noise and sampling" in page
    assert "an upper bound: that of 2 identical rows each" in page


def test_under_replacement_the_number_of_units_is_exact():
    found = nolook.tabulate(opened(unit="id"), "ward", relation="replace", epsilon=0.5)
    assert (found.rows.value, found.rows.error) == (visits().id.nunique(), 0.0)
    np.testing.assert_allclose(found.to_frame()["count"].iloc[1:].sum(), found.rows.value)


def test_rows_are_counted_without_a_column():
    found = nolook.tabulate(opened(), epsilon=1e6)
    assert round(found.rows.value) == len(visits())
    assert [event.name for event in found.privacy.mechanisms] == ["counts by group"]


def test_laplace_noise_needs_no_delta():
    assert nolook.tabulate(opened(), "ward", delta=1e-6).privacy.delta == 0.0
    assert nolook.describe(opened(), delta=1e-6).privacy.delta == 1e-6


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"by": "city"}, "by names 'city'"),
        ({"by": "cost"}, "by names 'cost', which has no declared levels"),
        ({"by": "cost"}, "to group dates month_of or year_of"),
        ({"by": ["ward", "sex", "dead", "cost"]}, "at most 3"),
        ({"by": ["ward", "ward"]}, "by"),
        ({"by": "ward", "mean": "sex"}, "mean names 'sex', a category"),
        ({"by": "ward", "median": "sex"}, "median names 'sex', a category"),
        ({"by": "ward", "share": "cost"}, "share names 'cost'"),
        ({"by": "ward", "share": "sex=x"}, "levels do not include 'x'"),
        ({"by": "ward", "quantiles": [0.1]}, "quantiles needs columns"),
        ({"by": "ward", "median": "cost", "quantiles": [2.0]}, "quantiles is not from 0 to 1"),
        ({"by": "ward", "epsilon": 0.0}, "epsilon"),
        ({"by": "ward", "delta": 1.0}, "delta"),
        ({"by": "ward", "relation": "swap"}, "relation"),
        ({"all_pairs": ["ward", "sex", "dead"], "by": "ward"}, "leave those out"),
        ({"all_pairs": ["ward", "sex", "dead"], "find_levels": True}, "leave those out"),
        ({"all_pairs": ["ward", "sex"]}, "all_pairs has 2 columns; expected at least 3"),
        (
            {"all_pairs": ["ward", "sex", "cost"]},
            "all_pairs names 'cost', which has no declared levels",
        ),
        ({"all_pairs": ["ward", "sex", "city"]}, "all_pairs names 'city'"),
    ],
)
def test_what_is_refused_costs_nothing(given, words, costs_nothing):
    costs_nothing(
        lambda ledger: nolook.tabulate(opened(), ledger=ledger, **given), words, nolook.NolookError
    )


def test_more_groups_than_fit_are_refused(costs_nothing):
    levels = {name: [str(i) for i in range(600)] for name in ("ward", "sex")}
    table = nolook.read_table(visits(), False, features=["ward", "sex", "cost"], categories=levels)
    said = costs_nothing(
        lambda ledger: nolook.tabulate(table, ["ward", "sex"], median="cost", ledger=ledger),
        "too many",
    )
    assert "362,404 groups" in said


def test_a_page_shows_no_share_or_count_outside_its_interval():
    frame = pd.DataFrame({"g": ["a", "b"] * 150, "yes": [False] * 300})
    table = nolook.read_table(frame, categories={"g": ["a", "b", "c"]})
    cells = re.compile(r"(-?[\d.]+)(?: %)? \((-?[\d.]+) to (-?[\d.]+)")
    for seed in range(8):
        found = nolook.tabulate(table, "g", share="yes", epsilon=0.3, random_state=seed)
        shown = cells.findall(str(found))
        assert shown
        for value, low, high in shown:
            assert 0.0 <= float(low) <= float(value) <= float(high)


def test_undeclared_values_that_are_missing_have_no_group_of_their_own(tmp_path):
    ward = {"type": "category", "levels": ["A", "B"], "undeclared": "missing"}
    schema = {"columns": {"ward": ward, "day": "date", "weekday": {"weekday_of": "day"}}}
    frame = visits().assign(day="2024-01-01")[["ward", "day", "sex", "cost"]]
    table = nolook.read_table(
        frame, False, features=["ward", "weekday", "sex"], categories={"sex": ["m"]}, schema=schema
    )
    gone = frame.ward.isin(["A", "B"]).map({False: "missing"}).fillna(frame.ward)
    found = nolook.tabulate(table, ["ward", "sex"], epsilon=20.0, random_state=0)
    assert found.levels == {"ward": ("A", "B", "missing"), "sex": ("m", "...", "missing")}
    counts = found.to_frame()["count"].xs("all", level="sex").drop("all")
    assert (abs(counts - gone.value_counts()) < 10).all()
    nolook.save(found, tmp_path / "found.json")
    assert nolook.load(tmp_path / "found.json").levels == found.levels
    one, day = (nolook.tabulate(table, each, epsilon=20.0) for each in ("ward", "weekday"))
    assert day.levels["weekday"] == (*["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "missing")
    notes = [str(each.content().sections) for each in (found, one, nolook.describe(table))]
    assert ["not declared" in each for each in notes] == [True, False, True]
    assert '"missing" is left out where it does not stand out' in notes[1]
    compared = nolook.compare_groups(
        nolook.read_table(frame, False, features=["cost", "ward"], schema=schema),
        "cost", "ward", epsilon=20.0, random_state=0,
    )  # fmt: skip
    assert compared.groups == ("A", "B")


def test_a_column_whose_levels_are_to_be_found_gives_no_number():
    table = nolook.read_table(visits(), False, features=["sex"], categories={"sex": [None]})
    assert table.feature_names == ()
    assert table.read_options()["categories"] == {"sex": [None]}
    found = nolook.tabulate(table, "sex", find_levels=True, epsilon=20.0, delta=1e-3)
    assert found.levels == {"sex": ("f", "m", "...", "missing")}

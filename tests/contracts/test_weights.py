"""Survey weights: no weight moves a release by more than a row without one, nor tells more."""

from __future__ import annotations

import math
import re
import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attrs import evolve

import nolook
from nolook._defaults import MOST_ROWS_PER_UNIT
from nolook._unit import WHOLE, Weighting
from nolook.algorithms.weights import WeightedRelease
from nolook.errors import ParameterError
from nolook.estimators.catalogue import MODELS
from nolook.formats.predictions import write_predictions
from nolook.tables import read_table, table, units
from nolook.tables.table import Table
from tests.contracts.replay import attack, drawn_and_stated

METHODS = {
    "linear": nolook.LinearRegression,
    "logistic": nolook.LogisticRegression,
    "poisson": nolook.PoissonRegression,
    "additive": nolook.AdditiveRegression,
    "additive-logistic": nolook.AdditiveClassifier,
    "additive-poisson": nolook.AdditivePoissonRegression,
}
#: What else takes weights, its columns, and whether its noise is Gaussian.
OTHER_RELEASES = {
    "ecdf": (lambda epsilon: nolook.ECDF(epsilon).fit, ["a"]),
    "ecdf, Gaussian": (lambda epsilon: nolook.ECDF(epsilon, delta=1e-6).fit, ["a"]),
    "quantiles": (lambda epsilon: partial(nolook.quantiles, epsilon=epsilon), ["a", "b"]),
    "describe": (lambda epsilon: partial(nolook.describe, epsilon=epsilon), ["a", "b", "g"]),
    "tabulate": (
        lambda epsilon: partial(
            nolook.tabulate, by="g", mean="a", median="b", share="g=B", epsilon=epsilon
        ),
        ["a", "b", "g"],
    ),
    "compare-groups": (
        lambda epsilon: partial(nolook.compare_groups, value="a", by="g", epsilon=epsilon),
        ["a", "g"],
    ),
    "survival": (
        lambda epsilon: partial(nolook.survival, time="a", event="g", epsilon=epsilon),
        ["a", "g"],
    ),
}
#: Weights of the others, and of the row or unit that is added.
OTHERS = ("survey", "none")
#: How rows of a unit count; None where each row is a unit.
UNITS = (None, "weights", 3)
MORE = {"huge": 1e300, "largest": 50.0, "zero": 0.0, "missing": math.nan, "tiny": 5e-324}


def rows(kind, others, more, unit, extra=0):
    """Return a table, with a unit of `extra` rows more, far from the others."""
    g, n = np.random.default_rng(3), 400
    x, w = g.normal(size=(n, 2)), g.uniform(0.0, math.log(50.0), n)
    w = np.zeros(n) if others == "none" else np.exp(w)
    y, ids = x[:, 0] + g.normal(size=n), g.integers(0, 300, n)
    x, w = np.append(x, np.full((extra, 2), 1e9), axis=0), np.append(w, np.full(extra, MORE[more]))
    y, ids = np.append(y, np.full(extra, -1e9)), np.append(ids, np.full(extra, 1000))
    y = y > 0 if "logistic" in kind else np.floor(np.abs(y)) if "poisson" in kind else y
    g = np.where(np.arange(len(y)) < n // 2, "A", "B")
    made = pa.table({"a": x[:, 0], "b": x[:, 1], "y": y, "w": w, "id": ids, "g": g})
    named = {"unit": "id", "rows_per_unit": unit} if unit else {}
    if kind in METHODS:
        return read_table(made, "y", features=["a", "b"], weights="w", **named)
    columns = OTHER_RELEASES[kind][1]
    if "g" in columns:
        named["categories"] = {"g": ["A", "B"]}
    return read_table(made, features=columns, weights="w", **named)


def fit(kind, epsilon, data):
    if kind in METHODS:
        return METHODS[kind](epsilon=epsilon, delta=1e-6).fit(data)
    return OTHER_RELEASES[kind][0](epsilon)(data)


def check(kind, others, more, unit, epsilon=3.0):
    first, second = (rows(kind, others, more, unit, extra) for extra in (0, 7 if unit else 1))
    replay = attack(partial(fit, kind, epsilon), first, second)
    for drawn, stated in drawn_and_stated(replay):
        assert drawn <= stated * (1 + 1e-9), "more is drawn than is stated"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("more", MORE)
def test_a_row_of_any_weight_reveals_what_is_stated_alone(more, unit):
    check("linear", "survey", more, unit)


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize("kind", [*METHODS, *OTHER_RELEASES])
def test_so_it_is_for_each_method_that_takes_weights(kind, others, more, unit):
    """With each pair of these by one of two budgets, and by the other beside other weights."""
    turn = OTHERS.index(others) + list(MORE).index(more) + UNITS.index(unit)
    check(kind, others, more, unit, (3.0, 0.1)[turn % 2])


@pytest.mark.parametrize(
    ("kind", "others", "unit"),
    [
        # Every day each with one of the ways in which rows of a unit count.
        pytest.param(kind, others, unit, marks=[pytest.mark.slow] * ((i + j) % 3 > 0))
        for i, kind in enumerate(name for name in (*METHODS, *OTHER_RELEASES) if name != "linear")
        for j, (others, unit) in enumerate([("none", "weights"), ("survey", 3), ("survey", None)])
    ],
)
def test_the_other_methods_briefly(kind, others, unit):
    check(kind, others, "huge", unit=unit)


def unclipped(patch):
    exact = units.weighed
    patch.setattr(table, "weighed", lambda s, w, *_: exact(s, w, None, 1) * 2)


def share_of_the_largest(patch):
    """Divide by the largest weight of the batch, which is a neighbour's."""
    exact = units.weighed
    patch.setattr(table, "weighed", lambda s, w, b, p: exact(s, w, b and max(w.max(), 1e-9), p))


def shares_forgotten(patch):
    exact = units.weighed
    patch.setattr(table, "weighed", lambda _, w, *rest: exact(np.full(w.shape, WHOLE), w, *rest))


def weights_of_its_own(patch):
    """Return a bound that follows from the exact weights."""
    exact = Table.weighted

    def fault(self, weighting, power=1):
        top = max(float(batch[-1].max()) for batch in self._read())
        return exact(self, Weighting(weighting.column, max(top, 1e-9)), power)

    patch.setattr(Table, "weighted", fault)


def not_divided(patch):
    """Clip weights at the bound, and forget to divide by it."""

    def fault(shares, weights, bound, power):
        parts = np.minimum(weights, 1.0 if bound is None else bound) ** power
        return np.trunc(shares * parts).astype(np.int64)

    patch.setattr(table, "weighed", fault)


def multiplied_before_clipping(patch):
    """Multiply rows by their weights, and clip them afterwards: each counts in full."""

    def fault(self, numbers, shares):
        weights = units.weighed(np.broadcast_to(shares, numbers.shape[1:]), numbers[-1], 1.0, 1)
        whole = np.full(weights.shape, WHOLE)
        return numbers[:-1] * (weights / WHOLE), whole

    patch.setattr(Table, "_with_weights", fault)


def searched_at_full_cost(patch):
    """Divide the costs of the release by the rows of a unit, not those of the searches."""
    patch.setattr(
        WeightedRelease,
        "for_rows_per_unit",
        lambda self, most: evolve(self, release=self.release.for_rows_per_unit(most)),
    )


FAULTS = [
    (unclipped, None),
    (share_of_the_largest, None),
    (shares_forgotten, "weights"),
    (weights_of_its_own, None),
    (not_divided, None),
    (multiplied_before_clipping, "weights"),
    (searched_at_full_cost, 3),
]


@pytest.mark.parametrize(
    ("plant", "unit", "kind"),
    [
        pytest.param(*fault, kind, marks=[pytest.mark.slow] * ((i + j) % 3 > 0))
        for i, fault in enumerate(FAULTS)
        for j, kind in enumerate(["linear", "ecdf", "tabulate"])
    ],
)
def test_the_attack_tells_of_a_fault(plant, unit, kind, monkeypatch):
    check(kind, "survey", "huge", unit, 30.0)
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check(kind, "survey", "huge", unit, 30.0)


def test_a_share_never_grows_and_does_not_depend_on_other_rows():
    g = np.random.default_rng(0)
    w = np.concatenate([[0.0, 5e-324, 44.0, 44.1, 1e300], g.lognormal(sigma=9, size=995)])
    shares = g.integers(0, WHOLE + 1, 1000)
    for power in (1, 2):
        found = units.weighed(shares, w, 44.0, power)
        assert (found >= 0).all()
        assert (found <= shares).all()
        exact = shares * np.minimum(w / 44.0, 1.0) ** power
        assert np.abs(found - exact).max() <= 1.0
        alone = [units.weighed(shares[i : i + 1], w[i : i + 1], 44.0, power)[0] for i in range(50)]
        assert alone == found[:50].tolist()


def survey(n=20_000, seed=0):
    """A survey whose weights matter: the slope is larger where they are."""
    g = np.random.default_rng(seed)
    z, a = g.uniform(size=n), g.normal(size=n)
    y = 1 + a * (1 + z) + g.normal(size=n)
    return pa.table({"a": a, "y": y, "w": np.exp(z * math.log(50)), "b": z, "no": ["x"] * n})


def weighted_slope(data):
    a, y, w = (data[name].to_numpy() for name in "ayw")
    centred = a - np.average(a, weights=w)
    return np.average(centred * y, weights=w) / np.average(centred * a, weights=w)


def test_results_describe_the_weighted_population_and_say_what_was_clipped(tmp_path):
    data = survey()
    model = fit("linear", 3.0, read_table(data, "y", features=["a"], weights="w"))
    assert model.feature_names_in_.tolist() == ["a"]
    assert "w" not in model.read_options_["features"]
    assert model.coef_[0] == pytest.approx(weighted_slope(data), abs=0.1)
    weighting = model.privacy_.unit.weighting
    assert 40 <= weighting.bound <= 52
    assert weighting.cut < 0.02
    shares = np.minimum(data["w"].to_numpy() / weighting.bound, 1.0)
    assert model.rows_.value == pytest.approx(weighting.bound * shares.sum(), abs=9_000)
    assert weighting.squares == pytest.approx((shares**2).sum() / shares.sum(), abs=0.03)
    nolook.save(model, tmp_path / "m.json")
    assert nolook.load(tmp_path / "m.json").privacy_.unit.weighting == weighting
    model.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    for text in (page, " ".join(str(model.summary()).split())):
        assert f"above {weighting.bound:g} are set to {weighting.bound:g}" in text
    assert "histogram of the weights by magnitude" in page
    assert "totals are of" not in page


def test_weights_of_a_unit_are_said_to_count_units_once():
    table = read_table(
        survey(2_000).append_column("home_id", [[*range(500)] * 4]),
        features=["a"],
        weights="w",
        unit="home_id",
    )
    words = " ".join(str(nolook.describe(table, epsilon=1.0).summary()).split())
    assert "Each home counts once, with the mean weight of its rows: totals are of homes." in words


def test_rows_of_a_unit_in_full_have_their_own_weights(tmp_path):
    # Households of one to four persons, whose weights grow with it.
    size = np.tile(np.repeat([1, 2, 3, 4], [1, 2, 3, 4]), 1_000)
    home = np.cumsum(np.concatenate([np.diff(size, prepend=0) != 0]))
    data = pa.table({"a": size.astype(float), "w": 2.0 * size, "home_id": home})
    read = partial(read_table, data, features=["a"], weights="w", unit="home_id")
    everyone, few = (nolook.ECDF(100.0).fit(read(rows_per_unit=c)) for c in (4, 2))
    assert everyone.rows_.value == pytest.approx(2.0 * size.sum(), rel=0.05)
    assert few.rows_.value == pytest.approx(2.0 * (1 + 2 * 2 + 2 * 3 + 2 * 4) * 1_000, rel=0.05)
    nolook.save(few, tmp_path / "f.json")
    words = " ".join(str(nolook.load(tmp_path / "f.json").summary()).split())
    assert "The cases used stand for about" in words
    assert "At most 2 rows of each home, drawn at random, count, each with its own" in words
    assert "counts once" not in words


@pytest.mark.parametrize("kind", METHODS)
def test_sample_weight_in_fit_is_the_column_of_weights_of_a_table(kind):
    data, seed = survey(5_000), {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}
    X, y, w = (data.select(names).to_pandas() for names in (["a", "b"], ["y"], ["w"]))
    y = y > 1 if "logistic" in kind else y.clip(0.0)
    made = pa.table({"a": X.a, "b": X.b, "y": y.y, "w": w.w})
    model = METHODS[kind](**seed).fit(X, y.y, w.w.to_numpy())
    same = METHODS[kind](**seed).fit(read_table(made, "y", features=["a", "b"], weights="w"))
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    assert model.privacy_.unit.weighting.bound == same.privacy_.unit.weighting.bound


def test_categories_in_fit_are_levels_and_frames_are_predicted_as_they_are():
    data = survey(5_000).to_pandas()
    data["g"] = np.where(data.b > 0.5, "heavy", "light")
    X, seed = data[["g", "a"]], {"epsilon": 1e3, "delta": 1e-6, "random_state": 0}
    levels = {"g": ["light", "heavy"]}
    model = METHODS["linear"](**seed).fit(X, data.y, categories=levels)
    assert model.feature_names_in_.tolist() == ["g=heavy", "g=...", "a"]
    read = read_table(data, "y", features=["g", "a"], categories=levels)
    np.testing.assert_array_equal(model.coef_, METHODS["linear"](**seed).fit(read).coef_)
    features = np.column_stack([data.g == "heavy", np.zeros(len(data)), data.a])
    expected = model.intercept_ + features @ model.coef_
    np.testing.assert_allclose(model.predict(X[["a", "g"]]), expected, atol=0.3)
    assert np.median(np.abs(model.predict(X) - expected)) < 1e-9
    arrow = pa.Table.from_pandas(data[["a", "b", "g"]])
    np.testing.assert_array_equal(model.predict(arrow), model.predict(X))
    with pytest.raises(nolook.TableError, match="X has no column 'g', which the fit used"):
        model.predict(X[["a"]])
    chosen = nolook.MomentSelector(k=2, **seed).fit(read)
    found = np.column_stack([data.g == "heavy", np.zeros(len(data)), data.a])
    np.testing.assert_array_equal(chosen.transform(data), found[:, chosen.get_support()])


@pytest.mark.parametrize("features", [["year", "log"], ["log"], ["month", "g", "a", "log"]])
def test_frames_are_predicted_from_the_columns_that_features_are_made_of(features):
    data = survey(2_000).to_pandas()
    data["day"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(2_000) % 700, "D")
    data["g"] = np.where(data.b > 0.5, "heavy", "light")
    data["y"] = data.y + 3.0 * (data.day.dt.year == 2021) + data.day.dt.month
    parts = {"year": {"year_of": "day"}, "month": {"month_of": "day"}}
    made = {
        "day": "date",
        **parts,
        "log": {"asinh_of": "a"},
        "y": {"type": "number", "use": "target"},
    }
    levels = {"g": ["light", "heavy"]} if "g" in features else {}
    how = {"features": features, "categories": levels, "schema": {"columns": made}}
    table = read_table(data, **how)
    model = METHODS["linear"](epsilon=1e3, delta=1e-6, random_state=0).fit(table)
    numbers = np.concatenate(list(table.batches()), axis=1)[:-1].T
    expected = model.intercept_ + numbers @ model.coef_
    sources = data[["g", "day", "a", "b"]]
    assert np.median(np.abs(model.predict(sources) - expected)) < 1e-9
    np.testing.assert_array_equal(model.predict(data), model.predict(sources))
    np.testing.assert_array_equal(model.predict(pa.Table.from_pandas(data)), model.predict(sources))
    with pytest.raises(nolook.TableError, match=r"has no such column|X has no column 'a'"):
        model.predict(data[["b", "g"]])


@pytest.mark.parametrize("categories", [{}, {"g": ["light", "heavy"]}])
@pytest.mark.parametrize("policy", ["drop-row", "zero", "centre"])
def test_frames_are_predicted_by_the_policy_and_the_schema_of_the_fit(policy, categories, tmp_path):
    data = survey(2_000).to_pandas()
    data["g"] = np.where(data.b > 0.5, "heavy", "light")
    data["a"] = data.a.where(np.arange(2_000) % 50 > 0, -99.0)  # a code for a missing value
    data["sex"] = np.arange(2_000) % 2 + 1
    data["y"] = data.y + 3.0 * (data.sex == 2)
    columns = {"a": "number", "sex": {"type": "boolean", "true": ["2"], "false": ["1"]}}
    schema = {"file": {"missing": ["-99"]}, "columns": columns}
    how = {"features": ["a", "b", "sex", *categories], "categories": categories, "missing": policy}
    model = METHODS["linear"](epsilon=1e3, delta=1e-6, random_state=0)
    model.fit(read_table(data, "y", schema=schema, **how))
    data.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", False, **model.read_options_)
    write_predictions(model, table, tmp_path / "p.csv", ())
    expected = pd.read_csv(tmp_path / "p.csv")["prediction"].to_numpy()
    whole = np.arange(2_000) % 50 > 0
    np.testing.assert_allclose(model.predict(data[whole]), expected[whole], rtol=1e-12)
    if policy == "drop-row":
        assert np.isnan(expected[~whole]).all()
        with pytest.raises(nolook.TableError, match="X has missing or infinite values"):
            model.predict(data)
    else:
        np.testing.assert_allclose(model.predict(data), expected, rtol=1e-12)


def test_gaps_are_0_in_frames_of_numbers_if_they_were_in_the_fit():
    data = survey(2_000).to_pandas()[["a", "b", "y"]]
    model = METHODS["linear"](epsilon=1e3, delta=1e-6, random_state=0)
    model.fit(read_table(data, "y", missing="zero"))
    gaps = data[["a", "b"]].mask(pd.Series(np.arange(2_000) % 50 == 0))
    for X in (gaps, pa.Table.from_pandas(gaps), gaps.to_numpy()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an array without names
            np.testing.assert_array_equal(model.predict(X), model.predict(gaps.fillna(0.0)))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sample_weight": [1.0, 2.0]}, "X and sample_weight have different numbers of rows"),
        ({"sample_weight": np.ones((20, 2))}, "sample_weight has 2 columns"),
        ({"sample_weight": np.array(["a"] * 20)}, "sample_weight has dtype str: not numbers"),
        ({"categories": {"z": ["a"]}}, "categories names 'z'"),
    ],
)
def test_what_cannot_be_sample_weights_or_levels_is_refused_in_one_line(given, said, open_ledger):
    with open_ledger(nolook.Budget(2.0, 1e-4), "add-remove") as ledger:
        with pytest.raises(nolook.TableError, match=said) as caught:
            METHODS["linear"](epsilon=1.0).fit(
                np.ones((20, 1)), np.ones(20), **given, ledger=ledger
            )
        assert not ledger.charged()
    assert "\n" not in str(caught.value)


def test_a_table_names_its_weights_itself(costs_nothing):
    data = read_table(survey(20), "y", features=["a"])
    costs_nothing(partial(METHODS["linear"](epsilon=1.0).fit, data, None, np.ones(20)), "a Table")


@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_counts_and_sums_are_totals_of_the_weights(unit, tmp_path):
    data = survey()
    w, a = unit * data["w"].to_numpy(), data["a"].to_numpy()
    group = np.where(data["b"].to_numpy() > 0.8, "heavy", "light")
    data = data.set_column(2, "w", pa.array(w)).append_column("g", pa.array(group))
    read = partial(read_table, data, weights="w", categories={"g": ["heavy", "light"]})
    found = nolook.tabulate(read(features=["a", "g"]), "g", mean="a", epsilon=10.0)
    heavy, frame = w[group == "heavy"].sum(), found.to_frame()
    assert found.rows.value == pytest.approx(w.sum(), rel=0.02)
    assert frame["count"]["heavy"] == pytest.approx(heavy, rel=0.02)
    assert frame["count_low"]["heavy"] < heavy < frame["count_high"]["heavy"]
    assert frame["sum_a"]["all"] == pytest.approx(w @ a, abs=0.02 * w.sum())
    data = data.set_column(4, "no", pa.array(np.resize(["x", "y"], len(w))))
    levels = {"g": ["heavy", "light"], "no": ["x", "y"]}
    pairs = nolook.tabulate(
        read(features=["g", "no"], categories=levels), ["g", "no"], epsilon=10.0
    )
    statistic, chance, _ = pairs.independence()
    assert 0.0 <= statistic < 100.0, "of rows of weight 1, whatever the weights' unit"
    assert chance > 0.0005
    compared = nolook.compare_groups(read(features=["a", "g"]), "a", "g", epsilon=10.0)
    assert compared.rows.value == pytest.approx(w.sum(), rel=0.02)
    assert compared.to_frame()["values"]["heavy"] == pytest.approx(heavy, rel=0.02)
    assert compared.pairs[0].difference.low < 0.0 < compared.pairs[0].difference.high
    assert compared.p_value > 0.001
    described = nolook.describe(read(features=["a", "g"]), epsilon=10.0)
    assert described.rows.value == pytest.approx(w.sum(), rel=0.02)
    ages = read_table(data, features=["a"], weights="w")
    distribution = nolook.ECDF(10.0).fit(ages)
    assert distribution.rows_.value == pytest.approx(w.sum(), rel=0.02)
    assert nolook.quantiles(ages, epsilon=10.0).rows.value == pytest.approx(w.sum(), rel=0.02)
    for each in (found, described, distribution, compared):
        nolook.save(each, tmp_path / "f.json")
        again = nolook.load(tmp_path / "f.json")
        assert str(again.summary()) == str(each.summary())
        (tmp_path / "f.json").unlink()


def share_cut(weights, bound):
    return np.maximum(weights - bound, 0.0).sum() / weights.sum()


def test_intervals_of_totals_allow_for_the_weight_that_is_cut():
    rng = np.random.default_rng(4)
    group = rng.integers(0, 2, 20_000)
    weight = np.exp(rng.normal(3.0, 0.8, group.size))
    table = nolook.read_table(
        pa.table({"group": pa.array(group), "weight": weight}),
        categories={"group": ["0", "1"]},
        weights="weight",
    )
    for epsilon, seed in product((0.1, 0.5, 20.0), range(4)):
        found = nolook.tabulate(table, by=["group"], epsilon=epsilon, random_state=seed)
        weighting = found.privacy.unit.weighting
        assert share_cut(weight, weighting.bound) <= weighting.cut < 0.03 / min(epsilon, 1.0)
        all_rows = found.to_frame().loc["all"]
        assert all_rows["count_low"] < weight.sum() < all_rows["count_high"]
        words = " ".join(str(found.summary()).split())
        assert ("noise hides how large" in words) == (weighting.cut > 0.1)


@pytest.mark.parametrize("n", [1_500, 20_000])
def test_the_bound_of_few_rows_is_not_far_below_their_weights(n):
    # No octave of weights stands out by itself at this budget; several together do.
    data = survey(n)
    distribution = nolook.ECDF(1.0).fit(read_table(data, features=["b"], weights="w"))
    assert 16 <= distribution.privacy_.unit.weighting.bound <= 64
    half = float(distribution.quantile(0.5))
    assert half == pytest.approx(1 + math.log(0.51) / math.log(50), abs=0.12)  # .5 without weights


def test_weights_beyond_the_bound_are_in_the_share_cut():
    g = np.random.default_rng(0)
    w = g.pareto(2.0, size=20_000) + 1
    data = pa.table({"a": g.normal(size=20_000), "w": w})
    weighting = (
        nolook.ECDF(1.0).fit(read_table(data, features=["a"], weights="w")).privacy_.unit.weighting
    )
    assert share_cut(w, weighting.bound) < weighting.cut < 0.08


def test_weights_that_are_alike_change_next_to_nothing():
    data = survey(5_000)
    plain = fit("linear", 1e3, read_table(data, "y", features=["a"]))
    alike = data.set_column(2, "w", pa.array(np.full(5_000, 7.0)))
    model = fit("linear", 1e3, read_table(alike, "y", features=["a"], weights="w"))
    assert model.coef_[0] == pytest.approx(plain.coef_[0], abs=0.02)
    assert model.privacy_.unit.weighting.bound == pytest.approx(7.25, abs=0.26)


def test_the_guarantee_and_the_ledger_count_the_search_too(open_ledger):
    with open_ledger(nolook.Budget(2.0, 1e-4), "add-remove") as ledger:
        model = METHODS["linear"](epsilon=1.0, delta=1e-6)
        model.fit(read_table(survey(2_000), "y", weights="w"), ledger=ledger)
        assert len(ledger.charged()) == 1
    without = METHODS["linear"](epsilon=1.0, delta=1e-6).plan().guarantee
    named, before = model.privacy_.mechanisms, without.mechanisms
    assert len(named) == len(before) + 2
    assert sum(e.mu**2 for e in named) <= sum(e.mu**2 for e in before)
    assert (model.privacy_.epsilon, model.privacy_.delta) == (1.0, 1e-6)


@pytest.mark.parametrize("kind", ["ecdf", "quantiles"])
def test_what_is_too_small_for_rows_of_a_unit_with_weights_is_refused_before_it_is_charged(
    kind, open_ledger
):
    data, refused = rows(kind, "survey", "huge", MOST_ROWS_PER_UNIT), set()
    for exponent in range(-32, -15, 2):
        with open_ledger(nolook.Budget(1.0, 1e-4), "add-remove") as ledger:
            try:
                OTHER_RELEASES[kind][0](2.0**exponent)(data, ledger=ledger)
            except ParameterError:
                refused.add(exponent)
            assert (ledger.remaining.epsilon == 1.0) == (exponent in refused)
    assert -16 not in refused
    assert -32 in refused


@pytest.mark.parametrize("name", [name for name in MODELS if name not in METHODS])
def test_methods_without_weights_refuse_them_in_one_line(name, costs_nothing):
    make = MODELS[name].load()
    data = read_table(survey(200), "y", weights="w")
    costs_nothing(partial(make(epsilon=1.0).fit, data), "takes no weights")


@pytest.mark.parametrize(
    "release",
    [
        nolook.MomentSelector(k=1).fit,
        nolook.PrivatePipeline(
            nolook.MomentSelector(k=1), nolook.LinearRegression(), epsilon=1.0, delta=1e-6
        ).fit,
        partial(nolook.cross_validate, nolook.LinearRegression()),
    ],
)
def test_so_do_all_other_releases(release, costs_nothing):
    data = read_table(survey(200), "y", features=["a", "b"], weights="w")
    costs_nothing(partial(release, data), "takes no weights")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weights": "no"}, "weights names 'no'"),
        ({"weights": "v"}, "weights names 'v', but the table has no such column"),
        ({"weights": "y"}, "weights names 'y', which is also the target"),
        ({"weights": "w", "features": ["a", "w"]}, "which is also a feature"),
        ({"weights": 3}, "weights"),
    ],
)
def test_a_column_that_cannot_be_weights_is_refused(options, said):
    with pytest.raises(nolook.NolookError) as caught:
        read_table(survey(20), "y", **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_without_a_weight_are_left_out():
    data = pa.table({"a": np.arange(6.0), "y": np.ones(6), "w": [1.0, -1.0, None, math.inf, 0, 2]})
    read = read_table(data, "y", weights="w").weighted(Weighting("w", 2.0))
    found = [(batch[0].tolist(), own.tolist()) for batch, own, _ in read.batches_of_units()]
    assert found == [([0.0, 4.0, 5.0], [WHOLE // 2, 0, WHOLE])]


def test_a_page_names_the_population_and_logarithms_that_are_missing():
    data = survey(8_000).to_pandas()
    data["wage"] = np.where(np.arange(len(data)) % 2, np.exp(data.y.clip(-3.0, 3.0)), 0.0)
    own, seed = nolook.from_formula("log(wage) ~ a", data), {"epsilon": 3.0, "random_state": 0}
    plain = " ".join(str(nolook.LinearRegression(**seed).fit(own).summary()).split())
    lost = (
        "Left out for missing or undeclared values, or a logarithm of a number that is not positive"
    )
    assert re.search(rf"{lost}: about (3,9|4,0)\d\d rows\.", plain)
    weighted = nolook.from_formula("log(wage) ~ a", data, weights="w")
    page = " ".join(str(nolook.LinearRegression(**seed).fit(weighted).summary()).split())
    assert re.search(rf"{lost}: about (3,9|4,0)\d\d rows of the table\.", page)
    # Kish's effective number: the squared sum of the weights over the sum of their squares.
    kept = data.w[data.wage > 0.0]
    effective = float(
        re.search(r"for sampling they count as about ([\d,]+)", page)[1].replace(",", "")
    )
    assert effective == pytest.approx(kept.sum() ** 2 / (kept**2).sum(), rel=0.1)
    assert "weighted rows" not in page

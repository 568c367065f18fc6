"""Every method and selector with a unit that has several rows: one table a contract."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nolook
from nolook._unit import MOST_ROWS_PER_UNIT, Unit
from nolook.errors import ParameterError
from nolook.estimators.catalogue import METHODS
from papers.amin2023 import OracleAdaSSPRegressor, PublishedTukeyRegressor, RawTukeyRegressor
from papers.dick2023 import RawLassoSelector, UnscaledBoostedAdaSSPRegressor
from papers.swope2024 import PublishedSISSelector
from tests.contracts.estimators import ESTIMATORS, results
from tests.contracts.selectors import SELECTORS

UNITS = 4000
FEATURES = ["a", "b", "c", "d"]
MAKERS = {
    **{name: row.make for name, row in ESTIMATORS.items()},
    **{name: (lambda row=row, **given: row.make(2, **given)) for name, row in SELECTORS.items()},
}
#: Whose smallest budget buys noise in range for units of any number of rows.
SPARED = [MAKERS["LinearRegression"], *(MAKERS[name] for name in MAKERS if "Lasso" in name)]
CLASSIFIERS = [MAKERS["LogisticRegression"], MAKERS["AdditiveClassifier"]]
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def frame(units=UNITS, seed=0):
    """Return a frame in which every row is a unit of its own."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(units, 4)) * [1.0, 4.0, 0.5, 1.0] + 5
    y = X[:, 0] + X[:, 1] / 2 + 0.3 * generator.normal(size=units)
    return pd.DataFrame(X, columns=FEATURES).assign(y=y, who=np.arange(units).astype(str))


def table(data, make, unit="who", rows_per_unit="weights", target="y", **kwargs):
    target = None if make is MAKERS["QuantileScaler"] else target
    if make in CLASSIFIERS and target == "y":
        data = data.assign(y=data.y > 7.5)  # about half of them
    return nolook.read_table(
        data, target, features=FEATURES, unit=unit, rows_per_unit=rows_per_unit, **kwargs
    )


def published(fitted):
    """Return all numbers that may be published, one after the other."""
    names = [*results(fitted), *(["support_", "order_"] if hasattr(fitted, "support_") else [])]
    found = [getattr(fitted, name, None) for name in names]
    flat = [np.ravel(np.asarray(one, dtype=float)) for one in found if one is not None]
    return np.concatenate([*flat, [fitted.rows_.value if fitted.rows_ else 0.0]])


def turns(*values):
    """Pair methods with values: every day each with one of them, in turn."""
    pairs = [
        pytest.param(
            make,
            value,
            id=f"{name}-{value}",
            marks=[pytest.mark.slow] * ((i + j) % len(values) > 0),
        )
        for i, (name, make) in enumerate(MAKERS.items())
        for j, value in enumerate(values)
    ]
    return pytest.mark.parametrize(("make", "rows"), pairs)


@turns("weights", 1, 3)
def test_the_guarantee_names_the_unit_and_costs_the_same(make, rows):
    data = pd.concat([frame(), frame(300), frame(20), frame(20)])
    fitted = make().fit(table(data, make, rows_per_unit=rows))
    planned = make().plan().guarantee
    assert fitted.privacy_.unit == Unit("who", rows)
    assert fitted.privacy_.budget == planned.budget
    assert fitted.privacy_.mechanisms == planned.mechanisms
    assert np.isfinite(published(fitted)[:-1]).any()


def one_of(turn, turns):
    """Try every second or third method every day, others for each test."""
    some = [
        pytest.param(make, id=name, marks=[pytest.mark.slow] * (i % turns != turn))
        for i, (name, make) in enumerate(MAKERS.items())
    ]
    return pytest.mark.parametrize("make", some)


@one_of(0, 2)
def test_a_unit_with_a_row_gets_about_what_the_row_does(make):
    data = frame()
    by_row = make(random_state=3).fit(table(data, make, unit=None))
    by_unit = make(random_state=3).fit(table(data, make))
    assert_alike(by_row, by_unit)


@one_of(1, 2)
def test_rows_that_are_there_twice_change_nothing(make):
    data = frame()
    once = make(random_state=3).fit(table(data, make))
    twice = make(random_state=3).fit(table(pd.concat([data, data]), make))
    assert_alike(once, twice)


def assert_alike(one, other):
    """Check that two fits with the same seed differ by what rounding, not noise, explains."""
    # A selector counts before it chooses, and what that draws is not the same for weights.
    end = -1 - np.size(getattr(one, "order_", ())) if hasattr(one, "support_") else None
    found, expected = published(other)[:end], published(one)[:end]
    np.testing.assert_allclose(found, expected, rtol=2e-2, atol=2e-2)


@one_of(0, 2)
def test_rows_in_full_are_counted_and_noisier(make):
    data = pd.concat([frame(seed=seed) for seed in range(5)])
    weighted = make(random_state=0).fit(table(data, make))
    fitted = make(random_state=0).fit(table(data, make, rows_per_unit=3))
    if fitted.rows_ is None:
        return
    assert fitted.rows_.error == pytest.approx(3 * weighted.rows_.error, rel=0.01)
    # Laplace noise beyond 12 deviations has a chance of 4e-8.
    assert abs(weighted.rows_.value - UNITS) < 12 * weighted.rows_.error
    assert abs(fitted.rows_.value - 3 * UNITS) < 12 * fitted.rows_.error


@turns(1, 2, 100_000)
def test_however_many_rows_a_unit_has_it_gets_an_ordinary_answer(make, rows):
    data = frame(2).iloc[[0] * rows + [1]]
    for per_unit in ("weights", 2):
        fitted = make(random_state=0).fit(table(data, make, rows_per_unit=per_unit))
        assert np.isfinite(published(fitted)).all() or make is MAKERS["LinearRegression"]


@every_maker
def test_a_unit_with_most_of_the_rows_sways_the_answer_no_more_than_another(make):
    data = frame()
    flood = data.iloc[[0] * 3 * UNITS].assign(who="flood", b=9.0, c=8.0, y=-50.0)
    flood["c"] += np.arange(3 * UNITS)
    fitted = make(epsilon=100.0, random_state=0).fit(table(pd.concat([data, flood]), make))
    if hasattr(fitted, "support_"):
        assert fitted.support_.tolist() == [True, True, False, False]
    elif hasattr(fitted, "coef_"):
        slopes = np.ravel(fitted.coef_) / np.max(fitted.coef_)
        np.testing.assert_allclose(slopes, [1.0, 0.5, 0.0, 0.0], atol=0.15)
    else:
        np.testing.assert_allclose(fitted.scale_, [1.0, 4.0, 0.5, 1.0], rtol=0.2)


@turns("weights", MOST_ROWS_PER_UNIT)
def test_what_is_too_small_for_a_unit_is_refused_before_anything_is_charged(
    make, rows, open_ledger
):
    small = table(frame(50), make, rows_per_unit=rows)
    refusals = []
    for exponent in range(-60, 0, 8):
        with open_ledger(nolook.Budget(1.0, 1e-5)) as ledger:
            refusals.append(refusal(make(epsilon=2.0**exponent), small, ledger))
            assert (ledger.remaining.epsilon == 1.0) == bool(refusals[-1])
    assert not refusals[-1]
    if rows != "weights" and make not in SPARED:
        assert any("where a unit's rows count in full" in refusal for refusal in refusals)


def refusal(estimator, rows, ledger):
    """Return why a fit is refused, or nothing."""
    try:
        estimator.fit(rows, ledger=ledger)
    except ParameterError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("rows", "counted"), [("weights", "units"), (2, "rows")])
def test_too_few_rows_are_too_few_units_where_these_are_counted(rows, counted):
    few = table(pd.concat([frame(500)] * 20), None, rows_per_unit=rows)
    with pytest.raises(nolook.TooFewRows, match=f"[0-9]+ {counted} for 4 features"):
        nolook.TukeyRegressor().fit(few)


PUBLISHED = [
    OracleAdaSSPRegressor(),
    PublishedSISSelector(2),
    PublishedTukeyRegressor(),
    RawTukeyRegressor(),
    UnscaledBoostedAdaSSPRegressor(),
    nolook.PrivatePipeline(
        nolook.KendallSelector(2), UnscaledBoostedAdaSSPRegressor(), epsilon=1.0, delta=1e-6
    ),
]


@pytest.mark.parametrize("release", PUBLISHED, ids=lambda release: type(release).__name__)
@pytest.mark.parametrize("rows", ["weights", 2])
def test_what_has_no_proof_for_units_refuses_them(release, rows):
    with pytest.raises(ParameterError, match="no proof for units"):
        release.fit(table(frame(50), None, rows_per_unit=rows))


def test_a_selector_of_the_papers_whose_release_is_ours_protects_units():
    fitted = RawLassoSelector(2, epsilon=20.0, alpha=0.1).fit(table(frame(), None))
    assert fitted.privacy_.unit == Unit("who", "weights")
    assert fitted.support_.tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("regressor", "rows"),
    [
        pytest.param(name, rows, marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, name in enumerate(METHODS)
        for j, rows in enumerate(["weights", 2])
    ],
)
def test_both_parts_of_a_pipeline_protect_units(regressor, rows, open_ledger):
    data = pd.concat([frame(), frame(seed=1)])
    pipeline = nolook.PrivatePipeline(
        nolook.MomentSelector(2), METHODS[regressor].load()(), epsilon=20.0, delta=1e-6
    )
    with open_ledger(nolook.Budget(30.0, 1e-5)) as ledger:
        fitted = pipeline.fit(table(data, None, rows_per_unit=rows), ledger=ledger)
        assert ledger.remaining.epsilon == pytest.approx(10.0)
    parts = fitted, fitted.selector_, fitted.regressor_
    assert {part.privacy_.unit for part in parts} == {Unit("who", rows)}
    assert fitted.support_.tolist() == [True, True, False, False]


def persons(copies):
    """Return a table of persons, each with some identical rows."""
    generator, n = np.random.default_rng(0), 3000
    days = generator.exponential(300.0, n).round()
    data = pd.DataFrame({"days": days, "died": generator.random(n) < 0.6, "who": np.arange(n)})
    data["arm"] = generator.choice(["A", "B"], n)
    data["score"] = generator.random(n).round(2) + 0.2 * data.died
    return pd.concat([data] * copies)


#: What is asked of which columns, at so large an epsilon that intervals are those of sampling.
ASKED = {
    "means and quantiles": (
        ["arm", "days"],
        lambda t: nolook.tabulate(t, "arm", mean="days", median="days", epsilon=1e6),
    ),
    "shares": (["arm", "died"], lambda t: nolook.tabulate(t, "arm", share="died", epsilon=1e6)),
    "quantiles": (["days"], lambda t: nolook.quantiles(t, epsilon=1e6)),
    "ECDF": (["days"], lambda t: nolook.ECDF(1e6).fit(t)),
    "compare-groups": (
        ["arm", "days"],
        lambda t: nolook.compare_groups(t, "days", "arm", epsilon=1e6),
    ),
}


@pytest.mark.parametrize(("features", "ask"), ASKED.values(), ids=ASKED)
def test_rows_in_full_have_the_intervals_and_p_values_of_identical_rows(features, ask):
    found = []
    for copies in (1, 3):
        levels = {"arm": ["A", "B"]} if "arm" in features else {}
        own = nolook.read_table(
            persons(copies), False, features=features, categories=levels, unit="who",
            rows_per_unit=copies,
        )  # fmt: skip
        frame = ask(own).to_frame().select_dtypes("number")
        frame = frame[[name for name in frame if not name.endswith("noise")]]
        totals = frame.columns[frame.columns.str.match("count|sum|values|missing|at_risk")]
        found.append(frame.assign(**{name: frame[name] / copies for name in totals}))
    # P-values are of 999 tables, in cells that follow from the number of rows.
    np.testing.assert_allclose(*found, rtol=0.03, atol=0.05 if "difference" in frame else 0.02)


def test_survival_of_identical_rows_in_full_has_their_intervals_and_p_value():
    found = []
    for copies in (1, 3):
        features = ["arm", "days", "died"]
        own = nolook.read_table(
            persons(copies), False, features=features, categories={"arm": ["A", "B"]}, unit="who",
            rows_per_unit=copies,
        )  # fmt: skip
        curves = nolook.survival(own, "days", "died", "arm", epsilon=1e6)
        ends = curves.survival_at([100.0, 300.0, 600.0])["A"]
        found.append([*ends.ravel(), curves.p_value / 10.0])
    np.testing.assert_allclose(*found, atol=0.02)


def test_areas_of_identical_rows_in_full_have_their_intervals():
    widths = []
    for copies in (1, 3):
        own = nolook.read_table(
            persons(copies), "died", features=["score"], unit="who", rows_per_unit=copies
        )
        curve = nolook.ROCCurve(1e6).fit(own)
        ends = [each.ends for each in curve.measures]
        rates = curve.at(0.6)
        ends += [(rates.sensitivity.low, rates.sensitivity.high), *curve.band_[1:, 80:81].T]
        widths.append([high - low for low, high in ends])
    np.testing.assert_allclose(*widths, rtol=0.1)

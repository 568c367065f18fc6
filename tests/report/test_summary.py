from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook.estimators.catalogue import METHODS, MODELS, SELECTORS, Entry, name_of
from nolook.formats.files import one_line
from nolook.report.findings import plain
from nolook.report.model_findings import model_findings, why_not_visible
from nolook.report.picture import shortened
from nolook.report.sentences import phrase
from nolook.report.wording import number, rows_in_words
from tests.report.hand_made import (
    CHOOSY,
    Choosy,
    counted,
    dropping,
    fitted,
    make_constant,
    not_detected,
    without,
)


def said(model, name):
    """All words of one section about a model, and the captions of its tables."""
    (one,) = (one for one in model_findings(model).sections if one.name == name)
    captions = (table.caption for table in one.tables)
    return " ".join([one.heading, *map(plain, one.sentences), *captions, *map(plain, one.notes)])


def test_effects_are_coefficients_times_scales():
    model = fitted(("a", "b", "c", "y"))
    for one, value, ends, scale in zip(
        model.coefficients[:-1],
        model.coef_,
        model.coef_interval_,
        model.scaling_.scale,
        strict=False,
    ):
        assert (one.value, one.ends) == (value, tuple(ends))
        assert (one.effect, one.effect_ends) == (value * scale, tuple(ends * scale))
        assert one.clear == (ends[0] > 0 or ends[1] < 0)


def test_without_intervals_nothing_is_clear_or_unclear():
    model = fitted(("a", "b", "c", "y"))
    ordinary = model.coefficients[:-1]
    for one, before in zip(without(model).coefficients[:-1], ordinary, strict=True):
        assert (one.ends, one.effect_ends, one.clear) == (None, None, None)
        assert (one.value, one.effect) == (before.value, before.effect)


def test_effects_beyond_the_doubles_stay_finite():
    model = fitted()
    model.coef_ = np.array([1e308, -1e308])
    model.scaling_.scale[:] = 1e10
    assert all(math.isfinite(one.effect) for one in model.coefficients[:-1])


@given(st.text(min_size=1, max_size=200), st.integers(5, 60))
def test_a_shortened_name_fits_and_keeps_both_ends(name, length):
    short, name = shortened(name, length), one_line(name)
    assert len(short) <= max(length, 1)
    if short != name:
        head, tail = short.split("…")[0], short.split("…")[-1]
        assert name.startswith(head)
        assert name.endswith(tail)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (-0.00012342, "-0.0001234"),
        (999.94, "999.9"),
        (999.96, "1,000"),
        (-48012.3, "-48,010"),
        (999_949_999.0, "999,900,000"),
        (1e9, "1,000,000,000"),
        (1e12, "1e+12"),
        (math.inf, "inf"),
    ],
)
def test_large_numbers_are_written_out(value, expected):
    assert number(value) == expected


def test_numbers_have_no_negative_zero():
    assert number(-0.0) == "0"
    assert number(-1e-300) == "-1e-300"


def test_the_range_of_predictions_is_said_in_words():
    model = fitted()
    model.target_range_ = (-1.0, 2.5)
    assert "Predictions of income stay between -1 and 2.5." in said(model, "fit")


@pytest.mark.parametrize("name", [*MODELS, *SELECTORS])
def test_each_method_is_described_in_a_sentence_or_two(name):
    words = phrase("methods.method", name=name, of_units=False)
    assert 1 <= words.count(". ") + 1 <= 2
    assert words.endswith(".")
    assert words.isascii()
    assert phrase("methods.method", name=name, of_units=True).startswith(words)


def test_only_a_failed_fit_is_called_failed():
    assert model_findings(fitted()).cautions == ()
    model = fitted()
    model.failed_ = False
    assert model_findings(model).cautions == ()
    (words,) = model_findings(make_constant(fitted())).cautions
    assert "12.5" not in words  # nothing is known of how far off it is
    assert words.count(".") == 1


CAUSES = (
    "usual causes: text without declared levels, thousands separators, decimal commas, TRUE and "
    "FALSE, dates, a wrong delimiter; a schema declares how columns are written"
)


@pytest.mark.parametrize(
    ("rows", "error", "expected"),
    [
        (0.0, 26.0, f"hardly any row was usable ({CAUSES})"),
        (1.0, 0.0, f"hardly any row was usable ({CAUSES})"),
        (500.0, 750.0, f"hardly any row was usable ({CAUSES}), or there are too"),
        (100.0, 26.0, "there are too few rows for this budget"),
        (101_700.0, 58.0, "there are too few rows for this budget"),
    ],
)
def test_why_a_target_was_not_visible_follows_from_the_number_of_rows(rows, error, expected):
    model = counted(not_detected(fitted()), rows, error)
    assert why_not_visible(model).startswith(expected)
    (words,) = model_findings(model).cautions
    assert expected[1:] in words
    assert "private test" not in words


def test_a_failed_test_and_a_target_in_the_noise_are_told_apart():
    failed, unseen = make_constant(fitted()), not_detected(fitted())
    (of_the_test,), (of_the_target,) = (model_findings(m).cautions for m in (failed, unseen))
    assert "private test" in of_the_test
    assert "did not stand out" not in of_the_test
    assert "did not stand out" in of_the_target
    unseen.failed_ = True
    assert model_findings(unseen).cautions == (of_the_target,)


def test_nothing_of_a_model_is_said_where_the_target_is_in_the_noise():
    found = model_findings(not_detected(dropping(fitted(("a", "b", "c", "y")), 1)))
    assert found.cards == ()
    assert not {"coefficients", "fit", "scales"} & {one.name for one in found.sections}
    found = model_findings(not_detected(dropping(fitted(), 0, 1)))
    assert [one.name for one in found.sections] == ["method"]


def test_dropped_columns_are_named_once_and_have_no_coefficient():
    names = [f"x{place}" for place in range(12)]
    for places in ([], [3], list(range(0, 12, 2)), list(range(12))):
        model = dropping(fitted((*names, "y")), *places)
        left = [name for place, name in enumerate(names) if place not in places]
        assert [one.name for one in model.coefficients[:-1]] == left
        text = said(model, "coefficients")
        assert ("Dropped, as they did not stand out from the noise: x" in text) == bool(places)
        assert (f"and {len(places) - 5} more." in text) == (len(places) > 5)
        assert [name for name in names if f" {name}," in text or f" {name}." in text] == [
            names[place] for place in places[:5] if len(places) <= 5 or place != places[4]
        ]
        assert "is a guess" not in said(model, "scales")


@given(st.floats(1.0, 1e7), st.floats(0.1, 1e4))
def test_a_number_of_rows_is_rounded_to_what_its_error_supports(rows, error):
    text, _ = rows_in_words(rows, error)
    shown = float("".join(filter(str.isdigit, text)))
    if rows < 2 * error:
        assert text.startswith("fewer than")
        assert rows + 2 * error <= shown * (1 + 1e-9)
        assert shown <= rows + 4 * error + 1
    else:
        assert text.startswith("about")
        assert abs(shown - rows) <= max(error, 0.5) * (1 + 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_has_an_estimator_that_knows_its_method(method):
    assert name_of(METHODS[method].load()()) == method


def test_a_subclass_belongs_to_its_parents_method():
    class Ours(METHODS["linear"].load()):
        pass

    assert name_of(Ours()) == "linear"


@pytest.mark.parametrize("order", [1, -1])
def test_the_nearest_parent_names_the_method(monkeypatch, order):
    class Nearer(Choosy):
        __module__, __qualname__ = "elsewhere", "Nearer"

    homes = {"far": CHOOSY, "near": Entry("elsewhere.Nearer")}
    for method in list(homes)[::order]:
        monkeypatch.setitem(METHODS, method, homes[method])
    assert name_of(Nearer()) == "near"
    assert name_of(Choosy()) == "far"


def test_other_objects_have_no_method():
    assert name_of(object()) is None


def test_what_numbers_of_dates_count_is_said():
    days = pd.date_range("1980-01-01", periods=500).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"born": days, "seen": days, "cost": np.arange(500.0)})
    dates = {"type": "date", "pattern": "%Y-%m-%d"}
    columns = {"born": dates, "seen": dates | {"origin": "2000-01-01"}, "cost": "number"}
    table = nolook.read_table(frame, "cost", schema={"columns": columns})
    said = str(nolook.LinearRegression(epsilon=1.0).fit(table).summary())
    assert "counted in days" not in str(nolook.describe(table, epsilon=1.0).summary())
    assert "born is a date, counted in days from 1970-01-01." in said
    assert "seen is a date, counted in days from 2000-01-01." in said
    assert "cost is a date" not in said


def test_means_of_dates_in_groups_are_days_and_differences_numbers_of_them():
    late = np.arange(4_000) % 2 == 1
    days = pd.Timestamp("1980-01-01") + pd.to_timedelta(np.arange(4_000) // 2 % 30 + 60 * late, "D")
    frame = pd.DataFrame({"born": days.strftime("%Y-%m-%d"), "ward": np.where(late, "B", "A")})
    columns = {"born": "date", "ward": {"type": "category", "levels": ["A", "B"]}}
    table = nolook.read_table(frame, schema={"columns": columns})
    found = nolook.compare_groups(table, "born", "ward", epsilon=1e3)
    said = " ".join(str(found.summary()).split())
    assert re.search(r"The mean of born is 60(\.\d+)? days later for B than for A", said)
    assert re.search(r"1980-01-1\d \(1980-01-1\d to 1980-01-1\d\)", said)
    assert re.search(r"B 60(\.\d+)? days \([\d.]+ ", said)
    assert not re.search(r"\b3,[67]\d\d", said)  # days since 1970
    assert found.to_frame()["mean"].between(3_652, 3_760).all()
    (picture,) = (figure.picture for figure in found.content().sections[0].figures)
    assert all(words.startswith("19") for _, words in picture.across.ticks)


def test_means_and_quantiles_of_dates_are_days():
    days = pd.date_range("1980-01-01", periods=500).strftime("%d.%m.%Y")
    frame = pd.DataFrame({"born": days, "ward": ["A", "B"] * 250})
    dates = {"type": "date", "pattern": "%d.%m.%Y", "origin": "1979-01-01"}
    columns = {"born": dates, "ward": {"type": "category", "levels": ["A", "B"]}}
    table = nolook.read_table(frame, schema={"columns": columns})
    born = nolook.read_table(frame, features=["born"], schema={"columns": columns})
    found = nolook.tabulate(table, "ward", mean="born", median="born", epsilon=1e3)
    last = next(each for each in str(found.summary()).splitlines() if " all " in f" {each} ")
    assert re.findall(r"1980-\d\d-\d\d", last)
    said = str(found.summary()) + str(nolook.describe(table, epsilon=1e3).summary())
    assert not re.search(r"\b[67]\d\d\.\d", said)
    assert "Sum of born" not in said
    assert found.to_frame()["mean_born"].between(365, 865).sum() == 3
    for release in (nolook.quantiles(born, epsilon=1e3), nolook.ECDF(epsilon=1e3).fit(born)):
        shown = str(release.summary())
        assert re.search(r"1980-09-0\d", shown), shown
        assert re.search(r"1980-0[89]-\d\d to 1980-09-", shown), shown
    short = nolook.ECDF(epsilon=1e3, grid=nolook.LinearGrid(365, 600, 1)).fit(born)
    assert "at least 1980-08-2" in str(short.summary())


def test_groups_of_no_rows_are_hardly_ever_shown():
    generator = np.random.default_rng(0)
    levels = {"a": ["x", "y"], "b": ["u", "v"], "c": ["p", "q"]}
    columns = {name: generator.choice(words, 3000) for name, words in levels.items()}
    table = nolook.read_table(pd.DataFrame(columns), features=[*levels], categories=levels)
    shown = 0
    for seed in range(20):  # most of them, if each of the 19 groups were judged by itself
        content = nolook.tabulate(table, by=[*levels], random_state=seed).content()
        rows = [row for each in content.sections for one in each.tables for row in one.rows]
        shown += any("..." in row[0] or "missing" in row[0] for row in rows)
    assert shown <= 3

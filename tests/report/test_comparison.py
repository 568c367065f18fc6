"""Two models side by side: what is compared, and how sure the differences are."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
from attrs import evolve

import nolook
from nolook._unit import Unit, Weighting
from nolook.errors import ParameterError
from tests.report.golden_pages import NASTY, classified_model, levels
from tests.report.hand_made import (
    choosing,
    counted,
    current,
    dropping,
    fitted,
    not_detected,
    withheld,
)

NAMES = ("age", "height", "income")


def pair():
    return counted(current(fitted(NAMES))), counted(current(fitted(NAMES, seed=1)))


def halves(values):
    """Return half the widths of intervals."""
    return (values[:, 2] - values[:, 1]) / 2


def test_a_difference_has_both_half_widths_added_up():
    one, other = pair()
    found = nolook.compare(one, other)
    assert found.columns == ("age", "height", "intercept")
    np.testing.assert_allclose(found.difference[:, 0], found.second[:, 0] - found.first[:, 0])
    added = halves(found.first) + halves(found.second)
    np.testing.assert_allclose(halves(found.difference), added)
    middles = found.difference[:, 1:].mean(axis=1)
    np.testing.assert_allclose(middles, found.difference[:, 0])


def test_models_change_places():
    one, other = pair()
    there, back = nolook.compare(one, other), nolook.compare(other, one)
    np.testing.assert_array_equal(there.first, back.second)
    np.testing.assert_allclose(there.difference, -back.difference[:, [0, 2, 1]])


def test_a_model_does_not_differ_from_itself():
    model = pair()[0]
    found = nolook.compare(model, model)
    np.testing.assert_array_equal(found.difference[:, 0], 0.0)
    # Not 0 to 0: nothing tells that both are of the same rows.
    np.testing.assert_allclose(halves(found.difference), 2 * halves(found.first))


def test_the_interval_of_a_difference_covers_whatever_errors_have_in_common():
    generator = np.random.default_rng(0)
    for shared in (-1.0, 0.0, 0.6, 1.0):
        covariance = [[1.0, 2.0 * shared], [2.0 * shared, 4.0]]
        errors = generator.multivariate_normal([0.0, 0.0], covariance, 4000)
        half = 1.96 * np.array([1.0, 2.0])
        assert np.mean(np.abs(errors[:, 1] - errors[:, 0]) <= half.sum()) > 0.94
    one, other = (current(fitted(("age", "income"))) for _ in range(2))
    for part, error in zip((one, other), (1.0, 2.0), strict=True):
        part.coef_ = np.array([0.0])
        part.coef_interval_ = 1.96 * error * np.array([[-1.0, 1.0]])
    assert nolook.compare(one, other).difference[0, 2] == pytest.approx(1.96 * 3.0)


def test_columns_of_one_model_alone_have_no_difference():
    one, other = current(fitted(("age", "height", "income"))), current(fitted(("age", "income")))
    found = nolook.compare(one, other)
    frame = found.to_frame()
    assert list(frame.index) == ["age", "height", "intercept"]
    assert frame.loc["height", ["second", "difference"]].isna().all()
    assert "different columns" in str(found.summary())
    assert "different columns" not in str(nolook.compare(one, one).summary())


@pytest.mark.parametrize(
    "other",
    [
        withheld(current(fitted(NAMES)), 0, -1),
        choosing(current(fitted(NAMES)), 1),
        dropping(current(fitted(NAMES)), 0),
        not_detected(current(fitted(NAMES))),
    ],
)
def test_without_an_interval_nothing_is_known_of_a_difference(other):
    found = nolook.compare(current(fitted(NAMES)), other)
    place = found.columns.index("age")
    assert np.isnan(found.second[place]).all()
    assert np.isnan(found.difference[place]).all()
    unknown = "age" in {one.name for one in other.coefficients}
    assert re.search(r"age .* not known *not known" if unknown else r"age .* - *-", shown(found))
    assert ("different columns" in shown(found)) is not unknown


def shown(found):
    """Return what is printed, on one line."""
    return " ".join(str(found.summary()).split())


def test_what_is_counted_is_called_what_it_is():
    models = pair()
    assert "Used about 101,700 rows" in shown(nolook.compare(*models))
    for model in models:
        model.privacy_ = evolve(model.privacy_, unit=Unit("patient_id"))
    assert "Used about 101,700 patients" in shown(nolook.compare(*models))
    weighted = Unit("patient_id", weighting=Weighting("w"))
    models[1].privacy_ = evolve(models[1].privacy_, unit=weighted)
    said = shown(nolook.compare(*models))
    assert "Used about 101,700 patients a population of about 101,700 patients" in said


def test_levels_compared_with_other_levels_are_other_coefficients():
    one = levels()
    read_options = one.read_options_ | {
        "categories": {"city": ["Basel", "Bern", "<b>", None], "sex": ["F"]},
    }
    names = ("city=Bern", "city=<b>", "city=...", "sex=F", "age", "income")
    found = nolook.compare(one, fitted(names, read_options=read_options))
    both = dict(zip(found.columns, ~np.isnan(found.difference[:, 0]), strict=True))
    assert both["age"]
    assert not any(known for name, known in both.items() if name.startswith("city = <b>"))


def of_units(rows):
    model = current(fitted(NAMES))
    model.privacy_ = evolve(model.privacy_, unit=Unit("patient\nid", rows))
    return model


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: fitted(("age", "height", "weight")), "different targets, 'income' and 'weight'"),
        (classified_model, "different"),
        (lambda: of_units("weights"), "different units, a row and 'patient"),
        (nolook.ECDF, "type ECDF"),
        (nolook.LinearRegression, "expected a fitted model"),
        (lambda: None, "NoneType"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_line(make, said):
    with pytest.raises(ParameterError, match=re.escape(said)) as caught:
        nolook.compare(fitted(NAMES), make())
    assert "\n" not in str(caught.value)


def test_units_with_other_rows_are_refused():
    with pytest.raises(ParameterError, match=r"rows have weights.*at most 5 rows") as caught:
        nolook.compare(of_units("weights"), of_units(5))
    assert "\n" not in str(caught.value)


def test_two_names_are_wanted():
    for names in ("AB", ("A",), ("A", "B", "C")):
        with pytest.raises(ParameterError, match="pair"):
            nolook.compare(*pair(), names=names)


def test_the_summary_says_whose_numbers_they_are_and_what_both_cost():
    one, other = pair()
    found = nolook.compare(one, other, names=("2024", "2025"))
    text = " ".join(str(found.summary()).split())
    for words in ("2025 less 2024", "added up", "epsilon 2, delta 2e-06 at most", "Used"):
        assert words in text
    assert found._repr_html_() == found.summary().html
    shown = html.unescape(re.sub(r"<[^>]*>", " ", found.summary().html))
    assert "2025 less 2024" in shown
    other.privacy_ = evolve(other.privacy_, private=False)
    assert "do not publish" in str(nolook.compare(one, other).summary())


def test_logistic_models_are_compared_in_log_odds():
    found = nolook.compare(classified_model(), classified_model(1))
    assert "log-odds" in str(found.summary())
    assert "AUC" in str(found.summary())
    known = ~np.isnan(found.difference[:, 1])
    assert known.tolist() == [True, False, True, True]


def test_names_cannot_break_out():
    found = nolook.compare(fitted(NASTY), fitted(NASTY), names=NASTY[:2])
    assert "<b>" not in found.summary().html
    assert "\u202e" not in str(found.summary())

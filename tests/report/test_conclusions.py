"""What a report says first: true to its estimates, honest about what is not known, never why."""

from __future__ import annotations

import math
import re
from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook.algorithms.intervals import Measure
from nolook.report.coefficient_findings import coefficient_section
from nolook.report.findings import plain
from nolook.report.ledger_status import LedgerStatus
from nolook.report.model_conclusion import model_conclusion
from nolook.report.model_findings import model_findings
from nolook.report.page import render_page
from nolook.report.sections import cautions, in_short
from nolook.report.sentences import phrase
from nolook.report.wording import estimated, number, with_error
from tests.report import golden_pages as made
from tests.report.golden_pages import counting
from tests.report.hand_made import Choosy, choosing, current, dropping, fitted, guarantee, without
from tests.report.pages import Page, of_table

WHY = re.compile(
    r"\b(cause|effect|because|leads? to|due to|influence|impact|explain|drive)", re.IGNORECASE
)
finite = st.floats(-1e8, 1e8).filter(lambda x: x == 0 or abs(x) > 1e-3)


def said(model):
    return " ".join(map(plain, model_conclusion(model)))


def a_model(effects, margins, names=("a", "b", "c", "y"), scale=1.0):
    """A linear model with these coefficients and half widths."""
    model = current(fitted(names))
    model.scaling_.scale[:] = scale
    model.coef_ = np.array(effects, dtype=float)
    half = np.array(margins, dtype=float)
    model.coef_interval_ = np.stack([model.coef_ - half, model.coef_ + half], axis=1)
    return model


@pytest.mark.parametrize("name", made.PAGES)
def test_every_page_answers_five_questions_and_says_nothing_of_why(name):
    found = made.PAGES[name]()
    private = found.guarantee.private
    ledger_status = LedgerStatus(date(2026, 11, 2), "l", (("1", "2"),) * 2)
    section = in_short(of_table(found, "people.parquet"), ledger_status)
    answers = {question: " ".join(map(plain, texts)) for question, texts in section.answers}
    one = found.guarantee.unit.protected
    assert list(answers) == [
        "What was asked",
        "What came out",
        "How sure it is",
        "What it cost",
        f"How well each {one} is protected",
    ]
    assert all(answers.values())
    assert "people.parquet" in answers["What was asked"]
    assert "Made on 2 November 2026." in answers["What it cost"]
    left = "has epsilon 1 of 2 and delta 1 of 2 left"
    assert (left in answers["What it cost"]) == private
    assert ("(coin toss: 50 %)" in " ".join(answers.values())) == private
    said = " ".join(answers.values())
    assert not WHY.search(said)
    page = Page(render_page(found)).text
    assert ("What is not protected General facts" in page) == private
    assert not re.search(r"\b(nan|inf|None)\b", " ".join(answers.values()))


def test_a_column_is_told_of_with_its_interval_only_if_its_sign_is_known():
    words = said(a_model([2.0, -4.0, 0.5], [0.25, 1.0, 0.6]))
    assert "y is 2.00 higher where a is 1 higher (1.75 to 2.25)." in words
    assert words.startswith(
        "y is 4 lower where b is 1 higher, other columns held equal (95 % interval 3 to 5)."
    )
    assert "c has no clear direction (the interval includes 0)." in words
    assert "0.5" not in words


def test_terms_that_share_a_column_have_no_sentence_of_their_own():
    names = ("age", "sex=w", "age2", "age:sex=w", "b", "y")
    model = a_model([5.0, 4.0, 3.0, 2.0, 1.0], [0.1] * 5, names)
    derived = {"age2": {"square_of": "age"}, "age:sex=w": {"product_of": ["age", "sex=w"]}}
    model.read_options_ |= {"categories": {"sex": ["m", "w"]}, "schema": {"columns": derived}}
    words = said(model)
    assert words.startswith("y is 1.00 higher where b is 1 higher, other columns held equal")
    assert words.count("higher") == 2
    assert "Read the coefficients of age, sex=w, age2 and age:sex=w together" in words
    model.read_options_["schema"] = {"columns": {"age2": {"missing_of": "age"}}}
    assert "together" not in said(model)


def test_an_additive_model_has_no_curve_of_a_column_that_is_in_another_term():
    model = fitted(("age", "z", "y"), made_by=nolook.AdditiveRegression())
    model.curves_ = tuple(evolve(one, straight=False, share=0.5) for one in model.curves_)
    assert "y follows a curve of age and z." in said(model)
    model.read_options_["schema"] = {"columns": {"z": {"log_of": "age"}}}
    assert "a curve of" not in said(model)
    assert "Read the coefficients of age and z together" in said(model)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("drop-row", "other rows with undeclared values or empty cells are left out."),
        ("zero", "others count as 0."),
        ("centre", "others count as the column's centre."),
    ],
)
def test_undeclared_values_are_never_the_reference(missing, expected):
    model = a_model([1.0], [0.1], ("edu=B", "y"))
    model.read_options_ |= {"missing": missing, "categories": {"edu": ["A", "B"]}}
    (note, *_) = coefficient_section(model).notes
    assert note.endswith(expected)


def test_a_column_counts_by_steps_that_people_can_picture():
    for scale, step in ((0.2, "1"), (5.0, "1"), (50.0, "10"), (5e4, "10,000"), (0.003, "0.001")):
        model = a_model([1 / scale, 0.0, 0.0], [0.1 / scale, 9.0, 9.0], scale=scale)
        assert f"where a is {step} higher" in said(model)


def test_what_a_choice_left_out_is_not_spoken_of_and_what_was_dropped_is():
    model = choosing(a_model([2.0, 1.0, 3.0], [0.1, 0.1, 0.1]), 0, 2)
    assert said(model).startswith("Chosen: a and c.")
    assert " b " not in said(model)
    dropped = dropping(a_model([2.0, 1.0, 3.0], [0.1, 0.1, 0.1]), 1)
    assert "b has no clear direction (an interval includes 0 or is not given)." in said(dropped)


def test_where_a_method_gives_no_intervals_nothing_is_said_for_sure():
    words = said(without(fitted(made_by=Choosy())))
    assert "higher" not in words
    assert "(an interval includes 0 or is not given)" in words


def test_points_are_those_of_the_average_chance():
    model = nolook.LogisticRegression(epsilon=50.0, random_state=1)
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 1))
    model.fit(X, generator.random(20_000) < 1 / (1 + np.exp(-X[:, 0] + 1)))
    base = model.base_rate_
    odds = base / (1 - base) * math.exp(model.coef_[0])
    points = 100 * (odds / (1 + odds) - base)
    found = re.search(r", ([\d.]+) % on average, is ([\d.]+) percentage points higher", said(model))
    assert float(found[2]) == pytest.approx(points, rel=0.05)
    assert float(found[1]) == pytest.approx(100 * base, abs=0.1)


def test_the_class_whose_chance_is_meant_is_named():
    model = made.classified_model()
    model.read_options_ = {**model.read_options_, "positive": "<i>yes</i>", "negative": "no"}
    words = said(model)
    assert words.startswith("The chance of sick = <i>yes</i>, 11.25 % on average, is ")
    assert "The chance of sick = <i>yes</i> is " in words
    assert ("Positive class", "<i>yes</i>") in model_findings(model).settings


def test_per_cents_are_those_of_the_mean():
    words = said(counting())
    # Ten of a column whose scale is 10 multiply the mean by exp(.35).
    found = re.search(
        r"The mean of visits is ([\d.]+) % higher where age.*?interval (.*?)\)", words
    )
    assert float(found[1]) == pytest.approx(100 * math.expm1(0.35), abs=0.5)
    ends = [float(end) for end in found[2].split(" to ")]
    assert ends == pytest.approx([100 * math.expm1(0.31), 100 * math.expm1(0.39)], abs=1.0)
    assert "<b>income</b> has no clear direction (the interval includes 0)." in words
    assert (
        "accounts for 12.5 % of the deviance of visits from its mean (noise: 10.0 to 15.0 %)"
        in words
    )


def test_a_falling_mean_is_lower_and_at_most_by_all_of_it():
    model = counting()
    model.coef_, model.coef_interval_ = -10.0 * model.coef_, -10.0 * model.coef_interval_[:, ::-1]
    found = re.search(
        r"The mean of visits is ([\d.]+) % lower where age.*?interval (.*?)\)", said(model)
    )
    assert float(found[1]) == pytest.approx(97.0, abs=0.1)
    assert all(0.0 < float(end) <= 100.0 for end in found[2].split(" to "))
    model.coef_, model.coef_interval_ = -1e6 * model.coef_, -1e6 * model.coef_interval_[:, ::-1]
    assert "inf" not in said(model)
    assert "nan" not in said(model)


@pytest.mark.parametrize("detected", [True, False])
def test_of_exposures_nothing_is_said_but_that_the_mean_is_in_proportion(detected):
    model = counting(exposure="days", exposures=(3.0, 750.0), detected=detected)
    words = said(model)
    assert "days" not in words
    assert "Chosen" not in words
    told = str(model.summary())
    assert ("proportional to days, clipped to 3 to 750" in told) == detected
    assert [one.name for one in model.coefficients][-1] == "intercept"
    assert "days" not in [one.name for one in model.coefficients]


def test_of_a_model_of_counts_that_noise_hides_no_coefficient_is_printed():
    model = counting(detected=False)
    assert model.coef_.any()
    assert "none stood out from the noise" in said(model)
    told = " ".join(str(model.summary()).split())
    assert "No coefficients are given; predictions stay near the mean" in told
    assert "Rate ratio" not in told
    assert [one.name for one in model.coefficients] == ["intercept"]


@given(finite, st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_an_interval_is_never_shown_narrower_and_hardly_wider(value, below, above):
    low, high = value - below, value + above
    shown, between = estimated(value, (low, high))
    ends = [float(end.replace(",", "")) for end in between.split(" to ")]
    room = 1e-11 * max(abs(low), abs(high))
    assert ends[0] <= low + room
    assert ends[1] >= high - room
    largest = max(map(abs, (low, high)))
    wide = max(0.29 * (high - low), 2.1e-5 * largest)
    assert (ends[1] - ends[0]) - (high - low) <= wide
    assert float(shown.replace(",", "")) == pytest.approx(value, abs=wide)
    # As many decimals in all three.
    decimals = {len(text.partition(".")[2]) for text in (shown, *between.split(" to "))}
    assert len(decimals) == 1


@given(st.floats(1e-4, 9.9e6), st.integers(2, 6))
def test_numbers_people_meet_have_no_exponent(value, digits):
    assert "e" not in number(value, digits)
    assert "e" not in "".join(with_error(value, value / 7))
    assert float(number(value, digits).replace(",", "")) == pytest.approx(value, rel=0.06)


def test_an_end_on_this_side_of_0_is_not_shown_as_0():
    assert estimated(0.5, (0.004, 1.0))[1] == "0.004 to 1.000"
    assert estimated(-0.5, (-1.0, -0.0004))[1].endswith("to -0.0004")


def test_a_weak_guarantee_is_said_so_first_and_only_where_something_is_promised():
    weak = fitted()
    weak.privacy_ = guarantee(epsilon=20.0)
    (words,) = cautions(model_findings(weak))
    assert words.startswith("Epsilon is 20: above 8 ")
    assert words in Page(render_page(model_findings(weak))).text
    weak.privacy_ = guarantee(epsilon=20.0, private=False)
    assert cautions(model_findings(weak)) == ()
    few = made.counted(fitted())
    few.privacy_ = guarantee(delta=1e-3)
    (words,) = cautions(model_findings(few))
    assert "more than one divided by the number of rows, about 100,000" in words


def test_the_ledgers_balance_is_that_after_the_release(tmp_path):
    with nolook.Ledger.create(tmp_path / "l", nolook.Budget(3.0, 1e-5), name="people") as ledger:
        ledger.charge(nolook.Budget(1.0, 1e-6), description="x")
    assert plain(LedgerStatus.now(tmp_path / "l").charged[0]) == (
        "Charged to the ledger people, which has epsilon 2 of 3 and delta 9e-06 of 1e-05 left."
    )
    # The release is made, whatever became of its ledger.
    (tmp_path / "l").write_text("damaged")
    assert LedgerStatus.now(tmp_path / "l").ledger is None
    assert "No ledger is known here" in LedgerStatus.now(None).charged[0]


def test_a_page_written_in_python_tells_of_a_ledger_that_it_is_given(tmp_path):
    fitted().report(tmp_path / "alone.html")
    with nolook.Ledger.create(tmp_path / "l", nolook.Budget(3.0, 1e-5), name="people") as ledger:
        fitted().report(tmp_path / "told.html", ledger=ledger)
    alone, told = (Page((tmp_path / f"{n}.html").read_text()).text for n in ("alone", "told"))
    assert "No ledger is known here" in alone
    assert "The ledger people has epsilon 3 of 3 and delta 1e-05 of 1e-05 left." in told
    assert "Charged" not in told
    assert "its releases together have moderate protection: an attacker who knows every" in told
    assert "Made on" not in told


@pytest.mark.parametrize(
    ("clear", "p", "said"),
    [
        ([False], 0.001, "The values of the groups differ nevertheless"),
        ([True], 0.001, "The groups differ by more than chance"),
        ([False, True], 0.001, "The groups differ by more than chance"),
        ([True], 0.3, "The order of the values does not show this"),
        ([False], 0.3, "No group has clearly higher values"),
    ],
)
def test_a_verdict_on_ranks_agrees_with_what_was_said_of_means(clear, p, said):
    found = SimpleNamespace(p_value=p, boolean=False, groups=("a", "b"))
    pair = SimpleNamespace(group="b", exceeds=Measure(0.44, 0.42, 0.46))
    words = phrase("groups.overall", found=found, groups=2, pair=pair, clear=clear)
    assert words.startswith(said)
    assert ("in 44 % of cases" in words) == (p < 0.05)

"""What is said of the present `LinearRegression`, and of no other model."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from nolook.algorithms.glm.error_inference import CutErrors
from nolook.report.exports import exported
from nolook.report.findings import plain
from nolook.report.model_findings import model_findings
from nolook.report.model_words import MEASURES, words_of
from nolook.report.picture import UNKNOWN
from nolook.report.terminal import print_findings
from tests.report.golden_pages import counting
from tests.report.hand_made import (
    OPTIONAL,
    Choosy,
    choosing,
    current,
    dropping,
    fitted,
    not_detected,
    withheld,
    without,
)
from tests.report.pages import Page, render

NAMES = ("age", "height", "rooms", "income")
FIT = tuple(
    name for name in OPTIONAL if not name.endswith(("coef_interval_", "intercept_interval_"))
)
CHANGES = {
    "as it is": lambda model: model,
    "some withheld": lambda model: withheld(model, 0, 2),
    "all withheld": lambda model: withheld(model, -1, 0, 1, 2),
    "only the intercept's known": lambda model: withheld(model, 0, 1, 2),
    "dropped": lambda model: dropping(withheld(model, 1), 1),
    "all dropped": lambda model: dropping(withheld(model, -1, 0, 1, 2), 0, 1, 2),
    "chosen": lambda model: choosing(model, 2, 0),
    "none chosen": choosing,
    "hidden fit": lambda model: without(model, *FIT),
    "not detected": not_detected,
}


def a_model(shares=None):
    return current(fitted(NAMES), shares)


def printed(model, width=100):
    console = Console(file=io.StringIO(), width=width)
    print_findings(console, model_findings(model), output=Path("x"), report_file=None)
    return " ".join(console.file.getvalue().split())


def shown(model):
    return Page(render(model, table="t")).text


def section(model, name):
    return next((one for one in model_findings(model).sections if one.name == name), None)


def notes(model):
    return [plain(note) for note in section(model, "coefficients").notes]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_unknown_is_shown_as_a_number(change):
    model = change(a_model([0.2, 0.0, 0.04, 0.001]))
    source = render(model, table="t")
    assert Page(source).unbalanced == []
    for text in (source, printed(model)):
        assert not re.search(r"\b(nan|NaN|inf|None)\b", text)
        assert "not estimated by this method" not in text


def test_a_withheld_interval_is_not_known_and_has_no_line():
    model = withheld(a_model(), 0, -1)
    assert [one.ends is None for one in model.coefficients[:-1]] == [True, False, False]
    (table,) = section(model, "coefficients").tables
    for place in (1, 2):
        hidden = [row[place] == "not known" for row in (*table.rows, table.foot)]
        assert hidden == [True, False, False, True]
    assert table.rows[0][3] == ""
    source = render(model, table="t")
    assert source.count('class="interval"') == 2
    assert source.count("<circle") == 2
    assert source.count('<g class="alone">') == 1
    (alone,) = re.findall(r'<g class="alone">.*?</g>', source)
    # No mark lies at 0, where it would be read as an estimate of 0.
    assert f">{UNKNOWN}</text>" in alone
    assert "<path" not in alone
    assert source.index('class="alone"') > source.rindex('class="clear"')
    assert UNKNOWN not in render(a_model(), table="t")
    drawn = model.plot().texts
    assert sum(UNKNOWN in text.get_text() for text in drawn) == 1


@pytest.mark.parametrize(
    ("change", "why", "known"),
    [
        ("as it is", False, True),
        ("some withheld", True, True),
        ("only the intercept's known", True, True),
        ("all withheld", True, False),
        ("dropped", False, True),
        ("chosen", False, False),
    ],
)
def test_the_page_and_the_terminal_say_once_why_and_what_for(change, why, known):
    model = CHANGES[change](a_model())
    for text in (shown(model), printed(model)):
        assert text.count("No interval is given where more than 10 %") == why
        assert (
            text.count("bounded-influence regression of the population")
            + text.count("the population's bounded-influence regression")
            == known
        )
        assert text.count("coefficients are shrunk towards 0") == known
    (table,) = section(model, "coefficients").tables
    assert ("95 % interval" in table.heads) == known


def test_a_model_of_another_method_has_none_of_these_words():
    text = shown(without(fitted(NAMES, made_by=Choosy())))
    for words in ("weighted", "distinguishable from noise", "towards 0", "Clipped,"):
        assert words not in text


def test_columns_clipped_in_more_than_a_few_rows_are_starred_and_the_most_is_never_understated():
    model = a_model([0.0301, 0.03, 0.1301, 0.0])
    (table,) = section(model, "coefficients").tables
    assert [row[0] for row in table.rows] == ["age *", "height", "rooms *"]
    (note,) = (note for note in notes(model) if note.startswith("*"))
    assert note.startswith("* Up to 14 % of the values in these columns may have been clipped")
    assert note in printed(model)
    model.clipped_share_[2] = 0.0
    assert "* Up to 4 % of this column's values may have been clipped" in printed(model)
    model.clipped_share_[0] = 0.0
    assert "may have been clipped" not in printed(model)
    model.clipped_share_[-1] = 0.0301
    assert "Up to 4 % of the target's values may have been clipped" in printed(model)


def test_a_column_without_a_coefficient_has_no_star():
    for change in (lambda model: dropping(model, 2), lambda model: choosing(model, 1, 0)):
        assert "may have been clipped" not in printed(change(a_model([0.0, 0.0, 0.5, 0.0])))


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_the_shares_clipped_are_with_the_ranges_and_never_understated(shares):
    model = a_model(shares)
    (table,) = section(model, "scales").tables
    told = [float(row[-1].removesuffix(" %")) / 100 for row in table.rows]
    assert all(share - 1e-9 <= one <= share + 0.01 for one, share in zip(told, shares, strict=True))


def test_the_target_is_said_to_be_clipped_where_it_was_and_not_where_predictions_are():
    model = a_model()
    center, scale = model.scaling_.center[-1], model.scaling_.scale[-1]
    (table,) = section(model, "scales").tables
    ends = [float(end) for end in table.rows[-1][3].replace(",", "").split(" to ")]
    assert np.allclose(ends, [center - 50 * scale, center + 50 * scale], rtol=1e-3)
    low, high = model.target_range_
    assert f"stay between {low:.4g} and {high:.4g}" in shown(model)
    assert model.scaling_.low[-1] == low


def test_the_page_says_which_rows_have_less_weight():
    model = a_model()
    assert "its Mahalanobis distance from the centre is above 2.291: 6.25 divided" in shown(model)
    model.weight_norm_ = math.inf
    assert "less weight in training" not in shown(model)


def test_intervals_are_said_to_be_for_cut_errors():
    model = a_model()
    assert "very large errors are cut" in shown(model)
    assert "very large errors cut" in printed(model)


def test_a_fit_that_noise_hides_is_said_to_be_hidden():
    model = without(a_model(), *FIT)
    assert [card[1:] for card in model_findings(model).cards] == [
        ("unknown", "not distinguishable from noise")
    ] * 2
    for text in (shown(model), printed(model)):
        assert "How well the model fits is not distinguishable from noise" in text
        assert "scales of the target) counts as" not in text


def test_a_fit_is_of_the_data_as_clipped():
    model = a_model()
    model.scaling_ = evolve(model.scaling_, scale=np.array([1.0, 1.0, 1.0, 2.5]))
    for text in (shown(model), printed(model)):
        assert "R² and RMSE describe the data as clipped" in text
        assert "above 10 (4 scales of the target) counts as 10." in text
        assert "no further cost" not in text.split("What it cost")[0]


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize(("shares", "where"), [((0.0, 0.021), "above"), ((0.3, 0.1), "below")])
def test_one_sided_errors_are_told_before_anything_else(shares, where, positive):
    model = a_model()
    model.cut_errors_ = CutErrors(*shares, 12.5, positive)
    for text in (shown(model), printed(model)):
        assert f"% of the values are far {where} their predictions" in text
        assert "by up to about 12" in text
        assert ("log(1 + income)" in text) == positive
        assert text.index("Differences in the mean of income") < text.index(
            "method:" if "method:" in text else "R²"
        )
    assert "Differences in the mean of income" not in printed(a_model())
    model.read_options_["schema"] = {"columns": {"income": {"log_of": "wage"}}}
    assert "log(1 + income)" not in printed(model)
    assert "Differences in the mean of income" in printed(model)


def test_effects_on_a_logarithm_are_in_percent_of_the_column_itself():
    model = a_model()
    for function, own in (
        ("asinh_of", "income is"),
        ("log1p_of", "1 + wage is"),
        ("log_of", "wage is"),
    ):
        model.read_options_["schema"] = {"columns": {"income": {function: "wage"}}}
        assert own in printed(model)
    found = words_of(model).change(0.05, (0.04, 0.06))
    assert (found["shown"], found["between"], found["up"]) == ("5.1 %", "4.0 to 6.2", True)
    assert re.search(r"wage is \S+ % (higher|lower)", printed(model))


def test_the_headline_is_sizes_of_errors_or_what_else_is_known():
    half = "half of the predictions of income are off by at most 1.50 (1.25 to 1.75)"
    assert f"{half}, 90 % by at most 3.75 (3.50 to 4.00)." in printed(a_model())
    assert f"{half}." in printed(without(a_model(), "p90_error_", "p90_error_interval_"))
    explained = "the model accounts for 81 % of the variance of income (noise: 75 to 88 %)"
    model = without(a_model(), *(name for name in FIT if "error" in name))
    assert explained in printed(model)


def test_a_size_of_errors_known_only_roughly_is_left_to_the_table():
    model = a_model()
    model.p90_error_interval_ = np.array([1.0, 49.0])
    assert "90 % by at most" not in printed(model)
    assert ("90 % of the errors (training data)", "unknown", "not distinguishable from noise") in (
        words_of(model).cards()
    )
    assert "1 to 49" in printed(model)


def test_columns_not_chosen_have_no_coefficient_and_no_scale():
    model = choosing(a_model(), 2, 0)
    assert [one.name for one in model.coefficients[:-1]] == ["age", "rooms"]
    (table,) = section(model, "scales").tables
    assert [row[0] for row in table.rows] == ["age", "rooms", "income"]
    asked = "how income is associated with 2 of 3 columns, chosen from the same release"
    for text in (shown(model), printed(model)):
        assert text.count("The columns were chosen with the same rows.") == 1
    assert asked in shown(model)
    assert 'class="interval"' not in render(model, table="t")


def test_a_chosen_column_may_have_the_coefficient_0():
    model = choosing(a_model(), 0, 1)
    model.coef_[0] = 0.0
    assert [one.name for one in model.coefficients[:-1]] == ["age", "height"]


@pytest.mark.parametrize("make", [a_model, counting])
def test_nothing_of_the_noise_only_stands_under_a_total_interval(make):
    model = make()
    table = section(model, "fit").tables[0]
    noise = {MEASURES[one.name][2] for one in model.measures if one.noise_only}
    apart = {row[0] for row in table.rows if "(noise: " in row[1]}
    assert apart == noise
    assert apart
    for head, value, small in model_findings(model).cards:
        assert ("R²" in value or "Deviance" in head) == small.startswith("noise: 0.")
    for one in json.loads(exported(model, "json"))["measures"]:
        assert ("noise_interval" in one) == (one["name"] in {"r2", "rmse", "deviance_explained"})


def test_filled_gaps_are_shown():
    model = a_model()
    model.read_options_["missing"] = "centre"
    assert "a gap counts as its column's private centre" in shown(model)


def test_an_effect_of_a_logarithm_is_told_for_twice_the_column():
    model = a_model()
    (name, *_) = (one.name for one in model.coefficients if one.clear)
    for function, own in (("log1p_of", "1 + days"), ("log_of", "days")):
        model.read_options_["schema"] = {"columns": {name: {function: "days"}}}
        assert re.search(rf"(higher|lower) where {re.escape(own)} is twice as high", printed(model))

from __future__ import annotations

import io
import math
import re
from pathlib import Path

import attrs
import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import nolook
from nolook.estimators.catalogue import METHODS
from nolook.formats.files import one_line
from nolook.privacy.guarantee import ApproximateEvent, PureEvent
from nolook.report.coefficient_findings import coefficient_section
from nolook.report.findings import Figure, Name, Section, Table
from nolook.report.model_findings import model_findings
from nolook.report.page import render_page
from nolook.report.picture import Line, Picture, axis
from nolook.report.terminal import print_findings
from nolook.report.wording import estimated
from tests.report.hand_made import CHOOSY, Choosy, fitted, make_constant, without
from tests.report.pages import Page, render

NASTY = (
    "<script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    "a&amp;b 'quoted' \"twice\"",
    "</style></title></svg>",
    "a" * 60,
    "年収の分布 Größe 😀",
    "\u202eright to left\n\x00\x1b[31m",
    "{braces} %s",
)


def page(model, table="people.parquet"):
    return Page(render(model, table=table))


def test_the_page_shows_what_was_released():
    model = fitted()
    text = page(model).text
    assert "Linear model of income" in text
    assert "people.parquet" in text
    assert model.privacy_.in_words() in text
    assert "R² 0.81" in text
    assert "0.75 to 0.88" in text
    assert "RMSE 2.25" in text
    assert nolook.__version__ in text
    for value, ends in zip(model.coef_, model.coef_interval_, strict=True):
        for shown in estimated(value, ends):
            assert shown in text
    for value in (*model.scaling_.scale, *model.scaling_.center):
        assert f"{value:.4g}" in text
    for event in model.privacy_.mechanisms:
        assert event.name in text
    assert "NOT PRIVATE" not in text


def test_the_page_says_loudly_when_a_result_is_not_private():
    shown = page(fitted(private=False))
    assert "NOT PRIVATE" in shown.text
    assert "Privacy none" in " ".join(shown.text.split())
    assert "(differentially private)" not in shown.text
    assert "The guarantee" not in shown.text
    assert [at for at in shown.all("div") if at.get("role") == "alert"]


def test_what_a_method_does_not_estimate_is_not_there_and_said_to_be_missing():
    text = page(without(fitted())).text
    assert text.count("unknownnot estimated by this method") == 2
    assert "This method estimates no intervals" in text
    assert "does not estimate how well the model fits" in text
    assert "95 %" not in text
    assert "None" not in text
    assert "nan" not in text.lower().split()
    source = render(without(fitted()), table="t")
    # Nothing is known of any coefficient: none is drawn, and none is a number in the table.
    assert "<circle" not in source
    assert "<g" not in source
    model = without(fitted())
    rows = coefficient_section(model).tables[0].rows
    assert [row[1:] for row in rows] == [("not given",)] * 2


@pytest.mark.parametrize(
    ("attribute", "gone"),
    [
        ("coef_interval_", 'class="interval"'),
        ("intercept_interval_", "11.0 to 14.0"),
        ("r2_", "0.81"),
        ("r2_interval_", "0.75 to 0.88"),
        ("median_error_", "at most 1.50"),
        ("p90_error_interval_", "3.50 to 4.00"),
        ("p90_error_", "at most 3.75"),
        ("rmse_", "RMSE 2.25"),
        ("rmse_interval_", "2.00 to 2.50"),
    ],
)
def test_any_one_estimate_may_be_missing(attribute, gone):
    assert gone in render(fitted(), table="t")
    text = render(without(fitted(), attribute), table="t")
    assert gone not in text
    # Of what only some fits have nothing is said.
    assert ("not estimated by this method" in text) == (attribute not in {"p90_error_", "rmse_"})
    assert Page(text).unbalanced == []
    assert "None" not in Page(text).text


def test_the_page_tells_of_rows_that_have_less_weight_or_are_shrunk():
    model = fitted()
    assert "row is shrunk" not in page(model).text
    model.weight_norm_, model.row_norm_ = 2.0, 2.75
    assert "Mahalanobis distance from the centre is above 1.732: 4 divided by" in page(model).text
    assert "is above 2.75, in training and in predictions" in page(model).text


def test_the_page_says_which_method_made_the_model_and_with_which_parameters(monkeypatch):
    text = page(fitted()).text
    assert "Method linear" in text
    assert "released once with Gaussian noise" in text
    assert "Parameters of the method" not in text
    monkeypatch.setitem(METHODS, "tukey", CHOOSY)
    text = page(fitted(made_by=Choosy(n_models=500))).text
    assert "Method tukey" in text
    assert "n_models=500" in text
    assert "deep in the middle of these models" in text


def test_a_constant_is_called_one(monkeypatch):
    monkeypatch.setitem(METHODS, "tukey", CHOOSY)
    model = make_constant(fitted(made_by=Choosy()))
    shown = page(model)
    (caution,) = model_findings(model).cautions
    assert caution in shown.text
    assert [at for at in shown.all("p") if at.get("role") == "status"]
    assert shown.unbalanced == []
    assert not [at for at in page(fitted()).all("p") if at.get("role") == "status"]


def test_the_page_says_when_a_scale_is_a_guess():
    model = fitted()
    assert "stand out" not in page(model).text
    model.scaling_.detected[1] = False
    text = page(model).text
    assert "stand out" in text
    assert "height *" in text


def test_the_page_is_well_formed_and_accessible():
    shown = page(fitted())
    assert shown.unbalanced == []
    assert shown.all("html") == [{"lang": "en"}]
    assert len(shown.all("title")) >= 1
    assert len(shown.all("h1")) == 1
    assert len(shown.all("caption")) == len(shown.all("table")) > 0
    assert all("scope" in attributes for attributes in shown.all("th"))
    identifiers = [at["id"] for _, at in shown.elements if "id" in at]
    assert len(set(identifiers)) == len(identifiers)
    for _, attributes in shown.elements:
        named = attributes.get("aria-labelledby", "").split()
        assert set(named) <= set(identifiers)
    (picture,) = [at for at in shown.all("svg") if at.get("role") == "img"]
    assert picture["aria-labelledby"]


def test_the_page_loads_and_runs_nothing():
    for model in (fitted(), fitted((*NASTY, "label"), private=False)):
        shown = page(model)
        assert shown.outside == []
    policy = [at["content"] for at in shown.all("meta") if "http-equiv" in at]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


@pytest.mark.parametrize(
    "bad",
    [
        '<img src="http://example.org/x.png">',
        "<script>1</script>",
        "<style>@import 'x'</style>",
        '<p style="background: url(x)">',
        "<svg><image xlink:href='x'/></svg>",
        '<p onclick="x">',
    ],
)
def test_the_check_of_pages_notices(bad):
    assert Page(bad).outside


@pytest.mark.parametrize("name", NASTY)
def test_names_are_shown_as_they_are_and_never_read_as_html(name):
    plain = page(fitted(("age", "label"), seed=1))
    for names in ((name, "label"), ("age", name)):
        shown = page(fitted(names, seed=1), table=name)
        assert [tag for tag, _ in shown.elements] == [tag for tag, _ in plain.elements]
        assert shown.outside == []
        assert shown.unbalanced == []
    if name.isprintable():
        assert " ".join(name.split()) in shown.text


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
def test_no_name_changes_the_page(first, second):
    shown = page(fitted((first, "height", second), seed=1), table=first)
    plain = page(fitted(("age", "height", "income"), seed=1))
    assert [tag for tag, _ in shown.elements] == [tag for tag, _ in plain.elements]


def test_a_section_is_shown_by_the_page_and_by_the_printer():
    table = Table("A & <caption>", ("Head", "Share"), ((NASTY[0], 0.25),), ("sum", "1 <unit>"))
    marks = (Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "line"),)
    picture = Picture("drawn", "legend", axis("x", 0.0, 1.0), axis("y", 0.0, 1.0), marks)
    section = Section(
        "new",
        "A <new> one",
        sentences=("Some <b>words</b>.", ("A name: ", Name(NASTY[6]))),
        figures=(Figure(picture, "A <figure>."),),
        tables=(table,),
        notes=("A <note>.",),
        settings=(("Set <to>", NASTY[1]),),
        printed=("Some <b>words</b>.", table),
    )
    found = evolve(model_findings(fitted()), sections=(section,))
    source = render_page(found)
    shown = Page(source)
    assert (shown.outside, shown.unbalanced) == ([], [])
    words = (
        "A <new> one",
        "Some <b>words</b>.",
        one_line(NASTY[6]),
        "A <figure>.",
        "A & <caption>",
    )
    for text in (*words, NASTY[0], "25 %", "1 <unit>", "A <note>.", "Set <to>", NASTY[1], "drawn"):
        assert text in shown.text
    assert "<tfoot " in source
    with io.StringIO() as text:
        print_findings(Console(file=text, width=100), found, output=Path("x"), report_file=None)
        for words in ("Some <b>words</b>.", "A & <caption>", NASTY[0], "25 %", "1 <unit>"):
            assert words in text.getvalue()


def test_the_picture_is_in_comparable_units_and_ordered_by_size():
    model = fitted(("small", "large", "label"))
    model.coef_ = np.array([1e6, 1e-6])
    model.scaling_.scale[:] = [1e-9, 1e9, 1.0]
    model.coef_interval_ = np.stack([model.coef_ * 0.5, model.coef_ * 2], axis=1)
    text = render(model, table="t")
    drawn = re.findall(r'<g class="(\w+)"><title>(\w+): (\S+) \((\S+) to (\S+)\)', text)
    assert drawn == [
        ("clear", "large", "1,000", "500", "2,000"),
        ("clear", "small", "0.0010", "0.0005", "0.0020"),
    ]


def positions(text):
    return [float(x) for x in re.findall(r'(?:x1|x2|cx|x)="(-?[0-9.e+]+)%"', text)]


@pytest.mark.parametrize("factor", [0.0, 5e-324, 1e-300, 1.0, 1e300, 1.7e308])
def test_any_size_of_coefficient_stays_in_the_picture(factor):
    model = fitted()
    model.coef_ = np.array([1.0, -1.0]) * factor
    model.coef_interval_ = np.array([[-1.0, 1.0], [-0.5, 0.5]]) * factor
    model.scaling_.scale[:] = 10.0
    shown = positions(render(model, table="t"))
    assert shown
    assert all(math.isfinite(x) and 0 <= x <= 100 for x in shown)


def test_one_wild_interval_gets_an_arrow_and_squeezes_nobody():
    names = [f"x{i}" for i in range(6)]
    model = fitted((*names, "y"))
    model.coef_interval_[0] = [-1e6, 1e6] / model.scaling_.scale[0]
    text = render(model, table="t")
    assert text.count('class="arrow"') == 2
    points = [float(x) for x in re.findall(r'cx="([0-9.]+)%"', text)]
    assert max(points) - min(points) > 10


def test_many_columns_are_all_in_the_table_and_the_largest_in_the_picture():
    names = [f"column_{i}" for i in range(150)]
    text = render(fitted((*names, "y")), table="t")
    assert text.count("<circle") == 20
    assert "Only the 20 largest effects are drawn" in text
    assert all(f">{name}</bdi></th>" in text for name in names)


def test_shares_of_the_budget_add_up_where_mechanisms_are_alike():
    text = page(fitted()).text
    shares = [int(share) for share in re.findall(r"mu = \S+ (\d+) %", text)]
    assert shares == [36, 64]  # 0.09^2 and 0.12^2 of their sum
    pure = (PureEvent("a", 0.25), PureEvent("b", 0.75))
    assert re.findall(r"epsilon = \S+ (\d+) %", page(fitted(events=pure)).text) == ["25", "75"]
    mixed = (PureEvent("a", 0.25), ApproximateEvent("b", 0.5, 1e-7))
    text = page(fitted(events=mixed)).text
    assert "epsilon = 0.5, delta = 1e-07" in text
    assert not re.findall(r"epsilon = \S+ (\d+) %", text)


@attrs.frozen
class StrangeNewEvent(ApproximateEvent):
    """A kind of release the report has no words for."""

    noise_ratio: float = 1.5


def test_a_new_kind_of_release_is_shown_with_all_its_numbers():
    text = page(fitted(events=(StrangeNewEvent("a", 0.5, 1e-7),))).text
    assert "strange new epsilon = 0.5, delta = 1e-07, noise ratio = 1.5" in text
    assert "squares of their mu" not in text
    assert "squares of their mu" in page(fitted()).text


def test_the_budget_is_explained_by_an_example():
    text = page(fitted(epsilon=math.log(3), delta=1e-6)).text
    assert "whether one row was in the table is right at most 75.1 % of the time" in text
    assert "a probability of at most 1 in 1,000,000" in text
    text = page(fitted(epsilon=50.0, relation="replace")).text
    assert "which of two versions of a row was in the table is right practically 100 %" in text

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import nolook
from nolook.report.findings import plain
from nolook.report.model_findings import model_findings
from nolook.report.page import render_page
from nolook.report.reference_levels import contrasts
from nolook.report.sentences import phrase
from tests.report.hand_made import choosing, current, fitted
from tests.report.pages import Page


def model_of(levels, *features):
    """A model of some of the numbers that a category gives, and of "age"."""
    read_options = {
        "features": ["sex", "age"],
        "categories": {"sex": levels},
        "missing": "drop-row",
    }
    return fitted((*features, "age", "income"), read_options=read_options)


def told(model):
    """The names of the coefficients on the page and in the terminal, and the section's notes."""
    (section,) = (one for one in model_findings(model).sections if one.name == "coefficients")
    (table,), shown = section.tables, section.printed[1]
    assert [row[0] for row in shown.rows] == [row[0] for row in table.rows]
    return [row[0] for row in table.rows], [plain(note) for note in section.notes]


@pytest.mark.parametrize(
    ("levels", "features", "words"),
    [
        (["F", "M"], ["sex=M"], ["sex = M, compared with sex = F"]),
        (
            ["F", "M", "X"],
            ["sex=M", "sex=X"],
            ["sex = M, compared with sex = F", "sex = X, compared with sex = F"],
        ),
        (
            ["F", "M", None],
            ["sex=M", "sex=..."],
            [
                "sex = M, compared with sex = F",
                "sex = none of the 2 declared levels, compared with sex = F",
            ],
        ),
        ([None, "M"], ["sex=M"], ["sex = M, compared with all other values of sex"]),
        (["M"], ["sex=M"], ["sex = M, compared with all other values of sex"]),
        (
            [None, "F", "M"],
            ["sex=F", "sex=M"],
            [
                "sex = F, compared with all other values of sex",
                "sex = M, compared with all other values of sex",
            ],
        ),
        # A selector left a level out: its rows are compared with, like those of F.
        (["F", "M", "X"], ["sex=X"], ["sex = X, compared with all other values of sex"]),
        (["F", "M", None], ["sex=M"], ["sex = M, compared with all other values of sex"]),
    ],
)
def test_a_level_says_what_it_is_compared_with(levels, features, words):
    model = model_of(levels, *features)
    assert list(contrasts(model).values()) == words
    assert told(model) == (
        [*words, "age"],
        [phrase("model.how_to_read_contrasts", missing="drop-row")],
    )


def test_a_level_that_a_choice_left_out_is_among_those_compared_with():
    model = choosing(current(model_of(["F", "M", "X"], "sex=M", "sex=X")), 1, 2)
    assert contrasts(model) == {"sex=X": "sex = X, compared with all other values of sex"}
    assert told(model)[0] == ["sex = X, compared with all other values of sex", "age"]


def test_a_model_without_a_level_says_nothing_of_levels():
    for model in (fitted(), model_of(["F", "M"])):
        assert contrasts(model) == {}
        names, notes = told(model)
        assert names == list(model.scaling_.names[:-1])
        assert notes == []


@pytest.mark.parametrize(
    ("declared", "yes", "no"),
    [
        ({}, "true", "false"),
        ({"member": {"type": "boolean", "true": ["ja"], "false": ["nein"]}}, "ja", "nein"),
        ({"member": {"type": "boolean", "true": ["ja"], "false": ["..."]}}, "ja", "not ja"),
    ],
)
def test_what_is_true_or_false_is_told_of_where_it_is_true(declared, yes, no, tmp_path):
    generator = np.random.default_rng(0)
    member = generator.random(4000) < 0.5
    age = np.where(generator.random(4000) < 0.3, np.nan, generator.normal(size=4000))
    income = 3.0 * member + np.isnan(age) + generator.normal(size=4000)
    told = np.where(member, yes, "nein") if declared else member
    stored = pa.table({"member": told, "age": pa.array(age, from_pandas=True), "income": income})
    schema = nolook.Schema(declared).indicating(["age"])
    table = nolook.read_table(stored, "income", missing="centre", schema=schema)
    fit = nolook.LinearRegression(9.0, 1e-6, random_state=0).fit(table)
    nolook.save(fit, tmp_path / "m.json")
    for model in (fit, nolook.load(tmp_path / "m.json")):
        assert contrasts(model) == {
            "member": f"member = {yes}, compared with member = {no}",
            "age=missing": "age missing, compared with age known",
        }
        said = [plain(words) for words in model_findings(model).conclusion]
        assert re.match(
            rf"income is [\d.]+ higher for member = {yes} than for member = {no}, ", said[0]
        )
        assert "where member" not in " ".join(said)


def test_the_page_explains_a_contrast_once_in_its_section():
    page = Page(render_page(model_findings(model_of(["F", "M", "X"], "sex=M", "sex=X"))))
    assert page.text.count("is a contrast") == 1
    _, _, section = page.text.partition("Coefficients")
    assert section.count("sex = M, compared with sex = F") == 1


def test_a_file_and_a_pipeline_say_the_same_as_the_fit(tmp_path):
    generator = np.random.default_rng(0)
    city = generator.choice(["Bern", "Basel", "Chur"], 4000)
    age = generator.normal(size=4000)
    income = 3 * (city == "Chur") + 0.1 * age + generator.normal(size=4000)
    stored = pa.table({"city": city, "age": age, "income": income})
    table = nolook.read_table(stored, "income", categories={"city": ["Bern", "Basel", "Chur"]})
    whole = nolook.LinearRegression(4.0, random_state=0).fit(table)
    chosen = nolook.PrivatePipeline(
        nolook.KendallSelector(1, random_state=0),
        nolook.LinearRegression(random_state=0),
        epsilon=8.0,
        delta=1e-6,
    ).fit(table)
    assert contrasts(whole)["city=Chur"] == "city = Chur, compared with city = Bern"
    assert contrasts(chosen.regressor_) == {
        "city=Chur": "city = Chur, compared with all other values of city"
    }
    for model in (whole, chosen):
        nolook.save(model, tmp_path / "m.json")
        loaded = nolook.load(tmp_path / "m.json")
        part, again = (getattr(one, "regressor_", one) for one in (model, loaded))
        assert contrasts(again) == contrasts(part)


def test_a_product_of_levels_keeps_the_name_that_a_formula_gives_it():
    levels = {"sex": ["F", "M"], "ward": ["A", "B"]}
    sex, ward = np.repeat(["F", "M", "F", "M"], 500), np.repeat(["A", "B", "B", "A"], 500)
    rows = pa.table({"sex": sex, "ward": ward, "days": np.arange(2000.0)})
    table = nolook.from_formula("days ~ sex*ward", rows, categories=levels)
    model = nolook.LinearRegression(epsilon=1.0, delta=1e-6).fit(table)
    (name,) = (name for name in told(model)[0] if "sex=M:ward=B" in name)
    assert name == "sex=M:ward=B"

"""Forms of questions: what is entered, the command, and the Python that does the same."""

from __future__ import annotations

import contextlib
import re
import shutil

import pytest

import nolook
from nolook.app.asking import ask
from nolook.app.numbers import as_number
from nolook.app.questions import QUESTIONS, fields
from nolook.app.schema_form import cards, read_form
from nolook.app.session import Session
from nolook.cli import run
from nolook.errors import ParameterError
from nolook.estimators.releasing import DryRun, dry_running
from nolook.owner.draft import as_toml
from tests.app.served import SCHEMA, write_table

# Each question with every option that its form has, none as it is by default.
FILLED = {
    "describe": {"features": ["age", "ward"]},
    "tabulate": {
        "by": ["ward"],
        "mean": ["cost", "age"],
        "median": ["age"],
        "share": ["again"],
        "quantiles": ["0.1,0.9"],
        "relation": ["replace"],
    },
    "fit": {
        "target": ["cost"],
        "features": ["age", "ward"],
        "method": ["adassp"],
        "missing": ["zero"],
        "select": ["1"],
    },
    "compare-groups": {"value": ["cost"], "by": ["ward"], "relation": ["replace"]},
    "survival": {"time": ["cost"], "event": ["again"], "by": ["ward"], "relation": ["replace"]},
    "ecdf": {"column": ["cost"], "missing": ["zero"], "relation": ["replace"]},
    "quantiles": {"columns": ["cost", "age"], "at": ["0.2,0.8"], "missing": ["zero"]},
    "roc": {
        "score": ["risk"],
        "target": ["again"],
        "missing": ["zero"],
        "relation": ["replace"],
    },
    "calibration": {
        "probability": ["risk"],
        "target": ["again"],
        "groups": ["5"],
        "missing": ["zero"],
    },
}
SHARED = {"epsilon": ["0,75"], "delta": ["1e-7"], "where": ["age >= 18\ncost < 500"], "rows": [""]}
LEAST = {
    "describe": (),
    "tabulate": ("by",),
    "fit": ("target",),
    "compare-groups": ("value", "by"),
    "survival": ("time", "event"),
    "ecdf": ("column",),
    "quantiles": ("columns",),
    "roc": ("score", "target"),
    "calibration": ("probability", "target"),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Return a folder with a session, of which each test gets a copy."""
    folder = tmp_path_factory.mktemp("begun")
    with contextlib.chdir(folder):
        write_table(folder / "people.csv", 40)
        session = Session.of("people.csv", None)
        session.schema_file.write_text(SCHEMA)
        nolook.Ledger.create(session.ledger, nolook.Budget(3.0, 1e-5), name="people").close()
    return folder


@pytest.fixture
def session(begun, tmp_path, monkeypatch):
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Session.all()["people"]


def filled(session, command, names=None, **more):
    own = FILLED[command] | SHARED | {"rows_per_unit": ["weights"]} | more
    known = {each.name for each in fields(QUESTIONS[command], session.schema, {})}
    kept = known if names is None else {*names, "epsilon"}
    return {name: values for name, values in own.items() if name in kept}


def asked(session, command, given):
    """Return a question, filled in as its form is: all else by default."""
    usual = {
        each.name: each.value if isinstance(each.value, list) else [each.value]
        for each in fields(QUESTIONS[command], session.schema, {})
    }
    return ask(session, QUESTIONS[command], usual | given, check=True)


def dry(make):
    with pytest.raises(DryRun) as found, dry_running():
        make()
    return found.value.purpose, found.value.guarantee


def test_every_option_of_every_form_is_filled_in_here(session):
    for command, question in QUESTIONS.items():
        names = {each.name for each in fields(question, session.schema, {})}
        assert names - {"rows_per_unit"} <= {*FILLED[command], *SHARED}


@pytest.mark.parametrize("command", QUESTIONS)
def test_help_in_forms_does_not_speak_of_the_command_line(session, command):
    for each in fields(QUESTIONS[command], session.schema, {}):
        assert not re.search(r"--|repeated|schema|NAME", each.help), each.help


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("command", QUESTIONS)
def test_the_command_and_the_python_make_the_same_release(session, command, full):
    given = filled(session, command, None if full else LEAST[command])
    if full and "relation" in given:  # which may leave out no row
        given |= {"where": [""], "missing": ["zero"], "relation": ["add-remove"]}
    found = asked(session, command, given)
    problems = [found.error, *(each.error for each in found.fields)]
    assert (found.sections != (), [*filter(None, problems)]) == (True, [])
    by_command = dry(lambda: run([*found.arguments, "--quiet"]))
    by_python = dry(lambda: exec(f"import nolook\n{found.python}", {}))
    assert by_python == by_command
    if full:
        assert by_command[1].epsilon == 0.75


@pytest.mark.parametrize("classes", [False, True])
def test_a_model_is_of_the_kind_that_its_target_needs(session, classes):
    given = {"target": ["again" if classes else "cost"], "epsilon": ["1"]}
    assert ("Logistic" in asked(session, "fit", given).python) is classes


def test_an_error_stands_beside_the_field_that_it_names(session):
    for given, name in (
        ({"by": ["ward"], "epsilon": ["-1"]}, "epsilon"),
        ({"by": ["ward"], "epsilon": ["many"]}, "epsilon"),
        ({"by": ["ward"], "epsilon": ["1"], "where": ["age > or < 3"]}, "where"),
        ({"by": [], "epsilon": ["1"]}, "by"),
        ({"by": ["ward"], "epsilon": ["1"], "quantiles": ["2"]}, "quantiles"),
    ):
        found = asked(session, "tabulate", given)
        assert [each.name for each in found.fields if each.error] == [name]
        assert (found.sections, found.error) == ((), "")
        (error,) = filter(None, (each.error for each in found.fields))
        assert not re.search(r"--|nolook", error)


def test_an_error_names_fields_as_the_form_does(session):
    found = asked(session, "tabulate", {"by": ["ward"], "epsilon": [""]})
    (error,) = filter(None, (each.error for each in found.fields))
    assert error == "'Epsilon' is missing: privacy loss, above 0; smaller protects more"
    found = asked(session, "tabulate", {"epsilon": ["1"]})
    (error,) = filter(None, (each.error for each in found.fields))
    assert error == (
        "no columns are given; expected 'Groups', 'Means of', 'Medians of' or 'Shares of'"
    )


def test_columns_used_by_default_are_marked_and_the_outcome_is_none_of_them(session):
    form = {each.name: each for each in fields(QUESTIONS["fit"], session.schema, {})}
    assert form["features"].value == ["age", "cost", "risk", "ward", "again"]
    for given in ({}, {"features": ["age", "cost"]}):
        found = asked(session, "fit", {"target": ["cost"], "epsilon": ["1"], **given})
        assert found.sections, found.error
        assert "cost" not in found.given["features"]
    none = asked(session, "fit", {"target": ["cost"], "epsilon": ["1"], "features": []})
    assert "'Columns' is ''" in "".join(each.error for each in none.fields)


EXPECTED = {
    "tabulate": "noise changes a count by at most",
    "describe": "noise changes a count by at most",
    "compare-groups": "noise changes a count by at most",
    "survival": "noise changes a count by at most",
    "fit": "Half the intervals",
    "ecdf": "Error of a quartile",
    "quantiles": "Error of a quartile",
    "roc": "Error of the AUC",
    "calibration": "Error of a group's share",
}


@pytest.mark.parametrize("command", QUESTIONS)
def test_what_can_be_expected_stands_before_the_button(session, command):
    given = filled(session, command, LEAST[command], rows=["3.000"])
    assert EXPECTED[command] in repr(asked(session, command, given | {"rows": ["3.000"]}).sections)


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("additive", "cost", "the better of lines and curves"),
        ("additive", "again", "Loss of AUC"),
        ("poisson", "cost", "Loss of deviance explained"),
        ("additive-poisson", "cost", "Loss of deviance explained"),
        ("tukey", "cost", "Rows needed"),
    ],
)
def test_every_model_has_a_forecast(session, method, target, expected):
    given = {"method": [method], "target": [target], "rows": ["3.000"], "epsilon": ["0.5"]}
    found = repr(asked(session, "fit", given).sections)
    assert expected in found


def test_what_the_ledger_has_too_little_for_is_refused_before_the_button(session):
    found = asked(session, "tabulate", {"by": ["ward"], "epsilon": ["4"]})
    assert found.sections == ()
    assert "has epsilon 3" in found.error


def test_the_same_question_has_the_same_name_and_another_one_another(session):
    given = {"by": ["ward"], "epsilon": ["0.5"]}
    same = asked(session, "tabulate", given | {"epsilon": [" 0,50 "]})
    assert asked(session, "tabulate", given).output != same.output  # written otherwise
    assert asked(session, "tabulate", given).output == asked(session, "tabulate", given).output
    others = [given | {"again": ["1"]}, given | {"mean": ["age"]}, given | {"epsilon": ["0.6"]}]
    assert len({asked(session, "tabulate", each).output for each in [given, *others]}) == 4
    before = asked(session, "tabulate", given).output
    session.schema_file.write_text(SCHEMA.replace('"B"]', '"C"]'))
    assert asked(Session.all()["people"], "tabulate", given).output != before


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5", "0.5"),
        ("0,5", "0.5"),
        (",5", ".5"),
        ("1e-5", "1e-5"),
        ("1,5e-6", "1.5e-6"),
        ("1.234,5", "1234.5"),
        ("1,234.5", "1234.5"),
        ("1 234,5", "1234.5"),
        ("1\u202f234,5", "1234.5"),
        ("1\u00a0234", "1234"),
        ("1'234.5", "1234.5"),
        ("1.234.567", "1234567"),
        ("-2", "-2"),
        ("0.125", "0.125"),
        ("2,1250", "2.1250"),
    ],
)
def test_numbers_as_people_write_them(text, number):
    assert as_number(text, "--epsilon") == number


@pytest.mark.parametrize("text", ["1.234", "1,234", "1.2.3", "1,23,4", "a", "", "0x1", "1e", "--1"])
def test_a_number_that_could_be_two_or_none_is_refused(text):
    with pytest.raises(ParameterError, match=r"^--epsilon is '.*'"):
        as_number(text, "--epsilon")


@pytest.mark.parametrize("text", ["40000", "40.000", "40,000", "40 000", "40'000"])
def test_whole_numbers_may_be_grouped(text):
    assert as_number(text, "--rows", whole=True) == "40000"


def form_of(shown):
    return {one.name: [one.value] for card in shown for one in card.fields}


def test_a_draft_that_nobody_changed_is_the_schema_it_drafts(session):
    draft = session.draft()
    content = draft.content
    again = read_form(content, form_of(cards(content, draft.levels, "")))
    assert nolook.Schema.from_dict(again) == nolook.Schema.from_dict(content)


def test_a_schema_is_written_so_that_it_is_read_again(session, tmp_path):
    names = ['a "quoted", one', "dot.ted", "\x7f", "ü"]
    columns = {name: {"type": "category", "levels": ["x, y", "ü", "..."]} for name in names}
    columns["n"] = {"type": "number", "percent": True, "decimal": ",", "missing": ["-9"]}
    merge = {"north, or so": ["N", 'the "north"'], "south": ["S"]}
    columns["m"] = {"type": "category", "levels": ["north, or so", "south"], "merge": merge}
    schema = nolook.Schema(columns, skip=2, delimiter=";")
    (tmp_path / "written.toml").write_text(as_toml(schema.to_dict()), encoding="utf-8")
    assert nolook.Schema.read(tmp_path / "written.toml") == schema
    content = schema.to_dict()
    again = read_form(content, form_of(cards(content, {}, "")))
    assert nolook.Schema.from_dict(again) == schema


def test_what_is_wrong_with_a_column_stands_on_its_card(session):
    content = {"columns": {"a": {"type": "number"}, "b": {"type": "date", "pattern": "%d"}}}
    with pytest.raises(ParameterError) as refused:
        nolook.Schema.from_dict(content)
    marked = cards(content, {}, str(refused.value))
    assert [bool(card.error) for card in marked] == [False, True]


def test_an_address_with_a_password_is_refused_and_not_stored(session, tmp_path):
    with pytest.raises(ParameterError, match="holds a password"):
        Session.of("postgresql://me:secret@server/db", "people")
    assert "secret" not in "".join(p.read_text() for p in tmp_path.glob("*/*.json"))

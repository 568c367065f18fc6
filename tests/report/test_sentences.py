"""Sentences are templates: plain text, strict about what they are given, each one reached."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from jinja2 import UndefinedError

from nolook._unit import ROW
from nolook.report import sentences
from nolook.report.distribution_findings import _Quantiles
from nolook.report.findings import Name
from nolook.report.sentences import phrase, sentence
from tests.report.golden_pages import REACHED, content

FOLDER = Path(sentences.__file__).parent / "templates/sentences"
#: Quantiles of a column with most values beyond the last threshold.
_BEYOND = _Quantiles("x", np.array([0.5]), np.array([9.0]), np.array([[8.0, np.inf]]))
#: What no stored page says.
ELSEWHERE = {
    ("model.chosen_columns", "No column was chosen."): {"names": []},
    ("model.exposure", "days did not stand out from the noise: every exposure counts as 1."): {
        "column": Name("days"), "low": 1.0, "high": 1.0,
    },
    (
        "model.not_visible",
        ("y did not stand out from the noise: why (m.json predicts hardly more than the mean; the "
        "budget is spent)"),
    ): {"family": "count", "target": "y", "why": "why", "file": "m.json"},
    ("before.unused", "Not used: a and b."): {"columns": "a and b"},
    (
        "before.numbers",
        ("Used as numbers: id. By their names these may be identifiers: if so, leave them out "
        "(exclude='id'), and protect all rows of a patient or household together if one "
        "identifies them (unit='id')."),
    ): {"columns": "id", "leave": "exclude='id'", "protect": "unit='id'"},
    (
        "before.alone",
        ("Each row is protected separately. If one of a and b identifies patients or households, "
        "who may have several rows, protect all of them together (unit='NAME')."),
    ): {"columns": "a and b", "several": True, "protect": "unit='NAME'"},
    ("before.dry_run", "Dry run: a count. No row was read, nothing was charged."): {
        "purpose": "a count", "table": "",
    },
    ("before.reads", "It would read a and b."): {"columns": "a and b"},
    (
        "before.within",
        "It would make 2 noisy releases within epsilon = 1, delta = 0, protecting a row:",
    ): {"guarantee": SimpleNamespace(mechanisms=(1, 2), epsilon=1.0, delta=0.0, unit=ROW)},
    ("before.seeded", "It would NOT be private: the seed of its noise is known."): {},
    ("before.no_ledger", "No ledger is given: it would be charged to none (--ledger FILE)."): {},
    (
        "before.balance",
        "The ledger people would be charged epsilon 1, delta 0; epsilon 2, delta 0 would be left.",
    ): {"name": "people", "charge": ("1", "0"), "left": ("2", "0")},
    ("guarantee.made", "Made on 2 November 2026."): {"day": date(2026, 11, 2)},
    ("guarantee.charged", "The ledger people has epsilon 2 of 3 and delta 0 of 1e-05 left."): {
        "name": Name("people"), "left": (("2", "3"), ("0", "1e-05")), "made": False,
    },
    ("guarantee.whole", "Once all of it is spent, its releases together have an attacker."): {
        "words": "An attacker."
    },
    (
        "plan.wanted",
        ("Loss of AUC of at most 0.1: not known to be reached by any epsilon up to 100 on an "
        "ordinary table."),
    ): {"measure": "Loss of AUC", "most": 0.1, "epsilon": None, "hardest": None},
    ("plan.wanted", "Loss of at most 0.1: about epsilon 2 on an ordinary table."): {
        "measure": "Loss", "most": 0.1, "epsilon": 2.0, "hardest": None,
    },
    ("release.stood_out", "1 of 3 columns stood out from the noise."): {"seen": 1, "columns": 3},
    ("release.hidden_scales", "Not known: b and c."): {"names": ["b", "c"]},
    (
        "release.accuracy",
        "The accuracy of a centre or a scale is not known; neither is a result by itself.",
    ): {},
    (
        "release.clipped",
        "Values are clipped to the range. What is scaled is as confidential as the table.",
    ): {},
    (
        "release.guessed",
        ("* This column did not stand out from the noise: its centre and scale are a guess, and "
        "it is better left out."),
    ): {},
    (
        "release.not_private",
        "At least one of them is not private: do not publish this as a private result.",
    ): {},
    ("release.dated", "day is a date, counted in days from 1970-01-01."): {
        "column": "day", "day": "1970-01-01",
    },
    (
        "release.undeclared",
        "Used with a value that has no declared level: about 20 rows.",
    ): {"rows": "about 20 rows"},
    ("release.word", "About 0 rows have out = Yes: check the word."): {
        "counted": "row", "column": "out", "level": "Yes",
    },
    (
        "before.noise",
        "In 95 % of draws noise changes a count by at most 9, regardless of the data.",
    ): {"of": SimpleNamespace(counts="9", mean=None), "weighted": False},
    ("release.beyond", "50 % or more of the rows have a value of x at least 8."): {
        "read": _BEYOND, "counted": "rows",
    },
    ("release.not_seen", "Where the values of x lie is not known."): {"column": "x"},
    (
        "release.lost",
        ("About 40 % of the rows were left out. Missing or undeclared values of these columns can "
        "cause that: a and b; so can line breaks in its cells (multiline = true). The "
        "data owner finds them with nolook schema --check TABLE."),
    ): {"share": "40", "names": ["a", "b"],
        "guarantee": SimpleNamespace(unit=ROW, of_table="t.csv"),
    },
    (
        "release.lost",
        ("About 95 % of the rows were left out. Missing or undeclared values of these columns can "
        "cause that: x0 (check the words given for them)."),
    ): {"share": "95", "names": ["x0"], "guarantee": SimpleNamespace(unit=ROW, of_table="")},
    (
        "scores.clearest",
        (
            "The clearest gap: of about 100 rows with a mean probability of 30 %, 12 percentage "
            "points more are positive (8 to 16; 95 %, all groups together)."
        ),
    ): {
        "about": "about 100 rows", "chance": "30", "middle": "12", "more": True,
        "between": "8 to 16",
    },
    (
        "scores.no_gap",
        "No single group has a gap that is clear of noise and chance (95 %, all groups together).",
    ): {},
    (
        "scores.other_unit",
        ("The model protects each who with all its rows; the figures here protect a row. Together "
        "they promise no more than the weaker of the two."),
    ): {"model": "who", "here": "row"},
    (
        "tables.associated",
        ("a and b are associated: the chi-square test of their declared levels, which allows for "
        "the noise, gives 30 and a p-value of 0.0005 or less. Cramér's V, 0 without an association "
        "and at most 1, is 0.2."),
    ): {"names": ["a", "b"], "tested": (30.0, 0.0001, 0.2)},
    (
        "tables.levels_found",
        ("Levels that are not declared are shown where enough rows have them: one of 50 rows with "
         "a probability of at least 95 %. They are found without survey weights: numbers are of "
         "rows in the table."),
    ): {"one": "row", "size": 50},
}  # fmt: skip


def macros():
    """Every macro: file and name."""
    for path in sorted(FOLDER.glob("*.jinja")):
        module = sentences._environment().get_template(path.name).module
        yield from (
            (path.stem, name) for name in vars(module) if callable(getattr(module, name, None))
        )


def test_a_page_reaches_every_sentence():
    content()
    said = {tuple(place.split(".")) for place, _ in ELSEWHERE}
    assert sorted(set(macros()) - REACHED - said) == []
    assert len(set(macros())) > 40


@pytest.mark.parametrize(("place", "words"), ELSEWHERE)
def test_a_sentence_that_no_page_has(place, words):
    assert phrase(place, **ELSEWHERE[place, words]) == words


def test_what_a_sentence_is_not_given_is_an_error():
    with pytest.raises(UndefinedError, match="family"):
        sentence("model.constant", why="")
    with pytest.raises(TypeError, match="other"):
        sentence("model.failed", one="row", other=2)


@pytest.mark.parametrize("value", [1.5, None, True, object()])
def test_only_text_and_whole_numbers_are_shown_as_they_are(value):
    with pytest.raises(TypeError, match="in a sentence"):
        sentence("model.other_values", column=value)


def test_names_are_pieces_of_their_own_and_nothing_in_them_changes():
    name = Name("a  {{ b }}\n<i> ")
    said = sentence("model.other_values", column=name)
    assert said == ("all other values of ", name)
    assert isinstance(said[1], Name)
    assert sentence("model.other_values", column="x  y") == "all other values of x  y"


def test_a_macro_that_calls_another_keeps_its_names_apart():
    said = sentence(
        "model.picture_caption", family="count", target=Name("y"), omitted=None, legend=""
    )
    assert said[0] == "The horizontal axis is the change in the logarithm of the mean of "
    assert isinstance(said[1], Name)

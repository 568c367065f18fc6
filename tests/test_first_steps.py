"""What a benchmark calls a wrong first sentence, it calls wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nolook
from benchmarks.first_steps import TABLES, write, wrong_of_model, wrong_of_table
from nolook.owner.draft import draft_schema


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(0)
    age, sex = generator.uniform(20, 65, 4000), generator.integers(0, 2, 4000)
    wage = 1000 + 40 * age - 300 * sex + generator.normal(0, 200, 4000)
    names = ("nr", "age", "sex", "wage", "rich")
    columns = np.arange(4000), age, sex, wage, np.where(wage > 2600, "yes", "no")
    return pd.DataFrame(dict(zip(names, columns, strict=True)))


@pytest.fixture(scope="module")
def model(frame):
    table = nolook.read_table(frame, "wage", features=["age", "sex"])
    return nolook.LinearRegression(3.0, random_state=0).fit(table)


def changed(frame, **columns):
    return frame.assign(**columns)


def test_each_rule_tells_of_its_fault(frame, model):
    def wrong(frame, target="wage", words=None, unnamed=("nr",), printed="40 higher"):
        return [*wrong_of_model(model, printed, frame, target, words, unnamed)]

    assert wrong(frame) == []
    assert "identifiers" in wrong(frame, unnamed=("age",))[0]
    for printed in ("1.0e+304", "inf higher", "12345678901234567 higher", "nan (nan to nan)"):
        assert "printed" in wrong(frame, printed=printed)[0]
    assert "wrong direction" in wrong(changed(frame, age=-frame.age))[0]
    assert "more than its range" in wrong(changed(frame, wage=frame.wage / 1e3))[0]
    assert "rows, not 2" in wrong(frame.head(2000))[0]
    unknown = nolook.LinearRegression(1e-3, random_state=0)
    unknown.fit(frame[["age", "sex"]], frame.wage)
    said = [*wrong_of_model(unknown, "", frame, "wage", None, ())]
    assert "no effect has an interval" in said


def test_the_words_of_an_outcome_are_compared(frame):
    table = nolook.read_table(frame, "rich", features=["age", "sex"], positive="yes", negative="no")
    model = nolook.LogisticRegression(3.0, random_state=0).fit(table)
    assert [*wrong_of_model(model, "", frame, "rich", ("no", "yes"), ())] == []
    said = [*wrong_of_model(model, "", frame, "rich", ("yes", "no"), ())]
    assert "classes are" in said[0]


def test_numbers_of_groups_are_compared(frame):
    table = nolook.read_table(frame, False, categories={"rich": ["no", "yes"]})
    found = nolook.tabulate(table, by="rich", mean="wage", epsilon=3.0, random_state=0)
    asked = "tabulate --by rich --mean wage"
    assert [*wrong_of_table(found, "", frame, asked)] == []
    assert "outside" in next(
        iter(wrong_of_table(found, "", changed(frame, wage=frame.wage + 500), asked))
    )
    assert "outside" in next(iter(wrong_of_table(found, "", frame.head(2000), asked)))


@pytest.mark.parametrize("way", sorted({way for way, *_ in TABLES.values()}))
def test_exports_are_read_again(frame, way, tmp_path):
    write(frame, way, tmp_path / "t.csv")
    drafted = draft_schema(tmp_path / "t.csv").content
    assert {*drafted["columns"]} >= {"age", "sex", "wage", "rich"}
    assert drafted["columns"]["wage"]["type"] == "number"
    assert drafted["columns"]["rich"]["type"] == "boolean"

"""``--unit``: what every command that reads a table is told of whom its rows belong to."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook._unit import Unit
from tests.hostile.commands import COMMANDS, release
from tests.hostile.harness import CANARY, run
from tests.ledgers import new_ledger

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

ROWS = 600
COLUMNS = ("a", "b")
SCHEMA = """
[columns]
a = "number"
b = "number"
y = {type = "boolean", true = ["1"], false = ["0"]}
who = {type = "identifier", use = "unit"}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("visits")
    place = np.arange(ROWS)
    whose = pa.array([f"{CANARY}{one}" for one in place // 4])
    columns = {"who": whose, "a": place % 7 / 7.0, "b": place % 5 / 5.0, "y": place % 2}
    pq.write_table(pa.table(columns), folder / "visits.parquet")
    (folder / "visits.toml").write_text(SCHEMA, encoding="utf-8")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    for file in made.iterdir():
        shutil.copy(file, tmp_path)
    new_ledger(tmp_path / "visits.ledger", name="visits")
    return tmp_path


def asked(folder, name, *more, method="linear"):
    words = release(name, "visits.parquet", COLUMNS)
    words = [method if word == "adassp" else word for word in words]
    done = run(folder, *words, "--output", "out.json", "--ledger", "visits.ledger", *more)
    with nolook.Ledger(folder / "visits.ledger") as ledger:
        return done, ledger.unit, ledger.spent.epsilon


def privacy(folder):
    return json.loads(Path(folder / "out.json").read_text("utf-8"))["privacy"]


WAYS = [
    (("--unit", "who"), "weights"),
    (("--unit", "who", "--rows-per-unit", "3"), 3),
    (("--schema", "visits.toml"), "weights"),
    (("--schema", "visits.toml", "--rows-per-unit", "3"), 3),
]


@pytest.mark.parametrize(
    ("name", "words", "rows"),
    [
        # Every day each command with two of the ways to say whose the rows are.
        pytest.param(name, *way, marks=[pytest.mark.slow] * ((i + j // 2 + j) % 2))
        for i, name in enumerate(COMMANDS)
        for j, way in enumerate(WAYS)
    ],
)
def test_a_release_protects_the_unit_or_is_refused_for_it_and_costs_nothing(
    folder, name, words, rows
):
    done, unit, spent = asked(folder, name, *words)
    if done.status == 2:  # never because the column was lost on the way
        assert "--unit is given, but this method has no proof for units" in done.err
        assert spent == 0.0
        return
    assert done.status in {0, 5}
    assert privacy(folder)["unit"] == {"column": "who", "rows": rows, "weighting": None}
    assert unit == Unit("who").in_words()
    assert spent == 1.0
    assert "who" in " ".join(done.out.split())


def test_none_is_no_unit_even_if_the_schema_has_one(folder):
    done, _, _ = asked(folder, "ecdf", "--schema", "visits.toml", "--unit", "none")
    assert done.status == 0
    assert privacy(folder)["unit"]["column"] is None


def test_a_fit_of_units_runs(folder):
    done, unit, _ = asked(folder, "fit", "--unit", "who", "--report", "page.html")
    assert done.status in {0, 5}
    assert unit == Unit("who").in_words()
    model = nolook.load(folder / "out.json")
    assert model.privacy_.unit == Unit("who")
    # It predicts for rows, whoever's they are: other tables need no such column.
    assert "who" not in json.dumps(model.read_options_)
    pq.write_table(
        pq.read_table(folder / "visits.parquet").drop_columns(["who"]), folder / "new.parquet"
    )
    assert (
        run(folder, "predict", "--model", "out.json", "new.parquet", "--output", "p.csv").status
        == 0
    )


def test_a_model_of_chosen_columns_comes_back_with_its_unit(folder):
    done, unit, _ = asked(folder, "fit", "--unit", "who", "--select", "1", "--selector", "moments")
    if done.status == 2:
        assert "no proof for units" in done.err
        return
    assert done.status in {0, 5}
    model = nolook.load(folder / "out.json")
    parts = (model, model.selector_, model.regressor_)
    assert {one.privacy_.unit for one in parts} == {Unit("who")}
    assert unit == Unit("who").in_words()


def test_a_release_for_rows_is_refused_by_a_ledger_for_units(folder):
    assert asked(folder, "fit", "--unit", "who")[0].status in {0, 5}
    done, _, spent = asked(folder, "ecdf", "--force")
    assert done.status == 2
    assert "the release protects a row; those of the ledger" in done.err
    assert spent == 1.0
    words = ("ledger", "charge", "visits.ledger", "--epsilon", "1", "--what", "table 3")
    assert "protects a row" in run(folder, *words).err
    assert run(folder, *words, "--unit", "who").status == 0
    assert "unit named by 'who'" in " ".join(
        run(folder, "ledger", "show", "visits.ledger").out.split()
    )


@pytest.mark.parametrize("schema", ['who = "identifier"', 'who = "text"', None])
def test_that_no_unit_is_named_is_said_where_a_column_may_say_whose_row_it_is(folder, schema):
    table = pq.read_table(folder / "visits.parquet").rename_columns(["patient_id", "a", "b", "y"])
    pq.write_table(table, folder / "own.parquet")
    fit = ("fit", "own.parquet", "--target", "y", "--epsilon", "1", "--output", "m.json", "--force")
    if schema is not None:
        (folder / "own.toml").write_text(
            f"[columns]\n{schema.replace('who', 'patient_id')}\n", encoding="utf-8"
        )
        fit = (*fit, "--schema", "own.toml")
    said = "Each row is protected separately. If patient_id identifies patients or households"
    # Whoever declares a text has said that it names nobody.
    assert (said in " ".join(run(folder, *fit).out.split())) == (schema != 'who = "text"')
    assert said not in " ".join(run(folder, *fit, "--unit", "patient_id").out.split())
    assert run(folder, *fit, "--quiet").out == ""


def test_a_column_called_like_an_identifier_may_be_the_unit(folder):
    numbers = pq.read_table(folder / "visits.parquet").drop_columns(["who"])
    numbers = numbers.append_column("patient_id", pa.array(np.arange(ROWS) // 4))
    pq.write_table(numbers, folder / "wide.parquet")
    fit = ("fit", "wide.parquet", "--target", "y", "--epsilon", "1", "--output", "m.json")
    done = run(folder, *fit)
    said = " ".join(done.out.split())
    assert "leave them out (--exclude patient_id), and protect all rows of a patient" in said
    assert "(--unit patient_id)" in said
    done = run(folder, *fit, "--unit", "patient_id", "--force")
    assert done.status in {0, 5}
    assert "--unit" not in done.out
    assert "Used as numbers" not in done.out

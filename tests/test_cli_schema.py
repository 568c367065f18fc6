"""``nolook schema`` writes a draft for the holder, and every release refuses it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.owner.gaps import find_gaps
from nolook.tables.folders import located
from nolook.tables.read import open_declared
from nolook.tables.schema import Schema
from tests.hostile.harness import CANARY, Charged, run

TABLE = "".join(["city;cost\n", *(f"{CANARY}{i % 2};{i},5 €\n" for i in range(40))])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(TABLE, "utf-8")
    return tmp_path


def test_a_draft_is_written_and_refused_until_it_was_read(folder):
    done = run(folder, "schema", "people.csv")
    assert done.status == 0
    printed = " ".join(done.out.split())
    assert "people.toml is a draft, made by looking at rows of the table" in printed
    assert "delete the line draft = true" in printed
    text = (folder / "people.toml").read_text("utf-8")
    assert text.startswith("draft = true\n")
    assert CANARY not in text
    with pytest.raises(nolook.ParameterError, match="is still a draft: check every line"):
        nolook.Schema.read(folder / "people.toml")
    text = text.replace("draft = true", "").replace("levels = []", f'levels = ["{CANARY}0", "..."]')
    (folder / "people.toml").write_text(text, "utf-8")
    schema = nolook.Schema.read(folder / "people.toml")
    opened = nolook.read_table(folder / "people.csv", "cost", schema=schema)
    assert next(opened.batches())[:, :3].tolist() == [[0, 1, 0], [0.5, 1.5, 2.5]]


def test_a_file_is_replaced_by_force_alone(folder):
    (folder / "people.toml").write_text("kept", "utf-8")
    done = run(folder, "schema", "people.csv")
    assert done.status == 2
    assert "exists (give another name" in done.err
    assert (folder / "people.toml").read_text("utf-8") == "kept"
    assert run(folder, "schema", "people.csv", "--output", "other.toml").status == 0
    assert run(folder, "schema", "people.csv", "--force", "--quiet").out == ""
    drafts = [(folder / name).read_bytes() for name in ("people.toml", "other.toml")]
    assert drafts[0] == drafts[1]


def test_levels_are_shown_in_the_terminal_alone(folder):
    (folder / "people.csv").write_text(TABLE.replace(CANARY, "ward"), "utf-8")
    assert "--levels shows" in run(folder, "schema", "people.csv").out
    assert "ward0" not in (folder / "people.toml").read_text("utf-8")
    # A draft that was corrected in the meantime is neither in the way nor lost.
    (folder / "people.toml").write_text("corrected", "utf-8")
    for more in ([], ["--force"]):
        done = run(folder, "schema", "people.csv", "--levels", *more)
        assert done.status == 0
        assert "for the data owner only" in done.out
        assert "city: ward0, ward1" in done.out
        assert (folder / "people.toml").read_text("utf-8") == "corrected"


@pytest.mark.parametrize("more", [[], ["--levels"]])
def test_a_column_of_one_text_is_named_to_the_holder_alone(folder, more):
    alone = "Only one value in the sampled rows: city."
    for second in "01":
        table = TABLE.replace(f"{CANARY}0", "ward0").replace(f"{CANARY}1", f"ward{second}")
        (folder / "people.csv").write_text(table, "utf-8")
        done = run(folder, "schema", "people.csv", "--force", "--output", "people.toml", *more)
        assert (alone in " ".join(done.out.split())) == (second == "0")
        assert more or "alone" not in (folder / "people.toml").read_text("utf-8").split("[file]")[1]


@pytest.mark.parametrize(
    "words",
    [
        "fit people.csv --target cost --epsilon 1 --delta 1e-6",
        "select people.csv --target cost -k 1 --epsilon 1",
        "ecdf people.csv --column cost --epsilon 1",
    ],
)
def test_every_command_refuses_a_draft_before_anything_is_spent(folder, words):
    assert run(folder, "schema", "people.csv").status == 0
    charged = Charged(folder)
    done = run(folder, *words.split(), "--schema", "people.toml", "--ledger", "a.ledger")
    assert done.status == 2
    assert "is still a draft" in done.err
    assert not done.out
    charged.check(delivered=False)


def test_a_draft_is_checked_as_far_as_it_goes_and_what_it_leaves_open_is_listed(folder):
    assert run(folder, "schema", "people.csv").status == 0
    with (folder / "people.csv").open("a", encoding="utf-8") as file:
        file.write("ward;much\n")
    check = ("schema", "people.csv", "--check", "--schema", "people.toml")
    done = run(folder, *check)
    assert (done.status, done.err) == (0, "")
    said = " ".join(done.out.split())
    assert "cost (number): 2.4 % not as declared; first row 41" in said
    assert "people.toml is still a draft. Not declared yet: levels of city" in said
    assert 'use = "target" (the column to explain)' in said
    assert 'use = "unit" (the patient or household of a row)' in said
    text = (folder / "people.toml").read_text("utf-8").replace("draft = true", "")
    (folder / "people.toml").write_text(text, "utf-8")
    said = run(folder, *check).out
    assert "2.4 % not as declared" in said
    named = text.replace('[columns."cost"]', '[columns."cost"]\nmissing = ["MUCH"]')
    (folder / "people.toml").write_text(named, "utf-8")
    assert "2.4 % declared missing; first row 41" in " ".join(run(folder, *check).out.split())
    assert "draft" not in said


def gaps(path, schema):
    return find_gaps(open_declared(located(path), schema))


def test_cells_of_any_bytes_and_columns_of_any_type_are_checked(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,x\n\xff,\xe9\n NA,y\n-99.0,y\n")
    columns = {"a": {"type": "number", "missing": ["na", "-99"]}, "b": {"type": "category"}}
    columns["b"]["levels"] = ["x", "y"]
    number, _ = gaps(tmp_path / "a.csv", Schema(columns))
    causes = [(2, "not as declared"), (3, "declared missing"), (4, "declared missing")]
    assert number.first == causes
    cells = {"n": 1.0, "l": [1], "s": {"a": 1}, "b": b"\xff"}
    rows = pa.Table.from_pylist([cells, dict.fromkeys(cells)])
    pq.write_table(rows, tmp_path / "a.parquet")
    for found in gaps(tmp_path / "a.parquet", Schema()):
        assert found.first == [(2, "empty")]

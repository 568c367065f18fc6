"""Commands are told how a table is written by a schema."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
import nolook.cli
from tests.report.command import columns

SEED = ("--epsilon", "5", "--random-state", "1", "--force")
GERMAN = ("-s", "file.toml")
SCHEMA = """
[file]
delimiter = ";"
decimal = ","
thousands = "."
missing = ["k.A.", "-"]

[columns]
age = "number"
height = "number"
died = {type = "boolean", true = ["ja"], false = ["nein"]}
income = {type = "number", use = "target"}
"""


def german(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    """A table as a German CSV file and as its clean Parquet twin, and schemas."""
    folder = tmp_path_factory.mktemp("tables")
    data = columns(rows=3000)
    clean = {name: data[name].round(2) for name in ("age", "height", "income")}
    clean["died"] = data["member"]
    rows = zip(*clean.values(), strict=True)
    lines = [";".join([*map(german, numbers), "ja" if died else "nein"]) for *numbers, died in rows]
    (folder / "people.csv").write_text("\n".join(["age;height;income;died", *lines]) + "\n")
    (folder / "bare.csv").write_text("\n".join(lines) + "\n")
    (folder / "people.toml").write_text(SCHEMA)
    (folder / "file.toml").write_text(SCHEMA.partition("[columns]")[0])
    pq.write_table(pa.table(clean), folder / "clean.parquet")
    words = pa.table({**clean, "died": ["ja" if died else "nein" for died in clean["died"]]})
    pq.write_table(words, folder / "words.parquet")
    return folder


@pytest.fixture(autouse=True)
def _here(tables, tmp_path, monkeypatch):
    for place in tables.iterdir():
        (tmp_path / place.name).symlink_to(place)
    monkeypatch.chdir(tmp_path)


def released(name: str) -> dict:
    """What a file says, but for names of its table and target, and how it was read."""
    content = json.loads(Path(name).read_text(encoding="utf-8"))
    for key in ("read_options", "scored"):
        content.pop(key, None)
    content["privacy"].pop("table")
    return content


LINEAR = ("--method", "linear")
SAME = {
    "fit": (
        ("fit", "clean.parquet", "-t", "income", "-f", "age,height"),
        ("fit", "people.csv", "-t", "income", "-f", "age,height", *GERMAN),
        ("fit", "people.csv", "-s", "people.toml", "-x", "died"),
    ),
    "select": (
        ("select", "clean.parquet", "-t", "income", "-f", "age,height", "-k", "1"),
        ("select", "people.csv", "-t", "income", "-f", "age,height", "-k", "1", *GERMAN),
        ("select", "people.csv", "-s", "people.toml", "-x", "died", "-k", "1"),
    ),
    "ecdf": (
        ("ecdf", "clean.parquet", "-c", "income"),
        ("ecdf", "people.csv", "-c", "income", *GERMAN),
        ("ecdf", "people.csv", "-c", "income", "-s", "people.toml"),
    ),
    "quantiles": (
        ("quantiles", "clean.parquet", "-c", "income,age"),
        ("quantiles", "people.csv", "-c", "income,age", *GERMAN),
        ("quantiles", "people.csv", "-c", "income,age", "-s", "people.toml"),
    ),
    "roc": (
        ("roc", "clean.parquet", "--score", "age", "-t", "died", "-p", "true"),
        (
            "roc",
            "people.csv",
            "--score",
            "age",
            "-t",
            "died",
            "-p",
            "ja",
            "--negative",
            "nein",
            *GERMAN,
        ),
        (
            "roc",
            "people.csv",
            "--score",
            "age",
            "-t",
            "died",
            "-p",
            "ja",
            "--negative",
            "nein",
            "-s",
            "people.toml",
        ),
        ("roc", "people.csv", "--score", "age", "-t", "died", "-s", "people.toml"),
    ),
    "calibration": (
        ("calibration", "clean.parquet", "--probability", "age", "-t", "died", "-p", "true"),
        (
            "calibration",
            "people.csv",
            "--probability",
            "age",
            "-t",
            "died",
            "-p",
            "ja",
            "--negative",
            "nein",
            *GERMAN,
        ),
        ("calibration", "people.csv", "--probability", "age", "-t", "died", "-s", "people.toml"),
    ),
    "a target of words": (
        ("fit", "clean.parquet", "-t", "died", "-f", "age,height", *LINEAR),
        (
            "fit",
            "words.parquet",
            "-t",
            "died",
            "-f",
            "age,height",
            "-p",
            "ja",
            "--negative",
            "nein",
            *LINEAR,
        ),
        (
            "fit",
            "people.csv",
            "-t",
            "died",
            "-f",
            "age,height",
            "-p",
            "ja",
            "--negative",
            "nein",
            *LINEAR,
            *GERMAN,
        ),
    ),
}


@pytest.mark.parametrize("ways", SAME.values(), ids=SAME)
def test_a_table_gives_the_same_numbers_however_it_is_written(cli, ways):
    found = []
    for place, words in enumerate(ways):
        done = cli(*words, *SEED, "-q", "-o", f"{place}.json")
        assert done == (0, "", ""), words
        found.append(released(f"{place}.json"))
    for other in found[1:]:
        assert other == found[0]


def test_another_positive_value_is_another_model(cli):
    for word in ("ja", "nein"):
        words = ("fit", "words.parquet", "-t", "died", "-f", "age,height", "-p", word,
                 "-n", "nein" if word == "ja" else "ja")  # fmt: skip
        assert cli(*words, *LINEAR, *SEED, "-q", "-o", f"{word}.json").status == 0
    yes, no = (nolook.load(f"{word}.json").intercept_ for word in ("ja", "nein"))
    assert yes != no


def test_predictions_follow_the_model_or_a_schema_of_the_new_table(cli):
    fit = ("fit", "people.csv", "-s", "people.toml", "-x", "died", *SEED, "-q", "-o", "m.json")
    assert cli(*fit).status == 0
    ways = (
        ("people.csv",),  # as the model remembers
        ("clean.parquet",),
        ("people.csv", "-s", "people.toml"),
        ("people.csv", *GERMAN),
    )
    found = []
    for place, words in enumerate(ways):
        assert cli("predict", "--model", "m.json", *words, "-o", f"{place}.parquet").status == 0
        found.append(pq.read_table(f"{place}.parquet")["prediction"].to_numpy())
    assert np.ptp(found[0]) > 0
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_a_file_without_a_header_is_fitted_and_predicted(cli):
    names = (
        '[columns]\nage = "number"\nheight = "number"\nincome = {type = "number", use = "target"}\n'
    )
    text = SCHEMA.partition("[columns]")[0] + "header = false\n" + names + 'died = "text"\n'
    Path("bare.toml").write_text(text)
    fit = (*SEED, "-q", "-o", "m.json")
    assert cli("fit", "bare.csv", "-s", "bare.toml", *fit).status == 0
    bare = released("m.json")
    assert cli("fit", "people.csv", "-s", "people.toml", "-x", "died", *fit).status == 0
    assert bare == released("m.json")
    assert cli("fit", "bare.csv", "-s", "bare.toml", *fit).status == 0
    assert cli("predict", "--model", "m.json", "bare.csv", "-o", "bare.parquet").status == 0
    predicted = pq.read_table("bare.parquet")["prediction"].to_numpy()
    assert np.isfinite(predicted).all()
    assert len(predicted) == 3000


def test_what_is_left_out_and_what_looks_like_an_identifier_is_said_before_the_fit(cli, tables):
    table = pq.read_table(tables / "words.parquet")
    numbers = pa.array(np.arange(3000))
    # A level in a byte of its own is no identifier.
    for name, kind in {"contact_telephone": pa.int8(), "type_id_1": pa.bool_()}.items():
        table = table.append_column(name, pa.array(np.arange(3000) % 2).cast(kind))
    for name in ("patient_id", "ZIP", "phoneNr", "paid", "grid", "valid"):
        table = table.append_column(name, numbers)
    pq.write_table(table, "wide.parquet")
    done = cli("fit", "wide.parquet", "-t", "income", *SEED, "-o", "m.json")
    first, second = done.out.splitlines()[:2]
    assert first == "Not used: died (text)."
    assert second.startswith("Used as numbers: patient_id, ZIP, phoneNr. ")
    assert "--exclude patient_id,ZIP,phoneNr" in " ".join(done.out.split())
    done = cli("fit", "wide.parquet", "-t", "income", "-x", "died,patient_id,ZIP,phoneNr", *SEED)
    assert "Not used" not in done.out
    assert "Used as numbers" not in done.out
    # Whoever declared a number has thought of it.
    Path("wide.toml").write_text('[columns]\nZIP = "number"\ndied = "text"\n')
    done = cli("fit", "wide.parquet", "-t", "income", "-s", "wide.toml", *SEED)
    assert "Not used" not in done.out
    assert "Used as numbers: patient_id, phoneNr." in done.out
    assert cli("fit", "wide.parquet", "-t", "income", "-q", *SEED).out == ""


def test_columns_named_as_all_levels_of_one_category_are_recognised(cli, tables):
    table = pq.read_table(tables / "words.parquet")
    names = ("cut_1", "cut_2", "cut_Very_Good", "cut_width", "item_1", "item_2")
    for place, name in enumerate(names):
        table = table.append_column(name, pa.array((np.arange(3000) % 3 == place) * 1))
    pq.write_table(table, "wide.parquet")
    out = " ".join(cli("fit", "wide.parquet", "-t", "income", *SEED, "-o", "m.json").out.split())
    before, _, after = out.partition("Linear model")
    assert "cut" not in before
    assert "cut_1, cut_2 and cut_Very_Good look like all levels of one category" in after


def test_a_date_left_out_is_not_listed(cli):
    Path("dates.csv").write_text("born,age,y\n2020-01-01,1,2\n")
    Path("dates.toml").write_text(
        '[columns]\nborn = "date"\nmonth = {month_of = "born"}\nage = "number"\n'
    )
    words = ("fit", "dates.csv", "-s", "dates.toml", "-t", "y", "-x", "born,month", *SEED)
    assert "born" not in cli(*words).out


def test_what_is_said_of_columns_precedes_every_charge(cli):
    nolook.Ledger.create("a.ledger", nolook.Budget(1, 1e-4), name="a").close()
    done = cli("fit", "words.parquet", "-t", "income", *SEED[:2], "-l", "a.ledger")
    assert done.status == 3
    assert done.out == "Not used: died (text).\n"


def test_shells_can_complete_options(cli, monkeypatch, capsys):
    monkeypatch.setenv("_NOLOOK_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "nolook fit --exc")
    monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit) as ended:
        nolook.cli._run([])
    assert not ended.value.code
    assert capsys.readouterr().out.split() == ["--exclude"]

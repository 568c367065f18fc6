"""A draft names columns and words from public lists, and no text that was found in a cell."""

from __future__ import annotations

import os
import re
import tomllib
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nolook.errors import TableError
from nolook.owner import draft
from nolook.owner.draft import draft_schema
from nolook.tables.read import read_table
from nolook.tables.schema import Schema
from nolook.tables.words import is_identifier
from tests.hostile.harness import CANARY, attempt

ENCODINGS = ["utf-8", "cp1252", "utf-16-le", "utf-16-be"]

in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def drafted(tmp_path, cells, *, delimiter=",", encoding="utf-8", head="a"):
    """What a draft of one column of cells says, without its file's settings where usual."""
    path = tmp_path / "t.csv"
    lines = [f"{head}{delimiter}other", *(f"{cell}{delimiter}x y{i}" for i, cell in
             enumerate(cells))]  # fmt: skip
    path.write_bytes("\n".join([*lines, ""]).encode(encoding))
    found = tomllib.loads(draft_schema(path).text)
    assert found.pop("draft") is True
    return found["file"], found["columns"][head]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2.5", "", "NA", "-3e5"], {"type": "number"}),
        (["0", "1", "1"], {"type": "number"}),
        (["true", "false", "", "true"], {"type": "boolean", "true": ["true"], "false": ["false"]}),
        (["NEIN", "JA", "NEIN"], {"type": "boolean", "true": ["ja"], "false": ["nein"]}),
        (["yes", "no", "maybe"] * 20, {"type": "category", "levels": []}),
        (["2024-02-29", "", "2023-01-01"], {"type": "date", "pattern": "%Y-%m-%d"}),
        (["29.02.2024", "1.1.2023"], {"type": "date", "pattern": "%d.%m.%Y"}),
        (["12/31/2023", "1/2/2023"], {"type": "date", "pattern": "%m/%d/%Y"}),
        (["31/12/2023", "1/2/2023"], {"type": "date", "pattern": "%d/%m/%Y"}),
        (["2024-02-29 10:15:00"], {"type": "datetime", "pattern": "%Y-%m-%d %H:%M:%S"}),
        (["2024-02-29T10:15:00Z"], {"type": "datetime", "pattern": "%Y-%m-%dT%H:%M:%SZ"}),
        (["0012", "0013", "4711"] * 20, {"type": "category", "levels": []}),
        ([f"{i:05}" for i in range(100)], {"type": "identifier"}),
        ([f"K{i}" for i in range(100)], {"type": "identifier"}),
        ([f"a text {i}" for i in range(100)], {"type": "text"}),
        (["A", "B", "C"] * 20, {"type": "category", "levels": []}),
        (["12 %", "7.5%"], {"type": "number", "percent": True}),
        (["$12", "-$7.50"], {"type": "number", "currency": ["$"]}),
        (["", "NA", ""] * 20, {"type": "text"}),
        (["1.0", "2.0", "", "17"] * 50, {"type": "integer"}),
        (["1", "2", "3"] * 9, {"type": "number"}),
        (["1", "2.5", "k. A.", "3"] * 9, {"type": "number", "missing": ["k. A."]}),
        (["1", "2.5", "k. A.", "3", *["7"] * 9], {"type": "number"}),
        (
            ["1", "2", "3", "4", "UNKNOWN", "Unbekannt", "-"] * 9,
            {"type": "number", "missing": ["-", "UNKNOWN", "Unbekannt"]},
        ),
        (
            ["ja", "nein", "keine Angabe"] * 9,
            {"type": "boolean", "true": ["ja"], "false": ["nein"], "missing": ["keine Angabe"]},
        ),
        (
            ["2024-02-29", "2023-01-01", "unknown"] * 9,
            {"type": "date", "pattern": "%Y-%m-%d", "missing": ["unknown"]},
        ),
        (["1", "2", "3", "4", "5", "elsewhere"] * 9, {"type": "number"}),
        (["1", "2", "3", "4", "5", "-99"] * 9, {"type": "number", "missing": ["-99"]}),
        (["A", "B", "unknown"] * 20, {"type": "category", "levels": []}),
        (["A", "B", "?"] * 20, {"type": "category", "levels": [], "missing": ["?"]}),
    ],
)
@pytest.mark.parametrize(
    "encoding", ["utf-8", *(pytest.param(e, marks=pytest.mark.slow) for e in ENCODINGS[1:3])]
)
def test_types_of_columns(tmp_path, cells, expected, encoding):
    assert drafted(tmp_path, cells, encoding=encoding)[1] == expected


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "patient_id",
        "patientId",
        "PatientID",
        "Fall-Nr",
        "MRN",
        "pidnum",
        "idno",
        "caseid",
        "Patient",
        "Fallnummer",
        "Patientennr",
        "Aktenzeichen",
        "SEQN",
        "code2",
    ],
)
@pytest.mark.parametrize("cell", [str, "{:05}".format, "1,{}".format])
def test_names_that_say_they_identify(tmp_path, name, cell):
    cells = [cell(i) for i in range(30)]
    assert drafted(tmp_path, cells, delimiter=";", head=name)[1] == {"type": "identifier"}


@pytest.mark.parametrize(
    "name",
    [
        "inr",
        "snr",
        "paid",
        "width",
        "humid",
        "covid",
        "aid",
        "num",
        "valid",
        "grid",
        "patients",
        "per_patient",
    ],
)
def test_names_that_end_like_identifiers(name):
    assert not is_identifier(name)


@pytest.mark.parametrize(
    ("cells", "decimal", "thousands"),
    [
        (["1.5", "2"], ".", None),
        (["4,812", "12,000", "7"], ".", ","),
        (["4,812.5", "12,000", "7"], ".", ","),
        (["1,5", "2"], ",", None),
        (["4.812,5", "7"], ",", "."),
        (["4'812.5", "7"], ".", "\u2019"),
        (["4\u202f812,5", "7"], ",", " "),
    ],
)
def test_signs_of_numbers(tmp_path, cells, decimal, thousands):
    file, column = drafted(tmp_path, cells * 5, delimiter=";")
    assert (file["decimal"], file.get("thousands")) == (decimal, thousands)
    assert column == {"type": "number"}


def test_a_column_with_other_signs_than_its_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["a;b;c", *(f"{n}.0;4.8{n},5;{n},5" for n in range(10, 40))]))
    content = draft_schema(path).content
    assert (content["file"]["decimal"], content["file"]["thousands"]) == (",", ".")
    table = read_table(path, False, features=["a", "b", "c"], schema=Schema.from_dict(content))
    (block,) = table.batches()
    assert block[:, 0].tolist() == [10.0, 4810.5, 10.5]


DELIMITERS = [",", ";", "\t", "|", "^", "~"]
#: Every delimiter with every encoding; comments and quotes with each of both.
FORMS = [
    (delimiter, encoding, [None, "#", "%"][(i + j) % 3], "\"'"[(i // 3 + j) % 2])
    for i, delimiter in enumerate(DELIMITERS)
    for j, encoding in enumerate(ENCODINGS)
]
OTHER_FORMS = sorted({*product(DELIMITERS, ENCODINGS, [None, "#", "%"], "\"'")} - {*FORMS}, key=str)


@pytest.mark.parametrize(
    ("delimiter", "encoding", "comment", "quote"),
    [*FORMS, *(pytest.param(*form, marks=pytest.mark.slow) for form in OTHER_FORMS)],
)
def test_how_a_file_is_written(tmp_path, delimiter, encoding, comment, quote):
    def cell(text):
        return f"{quote}{text}{quote}"

    lines = [f"{comment} a comment, with; signs"] if comment else []
    rows = [["größe", f"a{delimiter}b", "c"], *([str(i), f"x{delimiter}", "y"] for i in range(9))]
    lines += [delimiter.join(map(cell, row)) for row in rows]
    (tmp_path / "t.csv").write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    found = tomllib.loads(draft_schema(tmp_path / "t.csv").text)
    file = found["file"]
    assert (file["delimiter"], file["encoding"]) == (delimiter, encoding)
    assert (file["quote"], file.get("comment")) == (quote, comment)
    assert list(found["columns"]) == ["größe", f"a{delimiter}b", "c"]


@in_one_folder
@given(
    cells=st.lists(
        st.one_of(
            st.sampled_from([CANARY, f"{CANARY} x", f'"{CANARY}""', f"€{CANARY}", f"# {CANARY}"]),
            st.sampled_from(["1", "JA", "NEIN", "1.1.2020", f"1.{CANARY}", f"{CANARY}%", "k. A."]),
            st.binary(max_size=5).map(lambda raw: f"{CANARY}{raw.decode('latin-1')}{CANARY}"),
        ),
        max_size=12,
    ),
    copies=st.sampled_from([1, 40]),
    name=st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5),
)
def test_no_cell_is_in_a_draft(tmp_path, cells, copies, name):
    """Nor in what refuses to make one; and every draft is TOML."""
    lines = ["a", *(cells * copies)]
    name = name.replace('"', "").replace("\n", "").replace("\r", "")
    content = "\n".join(f"{line},{i},yes" for i, line in enumerate(lines[1:]))
    (tmp_path / "t.csv").write_text(f'first,"{name}",b\n{content}\n', "utf-8")
    made = attempt(lambda: draft_schema(tmp_path / "t.csv"))
    if not isinstance(made, TableError):
        assert tomllib.loads(made.text)["draft"] is True
        assert CANARY not in made.text


@pytest.mark.parametrize("first", ["12,a", "1.5,b", ",", "a,a", "1e5,x", ",,b"])
def test_a_first_line_that_may_be_a_row_is_refused_and_not_quoted(tmp_path, first):
    (tmp_path / "t.csv").write_text(f"{first}\n{CANARY},1\n" * 5, "utf-8")
    with pytest.raises(TableError, match="expected the columns' names") as caught:
        draft_schema(tmp_path / "t.csv")
    assert CANARY not in str(caught.value)


@in_one_folder
@given(content=st.binary(max_size=200), ending=st.sampled_from([".csv", ".csv.gz", ".csv.zst"]))
def test_any_bytes_give_a_draft_or_one_line(tmp_path, content, ending):
    path = tmp_path / f"t{ending}"
    path.write_bytes(content)
    made = attempt(lambda: draft_schema(path))
    assert isinstance(made, TableError) or tomllib.loads(made.text)["draft"] is True


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_rows_of_a_sorted_table_are_sampled_from_all_of_it(tmp_path, ending):
    """In bounded time: of a long one only the first batches, or some of its parts."""
    words = np.repeat([*"ABCDEF"], 60_000)
    table = pa.table({"sex": words, "one": np.ones(len(words))})
    path = tmp_path / f"t{ending}"
    if ending == ".csv":
        pa_csv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=60_000)
    made = draft_schema(path)
    assert made.levels["sex"] == [*("ABCDEF" if ending == ".csv" else "ADF")]
    assert any(each.startswith("Only one value in the sampled rows: one.") for each in made.found)


def test_only_the_first_batches_of_a_long_table_are_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    row = "," + " " * 200 + "2\n"
    path.write_text("a,b\n" + f"A{row}" * 12_000 + f"B{row}", "utf-8")
    monkeypatch.setattr(draft, "_MOST_BATCHES", 1)
    monkeypatch.setattr(draft, "MOST_ROWS", 10**6)
    assert draft_schema(path).levels == {"a": ["A"]}
    monkeypatch.undo()
    monkeypatch.setattr(draft, "MOST_ROWS", 10**6)
    assert draft_schema(path).levels == {"a": ["A", "B"]}


@pytest.mark.parametrize("name", ["distcod", "schidkn", "intnum", "Firm", "commune", "dist_cod"])
def test_codes_of_groups_are_no_features(tmp_path, name):
    """Many whole numbers by such a name; with few, or with fractions, a name says nothing."""
    for values, expected in (
        ([f"{1000 + i % 40}" for i in range(300)], "identifier"),
        ([f"{i % 4}" for i in range(300)], "integer"),
        ([f"{i % 40}.5" for i in range(300)], "number"),
    ):
        path = tmp_path / "t.csv"
        path.write_text(f"{name},y\n" + "".join(f"{v},{i % 7}.5\n" for i, v in enumerate(values)))
        made = draft_schema(path)
        kind = tomllib.loads(made.text)["columns"][name]["type"]
        assert kind == expected
        assert any("Codes of groups" in each for each in made.found) == (kind == "identifier")


@pytest.mark.parametrize("name", ["age", "width", "bid", "price", "persons", "rooms", "kids"])
def test_whole_numbers_by_other_names_are_features(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text(f"{name},y\n" + "".join(f"{i % 40},{i % 7}.5\n" for i in range(300)))
    assert tomllib.loads(draft_schema(path).text)["columns"][name] == {"type": "integer"}


def test_columns_of_0_and_1_are_drafted_as_such_in_many_rows(tmp_path):
    path = tmp_path / "t.csv"
    for rows, kind in ((300, "boolean"), (100, "number")):
        path.write_text("out,z,n\n" + "".join(f"{i % 2}.0,{i % 3},{i % 2}\n" for i in range(rows)))
        made = draft_schema(path)
        kinds = [each["type"] for each in made.content["columns"].values()]
        assert kinds == [kind, "integer" if rows == 300 else "number", kind]
        assert any("0 or 1 in all sampled rows: out, n" in each for each in made.found) == (
            kind == "boolean"
        )
    assert draft_schema(path, target="out").content["columns"]["out"]["type"] == "boolean"


def test_codes_of_missing_numbers_are_found_in_stored_tables_too(tmp_path):
    cells = [-99 if i % 9 == 0 else i % 40 for i in range(300)]
    pq.write_table(pa.table({"n": cells, "x": [c / 4 for c in cells]}), tmp_path / "t.parquet")
    made = draft_schema(tmp_path / "t.parquet")
    assert made.content["columns"]["n"] == {"type": "integer", "missing": ["-99"]}
    assert "missing" not in made.content["columns"]["x"]  # which has no such number
    assert "n: -99 may stand for a missing value (drafted so)." in made.found


@pytest.mark.parametrize(("end", "delimiter"), [(",0", ";"), (".0", ",")])
def test_whole_numbers_are_read_as_they_are_drafted(tmp_path, end, delimiter):
    path = tmp_path / "t.csv"
    rows = (f"{i % 7}{end}{delimiter}{i % 5}{end[0]}5\n" for i in range(240))
    path.write_text(f"n{delimiter}x\n" + "".join(rows))
    content = draft_schema(path).content
    assert content["columns"]["n"] == {"type": "integer"}
    (block,) = read_table(path, False, schema=Schema.from_dict(content)).batches()
    assert block.shape == (2, 240)


def test_a_target_that_rises_with_each_row_stays_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("k,y\n" + "".join(f"{i % 4},{i * i}\n" for i in range(300)))
    content = draft_schema(path, target="y").content
    assert content["columns"]["y"] == {"type": "integer", "use": "target"}
    assert Schema.from_dict(content).used_as("target") == ("y",)


def test_numbers_that_rise_with_each_row_are_no_feature(tmp_path):
    path, rises = tmp_path / "t.csv", np.cumsum(np.arange(300) % 3 + 1)
    for n, values in enumerate((rises, rises / 2, rises[:100], np.roll(rises, 5))):
        path.write_text("k,y\n" + "".join(f"{v},{i % 7}.5\n" for i, v in enumerate(values)))
        kind = draft_schema(path).content["columns"]["k"]["type"]
        assert kind == ("identifier", "number", "number", "integer")[n]


def test_columns_that_miss_in_most_rows_are_no_features(tmp_path):
    path = tmp_path / "t.csv"
    rows = [
        f"{i}.5,{i if i % 3 == 0 else ''},{f'{i % 7}.5' if i % 3 == 1 else ''}" for i in range(300)
    ]
    path.write_text("\n".join(["x,left,y", *rows, ""]))
    made = draft_schema(path, target="y")
    columns = tomllib.loads(made.text)["columns"]
    assert columns["left"] == {"type": "integer", "use": "nothing"}
    assert columns["y"]["use"] == "target"
    assert any(each.startswith("Missing in half of the rows or more: left.") for each in made.found)


def test_too_few_rows_are_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("city,x\nNew York,1\nBern,2\n")
    made = draft_schema(path)
    assert made.levels == {"city": ["Bern", "New York"]}
    said, _ = made.found
    assert said.startswith("The table has 2 rows, too few to distinguish categories from")
    assert "check city" in said


def test_types_of_a_stored_table_are_its_own(tmp_path):
    table = pa.table({
        "x": [1.0], "n": pa.array([1], pa.int8()), "b": [True], "c": [CANARY],
        "k": pa.array([CANARY]).dictionary_encode(), "d": pa.array([0], pa.date32()),
        "t": pa.array([0], pa.timestamp("s")), "l": [[1]], "row_id": [1],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "t.parquet")
    made = draft_schema(tmp_path / "t.parquet")
    found = tomllib.loads(made.text)
    assert "file" not in found
    types = {name: column["type"] for name, column in found["columns"].items()}
    assert types == {
        "x": "number", "n": "integer", "b": "boolean", "c": "category", "k": "category",
        "d": "date", "t": "datetime", "l": "text", "row_id": "identifier",
    }  # fmt: skip
    assert CANARY not in made.text
    assert made.levels == {"c": [CANARY], "k": [CANARY]}


def test_a_question_mark_is_not_a_level(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "Nord,1\nSüd,2\n?,3\n" * 20)
    assert draft_schema(path).levels == {"a": ["Nord", "Süd"]}


def test_levels_are_told_beside_the_draft(tmp_path):
    words = np.array(["Nord", "Süd", "Ost"])[np.arange(300) % 3]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{w},1\n" for w in words), "utf-8")
    made = draft_schema(tmp_path / "t.csv")
    assert made.levels == {"a": ["Nord", "Ost", "Süd"]}
    assert not re.search("Nord|Ost|Süd", made.text)


def test_words_that_differ_in_letter_case_are_offered_once_as_most_rows_have_them(tmp_path):
    words = ["f", "F", "F", "m", "M", "m", " F", "d"] * 10
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{w},1\n" for w in words), "utf-8")
    made = draft_schema(tmp_path / "t.csv")
    assert made.levels == {"a": ["F", "d", "m"]}
    assert "a: some differ only in case (ignored but in identifiers) or in blanks." in made.found


SHORT = 'a: a level may abbreviate another (merge = { LEVEL = ["OTHER"] } if so).'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Chir.", "Chirurgie", "Innere"], True),
        (["Inn. Med.", "Innere Medizin"], True),
        (["m", "w", "weiblich"], True),
        (["I", "II", "III", "IV"], False),
        (["1. Quartal", "10. Quartal"], False),
        (["A", "B", "AB"], False),
        (["Innere", "Innere Medizin"], False),
    ],
)
def test_levels_that_may_abbreviate_others_are_mentioned(tmp_path, words, said):
    rows = "".join(f"{word},{i}.5\n" for i, word in enumerate(words * 20))
    (tmp_path / "t.csv").write_text("a,b\n" + rows, "utf-8")
    made = draft_schema(tmp_path / "t.csv")
    assert (SHORT in made.found) == said
    assert not any(word in made.text for word in words if len(word) > 3)


@pytest.mark.parametrize("longer", [0, 1])
def test_consequences_of_an_outcome_are_drafted_as_no_features_or_asked_about(tmp_path, longer):
    random = np.random.default_rng(0)
    start, days = random.integers(0, 900, 400), random.integers(1, 40, 400)
    first = np.datetime64("2021-01-01")
    cost, age = 300.0 * days + random.normal(0, 900, 400), random.normal(60, 9, 400)
    columns = first + start, first + start + days - longer, days, cost, age
    rows = "".join(f"{a},{b},{c},{d:.2f},{e:.1f}\n" for a, b, c, d, e in zip(*columns, strict=True))
    (tmp_path / "t.csv").write_text("admitted,discharged,days,cost,age\n" + rows)
    made = draft_schema(tmp_path / "t.csv", "days")
    uses = {name: each.get("use") for name, each in made.content["columns"].items()}
    assert uses == {
        "admitted": None, "discharged": "nothing", "days": "target", "cost": None, "age": None
    }  # fmt: skip
    assert 'Known only after days? If so, use = "nothing": admitted, cost.' in made.found
    made = draft_schema(tmp_path / "t.csv")
    asked = 'Known only after the outcome? If so, use = "nothing": admitted, discharged.'
    assert asked in made.found


def test_numbers_that_may_be_weights_or_codes_are_named(tmp_path):
    rows = "".join(f"{1 + i % 3},{1 + i % 2},{i % 7}\n" for i in range(300))
    (tmp_path / "t.csv").write_text("pweight,sex,age\n" + rows, "utf-8")
    said = 'pweight, sex: survey weights need use = "weights", codes type = "category".'
    assert said in draft_schema(tmp_path / "t.csv").found


def test_places_that_are_no_table(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    for name in ("pipe.csv", "folder.csv", "none.csv", "none.parquet", "t.xlsx", "nul\0.csv"):
        with pytest.raises(TableError) as caught:
            draft_schema(tmp_path / name)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("word", ["k.A.", "unknown", "9", "-99", "Keine Angabe"])
def test_words_of_categories_that_may_say_nothing_are_named(tmp_path, word):
    (tmp_path / "t.csv").write_text("a,y\n" + f"A,1\nB,2\nC 9,3\n{word},4\n" * 20)
    draft = draft_schema(tmp_path / "t.csv")
    assert f"a: {word} may stand for a missing value (missing = [...] if so)." in draft.found
    assert draft.content["columns"]["a"] == {"type": "category", "levels": []}


@pytest.mark.parametrize(("most", "drafted"), [(3, True), (4, True), (8, False)])
def test_a_9_far_from_other_numbers_may_be_a_code(tmp_path, most, drafted):
    rows = "".join(f"{9 if i % 10 == 5 else 1 + i % most},{i % 7}.5\n" for i in range(300))
    (tmp_path / "t.csv").write_text("a,y\n" + rows)
    draft = draft_schema(tmp_path / "t.csv")
    assert draft.content["columns"]["a"].get("missing") == (["9"] if drafted else None)
    assert ("a: 9 may stand for a missing value (drafted so)." in draft.found) == drafted

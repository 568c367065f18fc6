"""What is made of a cell: what Python makes of it, by that cell alone, and never an error."""

from __future__ import annotations

import datetime as dt
import math
import re
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from nolook.errors import ParameterError, TableError
from nolook.tables.conversion import conversion
from nolook.tables.derived import Derivation, derive
from nolook.tables.schema import SETTINGS, ColumnSchema, FileFormat
from nolook.tables.source import Column, in_words
from nolook.tables.words import plain_numbers, trimmed
from tests.hostile.arbitrary import KINDS

DECLARED = {
    "number": ColumnSchema("number"),
    "comma": ColumnSchema("number", decimal=",", thousands=".", missing=("k. A.", "")),
    "money": ColumnSchema("number", thousands=",", currency=("€", "EUR", "$", "|(")),
    "percent": ColumnSchema("number", percent=True, thousands="\u2019"),
    "integer": ColumnSchema("integer", thousands=" "),
    "boolean": ColumnSchema("boolean", true=("YES", "1"), false=("NO", "0"), missing=("?",)),
    "one class": ColumnSchema("boolean", true=("YES",), false=("...",)),
    "category": ColumnSchema("category", levels=["A", "B"], missing=("?",)),
    "date": ColumnSchema("date", pattern="%d.%m.%Y", origin="2020-01-01"),
    "datetime": ColumnSchema("datetime", pattern="%Y-%m-%d %H:%M:%S"),
}
TRAPS = [
    None, b"", b" ", b"\xff", b"1\xff", b"\xff1", b"\x00", b"1\x002", b"1e999", b"-1e999",
    b"1e-999", b"--5", b"+-5", "€-€5".encode(), "-€5".encode(), "€".encode(), b"$", b"^", b".*",
    b"(", b"5\n6",
    b"5\n", b"\r", b"\xed\xa0\x80", b"inf", b"-Infinity", b"nan", b"NaN", b"nan(1)", b"0x10",
    b"1_000", b"1,000", b"1.000,5", b"1.0.0", b"1,00", "\uff15".encode(), b"\xc2",
    "\u22125".encode(), "5\u00a0".encode(), b"5 %", b"1e5%", b".", b",", b"e5", b"9" * 10_000,
    b"0." + b"3" * 5_000, b"YES", b"yes", b"A", b"?", b"29.02.2023", b"29.02.2024", b"1.1.0000",
    b"99.99.9999", b"2024-02-30 10:00:00", b"2024-02-29 23:59:59.999", b"2024-02-29 24:00:00",
]  # fmt: skip
ANY_BYTES = st.one_of(
    st.none(),
    st.binary(max_size=12),
    st.sampled_from(TRAPS),
    st.text("0123456789.,eE+-\u2212€$%' \u00a0\u2019nifaNYES?", max_size=14).map(str.encode),
    st.text("0123456789.-: ", max_size=20).map(str.encode),
)


def made(cells, declared):
    """What becomes of bytes in a column of text; missing values are None."""
    column = Column("a", pa.string(), "text")
    kind, convert = conversion(column, declared)
    found = convert(pa.array(cells, pa.binary()).view(pa.string()))
    assert found.type == kind
    if pt.is_large_string(kind):
        found = found.view(pa.large_binary())  # its bytes need not be UTF-8
    found.validate(full=True)
    return [
        None if isinstance(value, float) and math.isnan(value) else value
        for value in found.to_pylist()
    ]


@pytest.mark.parametrize("name", DECLARED)
@given(cells=st.lists(ANY_BYTES, max_size=12))
def test_no_cell_is_an_error_and_none_depends_on_another(name, cells):
    declared = DECLARED[name]
    alone = [made([cell], declared)[0] for cell in cells]
    assert made(cells, declared) == alone
    assert made([*cells, *TRAPS], declared)[: len(cells)] == alone
    assert made(cells[::-1], declared) == alone[::-1]


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("trap", [b"1", b"1,", b"1 ", b"\xe2\x82\xac", b"\xc2\xa0", b"-", b"("])
def test_a_cell_of_a_million_letters_is_an_error_nowhere(name, trap):
    cell = trap * (1_000_000 // len(trap))
    for one in (cell, cell + b"x", b"5" + cell):
        assert made([one, b"1"], DECLARED[name])[1] == made([b"1"], DECLARED[name])[0]


@given(text=st.text("0123456789+-.eExXinfNaty_ ()'", max_size=12) | st.floats().map(repr))
def test_plain_numbers_are_those_pyarrow_reads(text):
    """Beside a cell that is no number they are found by an expression, which must be pyarrow's."""
    try:
        read = pa.array([text.strip()]).cast(pa.float64())[0].as_py()
    except pa.ArrowInvalid:
        read = math.nan
    for beside in ("1", "NA", "no number"):
        found = plain_numbers(pa.array([text, beside], pa.large_string()))[0].as_py()
        assert (math.nan if found is None else found) == pytest.approx(read, 0, 0, nan_ok=True)


@pytest.mark.parametrize("text", ["inf", "-Inf", "+INFINITY", "1e999", "-1e999"])
@pytest.mark.parametrize("beside", ["1", "NA", "no number"])
def test_an_infinite_number_is_one_whatever_is_beside_it(text, beside):
    found = plain_numbers(pa.array([text, beside], pa.large_string()))[0].as_py()
    assert found == (-math.inf if text.startswith("-") else math.inf)


@st.composite
def written(draw, declared):
    """A number as it is declared to be written, and the same as Python writes it."""
    digits = draw(st.integers(0, 10**12).map(str))
    grouped = digits
    if declared.thousands is not None and draw(st.booleans()):
        sign = draw(st.sampled_from({" ": [" ", "\u00a0", "\u202f"], "\u2019": ["'", "\u2019"]}.get(
            declared.thousands, [declared.thousands])))  # fmt: skip
        grouped = f"{int(digits):,}".replace(",", sign)
    minus = draw(st.sampled_from(["", "+", "-", "\u2212"]))
    decimals = "" if declared.type == "integer" else draw(st.from_regex(r"\A(\d{1,20})?\Z"))
    decimals = "".join(letter for letter in decimals if letter in "0123456789")
    point = (declared.decimal or ".") if decimals else ""
    unit = draw(st.sampled_from(["", *declared.currency]))
    places = [(unit, ""), ("", unit), ("", f" {unit}" if unit else "")]
    before, after = draw(st.sampled_from(places))
    percent = draw(st.sampled_from(["", "%", " %"])) if declared.percent else ""
    text = draw(st.sampled_from([f"{minus}{before}", f"{before}{minus}"])) + grouped + point
    clean = f"{minus.replace(chr(0x2212), '-')}{digits}.{decimals or 0}"
    if declared.percent:
        clean += "e-2"
    blank = draw(st.sampled_from(["", " ", "\t"]))
    return f"{blank}{text}{decimals}{after}{percent}{blank}".encode(), float(clean)


@pytest.mark.parametrize("name", ["comma", "money", "percent", "integer"])
@given(data=st.data())
def test_a_declared_number_is_what_python_reads_in_its_clean_text(name, data):
    cell, value = data.draw(written(DECLARED[name]))
    assert made([cell, b"none"], DECLARED[name]) == [value, None]


@given(cell=st.text("0123456789.,eE+-", max_size=14))
def test_what_is_not_written_as_declared_is_missing(cell):
    """Against an expression of Python's, written for one declaration alone."""
    declared = DECLARED["comma"]
    form = r"[+-]?((\d{1,3}((\.\d{2,3})*\.\d{3})?|\d+)(,\d*)?|,\d+)([eE][+-]?\d+)?"
    (found,) = made([cell.encode()], declared)
    if re.fullmatch(form, cell, re.ASCII):
        assert found == float(cell.replace(".", "").replace(",", "."))
    else:
        assert found is None


@pytest.mark.parametrize(
    ("text", "settings", "value"),
    [
        ("4,812", {"thousands": ","}, 4812),
        ("4,81", {"thousands": ","}, None),
        ("48,12,000", {"thousands": ","}, 4812000),  # as in India
        ("4.812", {"decimal": ",", "thousands": "."}, 4812),
        ("4.812,5", {"decimal": ",", "thousands": "."}, 4812.5),
        ("4.812,5", {"decimal": ","}, None),
        ("4812.5", {"decimal": ","}, None),
        ("1 234 567", {"thousands": " "}, 1234567),
        ("1'234", {"thousands": "\u2019"}, 1234),
        ("$1,234.50", {"thousands": ",", "currency": ["$"]}, 1234.5),
        ("1234.50 EUR", {"currency": ["€", "EUR"]}, 1234.5),
        ("1234.50 USD", {"currency": ["€", "EUR"]}, None),
        ("12.5 %", {"percent": True}, 0.125),
        ("12.5 %", {}, None),
        ("7", {"percent": True}, 0.07),
        ("0.07", {"missing": ["0.07"]}, None),
    ],
)
def test_ways_to_write_a_number(text, settings, value):
    assert made([text.encode()], ColumnSchema("number", **settings)) == [value]


def test_an_integer_has_no_fraction():
    declared = ColumnSchema("integer")
    assert made([b"3", b"3.0", b"3.5", b"1e3", b"-7"], declared) == [3, 3, None, 1000, -7]
    commas = declared.within(FileFormat(decimal=","))
    assert made([b"3", b"3,0", b"3,5", b"-7,"], commas) == [3, 3, None, -7]
    points = ColumnSchema("integer", thousands=".").within(FileFormat())
    assert made([b"1.234", b"12", b"1.5"], points) == [1234, 12, None]
    _, convert = conversion(Column("a", pa.float64(), "double"), declared)
    assert convert(pa.array([3.0, 3.5, math.inf, None])).to_pylist() == [3, None, math.inf, None]


def test_booleans_are_words_that_were_declared():
    cells = [b"YES", b" NO ", b"yes", b"?", b"", None, b"1", b"0"]
    expected = [True, False, True, None, None, None, True, False]
    assert made(cells, DECLARED["boolean"]) == expected
    one_class = [True, False, True, False, None, None, False, False]
    assert made(cells, DECLARED["one class"]) == one_class


def of_type(kind):
    return Column("a", kind, str(kind))


# The kinds of columns that may be declared to be of a type.
TEXTS = ("text", "large text", "text view", "coded text")
WHOLE = ("int8", "int64", "uint64", "coded integers")
NUMBERS = (*WHOLE, "float64", "tame", "float32", "float16", "decimal128", "decimal256")
ACCEPTED = {
    "number": ("bool", *NUMBERS),
    "integer": ("bool", *NUMBERS),
    "boolean": ("bool", *NUMBERS),
    "category": ("bool", *NUMBERS),
    "date": ("day", "moment"),
    "datetime": ("day", "moment"),
}


@pytest.mark.parametrize("name", DECLARED)
def test_types_alone_decide_whether_a_column_can_be_what_was_declared(name):
    for kind, rows in product(KINDS, [1, 40]):
        check_what_types_decide(name, kind, rows)


def check_what_types_decide(name, kind, rows):
    cells = KINDS[kind](rows, np.random.default_rng(0), 0.2)
    declared = DECLARED[name]
    if kind not in (*TEXTS, *ACCEPTED[declared.type]):
        with pytest.raises(TableError, match=in_words(cells.type)):
            conversion(of_type(cells.type), declared)
        return
    if kind not in TEXTS and name in {"one class", "category"}:
        with pytest.raises(
            ParameterError, match=f"column is of type {in_words(cells.type)} in the table"
        ):
            conversion(of_type(cells.type), declared)
        words = ("true", "false") if kind == "bool" else ("1", "0")
        changed = {"true": words[:1]} if name == "one class" else {"levels": words}
        declared = evolve(declared, **changed)
    made_type, convert = conversion(of_type(cells.type), declared)
    found = convert(cells)
    assert found.type == made_type
    assert len(found) == len(cells)
    for place in range(0, rows, 7):
        one = convert(cells.slice(place, 1))
        assert repr(one.to_pylist()[0]) == repr(found.to_pylist()[place])


def test_cells_of_no_type_arrow_knows():
    for declared in DECLARED.values():
        with pytest.raises(TableError, match=f"type {declared.type}, but the table has neither"):
            conversion(of_type(None), declared)


def test_every_type_is_tried():
    assert {declared.type for declared in DECLARED.values()} == SETTINGS.keys() - {
        "identifier", "text",
    }  # fmt: skip


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Zurich"])
@given(seconds=st.integers(-8 * 10**9, 8 * 10**9))
def test_stored_times_are_days_since_the_origin(unit, zone, seconds):
    time = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)  # noqa: DTZ001 -- no zone
    stored = pa.array([time, None], pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    expected = seconds / 86_400 - (dt.date(2020, 1, 1) - dt.date(1970, 1, 1)).days
    for name, value in (("date", math.floor(expected)), ("datetime", expected)):
        declared = ColumnSchema(name, origin="2020-01-01")
        _, convert = conversion(of_type(stored.type), declared)
        found = convert(stored).to_pylist()
        assert found[0] == pytest.approx(value, abs=1e-9)
        assert found[1] is None
    parts = {"year_of": time.year, "month_of": f"{time.month}", "weekday_of": f"{time:%a}"}
    for function, value in parts.items():
        days = np.array([seconds / 86_400, math.nan])
        assert derive(Derivation(function, ("day",)), days).to_pylist() == [value, None]


def test_blanks_are_what_python_takes_for_blanks():
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = [f"{a}a {a}à{a}{a}" for a in letters]
    assert trimmed(pa.array([*letters, *texts])).to_pylist() == [
        text.strip() for text in (*letters, *texts)
    ]
    raw = pa.array([b"\xa0a ", b"\xc2\xa0a", b"\xed\xa0\x80"], pa.binary()).view(pa.string())
    assert trimmed(raw).to_pylist() == [None, "a", None]


def test_a_time_beyond_all_calendars_has_no_usual_year():
    """As milliseconds have that are stored as seconds."""
    stored = pa.array([10**12, 2_069_800_000_000, -(10**15), 10**18, 0], pa.timestamp("s"))
    _, convert = conversion(of_type(stored.type), ColumnSchema("date"))
    found = derive(Derivation("year_of", ("day",)), np.asarray(convert(stored), np.float64))
    assert all(abs(year) > 20_000 for year in found.to_pylist()[:-1])
    assert found[-1].as_py() == 1970

"""No error quotes a cell, wherever one sits; damaged files give one plain line."""

from __future__ import annotations

import traceback

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.errors import NolookError, ParameterError, TableError
from nolook.owner.draft import draft_schema
from nolook.tables import read_table, table_from_arrays

SECRET = "SECRET-1234"
STORED = pa.table({"a": ["1", SECRET, "2"], "b": [1.0, None, 2.0], "y": [1.0, 2.0, 3.0]})


class Refusing:
    """A stream whose producer quotes a cell when it fails."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise pa.ArrowInvalid(f"cannot parse {SECRET}")


def failing_reader(_=None):
    def batches():
        yield STORED.to_batches()[0]
        raise ValueError(f"cannot parse {SECRET}")

    return pa.RecordBatchReader.from_batches(STORED.schema, batches())


class Ticket(pd.api.extensions.ExtensionArray):
    """A pandas column whose conversion quotes a cell when it fails."""

    class dtype(pd.api.extensions.ExtensionDtype):  # noqa: N801
        name = "ticket"
        type = float

    dtype = dtype()

    def __init__(self, length):
        self._length = length

    def __len__(self):
        return self._length

    def __getitem__(self, item):
        return Ticket(len(range(*item.indices(self._length)))) if isinstance(item, slice) else 0.0

    def __arrow_array__(self, type=None):  # noqa: A002
        if self._length:
            raise ValueError(f"cannot convert {SECRET}")
        return pa.array([], pa.float64())

    def copy(self):
        return self


def csv_file(folder, content):
    (folder / "t.csv").write_text(content)
    return folder / "t.csv"


ATTEMPTS = {
    "text as feature": lambda _: read_table(STORED, "y", features=["a"]),
    "text as target": lambda _: read_table(STORED, "a"),
    "integer levels": lambda _: read_table(
        pa.table({"a": pa.array([SECRET])}), categories={"b": ["1"]}
    ),
    "object column": lambda _: read_table(pd.DataFrame({"a": [1.0, SECRET]}, dtype=object)),
    "object as feature": lambda _: read_table(
        pd.DataFrame({"a": [1.0, SECRET]}, dtype=object), features=["a"]
    ),
    "odd pandas column": lambda _: list(
        read_table(pd.DataFrame({"a": Ticket(3)}), features=["a"]).batches()
    ),
    "producer": lambda _: read_table(Refusing()),
    "reader": lambda _: read_table(failing_reader()).read_through(),
    "array of objects": lambda _: read_table(np.array([[SECRET, 1]], dtype=object)),
    "ragged list": lambda _: table_from_arrays([[1.0], [2.0, SECRET]], [1.0, 2.0]),
    "label series": lambda _: table_from_arrays([[1.0]], pd.Series([SECRET])),
    "csv without a header": lambda folder: read_table(
        csv_file(folder, f"{SECRET},1\n{SECRET},2\n"), "y", features=["a"]
    ),
    "declared of another type": lambda _: read_table(
        pa.table({"a": [SECRET.encode()], "y": [1.0]}), "y", schema={"columns": {"a": "number"}}
    ),
    "declared csv": lambda folder: read_table(
        csv_file(folder, f"a;y\n€{SECRET};1\n"),
        "y",
        schema={"file": {"delimiter": ";"}, "columns": {"a": {"type": "number", "currency": "€"}}},
    ),
    "csv of another encoding": lambda folder: read_table(
        csv_file(folder, f"{SECRET},y\n"), "y", schema={"file": {"encoding": "utf-16-le"}}
    ),
    "draft of rows": lambda folder: draft_schema(csv_file(folder, f"{SECRET},1\n{SECRET},2\n")),
    "csv without names": lambda folder: read_table(csv_file(folder, f"{SECRET},y\n"), "y"),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_error_quotes_a_cell(name, tmp_path):
    with pytest.raises(NolookError) as caught:
        ATTEMPTS[name](tmp_path)
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    # Loggers print what an error was raised from as well.
    raised: BaseException | None = caught.value
    while raised is not None:
        assert SECRET not in "".join(traceback.format_exception_only(raised))
        raised = raised.__cause__ or raised.__context__


def stored_as(kind, path):
    # Noise does not compress, so damage in the middle always meets a page of it.
    numbers = np.random.default_rng(0).normal(size=5_000)
    table = pa.table({"a": numbers, "secret": [SECRET] * len(numbers), "y": numbers})
    if kind == "Parquet":
        pq.write_table(table, path, use_dictionary=False, write_page_checksum=True)
    else:
        opening = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
        with opening(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=500)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("kind", "name"), [("Parquet", "t.parquet"), ("Arrow", "t.arrow"), ("Arrow", "t.ipc")]
)
@pytest.mark.parametrize("share", [0.0, 0.0001, 0.01, 0.5, 0.9999])
def test_a_file_cut_short_is_one_plain_line(kind, name, share, tmp_path):
    path = tmp_path / name
    content = stored_as(kind, path)
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(TableError) as caught:
        list(read_table(path, "y", features=["a"]).batches())
    assert str(caught.value) == (
        f"{str(path)!r} is not a readable {kind} file (damaged or cut short?)"
    )
    assert caught.value.__context__ is None


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_a_damaged_page_is_one_plain_line(share, tmp_path):
    path = tmp_path / "t.parquet"
    content = bytearray(stored_as("Parquet", path))
    at = int(share * len(content))
    content[at : at + 16] = b"\xff" * 16
    path.write_bytes(content)
    opened = read_table(path, "y", features=["a"])
    with pytest.raises(TableError, match="is not a readable Parquet file"):
        opened.read_through()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.parquet", "does not exist or cannot be opened; expected a Parquet file"),
        ("none.csv", "does not exist or cannot be opened; expected a CSV file"),
        ("nul\0.csv", "does not exist or cannot be opened"),
        ("folder.parquet", "does not contain a table"),
        ("folder", "has no known extension; expected one of .parquet"),
        ("t.xlsx", "does not exist or cannot be opened; expected an Excel file"),
        ("t.pdf", "has no known extension"),
        ("none*.csv", "does not contain a table"),
    ],
)
@pytest.mark.parametrize("kind", [str, "path"])
def test_paths_that_lead_nowhere(name, words, kind, tmp_path):
    (tmp_path / "folder.parquet").mkdir()
    path = tmp_path / name
    with pytest.raises(TableError) as caught:
        read_table(str(path) if kind is str else path, "y", features=["a"])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_public_counts_the_rows():
    opened = read_table(np.arange(24.0).reshape(8, 3))
    assert "8" not in repr(opened)
    with pytest.raises(TypeError):
        len(opened)
    public = {name for name in dir(opened) if not name.startswith("_")}
    assert public == {
        "batches",
        "batches_in_place",
        "batches_of_units",
        "binary",
        "read_through",
        "check_here",
        "column_names",
        "count_units",  # of the table's own, as `units`
        "engine",
        "feature_names",
        "fields_beside",
        "weighted",
        "weights_alone",
        "keeping_infinite",
        "left_out",
        "sample_rows",
        "may_drop_rows",
        "n_columns",
        "others",
        "whole",
        "with_source",
        "as_codes",
        "class_words",
        "code_labels",
        "charging",
        "read_options",
        "select",
        "finish_first_pass",
        "filled",
        "transformed",
        "has_gaps",
        "subject",
        "target_name",
        "unit",
        "units",
        "threads",
        "fold",
    }


def test_a_selection_has_the_same_rows_and_fewer_columns():
    columns = {"a": [1.0, None, 3.0], "b": [4.0, 5.0, 6.0], "c": ["x", "y", "x"], "y": [7.0] * 3}
    frame = pa.table(columns)
    whole = read_table(
        frame, "y", features=["a", "b", "c"], categories={"c": [None, "x", "y"]}, missing="drop-row"
    )
    part = whole.select(np.array([False, True, False, True]))
    assert part.column_names == ("b", "c=y", "y")
    assert part.n_columns == 3
    (numbers,) = part.batches()
    # The second row lacks a value of a column that is not selected, as in the whole table.
    np.testing.assert_array_equal(numbers, [[4.0, 6.0], [0.0, 0.0], [7.0, 7.0]])
    ((in_place, complete, _),) = part.batches_in_place()
    assert in_place.shape == (3, 3)
    assert complete.tolist() == [True, False, True]
    assert part.read_options() == whole.read_options()
    assert [batch.shape for batch in whole.batches()] == [(5, 2)]


def test_infinite_values_may_stand_for_the_largest_double():
    values = np.array([[np.inf, 1.0], [-np.inf, 2.0], [3.0, np.inf]])
    table = read_table(values).keeping_infinite()
    table.read_through()
    (batch,) = table.batches()
    largest = np.finfo(np.float64).max
    assert batch.tolist() == [[largest, -largest, 3.0], [1.0, 2.0, largest]]
    some = read_table(values).select(np.array([False, True])).keeping_infinite()
    assert next(iter(some.batches())).tolist() == [[1.0, 2.0, largest]]
    values[1, 1] = np.nan
    (batch,) = read_table(values).keeping_infinite().batches()
    assert batch.tolist() == [[largest, 3.0], [1.0, largest]]


@pytest.mark.parametrize("place", [(0, 0), (70, 2), (99, 0), None])
def test_arrays_are_searched_for_missing_values_whatever_the_part(place):
    values = np.arange(300.0).reshape(100, 3)
    label = np.arange(100)
    if place is not None:
        values[place] = np.nan
    for table in (table_from_arrays(values, label), read_table(values, "x2")):
        if place is None:
            table.read_through()
            joined = np.concatenate(list(table.batches()), axis=1).T
            whole = np.column_stack([values, label])[:, : joined.shape[1]]
            np.testing.assert_array_equal(joined, whole)
        else:
            assert sum(batch.shape[1] for batch in table.batches()) == 99
            assert table.left_out() == 1
    # A column that is not used may lack what it likes.
    some = read_table(values, features=["x1"])
    some.read_through()
    assert some.n_columns == 1


def test_whether_rows_may_be_left_out_is_told_by_declared_types_alone():
    stored = pa.table(
        [pa.array([1.0, 2.0]), pa.array([1, 2]), pa.array([3, 4])],
        schema=pa.schema([
            ("a", pa.float64()), pa.field("whole", pa.int64(), False), ("y", pa.int64()),
        ]),
    )  # fmt: skip

    def told(missing, target=None, features=("a",), **more):
        opened = read_table(stored, target, features=features, missing=missing, **more)
        return opened.may_drop_rows()

    assert told("drop-row")
    assert not told("drop-row", features=["whole"])
    assert told("drop-row", "y", ["whole"])
    assert not told("zero")
    assert told("zero", "y")
    assert not told("zero", "whole")
    # A category lacks a value where a text is null or empty.
    assert told("drop-row", features=["whole"], categories={"whole": ["1"]})
    assert not told("zero", features=["whole"], categories={"whole": ["1"]})


@pytest.mark.parametrize("cell", [None, "", "C", "A"])
def test_the_number_of_rows_of_a_category_is_never_shown_as_public(cell):
    frame = pd.DataFrame({"city": pd.Series(["A", "B", cell], dtype="string")})
    curve = nolook.ECDF(1.0, nolook.LinearGrid(0, 1, 1), relation="replace")
    kept, dropped = (
        read_table(frame, features=["city"], categories={"city": ["A"]}, missing=missing)
        for missing in ("zero", "drop-row")
    )
    assert curve.fit(kept).rows_.value == 3.0
    with pytest.raises(nolook.ParameterError, match="their number is private"):
        curve.fit(dropped)


def test_numbers_too_large_for_a_double_are_infinite_and_warn_nobody():
    values = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.longdouble)
    values[1, 0] = np.ldexp(np.longdouble(1.0), 10_000)
    if np.isinf(values[1, 0]):
        pytest.skip("long doubles are doubles here")
    for source in (values, pd.DataFrame({"x0": values[:, 0], "x1": values[:, 1]})):
        assert [batch.tolist() for batch in read_table(source).batches()] == [[[1.0], [2.0]]]
        (read,) = read_table(source, missing="zero").batches()
        assert read.tolist() == [[1.0, 0.0], [2.0, 4.0]]


def test_names_and_cells_with_lone_surrogates():
    columns = pd.Index(["a\ud800", "b"], dtype=object)
    frame = pd.DataFrame([[1.0, 2.0]], columns=columns)
    assert read_table(frame).feature_names == ("a?", "b")
    (read,) = read_table(frame).batches()
    assert read.tolist() == [[1.0], [2.0]]
    label = pd.Series([5.0], name="a\ud800")
    assert table_from_arrays(frame[["b"]], label).target_name == "a?"


@pytest.mark.parametrize(
    "levels",
    [np.array(3), b"ab", [10**5000], [2**64], ["A", "x\ud800"], [np.nan], {"A": 1}, "AB", None],
)
def test_levels_no_cell_could_have_are_refused(levels):
    with pytest.raises(ParameterError, match="categories of 'a' is"):
        read_table(STORED, categories={"a": levels})

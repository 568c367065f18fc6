"""Columns are taken by declared type; what a row gives depends on that row alone."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.errors import ParameterError, TableError
from nolook.tables import read_table
from nolook.tables.source import MemorySource

Y = pa.array([1.0, 2.0, 3.0])


def one_column(cells, **options):
    return read_table(pa.table({"c": cells, "y": Y}), "y", missing="zero", **options)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (pa.array([-128, 127, None], pa.int8()), [-128, 127, 0]),
        (pa.array([0, 2**16 - 1, None], pa.uint16()), [0, 65_535, 0]),
        (pa.array([2**63 - 1, -(2**53) - 1, None], pa.int64()), [2.0**63, -(2.0**53), 0]),
        (pa.array([2**63 - 1, 2**53 + 3, 0], pa.int64()), [2.0**63, 2.0**53 + 4, 0]),
        (pa.array([2**64 - 1, None, 1], pa.uint64()), [2.0**64, 0, 1]),
        (pa.array([0.5, None, -2.0], pa.float16()), [0.5, 0, -2]),
        (pa.array([0.1, float("nan"), float("-inf")], pa.float32()), [np.float32(0.1), 0, 0]),
        (pa.array([1e-300, 1e300, -0.0]), [1e-300, 1e300, 0]),
        (pa.array([True, False, None]), [1, 0, 0]),
        (pa.array([Decimal("0.25"), Decimal("-123.50"), None], pa.decimal128(9, 2)),
         [0.25, -123.5, 0]),
        (pa.array([Decimal(7), None, Decimal(10**60 + 1)], pa.decimal256(70, 0)), [7, 0, 1e60]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)  # fmt: skip
def test_number_types_become_float64(cells, numbers, numbers_of):
    opened = one_column(cells)
    assert opened.feature_names == ("c",)
    np.testing.assert_allclose(numbers_of(opened)[0], numbers, rtol=1e-15)


OTHER_TYPES = [
    (pa.array([dt.date(2020, 1, 1)] * 3), "date"),
    (pa.array([0] * 3, pa.timestamp("us")), "date and time"),
    (pa.array([dt.timedelta(1)] * 3), "time"),
    (pa.array([dt.time(1)] * 3), "time"),
    (pa.array([[1.0]] * 3), "list"),
    (pa.array([{"a": 1}] * 3), "structure"),
    (pa.array([b"x"] * 3), "bytes"),
    (pa.nulls(3), "nothing"),
    (pa.array(["x"] * 3), "text"),
    (pa.array(["x"] * 3, pa.string_view()), "text"),
    (pa.array(["x"] * 3).dictionary_encode(), "categorical"),
    (pa.array([1, 2, 3]).dictionary_encode(), "categorical"),
]


@pytest.mark.parametrize(("cells", "words"), OTHER_TYPES)
def test_other_types_are_skipped_or_refused_by_name(cells, words):
    stored = pa.table({"c": cells, "n": Y, "y": Y})
    assert read_table(stored, "y").feature_names == ("n",)
    for names, parameter in (({"features": ["c"], "target": "y"}, "features"),
                             ({"target": "c"}, "target")):  # fmt: skip
        with pytest.raises(TableError) as caught:
            read_table(stored, **names)
        message = str(caught.value)
        assert f"{parameter} names 'c'" in message
        assert f"has type {words}; expected a number" in message
    has_levels = str(cells.type).startswith(("string", "dictionary<"))
    with pytest.raises(TableError) as caught:
        read_table(stored, "y", features=["c"])
    assert ("categories={'c': ['A', 'B']}" in str(caught.value)) == has_levels


@pytest.mark.parametrize(
    ("cells", "levels", "rows"),
    [
        (pa.array(["B", None, "other"]), ["A", "B"], [[0, 0, 0], [1, 0, 0]]),
        (pa.array(["B", "A", ""], pa.large_string()), ["A", "B"], [[0, 1, 0], [1, 0, 0]]),
        (pa.array(["B", None, "A"], pa.string_view()), ["A", "B"], [[0, 0, 1], [1, 0, 0]]),
        (pa.array(["B", None, "A"]).dictionary_encode(), ["A"], [[0, 0, 1]]),
        (pa.array([3, None, 1], pa.int8()), [1, "03", 300], [[0, 0, 1], [1, 0, 0], [0, 0, 0]]),
        (pa.array([2**64 - 1, 5, 1], pa.uint64()), [-1, 2**64 - 1], [[0, 0, 0], [1, 0, 0]]),
        (pa.array([3, None, 1]).dictionary_encode(), [1, 3], [[0, 0, 1], [1, 0, 0]]),
        (pa.array([True, None, False]), [True, False], [[1, 0, 0], [0, 0, 1]]),
        (pl.Series(["B", None, "A"], dtype=pl.Categorical), ["A", "B"], [[0, 0, 1], [1, 0, 0]]),
        (pl.Series(["B", None, "A"], dtype=pl.Enum(["A", "B"])), ["B"], [[1, 0, 0]]),
    ],
)
def test_declared_levels_become_ones_and_zeros(cells, levels, rows, numbers_of):
    if isinstance(cells, pl.Series):
        stored = pl.DataFrame({"c": cells, "y": Y.to_pylist()})
    else:
        stored = pa.table({"c": cells, "y": Y})
    # Only an absent one is a missing value, which "zero" counts among the others.
    check_levels(stored, levels, rows, numbers_of, target="y", missing="zero")


@pytest.mark.parametrize(
    ("cells", "levels", "rows"),
    [
        (pd.Series(["1", 1, None, True, 1.0, np.int8(1)]), [1, True],
         [[1, 1, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]]),
        (pd.Series(["\ud800", 10**5000, [1], object(), "é", b"e"]), ["é"], [[0, 0, 0, 0, 1, 0]]),
        (pd.Series(pd.Categorical(["u", None, "v", "u", "w", "w"])), ["u"], [[1, 0, 0, 1, 0, 0]]),
        (pd.Series(pd.Categorical([1, 2, None, 1, 3, 3])), [3, 1],
         [[0, 0, 0, 0, 1, 1], [1, 0, 0, 1, 0, 0]]),
        (pd.Series(["x", None, "y", "x", "x", ""], dtype="string"), ["y"], [[0, 0, 1, 0, 0, 0]]),
    ],
    ids=["mixed", "odd", "category", "numbers", "string"],
)  # fmt: skip
def test_levels_in_pandas_columns(cells, levels, rows, numbers_of):
    cells.index = [9, 9, 3, 2, 1, 0]
    check_levels(pd.DataFrame({"c": cells}), levels, rows, numbers_of, missing="zero")


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ({"true": ["ja"], "false": ["nein"]}, [1, 0, 0, 1, 1, 0, 0, 0]),
        ({"true": ["ja"], "false": ["..."]}, [1, 0, 0, 1, 1, 0, 0, 0]),
        ({"true": ["false"], "false": ["true"]}, [0, 0, 1, 0, 0, 0, 0, 0]),
        ({}, [1, 0, 0, 1, 0, 0, 0, 0]),
    ],
)
def test_booleans_among_other_objects_are_those_of_a_declared_boolean(words, rows):
    cells = pd.Series([True, None, False, np.True_, "ja", "nein", 2.5, [1]], dtype=object)
    schema = {"columns": {"smokes": {"type": "boolean", **words}}}
    frame = pd.DataFrame({"smokes": cells})
    table = nolook.read_table(frame, False, schema=schema, missing="zero")
    np.testing.assert_array_equal(np.concatenate([*table.batches()], axis=1)[0], rows)
    given = nolook.read_table(frame, False, schema=schema, missing="drop-row").batches()
    known = 3 + 2 * ("ja" in str(words)) + ("..." in str(words))  # 2.5 is not "ja"
    assert sum(each.shape[1] for each in given) == known


def test_a_categorical_without_levels_is_called_that():
    cells = pd.DataFrame({"c": pd.Categorical(["u", "v"]), "y": [1.0, 2.0]})
    with pytest.raises(nolook.TableError, match="has type categorical") as caught:
        nolook.read_table(cells, "y", features=["c"])
    assert "categories={'c': ['A', 'B']}" in str(caught.value)
    assert "text" not in str(caught.value)


def check_levels(stored, levels, rows, numbers_of, target=None, **options):
    """Compare levels with all other values, with the first one, and tell the others apart."""

    def read(*declared):
        opened = read_table(stored, target, categories={"c": declared}, **options)
        assert opened.binary[: len(opened.feature_names)].all()
        assert len(set(opened.feature_names)) == len(opened.feature_names)
        return numbers_of(opened)[: len(opened.feature_names)]

    others = 1 - np.sum(rows, axis=0, keepdims=True)
    np.testing.assert_array_equal(read(None, *levels), rows)
    np.testing.assert_array_equal(read(*levels, None), [*rows[1:], *others])
    # Without another level to compare with, the comparison is with everything else.
    np.testing.assert_array_equal(read(*levels), [*rows[1:], *others] if len(rows) > 1 else rows)


@pytest.mark.parametrize(
    ("levels", "names"),
    [
        (["A", "B", "C"], ["c=B", "c=C", "c=..."]),
        (["B", "A"], ["c=A", "c=..."]),
        (["A"], ["c=A"]),
        ([None, "A"], ["c=A"]),
        (["A", None], ["c=..."]),
        (["A", None, "B"], ["c=...", "c=B"]),
        ([None, "A", "B"], ["c=A", "c=B"]),
        (["A", "other", None], ["c=other", "c=..."]),
        (np.array(["A", None, "None"], dtype=object), ["c=...", "c=None"]),
    ],
)
def test_the_first_level_is_the_one_compared_with(levels, names, numbers_of):
    cells = ["A", "B", "other", "None", "..."]
    opened = read_table(pa.table({"c": cells}), categories={"c": levels})
    assert opened.feature_names == tuple(names)
    known = [level for level in levels if level is not None]
    wanted = [
        [cell not in known if name == "c=..." else cell == name[2:] for cell in cells]
        for name in names
    ]
    np.testing.assert_array_equal(numbers_of(opened), wanted)
    read_options = json.loads(json.dumps(opened.read_options()))
    again = read_table(pa.table({"c": cells[::-1]}), **read_options)
    assert again.read_options() == opened.read_options()
    np.testing.assert_array_equal(numbers_of(again), numbers_of(opened)[:, ::-1])


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        (["A", None, None], "categories of 'c' is '...'; expected each name once"),
        ([], "categories of 'c' is ''; expected at least one name"),
        (["A", "...", None], "is '...'; expected each name once"),
    ],
)
def test_all_other_values_are_told_apart_once_and_from_something(levels, words):
    with pytest.raises(ParameterError) as caught:
        read_table(pa.table({"c": ["A"]}), categories={"c": levels})
    assert words in str(caught.value)


@pytest.mark.parametrize("levels", [[1, "01"], ["01", "1", 2], [2, 1, "01"]])
def test_a_level_is_not_declared_twice_in_two_spellings(levels):
    with pytest.raises(ParameterError, match=r"levels of 'c' .*once"):
        read_table(pa.table({"c": [1]}), categories={"c": levels})


def test_pandas_columns_are_taken_by_dtype(numbers_of):
    frame = pd.DataFrame(
        {
            "object": pd.Series([1.0, 2.0], dtype=object),
            "date": pd.to_datetime(["2020-01-01"] * 2),
            "complex": [1j, 2j],
            "period": pd.period_range("2020", periods=2, freq="D"),
            "half": np.array([0.5, np.inf], dtype=np.float16),
            "Int": pd.array([2**53 + 1, None], "Int64"),
            "Bool": pd.array([True, None], "boolean"),
            "bool": [True, False],
            "y": [1, 2],
        }
    )
    with pytest.raises(TableError, match="column 'object' of the table has type object"):
        read_table(frame, "y", missing="zero")
    opened = read_table(frame.drop(columns="object"), "y", missing="zero")
    assert opened.feature_names == ("half", "Int", "Bool", "bool")
    assert repr(opened) == (
        "Table(half: number, Int: integer, Bool: boolean, bool: boolean; target y: integer; "
        "not used: date, complex, period)"
    )
    np.testing.assert_array_equal(
        numbers_of(opened), [[0.5, 0], [2.0**53, 0], [1, 0], [1, 0], [1, 2]]
    )
    for name in ("object", "date", "complex", "period"):
        with pytest.raises(TableError, match=f"features names '{name}'"):
            read_table(frame, "y", features=[name])


def test_one_text_makes_no_feature_disappear():
    frame = pd.DataFrame({"a": [1.0, "SECRET", 2.0], "b": [1, 2, 3], "y": [1.0, 2.0, 3.0]})
    assert frame["a"].dtype == object
    with pytest.raises(TableError) as caught:
        read_table(frame, "y")
    assert "column 'a' of the table has type object" in str(caught.value)
    assert "SECRET" not in str(caught.value)
    assert read_table(frame, "y", features=["b"]).feature_names == ("b",)
    some = read_table(frame, "y", categories={"a": [1]})
    assert some.feature_names == ("a=1", "b")


class TestMissing:
    STORED = pa.table(
        {
            "a": [1.0, None, 3.0, float("inf"), 5.0],
            "b": pa.array([1, 2, None, 4, 5]),
            "whole": pa.array([1, 2, 3, 4, 5]),
            "y": [1.0, 2.0, float("nan"), 4.0, 5.0],
        },
        schema=pa.schema(
            [
                ("a", pa.float64()),
                ("b", pa.int64()),
                pa.field("whole", pa.int64(), nullable=False),
                ("y", pa.float64()),
            ]
        ),
    )

    def test_rows_are_dropped(self, numbers_of):
        opened = read_table(self.STORED, "y", features=["a", "b"], missing="drop-row")
        opened.read_through()
        np.testing.assert_array_equal(numbers_of(opened), [[1, 5], [1, 5], [1, 5]])

    def test_features_become_zero_and_rows_without_target_are_dropped(self, numbers_of):
        opened = read_table(self.STORED, "y", features=["a", "b"], missing="zero")
        opened.read_through()
        rows = [[1, 0, 0, 5], [1, 2, 4, 5], [1, 2, 4, 5]]
        np.testing.assert_array_equal(numbers_of(opened), rows)

    @pytest.mark.parametrize(
        ("missing", "complete"),
        [("drop-row", [1, 0, 0, 0, 1]), ("zero", [1, 1, 1, 1, 1])],
    )
    def test_rows_keep_their_place_for_predictions(self, missing, complete):
        opened = read_table(self.STORED, features=["a", "b"], missing=missing)
        ((numbers, present, _),) = opened.batches_in_place()
        np.testing.assert_array_equal(numbers, [[1, 0, 3, 0, 5], [1, 2, 0, 4, 5]])
        np.testing.assert_array_equal(present, np.array(complete, dtype=bool))

    @pytest.mark.parametrize("column", ["a", "b", "y"])
    def test_by_default_rows_are_left_out_and_counted(self, column):
        target, features = ("y", ["whole"]) if column == "y" else (None, [column])
        opened = read_table(self.STORED, target, features=features)
        rows = sum(batch.shape[1] for batch in opened.batches())
        missing = self.STORED[column].to_pylist()
        kept = [each for each in missing if each is not None and np.isfinite(each)]
        assert rows == len(kept) < len(missing)
        assert opened.left_out() == len(missing) - rows

    def test_columns_out_of_use_may_miss_values(self):
        opened = read_table(self.STORED, features=["whole"])
        opened.read_through()
        list(opened.batches())
        assert opened.left_out() == 0

    @pytest.mark.parametrize("missing", ["zero", "drop-row"])
    @pytest.mark.parametrize("nullable", [True, False])
    def test_a_damaged_source_is_found_whatever_the_policy(self, tmp_path, missing, nullable):
        fields = [pa.field("whole", pa.int64(), nullable), pa.field("y", pa.int64(), nullable)]
        stored = pa.table([range(5000), range(5000)], schema=pa.schema(fields))
        path = tmp_path / "t.parquet"
        pq.write_table(stored, path, use_dictionary=False, write_page_checksum=True)
        content = bytearray(path.read_bytes())
        read_table(path, "y", missing=missing).read_through()
        content[len(content) // 4] ^= 1
        path.write_bytes(content)
        with pytest.raises(TableError, match="damaged"):
            read_table(path, "y", missing=missing).read_through()

    def test_predictions_take_one_pass_over_their_rows(self, monkeypatch):
        X = np.arange(600.0).reshape(-1, 2)
        model = nolook.LinearRegression(1.0, 1e-6, random_state=1).fit(X, X[:, 0])
        passes, batches = [], MemorySource.batches
        monkeypatch.setattr(
            MemorySource, "batches", lambda *given: passes.append(1) or batches(*given)
        )
        assert model.predict(X).shape == (300,)
        assert len(passes) == 1

    def test_batches_stay_finite_without_the_check(self, numbers_of):
        opened = read_table(self.STORED, "y", features=["a"])
        np.testing.assert_array_equal(numbers_of(opened), [[1, 5], [1, 5]])


def test_another_table_is_read_in_the_same_way(tmp_path, numbers_of):
    train = pa.table({"n": [1, 2, 3], "city": ["A", "B", "C"], "flag": [True] * 3, "y": Y})
    opened = read_table(train, "y", categories={"city": [None, "A", "C"]}, missing="zero")
    read_options = json.loads(json.dumps(opened.read_options()))
    new = pa.table({"flag": [False], "extra": ["?"], "city": ["C"], "n": [7.5]})
    pq.write_table(new, tmp_path / "new.parquet")
    read = read_table(tmp_path / "new.parquet", **read_options)
    assert read.feature_names == opened.feature_names == ("n", "city=A", "city=C", "flag")
    assert read.target_name is None
    np.testing.assert_array_equal(numbers_of(read), [[7.5], [0], [1], [0]])
    assert read.read_options() == opened.read_options()


def test_quoted_line_breaks_are_part_of_the_recipe(tmp_path, numbers_of):
    (tmp_path / "t.csv").write_text('n,note\n1,"two\nlines"\n2,x\n')
    for source in (tmp_path / "t.csv", pa.table({"n": [1, 2]})):
        schema = {"file": {"multiline": True}}
        read_options = read_table(source, features=["n"], schema=schema).read_options()
        again = read_table(tmp_path / "t.csv", **json.loads(json.dumps(read_options)))
        np.testing.assert_array_equal(numbers_of(again), [[1, 2]])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"target": "z"}, TableError, "target names 'z'"),
        ({"target": 3}, ParameterError, "target"),
        ({"target": ""}, ParameterError, "target"),
        (
            {"target": "y", "features": ["y"]},
            ParameterError,
            "features names 'y', which is also",
        ),
        ({"features": ["z"]}, TableError, "features names 'z'"),
        ({"features": []}, ParameterError, "at least one name"),
        ({"features": "n"}, ParameterError, "a list of names"),
        ({"features": ["n", "n"]}, ParameterError, "each name once"),
        ({"features": ["twice"]}, TableError, "2 columns 'twice'"),
        ({"target": "twice"}, TableError, "2 columns 'twice'"),
        ({}, TableError, "2 columns 'twice'"),
        ({"missing": "mean"}, ParameterError, "missing is 'mean'"),
        ({"missing": None}, ParameterError, "missing is None"),
        ({"schema": {"file": {"multiline": "yes"}}}, ParameterError, "multiline is 'yes'"),
        ({"categories": ["city"]}, ParameterError, "expected a mapping"),
        ({"categories": {"z": ["A"]}}, TableError, "categories names 'z'"),
        ({"categories": {"city": "AB"}}, ParameterError, "a list of strings"),
        ({"categories": {"city": []}}, ParameterError, "at least one name"),
        ({"categories": {"city": ["A", "A"]}}, ParameterError, "each name once"),
        ({"categories": {"city": [b"A"]}}, ParameterError, "a list of strings"),
        ({"categories": {"n": ["A"]}}, ParameterError, "levels of 'n' is A, which no cell can be"),
        ({"features": ["n"], "categories": {"city": ["A"]}}, ParameterError, "is not a feature"),
        ({"target": "n", "categories": {"n": [1]}}, TableError, "target names 'n'"),
        (
            {"features": ["city", "city=A"], "categories": {"city": ["A"]}},
            ParameterError,
            "'city=A'; expected each name once",
        ),
    ],
)
def test_parameters_that_do_not_fit(options, error, words):
    names = ["n", "city", "city=A", "twice", "twice", "y"]
    stored = pa.Table.from_arrays([pa.array([1]), pa.array(["A"])] + [pa.array([1.0])] * 4, names)
    with pytest.raises(error) as caught:
        read_table(stored, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_without_a_feature():
    for stored in (pa.table({"s": ["x"], "y": [1]}), pa.table({"y": [1]})):
        with pytest.raises(TableError, match="no numeric or boolean column"):
            read_table(stored, "y")

"""One table gives the same numbers wherever it is stored, on every pass."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nolook.errors import ParameterError, TableError
from nolook.tables import (
    csv as text_files,
)
from nolook.tables import (
    files,
    read_table,
    table_from_arrays,
    table_from_values,
)

ROWS = st.lists(
    st.tuples(
        st.none() | st.floats(),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.booleans(),
        st.sampled_from(["A", "B", "other", "Ä b", None]),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    max_size=40,
)
SCHEMA = pa.schema(
    [
        ("real", pa.float64()),
        ("whole", pa.int64()),
        ("flag", pa.bool_()),
        ("city", pa.string()),
        ("label", pa.float64()),
    ]
)
FEATURES = ["whole", "city", "real", "flag"]
LEVELS = {"city": ["B", "A", "Ä b", None]}


def arrow_table(rows):
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def expected(rows, missing):
    """The same numbers by brute force, a row at a time."""
    kept = []
    for real, whole, flag, city, label in rows:
        numbers = [whole, real]
        present = [x is not None and np.isfinite(x) for x in numbers]
        if missing == "drop-row" and (city is None or not all(present)):
            continue
        a, b = (float(x) if p else 0.0 for x, p in zip(numbers, present, strict=True))
        others = city in ("other", None)
        kept.append([a, city == "A", city == "Ä b", others, b, flag, label])
    return np.array(kept, dtype=float).reshape(-1, 7).T


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, missing=st.sampled_from(["drop-row", "zero"]))
def test_every_store_gives_the_same_numbers(store, tmp_path, numbers_of, rows, missing):
    stored = store(arrow_table(rows), tmp_path)
    opened = read_table(stored, "label", features=FEATURES, categories=LEVELS, missing=missing)
    levels = ("city=A", "city=Ä b", "city=...")
    assert opened.column_names == ("whole", *levels, "real", "flag", "label")
    for _ in range(2):
        np.testing.assert_array_equal(numbers_of(opened), expected(rows, missing))


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, size=st.integers(1, 9))
def test_where_batches_end_does_not_matter(store, tmp_path, numbers_of, rows, size):
    stored = store(arrow_table(rows), tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nolook.tables.folding._MAX_ROWS", size)
        patch.setattr(files, "_ROWS", 3)
        patch.setattr("nolook.tables.source._MOST_ROWS", 4)
        patch.setattr(text_files, "_BLOCK", 11)
        opened = read_table(
            stored, "label", features=FEATURES, categories=LEVELS, missing="drop-row"
        )
        lengths = [batch.shape[1] for batch in opened.batches()]
        np.testing.assert_array_equal(numbers_of(opened), expected(rows, "drop-row"))
    assert all(length == size for length in lengths[:-1])
    assert all(0 < length <= size for length in lengths)


def test_a_batch_is_contiguous_and_bounded(numbers_of):
    rows = np.arange(3 * 70_000.0).reshape(-1, 3)
    batches = list(read_table(rows, "x2").batches())
    assert [batch.shape for batch in batches] == [(3, 65_536), (3, 4_464)]
    assert all(batch.flags.c_contiguous and batch.dtype == np.float64 for batch in batches)
    np.testing.assert_array_equal(np.concatenate(batches, axis=1), rows.T)
    wide = read_table(np.ones((1_000, 2_000)))
    assert max(batch.size for batch in wide.batches()) <= 1 << 20


@pytest.mark.parametrize("dtype", [">f8", "<f4", "f2", "i1", "u8", ">i2", "?", np.longdouble])
def test_arrays_of_any_number_type(dtype, numbers_of):
    rows = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    np.testing.assert_array_equal(numbers_of(read_table(rows)), rows.T.astype(float))
    np.testing.assert_array_equal(
        numbers_of(read_table(np.asfortranarray(rows)[::-1])), rows[::-1].T.astype(float)
    )


def test_an_empty_table_gives_no_batch(store, tmp_path):
    opened = read_table(store(arrow_table([]), tmp_path), "label", features=["real"])
    opened.read_through()
    assert list(opened.batches()) == []
    assert list(opened.batches_in_place()) == []


def test_a_column_of_a_dotted_name_is_not_a_nested_one(tmp_path, numbers_of):
    nested = pa.array([{"b": 1.0}, {"b": 2.0}])
    stored = pa.table({"a": nested, "a.b": [3.0, 4.0], "y": [5.0, 6.0]})
    pq.write_table(stored, tmp_path / "t.parquet")
    opened = read_table(tmp_path / "t.parquet", "y")
    assert opened.feature_names == ("a.b",)
    np.testing.assert_array_equal(numbers_of(opened), [[3, 4], [5, 6]])


def test_a_file_that_changes_is_refused(file_store, tmp_path):
    one = arrow_table([(1.0, 1, True, "A", 1.0)])
    path = file_store(one, tmp_path)
    opened = read_table(path, "label", features=["real"])
    next(opened.batches())
    file_store(pa.concat_tables([one, one]), tmp_path)
    with pytest.raises(TableError, match="was changed or removed while it was in use"):
        next(opened.batches())
    path.unlink()
    with pytest.raises(TableError, match="was changed or removed"):
        opened.read_through()


class TestEstimatorInput:
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    Y = np.array([7.0, 8.0, 9.0])

    @pytest.mark.parametrize(
        "features",
        [
            X,
            X.tolist(),
            pd.DataFrame(X, columns=["x0", "x1"]),
            pl.DataFrame(X, schema=["x0", "x1"]),
            pa.table({"x0": X[:, 0], "x1": X[:, 1]}),
        ],
        ids=["array", "list", "pandas", "polars", "arrow"],
    )
    @pytest.mark.parametrize(
        "target",
        [
            Y,
            Y.tolist(),
            Y[:, None],
            pd.Series(Y, name="income", index=[5, 6, 7]),
            pl.Series("income", Y),
            pa.chunked_array([Y[:1], Y[1:]]),
            pd.DataFrame({"income": Y}),
        ],
        ids=["array", "list", "column", "pandas", "polars", "arrow", "frame"],
    )
    def test_features_and_target_of_any_kind(self, features, target, numbers_of):
        made = table_from_arrays(features, target)
        assert made.feature_names == ("x0", "x1")
        assert made.target_name == getattr(target, "name", "y")
        np.testing.assert_array_equal(numbers_of(made), np.column_stack([self.X, self.Y]).T)

    def test_features_alone(self, numbers_of):
        made = table_from_arrays(self.X)
        assert made.target_name is None
        np.testing.assert_array_equal(numbers_of(made), self.X.T)

    def test_a_target_is_never_named_as_a_feature(self):
        frame = pd.DataFrame(self.X, columns=["y", "income"])
        assert table_from_arrays(frame, pd.Series(self.Y, name="income")).target_name == "y_"

    def test_columns_with_numbers_for_names(self):
        assert table_from_arrays(pd.DataFrame(self.X), self.Y).feature_names == ("0", "1")

    @pytest.mark.parametrize(
        ("features", "target", "words"),
        [
            (X[0], Y, "Expected 2D array. Reshape your data"),
            (X[None], Y, "Expected 2D array"),
            (X[:, :0], Y, "no numeric or boolean column"),
            (X * 1j, Y, "Complex data not supported"),
            (X.astype(object), Y, "dtype object"),
            (X.astype(str), Y, "not numbers"),
            ([[1.0], [1.0, 2.0]], Y, "Expected 2D array"),
            (X, Y[:2], "different numbers of rows"),
            (X, np.ones((3, 2)), "y has 2 columns"),
            (X, 3.0, "y has 0 dimensions"),
            (X, np.array(["a", "b", "long"]), "y has dtype str: not numbers"),
            (X, pd.Series(list("abc")), "target names 'y'"),
            (pd.DataFrame({"a": ["x", "y", "z"]}), Y, "features names 'a'"),
        ],
    )
    def test_what_is_not_a_table_of_numbers(self, features, target, words):
        with pytest.raises(TableError) as caught:
            table_from_arrays(features, target)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_sparse_features(self):
        sparse = pytest.importorskip("scipy.sparse")
        with pytest.raises(TableError, match="X is sparse"):
            table_from_arrays(sparse.csr_array(self.X), self.Y)


@pytest.mark.parametrize(
    "cell",
    [
        *("a", "a long text", None, 1j, [1.0, 2.0], Decimal(1), math.nan),
        *(np.timedelta64(1, "s"), np.datetime64("2024-01-01"), b"1", object()),
    ],
)
def test_a_cell_of_a_list_that_is_no_number_is_missing(cell, numbers_of):
    for make in (
        lambda: table_from_arrays(np.arange(6.0).reshape(3, 2), [1.0, cell, 2.0]),
        lambda: table_from_arrays([[1.0, 3.0], [cell, 4.0], (2.0, 5)], np.ones(3)),
        lambda: table_from_values([10**20, cell, True]),
        lambda: table_from_values((10**20, cell, True)),
    ):
        made = make()
        assert {*made._types.values()} == {"number"}
        assert numbers_of(made).shape == (made.n_columns, 2)


def test_a_list_declares_no_type_whatever_it_holds(numbers_of):
    for cells in ([1, 0, 1], [True, False, True], [1.0, 0, np.float32(1)], [10**20, 0, -1]):
        made = table_from_arrays([[cell] for cell in cells], cells)
        assert repr(made) == "Table(x0: number; target y: number)"
        np.testing.assert_array_equal(numbers_of(made), [[float(cell) for cell in cells]] * 2)
    values = table_from_values([10**400, -(10**400), Fraction(1, 2)])
    np.testing.assert_array_equal(numbers_of(values), [[0.5]])
    largest = np.finfo(float).max
    np.testing.assert_array_equal(numbers_of(values.keeping_infinite()), [[largest, -largest, 0.5]])


@pytest.mark.parametrize("thing", [None, 3, [[1.0]], {"a": [1]}, object()])
def test_what_is_not_a_source(thing):
    with pytest.raises(ParameterError, match=r"source is .*; expected a path"):
        read_table(thing)


def test_a_lazy_frame_of_features_is_to_be_collected_first():
    with pytest.raises(TableError, match=r"call collect\(\)"):
        table_from_arrays(pl.LazyFrame({"a": [1]}))


def test_a_masked_array_is_refused():
    with pytest.raises(TableError, match="masked"):
        read_table(np.ma.masked_array([[1.0]], mask=[[True]]))

"""Tables of every kind and type, whole and damaged, through the API and the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook.tables import read_table, table_from_arrays
from tests.hostile.arbitrary import KINDS as TYPES
from tests.hostile.arbitrary import NAMES, damaged, store, tables
from tests.hostile.commands import COMMANDS, release
from tests.hostile.harness import Charged, attempt, inputs, run

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

MISSING = ("zero", "drop-row")
NAME = st.one_of(st.sampled_from(NAMES[:3]), st.sampled_from(NAMES))
LEVELS = st.dictionaries(
    NAME, st.lists(st.sampled_from(["1", "2", "A", "true", "01", "...", None]), max_size=3)
)
ENDINGS = (".parquet", ".arrow", ".ipc", ".csv")


class Stream:
    """Gives an Arrow stream and nothing else."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def as_pandas(table):
    return table.to_pandas()


def as_pandas_of_arrow(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def held(table, kind):
    """A table as another library holds it, or as it is where that library cannot."""
    holders = {"pandas": as_pandas, "arrow in pandas": as_pandas_of_arrow, "polars": pl.from_arrow}
    try:
        return holders[kind](table) if kind in holders else Stream(table)
    except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 -- the other library's own limits
        return table


def check_numbers(opened):
    """Read twice what was accepted: the same finite numbers each time."""
    opened.read_through()
    first, second = (list(opened.batches()) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.shape[0] == opened.n_columns
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, other)


@inputs(500)
@given(
    tables(),
    st.sampled_from(["pandas", "arrow in pandas", "polars", "stream"]),
    st.one_of(st.none(), NAME),
    st.one_of(st.none(), st.lists(NAME, max_size=3)),
    LEVELS,
    st.sampled_from(MISSING),
)
def test_tables_in_memory(table, kind, target, features, categories, missing):
    source = held(table, kind)

    def read():
        opened = read_table(
            source, target, features=features, categories=categories, missing=missing
        )
        check_numbers(opened)

    attempt(read)


@inputs(200)
@given(
    st.sampled_from(["b1", "i1", "u8", ">f8", "f2", "f4", "f8", "g", "c16", "M8[s]", "m8[s]"]),
    st.lists(st.sampled_from([0, 1, 2, 17]), max_size=4),
    st.integers(0, 2**32),
    st.sampled_from(
        ["array", "transposed", "strided", "masked", "matrix", "list", "object", "fit"]
    ),
    st.booleans(),
)
def test_arrays(folder, dtype, shape, seed, kind, with_label):
    generator = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        numbers = generator.choice([0.0, 1.0, 2.5, np.nan, np.inf, 1e30, -1e300, 1e308], shape)
        if generator.random() < 0.5:
            numbers = np.nan_to_num(numbers, posinf=3.0).clip(-9, 9)
        if np.dtype(dtype).kind in "iuM":
            numbers = np.nan_to_num(numbers).clip(0, 100)
        array = numbers.astype(dtype)
    shapes = {
        "turned": lambda: array.T,
        "strided": lambda: array[::-2] if array.ndim else array,
        "masked": lambda: np.ma.MaskedArray(array, mask=np.ones(array.shape, bool)),
        "matrix": lambda: array.view(np.recarray),
        "list": array.tolist,
        "object": lambda: array.astype(object),
    }
    X = shapes.get(kind, lambda: array)()
    y = np.zeros(shape[0] if shape else 1) if with_label else None
    if kind == "fit":
        ledger = Charged(folder)
        with nolook.Ledger(ledger.path) as charged:
            done = attempt(lambda: nolook.QuantileScaler().fit(X, ledger=charged))
        ledger.check(delivered=isinstance(done, nolook.QuantileScaler))
    else:
        attempt(lambda: check_numbers(table_from_arrays(X, y)))


@inputs(300)
@given(
    st.sampled_from(sorted(TYPES)),
    st.sampled_from(["tame", "float64", "int8", "bool"]),
    st.sampled_from([0, 1, 2, 60]),
    st.sampled_from([0.0, 0.0, 0.2]),
    st.sampled_from(["ecdf", "roc", "calibration", "quantiles"]),
    st.sampled_from(["weights", 1, 3]),
    st.sampled_from(MISSING),
)
def test_distributions_of_units(identifiers, values, rows, share, name, most, missing):
    generator = np.random.default_rng(rows)
    kinds = {"id": identifiers, "value": values, "class": "tame"}
    table = pa.table({key: TYPES[kind](rows, generator, share) for key, kind in kinds.items()})
    named = {"features": ["value"], "missing": missing, "unit": "id", "rows_per_unit": most}
    fits = {
        "ecdf": lambda: nolook.ECDF(1.0).fit(read_table(table, **named)),
        "quantiles": lambda: nolook.quantiles(read_table(table, **named), delta=1e-6),
        "roc": lambda: nolook.ROCCurve(1.0).fit(read_table(table, "class", **named)),
        "calibration": lambda: nolook.HosmerLemeshow(1.0).fit(read_table(table, "class", **named)),
    }
    attempt(fits[name])


KINDS = [*COMMANDS, "tukey", "levels"]


def words_of(name, table, columns, missing):
    """Words for a command that reads a table."""
    if name == "tukey":
        words = [*release("fit", table, columns), "--delta", "1e-3", "--method", "tukey"]
    elif name == "levels":
        words = ["tabulate", table, "--by", columns[0], "--find-levels", "--epsilon", "1"]
    else:
        words = release(name, table, columns)
    words += ["--missing", missing]
    return [
        *words,
        *["--ledger", "a.ledger", "--output", "out.json", "--report", "out.html", "--force"],
    ]


def run_and_check(folder, words):
    """Run a command; the ledger and the files must agree with its status."""
    ledger = Charged(folder)
    outputs = [folder / "out.json", folder / "out.html"]
    for path in outputs:
        path.unlink(missing_ok=True)
    done = run(folder, *words)
    ledger.check(delivered=done.status in {0, 4, 5})
    for path in outputs:
        assert path.exists() == (done.status in {0, 5})
    if done.status == 5:
        assert not nolook.load(outputs[0]).detected_
    return done


@inputs(300)
@given(
    tables(),
    st.sampled_from(ENDINGS),
    st.sampled_from(KINDS),
    st.sampled_from([["a"], ["b"], ["a", "b"], ["y"], ["a.b"], ["b", "é"]]),
    st.sampled_from(MISSING),
    st.data(),
)
def test_stored_tables_through_the_command_line(
    folder, table, ending, name, features, missing, data
):
    path = folder / f"t{ending}"
    if not store(table, path):
        return
    if data.draw(st.booleans()):
        path.write_bytes(data.draw(damaged(path.read_bytes())))
    run_and_check(folder, words_of(name, path.name, features, missing))


SOUND = pa.table({
    "a": [0.5, 1.5, 2.0, 0.25] * 30,
    "b": pa.array([1, 2, None, 4] * 30, pa.int32()),
    "c": ["Bern", "Basel", "", None] * 30,
    "d": pa.array(["x", "y"] * 60).dictionary_encode(),
    "y": [1, 0, 1, 0] * 30,
})  # fmt: skip


@pytest.mark.slow
@inputs(300)
@given(st.sampled_from(ENDINGS), st.sampled_from(MISSING), st.data())
def test_damage_in_files_that_are_used(folder, ending, missing, data):
    # Every column is in use here, so that whatever is damaged is met.
    path = folder / f"used{ending}"
    store(SOUND, path)
    content = path.read_bytes()
    path.write_bytes(data.draw(damaged(content)))
    words = ["fit", path.name, "--target", "y", "--epsilon", "1", "--delta", "1e-6"]
    words += ["--method", "adassp", "--features", "a,b,c,d", "--categories", "c=Bern,Basel"]
    words += ["--categories", "d=x,y", "--ledger", "a.ledger", "--output", "out.json", "--force"]
    words += ["--report", "out.html"]
    words += ["--missing", missing]
    run_and_check(folder, words)

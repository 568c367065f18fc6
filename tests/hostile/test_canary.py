"""Unusual values planted in a table turn up nowhere, however a release ends.

They are looked for as they are, rounded, in hexadecimal and in the bytes of a double, in every
message, exception (and what it was raised from), warning, log record, file and printed line.
"""

from __future__ import annotations

import contextlib
import io
import logging
import pickle
import re
import struct
import traceback
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import nolook
import nolook.cli
from nolook.estimators.catalogue import MODELS, SELECTORS
from nolook.tables import Table, read_table, table_from_arrays
from tests.hostile.arbitrary import store
from tests.hostile.commands import COMMANDS as RELEASES
from tests.hostile.commands import release
from tests.hostile.harness import Charged, run
from tests.tables.messy import compressed

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

NUMBER = 8675309.25
INTEGER = 271828182845
TEXT = "Xanthippe-q7Zx"
ROWS = 3000
WARDS = {"type": "category", "levels": ["Bern", "Basel", "..."]}
UNIT = {"type": "integer", "use": "unit"}


# A number is looked for from its first digit on: the digits of noise hold everything some day.
_WRITTEN = [
    rb"(?<![\d.])8[,_]?675[,_]?309(\.2|(?![\d.]))",
    rb"(?<![\d.])8\.675(3|31|309|3092|30925)0*[eE]\+?0?6",
    rb"(?<![\d.])271[,_]?828[,_]?182[,_]?845(?!\d)",
    rb"(?<![\d.])2\.718(3|28|282|2818|28182|281828|28182845)0*[eE]\+?11",
    re.escape(NUMBER.hex().encode()),
    re.escape(f"{INTEGER:x}".encode()),
    rb"(?i)xanthippe",
    re.escape(b"Xanthippe".hex().encode()),
]
_STORED = [struct.pack(f"{order}d", value) for order in "<>" for value in (NUMBER, float(INTEGER))]
_STORED += [struct.pack(f"{order}q", INTEGER) for order in "<>"]
TRACES = [re.compile(trace) for trace in (*_WRITTEN, *map(re.escape, _STORED))]


def check(content: object, where: str) -> None:
    """Look for every way a planted value could be written or stored."""
    raw = content if isinstance(content, bytes) else str(content).encode("utf-8", "replace")
    found = [trace.pattern for trace in TRACES if trace.search(raw)]
    assert not found, (where, found)


def planted(rows: int = ROWS) -> pa.Table:
    """A table whose second row holds the values; no release can show those of one row."""
    generator = np.random.default_rng(0)
    a, b, y = generator.normal(size=(3, rows))
    city = np.array(["Bern", "Basel"] * (rows // 2), dtype=object)
    whole = generator.integers(0, 9, rows)
    label = (y > 0).astype(object)
    a[1], y[1], city[1], whole[1] = NUMBER, -NUMBER, TEXT, INTEGER
    return pa.table({
        "a": a, "b": b, "city": pa.array(city, pa.string()), "whole": whole,
        "word": np.where(label, "yes", TEXT), "share": 1 / (1 + np.exp(-b)), "y": y,
    })  # fmt: skip


@pytest.mark.parametrize("ending", [".csv", ".arrow", ".ipc"])
def test_the_search_finds_a_table(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    store(planted(), path)
    with pytest.raises(AssertionError):
        check(path.read_bytes(), ending)


@pytest.mark.parametrize("value", [NUMBER, -NUMBER, float(INTEGER), INTEGER, TEXT, TEXT.upper()])
@pytest.mark.parametrize("form", ["{}", "a={}.", "'{!r}'", "[{}]", "{}\n"])
def test_the_search_finds_a_value(value, form):
    with pytest.raises(AssertionError):
        check(form.format(value), "")


@pytest.mark.parametrize("form", [".1f", ".0f", ".6g", ".5g", ",.2f", ".4e", "_.1f", "g"])
def test_the_search_finds_a_rounded_number(form):
    for value in (NUMBER, float(INTEGER)):
        with pytest.raises(AssertionError):
            check(format(value, form), "")


def test_the_search_finds_a_stored_number():
    for value in (np.array([NUMBER]), [NUMBER], float(INTEGER)):
        with pytest.raises(AssertionError):
            check(pickle.dumps(value), "")
    check("1.8675309 and 0.27182818284590 and 86753091", "")


class Listener(logging.Handler):
    """Keeps all log records."""

    def __init__(self):
        super().__init__(0)
        self.records = []

    def emit(self, record):
        self.records.append(self.format(record))


@pytest.fixture
def listening():
    """All log records and warnings; both are searched at the end."""
    listener = Listener()
    root = logging.getLogger()
    before = root.level
    root.addHandler(listener)
    root.setLevel(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    root.removeHandler(listener)
    root.setLevel(before)
    for record in listener.records:
        check(record, "log")
    for warning in caught:
        check(warning.message, "warning")


def search_error(error: BaseException) -> None:
    """Look into an error and all that it was raised from."""
    known: BaseException | None = error
    while known is not None:
        check("".join(traceback.format_exception(known)), "exception")
        check(repr(known.args) + repr(vars(known)), "exception")
        known = known.__cause__ or known.__context__


# Every command that makes a release, or what is special to it.
COMMANDS = {
    **{name: " ".join(release(name, "T", ["a", "b"])) for name in RELEASES},
    "linear": "fit T --target y --epsilon 1 --delta 1e-6 --features a,b",
    "with levels": "fit T --target y --epsilon 1 --delta 1e-6 --features a,b,city "
    "--categories city=Bern,Basel,...",
    "adassp": "fit T --target y --epsilon 1 --delta 1e-6 --features a,b,whole --method adassp",
    "tukey": "fit T --target y --epsilon 1 --delta 1e-6 --features a --method tukey",
    "too few rows": "fit T --target y --epsilon 0.01 --delta 1e-6 --features a --method tukey",
    "a constant": "fit T --target y --epsilon 0.01 --delta 1e-6 --features a --method tukey "
    "--on-failure constant",
    "boosted": "fit T --target y --epsilon 1 --delta 1e-6 --features a,b --method boosted-adassp",
    "counts": "fit T --target y --epsilon 1 --delta 1e-6 --features a,b --method poisson "
    "--exposure b",
    "chosen": "fit T --target y --epsilon 3 --delta 1e-6 --features a,b,whole --select 1 "
    "--method adassp",
    "select": "select T --target y -k 1 --epsilon 1 --features a,b,whole",
    "lasso": "select T --target y -k 1 --epsilon 1 --features a,b,whole --selector lasso",
    "sis": "select T --target y -k 1 --epsilon 1 --features a,b,whole --selector sis",
    "moments": "select T --target y -k auto --epsilon 1 --features a,b,whole --selector moments",
    "moments first": "fit T --target y --epsilon 3 --delta 1e-6 --features a,b,whole --select 1 "
    "--selector moments",
    "ecdf": "ecdf T --column a --epsilon 1 --grid -5:5:0.1",
    "ecdf of doubles": "ecdf T --column whole --epsilon 1",
    "quantiles": "quantiles T --columns a,b --epsilon 1 --at 0.1,0.5 --grid a=-5:5:0.1",
    "roc": "roc T --score a --target word --positive yes --epsilon 1 --grid -5:5:0.1",
    "calibration": "calibration T --probability share --target word --positive yes --epsilon 1",
    "levels found": "tabulate T --by city --find-levels --mean a --epsilon 1",
    "levels found of numbers": "tabulate T --by whole --find-levels --epsilon 1",
    "text as target": "fit T --target city --epsilon 1 --delta 1e-6 --features a",
    "text as feature": "fit T --target y --epsilon 1 --delta 1e-6 --features city",
    "no such column": "fit T --target z --epsilon 1 --delta 1e-6 --features a",
    "whole levels": "fit T --target y --epsilon 1 --delta 1e-6 --categories whole=1,2",
    "too dear": "fit T --target y --epsilon 1e13 --delta 1e-6 --features a",
    "text as target of a score": "roc T --score a --target city --epsilon 1",
    "text as score": "roc T --score city --target y --epsilon 1 --missing zero",
    "bad grid": "ecdf T --column a --epsilon 1 --grid 5:1:1",
}


# Every command, and some with other formats.
CASES = [(name, ".parquet") for name in COMMANDS] + [
    pytest.param(name, ending, marks=pytest.mark.slow)
    for name in ("with levels", "select", "roc", "quantiles", "text as target", "text as feature")
    for ending in (".csv", ".arrow")
]


@pytest.mark.parametrize(("name", "ending"), CASES)
def test_commands(folder, listening, name, ending):
    store(planted(), folder / f"T{ending}")
    charged = Charged(folder)
    words = COMMANDS[name].replace(" T ", f" T{ending} ").split()
    done = run(folder, *words, "--ledger", "a.ledger", "--output", "o.json", "--report", "o.html")
    check(done.out + done.err, "printed")
    for command in (("show",), ("history",), ("report", "--output", "l.html")):
        check(run(folder, "ledger", *command, "a.ledger").out, "ledger")
    others = [path for path in folder.iterdir() if path.name != f"T{ending}"]
    assert charged.path in others
    if done.status in {0, 5}:
        assert folder / "o.html" in others
    for path in others:
        check(path.read_bytes(), path.name)


ARRAYS = {
    **{entry.kind: (entry.load(), False) for entry in MODELS.values()},
    "exposure": (partial(nolook.PoissonRegression, exposure="x0"), False),
    **{entry.kind: (partial(entry.load(), k=1), False) for entry in SELECTORS.values()},
    "classes": (partial(nolook.LogisticRegression, classes=("no", "yes")), False),
    "constant": (lambda: nolook.TukeyRegressor(on_failure="constant"), False),
    "QuantileScaler": (nolook.QuantileScaler, True),
    "ECDF": (nolook.ECDF, True),
}
SPOILS = {
    "nothing": lambda X, y: (X, y),
    "a missing value": lambda X, y: (np.where(X == 0, np.nan, X), np.where(y < -1e6, np.nan, y)),
    "lengths": lambda X, y: (X, y[1:]),
    "texts": lambda X, y: (X.astype(str), y),
    "objects": lambda X, y: (X.astype(object), [TEXT] * len(y)),
    "dimensions": lambda X, y: (X[:, :, np.newaxis], y),
    "ragged": lambda X, y: ([*X.tolist(), [NUMBER]], y),
    "a text in a list": lambda X, y: ([*X[1:].tolist(), [NUMBER, TEXT]], [*y[1:].tolist(), TEXT]),
    "odd numbers": lambda X, y: ([*X[1:].tolist(), [10**400, None]], [*y[1:].tolist(), 10**20]),
    "frame": lambda X, y: (pd.DataFrame(X, columns=["a", "b"]).assign(c=TEXT), y),
    "polars": lambda _, y: (pl.DataFrame({"a": [TEXT], "b": [NUMBER]}), y[:1]),
    "names": lambda X, y: (pd.DataFrame(X, columns=["a", "a"]), y),
}


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        # Every day each with nothing spoiled, and with a third of all else.
        pytest.param(name, spoil, marks=[pytest.mark.slow] * (j > 0 and (i + j) % 3 > 0))
        for i, name in enumerate(ARRAYS)
        for j, spoil in enumerate(SPOILS)
    ],
)
def test_estimators(listening, name, spoil):
    table = planted()
    X = np.column_stack([table["a"].to_numpy(), table["b"].to_numpy()])
    y = table["y"].to_numpy()
    make, one = ARRAYS[name]
    X, y = SPOILS[spoil](X, y)
    given = (X,) if one and name != "ECDF" else (y,) if one else (X, y)
    estimator = make()
    steps = []
    try:
        estimator.fit(*given, progress=lambda *told: steps.append(told))
    except nolook.NolookError as error:
        search_error(error)
    check(repr(steps), "progress")
    check(repr(estimator), "representation")
    # A fitted estimator may be stored: it keeps nothing of the data.
    check(pickle.dumps(estimator), "pickle")
    check(repr(vars(estimator)), "attributes")


def test_what_a_table_shows_and_an_error_of_several_libraries():
    table = planted()
    opened = read_table(table, "y", features=["a", "b"])
    check(repr(opened), "table")
    with pytest.raises(nolook.TableError) as caught:
        table_from_arrays(pd.DataFrame({"a": [TEXT]}), [NUMBER])
    search_error(caught.value)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".ipc", ".csv"])
@pytest.mark.parametrize("missing", ["drop-row", "zero"])
def test_damaged_files(folder, listening, share, ending, missing):
    path = folder / f"T{ending}"
    if ending == ".parquet":
        pq.write_table(planted(), path, use_dictionary=False, compression="none")
    else:
        store(planted(), path)
    content = bytearray(path.read_bytes())
    place = int(share * len(content))
    for damaged in (content[:place], content[:place] + b"\xff" * 64 + content[place + 64 :]):
        path.write_bytes(damaged)
        try:
            opened = read_table(path, "y", features=["a", "b"], missing=missing)
            opened.read_through()
            list(opened.batches())
        except nolook.NolookError as error:
            search_error(error)


# What may be declared of the columns of `planted`, rightly or wrongly.
DECLARED = {
    "as they are": {"a": "number", "b": "number", "city": WARDS, "whole": "integer"},
    "signs": {
        "a": {"type": "number", "thousands": ",", "currency": ["CHF"]},
        "b": {"type": "number", "percent": True},
        "city": {"type": "category", "levels": ["Bern"], "missing": ["Basel"]},
    },
    "words": {"word": {"type": "boolean", "true": ["yes"], "false": ["no"]}, "a": "number"},
    "texts": {"a": WARDS, "city": "number", "word": "boolean", "b": "number"},
    "dates": {"city": "date", "whole": "date", "month": {"month_of": "whole"}, "b": "number"},
    "times": {"city": {"type": "datetime", "pattern": "%Y-%m-%d %H:%M"}, "b": "number"},
    "no feature": {"city": "identifier", "word": "text", "whole": UNIT, "b": "number"},
    "another table": {"town": WARDS, "b": "number"},
}


@pytest.mark.parametrize(
    ("name", "ending", "missing"),
    [
        # Every day each schema with both formats, and each of these with all that gaps may mean.
        pytest.param(*case, marks=[pytest.mark.slow] * (j > 1 or (i + j + k) % 3 > 0))
        for i, name in enumerate(DECLARED)
        for j, ending in enumerate([".csv", ".parquet", ".csv.gz", ".csv.zst"])
        for k, missing in enumerate(["drop-row", "zero"])
        for case in [(name, ending, missing)]
    ],
)
def test_declared_tables(folder, listening, name, ending, missing):
    """Reading, fitting, the model's file and predicting from it."""
    path, plain = folder / f"T{ending}", folder / f"plain{ending[:4]}"
    if ending == ".parquet":
        store(planted(), path)
    else:
        store(planted(), plain)
        compressed(plain.read_bytes(), path)
        plain.unlink(missing_ok=True)
    schema = nolook.Schema({**DECLARED[name], "y": {"type": "number", "use": "target"}})
    try:
        opened = read_table(path, schema=schema, missing=missing)
        check(repr(opened) + repr(opened.read_options()), "table")
        model = nolook.AdaSSPRegressor(1.0, 1e-6, random_state=0).fit(opened)
    except nolook.NolookError as error:
        search_error(error)
        return
    check(pickle.dumps(model), "pickle")
    nolook.save(model, folder / "m.json")
    check((folder / "m.json").read_bytes(), "model")
    done = run(folder, "predict", "--model", "m.json", path.name, "--output", "p.parquet")
    check(done.out + done.err, "printed")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_drafts(folder, listening, ending):
    store(planted(), folder / f"T{ending}")
    done = run(folder, "schema", f"T{ending}")
    assert done.status == 0
    check(done.out, "printed")
    check((folder / "T.toml").read_bytes(), "draft")
    without = pa.csv.WriteOptions(include_header=False)
    pa.csv.write_csv(planted().slice(1), folder / "U.csv", without)
    done = run(folder, "schema", "U.csv")
    assert done.status == 2
    check(done.err, "printed")


def test_a_model_of_planted_rows_predicts_without_a_word(folder, listening):
    store(planted(), folder / "T.parquet")
    words = "fit T.parquet --target y --epsilon 1 --delta 1e-6 --features a,b --output m.json"
    assert run(folder, *words.split()).status == 0
    done = run(folder, "predict", "--model", "m.json", "T.parquet", "--output", "p.parquet")
    assert done.status == 0
    check(done.out, "printed")
    # Kept cells are in the file they were asked for, and nowhere else; nor are those of a refusal.
    for keep, output, status in (
        ("city,whole", "p.csv", 0),
        ("city,whole", "q.parquet", 0),
        ("city", "p.txt", 2),
        ("city,zz", "r.csv", 2),
        ("prediction", "r.csv", 2),
        ("city", "p.csv", 2),
    ):
        words = ("predict", "--model", "m.json", "T.parquet", "--keep", keep, "--output", output)
        done = run(folder, *words)
        assert done.status == status, done
        check(done.out + done.err, output)
    assert TEXT in (folder / "p.csv").read_text()
    model = nolook.load(folder / "m.json")
    assert np.isfinite(model.predict(planted())).any()  # by name, whatever else is there
    for X in (
        planted().select(["b"]),
        np.full((2, 5), NUMBER),
        [[TEXT, NUMBER]],
        np.array([[np.nan, NUMBER]]),
    ):
        with pytest.raises((nolook.NolookError, ValueError)) as caught:
            model.predict(X)
        search_error(caught.value)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("after", ["charge", "read_table", "Ledger"])
def test_an_interruption_says_nothing_of_the_table(folder, listening, monkeypatch, after, ending):
    store(planted(), folder / f"T{ending}")
    Charged(folder)
    monkeypatch.setenv("NOLOOK_LEDGER", "a.ledger")

    def stop(*given, **__):
        for table in given:
            if isinstance(table, Table):
                table.finish_first_pass()  # the charge is at the end of the first pass
        raise KeyboardInterrupt

    place = {
        "charge": "nolook.algorithms.adassp.AdaSSP.run",
        "read_table": "nolook.tables.read_table",
        "Ledger": "nolook.privacy.ledger.Ledger.reserve",
    }[after]
    monkeypatch.setattr(place, stop)
    words = f"fit T{ending} --target y --epsilon 1 --delta 1e-6 --features a,b --method adassp"
    with contextlib.chdir(folder), contextlib.redirect_stderr(io.StringIO()) as err:
        assert nolook.cli._run(words.split()) == 130
    assert err.getvalue().startswith("nolook: interrupted; ")
    assert ("the ledger a.ledger was charged" in err.getvalue()) == (after == "charge")
    check(err.getvalue(), "interruption")


def test_files_of_results_have_no_trace_of_where_the_values_are(folder):
    # The place of the row is as private as its value.
    sizes = set()
    for seed in range(2):
        table = planted().slice(seed)
        store(table, folder / "T.parquet")
        words = "select T.parquet --target y -k 1 --epsilon 1e-9 --features a,b --output s.json"
        assert run(folder, *words.split(), "--random-state", 1, "--force").status == 0
        sizes.add(len(Path(folder / "s.json").read_bytes()))
    assert len(sizes) == 1

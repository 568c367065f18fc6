"""Tables that differ in one person's cell get the same kind of answer from every command.

The same noise is drawn for both. Whatever differs in how a command ends, in its message, in the
files it leaves or in what its ledger was charged tells what somebody's cell is, and is free.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import nolook
from tests.entropy.sitecustomize import Stream
from tests.hostile.harness import run
from tests.ledgers import new_ledger
from tests.tables.database_places import in_duckdb, in_sqlite

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

ROWS, PERSON = 80, 61
NUMBERS, WORDS = ("x", "z", "p", "y", "n"), ("grp", "out", "note", "day", "who")
SCHEMA = """
columns.x = {type = "number", missing = ["-99", "x"]}
columns.z = {type = "number", missing = ["-99", "x"]}
columns.y = {type = "number", missing = ["-99", "x"]}
columns.n.type = "integer"
columns.p.type = "number"
columns.note.type = "number"
columns.grp = {type = "category", levels = ["north", "south"]}
columns.out = {type = "boolean", true = ["yes"], false = ["no"], missing = ["?"]}
columns.day = {type = "date", pattern = "%Y-%m-%d"}
columns.who.type = "identifier"
"""


def people() -> dict[str, list[object]]:
    rng = np.random.default_rng(3)
    x, z = rng.normal(50, 10, ROWS), rng.normal(size=ROWS)
    return {
        "x": x.round(2).tolist(), "z": z.round(3).tolist(),
        "p": rng.random(ROWS).round(3).tolist(), "y": (3 + x / 2 + z).round(2).tolist(),
        "n": rng.integers(0, 9, ROWS).tolist(),
        "grp": rng.choice(["north", "south", "east"], ROWS).tolist(),
        "out": rng.choice(["yes", "no"], ROWS).tolist(),
        "note": [str(i) for i in range(ROWS)],
        "day": [f"2021-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(ROWS)],
        "who": [f"w{i // 2}" for i in range(ROWS)],
    }  # fmt: skip


# What the person's cell may be: in a text file anything, elsewhere what its type can hold.
TEXTS = [
    *(
        "",
        " ",
        "NA",
        "?",
        "x",
        "-99",
        "-99.0",
        "abc",
        "maybe",
        "east",
        "NORTH",
        " Yes",
        "TRUE",
        "2",
    ),
    *("1e999", "-1e400", "inf", "nan", "1e308", "5e-324", "9" * 400, "1.5", "(5)", "50 %", "0x10"),
    *("2021-02-30", "2021-02-03", "0000-00-00", "2021-03-05T10:00:00+02:00", "12:00", "\u0661"),
    *("x" * 200_000, "\x00", "a,b", '"', '"open', 'in "quotes"', "'", "#", "\u00e9", "\ufeff", "="),
]
RAW = [*(text.encode() for text in TEXTS), b"\xff\xfe", b"no\x81l", b"\xed\xa0\x80", b"a\rb", b"\n"]
DOUBLES = [None, np.nan, np.inf, -np.inf, 1e308, -1e300, 5e-324, 0.0, -99.0, 2.0**63, 1e16]
WHOLE = [None, 0, 1, -99, 2**53 + 1, 2**63 - 1, -(2**63)]


def in_csv(columns, path, name, cell):
    lines = [[str(c).encode() for c in line] for line in zip(*columns.values(), strict=True)]
    if name is not None:
        lines[PERSON][list(columns).index(name)] = cell
    half = ROWS // 2 if path.is_dir() else ROWS
    for start, file in zip(range(0, ROWS, half), "ab", strict=False):
        rows = [",".join(columns).encode(), *(b",".join(line) for line in lines[start:][:half])]
        into = path / f"{file}.csv" if path.is_dir() else path
        into.write_bytes(b"\n".join(rows) + b"\n")


def typed(columns, name, cell):
    arrays = {}
    for column, cells in columns.items():
        kept = [cell if (i, column) == (PERSON, name) else c for i, c in enumerate(cells)]
        kind = pa.float64() if column in NUMBERS[:4] else pa.int64()
        if column in WORDS:
            raw = [c.encode() if isinstance(c, str) else c for c in kept]
            arrays[column] = pa.array(raw, pa.binary()).view(pa.string())
        else:
            arrays[column] = pa.array(kept, kind)
    return pa.table(arrays)


def in_folder(table, folder):
    """Two files; as pandas writes them, integers with a gap are doubles."""
    (folder / "t").mkdir(exist_ok=True)
    for start, file in ((0, "a"), (ROWS // 2, "b")):
        part = table.slice(start, ROWS // 2)
        if part["n"].null_count:
            part = part.set_column(4, "n", part["n"].cast(pa.float64()))
        pq.write_table(part, folder / "t" / f"{file}.parquet")
    return "t"


def in_arrow(table, folder):
    with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=30)
    return "t.arrow"


def in_parquet(table, folder):
    pq.write_table(table, folder / "t.parquet")
    return "t.parquet"


TYPED = {
    "parquet": in_parquet,
    "folder of parquet": in_folder,
    "arrow": in_arrow,
    "duckdb": in_duckdb,
    "sqlite": in_sqlite,
}
PLACES = ["csv", "folder of csv", *TYPED]


def place(kind: str, folder: Path, name: str | None, cell: object) -> str:
    """Keep the table, with the person's cell in a column; return its address."""
    if kind in TYPED:
        for old in folder.glob("t.*"):
            old.unlink()
        return TYPED[kind](typed(people(), name, cell), folder)
    path = folder / ("t.csv" if kind == "csv" else "t")
    if kind != "csv":
        path.mkdir(exist_ok=True)
    in_csv(people(), path, name, cell)
    return path.name


OUT = ("-t", "out", "-p", "yes", "-n", "no")
LEVELS = ("--categories", "grp=north,south")
COMMANDS = {
    "linear": ("fit", "T", "-t", "y", "-f", "x,z,grp", "--categories", "grp=north,south"),
    "logistic": ("fit", "T", *OUT, "-f", "x,z"),
    "additive": ("fit", "T", *OUT, "-f", "x,z", "--method", "additive"),
    "additive-poisson": ("fit", "T", "-t", "n", "-f", "x,z", "--method", "additive-poisson"),
    "poisson": ("fit", "T", "-t", "n", "-f", "x,z", "--method", "poisson"),
    "exposure": ("fit", "T", "-t", "n", "-f", "z,x", "--method", "poisson", "--exposure", "x"),
    "tukey": ("fit", "T", "-t", "y", "-f", "x", "--method", "tukey", "--on-failure", "constant"),
    "adassp": ("fit", "T", "-t", "y", "-f", "x,z", "--method", "adassp"),
    "boosted": ("fit", "T", "-t", "y", "-f", "x,z", "--method", "boosted-adassp"),
    "chosen": ("fit", "T", "-t", "y", "-f", "x,z,p", "--select", "1"),
    "kendall": ("select", "T", "-t", "y", "-k", "1", "-f", "x,z,p"),
    "lasso": ("select", "T", "-t", "y", "-k", "1", "-f", "x,z,p", "--selector", "lasso"),
    "sis": ("select", "T", "-t", "y", "-k", "1", "-f", "x,z,p", "--selector", "sis"),
    "moments": ("select", "T", "-t", "y", "-k", "auto", "-f", "x,z,p", "--selector", "moments"),
    "ecdf": ("ecdf", "T", "-c", "x"),
    "ecdf on a grid": ("ecdf", "T", "-c", "n", "--grid", "0:10:1"),
    "quantiles": ("quantiles", "T", "-c", "x,z", "--at", "0.1,0.9", "--grid", "x=0:99:1"),
    "roc": ("roc", "T", "--score", "p", *OUT),
    "calibration": ("calibration", "T", "--probability", "p", *OUT),
    "describe": ("describe", "T", "-f", "x,z,grp", *LEVELS),
    "tabulate": ("tabulate", "T", "--by", "grp", "--mean", "x", "--median", "z", *LEVELS),
    "compare-groups": ("compare-groups", "T", "--value", "x", "--by", "grp", *LEVELS),
    "survival": (
        "survival",
        "T",
        "--time",
        "x",
        "--event",
        "out",
        "--by",
        "grp",
        *LEVELS,
        "--categories",
        "out=no,yes",
    ),
    "evaluate": ("evaluate", "T", "-m", "kept.json"),
    "predict": ("predict", "--model", "kept.json", "T"),
}
DECLARED = ("-s", "s.toml")
OPTIONS = {
    "plain": (),
    "filter": ("--where", "x > 20"),
    "a word": ("--where", "grp in north,south"),
    "not a word": ("--where", "grp != east"),
    "zero": ("--missing", "zero"),
    "units": ("--unit", "who"),
    "rows of units": ("--unit", "who", "--rows-per-unit", "1"),
    "schema": DECLARED,
    "conversion": (*DECLARED, "--where", "note < 50"),
    "date": (*DECLARED, "--where", "day >= 2021-03-01", "--where", "z > -1"),
    "declared units": (*DECLARED, "--unit", "who", "--missing", "zero"),
}
_NOT_OF_PREDICTIONS = {"units", "rows of units", "declared units", "zero"}
#: Missing values are groups of their own.
_WITHOUT_POLICY = {"describe", "tabulate", "compare-groups", "survival"}


def answer(folder: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> object:
    """Run a command with the noise of every other one; return what kind of answer it gives."""
    predicts = words[0] == "predict"
    output = folder / ("p.csv" if predicts else "r.json")
    output.unlink(missing_ok=True)
    paid = () if predicts else ("-e", "0.05", "--ledger", "a.ledger")
    new_ledger(folder / "a.ledger")
    monkeypatch.setattr(os, "urandom", Stream("the same for both").draw)
    done = run(folder, *words, *paid, "-o", output.name)
    with nolook.Ledger(folder / "a.ledger") as ledger:
        charged = [(entry.cost, entry.state) for entry in ledger.history()]
    made = output.read_text() if output.exists() else ""
    kind = bool(made) if predicts or not made else sorted(json.loads(made))
    return done.status, done.err, bool(done.out), kind, charged


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("kept")
    words = nolook.read_table(typed(people(), None, None), "out", features=["x", "z"],
                              positive="yes", negative="no")  # fmt: skip
    model = nolook.LogisticRegression(epsilon=0.1, delta=1e-6).fit(words)
    nolook.save(model, folder / "kept.json")
    return (folder / "kept.json").read_text()


def pair(number: int) -> tuple[str, str, str, str, object]:
    """Generate a place, a command, its options, a column and what the person's cell is there."""
    rng = random.Random(number)
    kind = PLACES[number % len(PLACES)]
    command = list(COMMANDS)[number % len(COMMANDS)]
    name = rng.choice([*NUMBERS, *WORDS] if rng.random() < 0.3 else [*NUMBERS, "grp", "out"])
    options = [*OPTIONS]
    if command == "predict":
        options = [each for each in options if each not in _NOT_OF_PREDICTIONS]
    elif command in _WITHOUT_POLICY:
        options = [each for each in options if "--missing" not in OPTIONS[each]]
    if kind not in TYPED:
        cells: list[object] = [*RAW]
    elif name in WORDS:
        cells = [None, *(c for c in RAW if kind in {"parquet", "arrow"} or _is_text(c))]
    else:
        cells = [*DOUBLES] if name != "n" else [*WHOLE]
    return kind, command, rng.choice(options), name, rng.choice(cells)


def _is_text(raw: bytes) -> bool:
    try:
        return "\x00" not in raw.decode()
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize(
    "number",
    [n if n < 25 else pytest.param(n, marks=pytest.mark.slow) for n in range(209)],
)
def test_one_persons_cell_does_not_change_how_a_command_ends(folder, monkeypatch, kept, number):
    kind, command, options, name, cell = pair(number)
    (folder / "kept.json").write_text(kept)
    (folder / "s.toml").write_text(SCHEMA)
    answers = []
    for column in (None, name):
        address = place(kind, folder, column, cell)
        words = tuple(address if word == "T" else word for word in COMMANDS[command])
        answers.append(answer(folder, (*words, *OPTIONS[options]), monkeypatch))
    one, other = answers
    assert one == other, (kind, command, options, name, cell)
    assert one[0] in {0, 4, 5}, (kind, command, options, one)

"""Commands read tables of databases, and say nothing of where they are."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import nolook
import nolook.cli
from tests.conftest import commands_of
from tests.ledgers import new_ledger
from tests.report.command import Result
from tests.tables.database_places import DATABASES
from tests.tables.servers import PASSWORD

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

ROWS = 3_000


@pytest.fixture
def cli(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(nolook.cli, "get_command", commands_of)

    def call(*words):
        status = nolook.cli._run([str(word) for word in words])
        return Result(status, *capfd.readouterr())

    return call


def people() -> pa.Table:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, ROWS)
    risk = rng.random(ROWS)
    return pa.table(
        {
            "age": age,
            "risk": risk,
            "died": (rng.random(ROWS) < risk).tolist(),
            "person": rng.integers(0, 900, ROWS),
            "income": age * 10.0 + rng.normal(size=ROWS),
        }
    )


@pytest.fixture(params=DATABASES)
def place(request, tmp_path) -> list[str]:
    """The words that name a table of a database."""
    folder = tmp_path / "kept"
    folder.mkdir()
    kept = DATABASES[request.param](people(), folder)
    if isinstance(kept, nolook.Database):
        return [kept._uri, "--table", "t"]
    return [kept]


COMMANDS = {
    "fit": ["--target", "income", "--features", "age,risk"],
    "select": ["--target", "income", "--features", "age,risk", "-k", "1"],
    "ecdf": ["--column", "age"],
    "quantiles": ["--columns", "age"],
    "roc": ["--score", "risk", "--target", "died", "--positive", "true"],
    "calibration": ["--probability", "risk", "--target", "died", "--positive", "true"],
}


@pytest.mark.parametrize(
    ("command", "place"),
    [
        # Every day each command with one of the databases, each of these with two or more.
        pytest.param(command, name, marks=[pytest.mark.slow] * ((i + j) % len(DATABASES) > 0))
        for i, command in enumerate(COMMANDS)
        for j, name in enumerate(DATABASES)
    ],
    indirect=["place"],
)
def test_every_command_reads_them(command, place, cli, tmp_path):
    written = ("--output", "out.json", "--report", "out.html", "--ledger", "l")
    new_ledger(tmp_path / "l", name="l")
    done = cli(command, *place, *COMMANDS[command], "--epsilon", "5", *written)
    assert done.status in {0, 5}, done
    for text in (done.out, done.err, *map(read, tmp_path.glob("*"))):
        assert PASSWORD not in text
        assert "127.0.0.1" not in text
    with nolook.Ledger(tmp_path / "l") as ledger:
        (entry,) = ledger.history()
    assert entry.details.table == "t"


def read(path) -> str:
    return path.read_bytes().decode("latin-1") if path.is_file() else ""


def test_outputs_are_called_after_the_table(place, cli, tmp_path):
    options = ("--features", "age", "--target", "income", "--epsilon", "5", "--quiet")
    assert cli("fit", *place, *options, "--unit", "person").status == 0
    assert (tmp_path / "t.income.model.json").is_file()
    kept = json.loads((tmp_path / "t.income.model.json").read_text())
    assert PASSWORD not in json.dumps(kept)
    done = cli(
        "predict", "--model", "t.income.model.json", *place, "--output", "p.csv", "--keep", "person"
    )
    assert done.status == 0, done
    assert len((tmp_path / "p.csv").read_text().splitlines()) == ROWS + 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["postgresql://owner:{password}@127.0.0.1/x"], "--table is not given"),
        (["duckdb:t.duckdb", "--table", " "], "--table is empty"),
        (["people.parquet", "--table", "t"], "--table is given, but the table is a file"),
        (["mysql://owner:{password}@127.0.0.1/x", "--table", "t"], "unknown kind"),
        (["postgresql://owner:{password}@127.0.0.1:1/x", "--table", "t"], "cannot be opened"),
        (["https://{password}@127.0.0.1/people.csv"], "unknown kind"),
        (["postgresql//owner:{password}@127.0.0.1/x"], "unknown kind"),
        ([" postgresql:/owner:{password}@127.0.0.1/x", "--table", "t"], "unknown kind"),
        (["host=127.0.0.1 password={password} dbname=x"], "unknown kind"),
        (["people.parquet", "--schema", "s3://owner:{password}@b/s.toml"], "s3:/...@b/s.toml"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_what_names_no_table_is_refused_in_one_line(command, words, expected, cli, tmp_path):
    words = [word.format(password=PASSWORD) for word in words]
    model = nolook.LinearRegression(epsilon=1.0, delta=1e-6).fit(np.ones((50, 1)), np.ones(50))
    nolook.save(model, tmp_path / "m.json")
    done = {
        "fit": lambda: cli("fit", *words, "--target", "y", "--epsilon", "1"),
        "predict": lambda: cli("predict", "--model", "m.json", *words, "--output", "p.csv"),
    }[command]()
    assert done.status == 2
    assert expected in done.err
    assert done.err.count("\n") == 1
    assert PASSWORD not in done.err


def test_no_schema_is_drafted_of_a_database(cli):
    done = cli("schema", f"postgresql://owner:{PASSWORD}@127.0.0.1/x")
    assert done.status == 2
    assert PASSWORD not in done.err

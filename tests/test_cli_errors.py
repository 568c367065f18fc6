"""Every error is one plain line with its exit status, and nothing is spent or left behind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import nolook
import nolook.cli
from tests.report.command import BUDGET, Result, columns, run, write_table

LEFT_ALONE = {"people.parquet", "a.ledger"}


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    data = columns(rows=4000)
    data["day"] = np.arange(4000).astype("datetime64[D]")
    return write_table(tmp_path_factory.mktemp("tables") / "people.parquet", data)


@pytest.fixture
def here(tmp_path, monkeypatch, people) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.parquet").write_bytes(people.read_bytes())
    nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-4), name="a").close()
    return tmp_path


@pytest.fixture
def cli(here, monkeypatch, capsys):
    monkeypatch.setattr(nolook.cli, "_silence_libraries", lambda: None)

    def call(*words):
        status = nolook.cli._run([str(word) for word in words])
        return Result(status, *capsys.readouterr())

    return call


def refused(done: Result, *expected: str, status: int = 2) -> None:
    assert done.status == status, done
    assert done.out == ""
    assert done.err.startswith("nolook: error: ")
    assert done.err.endswith("\n")
    assert done.err.count("\n") == 1
    for text in expected:
        assert text in done.err
    assert done.err.isascii() or done.err.strip().isprintable()
    assert "Traceback" not in done.err


def untouched(folder: Path, *others: str) -> None:
    found = {path.name for path in folder.iterdir()}
    assert {name for name in found if not name.startswith("a.ledger-")} == {*LEFT_ALONE, *others}
    with nolook.Ledger(folder / "a.ledger") as ledger:
        assert ledger.history() == ()
        assert ledger.spent.epsilon == 0


def fit(**options) -> list:
    """The words of a command that works, with some options changed; None leaves one out."""
    table = options.pop("table", "people.parquet")
    given = {"target": "income", "epsilon": "1", "delta": "1e-6", "ledger": "a.ledger"}
    if not {"features", "categories", "target"} & set(options):
        given["exclude"] = "city"
    given |= options
    words = ["fit", table]
    for name, value in given.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", value]
    return words


def test_the_command_that_errors_are_made_from_works(here, cli):
    assert cli(*fit(features="age,height")).status == 0
    with nolook.Ledger(here / "a.ledger") as ledger:
        assert ledger.spent.epsilon == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"epsilon": "0"}, ["--epsilon is 0", "above 0"]),
        ({"epsilon": "-1"}, ["--epsilon is -1", "above 0"]),
        ({"epsilon": "nan"}, ["--epsilon is nan", "finite"]),
        ({"epsilon": "inf"}, ["--epsilon is inf", "finite"]),
        ({"epsilon": "many"}, ["--epsilon", "number"]),
        ({"epsilon": None}, ["--epsilon"]),
        ({"delta": "0"}, ["--delta is 0", "between 0 and 1"]),
        ({"delta": "1"}, ["--delta is 1", "between 0 and 1"]),
        ({"delta": "2"}, ["--delta is 2", "between 0 and 1"]),
        ({"delta": "nan"}, ["--delta is nan", "between 0 and 1"]),
        ({"delta": "small"}, ["--delta", "number"]),
        ({"random_state": "-1"}, ["--random-state is -1", "at least 0"]),
        ({"random_state": "x"}, ["--random-state", "integer"]),
        ({"target": None}, ["--target"]),
        ({"method": "magic"}, ["--method is 'magic'", "'auto', 'linear'"]),
        ({"bound_x": "2", "bound_y": "1"}, ["--bound-x is 2.0, but the method is linear"]),
        ({"bound_x": "2", "bound_y": "1", "method": "auto"}, ["--bound-x", "--method adassp"]),
        ({"bound_x": "2", "method": "adassp"}, ["--bound-y is not given", "both or neither"]),
        ({"bound_y": "2", "method": "adassp"}, ["--bound-x is not given", "both or neither"]),
        ({"bound_x": "0"}, ["--bound-x is 0", "above 0"]),
        ({"bound_y": "inf"}, ["--bound-y is inf", "finite"]),
        ({"bound_y": "much"}, ["--bound-y", "number"]),
        ({"on_failure": "constant"}, ["--on-failure is 'constant'", "--method tukey"]),
        ({"on_failure": "weep"}, ["--on-failure is 'weep'", "'raise', 'constant'"]),
        ({"missing": "guess"}, ["--missing is 'guess'", "'drop-row', 'zero'"]),
        ({"unknown": "1"}, ["--unknown"]),
        ({"features": ""}, ["--features", "at least one name"]),
        ({"features": "age,,height"}, ["--features", "non-empty"]),
        ({"features": "age,age"}, ["--features", "'age'", "once"]),
        ({"categories": "city"}, ["--categories is 'city'", "city=Bern"]),
        ({"categories": "=A"}, ["--categories is '=A'"]),
        ({"categories": "city="}, ["--categories city"]),
        ({"categories": "city=A,A"}, ["--categories city", "'A'", "once"]),
        ({"categories": "city=...,A,..."}, ["--categories city", "'...'", "once"]),
        ({"categories": "city=..."}, ["categories of 'city'", "at least one name"]),
    ],
)
def test_a_parameter_out_of_range_is_named(here, cli, options, expected):
    refused(cli(*fit(**options)), *expected)
    untouched(here)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"target": "salary"}, ["--target", "'salary'", "people.parquet"]),
        ({"target": "city"}, ["--target", "'city'", "text", "--positive"]),
        ({"target": "day"}, ["--target", "'day'", "date", "--schema"]),
        ({"features": "age,weight"}, ["--features", "'weight'"]),
        ({"features": "age,city"}, ["--features", "'city'", "text", "--categories city=A,B"]),
        ({"features": "age,day"}, ["--features", "'day'", "date", "--schema"]),
        ({"features": "age,income"}, ["--features", "'income'"]),
        ({"categories": "town=A,B"}, ["--categories", "'town'"]),
        ({"categories": "age=1,2"}, ["--categories", "'age'"]),
        ({"table": "none.parquet"}, ["none.parquet", "does not exist"]),
        ({"table": "."}, ["'.'"]),
        ({"table": "a.ledger"}, ["a.ledger"]),
    ],
)
def test_a_column_or_table_that_does_not_fit_is_named(here, cli, options, expected):
    refused(cli(*fit(**options)), *expected)
    untouched(here)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"\x00" * 1000, b"secret,1\n\xff\xfe2"])
def test_a_damaged_file_is_named_and_never_quoted(here, cli, suffix, content):
    (here / f"bad{suffix}").write_bytes(content)
    done = cli(*fit(table=f"bad{suffix}", features="age"))
    refused(done, f"bad{suffix}")
    assert "secret" not in done.err
    untouched(here, f"bad{suffix}")


def test_a_file_cut_short_is_refused(here, cli, people):
    content = people.read_bytes()
    for length in (1, len(content) // 2, len(content) - 1):
        (here / "bad.parquet").write_bytes(content[:length])
        refused(cli(*fit(table="bad.parquet")), "bad.parquet")
    untouched(here, "bad.parquet")


def test_a_table_without_a_feature_is_refused(here, cli):
    data = columns(rows=50)
    write_table(here / "bad.parquet", {"city": data["city"], "income": data["income"]})
    refused(cli(*fit(table="bad.parquet")), "feature")
    untouched(here, "bad.parquet")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_missing_value_is_an_error_before_anything_is_spent(here, cli, value):
    data = columns(rows=4000)
    data["age"][7] = value
    write_table(here / "bad.parquet", data)
    done = cli(*fit(table="bad.parquet"))
    refused(done, "bad.parquet", "missing or infinite", "--schema", "--missing drop-row")
    assert "zero" not in done.err
    assert "7" not in done.err.replace("bad.parquet", "")
    untouched(here, "bad.parquet")
    assert cli(*fit(table="bad.parquet", missing="zero", output="m.json")).status == 0


def test_a_csv_file_without_features_is_refused(here, cli):
    (here / "bad.csv").write_text("age,income,city\n1,2,A\n")
    refused(cli(*fit(table="bad.csv")), "features")
    untouched(here, "bad.csv")


@pytest.mark.parametrize("option", ["output", "report"])
@pytest.mark.parametrize(
    "place", ["none/file", ".", "people.parquet", "a.ledger", "a.ledger-journal", "x" * 300]
)
def test_an_output_that_cannot_be_written_is_found_before_anything_is_spent(
    here, cli, option, place
):
    before = (here / "people.parquet").read_bytes()
    refused(cli(*fit(**{option: place})), f"--{option} is {place}"[:60])
    assert (here / "people.parquet").read_bytes() == before
    untouched(here)


def test_the_model_and_the_report_need_two_names(here, cli):
    refused(cli(*fit(output="same", report="same")), "--report is same")
    untouched(here)


def test_devices_are_no_outputs(here, cli):
    os.mkfifo(here / "pipe")
    refused(cli(*fit(output="pipe")), "--output is pipe", "not an ordinary file")
    refused(cli(*fit(output="/dev/null")), "--output is /dev/null", "not an ordinary file")
    untouched(here, "pipe")


@pytest.mark.parametrize("ledger", ["none.ledger", ".", "people.parquet"])
def test_a_ledger_that_is_none_is_refused(here, cli, ledger):
    refused(cli(*fit(ledger=ledger)), ledger)
    untouched(here)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "not JSON"),
        ("{}", '"format": "nolook"'),
        ('{"format": "nolook", "version": 2, "nolook_version": "9"}', "version 1"),
        ('{"format": "nolook", "version": 1, "nolook_version": "9"}', "expected a kind"),
    ],
)
def test_a_bad_model_file_is_refused(here, cli, content, expected):
    (here / "bad.json").write_text(content)
    done = cli("predict", "bad.json", "people.parquet", "--output", "p.parquet")
    refused(done, "bad.json", expected)
    untouched(here, "bad.json")


def test_predict_refuses_what_does_not_fit(here, cli):
    assert cli(*fit(ledger=None, output="m.json")).status == 0
    write_table(here / "new.parquet", {"age": [1.0], "height": [2.0]})
    words = ("predict", "m.json")
    refused(cli(*words, "new.parquet", "--output", "p.parquet"), "'member'", "new.parquet")
    refused(cli(*words, "none.parquet", "--output", "p.parquet"), "none.parquet")
    refused(cli("predict", "none.json", "new.parquet", "--output", "p.parquet"), "none.json")
    refused(cli(*words, "people.parquet", "--output", "people.parquet"), "--output is people")
    refused(cli(*words, "people.parquet", "--output", "m.json"), "--output is m.json")
    refused(cli(*words, "people.parquet"), "--output")
    untouched(here, "m.json", "new.parquet")


def test_predictions_of_a_damaged_table_leave_no_file(here, cli):
    table = write_table(here / "new.parquet", columns(rows=100_000))
    assert cli(*fit(ledger=None, output="m.json")).status == 0
    content = bytearray(table.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 100_000] = bytes(100_000)
    table.write_bytes(content)
    refused(cli("predict", "m.json", "new.parquet", "--output", "p.parquet"), "new.parquet")
    untouched(here, "m.json", "new.parquet")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("create", "b.ledger"), ["--epsilon"]),
        (("create", "b.ledger", "--epsilon", "0", "--delta", "0"), ["--epsilon is 0"]),
        (("create", "b.ledger", "--epsilon", "1", "--delta", "1"), ["--delta is 1"]),
        (("create", "b.ledger", *BUDGET, "--relation", "other"), ["--relation is 'other'"]),
        (("create", "a.ledger", *BUDGET), ["a.ledger"]),
        (("create", "none/b.ledger", *BUDGET), ["none/b.ledger"]),
        (("show", "b.ledger"), ["b.ledger"]),
        (("show", "people.parquet"), ["people.parquet"]),
        (("history", "b.ledger"), ["b.ledger"]),
        (("show",), ["FILE"]),
        (("destroy", "a.ledger"), ["destroy"]),
    ],
)
def test_ledger_commands_refuse_what_does_not_fit(here, cli, words, expected):
    refused(cli("ledger", *words), *expected)
    untouched(here)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("fir",), ["fir"]),
        (("--versio",), ["--versio"]),
        (("fit",), ["TABLE"]),
        (("fit", "a", "b", *BUDGET, "--target", "y"), ["b"]),
        (("fit", "people.parquet", "--target"), ["--target"]),
        (("fit", "people\x1b[31m\n.parquet", "--target", "y", *BUDGET), ["\\x1b"]),
        (("fit", "--\x1b[31m"), ["\\x1b"]),
        (("predict",), ["MODEL"]),
    ],
)
def test_wrong_usage_is_one_plain_line(here, cli, words, expected):
    refused(cli(*words), *expected)
    untouched(here)


@pytest.mark.slow
def test_errors_are_the_same_in_a_process_of_its_own(here):
    for words in (fit(epsilon="0"), fit(table="none.parquet"), fit(unknown="1"), ["fir"]):
        refused(run(*words, cwd=here))
    (here / "bad.json").write_text(json.dumps({"format": "nolook"}))
    refused(run("predict", "bad.json", "people.parquet", "--output", "p.parquet", cwd=here))
    untouched(here, "bad.json")

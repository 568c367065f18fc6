"""The federated commands as owners, operators and analysts use them, with real servers."""

from __future__ import annotations

import re
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
import nolook.cli
from examples.certificates import Authority
from nolook.federated.batch_file import read_batch
from nolook.federated.commands import _submit
from nolook.federated.commands._submit import _place, _Wanted
from nolook.federated.sealing import public_key, read_private_key
from nolook.federated.tokens import Tokens, make_tokens
from nolook.tables.schema import Schema
from tests.federated.made import KEYS
from tests.federated.servers import Pair
from tests.report.command import Result, run

ROWS = 300


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(here, monkeypatch, capsys):
    """Run the command line in this process, where a warning is an error."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(nolook.cli, "_silence_libraries", lambda: None)

    def call(*words):
        status = nolook.cli._run(["federated", *(str(word) for word in words)])
        return Result(status, *capsys.readouterr())

    return call


def fine(result):
    assert (result.status, result.err) == (0, "")
    return result.out


def refused(result, status=2):
    assert result.status == status
    assert result.out == ""
    assert result.err.startswith("nolook: error: ")
    assert result.err.count("\n") == 1
    return result.err


def described(cli, kind, epsilon, *grid, name="one", servers=None):
    """Describe a batch on the command line; return it."""
    options = ["--name", name, "--kind", kind, "--epsilon", epsilon, "--minimum", 20]
    options += servers or [f"--server{role}=https://{role}.example" for role in (0, 1)]
    options += [f"--key{role}={KEYS[role]}" for role in (0, 1)]
    assert fine(cli("batch", *options, *grid, "--output", f"{name}.json")) == ""
    return read_batch(nolook._validation.check_path(f"{name}.json", ""))


def reach(pair, who, demanding=False):
    words = ["--batch", pair.batches[0], "--server0", pair.urls[0], "--server1", pair.urls[1]]
    for file in pair.tokens[who]:
        words += ["--token-file", file]
    if demanding:
        words += ["--certificate", pair.certificate, "--key", pair.key]
    words += ["--at-most-epsilon", 1e6] * (who == "owner")
    return [*words, "--ca", pair.ca]


def table(path, rows=ROWS):
    chance = np.random.default_rng(5)
    score = chance.uniform(0, 1, rows)
    bought = np.where(chance.uniform(0, 1, rows) < score, "yes", "no")
    ages = chance.integers(0, 100, rows).astype(float)
    columns = {"score": score, "bought": bought.tolist(), "age": ages}
    pq.write_table(pa.table(columns), path)
    return score, bought == "yes", ages


@pytest.mark.parametrize("demanding", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_distribution_from_batch_to_report(forks, cli, here, demanding):
    batch = described(cli, "ecdf", 1000.0, "--grid", "0:127:1")
    *_, ages = table(here / "t.parquet")
    pair = Pair(forks, here, [batch], demanding=demanding).start()
    try:
        owner, analyst = (reach(pair, who, demanding) for who in ("owner", "analyst"))
        out = fine(cli("submit", *owner, "--table", "t.parquet", "--column", "age"))
        assert out.endswith(f"reports of one at both servers: {ROWS}\n")
        fine(cli("submit", *owner, "--value", "17.5", "--quiet"))
        assert not (here / "one.pending").exists()
        said = " ".join(fine(cli("query", *analyst, "--freeze", "--dry-run")).split())
        assert "Dry run: two servers' ecdf of one." in said
        assert "within epsilon = 1,000, delta = 0" in said
        assert "No server was asked" in said
        assert "open; freeze it" in refused(cli("query", *analyst))
        assert not (here / "one.distribution.json").exists()
        out = fine(cli("query", *analyst, "--freeze", "--report", "r.html", "--smoothing", "none"))
        assert "distribution of one" in out
        said = " ".join(out.split())
        found = nolook.load(here / "one.distribution.json")
        assert found.distribution_.rows == ROWS + 1
        values = np.sort(np.append(ages, 17.5))
        counts = found.cdf(np.arange(100.0)) * (ROWS + 1)
        assert np.allclose(counts, np.searchsorted(values, np.arange(100.0), side="right"))
        assert found.privacy_.relation == "replace"
        check_basis(batch, said, (here / "r.html").read_text(), found)
        # Never in place of it unasked; once more, and it is the same.
        assert "which exists" in refused(cli("query", *analyst))
        content = (here / "one.distribution.json").read_bytes()
        assert "--smoothing is 'x'" in refused(cli("query", *analyst, "--smoothing", "x"))
        words = ["--smoothing", "none", "--output", "again.json", "--quiet"]
        assert fine(cli("query", *analyst, *words)) == ""
        assert (here / "again.json").read_bytes() == content
        assert "closed" in refused(cli("submit", *owner, "--value", "3", "--quiet"))
        assert fine(cli("close", *analyst)) == "one has ended at both servers\n"
        assert fine(cli("close", *analyst, "--quiet")) == ""
        fine(cli("query", *analyst, *words, "--force"))
        assert (here / "again.json").read_bytes() == content
        assert pair.said() == ""
    finally:
        pair.close()


def check_basis(batch, said, page, found):
    """Check that summary, page and file name the servers, the assumptions and the counts."""
    rests_on = [*batch.servers, "one of them is honest", "The promise is computational"]
    rests_on.append(f"{ROWS + 1} reports count. Not counted: 0 that the servers do not agree on")
    for text in rests_on:
        assert text in said
        assert text in page
        assert text in " ".join(found.privacy.basis)


def test_tokens_for_one_report_each_send_a_folder_once(forks, cli, here):
    """Gaussian noise, and addresses that the batch names."""
    pair = Pair(forks, here, [], delta=1e-3)
    urls = [f"--server{role}={pair.urls[role]}" for role in (0, 1)]
    grid = ["--grid", "0:7:1", "--delta", "1e-6"]
    batch = described(cli, "ecdf", 1000.0, *grid, servers=urls)
    pair.batches = [here / "one.json"]
    (here / "t").mkdir()
    for part in (0, 1):
        ages = np.arange(20.0) % 8 + part
        pq.write_table(pa.table({"age": ages}), here / "t" / f"{part}.parquet")
    for role in (0, 1):
        made = make_tokens("owner", here / f"server{role}.tokens", 40, most=1)
        (here / f"once{role}").write_text("\n".join(made))
    words = ["--batch", "one.json", "--ca", pair.ca]
    weak = ["--at-most-epsilon", 1000]
    owner = [*words, "--token-file", "once0", "--token-file", "once1"]
    analyst = [*words, *(f"--token-file={file}" for file in pair.tokens["analyst"])]
    pair.start()
    try:
        table = ["--table", "t", "--column", "age"]
        one = [*owner, *weak, "--value", "1", "--quiet"]
        assert "holds 40 tokens; expected 1" in refused(cli("submit", *one))
        assert not (here / "one.pending").exists()
        assert "epsilon 1000, above --at-most-epsilon 10" in refused(cli("submit", *owner, *table))
        owner += weak
        fine(cli("submit", *owner, *table))
        assert "all the reports it may (1)" in refused(cli("submit", *owner, *table, "--quiet"))
        out = fine(cli("query", *analyst, "--freeze"))
        assert "40 reports count." in " ".join(out.split())
        found = nolook.load(here / "one.distribution.json")
        assert found.privacy_.budget.delta == batch.delta == 1e-6
        assert abs(found.cdf(np.array([3.0]))[0] * 40 - 21) < 0.01
    finally:
        pair.close()


def test_a_roc_curve_and_a_ledger_that_has_too_little(forks, cli, here):
    batch = described(cli, "roc", 1000.0, "--grid", "0:1:0.0625")
    score, positive, _ = table(here / "t.parquet")
    pair = Pair(forks, here, [batch], budget=999.0).start()
    try:
        owner, analyst = reach(pair, "owner"), reach(pair, "analyst")
        words = ["--table", "t.parquet", "--column", "score", "--target", "bought"]
        fine(cli("submit", *owner, *words, "--positive", "yes"))
        fine(cli("submit", *owner, "--value", "0.99", "--target", "1"))
        fine(cli("submit", *owner, "--value", "0.01", "--target", "0"))
        assert "stays open" in refused(cli("query", *analyst, "--freeze"), 3)
        assert "server 0: open, 302 reports" in fine(cli("status", *analyst))
        assert not (here / "one.roc.json").exists()
        pair.close()
        for role in (0, 1):
            path = here / f"ledger{role}"
            path.unlink()
            budget = nolook.Budget(1000.0)
            nolook.Ledger.create(path, budget, name="x", relation="replace").close()
        pair.start()
        assert "ROC curve" in fine(cli("query", *analyst, "--freeze"))
        found = nolook.load(here / "one.roc.json")
        assert round(found.n_positive_) == positive.sum() + 1
        assert round(found.n_negative_) == (~positive).sum() + 1
        # The grid has 16 steps, so the area is that of scores rounded to them.
        cells = np.ceil(score * 16)
        above = cells[positive][:, None] - cells[~positive]
        area = (above > 0).mean() + (above == 0).mean() / 2
        assert abs(found.auc_ - area) < 0.01
    finally:
        pair.close()


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_calibration(forks, cli, here):
    batch = described(cli, "hosmer-lemeshow", 1000.0)
    _, positive, _ = table(here / "t.parquet")
    pair = Pair(forks, here, [batch]).start()
    try:
        words = ["--table", "t.parquet", "--column", "score", "--target", "bought"]
        fine(cli("submit", *reach(pair, "owner"), *words, "--positive", "yes"))
        analyst = reach(pair, "analyst")
        fine(cli("query", *analyst, "--freeze", "--groups", 5))
        found = nolook.load(here / "one.calibration.json")
        assert len(found.table_.positives) == 5
        assert abs(sum(found.table_.positives) - positive.sum()) < 1
        assert 0.0 <= found.p_value_ <= 1.0
        # Groups are chosen afterwards: others cost nothing.
        fine(cli("query", *analyst, "--groups", 4, "--force"))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("nolook.federated.analyst.ask", interrupted)
            done = cli("query", *analyst, "--groups", 5, "--force")
        assert (done.status, done.out) == (130, "")
        assert "charge their ledgers once for a batch" in done.err
    finally:
        pair.close()


def test_a_distribution_without_any_range(forks, cli, here):
    batch = described(cli, "ecdf", 1000.0)
    # Reports of all doubles are long. No quantile is at a whole number of rows.
    rows = 61
    *_, ages = table(here / "t.parquet", rows)
    pair = Pair(forks, here, [batch]).start()
    try:
        fine(cli("submit", *reach(pair, "owner"), "--table", "t.parquet", "--column", "age"))
        fine(cli("query", *reach(pair, "analyst"), "--freeze"))
        found = nolook.load(here / "one.distribution.json")
        # Thresholds are those of all doubles, so equal numbers are at one or just below it.
        for at in (10.5, 50.5, 1e300):
            assert abs(found.cdf(at) * rows - (ages <= at).sum()) < 1
        wanted = np.quantile(ages, [0.25, 0.5, 0.9], method="inverted_cdf")
        assert np.allclose(found.ppf([0.25, 0.5, 0.9]), wanted, rtol=0.002)
        for role in (0, 1):
            with nolook.Ledger(here / f"ledger{role}") as ledger:
                assert ledger.spent.epsilon == 1000.0
    finally:
        pair.close()


def test_a_batch_is_not_closed_below_its_minimum(forks, cli, here):
    batch = described(cli, "ecdf", 1000.0, "--grid", "0:7:1")
    table(here / "t.parquet", 19)
    pair = Pair(forks, here, [batch]).start()
    try:
        owner, analyst = reach(pair, "owner"), reach(pair, "analyst")
        fine(cli("submit", *owner, "--table", "t.parquet", "--column", "age"))
        assert "at least 1 more reports are needed" in refused(cli("query", *analyst, "--freeze"))
        said = fine(cli("status", *analyst))
        assert re.search(
            r"one: ecdf, answered from 20 reports on\nserver 0: open, 19 reports \(opened "
            r"20\d\d-\d\d-\d\d \d\d:\d\d UTC\); cannot be closed yet: at least 1 more reports",
            said,
        )
        fine(cli("submit", *owner, "--value", "3"))
        assert "has no answer" in refused(cli("close", *analyst))
        assert "20 reports count." in " ".join(fine(cli("query", *analyst, "--freeze")).split())
        assert "server 1: answered, 20 reports (opened 20" in fine(cli("status", *analyst))
        assert "; 20 counted, 0 that the servers do" in fine(cli("status", *analyst))
    finally:
        pair.close()


@pytest.mark.slow
def test_an_interrupted_submission_sends_the_same_reports(forks, cli, here):
    batch = described(cli, "ecdf", 1.0, "--grid", "0:127:1")
    table(here / "t.parquet")
    pair = Pair(forks, here, [batch])
    words = ["--table", "t.parquet", "--column", "age"]
    try:
        pair.start(0)  # the other one is away
        owner = reach(pair, "owner")
        assert "cannot be reached" in refused(cli("submit", *owner, *words, "--quiet"))
        pending = here / "one.pending"
        assert pending.stat().st_mode & 0o777 == 0o600
        left = pending.read_bytes()
        said = refused(cli("submit", *owner, "--value", "3"))
        assert "another submission" in said
        assert pending.read_bytes() == left
        pair.start(1)
        fine(cli("submit", *owner, *words))
        assert not pending.exists()
        analysts = [pair.client("analyst", role) for role in (0, 1)]
        assert [one.status("one")["count"] for one in analysts] == [ROWS, ROWS]
        # Without anything to send it goes on with what is left, from wherever.
        (here / "elsewhere").write_bytes(left)
        fine(cli("submit", *owner, "--pending", "elsewhere"))
        assert [one.status("one")["count"] for one in analysts] == [ROWS, ROWS]
        assert "nothing to send" in refused(cli("submit", *owner))
        for one in analysts:
            one.close()
    finally:
        pair.close()


def test_tokens_are_printed_once_and_kept_as_digests(cli, here):
    for role in ("owner", "analyst", "peer"):
        token = fine(cli("token", role, "--file", "tokens")).strip()
        assert re.fullmatch("[0-9a-f]{64}", token)
        assert token not in (here / "tokens").read_text()
        assert Tokens(here / "tokens").find(token).role == role
    assert "role" in refused(cli("token", "king", "--file", "tokens"))
    out = fine(cli("token", "owner", "--file", "tokens", "--count", 3, "--reports", 1))
    assert [Tokens(here / "tokens").find(one).most for one in out.split()] == [1] * 3
    assert "--reports" in refused(cli("token", "peer", "--file", "tokens", "--reports", 1))


def test_a_key_is_made_once_and_only_its_public_part_is_shown(cli, here):
    public = fine(cli("key", "--output", "private")).strip()
    file = here / "private"
    assert file.stat().st_mode & 0o777 == 0o600
    assert public_key(read_private_key(file)) == public
    assert public not in file.read_text()
    assert "exists" in refused(cli("key", "--output", "private"))
    file.write_text("x")
    with pytest.raises(nolook.ParameterError, match="not a private key"):
        read_private_key(file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--name": "Ages 2026"}, "name"),
        ({"--kind": "mean"}, "--kind"),
        ({"--epsilon": "0"}, "--epsilon"),
        ({"--epsilon": "1e-30"}, "epsilon"),
        ({"--minimum": "0"}, "minimum"),
        ({"--delta": "1"}, "--delta"),
        ({"--delta": "1e-6", "--kind": "roc", "--grid": "0:1:0.25"}, "delta"),
        ({"--server0": "b"}, "servers"),
        ({"--key0": "xyz"}, "keys"),
        ({"--grid": "1:0:1"}, "--grid"),
        ({"--grid": "0:1:1e-6"}, "(give a larger step)"),
        ({"--kind": "roc"}, "at most 2**16 for roc (give --grid, such as 0:1:0.01)"),
        ({"--output": "none/x.json"}, "--output"),
    ],
)
def test_batches_that_cannot_be(cli, here, change, said):
    options = {"--name": "a", "--kind": "ecdf", "--epsilon": "1", "--output": "a.json"}
    options |= {"--server0": "a", "--server1": "b", "--key0": KEYS[0], "--key1": KEYS[1]} | change
    assert said in refused(cli("batch", *(word for pair in options.items() for word in pair)))
    assert not list(here.iterdir())


def test_a_batch_is_described_wherever_its_file_is_read(here, cli, capsys):
    batch = described(cli, "roc", 1.0, "--grid", "0.25:1:0.25")
    assert nolook.cli._run(["show", "one.json"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("one: the ROC curve of one number an owner reports with its class.\n")
    for text in (*batch.servers, "at least 20 reports", "epsilon = 1, delta = 0", "4 thresholds"):
        assert text in said
    (here / "one.json").write_text((here / "one.json").read_text().replace("0.25", "0.5"))
    assert nolook.cli._run(["show", "one.json"]) == 2
    assert "is not a batch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--value", "1", "--table", "t", "--column", "c"], "--value and --table"),
        (["--table", "t"], "--table and --column"),
        (["--table", "t", "--column", "c"], "'t'"),
        (["--value", "1", "--from", "x"], "--from is given, but --table is not a database"),
        (["--table", "t", "--column", "c", "--from", "x"], "--from is given"),
        (["--value", "1", "--where", "c > 1"], "--where is given, but --table is not"),
        (["--value", "nan"], "--value is not a number"),
        (["--value", "1", "--target", "1"], "--target is given"),
        (["--value", "1", "--server0", "http://x"], "https://"),
        (["--value", "1", "--server0", "https://127.0.0.1:1/"], "are the same"),
        (["--value", "1", "--certificate", "c"], "--certificate and --key"),
        (["--value", "1", "--token-file", "token"], "given once"),
        (["--value", "1", *["--token-file", "token"] * 2], "the same token"),
        (["--value", "1", "--token-file", "token", "--token-file", "same"], "the same token"),
        (["--value", "1", *["--token-file", "token"] * 3], "given 3 times"),
        (["--value", "1", "--token-file", "token", "--token-file", "bad"], "holds no token"),
        (["--value", "1", "--ca", "bad"], "--ca"),
        (["--value", "1", "--batch", "bad"], "bad is not a batch"),
        (["--value", "1", "--pending", "one.json"], "used for something else"),
    ],
)
def test_submissions_that_cannot_be(cli, here, words, said):
    described(cli, "ecdf", 1.0, "--grid", "0:127:1")
    for name, token in (("token", "0" * 64), ("same", "0" * 64 + "\n"), ("other", "1" * 64)):
        (here / name).write_text(token)
    (here / "bad").write_text("x")
    usual = {"--server0": "https://127.0.0.1:2", "--server1": "https://127.0.0.1:1"}
    usual |= {"--batch": "one.json", "--ca": Authority(here).path}
    first = [word for pair in usual.items() if pair[0] not in words for word in pair]
    if "--token-file" not in words:
        first += ["--token-file", "token", "--token-file", "other"]
    message = refused(cli("submit", *first, *words))
    assert said in message
    assert not (here / "one.pending").exists()


def test_a_table_of_units_is_not_reported_row_by_row(cli, here):
    described(cli, "ecdf", 1.0, "--grid", "0:127:1")
    pq.write_table(pa.table({"id": ["a", "a"], "age": [3.0, 4.0]}), here / "t.parquet")
    (here / "s.toml").write_text('[columns.id]\ntype = "text"\nuse = "unit"\n')
    (here / "token").write_text("0" * 64)
    (here / "other").write_text("1" * 64)
    words = ["--server0", "https://127.0.0.1:2", "--server1", "https://127.0.0.1:1"]
    words += ["--batch", "one.json", "--ca", Authority(here).path, "--token-file", "token"]
    words += ["--token-file", "other", "--table", "t.parquet", "--column", "age"]
    message = refused(cli("submit", *words, "--schema", "s.toml"))
    assert "'id' as the unit, but here every row of a table is a report" in message
    assert not (here / "one.pending").exists()


def test_nothing_of_the_network_is_loaded_for_help(tmp_path):
    for words in (["federated"], ["federated", "serve", "--help"]):
        done = run(*words, cwd=tmp_path)
        assert (done.status, done.err) == (0, "")
        assert "Usage: nolook federated" in done.out
    code = (
        "import sys, nolook.cli; "
        "print(sorted({'httpx', 'starlette', 'uvicorn', 'cryptography'} & set(sys.modules)))"
    )
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_rows_of_a_database_or_a_folder_are_reported(here):
    with sqlite3.connect("v.db") as database:
        database.execute("CREATE TABLE t (age REAL, bought TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(1.0, "yes"), (2.5, "no")])
    database.close()
    (here / "t").mkdir()
    for part, age in enumerate((1.0, 2.5)):
        pq.write_table(pa.table({"age": [age]}), here / "t" / f"{part}.parquet")
    database, folder = _place("sqlite:v.db", "t"), _place("t", None)
    plain, older = Schema.from_dict({}), [("age", ">", "2")]
    asked = [(database, []), (folder, []), (database, older)]
    submissions = [_Wanted(None, *each, "age", None, "1", plain) for each in asked]
    found = [each._rows()[0].tolist() for each in submissions]
    assert found == [[1.0, 2.5], [1.0, 2.5], [2.5]]
    assert len({each.digest() for each in submissions}) == 3
    classed = _Wanted(None, database, [], "age", "bought", "yes", plain)
    assert classed._rows()[1].tolist() == [True, False]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_submit, "_MOST_ROWS", 1)
        with pytest.raises(nolook.ParameterError, match="more than 1 rows, each of which"):
            submissions[0]._rows()

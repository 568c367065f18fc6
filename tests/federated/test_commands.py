"""The federated commands as owners, operators and analysts use them, with real servers."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import nolook
import nolook.cli
from nolook.federated.batch_content import read_batch
from nolook.federated.commands import _submit
from nolook.federated.commands._submit import _place, _Wanted
from nolook.federated.folder import Folder, read_party
from nolook.federated.sealing import public_key, read_private_key
from nolook.federated.tokens import Tokens, make_tokens, read_tokens
from tests.conftest import commands_of
from tests.federated.made import KEYS, SCORES, batch_of
from tests.federated.servers import Pair
from tests.report.command import Result, run, run_python_script

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
    monkeypatch.setattr(nolook.cli, "get_command", commands_of)

    def call(*words):
        status = nolook.cli._run(["federated", *(str(word) for word in words)])
        return Result(status, *capsys.readouterr())

    return call


def fine(result):
    said = [line for line in result.err.splitlines() if "trying again, for up to" not in line]
    assert (result.status, said) == (0, [])
    return result.out


def refused(result, status=2):
    assert result.status == status
    assert result.out == ""
    said = [line for line in result.err.splitlines() if "trying again, for up to" not in line]
    assert len(said) == 1
    assert said[0].startswith("nolook: error: ")
    return said[0]


def described(cli, pair, kind, epsilon, *grid, name="one"):
    """Describe a batch of two servers on the command line; return it."""
    options = ["--name", name, "--kind", kind, "--epsilon", epsilon, "--minimum", 20]
    options += [f"--server{role}={home.public}" for role, home in enumerate(pair.homes)]
    assert fine(cli("batch", *options, *grid, "--output", f"{name}.json")) == ""
    pair.batches = [Path(f"{name}.json").absolute()]
    return read_batch(pair.batches[0])


def reach(pair, who):
    words = ["--batch", pair.batches[0]]
    for file in pair.tokens[who]:
        words += ["--token-file", file]
    return words + ["--at-most-epsilon", 1e6] * (who == "owner")


def table(path, rows=ROWS):
    chance = np.random.default_rng(5)
    score = chance.uniform(0, 1, rows)
    bought = np.where(chance.uniform(0, 1, rows) < score, "yes", "no")
    ages = chance.integers(0, 100, rows).astype(float)
    columns = {"score": score, "bought": bought.tolist(), "age": ages}
    pq.write_table(pa.table(columns), path)
    return score, bought == "yes", ages


def test_a_distribution_from_batch_to_report(forks, cli, here):
    pair = Pair(forks, here, [])
    batch = described(cli, pair, "ecdf", 1000.0, "--grid", "0:127:1")
    *_, ages = table(here / "t.parquet")
    pair.start()
    try:
        owner, analyst = (reach(pair, who) for who in ("owner", "analyst"))
        out = fine(cli("submit", *owner, "--table", "t.parquet", "--column", "age"))
        assert f"one: {ROWS} sent; all reports so far: {ROWS} at {pair.urls[0]}, {ROWS} at" in out
        fine(cli("submit", *owner, "--value", "17.5", "--quiet"))
        assert not (here / "one.pending").exists()
        said = " ".join(fine(cli("query", *analyst, "--freeze", "--dry-run")).split())
        assert "Dry run: two servers' ecdf of one." in said
        assert "within epsilon = 1,000, delta = 0" in said
        assert "No server was asked" in said
        assert "open; freeze it" in refused(cli("query", *analyst))
        assert not (here / "one.distribution.json").exists()
        out = fine(cli("query", *analyst, "--freeze", "--report", "r.html"))
        assert "Distribution of one" in out
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
        words = ["--output", "again.json", "--quiet"]
        assert fine(cli("query", *analyst, *words)) == ""
        assert (here / "again.json").read_bytes() == content
        check_that_nothing_is_left(cli, pair, here)
        assert fine(cli("close", *analyst)) == "one has ended at both servers\n"
        assert fine(cli("close", *analyst, "--quiet")) == ""
        fine(cli("query", *analyst, *words, "--force"))
        assert (here / "again.json").read_bytes() == content
        assert pair.said() == ""
    finally:
        pair.close()


def check_that_nothing_is_left(cli, pair, here):
    """Check that owners who are late, or swap their tokens, hear so and keep no reports."""
    value = ["--value", "3", "--quiet"]
    said = refused(cli("submit", *reach(pair, "owner"), *value))
    assert "closed; it takes no more reports (nothing of yours was counted, and agree on" in said
    assert not (here / "one.pending").exists()
    pair.tokens["owner"].reverse()
    said = refused(cli("submit", *reach(pair, "owner"), *value))
    assert "refused (401)" in said
    assert "are the two --token-file the wrong way round?" in said
    assert not (here / "one.pending").exists()


def check_basis(batch, said, page, found):
    """Check that summary, page and file name the servers, the assumptions and the counts."""
    rests_on = [*batch.servers, "one of them is honest", "The promise is computational"]
    rests_on.append(f"{ROWS + 1} reports count.")
    for text in rests_on:
        assert text in said
        assert text in page
        assert text in " ".join(found.privacy.basis)


def test_tokens_for_one_report_each_send_a_folder_once(forks, cli, here):
    """Gaussian noise, and addresses that the batch names."""
    pair = Pair(forks, here, [], delta=1e-3)
    batch = described(cli, pair, "ecdf", 1000.0, "--grid", "0:7:1", "--delta", "1e-6")
    (here / "t").mkdir()
    for part in (0, 1):
        ages = np.arange(20.0) % 8 + part
        pq.write_table(pa.table({"age": ages}), here / "t" / f"{part}.parquet")
    for role in (0, 1):
        made = make_tokens("owner", pair.homes[role].tokens, 40, most=1)
        (here / f"once{role}").write_text("\n".join(made))
    words = ["--batch", "one.json"]
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
        again = [*owner, *table, "--quiet"]
        assert "rows would count twice" in refused(cli("submit", *again))
        assert "all the reports it may (1)" in refused(cli("submit", *again, "--again"))
        out = fine(cli("query", *analyst, "--freeze"))
        assert "40 reports count." in " ".join(out.split())
        found = nolook.load(here / "one.distribution.json")
        assert found.privacy_.budget.delta == batch.delta == 1e-6
        assert abs(found.cdf(np.array([3.0]))[0] * 40 - 21) < 0.01
    finally:
        pair.close()


def test_a_roc_curve_and_a_ledger_that_has_too_little(forks, cli, here):
    pair = Pair(forks, here, [], budget=999.0)
    words = ["--column", "score", "--target", "bought", "--positive", "yes", "--negative", "no"]
    batch = described(cli, pair, "roc", 1000.0, "--grid", "0:1:0.0625", *words)
    assert "of score and bought (positive: yes, negative: no); one report" in batch.in_words()[0]
    score, positive, _ = table(here / "t.parquet")
    pair.start()
    try:
        owner, analyst = reach(pair, "owner"), reach(pair, "analyst")
        fine(cli("submit", *owner, "--table", "t.parquet"))
        fine(cli("submit", *owner, "--value", "0.99", "--target", "YES"))
        fine(cli("submit", *owner, "--value", "0.01", "--target", "no"))
        assert "stays open" in refused(cli("query", *analyst, "--freeze"), 3)
        assert "server 0: open, 302 reports" in fine(cli("status", *analyst))
        assert not (here / "one.roc.json").exists()
        pair.close()
        for role in (0, 1):
            path = pair.homes[role].ledger
            path.unlink()
            budget = nolook.Budget(1000.0)
            nolook.Ledger.create(path, budget, name="x", relation="replace").close()
        pair.start()
        assert "ROC curve" in fine(cli("query", *analyst, "--freeze"))
        found = nolook.load(here / "one.roc.json")
        assert round(found.n_positive_) == positive.sum() + 1
        assert round(found.n_negative_) == (~positive).sum() + 1
        assert found.scored_.positive == "yes"
        # The grid has 16 steps, so the area is that of scores rounded to them.
        cells = np.ceil(score * 16)
        above = cells[positive][:, None] - cells[~positive]
        area = (above > 0).mean() + (above == 0).mean() / 2
        assert abs(found.auc_ - area) < 0.01
    finally:
        pair.close()


def test_rows_with_neither_word_are_told_to_the_owner_and_change_no_number_of_reports(
    forks, cli, here
):
    pair = Pair(forks, here, [])
    words = ["--column", "score", "--target", "bought", "--positive", "yes", "--negative", "no"]
    described(cli, pair, "roc", 1000.0, "--grid", "0:1:0.0625", *words)
    score, odd = [0.5] * 3, ["maybe", None, ""]
    table = {"score": score + [0.25] * 30, "bought": [*odd, *["yes", "no "] * 15]}
    pq.write_table(pa.table(table), here / "t.parquet")
    pair.start()
    try:
        owner = reach(pair, "owner")
        said = refused(cli("submit", *owner, "--value", "1.7", "--target", "maybe"))
        assert "--target is 'maybe'; expected yes or no" in said
        assert list(here.glob("one.*")) == [here / "one.json"]
        done = cli("submit", *owner, "--table", "t.parquet")
        said = "nolook: 30 of 33 rows have yes or no as their bought; others count as negative\n"
        assert (done.status, done.err) == (0, said)
        assert "one: 33 sent" in done.out
        assert "rows would count twice" in refused(cli("submit", *owner, "--table", "t.parquet"))
        fine(cli("query", *reach(pair, "analyst"), "--freeze"))
        found = nolook.load(here / "one.roc.json")
        assert (round(found.n_positive_), round(found.n_negative_)) == (15, 18)
    finally:
        pair.close()


def test_counts_of_declared_levels(forks, cli, here):
    pair = Pair(forks, here, [])
    batch = described(cli, pair, "counts", 1000.0, "--categories", "ward=North,South")
    assert "Counted are North, South, any other value and missing ones." in batch.in_words()
    wards = ["North"] * 40 + ["south "] * 30 + ["East"] * 20 + [None] * 10
    pq.write_table(pa.table({"ward": wards}), here / "t.parquet")
    pair.start()
    try:
        owner, analyst = reach(pair, "owner"), reach(pair, "analyst")
        fine(cli("submit", *owner, "--table", "t.parquet"))
        for word in ("NORTH", "West", ""):
            fine(cli("submit", *owner, "--value", word))
        said = " ".join(fine(cli("query", *analyst, "--freeze", "--report", "r.html")).split())
        assert "103 reports count." in said
        found = nolook.load(here / "one.counts.json")
        frame = found.to_frame()
        wanted = {"all": 103, "North": 41, "South": 30, "...": 21, "missing": 11}
        assert frame["count"].round().to_dict() == wanted
        assert "one of them is honest" in (here / "r.html").read_text()
        assert found.privacy.relation == "replace"
    finally:
        pair.close()


def test_counts_need_the_levels_of_one_column(forks, cli, here):
    pair = Pair(forks, here, [])
    options = ["--name", "one", "--epsilon", 1, "--output", "one.json"]
    options += [f"--server{role}={home.public}" for role, home in enumerate(pair.homes)]
    two = ["--categories", "ward=A,B", "--categories", "sex=m,f"]
    for kind, words in (("counts", []), ("counts", two), ("ecdf", two[:2])):
        said = refused(cli("batch", "--kind", kind, *options, *words))
        assert "expected one for counts, and none for other kinds" in said
    assert not (here / "one.json").exists()


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_calibration(forks, cli, here):
    pair = Pair(forks, here, [])
    described(cli, pair, "hosmer-lemeshow", 1000.0)
    _, positive, _ = table(here / "t.parquet")
    pair.start()
    try:
        words = ["--table", "t.parquet", "--column", "score", "--target", "bought"]
        fine(cli("submit", *reach(pair, "owner"), *words, "--positive", "yes", "-n", "no"))
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
    pair = Pair(forks, here, [])
    described(cli, pair, "ecdf", 1000.0)
    # Reports of all doubles are long. No quantile is at a whole number of rows.
    rows = 61
    *_, ages = table(here / "t.parquet", rows)
    pair.start()
    try:
        fine(cli("submit", *reach(pair, "owner"), "--table", "t.parquet", "--column", "age"))
        analyst = reach(pair, "analyst")
        fine(cli("query", *analyst, "--freeze"))
        found = nolook.load(here / "one.distribution.json")
        # Thresholds are those of all doubles, so equal numbers are at one or just below it.
        for at in (10.5, 50.5, 1e300):
            assert abs(found.cdf(at) * rows - (ages <= at).sum()) < 1
        wanted = np.quantile(ages, [0.25, 0.5, 0.9], method="inverted_cdf")
        assert np.allclose(found.ppf([0.25, 0.5, 0.9]), wanted, rtol=0.002)
        for role in (0, 1):
            with nolook.Ledger(pair.homes[role].ledger) as ledger:
                assert ledger.spent.epsilon == 1000.0
    finally:
        pair.close()


def test_a_batch_is_not_closed_below_its_minimum(forks, cli, here):
    pair = Pair(forks, here, [])
    described(cli, pair, "ecdf", 1000.0, "--grid", "0:7:1")
    table(here / "t.parquet", 19)
    pair.start()
    try:
        owner, analyst = reach(pair, "owner"), reach(pair, "analyst")
        fine(cli("submit", *owner, "--table", "t.parquet", "--column", "age"))
        assert "at least 1 more reports are needed" in refused(cli("query", *analyst, "--freeze"))
        said = fine(cli("status", *analyst))
        assert re.search(
            r"one: ecdf, answered once it has 20 reports\nserver 0: open, 19 reports \(opened "
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
def test_an_interrupted_submission_sends_the_same_reports(forks, cli, here, monkeypatch):
    pair = Pair(forks, here, [])
    described(cli, pair, "ecdf", 1.0, "--grid", "0:127:1")
    table(here / "t.parquet")
    words = ["--table", "t.parquet", "--column", "age"]
    monkeypatch.setattr("nolook.federated.commands._options._PATIENCE", 1.0)
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
    assert " role is 'king'" in refused(cli("token", "king", "--file", "tokens"))
    out = fine(cli("token", "owner", "--file", "tokens", "--count", 3, "--reports", 1))
    assert [Tokens(here / "tokens").find(one).most for one in out.split()] == [1] * 3
    assert "--reports" in refused(cli("token", "peer", "--file", "tokens", "--reports", 1))


SETUP = ["--address", "https://server0.example:8440", "--epsilon", 3]


def test_a_server_is_set_up_once_and_its_secrets_are_its_own(cli, here):
    said = " ".join(fine(cli("setup", "server0", *SETUP)).split())
    home = Folder(here / "server0")
    assert "nolook federated serve server0 --batch batch.json --host 0.0.0.0 --port 8440" in said
    files = [path for path in home.path.rglob("*") if path.is_file()]
    not_secret = {home.public, home.path / "compose.yaml", home.certificate, home.ledger}
    for path in {home.path, home.handed_out, *files} - not_secret:
        assert path.stat().st_mode & 0o077 == 0, path
    party = read_party(home.public)
    assert (party.url, party.key) == (SETUP[1], public_key(read_private_key(home.private_key)))
    for role in ("owner", "analyst", "peer"):
        (token,) = read_tokens(home.handed_out / f"{role}.token")
        assert Tokens(home.tokens).find(token).role == role
        assert token not in home.tokens.read_text() + said
    with nolook.Ledger(home.ledger) as ledger:
        assert (ledger.relation, ledger.remaining.epsilon) == ("replace", 3.0)
    compose = yaml.safe_load((home.path / "compose.yaml").read_text())["services"]["nolook"]
    words = compose["command"].split()
    assert words[:3] == ["nolook", "federated", "serve"]
    assert words[-4:] == ["--host", "0.0.0.0", "--port", "8440"]
    assert f"nolook[federated]=={nolook.__version__}" in compose["build"]["dockerfile_inline"]
    assert "exists" in refused(cli("setup", "server0", *SETUP))
    assert sorted(files) == sorted(path for path in home.path.rglob("*") if path.is_file())
    home.private_key.write_text("x")
    with pytest.raises(nolook.ParameterError, match="not a private key"):
        read_private_key(home.private_key)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "x",
        "http://x",
        "https://",
        "https://x:y",
        "https://x/path",
        "https://a@x",
        "https://x?q",
    ],
)
def test_a_server_is_set_up_at_an_https_address_only(cli, here, address):
    assert "--address" in refused(cli("setup", "s", "--address", address, "--epsilon", 1))
    assert not (here / "s").exists()


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
        ({"--server0": "public1.json"}, "servers"),
        ({"--server0": "none"}, "none is not the public part of a server"),
        ({"--server0": "bad.json"}, "keys"),
        ({"--target": "died", "--column": "x"}, "columns"),
        ({"--column": "x", "--kind": "roc", "--grid": "0:1:0.25"}, "columns"),
        ({"--grid": "1:0:1"}, "--grid"),
        ({"--grid": "0:1:1e-6"}, "(give a larger step)"),
        ({"--kind": "roc"}, "at most 2**16 for roc (give --grid, such as 0:1:0.01)"),
        ({"--kind": "roc", "--column": "x", "--target": "y", "--positive": "yes"}, "--negative"),
        ({"--kind": "roc", "--column": "x", "--target": "y", "--negative": "no"}, "--positive"),
        ({"--output": "none/x.json"}, "--output"),
    ],
)
def test_batches_that_cannot_be(cli, here, change, said):
    options = {"--name": "a", "--kind": "ecdf", "--epsilon": "1", "--output": "a.json"}
    for role in (0, 1):
        public = {"url": f"https://{role}.example", "key": KEYS[role], "authority": ""}
        (here / f"public{role}.json").write_text(json.dumps(public))
    (here / "bad.json").write_text(json.dumps({**public, "url": "https://b", "key": "xyz"}))
    files = sorted(here.iterdir())
    options |= {"--server0": "public0.json", "--server1": "public1.json"} | change
    assert said in refused(cli("batch", *(word for pair in options.items() for word in pair)))
    assert sorted(here.iterdir()) == files


def test_a_batch_is_described_wherever_its_file_is_read(forks, here, cli, capsys):
    batch = described(cli, Pair(forks, here, []), "roc", 1.0, "--grid", "0.25:1:0.25")
    assert nolook.cli._run(["show", "one.json"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "one: the ROC curve of one number and its class (positive: 1, negative: 0); one report for "
        "each row.\n"
    )
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
        (["--value", "nan"], "--value is 'nan'; expected a number"),
        (["--value", "1", "--target", "1"], "--target is given"),
        (["--value", "1", "--token-file", "token"], "given once"),
        (["--value", "1", *["--token-file", "token"] * 2], "the same token"),
        (["--value", "1", "--token-file", "token", "--token-file", "same"], "the same token"),
        (["--value", "1", *["--token-file", "token"] * 3], "given 3 times"),
        (
            ["--value", "1", "--token-file", "token", "--token-file", "bad"],
            "does not contain a token",
        ),
        (["--value", "1", "--batch", "bad"], "bad is not a batch"),
        (["--value", "1", "--pending", "one.json"], "used for something else"),
    ],
)
def test_submissions_that_cannot_be(forks, cli, here, words, said):
    described(cli, Pair(forks, here, []), "ecdf", 1.0, "--grid", "0:127:1")
    for name, token in (("token", "0" * 64), ("same", "0" * 64 + "\n"), ("other", "1" * 64)):
        (here / name).write_text(token)
    (here / "bad").write_text("x")
    first = [] if "--batch" in words else ["--batch", "one.json"]
    if "--token-file" not in words:
        first += ["--token-file", "token", "--token-file", "other"]
    message = refused(cli("submit", *first, *words))
    assert said in message
    assert not (here / "one.pending").exists()


UNITS = '[columns.id]\ntype = "text"\nuse = "unit"\n'


def test_a_table_of_units_is_not_reported_row_by_row(forks, cli, here):
    pair = Pair(forks, here, [])
    described(cli, pair, "ecdf", 1.0, "--grid", "0:127:1")
    pq.write_table(pa.table({"id": ["a", "a"], "age": [3.0, 4.0]}), here / "t.parquet")
    (here / "s.toml").write_text(UNITS)
    words = ["--table", "t.parquet", "--column", "age", "--schema", "s.toml"]
    message = refused(cli("submit", *reach(pair, "owner"), *words))
    assert "'id' as the unit, but the batch has none" in message
    assert not (here / "one.pending").exists()


def test_each_unit_sends_one_report_of_a_row_drawn_at_random(forks, cli, here):
    """The names of columns come from the batch, and every row of a unit is as likely."""
    pair = Pair(forks, here, [])
    words = ["--column", "risk", "--target", "died", "--unit", "id"]
    words += ["--positive", "yes", "--negative", "no"]
    described(cli, pair, "roc", 1000.0, "--grid", "0:1:0.25", *words)
    many = 200
    table = {
        "id": [f"p{k // 2}" for k in range(2 * many)] + ["single"],
        "risk": [0.1, 0.9] * many + [0.5],
        "died": ["no", "yes"] * many + ["yes"],
    }
    pq.write_table(pa.table(table), here / "t.parquet")
    pair.start()
    try:
        out = fine(cli("submit", *reach(pair, "owner"), "--table", "t.parquet"))
        assert f"one: {many + 1} sent; " in out
        assert (
            "of risk and died (positive: yes, negative: no); one report for each unit (id)" in out
        )
        out = fine(cli("query", *reach(pair, "analyst"), "--freeze", "--report", "r.html"))
        found = nolook.load(here / "one.roc.json")
        assert (found.scored_.score, found.scored_.target) == ("risk", "died")
        assert found.scored_.positive == "yes"
        assert found.privacy_.unit.column == "id"
        assert abs(found.n_positive_ + found.n_negative_ - many - 1) < 0.01
        # A coin for each unit with two rows, off by 5 standard errors at most.
        assert abs(found.n_positive_ - 1 - many / 2) < 5 * (many / 4) ** 0.5
        page = (here / "r.html").read_text()
        assert "risk" in page
        assert "died" in page
    finally:
        pair.close()


NUMERIC = {"numba", "pandas", "pyarrow", "scipy", "sklearn"}
FEDERATED = "nolook.federated."


@pytest.mark.parametrize(
    ("modules", "vain"),
    [
        ("batch_file", {"cryptography", "http.client", FEDERATED + "batch", *NUMERIC}),
        ("commands", {"cryptography", "http.client", "numpy", "starlette", "uvicorn", *NUMERIC}),
        ("batch_content analyst client pending reports", {"numpy.ma", "starlette", *NUMERIC}),
        ("server.app server.running folder", {FEDERATED + "answers", *NUMERIC}),
    ],
)
def test_nothing_is_loaded_in_vain(modules, vain):
    names = ", ".join(FEDERATED + each for each in modules.split())
    program = f"import sys, {names}\nprint(sorted({vain!r} & set(sys.modules)))\n"
    done = run_python_script([sys.executable, "-c", program], cwd=None, env=None)
    assert (done.out, done.err) == ("[]\n", "")


@pytest.mark.parametrize("target", ["1", "0", "yes"])
def test_a_report_of_one_value_loads_no_tables(target):
    classes = ("yes", None) if target == "yes" else (None, None)
    program = (
        "import sys\nfrom nolook.federated.commands._submit import _Wanted\n"
        f"wanted = _Wanted('0.3', None, None, {target!r}, {classes}, None, None)\n"
        "class Batch:\n    labels = ()\n"
        "print(*wanted._rows(Batch)[1], 'nolook.tables' in sys.modules)\n"
    )
    done = run_python_script([sys.executable, "-c", program], cwd=None, env=None)
    assert (done.out, done.err) == (f"{target != '0'} False\n", "")


def test_groups_without_a_command_show_help(tmp_path):
    for words in (["federated"], ["federated", "serve", "--help"]):
        done = run(*words, cwd=tmp_path)
        assert (done.status, done.err) == (0, "")
        assert "Usage: nolook federated" in done.out


def test_the_rows_of_a_database_or_a_folder_are_reported(here):
    with sqlite3.connect("v.db") as database:
        database.execute("CREATE TABLE t (age REAL, bought TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(1.0, "yes"), (2.5, "no")])
    database.close()
    (here / "t").mkdir()
    for part, age in enumerate((1.0, 2.5)):
        pq.write_table(pa.table({"age": [age]}), here / "t" / f"{part}.parquet")
    database, folder = _place("sqlite:v.db", "t"), _place("t", None)
    submissions = [
        _Wanted(None, each, "age", None, (None, None), None, None) for each in (database, folder)
    ]
    found = [each._rows(batch_of())[0].tolist() for each in submissions]
    assert found == [[1.0, 2.5], [1.0, 2.5]]
    assert len({each.digest() for each in submissions}) == 2
    classed = _Wanted(None, database, "age", "bought", ("yes", "no"), None, None)
    assert classed._rows(batch_of("roc", grid=SCORES))[1].tolist() == [True, False]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_submit, "_MOST_ROWS", 1)
        with pytest.raises(nolook.ParameterError, match="more than 1 rows, each of which"):
            submissions[0]._rows(batch_of())

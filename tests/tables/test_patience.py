"""What gives nothing for long is given up in one line, wherever it is."""

from __future__ import annotations

import gc
import os
import signal
import socket
import threading
import time
from contextlib import closing, contextmanager

import numpy as np
import pyarrow as pa
import pytest

import nolook
from nolook.errors import ParameterError, TableError
from nolook.tables import _postgresql, places
from nolook.tables._patience import PATIENCE, answered, patient
from nolook.tables.draft import draft_schema
from tests.tables.buckets import SECRET
from tests.tables.database_places import in_postgresql
from tests.tables.servers import PASSWORD, postgresql


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setenv(PATIENCE, "0.5")


def refused(action, *args: object) -> str:
    """What is said, within reasonable time."""
    start = time.monotonic()
    with pytest.raises(TableError) as caught:
        action(*args)
    assert time.monotonic() - start < 120
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_pieces_come_one_at_a_time_and_are_closed_by_their_thread():
    threads = []

    def pieces():
        try:
            for i in range(5):
                threads.append(threading.get_ident())
                yield i
        finally:
            threads.append(threading.get_ident())

    assert list(patient(pieces(), "it")) == [0, 1, 2, 3, 4]
    assert len({*threads}) == 1
    assert threads[0] != threading.get_ident()
    threads.clear()
    some = patient(pieces(), "it")
    assert [next(some), next(some)] == [0, 1]
    assert len(threads) == 2  # nothing is read ahead
    del some
    gc.collect()
    assert len(threads) == 3
    assert answered("it", lambda: 7) == 7


def test_errors_are_those_of_the_pieces():
    def pieces():
        yield 1
        raise KeyError("x")

    found = patient(pieces(), "it")
    assert next(found) == 1
    with pytest.raises(KeyError):
        next(found)


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_an_environment_that_says_no_time_is_refused_at_once(seconds, monkeypatch):
    monkeypatch.setenv(PATIENCE, seconds)
    with pytest.raises(ParameterError, match=f"{PATIENCE} is '{seconds}'"):
        nolook.read_table(np.ones((3, 2)))


def rows(count: int = 4) -> pa.RecordBatch:
    x = np.arange(count, dtype=float)
    return pa.record_batch({"x": x, "y": 2 * x})


@contextmanager
def ledger(folder):
    budget = nolook.Budget(9.0, 1e-3)
    with nolook.Ledger.create(folder / "t.ledger", budget, name="people") as made:
        yield made


@pytest.mark.parametrize("kind", ["hanging", "of empty batches"])
@pytest.mark.usefixtures("hurried")
def test_a_stream_that_gives_no_rows_costs_nothing(kind, tmp_path):
    over = threading.Event()

    def batches():
        yield rows()
        while not over.is_set():
            if kind == "hanging":
                over.wait()
            else:
                yield rows(0)

    stream = pa.RecordBatchReader.from_batches(rows().schema, batches())
    table = nolook.read_table(stream, "y")
    model = nolook.LinearRegression(epsilon=1.0, delta=1e-6)
    try:
        with ledger(tmp_path) as charged:
            message = refused(lambda: model.fit(table, ledger=charged))
            assert len(charged.charged()) == 0
        assert "the stream gave nothing for 0.5 seconds" in message
        assert PATIENCE in message
        assert "start again" in refused(table.check_complete)
    finally:
        over.set()


@contextmanager
def silent():
    """The port of a server that says nothing."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=64)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("scheme", ["s3", "gs"])
@pytest.mark.parametrize("path", ["t.parquet", "t/*.csv"])
@pytest.mark.usefixtures("hurried")
def test_a_bucket_that_says_nothing(scheme, path):
    holder = {"s3": f"holder:{SECRET}", "gs": "anonymous"}[scheme]
    region = {"s3": "&region=us-east-1", "gs": ""}[scheme]
    with silent() as port:
        settings = f"endpoint_override=127.0.0.1:{port}&scheme=http{region}"
        message = refused(nolook.read_table, f"{scheme}://{holder}@bucket/{path}?{settings}")
    assert f"{scheme}://bucket/" in message
    assert "gave nothing" in message
    assert SECRET not in message


@pytest.mark.usefixtures("hurried")
def test_a_file_that_a_draft_waits_for(tmp_path, monkeypatch):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,2\n", encoding="utf-8")
    waiting = threading.Event()
    monkeypatch.setattr("nolook.tables.draft.first_rows", lambda _: waiting.wait(300))
    message = refused(draft_schema, table)
    waiting.set()
    assert message.startswith(f"'{table}' gave nothing for 0.5 seconds")


def test_a_bucket_without_credentials(monkeypatch):
    """The path to Google's storage is taken, and its refusal is told in one line."""
    monkeypatch.setattr(places, "_SECONDS", 1)
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "HOME"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("GCE_METADATA_ROOT", "127.0.0.1:1")
    for settings in ("", "?scheme=http&endpoint_override=127.0.0.1:1"):
        message = refused(nolook.read_table, f"gs://bucket/people.parquet{settings}")
        assert "'gs://bucket/people.parquet' does not exist or cannot be opened" in message
        assert "how you sign in" in message


def signalled(database: str, number: signal.Signals) -> None:
    """Send a signal to all backends of a database."""
    asked = f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}'"
    for (process,) in postgresql().execute(asked):
        os.kill(process, number)


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_that_hangs_in_the_middle_of_a_pass(when, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    stored = pa.table({"x": rng.normal(size=400_000), "y": rng.normal(size=400_000)})
    table = nolook.read_table(in_postgresql(stored, tmp_path), "y")
    name = (tmp_path / "database").read_text()
    monkeypatch.setattr(_postgresql, "_BYTES", 1 << 14)
    stream, wanted = _postgresql.PostgreSQLTable._stream, {"now": when == "before"}

    def hung(self, sql, kinds):
        for i, batch in enumerate(stream(self, sql, kinds)):
            yield batch
            if i == 0 and wanted["now"]:
                monkeypatch.setenv(PATIENCE, "0.5")
                signalled(name, signal.SIGSTOP)

    monkeypatch.setattr(_postgresql.PostgreSQLTable, "_stream", hung)

    def progress(stage, done, total):
        wanted["now"] = wanted["now"] or done == 2

    model = nolook.LinearRegression(epsilon=1.0, delta=1e-6)
    monkeypatch.setenv(PATIENCE, "3")
    try:
        with ledger(tmp_path) as charged:
            message = refused(lambda: model.fit(table, ledger=charged, progress=progress))
            assert "the table 't' gave nothing for" in message
            assert len(charged.charged()) == (when == "after")
    finally:
        signalled(name, signal.SIGCONT)
    assert PASSWORD not in message


def test_a_table_that_somebody_has_locked(monkeypatch):
    monkeypatch.setenv(PATIENCE, "0.5")
    server = postgresql()
    name = server.database("CREATE TABLE t AS SELECT 1 AS x, 2 AS y")
    with closing(server.connect(name)) as other, closing(other.cursor()) as cursor:
        cursor.execute("BEGIN")
        cursor.execute("LOCK TABLE t")
        kept = nolook.Database(server.uri(name), table="t")
        assert "the database gave nothing" in refused(nolook.read_table, kept)
        cursor.execute("ROLLBACK")
    monkeypatch.delenv(PATIENCE)
    nolook.read_table(kept).check_complete()

"""Tables of databases: their types, names, snapshots and failures, on real servers and files."""

from __future__ import annotations

import socket
import sqlite3
import sys
import threading
import time
import traceback
from contextlib import closing, contextmanager

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import nolook
from nolook.errors import NolookError, ParameterError, TableError
from nolook.tables import databases
from tests.tables.database_places import DATABASES, in_duckdb, in_postgresql, in_sqlite
from tests.tables.servers import PASSWORD, postgresql

CELL = "31415926535"


def numbers(table) -> np.ndarray:
    batches = [numbers for numbers, *_ in table.batches_in_place()]
    return np.concatenate(batches, axis=1) if batches else np.empty((table.n_columns, 0))


def column(source: object, name: str, **options: object) -> list[float]:
    """The cells of a column as numbers; 0 where one is missing."""
    table = nolook.read_table(source, features=[name], missing="zero", **options)
    return numbers(table)[0].tolist()


def from_postgresql(*statements: str, table: str = "t") -> nolook.Database:
    server = postgresql()
    return nolook.Database(server.uri(server.database(*statements)), table=table)


def from_sqlite(folder, *statements: str, table: str = "t") -> nolook.Database:
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return nolook.Database(f"sqlite:{folder / 't.sqlite'}", table=table)


def from_duckdb(folder, *statements: str, table: str = "t") -> nolook.Database:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)
    return nolook.Database(f"duckdb:{folder / 't.duckdb'}", table=table)


@pytest.fixture(params=DATABASES)
def made(request, tmp_path):
    """Make a database of a kind by statements, and name a table of it."""
    makers = {"duckdb": from_duckdb, "sqlite": from_sqlite}

    def make(*statements: str, table: str = "t") -> nolook.Database:
        if request.param == "postgresql":
            return from_postgresql(*statements, table=table)
        return makers[request.param](tmp_path, *statements, table=table)

    make.kind = request.param
    return make


# Types.


def test_numeric_cells_of_a_server_are_the_nearest_doubles():
    cells = ["1e400", "-1e400", "1e-400", "NaN", "0.1", "9007199254740993", "-2.5", "Infinity"]
    values = ", ".join(f"('{cell}'::numeric)" for cell in cells)
    kept = from_postgresql("CREATE TABLE t (n numeric)", f"INSERT INTO t VALUES {values}, (NULL)")
    assert column(kept, "n") == [0, 0, 0, 0, 0.1, 9007199254740992, -2.5, 0, 0]
    infinite = nolook.read_table(kept, features=["n"], missing="zero").keeping_infinite()
    largest = sys.float_info.max
    found = numbers(infinite)[0]
    assert found[[0, 1, 7]].tolist() == [largest, -largest, largest]


def test_whole_numerics_stay_whole_so_that_they_can_be_a_unit():
    kept = from_postgresql(
        "CREATE TABLE t (id numeric(17), x int)",
        "INSERT INTO t VALUES (90071992547409921, 1), (90071992547409922, 2)",
    )
    table = nolook.read_table(kept, features=["x"], unit="id")
    assert table.units().counts.tolist() == [1, 1]


def test_types_of_a_server():
    kept = from_postgresql(
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE DOMAIN cents AS int8 CHECK (value >= 0)",
        "CREATE TABLE t (s int2, i int4, b int8, f float4, d float8, ok bool, word text, v varchar,"
        " c char(4), m mood, u uuid, day date, at timestamp, z timestamptz, price cents)",
        "INSERT INTO t VALUES (1, 2, 3, 'NaN', '-Infinity', true, 'w', 'v', 'c', 'sad', "
        "'00000000-0000-0000-0000-000000000001', 'infinity', '-infinity', '2024-01-01', 7)",
        "INSERT INTO t (s) VALUES (4)",
    )
    for name, first in {"s": 1, "i": 2, "b": 3, "f": 0, "d": 0, "ok": 1, "price": 7}.items():
        assert column(kept, name)[0] == first
    levels = {"word": "w", "v": "v", "c": "c", "m": "sad"}
    for name, level in {**levels, "u": "00000000-0000-0000-0000-000000000001"}.items():
        assert column(kept, name, categories={name: [level]}) == [1, 0]
    for name in ("day", "at", "z"):
        schema = {"columns": {name: {"type": "date"}}}
        assert column(kept, name, schema=schema)[1] == 0


@pytest.mark.parametrize("kind", ["jsonb", "int[]", "bytea", "interval", "point", "int4range"])
def test_what_is_neither_number_nor_text_is_refused_by_name(kind):
    kept = from_postgresql(f"CREATE TABLE t (x {kind}, y int)")
    with pytest.raises(TableError, match="'x'") as caught:
        nolook.read_table(kept, features=["x"])
    assert "\n" not in str(caught.value)
    assert nolook.read_table(kept).feature_names == ("y",)


def test_types_of_duckdb(tmp_path):
    kept = from_duckdb(
        tmp_path,
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE TABLE t (h HUGEINT, d DECIMAL(38, 10), day DATE, moment TIMESTAMP, m mood, u UUID, "
        "tiny UTINYINT, l INT[], j JSON, s STRUCT(a INT))",
        "INSERT INTO t (h, d, day, moment, m, u, tiny) VALUES "
        "(170141183460469231731687303715884105727, 0.1, 'infinity', '-infinity', 'sad', "
        "'00000000-0000-0000-0000-000000000001', 255)",
        "INSERT INTO t (tiny) VALUES (1)",
    )
    assert column(kept, "h") == [2.0**127, 0]
    assert column(kept, "d") == [0.1, 0]
    assert column(kept, "tiny") == [255, 1]
    assert column(kept, "m", categories={"m": ["sad"]}) == [1, 0]
    assert column(kept, "day", schema={"columns": {"day": {"type": "date"}}}) == [0, 0]
    assert nolook.read_table(kept).feature_names == ("h", "d", "tiny")
    for name in "ljs":
        with pytest.raises(TableError, match=f"'{name}'"):
            nolook.read_table(kept, features=[name])


def test_a_cell_of_another_type_is_a_missing_value_in_sqlite(tmp_path):
    """Nothing is inferred: neither from the first rows nor from any other."""
    kept = from_sqlite(
        tmp_path,
        "CREATE TABLE t (n INTEGER, x REAL, word TEXT, flag BOOLEAN, day DATE, price DECIMAL(9, 2),"
        " anything, b BLOB)",
        *["INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"] * 1500,
        f"INSERT INTO t VALUES ('{CELL}x', '{CELL}x', x'ff', 'yes', 5, 'a', 'a', 'b')",
        "INSERT INTO t VALUES (2.5, 9e999, 7, 2, '2024-01-01', 1, 1, 1)",
        "INSERT INTO t VALUES (9007199254740993, 3, 'w', 1, '2024-01-01', 0.1, 1, 1)",
    )
    assert column(kept, "n")[1500:] == [0, 0, 9007199254740992]
    assert column(kept, "x")[1500:] == [0, 0, 3]
    assert column(kept, "flag")[1500:] == [0, 0, 1]
    assert column(kept, "price")[1500:] == [0, 1, 0.1]
    assert column(kept, "word", categories={"word": ["w"]})[1500:] == [0, 0, 1]
    assert column(kept, "word", categories={"word": ["7"]})[1500:] == [0, 1, 0]
    day = {"columns": {"day": {"type": "date"}}}
    assert column(kept, "day", schema=day)[1500:] == [0, 19723, 19723]
    assert nolook.read_table(kept).feature_names == ("n", "x", "flag", "price")
    for name in ("anything", "b"):
        with pytest.raises(TableError, match=f"'{name}'"):
            nolook.read_table(kept, features=[name])


def test_a_text_that_is_not_utf_8_is_no_error(tmp_path):
    kept = from_sqlite(
        tmp_path, "CREATE TABLE t (w TEXT)", "INSERT INTO t VALUES (CAST(x'ff' AS TEXT)), ('a')"
    )
    assert column(kept, "w", categories={"w": ["a"]}) == [0, 1]


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_hardly_any_rows(made, rows):
    kept = made("CREATE TABLE t (x FLOAT)", *["INSERT INTO t VALUES (5)"] * rows)
    assert column(kept, "x") == [5] * rows


# Names.

ODD = [
    't"; DROP TABLE t; --',
    "t WHERE 1 = 1",
    "a.b",
    "{0}",
    "%s",
    "$1",
    "?",
    ":x",
    "Ä ö",
    "'",
    "T",
]


def test_odd_names_are_names(made):
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in ODD}
    statements = [
        statement
        for i, name in enumerate(quoted.values())
        for statement in (
            f"CREATE TABLE {name} ({name} FLOAT)",
            f"INSERT INTO {name} VALUES ({i + 1})",
        )
    ]
    kept = made(*statements)
    for i, name in enumerate(quoted):
        assert column(nolook.Database(kept._uri, table=name), name) == [i + 1]


INJECTED = [
    't"; DROP TABLE t; --',
    "t; DROP TABLE t",
    "t WHERE x > 1",
    "t, t",
    "t AS t JOIN t",
    '"t"',
    "(SELECT * FROM t)",
    "generate_series(1, 9)",
    "read_csv('/etc/passwd')",
    "/etc/passwd",
    "/etc/passwd.csv",
    "pragma_table_info('t')",
    "sqlite_schema",
    "sqlite_master",
    "pg_authid",
    "pg_catalog.pg_authid",
    "information_schema.tables",
    "duckdb_settings()",
    "main.main.t",
    "kept",
    "t\x00",
    "T" * 10_000,
    "\x1b[31m",
    "--help",
]


def test_a_name_is_never_more_than_a_name(made):
    kept = made("CREATE TABLE t (x FLOAT)", "INSERT INTO t VALUES (5)")
    for name in INJECTED:
        with pytest.raises(NolookError) as caught:
            nolook.read_table(nolook.Database(kept._uri, table=name))
        assert "\n" not in str(caught.value)
    assert column(kept, "x") == [5]


def test_a_schema_may_be_named(tmp_path):
    for kept in (
        from_postgresql("CREATE SCHEMA s", "CREATE TABLE s.t AS SELECT 5 AS x", table="s.t"),
        from_duckdb(tmp_path, "CREATE SCHEMA s", "CREATE TABLE s.t AS SELECT 5 AS x", table="s.t"),
    ):
        assert column(kept, "x") == [5]
        assert nolook.read_table(kept).subject().table == "s.t"


# What messages and files hold.


def test_an_address_is_never_shown(tmp_path, capfd):
    """The password is in no message, representation, traceback, ledger or model."""
    server = postgresql()
    uri = server.uri(server.database("CREATE TABLE t AS SELECT 5 AS x, 1 AS y"))
    shown, refused = [], []

    def fails(*sources: object, **options: object) -> None:
        for source in sources:
            try:
                read = source() if callable(source) else source
                nolook.read_table(read, **options)
            except NolookError as error:
                shown.append("".join(traceback.format_exception(error)) + repr(error))
                refused.append(error)
            else:
                raise AssertionError("nothing was refused")

    wrong = uri.replace(PASSWORD, f"wrong{PASSWORD}")
    nobody = uri.replace("owner", "nobody")
    closed = uri.replace(str(server.port), "1")
    fails(uri, f"mysql{uri}", f"https://{PASSWORD}@127.0.0.1/t.csv", f"jdbc:{uri}")
    fails(*(lambda u=u: nolook.Database(u) for u in (uri, f"x{uri}", f"{uri}.csv")))
    fails(uri.replace("://", "//"), uri.replace("://", ":/"), f" {uri}")
    fails(f"host=127.0.0.1 dbname=d password={PASSWORD}", f"dbname=d password = '{PASSWORD}'")
    tables = [nolook.Database(u, table="t") for u in (wrong, nobody, closed, f"{uri}x")]
    fails(*tables, nolook.Database(uri, table="u"))
    fails(nolook.Database(uri, table="t"), features=["absent"])
    fails(nolook.Database(f"{uri}?sslrootcert={PASSWORD}&sslmode=verify-full", table="t"))
    kept = nolook.Database(uri, table="t")
    table = nolook.read_table(kept, "y")
    with nolook.Ledger.create(tmp_path / "l", nolook.Budget(9.0, 1e-3), name="l") as ledger:
        model = nolook.LinearRegression(epsilon=1.0, delta=1e-6).fit(table, ledger=ledger)
        (entry,) = ledger.history()
        assert entry.details.table == "t"
    nolook.save(model, tmp_path / "m.json")
    shown += [repr(kept), str(kept), repr(table), repr(model), repr(vars(model))]
    shown += [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()]
    shown += capfd.readouterr()
    for error in refused:
        assert error.__cause__ is None
        assert "\n" not in str(error)
    for text in shown:
        assert PASSWORD not in text
        assert "127.0.0.1" not in text


def test_a_servers_own_words_are_never_shown(capfd):
    """Neither an error nor a notice that quotes a cell."""
    kept = from_postgresql(
        f"CREATE TABLE u AS SELECT '{CELL}x' AS w, 1 AS y",
        "CREATE FUNCTION loud(w text) RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE WARNING 'cell %', w; RETURN 5; END $$",
        "CREATE VIEW t AS SELECT loud(w) AS x, w::float8 AS bad FROM u",
    )
    assert column(kept, "x") == [5]
    with pytest.raises(TableError) as caught:
        column(kept, "bad")
    text = "".join(traceback.format_exception(caught.value)) + "".join(capfd.readouterr())
    assert CELL not in text
    assert "\n" not in str(caught.value)


def test_a_view_that_fails_on_a_cell_says_nothing_of_it(tmp_path):
    kept = from_duckdb(
        tmp_path,
        f"CREATE TABLE u AS SELECT '{CELL}x' AS w",
        "CREATE VIEW t AS SELECT CAST(w AS INTEGER) AS x FROM u",
    )
    with pytest.raises(TableError) as caught:
        column(kept, "x")
    assert CELL not in "".join(traceback.format_exception(caught.value))


def test_no_bar_of_progress_is_printed(tmp_path):
    kept = from_duckdb(tmp_path, "CREATE TABLE t AS SELECT 5 AS x")
    with databases._DuckDB("", kept._place).connect() as connection:
        asked = "SELECT current_setting('enable_progress_bar')"
        assert connection.execute(asked).fetchall() == [(False,)]


def test_packages_that_are_not_installed_are_named(monkeypatch, tmp_path):
    (tmp_path / "t").touch()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ParameterError, match=r"nolook\[databases\]"):
        nolook.read_table(nolook.Database(f"duckdb:{tmp_path}/t", table="t"))


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
@pytest.mark.parametrize("content", [None, b"", b"SQLite format 3\0" + b"x" * 5000, b"\xff" * 9999])
def test_what_is_no_database_is_refused(kind, content, tmp_path):
    path = tmp_path / "t.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TableError) as caught:
        nolook.read_table(f"{kind}:{path}#t")
    assert "\n" not in str(caught.value)
    assert content is not None or not path.exists()


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_folder_is_no_database(kind, tmp_path):
    with pytest.raises(TableError, match="is not a file"):
        nolook.read_table(f"{kind}:{tmp_path}#t")


@pytest.mark.parametrize(
    ("uri", "options", "found"),
    [
        ("duckdb:t", {}, "not given"),
        ("duckdb:t#t", {"table": "t"}, None),
        ("duckdb:t", {"table": " "}, "is empty"),
        ("mysql://server/t", {"table": "t"}, "unknown kind"),
        ("t.duckdb", {"table": "t"}, "unknown kind"),
        (5, {"table": "t"}, "unknown kind"),
    ],
)
def test_exactly_one_table_is_named(uri, options, found):
    if found is None:
        assert str(nolook.Database(uri, **options).path) == "t#t"
        return
    with pytest.raises(ParameterError, match=found):
        nolook.Database(uri, **options)


# The same rows in every pass.


def test_a_server_is_read_once_and_the_rows_are_kept():
    server = postgresql()
    name = server.database(
        "CREATE TABLE t AS SELECT i AS id, i * 0.5 AS x FROM generate_series(1, 5000) AS s(i)"
    )
    table = nolook.read_table(nolook.Database(server.uri(name), table="t"))
    held = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"
    assert server.execute(held) == [(0,)]
    before = numbers(table)
    assert before.shape[1] == 5000
    assert server.execute(held) == [(0,)]
    server.execute("DELETE FROM t WHERE id <= 2500", name)
    server.execute("DROP TABLE t", name)
    assert np.array_equal(numbers(table), before)


@pytest.mark.parametrize("keep", [in_duckdb, in_sqlite])
def test_a_file_is_read_once_and_the_rows_are_kept(keep, tmp_path):
    read = nolook.read_table(keep(pa.table({"x": [1.0, 2.0]}), tmp_path))
    assert numbers(read).tolist() == [[1, 2]]
    for file in tmp_path.iterdir():
        file.unlink()
    assert numbers(read).tolist() == [[1, 2]]


def test_only_the_columns_in_use_are_read(made, monkeypatch):
    kept = made("CREATE TABLE t (a FLOAT, b FLOAT, c FLOAT, d FLOAT)")
    asked = []
    read = databases._Reader.read
    monkeypatch.setattr(
        databases._Reader, "read", lambda *given: asked.append(given[-1]) or read(*given)
    )
    table = nolook.read_table(kept, "d", features=["b"], where=[("a", ">", 1)])
    table.read_through()
    table.read_through()
    assert [sorted(names) for names in asked] == [["a", "b", "d"]]


def test_a_table_that_changed_its_columns_is_refused(made, tmp_path):
    kept = made("CREATE TABLE t (x FLOAT)", "INSERT INTO t VALUES (5)")
    table = nolook.read_table(kept)
    if kept.kind == "postgresql":
        name = kept._uri.rpartition("/")[2]
        postgresql().execute("ALTER TABLE t RENAME COLUMN x TO z", name)
    else:
        kept.path.unlink()
    with pytest.raises(TableError, match="start again"):
        table.read_through()


def test_a_wide_table_of_duckdb_has_the_memory_it_takes(tmp_path, monkeypatch):
    numbered = ", ".join(f"random() AS c{i}" for i in range(80))
    kept = from_duckdb(tmp_path, f"CREATE TABLE t AS SELECT {numbered} FROM range(150000)")
    monkeypatch.setattr(databases._DuckDB, "_ROOM", 8)
    assert nolook.read_table(kept, "c0")._count_rows() == 150_000
    # 8 MiB alone would not do.
    monkeypatch.setattr(databases._DuckDB, "_ROOM", 8 - 80 // 2)
    monkeypatch.setattr(databases._DuckDB, "_MOST_ROOM", 0)
    with pytest.raises(TableError, match="start again"):
        nolook.read_table(kept, "c0").read_through()


def test_a_file_that_another_program_writes_to_is_refused(tmp_path):
    address = in_duckdb(pa.table({"x": [1.0]}), tmp_path)
    with (
        duckdb.connect(str(tmp_path / "t.duckdb")),
        pytest.raises(TableError, match="cannot be opened"),
    ):
        nolook.read_table(address)
    assert column(address, "x") == [1]


@contextmanager
def ledger(folder):
    budget = nolook.Budget(9.0, 1e-3)
    with nolook.Ledger.create(folder / "t.ledger", budget, name="people") as made:
        yield made


def test_a_connection_lost_while_the_rows_are_read_costs_nothing(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    kept = in_postgresql(
        pa.table({"x": rng.normal(size=800_000), "y": rng.normal(size=800_000)}), tmp_path
    )
    table = nolook.read_table(kept, "y")
    monkeypatch.setattr(databases._PostgreSQL, "_BYTES", 1 << 14)
    stream = databases._PostgreSQL.stream

    def cut(self, connection, sql, kinds):
        for i, batch in enumerate(stream(self, connection, sql, kinds)):
            yield batch
            if i == 0:
                postgresql().hang_up((tmp_path / "database").read_text())

    monkeypatch.setattr(databases._PostgreSQL, "stream", cut)
    with ledger(tmp_path) as charged:
        with pytest.raises(TableError) as caught:
            nolook.LinearRegression(epsilon=1.0, delta=1e-6).fit(table, ledger=charged)
        assert "start again" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert not charged.charged()


@pytest.mark.parametrize("limit", ["lock_timeout", "statement_timeout"])
def test_the_address_limits_the_time_of_an_answer(limit):
    server = postgresql()
    name = server.database("CREATE TABLE t AS SELECT 1 AS x, 2 AS y")
    uri = server.uri(name)
    limited = f"{uri}?options=-c%20{limit}%3D100"
    with closing(server.connect(name)) as other, closing(other.cursor()) as cursor:
        cursor.execute("BEGIN")
        cursor.execute("LOCK TABLE t")
        started = time.monotonic()
        with pytest.raises(TableError, match="cannot be opened, or refuses"):
            nolook.read_table(nolook.Database(limited, table="t"))
        assert time.monotonic() - started < 30
        cursor.execute("ROLLBACK")
    nolook.read_table(nolook.Database(limited, table="t")).read_through()


def test_a_lock_is_waited_for_a_minute_where_the_address_says_nothing():
    server = postgresql()
    uri = server.uri(server.database("CREATE TABLE t AS SELECT 1 AS x"))
    for more, kept in (("", "1min"), ("?options=-c%20lock_timeout%3D100", "100ms")):
        reader = databases._PostgreSQL(f"{uri}{more}", "")
        with reader.connect() as cursor:
            found = cursor.execute("SELECT current_setting('lock_timeout')").fetchall()
            assert found == [(kept,)]


def test_the_address_limits_the_time_of_a_connection():
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        uri = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=2"
        started = time.monotonic()
        with pytest.raises(TableError, match="cannot be opened"):
            nolook.read_table(nolook.Database(uri, table="t"))
        assert time.monotonic() - started < 15


def test_a_server_that_answers_nonsense():
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:

        def answer() -> None:
            with closing(listening.accept()[0]) as peer:
                peer.recv(99)
                peer.sendall(b"E\x00\x00\x00\x0chello\n" + CELL.encode() * 99)

        threading.Thread(target=answer, daemon=True).start()
        port = listening.getsockname()[1]
        database = nolook.Database(f"postgresql://u@127.0.0.1:{port}/d", table="t")
        with pytest.raises(TableError) as caught:
            nolook.read_table(database)
        assert CELL not in str(caught.value)


# Views, partitions and units.


def with_index(made) -> nolook.Database:
    rng = np.random.default_rng(1)
    people = rng.integers(0, 40, 3000)
    pad = "." * 500  # an index is then so much shorter that it pays
    rows = ", ".join(f"({i % 7}, {person}, {i}, '{pad}')" for i, person in enumerate(people))
    kept = made(
        "CREATE TABLE t (x FLOAT, person INTEGER, i INTEGER, pad VARCHAR)",
        f"INSERT INTO t VALUES {rows}",
        "CREATE INDEX by_person ON t (person)",
        "CREATE VIEW v AS SELECT * FROM t",
        *["VACUUM ANALYZE t"] * (made.kind == "postgresql"),
    )
    return kept, people


@pytest.mark.parametrize("relation", ["t", "v"])
def test_units_are_those_of_the_rows_of_a_table_or_a_view(relation, made):
    kept, people = with_index(made)
    database = nolook.Database(kept._uri, table=relation)
    table = nolook.read_table(database, features=["i"], unit="person")
    rows, units = [], []
    for batch, _, of_rows in table.batches_of_units():
        rows += batch[0].astype(int).tolist()
        units += of_rows.tolist()
    assert sorted(rows) == list(range(3000))
    assert len(set(zip(units, people[rows].tolist(), strict=True))) == len(set(people))


def test_a_view_with_a_unit_is_cross_validated(made):
    kept, _ = with_index(made)
    view = nolook.read_table(
        nolook.Database(kept._uri, table="v"), "x", features=["i"], unit="person"
    )
    model = nolook.LinearRegression(epsilon=5.0, delta=1e-6)
    found = nolook.cross_validate(model, view, epsilon=5.0, folds=3)
    assert len(found.models) == 3


def test_partitions_of_a_table_are_its_rows():
    kept = from_postgresql(
        "CREATE TABLE t (x int, person int) PARTITION BY RANGE (x)",
        "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (10) TO (20)",
        "INSERT INTO t VALUES (5, 1), (15, 1), (7, 2)",
    )
    table = nolook.read_table(kept, features=["x"], unit="person")
    assert sorted(numbers(table)[0].tolist()) == [5, 7, 15]
    assert table.count_units() == 2


def test_parts_are_the_table(tmp_path, monkeypatch, made):
    monkeypatch.setattr("nolook.tables.spool.ROWS", 1000)
    kept, _ = with_index(made)
    source = nolook.read_table(kept, features=["i"])._source
    parts = source.parts()
    assert len(parts) > 2
    found = [i for part in parts for b in part.batches(["i"]) for i in b.column("i").to_pylist()]
    assert sorted(found) == list(range(3000))


@pytest.mark.parametrize("name", ["duckdb", "sqlite"])
def test_a_relative_path_is_that_of_the_folder_it_was_given_in(name, tmp_path, monkeypatch):
    """Also if the file's name is an order to the database's reader."""
    kept = DATABASES[name](pa.table({"x": [5.0]}), tmp_path)
    path = tmp_path / f"t.{name}"
    path.rename(tmp_path / ":memory:")
    monkeypatch.chdir(tmp_path)
    table = nolook.read_table(kept.replace(str(path), ":memory:"))
    monkeypatch.chdir("/")
    assert numbers(table).tolist() == [[5.0]]


def test_nothing_but_the_file_is_read(tmp_path, monkeypatch):
    """Neither other files nor variables of this program, whatever a view says."""
    (tmp_path / "x.csv").write_text("x\n5\n")
    kept = from_duckdb(
        tmp_path,
        f"CREATE VIEW t AS SELECT * FROM read_csv('{tmp_path / 'x.csv'}')",
        "CREATE TABLE u AS SELECT 1 AS x",
    )
    with pytest.raises(TableError):
        column(kept, "x")

"""A query chooses columns and rows of one table, or is refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolook
from nolook.errors import NolookError, ParameterError
from tests.tables.database_places import in_duckdb, in_sqlite
from tests.tables.servers import postgresql

DIALECTS = ("postgres", "duckdb", "sqlite")
ROWS = 60


def rows() -> pa.Table:
    rng = np.random.default_rng(3)
    names = ["a", "it's", "A%", "x_y", "", "Ä", None]

    def gaps(cells):
        missing = rng.random(ROWS) < 0.2
        return [None if gap else cell for cell, gap in zip(cells, missing, strict=True)]

    return pa.table(
        {
            "id": pa.array(range(ROWS)),
            "n": pa.array(gaps(rng.integers(-3, 4, ROWS).tolist())),
            "x": pa.array(gaps(rng.normal(size=ROWS).round(1).tolist())),
            "word": pa.array([names[i] for i in rng.integers(0, len(names), ROWS)]),
            "flag": pa.array(gaps((rng.random(ROWS) < 0.5).tolist())),
        }
    )


class Kept:
    """One table in each kind of database, and what the database itself answers."""

    def __init__(self, folder) -> None:
        table = rows()
        server = postgresql()
        name = server.store(table)
        self.addresses = {
            "postgres": server.uri(name),
            "duckdb": in_duckdb(table, folder).removesuffix("#t"),
            "sqlite": in_sqlite(table, folder).removesuffix("#t"),
        }
        self._ask = {
            "postgres": lambda sql: server.execute(sql, name),
            "duckdb": self._duckdb(folder),
            "sqlite": self._sqlite(folder),
        }

    @staticmethod
    def _duckdb(folder):
        def ask(sql):
            with duckdb.connect(str(folder / "t.duckdb")) as connection:
                return connection.execute(sql).fetchall()

        return ask

    @staticmethod
    def _sqlite(folder):
        def ask(sql):
            with closing(sqlite3.connect(folder / "t.sqlite")) as connection:
                return connection.execute(sql).fetchall()

        return ask

    def answer(self, dialect: str, sql: str) -> list[int]:
        return sorted(int(row[0]) for row in self._ask[dialect](sql))

    def read(self, dialect: str, query: str) -> list[int]:
        database = nolook.Database(self.addresses[dialect], query=query)
        table = nolook.read_table(database, features=["id"])
        return sorted(int(x) for batch in table.batches() for x in batch[0])


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Kept:
    return Kept(tmp_path_factory.mktemp("kept"))


SIGNS = st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">="])
NUMBERS = st.sampled_from(["0", "-1", "2", "1.5", "-0.3", "1e0", "99999999999", ".5"])
WORDS = st.sampled_from(["'a'", "'it''s'", "''", "'Ä'", "'zz'", "'A%'"])
PATTERNS = st.sampled_from(["'a%'", "'%''%'", "'_'", "'%'", "'x_y'"])
NUMERIC = st.sampled_from(["n", "x", "t.n", "N", "X", '"n"', "id"])
LISTS = {
    "numbers": st.lists(NUMBERS, min_size=1, max_size=3).map(", ".join),
    "words": st.lists(WORDS, min_size=1, max_size=3).map(", ".join),
}
SIMPLE = st.one_of(
    st.builds("{} {} {}".format, NUMERIC, SIGNS, NUMBERS),
    st.builds("{} {} {}".format, NUMBERS, SIGNS, NUMERIC),
    st.builds("n {} id".format, SIGNS),
    st.builds("word {} {}".format, SIGNS, WORDS),
    st.builds("{} IN ({})".format, NUMERIC, LISTS["numbers"]),
    st.builds("word NOT IN ({})".format, LISTS["words"]),
    st.builds("{} BETWEEN {} AND {}".format, NUMERIC, NUMBERS, NUMBERS),
    st.builds("{} NOT BETWEEN {} AND {}".format, NUMERIC, NUMBERS, NUMBERS),
    st.builds("word LIKE {}".format, PATTERNS),
    st.builds("word NOT LIKE {}".format, PATTERNS),
    st.builds("{} IS NULL".format, st.sampled_from(["n", "x", "word", "flag"])),
    st.builds("{} IS NOT NULL".format, st.sampled_from(["n", "x", "word", "flag"])),
    st.sampled_from(["flag", "NOT flag", "flag = TRUE", "flag <> false"]),
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds("{} AND {}".format, inner, inner),
        st.builds("{} OR {}".format, inner, inner),
        st.builds("NOT ({})".format, inner),
        st.builds("({})".format, inner),
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_rows_are_those_that_the_database_finds_by_the_same_condition(dialect, kept):
    @settings(max_examples=30)
    @given(condition=CONDITIONS)
    def agrees(condition):
        query = f"SELECT id FROM t WHERE {condition}"
        assert kept.read(dialect, query) == kept.answer(dialect, query)

    agrees()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT * FROM t", ["id", "n", "x", "word", "flag"]),
        ("select x, id from t;", ["x", "id"]),
        ('SELECT p.X, "id" FROM T AS p', ["x", "id"]),
        ('SELECT id FROM "t"', ["id"]),
    ],
)
def test_columns_are_chosen(dialect, query, columns, kept):
    database = nolook.Database(kept.addresses[dialect], query=query)
    source = nolook.read_table(database, features=["id"])._source
    assert [column.name for column in source.columns] == columns
    assert source.label == "t"
    assert source.filtered is False


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("word", ["AND", "OR"])
def test_very_many_conditions_are_no_more_than_the_database_takes(word, dialect, kept):
    def many(count: int) -> str:
        return "SELECT id FROM t WHERE " + f" {word} ".join(["id >= 9"] * count)

    assert kept.read(dialect, many(400)) == list(range(9, ROWS))
    with pytest.raises(ParameterError, match="too many parts"):
        kept.read(dialect, many(600))


def test_capital_letters_in_quotes_count_where_the_server_says_so(kept):
    database = nolook.Database(kept.addresses["postgres"], query='SELECT "ID" FROM t')
    with pytest.raises(NolookError, match="no such column"):
        nolook.read_table(database, features=["id"])
    assert kept.read("sqlite", 'SELECT "ID" FROM t') == list(range(ROWS))


REFUSED = {
    "join": "SELECT id FROM t JOIN u ON t.id = u.id",
    "comma": "SELECT id FROM t, t AS u",
    "natural join": "SELECT id FROM t NATURAL JOIN u",
    "lateral": "SELECT id FROM t, LATERAL (SELECT 1) AS s",
    "subquery": "SELECT id FROM (SELECT id FROM t) AS s",
    "subquery in IN": "SELECT id FROM t WHERE id IN (SELECT id FROM t)",
    "EXISTS": "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t)",
    "scalar subquery": "SELECT id FROM t WHERE id > (SELECT max(id) FROM t)",
    "aggregate": "SELECT sum(id) FROM t",
    "aggregate in WHERE": "SELECT id FROM t WHERE max(id) > 1",
    "window": "SELECT row_number() OVER () FROM t",
    "WINDOW": "SELECT id FROM t WINDOW w AS (ORDER BY id)",
    "QUALIFY": "SELECT id FROM t QUALIFY row_number() OVER () = 1",
    "DISTINCT": "SELECT DISTINCT id FROM t",
    "DISTINCT ON": "SELECT DISTINCT ON (n) id FROM t",
    "GROUP BY": "SELECT id FROM t GROUP BY id",
    "HAVING": "SELECT id FROM t HAVING id > 1",
    "LIMIT": "SELECT id FROM t LIMIT 3",
    "OFFSET": "SELECT id FROM t OFFSET 3",
    "FETCH": "SELECT id FROM t FETCH FIRST 3 ROWS ONLY",
    "TOP": "SELECT TOP 3 id FROM t",
    "ORDER BY": "SELECT id FROM t ORDER BY id",
    "TABLESAMPLE": "SELECT id FROM t TABLESAMPLE BERNOULLI (10)",
    "USING SAMPLE": "SELECT id FROM t USING SAMPLE 10",
    "UNION": "SELECT id FROM t UNION ALL SELECT id FROM t",
    "EXCEPT": "SELECT id FROM t EXCEPT SELECT id FROM t",
    "INTERSECT": "SELECT id FROM t INTERSECT SELECT id FROM t",
    "WITH": "WITH s AS (SELECT * FROM t) SELECT id FROM s",
    "FOR UPDATE": "SELECT id FROM t FOR UPDATE",
    "INTO": "SELECT id INTO u FROM t",
    "ONLY": "SELECT id FROM ONLY t",
    "VALUES": "VALUES (1)",
    "no FROM": "SELECT 1",
    "FROM first": "FROM t",
    "TABLE": "TABLE t",
    "random": "SELECT id FROM t WHERE random() < 0.5",
    "now": "SELECT id FROM t WHERE now() > '2024-01-01'",
    "CURRENT_DATE": "SELECT id FROM t WHERE CURRENT_DATE > '2024-01-01'",
    "current_user": "SELECT id FROM t WHERE current_user = word",
    "sleep": "SELECT id FROM t WHERE pg_sleep(9) IS NULL",
    "nextval": "SELECT id FROM t WHERE nextval('s') > 3",
    "setting": "SELECT id FROM t WHERE current_setting('port') = word",
    "load_extension": "SELECT id FROM t WHERE load_extension('x') IS NULL",
    "read_csv": "SELECT id FROM read_csv('/etc/passwd')",
    "a file": "SELECT id FROM '/etc/passwd.csv'",
    "own function": "SELECT id FROM t WHERE my_function(id) = 1",
    "harmless function": "SELECT id FROM t WHERE abs(id) = 1",
    "function of columns": "SELECT abs(id) FROM t",
    "table function": "SELECT id FROM generate_series(1, 3) AS t",
    "division": "SELECT id FROM t WHERE 1 / n > 2",
    "addition": "SELECT id FROM t WHERE n + 1 > 2",
    "computed column": "SELECT id + 1 FROM t",
    "new name": "SELECT id AS other FROM t",
    "cast": "SELECT id FROM t WHERE CAST(word AS INTEGER) = 1",
    "short cast": "SELECT id FROM t WHERE word::int = 1",
    "CASE": "SELECT id FROM t WHERE CASE WHEN n = 1 THEN flag END",
    "concatenation": "SELECT id FROM t WHERE word || 'a' = 'aa'",
    "ILIKE": "SELECT id FROM t WHERE word ILIKE 'a'",
    "ESCAPE": "SELECT id FROM t WHERE word LIKE 'a' ESCAPE '!'",
    "regular expression": "SELECT id FROM t WHERE word ~ '(a+)+'",
    "SIMILAR": "SELECT id FROM t WHERE word SIMILAR TO 'a'",
    "COLLATE": "SELECT id FROM t WHERE word COLLATE \"C\" = 'a'",
    "ANY": "SELECT id FROM t WHERE n = ANY (ARRAY[1])",
    "array": "SELECT id FROM t WHERE n IN (ARRAY[1])",
    "rows": "SELECT id FROM t WHERE (n, x) = (1, 2)",
    "empty list": "SELECT id FROM t WHERE n IN ()",
    "IS TRUE": "SELECT id FROM t WHERE flag IS TRUE",
    "IS DISTINCT": "SELECT id FROM t WHERE n IS DISTINCT FROM 1",
    "= NULL": "SELECT id FROM t WHERE n = NULL",
    "no column": "SELECT id FROM t WHERE 1 = 1",
    "constant": "SELECT id FROM t WHERE TRUE",
    "number as condition": "SELECT id FROM t WHERE n",
    "text with number": "SELECT id FROM t WHERE word > 5",
    "number with text": "SELECT id FROM t WHERE n > 'a'",
    "columns of two types": "SELECT id FROM t WHERE n > x",
    "LIKE of a number": "SELECT id FROM t WHERE n LIKE '1%'",
    "column LIKE column": "SELECT id FROM t WHERE word LIKE word",
    "huge number": "SELECT id FROM t WHERE x > 1e999",
    "tiny number": "SELECT id FROM t WHERE x > 1e-400",
    "backslash": "SELECT id FROM t WHERE word = 'a\\'",
    "escape string": "SELECT id FROM t WHERE word = E'a'",
    "dollar quotes": "SELECT id FROM t WHERE word = $$a$$",
    "unicode string": "SELECT id FROM t WHERE word = U&'a'",
    "two strings": "SELECT id FROM t WHERE word = 'a' 'b'",
    "placeholder": "SELECT id FROM t WHERE n = ?",
    "named placeholder": "SELECT id FROM t WHERE n = :n",
    "numbered placeholder": "SELECT id FROM t WHERE n = $1",
    "system column": "SELECT ctid FROM t",
    "hidden column": "SELECT id FROM t WHERE xmin = 3",
    "another table's column": "SELECT u.id FROM t",
    "all of a table": "SELECT t.* FROM t",
    "EXCLUDE": "SELECT * EXCLUDE (id) FROM t",
    "COLUMNS": "SELECT COLUMNS('i.*') FROM t",
    "positional": "SELECT #1 FROM t",
    "three parts": "SELECT id FROM a.b.t",
    "column names": "SELECT a FROM t AS p(a, b, c, d, e)",
    "comment": "SELECT id FROM t -- all",
    "comment inside": "SELECT /* all */ id FROM t",
    "hint": "SELECT /*+ seqscan(t) */ id FROM t",
    "comment after": "SELECT id FROM t; -- all",
    "two statements": "SELECT id FROM t; SELECT id FROM t",
    "second statement": "SELECT id FROM t; DROP TABLE t",
    "DROP": "DROP TABLE t",
    "DELETE": "DELETE FROM t",
    "UPDATE RETURNING": "UPDATE t SET n = 1 RETURNING id",
    "COPY": "COPY t TO PROGRAM 'true'",
    "EXPLAIN": "EXPLAIN ANALYZE SELECT id FROM t",
    "PRAGMA": "PRAGMA database_list",
    "ATTACH": "ATTACH 'x.db' AS x",
    "SET": "SET ROLE postgres",
    "brackets": "(SELECT id FROM t)",
    "nothing": " ",
    "semicolons": ";;",
    "not SQL": "\x00\x1b[31m' \"",
    "unclosed": "SELECT id FROM t WHERE word = 'a",
    "deep": "SELECT id FROM t WHERE " + "(" * 4000 + "n = 1" + ")" * 4000,
    "long": "SELECT id FROM t WHERE " + " OR ".join(["n = 1"] * 900),
    "endless": "SELECT id FROM t WHERE n IN (" + "1, " * 10_000 + "1)",
    "catalogue": "SELECT rolname FROM pg_catalog.pg_authid",
    "schema": "SELECT sql FROM sqlite_schema",
    "information": "SELECT table_name FROM information_schema.tables",
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("what", REFUSED)
def test_whatever_does_more_is_refused_in_one_line(what, dialect, kept, caplog):
    with pytest.raises(NolookError) as caught:
        kept.read(dialect, REFUSED[what])
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    assert "query" in message or "no table or view" in message
    assert not caplog.records
    assert kept.answer(dialect, "SELECT id FROM t") == list(range(ROWS))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("found", "query"),
    [
        ("a join", "SELECT id FROM t JOIN u ON t.id = u.id"),
        ("a subquery", "SELECT id FROM t WHERE id IN (SELECT id FROM t)"),
        ("an aggregate", "SELECT sum(id) FROM t"),
        ("a window function", "SELECT row_number() OVER () FROM t"),
        ("DISTINCT", "SELECT DISTINCT id FROM t"),
        ("LIMIT", "SELECT id FROM t LIMIT 3"),
        ("ORDER BY", "SELECT id FROM t ORDER BY id"),
        ("a sample", "SELECT id FROM t TABLESAMPLE (10)"),
        ("a function", "SELECT id FROM t WHERE random() < 0.5"),
        ("a comment", "SELECT id FROM t -- all"),
        ("two statements", "SELECT id FROM t; SELECT id FROM t"),
        ("a lock", "SELECT id FROM t FOR UPDATE"),
        ("WITH", "WITH s AS (SELECT * FROM t) SELECT id FROM s"),
    ],
)
def test_a_refusal_says_what_was_found_and_what_to_do(found, query, dialect, kept):
    with pytest.raises(ParameterError) as caught:
        kept.read(dialect, query)
    assert f"has {found}" in str(caught.value)
    assert "make a view" in str(caught.value)


def test_what_is_sent_is_written_anew(kept):
    address = kept.addresses["duckdb"]
    query = "sElEcT  id\tFROM t wHeRe ( n=1 )"
    source = nolook.read_table(nolook.Database(address, query=query), features=["id"])._source
    sent = source._select(["id"], source._condition)
    assert sent == 'SELECT "id" AS "c0" FROM "main"."t" WHERE (("n" = 1))'


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_replaced_row_may_leave_the_rows_that_are_chosen(dialect, kept):
    def fit(query):
        database = nolook.Database(kept.addresses[dialect], query=query)
        table = nolook.read_table(database, features=["id"])
        return nolook.ECDF(epsilon=1.0, relation="replace").fit(table)

    with pytest.raises(ParameterError, match="replace"):
        fit("SELECT id FROM t WHERE id > 3")

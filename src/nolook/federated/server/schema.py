"""The tables in which a server keeps what it knows of one batch, and how older ones become these.

The file's `user_version` is the layout. Layout 1 had, in the bits above, the version of the sampler
that drew the first answer, less 1; it knew no rejected reports and no end of a batch.
"""

from __future__ import annotations

import sqlite3

from nolook.privacy.noise import SAMPLER_VERSION

__all__ = ["APPLICATION", "LAYOUT", "SCHEMA", "is_sound", "upgrade"]

#: Marks the file as that of a federated batch.
APPLICATION = 0x6E6C6B66
LAYOUT = 2

_SAMPLER_BITS = 8
_BATCH = """CREATE TABLE batch (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    digest BLOB NOT NULL,
    role INTEGER NOT NULL,
    secret BLOB NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('open', 'closed', 'frozen', 'answered', 'retired', 'ended')),
    agreed_count INTEGER,
    agreed_digest BLOB,
    rejected INTEGER,
    noise BLOB,
    summed INTEGER NOT NULL DEFAULT 0
) STRICT"""
_SENDER = """CREATE TABLE sender (
    token BLOB PRIMARY KEY,
    reports INTEGER NOT NULL
) STRICT"""
SCHEMA = {
    "batch": _BATCH,
    "report": """CREATE TABLE report (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    outside INTEGER NOT NULL DEFAULT 0
) STRICT""",
    "answer": """CREATE TABLE answer (
    question TEXT PRIMARY KEY,
    content BLOB NOT NULL
) STRICT""",
    "sender": _SENDER,
}


def upgrade(database: sqlite3.Connection) -> None:
    """Bring tables of layout 1 to this one; the caller has begun a transaction.

    A batch that another sampler has answered gets noise that no nolook draws: it answers no more.
    """
    ((version,),) = database.execute("PRAGMA user_version")
    if version % (1 << _SAMPLER_BITS) != 1:
        return
    noise = None if 1 + (version >> _SAMPLER_BITS) == SAMPLER_VERSION else b""
    ((*kept, count, digest, summed),) = database.execute("SELECT * FROM batch")
    rejected = None if count is None else 0
    database.execute("DROP TABLE batch")
    database.execute(_BATCH)
    values = (*kept, count, digest, rejected, noise, summed)
    database.execute("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    database.execute(_SENDER)
    database.execute(f"PRAGMA user_version = {LAYOUT}")


def is_sound(database: sqlite3.Connection) -> bool:
    """Tell whether a file has these tables and no damage."""
    tables = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
    return (
        database.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        and database.execute("PRAGMA user_version").fetchone() == (LAYOUT,)
        and dict(tables.fetchall()) == SCHEMA
        and database.execute("PRAGMA quick_check").fetchone() == ("ok",)
    )

"""A ledger's file: how it is made, opened and changed in one piece. Standard library only."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from nolook.errors import LedgerError, ParameterError
from nolook.privacy.guarantee import Budget, Relation

__all__ = ["create_file", "now", "open_file", "plainly", "transaction"]

_APPLICATION = 0x6E6C6B31  # marks the file as a ledger
_VERSION = 1
_PATIENCE = 30.0  # seconds to wait for another process that is writing

# Amounts are hexadecimal doubles: exact, and readable back bit for bit.
_SCHEMA = """
CREATE TABLE ledger (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    relation TEXT NOT NULL,
    created TEXT NOT NULL
) STRICT;
CREATE TABLE release (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    description TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    relation TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'complete', 'refunded')),
    reason TEXT
) STRICT;
"""


def create_file(place: Path, budget: Budget, name: str, relation: Relation) -> None:
    """Make a ledger's file complete, then give it its name; an existing file is never touched."""
    if os.path.lexists(place):
        raise FileExistsError
    with tempfile.TemporaryDirectory(prefix=".ledger-", dir=place.parent) as folder:
        draft = Path(folder) / "draft"
        with closing(sqlite3.connect(draft, isolation_level=None)) as database:
            database.executescript(_SCHEMA)
            database.execute(
                "INSERT INTO ledger VALUES (1, ?, ?, ?, ?, ?)",
                (name, budget.epsilon.hex(), budget.delta.hex(), relation, now()),
            )
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_VERSION}")
            database.execute("PRAGMA journal_mode = WAL")
        _flush(draft)
        # A link appears whole or not at all, and never replaces a file.
        os.link(draft, place)
        _flush(place.parent)


def open_file(place: Path) -> sqlite3.Connection:
    """Open a ledger's file so that every commit is flushed to the disk."""
    database = sqlite3.connect(
        f"{place.resolve().as_uri()}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None
    )
    try:
        _check_marks(database, place)
        database.execute("PRAGMA synchronous = FULL")
    except BaseException:
        database.close()
        raise
    return database


def _check_marks(database: sqlite3.Connection, place: Path) -> None:
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION:
        raise LedgerError(f"{str(place)!r} is not a ledger; expected one made by nolook")
    if version != _VERSION:
        raise LedgerError(
            f"{str(place)!r} has ledger version {version}; expected {_VERSION} (another nolook "
            "made it)"
        )


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """Run the block with the only write lock; all of its changes are kept, or none."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def now() -> str:
    """Return the time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _flush(path: Path) -> None:
    """Bring a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def plainly(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system complain of into one line."""
    try:
        yield
    except FileExistsError:
        raise LedgerError(
            f"{str(path)!r} exists; expected a new file (choose another name)"
        ) from None
    except OSError as error:
        raise LedgerError(f"{str(path)!r} cannot be written ({error.strerror})") from None
    except (sqlite3.Error, TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise LedgerError(f"{str(path)!r} is damaged; expected a ledger") from None
        raise LedgerError(f"{str(path)!r} {_reason(error)}") from None


def _reason(error: Exception) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"is in use by another process; gave up after {_PATIENCE:.0f} s (try again)"
    if "readonly" in text or "unable to open" in text:
        return "cannot be written; expected a ledger in a folder you may write to"
    if "full" in text or "I/O" in text:
        return "cannot be written: the disk is full or failing"
    return "is not a ledger or is damaged"

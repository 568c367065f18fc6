"""A ledger's file: how it is made, opened, read and changed. Standard library only."""

from __future__ import annotations

import math
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from pathlib import Path

from nolook.errors import LedgerError, ParameterError
from nolook.privacy.guarantee import Budget, Relation

__all__ = [
    "amount_text",
    "check_cost",
    "check_line",
    "create_file",
    "decimal",
    "now",
    "open_file",
    "plainly",
    "read_budget",
    "rounded",
    "transaction",
]

_APPLICATION = 0x6E6C6B31  # marks the file as a ledger
_VERSION = 1
_PATIENCE = 30.0  # seconds to wait for another process that is writing

_COMPANIONS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database
_LONGEST_LINE = 500

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
    for ending in _COMPANIONS:
        # SQLite would play the rest of a deleted ledger back into the new one.
        if os.path.lexists(f"{place}{ending}"):
            raise LedgerError(
                f"{str(place) + ending!r} is left from a deleted ledger; expected no such file "
                "(remove it or choose another name)"
            )
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
        _check(database, place)
        database.execute("PRAGMA synchronous = FULL")
    except BaseException:
        database.close()
        raise
    return database


def _check(database: sqlite3.Connection, place: Path) -> None:
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION:
        raise LedgerError(f"{str(place)!r} is not a ledger; expected one made by nolook")
    if version != _VERSION:
        raise LedgerError(
            f"{str(place)!r} has ledger version {version}; expected {_VERSION} (another nolook "
            "made it)"
        )
    sound = database.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    # Releases are numbered without a gap and never removed: one that is missing was lost.
    count, last, given = database.execute(
        "SELECT count(*), coalesce(max(id), 0), "
        "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'release'), 0) FROM release"
    ).fetchone()
    if not sound or not count == last == given:
        raise LedgerError(f"{str(place)!r} is damaged; expected a whole ledger")


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


def check_cost(value: object, name: str) -> Budget:
    """Return a budget; a bare number is refused.

    Parameters
    ----------
    value : Budget
    name : str
        The name to use in the message.

    Returns
    -------
    Budget

    Raises
    ------
    ParameterError
        If it is anything else.
    """
    if isinstance(value, Budget):
        return value
    raise ParameterError(
        f"{name} is a value of type {type(value).__name__}; expected nolook.Budget(epsilon, delta)"
    )


def check_line(value: object, name: str) -> str:
    """Return a text that fits on one line of a list.

    Parameters
    ----------
    value : str
    name : str
        The name to use in the message.

    Returns
    -------
    str
        The same text.

    Raises
    ------
    ParameterError
        If it is no text, blank, too long, or holds something that cannot be printed.
    """
    if isinstance(value, str) and len(value) <= _LONGEST_LINE:
        if value.strip() and value.isprintable():
            return value
        given = ascii(value)
    elif isinstance(value, str):
        given = f"{len(value)} characters long"
    else:
        given = f"a value of type {type(value).__name__}"
    raise ParameterError(
        f"{name} is {given}; expected one line of at most {_LONGEST_LINE} printable characters "
        f"(for example {name}='people 2024')"
    )


def amount_text(amount: float, *, up: bool) -> str:
    """Return an amount with six digits, on the side that promises nothing too much.

    Parameters
    ----------
    amount : float
    up : bool
        True for what is spent, False for what is left.

    Returns
    -------
    str
    """
    side = ROUND_CEILING if up else ROUND_FLOOR
    number = Context(prec=6, rounding=side).create_decimal(repr(amount))
    return f"{float(number):.6g}" if number else "0"


def read_budget(epsilon: str, delta: str) -> Budget:
    """Read stored amounts back.

    Parameters
    ----------
    epsilon, delta : str
        Hexadecimal doubles.

    Returns
    -------
    Budget

    Raises
    ------
    ParameterError
        If one is out of range, so that damage never lowers a sum.
    """
    return Budget(float.fromhex(epsilon), float.fromhex(delta))


def decimal(amount: float) -> Fraction:
    """Return the decimal number that a double is printed as: ten times 0.1 is 1."""
    return Fraction(repr(amount))


def rounded(amount: Fraction, toward: float) -> float:
    """Return the nearest double that is not printed as a number on the wrong side."""
    near = float(amount)
    wrong = decimal(near) < amount if toward > 0 else decimal(near) > amount
    return math.nextafter(near, toward) if wrong else near


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
        raise LedgerError(f"{str(path)!r} cannot be opened or written ({error.strerror})") from None
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ParameterError):
            raise LedgerError(f"{str(path)!r} is damaged; expected a ledger") from None
        raise LedgerError(f"{str(path)!r} {_reason(error)}") from None


def _reason(error: Exception) -> str:
    text = str(error)
    if isinstance(error, sqlite3.ProgrammingError):
        return "is closed or belongs to another thread; expected one Ledger(path) for each thread"
    if "locked" in text or "busy" in text:
        return f"is in use by another process; gave up after {_PATIENCE:.0f} s (try again)"
    if "readonly" in text or "unable to open" in text:
        return "cannot be written; expected a ledger in a folder you may write to"
    if "full" in text or "I/O" in text:
        return "cannot be written: the disk is full or failing"
    return "is not a ledger or is damaged"

"""A ledger's file: how it is made, opened, read and changed."""

from __future__ import annotations

import hashlib
import json
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
from typing import Any

from attrs import frozen

from nolook import _files
from nolook._strength import six_digits
from nolook._validation import one_line
from nolook.errors import LedgerError, ParameterError
from nolook.privacy.guarantee import Budget, Relation

_APPLICATION = 0x6E6C6B31  # marks the file as a ledger
_VERSION = 1
_PATIENCE = 30.0  # seconds to wait for another process that is writing

_COMPANIONS = ("-journal", "-wal", "-shm")  # what SQLite may keep beside a database
_LONGEST_LINE = 500

# Details are for the reader only: what a release is of and where it went. Amounts are hexadecimal
# doubles: exact, and readable back bit for bit.
_SCHEMA = (
    """CREATE TABLE details (
    id INTEGER PRIMARY KEY,
    data TEXT,
    schema TEXT,
    about TEXT,
    output TEXT,
    who TEXT,
    unit TEXT
) STRICT""",
    """CREATE TABLE ledger (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    relation TEXT NOT NULL,
    created TEXT NOT NULL,
    changes INTEGER NOT NULL,
    seal TEXT NOT NULL
) STRICT""",
    """CREATE TABLE release (
    id INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    description TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    relation TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'complete', 'refunded')),
    reason TEXT
) STRICT""",
)
_TERMS = "SELECT name, epsilon, delta, relation, created, changes, seal FROM ledger"
_RELEASES = """SELECT id, time, description, epsilon, delta, relation, state, reason,
    data, schema, about, output, who, unit FROM release LEFT JOIN details USING (id) ORDER BY id"""


@frozen
class Contents:
    """The entries that one transaction saw, as sealed; a release's details are its last six."""

    terms: tuple[Any, ...]
    releases: list[tuple[Any, ...]]
    changes: int

    def continues(self, seen: Contents) -> bool:
        """Return whether the file that said `seen` may say this later: nothing was lost."""
        kept = zip(seen.releases, self.releases, strict=False)
        return (
            self.terms == seen.terms
            and self.changes >= seen.changes
            and len(self.releases) >= len(seen.releases)
            and all(before[:6] == after[:6] for before, after in kept)
        )


class LedgerFile:
    """An open ledger's file."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._owner = os.getpid()
        self._seen: Contents | None = None
        self._identity = _identity(place)
        self.database = sqlite3.connect(
            f"{place.resolve().as_uri()}?mode=rw", uri=True, timeout=_PATIENCE, isolation_level=None
        )
        try:
            # A commit returns once it and the removal of its journal are on disk.
            self.database.execute("PRAGMA synchronous = EXTRA")
            self._check_in_place()
        except BaseException:
            self.database.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Contents]:
        """Yield the file's content at one moment."""
        self._check_owner()
        with one_line_errors(self._place), _transaction(self.database, "DEFERRED"):
            self._seen = self._contents()
            yield self._seen

    @contextmanager
    def writing(self) -> Iterator[Contents]:
        """Yield the file's content under the only write lock; keep all changes or none.

        When this ends without an error, the changes are on disk in the file of this name.
        """
        self._check_owner()
        with one_line_errors(self._place):
            with _transaction(self.database, "IMMEDIATE"):
                self._seen = self._contents()
                yield self._seen
                _seal(self.database)
                written = self._contents()
            self._seen = written
            self._check_in_place()

    def close(self) -> None:
        """Close the file. Nothing is pending: every change reached the disk when it was made."""
        with suppress(sqlite3.Error):
            self.database.close()

    def _check_owner(self) -> None:
        """Refuse a fork's copy: no process may use another's connection, not even to read."""
        if os.getpid() != self._owner:
            raise LedgerError(
                f"{str(self._place)!r} was opened by the parent process (open it again in this one)"
            )

    def _contents(self) -> Contents:
        self._check_in_place()
        _check_format(self.database, self._place)
        contents = _read(self.database)
        if contents is None:
            raise LedgerError(f"{str(self._place)!r} is damaged (restore a copy)")
        if self._seen is not None and not contents.continues(self._seen):
            raise LedgerError(
                f"{str(self._place)!r} is an older copy (use the file with every release)"
            )
        return contents

    def _check_in_place(self) -> None:
        """Refuse a file that its name no longer leads to: a charge there would be lost."""
        if _identity(self._place) != self._identity:
            raise LedgerError(
                f"{str(self._place)!r} was moved or replaced while it was open (open it again)"
            )


def create_file(place: Path, budget: Budget, name: str, relation: Relation) -> None:
    """Make a ledger's file complete, then give it its name; an existing file is never touched."""
    if os.path.lexists(place):
        raise FileExistsError
    for ending in _COMPANIONS:
        # SQLite would play the rest of a deleted ledger back into the new one.
        if os.path.lexists(f"{place}{ending}"):
            raise LedgerError(
                f"{str(place) + ending!r} was left by a deleted ledger "
                "(remove it or choose another name)"
            )
    with tempfile.TemporaryDirectory(prefix=".ledger-", dir=place.parent) as folder:
        draft = Path(folder) / "draft"
        with closing(sqlite3.connect(draft, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = OFF")  # it is flushed once, as a whole
            with _transaction(database, "IMMEDIATE"):
                for table in _SCHEMA:
                    database.execute(table)
                terms = (name, budget.epsilon.hex(), budget.delta.hex(), relation, now())
                database.execute("INSERT INTO ledger VALUES (1, ?, ?, ?, ?, ?, 0, '')", terms)
                _seal(database)
                database.execute(f"PRAGMA application_id = {_APPLICATION}")
                database.execute(f"PRAGMA user_version = {_VERSION}")
        _files.flush(draft)
        _files.link(draft, place)


def _check_format(database: sqlite3.Connection, place: Path) -> None:
    application = database.execute("PRAGMA application_id").fetchone()[0]
    version = database.execute("PRAGMA user_version").fetchone()[0]
    tables = database.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
    if application != _APPLICATION:
        raise LedgerError(f"{str(place)!r} is not a ledger")
    if version != _VERSION:
        raise LedgerError(
            f"{str(place)!r} has ledger version {version}; expected {_VERSION} (made by another "
            "version of nolook)"
        )
    # Nothing but the tables as they are made here: no trigger, no view, no weaker check.
    sound = (
        tables == [(table,) for table in _SCHEMA]
        and database.execute("PRAGMA quick_check").fetchall() == [("ok",)]
        # A write-ahead log is a second file, and charges could be lost with it.
        and database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    )
    if not sound:
        raise LedgerError(f"{str(place)!r} is damaged (restore a copy)")


@contextmanager
def _transaction(database: sqlite3.Connection, kind: str) -> Iterator[None]:
    """Run the block in a transaction; all of its changes are kept, or none."""
    try:
        # SQLite takes a file whose counter is that of the last transaction for unchanged: without
        # its cache, a copy that was put back and written to by another process is read anew.
        database.execute("PRAGMA shrink_memory")
        database.execute(f"BEGIN {kind}")
        yield
        database.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def _read(database: sqlite3.Connection) -> Contents | None:
    """Read everything; return None if it is not what was written."""
    ledgers = database.execute(_TERMS).fetchall()
    releases = database.execute(_RELEASES).fetchall()
    if len(ledgers) != 1:
        return None
    *terms, changes, seal = ledgers[0]
    # Releases are numbered without a gap and never removed: one that is missing was lost.
    whole = [row[0] for row in releases] == list(range(1, len(releases) + 1))
    if not whole or seal != _digest(terms, changes, releases):
        return None
    return Contents(tuple(terms), releases, changes)


def _seal(database: sqlite3.Connection) -> None:
    """Count a change, and renew the digest of all that the file says."""
    database.execute("UPDATE ledger SET changes = changes + 1")
    *terms, changes, _ = database.execute(_TERMS).fetchone()
    seal = _digest(terms, changes, database.execute(_RELEASES).fetchall())
    database.execute("UPDATE ledger SET seal = ?", (seal,))


def _digest(terms: list[Any], changes: int, releases: list[tuple[Any, ...]]) -> str:
    """Return the SHA-256 of all that a ledger says, in hexadecimal."""
    text = json.dumps([terms, changes, releases])
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _identity(place: Path) -> tuple[int, int]:
    """Return the identity of a file, which no other file of its name has or had."""
    status = place.stat()
    return status.st_dev, status.st_ino


def now() -> str:
    """Return the time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_budget(value: object, name: str) -> Budget:
    """Return a budget; a bare number is refused."""
    if isinstance(value, Budget):
        return value
    raise ParameterError(
        f"{name} is a value of type {type(value).__name__}; expected nolook.Budget(epsilon, delta)"
    )


def check_line(value: object, name: str) -> str:
    """Return a text that fits on one line of a list: printable, not blank, not too long."""
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


def as_line(text: str | None) -> str | None:
    """Return a text that may hold anything as a line of a list."""
    line = None if text is None else one_line(text)
    return line if line is None or len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3]}..."


def amount_text(amount: float, *, up: bool) -> str:
    """Return an amount with six digits, rounded `up` (what is spent) or down (what is left)."""
    side = ROUND_CEILING if up else ROUND_FLOOR
    number = Context(prec=6, rounding=side).create_decimal(repr(amount))
    return six_digits(float(number)) if number else "0"


def read_budget(epsilon: str, delta: str) -> Budget:
    """Read stored hexadecimal doubles; one out of range is an error: damage never lowers a sum."""
    return Budget(float.fromhex(epsilon), float.fromhex(delta))


def decimal(amount: float) -> Fraction:
    """Return the decimal number a double is printed as, so that ten times 0.1 is 1."""
    return Fraction(repr(amount))


def rounded(amount: Fraction, toward: float) -> float:
    """Return the nearest double that is not printed as a number on the wrong side."""
    near = float(amount)
    wrong = decimal(near) < amount if toward > 0 else decimal(near) > amount
    return math.nextafter(near, toward) if wrong else near


@contextmanager
def one_line_errors(path: Path) -> Iterator[None]:
    """Turn whatever SQLite or the file system raises into a one-line LedgerError."""
    try:
        yield
    except FileExistsError:
        raise LedgerError(f"{str(path)!r} exists (open it by Ledger(path))") from None
    except OSError as error:
        raise LedgerError(f"{str(path)!r} cannot be opened or written ({error.strerror})") from None
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ParameterError):
            raise LedgerError(f"{str(path)!r} is damaged (restore a copy)") from None
        raise LedgerError(f"{str(path)!r} {_reason(error)}") from None


def _reason(error: Exception) -> str:
    text = str(error)
    if isinstance(error, sqlite3.ProgrammingError):
        return "is closed or belongs to another thread (open it by Ledger(path) in each thread)"
    if "locked" in text or "busy" in text:
        return f"is in use by another process; gave up after {_PATIENCE:.0f} s (try again)"
    if "readonly" in text or "unable to open" in text:
        return "cannot be written (keep it in a folder you may write to)"
    if "full" in text or "I/O" in text:
        return "cannot be written: the disk is full or failing"
    return "is not a ledger or is damaged"

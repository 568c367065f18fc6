"""The SQLite file of one batch at a server: reports, sums, state, secret and answer.

Every change is a transaction, which is on the disk before anyone hears of it. What is deleted
leaves the file: SQLite overwrites it, or cuts it off.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Words
from nolook._files import flush, open_own
from nolook.federated.batch import Batch
from nolook.federated.disk import make_folder, os_errors_as_store_errors
from nolook.federated.failures import DiskFullError, RefusedError, ReportError, StoreError
from nolook.federated.point_functions import Checked
from nolook.federated.reports import ID_BYTES, check

__all__ = ["PAGE", "Agreement", "Arrival", "Store"]

#: Entries that a server sends at once.
PAGE = 8192

_APPLICATION = 0x6E6C6B66  # marks the file as that of a federated batch
_LAYOUT = 4
_PRAGMAS = (
    "locking_mode = EXCLUSIVE",  # one process uses a batch's file; the lock ends with it
    "auto_vacuum = FULL",
    "secure_delete = FAST",
    "temp_store = MEMORY",
    "journal_mode = WAL",
    "synchronous = FULL",
    "wal_checkpoint(TRUNCATE)",  # what was deleted before a crash may be there
)
_SQL = Path(__file__).with_suffix(".sql").read_text(encoding="ascii")
_TABLES = {text.split()[2]: text for text in map(str.strip, _SQL.split(";")) if text}


@frozen
class Agreement:
    """A set of reports: how many, the digest of their sorted ids, how many were rejected."""

    count: int
    digest: str
    rejected: int = 0


@frozen
class Arrival:
    """A checked report, and what sent it: the digest of a token that may send `most` reports."""

    report_id: bytes
    report: bytes
    token: bytes = b""
    most: int | None = None


def _column(name: str, table: str = "batch") -> Any:  # noqa: ANN401 -- whatever SQLite holds
    """Return a property: what is stored now."""
    return property(lambda store: store._one(f"SELECT {name} FROM {table}"))  # noqa: S608


class Store:
    """One batch at one server, in a folder of its own; any thread may use it.

    Reports have positions from 1. A batch that is new here keeps the `secret` of its noise. Raises
    a StoreError if the file is damaged, belongs to another batch or role, or is in use.
    """

    def __init__(self, folder: Path, batch: Batch, role: int, secret: bytes) -> None:
        self.batch = batch
        self.role = role
        self._place = folder / "state.sqlite"
        self._lock = threading.RLock()
        make_folder(folder)
        with os_errors_as_store_errors(folder), self._locked():
            os.close(open_own(self._place, os.O_CREAT))
            flush(folder)
            self._database = sqlite3.connect(
                self._place, isolation_level=None, check_same_thread=False, timeout=1.0
            )
        try:
            for pragma in _PRAGMAS:
                self._rows(f"PRAGMA {pragma}")
            if not self._one("SELECT count(*) FROM sqlite_schema"):
                self._create(secret)
            self._check()
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        """Close the file; nothing is pending."""
        with self._locked():
            self._database.close()

    #: One of open, closed, frozen, answered, ended.
    state: str = _column("state")
    #: The 32 secret bytes of the noise; a batch that has ended has none.
    secret: bytes = _column("secret")
    #: The answer that was given.
    answer: bytes | None = _column("answer")
    #: Whether reports and messages were deleted: `sums` is final, or the batch has ended.
    erased: bool = _column("erased")
    #: The number of reports that were ever stored.
    count: int = _column("coalesce(max(position), 0)", "report")
    #: The number of reports that `sums` counts and messages are there for.
    checked: int = _column("coalesce(max(position), 0)", "message")

    @property
    def sums(self) -> Words:
        """Shares of the counts of the first `checked` reports; once `erased`, of the agreed set."""
        ((content, checksum),) = self._rows("SELECT sums, checksum FROM batch")
        if content is None or hashlib.sha256(content).digest() != checksum:
            raise StoreError(f"{str(self._place)!r} is damaged; the sum of its reports is lost")
        sums = np.frombuffer(content, "<u8").astype(np.uint64)
        return sums.reshape(len(self.batch.classes), -1)

    def add(self, arrivals: Sequence[Arrival]) -> list[bool | RefusedError]:
        """Store checked reports, all with one flush.

        Return for each whether it is new, or why it is not stored. A report that is there already
        is not new, whatever the state, and does not count against its token.
        """
        with self._transaction():
            return [self._enter(one) for one in arrivals]

    def _enter(self, one: Arrival) -> bool | RefusedError:
        if self._rows("SELECT 1 FROM report WHERE id = ?", one.report_id):
            return False
        if self.state != "open":
            return RefusedError("the batch is closed; it takes no more reports", 409)
        if one.most is not None and not self._rows(
            "INSERT INTO sender VALUES (?, 1) ON CONFLICT DO UPDATE SET reports = reports + 1 "
            "WHERE reports < ? RETURNING reports",
            one.token,
            one.most,
        ):
            return RefusedError(f"the token has sent all the reports it may ({one.most})", 403)
        self._rows("INSERT INTO report (id) VALUES (?)", one.report_id)
        self._rows("INSERT INTO half VALUES (last_insert_rowid(), ?)", one.report)
        return True

    def halves(
        self, after: int, last: int, most: int, *, outside: bool = False
    ) -> Iterator[NDArray[np.uint8]]:
        """Yield the reports at some positions as rows of uint8, at most some at once.

        Each is the one that was accepted. If `outside`, only those that are not in the agreed set.
        """
        query = (
            "SELECT position, id, content FROM report LEFT JOIN half USING (position) "
            "WHERE position > ? AND position <= ? AND outside >= ? ORDER BY position LIMIT ?"
        )
        while rows := self._rows(query, after, last, outside, most):
            try:
                found = [check(self.batch, self.role, half or b"") for _, _, half in rows]
            except ReportError:
                found = []
            if found != [name for _, name, _ in rows]:
                raise StoreError(f"{str(self._place)!r} is damaged; it lost accepted reports")
            yield np.frombuffer(b"".join(row[2] for row in rows), np.uint8).reshape(len(rows), -1)
            after = rows[-1][0]

    def add_checked(self, found: Checked) -> None:
        """Store the messages about the next reports, and add these to the sums."""
        with self._transaction():
            for message in found.messages:
                self._rows("INSERT INTO message (content) VALUES (?)", message.tobytes())
            self._keep(self.sums + found.counts)

    def finish(self, sums: Words) -> None:
        """Store the sums of the agreed set, and delete reports and messages."""
        with self._transaction():
            self._keep(sums)
            self._erase()

    def end(self) -> None:
        """Answer nothing new again; delete all but ids and the answer."""
        with self._transaction():
            self._rows("UPDATE batch SET state = 'ended', secret = NULL, sums = NULL")
            self._erase()
        self.shrink()

    def shrink(self) -> None:
        """Cut what was deleted off the files."""
        self._rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def entries(self, after: bytes = b"", most: int = PAGE) -> list[tuple[bytes, int]]:
        """Return at most some entries by id, after an id: id with message, and the position."""
        query = (
            "SELECT id, content, position FROM report JOIN message USING (position) "
            "WHERE id > ? ORDER BY id LIMIT ?"
        )
        return [(name + content, at) for name, content, at in self._rows(query, after, most)]

    def all_entries(self) -> Iterator[tuple[bytes, int]]:
        """Yield every entry."""
        after = b""
        while page := self.entries(after):
            yield from page
            after = page[-1][0][:ID_BYTES]

    @cached_property
    def listed(self) -> tuple[int, str]:
        """The number of entries of a closed batch and the digest of all, in hexadecimal.

        Raises a RefusedError (503) while checking goes on.
        """
        if (checked := self.checked) < self.count:
            how_far = f"{checked:,} of {self.count:,}"
            raise RefusedError(f"the reports are still being checked ({how_far}); ask again", 503)
        found, count = hashlib.sha256(), 0
        for entry, _ in self.all_entries():
            found.update(entry)
            count += 1
        return count, found.hexdigest()

    @property
    def agreed(self) -> Agreement | None:
        """The set that this server found both have, if it knows."""
        query = "SELECT agreed_count, agreed_digest, rejected FROM batch"
        ((count, digest, rejected),) = self._rows(query)
        return None if count is None else Agreement(count, digest, rejected)

    @property
    def times(self) -> tuple[str, str | None]:
        """When the batch was opened here, and when it was closed."""
        ((opened, closed),) = self._rows("SELECT opened, closed FROM batch")
        return opened, closed

    def shut(self) -> None:
        """Take no more reports."""
        self._rows(
            "UPDATE batch SET state = 'closed', closed = strftime('%Y-%m-%d %H:%M UTC', 'now') "
            "WHERE state = 'open'"
        )

    def propose(self, agreement: Agreement, outside: Iterable[int]) -> None:
        """Store which reports count: all but those at some positions."""
        with self._transaction():
            self._rows("UPDATE report SET outside = 0 WHERE outside != 0")
            for position in outside:
                self._rows("UPDATE report SET outside = 1 WHERE position = ?", position)
            self._rows(
                "UPDATE batch SET agreed_count = ?, agreed_digest = ?, rejected = ? "
                "WHERE state = 'closed'",
                agreement.count,
                agreement.digest,
                agreement.rejected,
            )

    def freeze(self, noise: bytes) -> None:
        """Store that the other server found the same set, and what noise is drawn here."""
        change = "UPDATE batch SET state = 'frozen', noise = ? WHERE state = 'closed'"
        self._rows(change, noise)

    def check_noise(self, noise: bytes) -> None:
        """Refuse other noise than before, for which no ledger was charged."""
        if self._one("SELECT noise FROM batch") != noise:
            raise RefusedError(
                "this nolook, or a library it uses, draws other noise than the one that froze the "
                "batch; have it answered by those versions",
                409,
            )

    def keep_answer(self, content: bytes) -> None:
        """Store the answer before anyone sees it."""
        change = "UPDATE batch SET answer = ?, state = 'answered' WHERE state = 'frozen'"
        self._rows(change, content)

    def _create(self, secret: bytes) -> None:
        batch = self.batch
        with self._transaction():
            for table in _TABLES.values():
                self._rows(table)
            insert = (
                "INSERT INTO batch (id, digest, role, state, secret) VALUES (1, ?, ?, 'open', ?)"
            )
            self._rows(insert, batch.digest, self.role, secret)
            self._keep(np.zeros((len(batch.classes), len(batch.points())), np.uint64))
            self._rows(f"PRAGMA application_id = {_APPLICATION}")
            self._rows(f"PRAGMA user_version = {_LAYOUT}")

    def _check(self) -> None:
        tables = self._rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
        marks = self._one("PRAGMA application_id"), self._one("PRAGMA user_version")
        sound = dict(tables) == _TABLES and marks == (_APPLICATION, _LAYOUT)
        # Halves are checked when they are read; to look at all of them would take minutes.
        for table in ("batch", "report", "sender") if sound else ():
            sound = sound and self._one(f"PRAGMA quick_check({table})") == "ok"
        if not sound:
            raise StoreError(f"{str(self._place)!r} is damaged, or another nolook made it")
        if self._rows("SELECT digest, role FROM batch") != [(self.batch.digest, self.role)]:
            raise StoreError(
                f"{str(self._place)!r} is of another batch or role; expected a folder of its own "
                f"for batch {self.batch.name!r} with these parameters"
            )
        if self._one("SELECT count(*) FROM report") != self.count:
            raise StoreError(f"{str(self._place)!r} is damaged; it lost accepted reports")

    def _keep(self, sums: Words) -> None:
        content = sums.astype("<u8").tobytes()
        change = "UPDATE batch SET sums = ?, checksum = ?"
        self._rows(change, content, hashlib.sha256(content).digest())

    def _erase(self) -> None:
        for change in ("UPDATE batch SET erased = 1", "DELETE FROM half", "DELETE FROM message"):
            self._rows(change)

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._locked():
            return self._database.execute(query, values).fetchall()

    def _one(self, query: str) -> Any:  # noqa: ANN401 -- whatever SQLite holds
        return self._rows(query)[0][0]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the block in a transaction; when it ends without an error, it is on the disk."""
        with self._locked(), self._database:
            self._rows("BEGIN IMMEDIATE")
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one thread in; turn an error of SQLite into one line."""
        try:
            with self._lock:
                yield
        except sqlite3.Error as error:
            text = str(error)
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise DiskFullError(
                    f"{str(self._place)!r} cannot be written: the disk is full (free some "
                    "space; the server then continues automatically)"
                ) from None
            reason = "is in use by another server" if "locked" in text else "is damaged or closed"
            if "full" in text or "I/O" in text or "unable" in text or "readonly" in text:
                reason = "cannot be written"
            raise StoreError(f"{str(self._place)!r} {reason}") from None

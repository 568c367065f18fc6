"""What a server knows of one batch: reports, state, answers; nothing accepted is ever lost.

A report is first flushed to its segment, then entered here; a crash between the two leaves a
record that nothing refers to, which the next start cuts off.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nolook._files import flush
from nolook.federated.batch import Batch
from nolook.federated.disk import make_folder, os_errors_as_store_errors
from nolook.federated.failures import RefusedError, StoreError
from nolook.federated.server.segments import LARGEST_FILE, Segments
from nolook.federated.wire import ID_BYTES
from nolook.privacy.noise import SAMPLER_VERSION

__all__ = ["Agreement", "Store"]

_APPLICATION = 0x6E6C6B66  # marks the file as that of a federated batch
_VERSION = 1
_SAMPLER_BITS = 8  # the file's user_version has its layout below, the sampler less 1 above
_DIGEST = 32

_SCHEMA = (
    """CREATE TABLE batch (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    digest BLOB NOT NULL,
    role INTEGER NOT NULL,
    secret BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'frozen', 'answered', 'retired')),
    agreed_count INTEGER,
    agreed_digest BLOB,
    summed INTEGER NOT NULL DEFAULT 0
) STRICT""",
    """CREATE TABLE report (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    outside INTEGER NOT NULL DEFAULT 0
) STRICT""",
    """CREATE TABLE answer (
    question TEXT PRIMARY KEY,
    content BLOB NOT NULL
) STRICT""",
)


@dataclass(frozen=True, slots=True)
class Agreement:
    """A set of reports: how many, and the SHA-256 of their sorted ids."""

    count: int
    digest: bytes


class Store:
    """The files of one batch at one server, in a folder of their own; any thread may use it.

    `secret` is the fingerprint of the noise's secret, which a batch that is new here keeps. Raises
    a StoreError if a file is damaged, belongs to another batch or role, or is in use.
    """

    def __init__(
        self, folder: Path, batch: Batch, role: int, secret: bytes, largest_file: int = LARGEST_FILE
    ) -> None:
        self._place = folder / "state.sqlite"
        self._lock = threading.RLock()
        with os_errors_as_store_errors(folder), self._sqlite_errors_as_store_errors():
            make_folder(folder)
            self._database = sqlite3.connect(
                self._place, isolation_level=None, check_same_thread=False, timeout=1.0
            )
        try:
            self._open(folder, batch, role, secret, largest_file)
        except BaseException:
            self._database.close()
            raise

    def _open(
        self, folder: Path, batch: Batch, role: int, secret: bytes, largest_file: int
    ) -> None:
        with os_errors_as_store_errors(folder), self._sqlite_errors_as_store_errors():
            # One process alone uses a batch's files; the lock ends with it.
            for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
                self._database.execute(f"PRAGMA {pragma}")
            self._create(batch, role, secret)
            flush(folder)
            self._check(batch, role)
            count = int(self._one("SELECT count(*) FROM report"))
            if self._one("SELECT coalesce(max(position) + 1, 0) FROM report") != count:
                raise StoreError(f"{str(self._place)!r} is damaged; expected all reports")
            self._count = count
        kept = 0 if self.summed else count
        self._segments = Segments(
            folder / "segments", batch, role, count=kept, largest=largest_file
        )

    def close(self) -> None:
        """Close the files; nothing is pending."""
        with self._lock:
            self._segments.close()
            with suppress(sqlite3.Error):
                self._database.close()

    @property
    def state(self) -> str:
        """One of open, closed, frozen, answered, retired."""
        return str(self._one("SELECT state FROM batch"))

    @property
    def secret(self) -> bytes:
        """The fingerprint of the noise's secret."""
        return bytes(self._one("SELECT secret FROM batch"))

    @property
    def count(self) -> int:
        """How many reports are stored."""
        return self._count

    @property
    def summed(self) -> bool:
        """Whether the final sum is stored, so that the reports themselves may go."""
        return bool(self._one("SELECT summed FROM batch"))

    def add(self, reports: Sequence[tuple[bytes, bytes]]) -> list[bool | RefusedError]:
        """Store checked reports, each an id and the whole, all with one flush.

        Return for each whether it is new, or why it is not stored. One that is there already is no
        news, whatever the state.
        """
        with self._lock, self._sqlite_errors_as_store_errors():
            is_open = self.state == "open"
            new: dict[bytes, bytes] = {}
            outcomes = [self._outcome(*report, is_open=is_open, new=new) for report in reports]
            if new:
                self._segments.append(b"".join(new.values()))
                rows = [
                    (position, report_id, report[-_DIGEST:])
                    for position, (report_id, report) in enumerate(new.items(), self._count)
                ]
                with self._transaction():
                    self._database.executemany(
                        "INSERT INTO report (position, id, digest) VALUES (?, ?, ?)", rows
                    )
                self._count += len(rows)
            return outcomes

    def shut(self) -> None:
        """Take no more reports."""
        self._set("state = 'closed'", "open")

    def retire(self) -> None:
        """Never answer again."""
        self._set("state = 'retired'", "open", "closed", "frozen", "answered")

    def ids(self) -> bytes:
        """Return the sorted ids of all reports, one behind the other."""
        with self._lock, self._sqlite_errors_as_store_errors():
            rows = self._database.execute("SELECT id FROM report ORDER BY id")
            return b"".join(row[0] for row in rows)

    @property
    def agreed(self) -> Agreement | None:
        """The set that this server found both have, if it knows."""
        ((count, digest),) = self._rows("SELECT agreed_count, agreed_digest FROM batch")
        return None if count is None else Agreement(count, digest)

    def propose(self, ids: bytes) -> None:
        """Store which reports both servers have, by their sorted ids; all of them are here."""
        agreed = {ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES)}
        with self._lock, self._sqlite_errors_as_store_errors(), self._transaction():
            every = self._database.execute("SELECT id FROM report").fetchall()
            outside = [row for row in every if row[0] not in agreed]
            self._database.execute("UPDATE report SET outside = 0 WHERE outside != 0")
            self._database.executemany("UPDATE report SET outside = 1 WHERE id = ?", outside)
            self._database.execute(
                "UPDATE batch SET agreed_count = ?, agreed_digest = ? WHERE state = 'closed'",
                (len(agreed), hashlib.sha256(ids).digest()),
            )

    def freeze(self) -> None:
        """Store that the other server found the same set."""
        self._set("state = 'frozen'", "closed")

    def outside(self) -> NDArray[np.int64]:
        """Return the positions of the reports that are not in the agreed set."""
        rows = self._rows("SELECT position FROM report WHERE outside != 0 ORDER BY position")
        return np.array(rows, dtype=np.int64).reshape(-1)

    def content_digest(self) -> bytes:
        """Return the SHA-256 of the agreed reports: of each the id and digest, sorted."""
        with self._lock, self._sqlite_errors_as_store_errors():
            rows = self._database.execute(
                "SELECT id, digest FROM report WHERE outside = 0 ORDER BY id"
            )
            digest = hashlib.sha256()
            for row in rows:
                digest.update(row[0] + row[1])
        return digest.digest()

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return stored reports as rows of uint8, each the one that was accepted."""
        records = self._segments.read(start, stop)
        rows = self._rows(
            "SELECT digest FROM report WHERE position >= ? AND position < ? ORDER BY position",
            (start, stop),
        )
        if b"".join(row[0] for row in rows) != records[:, -_DIGEST:].tobytes():
            raise StoreError(f"{str(self._place)!r} does not fit the stored reports")
        return records

    def drop_reports(self) -> None:
        """Store that the final sum is on the disk, then delete the reports."""
        with self._lock:
            if self._set("summed = 1", "frozen", "answered", "retired"):
                self._segments.drop()

    def answers(self) -> dict[str, bytes]:
        """Return all answers given, by question."""
        return dict(self._rows("SELECT question, content FROM answer"))

    def answer(self, question: str, content: bytes) -> None:
        """Store an answer before anyone sees it, and with the first which sampler drew it."""
        with self._lock, self._sqlite_errors_as_store_errors(), self._transaction():
            self._database.execute("INSERT INTO answer VALUES (?, ?)", (question, content))
            answered = "UPDATE batch SET state = 'answered' WHERE state = 'frozen'"
            if self._database.execute(answered).rowcount:
                version = _VERSION + (SAMPLER_VERSION - 1 << _SAMPLER_BITS)
                self._database.execute(f"PRAGMA user_version = {version}")

    def check_sampler(self) -> None:
        """Refuse another sampler, which would draw other noise that no ledger was charged for."""
        first = 1 + (self._one("PRAGMA user_version") >> _SAMPLER_BITS)
        if self.state == "answered" and first != SAMPLER_VERSION:
            raise RefusedError(
                f"the noise of the first answer is of version {first} of the sampler, and here is "
                f"version {SAMPLER_VERSION}; have new questions answered by that version of nolook",
                409,
            )

    def _outcome(
        self, report_id: bytes, report: bytes, *, is_open: bool, new: dict[bytes, bytes]
    ) -> bool | RefusedError:
        rows = self._rows("SELECT digest FROM report WHERE id = ?", (report_id,))
        known = rows[0][0] if rows else new.get(report_id, b"")[-_DIGEST:]
        if known:
            if known == report[-_DIGEST:]:
                return False
            return RefusedError("a report of this id with other content is stored already", 409)
        if not is_open:
            return RefusedError("the batch is closed; it takes no more reports", 409)
        new[report_id] = report
        return True

    def _create(self, batch: Batch, role: int, secret: bytes) -> None:
        with self._transaction():
            if self._one("PRAGMA user_version") or self._one("SELECT count(*) FROM sqlite_schema"):
                return
            for table in _SCHEMA:
                self._database.execute(table)
            self._database.execute(
                "INSERT INTO batch (id, digest, role, secret, state) VALUES (1, ?, ?, ?, 'open')",
                (batch.digest, role, secret),
            )
            self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._database.execute(f"PRAGMA user_version = {_VERSION}")

    def _check(self, batch: Batch, role: int) -> None:
        tables = self._rows("SELECT sql FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
        sound = (
            self._one("PRAGMA application_id") == _APPLICATION
            and self._one("PRAGMA user_version") % (1 << _SAMPLER_BITS) == _VERSION
            and tables == [(table,) for table in _SCHEMA]
            and self._one("PRAGMA quick_check") == "ok"
        )
        if not sound:
            raise StoreError(f"{str(self._place)!r} is damaged, or another nolook made it")
        if self._rows("SELECT digest, role FROM batch") != [(batch.digest, role)]:
            raise StoreError(
                f"{str(self._place)!r} is of another batch or role; expected a folder of its own "
                f"for batch {batch.name!r} with these parameters"
            )

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with self._lock, self._sqlite_errors_as_store_errors():
            return self._database.execute(query, values).fetchall()

    def _one(self, query: str) -> Any:  # noqa: ANN401 -- whatever SQLite holds
        return self._rows(query)[0][0]

    def _set(self, change: str, *states: str) -> bool:
        """Change the batch if it is in one of some states; tell whether it was."""
        places = ", ".join("?" * len(states))
        with self._lock, self._sqlite_errors_as_store_errors(), self._transaction():
            query = f"UPDATE batch SET {change} WHERE state IN ({places})"  # noqa: S608
            return self._database.execute(query, states).rowcount == 1

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Run the block in a transaction; when it ends without an error, it is on the disk."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
            yield
            self._database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def _sqlite_errors_as_store_errors(self) -> Iterator[None]:
        """Turn an error of SQLite into one line."""
        try:
            yield
        except sqlite3.Error as error:
            text = str(error)
            reason = "is in use by another server" if "locked" in text else "is damaged or closed"
            if "full" in text or "I/O" in text or "unable" in text or "readonly" in text:
                reason = "cannot be written"
            raise StoreError(f"{str(self._place)!r} {reason}") from None

"""What a server knows of one batch: reports, state, answers; nothing accepted is ever lost.

A report is first flushed to its segment, then entered here; a crash between the two leaves a
record that nothing refers to, which the next start cuts off.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._files import flush
from nolook.federated.batch import Batch
from nolook.federated.disk import make_folder, os_errors_as_store_errors
from nolook.federated.failures import RefusedError, StoreError
from nolook.federated.reports import ID_BYTES
from nolook.federated.server.segments import LARGEST_FILE, Segments

__all__ = ["Agreement", "Arrival", "Store"]

_APPLICATION = 0x6E6C6B66  # marks the file as that of a federated batch
_LAYOUT = 1
_TABLES = {
    "batch": """CREATE TABLE batch (
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
    summed INTEGER NOT NULL DEFAULT 0,
    answer BLOB
) STRICT""",
    "report": """CREATE TABLE report (
    position INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    outside INTEGER NOT NULL DEFAULT 0
) STRICT""",
    "sender": """CREATE TABLE sender (
    token BLOB PRIMARY KEY,
    reports INTEGER NOT NULL
) STRICT""",
}


@frozen
class Agreement:
    """A set of reports: how many, the SHA-256 of their sorted ids, how many were rejected."""

    count: int
    digest: bytes
    rejected: int = 0


@frozen
class Arrival:
    """A checked report, and what sent it: the digest of a token that may send `most` reports."""

    report_id: bytes
    report: bytes
    token: bytes = b""
    most: int | None = None


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
        kept = 0 if self.summed or self.state == "ended" else count
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
        """One of open, closed, frozen, answered, retired, ended."""
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

    def add(self, arrivals: Sequence[Arrival]) -> list[bool | RefusedError]:
        """Store checked reports, all with one flush.

        Return for each whether it is new, or why it is not stored. One that is there already is no
        news, whatever the state, and not counted as another one of its token.
        """
        with self._lock, self._sqlite_errors_as_store_errors():
            is_open = self.state == "open"
            new: dict[bytes, Arrival] = {}
            sent: dict[bytes, int] = {}
            outcomes = [self._outcome(one, new, sent, is_open=is_open) for one in arrivals]
            if new:
                self._segments.append(b"".join(one.report for one in new.values()))
                self._enter(list(new.values()), sent)
            return outcomes

    def _enter(self, new: list[Arrival], sent: dict[bytes, int]) -> None:
        rows = [(position, one.report_id) for position, one in enumerate(new, self._count)]
        with self._transaction():
            self._database.executemany("INSERT INTO report (position, id) VALUES (?, ?)", rows)
            self._database.executemany("REPLACE INTO sender VALUES (?, ?)", sent.items())
        self._count += len(rows)

    def shut(self) -> None:
        """Take no more reports."""
        self._set("state = 'closed'", "open")

    def retire(self) -> None:
        """Never answer again."""
        self._set("state = 'retired'", "open", "closed", "frozen", "answered")

    def end(self) -> None:
        """Answer nothing new again."""
        self._set("state = 'ended'", "open", "closed", "frozen", "answered", "retired")

    def erase(self) -> None:
        """Delete the reports of a batch that has ended; their ids stay."""
        with self._lock:
            self._segments.drop()

    def rows_by_id(self, after: bytes, most: int) -> list[tuple[bytes, int]]:
        """Return id and position of at most so many reports, by id, after an id."""
        query = "SELECT id, position FROM report WHERE id > ? ORDER BY id LIMIT ?"
        return [(row[0], row[1]) for row in self._rows(query, (after, most))]

    @property
    def agreed(self) -> Agreement | None:
        """The set that this server found both have, if it knows."""
        ((count, digest, rejected),) = self._rows(
            "SELECT agreed_count, agreed_digest, rejected FROM batch"
        )
        return None if count is None else Agreement(count, digest, rejected)

    @property
    def frozen(self) -> Agreement:
        """The agreed set of a frozen batch."""
        agreed = self.agreed
        if agreed is None:
            raise StoreError(f"{str(self._place)!r} is damaged; the agreed set was lost")
        return agreed

    def propose(self, agreement: Agreement, outside: NDArray[np.int64]) -> None:
        """Store which reports count: all but those at some positions."""
        with self._lock, self._sqlite_errors_as_store_errors(), self._transaction():
            self._database.execute("UPDATE report SET outside = 0 WHERE outside != 0")
            self._database.executemany(
                "UPDATE report SET outside = 1 WHERE position = ?", ((int(at),) for at in outside)
            )
            self._database.execute(
                "UPDATE batch SET agreed_count = ?, agreed_digest = ?, rejected = ? "
                "WHERE state = 'closed'",
                (agreement.count, agreement.digest, agreement.rejected),
            )

    def freeze(self, noise: bytes) -> None:
        """Store that the other server found the same set, and what noise is drawn here."""
        with self._lock, self._sqlite_errors_as_store_errors(), self._transaction():
            self._database.execute(
                "UPDATE batch SET state = 'frozen', noise = ? WHERE state = 'closed'",
                (noise,),
            )

    def outside(self) -> NDArray[np.int64]:
        """Return the positions of the reports that are not in the agreed set."""
        rows = self._rows("SELECT position FROM report WHERE outside != 0 ORDER BY position")
        return np.array(rows, dtype=np.int64).reshape(-1)

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return stored reports as rows of uint8, each the one that was accepted."""
        records = self._segments.read(start, stop)
        rows = self._rows(
            "SELECT id FROM report WHERE position >= ? AND position < ? ORDER BY position",
            (start, stop),
        )
        # A report ends with its id, which its content determines.
        if b"".join(row[0] for row in rows) != records[:, -ID_BYTES:].tobytes():
            raise StoreError(f"{str(self._place)!r} does not fit the stored reports")
        return records

    def drop_reports(self) -> None:
        """Store that the final sum is on the disk, then delete the reports."""
        with self._lock:
            if self._set("summed = 1", "frozen", "answered", "retired"):
                self._segments.drop()

    @property
    def answer(self) -> bytes | None:
        """The answer that was given."""
        answer: bytes | None = self._one("SELECT answer FROM batch")
        return answer

    def keep_answer(self, content: bytes) -> None:
        """Store the answer before anyone sees it."""
        with self._lock, self._sqlite_errors_as_store_errors(), self._transaction():
            self._database.execute(
                "UPDATE batch SET answer = ?, state = 'answered' WHERE state = 'frozen'",
                (content,),
            )

    def check_noise(self, noise: bytes) -> None:
        """Refuse other noise than before, for which no ledger was charged."""
        if self._one("SELECT noise FROM batch") != noise:
            raise RefusedError(
                "this nolook, or a library it uses, draws other noise than the one that froze the "
                "batch; have it answered by those versions",
                409,
            )

    def _outcome(
        self, one: Arrival, new: dict[bytes, Arrival], sent: dict[bytes, int], *, is_open: bool
    ) -> bool | RefusedError:
        if one.report_id in new or self._rows(
            "SELECT 1 FROM report WHERE id = ?", (one.report_id,)
        ):
            return False
        if not is_open:
            return RefusedError("the batch is closed; it takes no more reports", 409)
        if one.most is not None:
            if one.token not in sent:
                query = "SELECT reports FROM sender WHERE token = ?"
                rows = self._rows(query, (one.token,))
                sent[one.token] = rows[0][0] if rows else 0
            if sent[one.token] >= one.most:
                return RefusedError(
                    f"the token has sent all the reports it may ({one.most}); ask the server's "
                    "operator for another",
                    403,
                )
            sent[one.token] += 1
        new[one.report_id] = one
        return True

    def _create(self, batch: Batch, role: int, secret: bytes) -> None:
        with self._transaction():
            if self._one("SELECT count(*) FROM sqlite_schema"):
                return
            for table in _TABLES.values():
                self._database.execute(table)
            self._database.execute(
                "INSERT INTO batch (id, digest, role, secret, state) VALUES (1, ?, ?, ?, 'open')",
                (batch.digest, role, secret),
            )
            self._database.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._database.execute(f"PRAGMA user_version = {_LAYOUT}")

    def _check(self, batch: Batch, role: int) -> None:
        tables = self._rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
        marks = self._one("PRAGMA application_id"), self._one("PRAGMA user_version")
        sound = dict(tables) == _TABLES and marks == (_APPLICATION, _LAYOUT)
        if not sound or self._one("PRAGMA quick_check") != "ok":
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

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
from nolook.federated.by_format import id_bytes
from nolook.federated.disk import make_folder, os_errors_as_store_errors
from nolook.federated.failures import RefusedError, StoreError
from nolook.federated.point_batch import PointBatch
from nolook.federated.server.schema import APPLICATION, LAYOUT, SCHEMA, is_sound, upgrade
from nolook.federated.server.segments import LARGEST_FILE, Segments

__all__ = ["Agreement", "Arrival", "Store"]

_DIGEST = 32
_PAGE = 4096  # rows read at a time


@dataclass(frozen=True, slots=True)
class Agreement:
    """A set of reports: how many, the SHA-256 of their sorted ids, how many were rejected."""

    count: int
    digest: bytes
    rejected: int = 0


@dataclass(frozen=True, slots=True)
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
        self._id_bytes = id_bytes(batch)
        # An id of format 2 says what is in the report; one of format 1 does not.
        self._sealed = 0 if isinstance(batch, PointBatch) else _DIGEST
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
        rows = [
            (position, one.report_id, self._seal(one.report))
            for position, one in enumerate(new, self._count)
        ]
        with self._transaction():
            self._database.executemany(
                "INSERT INTO report (position, id, digest) VALUES (?, ?, ?)", rows
            )
            self._database.executemany("REPLACE INTO sender VALUES (?, ?)", sent.items())
        self._count += len(rows)

    def _seal(self, report: bytes) -> bytes:
        """Return what tells reports of one id apart."""
        return report[-self._sealed :] if self._sealed else b""

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

    def rows_by_id(self, after: bytes = b"", most: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yield id, position, digest and outside of reports, by id, some rows at a time."""
        left = self._count if most is None else most
        while left > 0:
            rows = self._rows(
                "SELECT id, position, digest, outside FROM report WHERE id > ? ORDER BY id LIMIT ?",
                (after, min(left, _PAGE)),
            )
            if not rows:
                return
            yield from rows
            after, left = rows[-1][0], left - len(rows)

    @property
    def agreed(self) -> Agreement | None:
        """The set that this server found both have, if it knows."""
        ((count, digest, rejected),) = self._rows(
            "SELECT agreed_count, agreed_digest, rejected FROM batch"
        )
        return None if count is None else Agreement(count, digest, rejected)

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
                "UPDATE batch SET state = 'frozen', noise = coalesce(noise, ?) "
                "WHERE state = 'closed'",
                (noise,),
            )

    def outside(self) -> NDArray[np.int64]:
        """Return the positions of the reports that are not in the agreed set."""
        rows = self._rows("SELECT position FROM report WHERE outside != 0 ORDER BY position")
        return np.array(rows, dtype=np.int64).reshape(-1)

    def content_digest(self) -> bytes:
        """Return the digest of the agreed reports: of their ids, and of content they do not name.

        In format 1 it is that of each id and digest, by id.
        """
        if not self._sealed:
            agreed = self.agreed
            if agreed is None:
                raise StoreError(f"{str(self._place)!r} is damaged; the agreed set was lost")
            return agreed.digest
        found = hashlib.sha256()
        for report_id, _, digest, outside in self.rows_by_id():
            if not outside:
                found.update(report_id + digest)
        return found.digest()

    def read(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return stored reports as rows of uint8, each the one that was accepted."""
        records = self._segments.read(start, stop)
        column = "digest" if self._sealed else "id"  # either ends a report
        rows = self._rows(
            f"SELECT {column} FROM report WHERE position >= ? AND position < ? "  # noqa: S608
            "ORDER BY position",
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

    def answer(self, question: str) -> bytes | None:
        """Return the answer that was given to a question."""
        rows = self._rows("SELECT content FROM answer WHERE question = ?", (question,))
        return rows[0][0] if rows else None

    def has_answer(self, first: str) -> bool:
        """Tell whether a question was answered whose text begins so."""
        last = first[:-1] + chr(ord(first[-1]) + 1)
        rows = self._rows(
            "SELECT 1 FROM answer WHERE question >= ? AND question < ? LIMIT 1", (first, last)
        )
        return bool(rows)

    def keep_answer(self, question: str, content: bytes, noise: bytes) -> None:
        """Store an answer before anyone sees it, and which noise was drawn."""
        with self._lock, self._sqlite_errors_as_store_errors(), self._transaction():
            self._database.execute("INSERT INTO answer VALUES (?, ?)", (question, content))
            self._database.execute("UPDATE batch SET noise = coalesce(noise, ?)", (noise,))
            self._database.execute("UPDATE batch SET state = 'answered' WHERE state = 'frozen'")

    def check_noise(self, noise: bytes) -> None:
        """Refuse other noise than before, for which no ledger was charged."""
        known = self._one("SELECT noise FROM batch")
        if known not in {None, noise}:
            raise RefusedError(
                "this nolook, or a library it uses, draws other noise than the one that froze the "
                "batch; have it answered by those versions",
                409,
            )

    def _outcome(
        self, one: Arrival, new: dict[bytes, Arrival], sent: dict[bytes, int], *, is_open: bool
    ) -> bool | RefusedError:
        known: list[tuple[Any, ...]]
        known = self._rows("SELECT digest FROM report WHERE id = ?", (one.report_id,))
        if one.report_id in new:
            known = [(self._seal(new[one.report_id].report),)]
        if known:
            if known[0][0] == self._seal(one.report):
                return False
            return RefusedError("a report of this id with other content is stored already", 409)
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
            if self._one("PRAGMA user_version") or self._one("SELECT count(*) FROM sqlite_schema"):
                if self._one("PRAGMA application_id") == APPLICATION:
                    upgrade(self._database)
                return
            for table in SCHEMA.values():
                self._database.execute(table)
            self._database.execute(
                "INSERT INTO batch (id, digest, role, secret, state) VALUES (1, ?, ?, ?, 'open')",
                (batch.digest, role, secret),
            )
            self._database.execute(f"PRAGMA application_id = {APPLICATION}")
            self._database.execute(f"PRAGMA user_version = {LAYOUT}")

    def _check(self, batch: Batch, role: int) -> None:
        if not is_sound(self._database):
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

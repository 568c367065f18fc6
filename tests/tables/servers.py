"""A PostgreSQL server for tests, on loopback, run by a user of its own and stopped by its id."""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO

import pyarrow as pa

from tests.conftest import skip_or_fail

__all__ = ["PASSWORD", "PostgreSQL", "free_port", "postgresql"]

#: What no message, file or ledger may hold.
PASSWORD = "s3same-0pen"
_USERS = ("postgres", "nobody")
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "100",
}


class PostgreSQL:
    """A running server, perhaps one that another process of this run has started."""

    def __init__(self, programs: Path, folder: Path, port: int) -> None:
        self._programs, self.folder, self.port = programs, folder, port
        self._user = {}
        if os.geteuid() == 0:
            user = next(name for name in _USERS if _exists(name))
            self._user = {"user": user, "extra_groups": []}

    def start(self) -> None:
        """Make the data of a new server and start it."""
        if self._user:
            shutil.chown(self.folder, self._user["user"])
        word = self.folder / "password"
        word.write_text(PASSWORD)
        self._run(
            "initdb",
            *("-D", self.folder / "data", "-U", "owner", "-A", "scram-sha-256", "--no-sync"),
            *("--pwfile", word, "-E", "UTF8", "--locale", "C"),
        )
        settings = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        options = ["-h", "127.0.0.1", "-p", self.port, "-k", self.folder, *settings]
        self._control("start", "-l", self.folder / "log", "-o", " ".join(map(str, options)))

    def stop(self) -> None:
        """End the server and remove its folder."""
        self._control("stop", "-m", "immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _control(self, *words: object) -> None:
        self._run("pg_ctl", "-w", "-D", self.folder / "data", *words)

    def _run(self, program: str, *words: object) -> None:
        # No pipe, which the server would hold open.
        subprocess.run(
            [str(word) for word in (self._programs / program, *words)],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, **self._user,
        )  # fmt: skip

    def uri(self, database: str = "postgres") -> str:
        """The address of a database, password included."""
        return f"postgresql://owner:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def execute(self, sql: str, database: str = "postgres") -> list[tuple]:
        """Run a statement."""
        with closing(self.connect(database)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def connect(self, database: str = "postgres") -> object:
        """Return a connection."""
        from adbc_driver_postgresql import dbapi

        return dbapi.connect(self.uri(database), autocommit=True)

    def database(self, *statements: str) -> str:
        """Make a database, run statements in it and return its name."""
        name = f"d{uuid.uuid4().hex}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        if statements:
            with closing(self.connect(name)) as connection, closing(connection.cursor()) as cursor:
                for statement in statements:
                    cursor.execute(statement)
        return name

    def store(self, table: pa.Table, name: str = "t") -> str:
        """Make a database with one table and return its name."""
        database = self.database()
        with (
            closing(self.connect(database)) as connection,
            closing(connection.cursor()) as cursor,
        ):
            cursor.adbc_ingest(name, table, mode="create")
        return database

    def hang_up(self, database: str) -> None:
        """End every connection to a database."""
        self.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            f"WHERE datname = '{database}'"
        )
        # A backend is gone a little later.
        for _ in range(100):
            asked = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'"
            if self.execute(asked) == [(0,)]:
                return
            time.sleep(0.05)
        raise RuntimeError("connections do not end")


@functools.cache
def postgresql() -> PostgreSQL:
    """Start the server once for all processes of a run; skip where it is not installed.

    The first one starts it, and the last one stops it. Locks tell who is there.
    """
    found = [*Path("/usr/lib/postgresql").glob("*/bin"), *_on_path()]
    if not found:
        skip_or_fail("needs PostgreSQL's server")
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)
    place = Path(tempfile.gettempdir()) / f"nolook-postgresql-{run}"
    users = place.with_suffix(".users").open("a")
    with _locked(place.with_suffix(".lock")) as state:
        words = state.read().split("\n")
        if words[0]:
            server = PostgreSQL(max(found, key=str), Path(words[0]), int(words[1]))
        else:
            # Not in pytest's folder, which its user could not enter.
            folder = Path(tempfile.mkdtemp(prefix="nolook-postgresql-"))
            server = PostgreSQL(max(found, key=str), folder, free_port())
            server.start()
            state.write(f"{folder}\n{server.port}")
        fcntl.flock(users, fcntl.LOCK_SH)
    atexit.register(_leave, server, place, users)
    return server


def _leave(server: PostgreSQL, place: Path, users: IO[str]) -> None:
    lock = place.with_suffix(".lock")
    with _locked(lock), suppress(BlockingIOError):
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        server.stop()
        # Whoever waits for the removed lock finds nothing in it, and starts a server of its own.
        lock.write_text("")
        lock.unlink()
        Path(users.name).unlink()


@contextmanager
def _locked(path: Path) -> Iterator[IO[str]]:
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def _on_path() -> list[Path]:
    program = shutil.which("initdb")
    return [] if program is None else [Path(program).resolve().parent]


def _exists(user: str) -> bool:
    import pwd

    with suppress(KeyError):
        pwd.getpwnam(user)
        return True
    return False


def free_port() -> int:
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]

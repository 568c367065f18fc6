"""A PostgreSQL server for tests, on loopback, run by a user of its own and stopped by its id."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from contextlib import closing, suppress
from pathlib import Path

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
    "max_connections": "40",
}


class PostgreSQL:
    """A running server."""

    def __init__(self, programs: Path) -> None:
        # Not in pytest's folder, which its user could not enter.
        self._folder = Path(tempfile.mkdtemp(prefix="nolook-postgresql-"))
        self._user = {}
        if os.geteuid() == 0:
            user = next(name for name in _USERS if _exists(name))
            self._user = {"user": user, "extra_groups": []}
            shutil.chown(self._folder, user)
        word = self._folder / "password"
        word.write_text(PASSWORD)
        self._run(
            programs / "initdb",
            *("-D", self._folder / "data", "-U", "owner", "-A", "scram-sha-256", "--no-sync"),
            *("--pwfile", word, "-E", "UTF8", "--locale", "C"),
        )
        self.port = free_port()
        settings = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(programs / "postgres", "-D", self._folder / "data", "-h", "127.0.0.1"),
                    *("-p", str(self.port), "-k", self._folder, *settings),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._user,
            )
        self._wait()

    def _run(self, *words: object) -> None:
        subprocess.run([str(word) for word in words], check=True, capture_output=True, **self._user)

    def _wait(self) -> None:
        for _ in range(3000):
            with suppress(Exception):
                self.execute("SELECT 1")
                return
            time.sleep(0.1)
        raise RuntimeError("the server does not answer")

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
        for statement in statements:
            self.execute(statement, name)
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

    def stop(self) -> None:
        """End the server and remove its folder."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(300)
        shutil.rmtree(self._folder, ignore_errors=True)


@functools.cache
def postgresql() -> PostgreSQL:
    """Start the server once for all tests of this process; skip where it is not installed."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin"), *_on_path()]
    if not found:
        skip_or_fail("needs PostgreSQL's server")
    server = PostgreSQL(max(found, key=str))
    atexit.register(server.stop)
    return server


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

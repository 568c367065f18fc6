"""A real server of the app in a folder, a caller who has its cookie, and tables to open."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np

SCHEMA = """
[file]
delimiter = ";"
decimal = ","

[columns]
person = { type = "integer", use = "unit" }
age = "number"
cost = "number"
risk = "number"
ward = { type = "category", levels = ["A", "B"] }
again = { type = "boolean", true = ["yes"], false = ["no"] }
"""


def write_table(path: Path, rows: int = 3000) -> None:
    """Write a CSV file with decimal commas, of persons with two rows each."""
    random = np.random.default_rng(1)
    age, ward = random.integers(18, 95, rows), random.integers(0, 2, rows)
    cost = 100 + 3 * age + 40 * ward + random.normal(0, 20, rows)
    risk = random.random(rows)
    again = random.random(rows) < risk
    words = np.where(again, "yes", "no")
    lines = [
        f"{i // 2};{age[i]};{cost[i]:.1f};{risk[i]:.2f};{'AB'[ward[i]]};{words[i]}"
        for i in range(rows)
    ]
    text = "\n".join(["person;age;cost;risk;ward;again", *lines]).replace(".", ",")
    path.write_text(text + "\n", encoding="utf-8")


class Server:
    """A server process and, unless told otherwise, a caller whom it knows."""

    def __init__(self, folder: Path, *words: str) -> None:
        command = [str(Path(sys.executable).with_name("nolook")), "app", "--no-browser", *words]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        self.address = re.search(r"http\S+", self.process.stdout.readline())[0]
        self.base, _, self.token = self.address.partition("/?token=")

    @contextmanager
    def caller(self):
        """Give a caller as a browser is one: with the cookie, and forms' origin."""
        headers = {"origin": self.base}
        with httpx.Client(base_url=self.base, headers=headers, timeout=60) as caller:
            assert caller.get(f"/?token={self.token}").status_code == 303
            yield caller

    def kill(self) -> None:
        """End the server at once, as a power failure does."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        self.process.stdout.close()


@contextmanager
def server(folder: Path, *words: str):
    """Start a server in a folder."""
    started = Server(folder, *words)
    try:
        yield started
    finally:
        started.close()


def prepare(folder: Path, caller: httpx.Client, table: str = "people.csv") -> str:
    """Open a table with a schema and a ledger; return the session's address."""
    there = caller.post("/", data={"table": table}).headers["location"]
    session = there.removesuffix("/schema")
    (folder / f"{session[1:]}.nolook" / "schema.toml").write_text(SCHEMA)
    answer = caller.post(f"{session}/budget", data={"epsilon": "3", "delta": "1e-5"})
    assert answer.status_code == 303, answer.text
    return session


def ended(caller: httpx.Client, run: str, seconds: float = 60) -> str:
    """Wait for the end of a run; return its page."""
    until = time.monotonic() + seconds
    while 'id="progress"' in (page := caller.get(run).text):
        assert time.monotonic() < until, "the run does not end"
        time.sleep(0.1)
    return page

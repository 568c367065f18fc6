"""A release being made: a process of its own, which outlives the server, and what is known of it.

A run is a folder, made once; what is asked for a second time finds it there. The process holds a
lock as long as it lives, so that it is never started twice.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import frozen

from nolook.formats.files import write_json
from nolook.privacy.ledger import Ledger

__all__ = ["Run"]

#: Exit statuses after which the release's file is there, and that of an interruption.
_MADE, _CANCELLED = (0, 5), 130
_CHILDREN: dict[Path, subprocess.Popen[bytes]] = {}


@frozen(slots=False)
class Run:
    """One release that was asked for."""

    folder: Path

    @property
    def name(self) -> str:
        """Its name in addresses, and the stem of the release's files."""
        return self.folder.name

    @cached_property
    def about(self) -> dict[str, Any]:
        """The question, its arguments, its lines of Python, and when it was asked."""
        return self.read("about")

    def start(self, about: dict[str, Any], ledger: Path) -> None:
        """Start the release, unless it was asked for before and may be under way or charged."""
        self.folder.parent.mkdir(exist_ok=True)
        try:
            self.folder.mkdir()
        except FileExistsError:
            if self.state != "failed" or self.charged(ledger):
                return
        self.write("about", about | {"time": datetime.now(UTC).isoformat()})
        for old in ("ended", "process", "step"):
            (self.folder / f"{old}.json").unlink(missing_ok=True)
        with (self.folder / "messages.txt").open("wb") as messages:
            _CHILDREN[self.folder] = subprocess.Popen(  # noqa: S603 -- nothing entered is in it
                [sys.executable, "-P", "-m", "nolook.app._job", str(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=messages,
                start_new_session=True,
            )

    @property
    def state(self) -> str:
        """Return "running", "made", "cancelled" or "failed"."""
        child = _CHILDREN.get(self.folder)
        ended = self.read("ended")
        if ended:
            status = ended["status"]
            return "made" if status in _MADE else "failed" if status != _CANCELLED else "cancelled"
        if child is not None and child.poll() is None:
            return "running"
        lock = self.lock()
        if lock is not None:
            lock.close()
        return "failed" if lock else "running"

    @property
    def message(self) -> str:
        """The one line with which the command ended, if not well."""
        with suppress(OSError):
            for line in (self.folder / "messages.txt").read_text("utf-8", "replace").splitlines():
                if line.startswith("nolook: "):
                    return line.removeprefix("nolook: ")
        return "" if self.state == "made" else "the process was stopped"

    def charged(self, ledger: Path) -> bool:
        """Tell whether a ledger was charged for it."""
        with Ledger(ledger) as opened:
            outputs = [e.details.output for e in opened.history() if e.state != "refunded"]
        return f"{self.name}.json" in outputs

    def cancel(self) -> None:
        """Interrupt the process as Ctrl-C does, if it runs; it says what was charged."""
        if self.state == "running" and (process := self.read("process")):
            with suppress(OSError):
                os.kill(process["number"], signal.SIGINT)

    def lock(self) -> sqlite3.Connection | None:
        """Lock the run until the connection is closed; None if another process has it."""
        lock = sqlite3.connect(self.folder / "lock", isolation_level=None, timeout=0.0)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            lock.close()
            return None
        return lock

    def read(self, what: str) -> dict[str, Any]:
        """Return a note of the run, empty if there is none."""
        with suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads((self.folder / f"{what}.json").read_text("utf-8"))
            return found
        return {}

    def write(self, what: str, content: dict[str, Any]) -> None:
        """Write a note."""
        write_json(self.folder / f"{what}.json", content)

"""The session of one table: a folder with its schema, its ledger and its releases.

Everything is on disk, so that a stopped server loses nothing and several tabs see the same. Paths
are relative to the folder that the app was started in, as in the commands that pages show.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from attrs import frozen

from nolook.app.runs import Run
from nolook.cli._places import called, place_of
from nolook.errors import ParameterError
from nolook.formats.files import write_json, write_text
from nolook.owner.draft import Draft, draft_schema
from nolook.privacy.ledger import Ledger
from nolook.tables import Table, read_table
from nolook.tables.schema import Schema

__all__ = ["Session"]

_ENDING, _ABOUT = ".nolook", "session.json"
_TO_SHOW = (".csv", ".html", ".json", ".py", ".sh", ".toml")


@frozen(slots=False)
class Session:
    """One table and what was asked of it.

    Parameters
    ----------
    folder : Path
    table : str
    from_table : str or None
        The table of a database.
    rows : str
        How many rows, or persons, there are; stated by the analyst, for plans only.
    """

    folder: Path
    table: str
    from_table: str | None = None
    rows: str = ""

    @classmethod
    def of(cls, table: str, from_table: str | None) -> Self:
        """Return the session of a table, a new one if there is none; the table must be readable."""
        if re.match(r"\w+://[^/@]*:[^/@]*@", table):
            raise ParameterError(
                "the address holds a password, which the app would store (leave it out: PGPASSWORD "
                "or ~/.pgpass)"
            )
        table = f"./{table}" if table.startswith("-") else table
        label = called(place_of(table, from_table)).name.split(".")[0]
        name = re.sub(r"[^\w-]+", "_", label).strip("_") or "table"
        made = cls(Path(name + _ENDING), table, from_table)
        kept = cls.all().get(name)
        if kept is None:
            made.draft()  # refused before anything is written
            made.folder.mkdir(exist_ok=True)
            made.save()
        elif (kept.table, kept.from_table) != (table, from_table):
            raise ParameterError(
                f"the folder {made.folder} here is of another table, {kept.table!r} (start nolook "
                "app in another folder)"
            )
        return made

    @classmethod
    def all(cls) -> dict[str, Self]:
        """Return the sessions here, by name."""
        found = sorted(Path().glob(f"*{_ENDING}/{_ABOUT}"))
        return {
            each.parent.stem: cls(each.parent, **json.loads(each.read_text("utf-8")))
            for each in found
        }

    def save(self) -> None:
        """Write the session's own file."""
        about = {"table": self.table, "from_table": self.from_table, "rows": self.rows}
        write_json(self.folder / _ABOUT, about)

    @property
    def name(self) -> str:
        """Its name in addresses."""
        return self.folder.stem

    @property
    def ledger(self) -> Path:
        """The file of its ledger."""
        return self.folder / "budget.ledger"

    @property
    def schema_file(self) -> Path:
        """The file of its schema."""
        return self.folder / "schema.toml"

    @cached_property
    def schema(self) -> Schema | None:
        """The schema, once the data owner has confirmed it."""
        return Schema.read(self.schema_file) if self.schema_file.is_file() else None

    def draft(self) -> Draft:
        """Draft a schema from a sample of rows: not private."""
        return draft_schema(place_of(self.table, self.from_table))

    def open_table(self, target: str, features: Sequence[str]) -> Table:
        """Open the table for a model; reads no row."""
        place = place_of(self.table, self.from_table)
        return read_table(place, target, features=features or None, schema=self.schema)

    @property
    def source(self) -> str:
        """The table as an expression of Python."""
        if self.from_table is None:
            return repr(self.table)
        return f"nolook.Database({self.table!r}, table={self.from_table!r})"

    def runs(self) -> dict[str, Run]:
        """Return the runs by name, in order."""
        found = [Run(each.parent) for each in self.folder.glob("runs/*/about.json")]
        return {run.name: run for run in sorted(found, key=lambda run: str(run.about["time"]))}

    def files(self) -> dict[str, Path]:
        """Return the files that may be downloaded, by name."""
        found = (each for each in sorted(self.folder.iterdir()) if each.suffix in _TO_SHOW)
        return {each.name: each for each in found if each.is_file() and each.name != _ABOUT}

    def write_scripts(self) -> None:
        """Write the session as two scripts, for the shell and for Python."""
        with Ledger(self.ledger) as ledger:
            budget, name = ledger.budget, ledger.name
        made = [run.about for run in self.runs().values() if run.state == "made"]
        where = f"Run where {self.table} and {self.schema_file} are, and no ledger yet."
        options = [f"--epsilon={budget.epsilon!r}", f"--delta={budget.delta!r}", f"--name={name}"]
        create = ["ledger", "create", str(self.ledger), *options]
        commands = [f"nolook {shlex.join(c)}" for c in (create, *(a["arguments"] for a in made))]
        shell = "\n".join(["#!/bin/sh", f"# {where}", "set -e", *commands, ""])
        write_text(self.folder / "session.sh", shell)
        first = (
            f"# {where}\nimport nolook\n\nbudget = nolook.Budget({budget.epsilon!r}, "
            f"{budget.delta!r})\n"
            f"nolook.Ledger.create({str(self.ledger)!r}, budget, name={name!r}).close()\n"
        )
        write_text(self.folder / "session.py", "\n".join([first, *(a["python"] for a in made)]))

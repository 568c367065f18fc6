"""A filled-in question: its errors, its cost and its run."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from attrs import evolve, frozen

from nolook.app.python_lines import python_lines
from nolook.app.questions import Field, Question, fields
from nolook.app.runs import Run
from nolook.app.session import Session
from nolook.cli import run as run_command
from nolook.errors import NolookError, ParameterError
from nolook.estimators.catalogue import method_for
from nolook.estimators.releasing import DryRun, dry_running
from nolook.planning.forecast import PLANNED, plan
from nolook.privacy.ledger import Ledger
from nolook.report.dry_run import dry_run_section
from nolook.report.findings import Section
from nolook.report.plan_findings import plan_section

__all__ = ["Asked", "ask", "mark"]

_FLAG = re.compile(r"--[a-z][a-z-]*")
_OF_COMMANDS = re.compile(r" \([^()]*(?:--|nolook )[^()]*\)")


@frozen
class Asked:
    """A question, filled in; `sections` are its cost and what can be expected, if all is well."""

    session: Session
    question: Question
    fields: Sequence[Field]
    again: int
    error: str = ""
    sections: tuple[Section, ...] = ()
    #: Whether it was asked before, so that it need not or must not be started again.
    made: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """The values of the form, by name."""
        return {each.name: each.value for each in self.fields}

    @property
    def output(self) -> str:
        """The stem of its files: the same question about the same schema is the same run."""
        schema = self.session.schema
        asked = [self._own, schema and schema.digest, self.again]
        digest = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
        return f"{self.question.command}-{digest[:8]}"

    @property
    def _own(self) -> list[str]:
        return [word for each in self.fields if each.name != "rows" for word in each.arguments()]

    @property
    def arguments(self) -> list[str]:
        """The command's arguments."""
        session, command = self.session, self.question.command
        output = str(session.folder / self.output)
        return [
            *(command, session.table),
            *([] if session.from_table is None else [f"--table={session.from_table}"]),
            *("--schema", str(session.schema_file), *self._own, "--ledger", str(session.ledger)),
            *("--output", f"{output}.json", "--report", f"{output}.html"),
        ]

    @property
    def command(self) -> str:
        """The whole command."""
        return shlex.join(["nolook", *self.arguments])

    @property
    def python(self) -> str:
        """The lines of Python that do the same."""
        return python_lines(self.question.command, self.fields, self.session, self.output)

    @property
    def run(self) -> Run:
        """Its run, whether it was started or not."""
        return Run(self.session.folder / "runs" / self.output)

    def start(self) -> None:
        """Start it, unless it was."""
        again = {**self.given, "again": self.again + 1}
        about = {
            "title": self.question.title,
            "arguments": self.arguments,
            "python": self.python,
            "again": f"ask/{self.question.command}?{urlencode(again, doseq=True)}",
        }
        self.run.start(about, self.session.ledger)


def ask(
    session: Session, question: Question, given: Mapping[str, list[str]], *, check: bool
) -> Asked:
    """Fill in a question and `check` it as its command does in a dry run: nothing is charged."""
    assert session.schema is not None  # noqa: S101 -- asked for before
    form = fields(question, session.schema, given)
    rows = (given.get("rows") or [session.rows])[0]
    if question.command in {"fit", *PLANNED}:
        label = "About how many rows (or persons) are there?"
        why = "Only if it is public: for what can be expected, not for the release."
        form.append(Field("rows", "--rows", label, why, "int", value=rows))
    again = (given.get("again") or ["0"])[0]
    asked = Asked(session, question, form, int(again) if again.isdecimal() else 0)
    if not check:
        return asked
    try:
        run = asked.run
        if run.about and (run.state in {"running", "made"} or run.charged(session.ledger)):
            return evolve(asked, made=True)
        with dry_running():
            run_command([*asked.arguments, "--quiet"])
        raise TypeError(f"{question.command} makes no release")
    except DryRun as found:
        with Ledger(session.ledger) as ledger:
            cost = dry_run_section(found, ledger)
        return _expecting(evolve(asked, sections=(cost,)))
    except NolookError as refused:
        marked, error = mark(form, str(refused))
        return evolve(asked, fields=marked, error=error)


def mark(form: Sequence[Field], message: str) -> tuple[list[Field], str]:
    """Attach an error, in the words of the form, to the field that it names first, or return it."""
    named = (_FLAG.findall(message) or [""])[0]
    labels = {each.flag: repr(each.label) for each in form}
    plain = _OF_COMMANDS.sub("", message)
    error = _FLAG.sub(lambda flag: labels.get(flag[0], flag[0]), plain)
    return [evolve(e, error=error * (e.flag == named)) for e in form], error * (named not in labels)


def _expecting(asked: Asked) -> Asked:
    """Add what can be expected, if the number of rows is stated."""
    given, method, columns = asked.given, asked.question.command, 1
    words = {e.name: e.arguments()[0].partition("=")[2] for e in asked.fields if e.arguments()}
    try:
        if "rows" not in words:
            return asked
        evolve(asked.session, rows=given["rows"]).save()
        if method == "fit":
            table = asked.session.open_table(given["target"], given["features"])
            columns = len(table.feature_names)
            classes = bool(table.binary[-1])
            method = method_for(words.get("method", "auto"), has_classes=lambda: classes)
        elif method == "quantiles":
            columns = len(given["columns"])
        found = plan(int(words["rows"]), columns, method=method, epsilon=float(words["epsilon"]))
        return evolve(asked, sections=(*asked.sections, plan_section(found)))
    except ParameterError as unknown:
        none = Section("plan", "Expected precision", (str(unknown),))
        return evolve(asked, sections=(*asked.sections, none))

"""The commands that make a release: the options they share, and what they do around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import asdict, astuple, evolve, frozen

from nolook._language import as_option, parameter_name
from nolook._validation import check_choice, check_epsilon, check_random_state, whole_number
from nolook.cli._declared import Arguments, SchemaOption, target_of, with_options
from nolook.cli._interruption import Outcome, explained
from nolook.cli._options import (
    DEFAULT_LEDGER,
    NONE,
    LedgerOption,
    Missing,
    check_missing,
    column_names,
    column_options,
    form_of,
    levels_of,
)
from nolook.cli._places import (
    FromTableOption,
    TableArgument,
    called,
    check_apart,
    files_of,
    place_of,
)
from nolook.cli._progress import progress_bar
from nolook.errors import NolookError, ParameterError
from nolook.estimators.catalogue import SELECTORS, selector_for
from nolook.formats.files import check_outputs, default_name, one_line, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from nolook.estimators.base import PrivateEstimator
    from nolook.estimators.result import Result
    from nolook.privacy.ledger import Ledger
    from nolook.report.findings import Findings
    from nolook.tables import Table
    from nolook.tables.databases import Database
    from nolook.tables.schema import Schema


_UNCHARGED = (
    "not charged to any ledger; releases of the same table add up, and this one is not counted "
    f"(--ledger FILE, or {DEFAULT_LEDGER} for all commands)"
)


@frozen
class Classes:
    """A target, perhaps of classes, as options of the command line."""

    target: str = ""
    positive: str | None = None
    negative: str | None = None


@frozen(slots=False)
class Features:
    """The columns to use, as options of the command line."""

    features: str | None = None
    categories: list[str] | None = None
    exclude: str | None = None


@frozen
class Columns(Features, Classes):
    """The columns of a model, as options of the command line."""


@frozen(kw_only=True)
class Reading:
    """The options of commands that read a table, and charge and report what they find."""

    table: TableArgument
    schema: SchemaOption = None
    from_table: FromTableOption = None
    where: list[str] | None = None
    missing: str | None = None
    unit: str | None = None
    rows_per_unit: str = "weights"
    weights: str | None = None
    report: Path | None = None
    force: bool = False
    ledger: LedgerOption = None
    random_state: int | None = None
    dry_run: bool = False
    quiet: bool = False

    @cached_property
    def place(self) -> Path | str | Database:
        """Where the table is."""
        return place_of(self.table, self.from_table)

    @cached_property
    def gaps(self) -> Missing:
        """The policy on missing values."""
        return check_missing(self.missing)

    @property
    def declared(self) -> Schema:
        """The declarations of the table."""
        from nolook.tables.schema import as_schema

        return as_schema(self.schema).indicating(self.gaps.indicated)

    @property
    def rows(self) -> dict[str, Any]:
        """The rows and the unit, as arguments of `nolook.read_table`."""
        missing = {} if self.gaps.policy is None else {"missing": self.gaps.policy}
        return missing | {
            "where": self.where,
            "unit": False if self.unit == NONE else self.unit,
            "rows_per_unit": whole_number(self.rows_per_unit),
            "weights": False if self.weights == NONE else self.weights,
        }

    def read(self, target: str | Literal[False] | None, **options: Any) -> Table:  # noqa: ANN401
        """Open the table; the options are those of `nolook.read_table`."""
        from nolook.tables import read_table

        return read_table(self.place, target, **({"schema": self.declared} | options | self.rows))

    def opened(self, columns: Features) -> Table:
        """Open the table for a model's columns, or all that are described; reads no row."""
        schema = self._without(column_names(columns.exclude, "--exclude"))
        options = column_options(columns.features, columns.categories)
        if "features" in options:
            from nolook.tables.words import GAP

            indicators = (f"{name}={GAP}" for name in self.gaps.indicated)
            options["features"] = (*options["features"], *indicators)
        if not isinstance(columns, Columns):
            return self.read(None, schema=schema, **options)
        options |= {"positive": columns.positive, "negative": columns.negative}
        return self.read(columns.target or None, schema=schema, **options)

    def _without(self, excluded: tuple[str, ...]) -> Schema:
        """Return the schema with columns left out; the table must have all that are named."""
        from nolook.tables.design import unknown_column
        from nolook.tables.read import column_names as header

        named = {"exclude": excluded, "missing": self.gaps.indicated}
        known = header(self.place, self.declared) if any(named.values()) else ()
        for option, names in named.items():
            for name in names:
                if name not in known:
                    raise unknown_column(option, name, repr(str(called(self.place))), known)
        return self.declared.without(excluded)


@frozen(kw_only=True)
class Release(Reading):
    """The options that all releases share, checked: every file can be written."""

    epsilon: float
    engine: str | None = None
    spark_master: str | None = None
    output: Path = Path()
    title: str = ""

    def __attrs_post_init__(self) -> None:
        check_epsilon(self.epsilon, "--epsilon")
        check_random_state(self.random_state, "--random-state")
        # No output may replace any of a ledger's files.
        ends = ("", "-journal", "-wal", "-shm") if self.ledger else ()
        inputs = [*files_of(self.place), *(Path(f"{self.ledger}{end}") for end in ends)]
        outputs = [("--output", self.output), ("--report", self.report)]
        check_apart(self.place, outputs)
        try:
            check_outputs(outputs, inputs, replace=self.force or self.dry_run)
        except ParameterError as error:
            raise ParameterError(f"{error}{self._overdraft()}") from None

    def _overdraft(self) -> str:
        """Return the ledger's refusal too, so that one message has both reasons."""
        if self.ledger is None:
            return ""
        from nolook.privacy.guarantee import Budget
        from nolook.privacy.ledger import Ledger

        try:
            with Ledger(self.ledger) as ledger:
                ledger.require(Budget(self.epsilon, 0.0), relation=ledger.relation)
        except NolookError as error:
            return f"; {error}"
        return ""

    @cached_property
    def outcome(self) -> Outcome:
        """Its charges and outputs since this was first asked for."""
        return Outcome(self.ledger, self.output, self.report)

    @property
    def rows(self) -> dict[str, Any]:
        """The rows, the unit and the engine, as arguments of `nolook.read_table`."""
        session = None
        if self.engine is not None:
            check_choice("--engine", self.engine, ("spark",))
            from nolook.spark.frames import start_session

            session = start_session(self.spark_master)
        elif self.spark_master is not None:
            raise ParameterError("--spark-master is given without an engine (add --engine spark)")
        return super().rows | {"engine": session}

    def read_columns(self, names: Sequence[str]) -> Table:
        """Open the table for some of its columns alone, and its unit."""
        table = self.read(False, features=names)
        for name in sorted({*names} - {*table.feature_names}):
            raise ParameterError(
                f"{parameter_name('features')} names {name!r}, a category, but this release needs "
                "numbers (to count it: nolook tabulate)"
            )
        return table

    def fit_scores(self, estimator: Any, score: str, classes: Classes) -> None:  # noqa: ANN401
        """Fit an estimator to a score and a target of classes."""
        from nolook.tables.read import read_scores

        with self.running() as ledger_and_progress:
            how = {"schema": self.declared, **self.rows}
            table = read_scores(self.place, score, *astuple(classes), **how)
            estimator.fit(table, **ledger_and_progress)

    def read_for(self, read_options: Mapping[str, Any], classes: Classes) -> Table:
        """Open the table as a model's fit did, with a target, and perhaps words, of its own."""
        from nolook.tables.read import read_classes

        options = {**read_options, **self.rows}
        options["schema"] = self.schema or read_options.get("schema")
        own = asdict(classes)
        target = own.pop("target")
        return read_classes(self.place, target, **options | (own if any(own.values()) else {}))

    def make(self, release: Any, read: Callable[[], Table], *args: Any, **own: Any) -> Any:  # noqa: ANN401
        """Make a release of the table that `read` opens in its turn."""
        own |= {"epsilon": self.epsilon, "random_state": self.random_state}
        with self.running() as ledger_and_progress:
            return release(read(), *args, **own, **ledger_and_progress)

    def fit(self, estimator: PrivateEstimator, columns: Columns) -> None:
        """Fit an estimator to the table."""
        units = {self.unit, *self.declared.used_as("unit")}
        for what, names in (("target", {columns.target}), ("unit", units)):
            for name in names.intersection(column_names(columns.exclude, "--exclude")):
                raise ParameterError(
                    f"--exclude names the {what} {name!r}, which is not a feature anyway "
                    "(leave it out there)"
                )

        with self.running() as ledger_and_progress:
            estimator.fit(self.hinted(columns), **ledger_and_progress)

    def selector(self, name: str | None, columns: Columns, delta: float) -> Any:  # noqa: ANN401
        """Return the class of a selector; by default the one for that many columns."""
        name = name or selector_for(len(self.opened(columns).feature_names), delta)
        return SELECTORS[check_choice("--selector", name, SELECTORS)].load()

    def hinted(self, columns: Features) -> Table:
        """Open the table; list the columns left out, and those that may identify persons."""
        from nolook.report.column_hints import column_hints

        table = self.opened(columns)
        for name in self.gaps.indicated:
            if name not in table.feature_names:
                raise ParameterError(
                    f"--missing indicator names {name!r}, which is not a numeric feature "
                    "(leave it out)"
                )
        # By default those that types or a schema tell.
        by_default = columns.features is None
        tell(*(() if self.quiet else column_hints(table, by_default=by_default)))
        return table

    @contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        """Open the ledger and show progress for as long as the release takes.

        Yields the keyword arguments by which every release is told of both.
        """
        # Loaded before anything is spent: what is found can then be kept at once.
        import nolook.formats.model_file  # noqa: F401

        with self.charging() as ledger, progress_bar(quiet=self.quiet) as progress:
            yield {"ledger": ledger, "progress": progress}

    @contextmanager
    def charging(self) -> Iterator[Ledger | None]:
        """Open the ledger, and note what is charged."""
        if self.ledger is None:
            yield None
            return
        from nolook.privacy.ledger import Ledger

        with Ledger(self.ledger, output=self.output.name) as ledger, self.outcome.charging(ledger):
            yield ledger

    def keep(self, found: Result) -> None:
        """Write the findings, and a report if one is wanted, and print them."""
        from nolook.formats.model_file import save

        save(found, self.output)
        findings = evolve(found.content(), title=self.title)
        show(findings, self.output, self.report, self.ledger, quiet=self.quiet)
        if self.ledger is None and findings.guarantee.private and not self.quiet:
            tell(_UNCHARGED)


def release_command(
    ending: str,
    what: str,
    own: Mapping[str, str] = MappingProxyType({}),
    *,
    about: Sequence[str] = ("target",),
    forms: Mapping[str, Any] = MappingProxyType({}),
    names: Mapping[str, str] = MappingProxyType({}),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes a `Release` and its own options.

    `what` names the main output; by default it is called after the table and the columns that the
    options `about` name. `own`, `forms` and `names` are those of
    :func:`with_options`.
    """
    default = ".".join(filter(None, ("TABLE", "+".join(about).upper(), ending)))
    output = form_of("--output -o FILE", f"{what}; by default {default} here.")
    own_forms = {**forms, "output": Annotated[Path | None, output]}

    def call(command: Callable[..., None], arguments: Arguments, given: dict[str, Any]) -> None:
        if given.get("formula") is not None:
            _read_formula(given)
        if "target" in given:
            given["target"] = target_of(given["target"], given["schema"], given.get("model"))
        if given["output"] is None:
            named = [name for option in about for name in _columns(option, given[option])]
            place = place_of(given["table"], given["from_table"])
            given["output"] = default_name(called(place), named, ending)
        made = arguments(given)
        release = made["release"]
        dry = printed_dry_run(release, release.charging)
        with explained(lambda: str(release.outcome)), release.outcome.reported(), dry:
            command(**made)

    return with_options(own, own_forms, names, call)


def _read_formula(given: dict[str, Any]) -> None:
    """Replace a formula by its target, its features and a schema that derives them."""
    from nolook.tables.formula import schema_of
    from nolook.tables.schema import as_schema

    for name in ("target", "features"):
        if given[name]:
            raise ParameterError(
                f"{parameter_name(name)} is given next to --formula, which names it (leave one out)"
            )
    levels = levels_of(given["categories"])
    made = schema_of(given["formula"], as_schema(given["schema"]), levels)
    given["schema"], given["target"], features = made
    given["features"] = as_option(features)
    if given["target"] is None:
        raise ParameterError("--formula has no target (for example --formula 'cost ~ age')")


def _columns(option: str, given: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the columns an option names: `--columns` and `--by` list them."""
    if option == "by" and not isinstance(given, str):
        names = (name for text in given or () for name in column_names(text, "--by"))
        return tuple(dict.fromkeys(names)) or ("all",)
    return column_names(given, "--columns") if option == "columns" else (given,)


@contextmanager
def printed_dry_run(
    reading: Reading, charging: Callable[[], AbstractContextManager[Ledger | None]]
) -> Iterator[None]:
    """End a dry run's block before it reads a row; print what it would release and charge."""
    if not reading.dry_run:
        yield
        return
    from nolook.estimators.releasing import DryRun, dry_running
    from nolook.report.dry_run import print_dry_run

    try:
        with dry_running():
            yield
    except DryRun as found:
        if not reading.quiet:
            with charging() as ledger:
                print_dry_run(console(), found, ledger)


def show(
    findings: Findings, output: Path, report: Path | None, ledger: Path | None, *, quiet: bool
) -> None:
    """Write the report of a release, if one is wanted, and print what was found."""
    from nolook.report.ledger_status import LedgerStatus
    from nolook.report.page import render_page
    from nolook.report.terminal import print_findings

    now = LedgerStatus.now(ledger)
    if report is not None:
        write_text(report, render_page(findings, now))
    if not quiet:
        print_findings(console(), findings, output=output, report_file=report, ledger_status=now)


def tell(*lines: str) -> None:
    """Print lines."""
    from nolook.report._console import say

    for line in lines:
        say(console(), one_line(line))


def console() -> Console:
    """Return the console for results: plain text, whatever the columns' names."""
    from nolook.report._console import plain_console

    return plain_console()

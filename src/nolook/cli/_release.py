"""The commands that make a release: the options they share, and what they do around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer
from attrs import evolve, field, frozen

from nolook._language import as_option, parameter_name
from nolook._validation import check_epsilon, check_random_state
from nolook.cli import _engine
from nolook.cli._declared import SchemaOption, reads_table, target_of
from nolook.cli._interruption import Outcome, explained
from nolook.cli._options import (
    DEFAULT_LEDGER,
    DryRunOption,
    EpsilonOption,
    ForceOption,
    LedgerOption,
    Missing,
    MissingOption,
    QuietOption,
    RandomStateOption,
    ReportOption,
    RowsPerUnitOption,
    TitleOption,
    UnitOption,
    WeightsOption,
    check_missing,
    check_rows_per_unit,
    column_names,
    column_options,
)
from nolook.cli._places import (
    FromTableOption,
    TableArgument,
    WhereOption,
    called,
    check_apart,
    conditions_of,
    files_of,
    place_of,
)
from nolook.cli._progress import progress_bar
from nolook.errors import NolookError, ParameterError
from nolook.formats.files import check_outputs, default_name, one_line

if TYPE_CHECKING:
    from rich.console import Console

    from nolook.estimators.base import PrivateEstimator
    from nolook.estimators.result import Result
    from nolook.privacy.ledger import Ledger
    from nolook.report.findings import Findings
    from nolook.tables import Table
    from nolook.tables.databases import Database
    from nolook.tables.schema import Schema


#: Tells the target by a command's own options and what is declared.
FindTarget: TypeAlias = "Callable[[Mapping[str, Any], Schema | None], str]"

_UNCHARGED = (
    "not charged to any ledger; releases of the same table add up, and this one is not counted "
    f"(--ledger FILE, or {DEFAULT_LEDGER} for all commands)"
)


@frozen
class Columns:
    """The columns of a model, as options of the command line."""

    target: str
    features: str | None
    categories: Sequence[str] | None
    exclude: str | None
    positive: str | None
    negative: str | None

    @property
    def options(self) -> dict[str, Any]:
        """Options of `nolook.read_table`."""
        words = {"positive": self.positive, "negative": self.negative}
        return column_options(self.features, self.categories) | words

    @property
    def excluded(self) -> tuple[str, ...]:
        """Columns that are not used as features by default."""
        return () if self.exclude is None else column_names(self.exclude, "--exclude")


@frozen(kw_only=True)
class Release:
    """The options that all releases share, checked: every file can be written."""

    table: TableArgument
    epsilon: EpsilonOption
    schema: SchemaOption = None
    from_table: FromTableOption = None
    where: WhereOption = None
    missing: Missing = field(factory=Missing)
    unit: UnitOption = None
    rows_per_unit: RowsPerUnitOption = "weights"
    weights: WeightsOption = None
    engine: _engine.EngineOption = None
    spark_master: _engine.SparkMasterOption = None
    output: Path = Path()
    report: ReportOption = None
    title: TitleOption = ""
    force: ForceOption = False
    ledger: LedgerOption = None
    random_state: RandomStateOption = None
    dry_run: DryRunOption = False
    quiet: QuietOption = False

    def __attrs_post_init__(self) -> None:
        check_epsilon(self.epsilon, "--epsilon")
        check_random_state(self.random_state, "--random-state")
        check_rows_per_unit(self.rows_per_unit)
        _engine.check_engine(self.engine, self.spark_master)
        # No output may replace any of a ledger's files.
        ends = ("", "-journal", "-wal", "-shm") if self.ledger else ()
        ledger_files = [Path(f"{self.ledger}{end}") for end in ends]
        check_apart(self.place, [("--output", self.output), ("--report", self.report)])
        inputs = (*files_of(self.place), *ledger_files)
        try:
            check_files(self.output, self.report, inputs, force=self.force)
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
    def place(self) -> Path | str | Database:
        """Where the table is."""
        return place_of(self.table, self.from_table)

    @cached_property
    def outcome(self) -> Outcome:
        """Its charges and outputs since this was first asked for."""
        return Outcome(self.ledger, self.output, self.report)

    @property
    def declared(self) -> Schema:
        """The declarations of the table."""
        from nolook.tables.schema import as_schema

        return as_schema(self.schema).indicating(self.missing.indicated)

    @property
    def _rows(self) -> dict[str, Any]:
        """The rows, the unit and the engine, as arguments of `nolook.read_table`."""
        rows = check_rows_per_unit(self.rows_per_unit)
        session = _engine.session_of(self.engine, self.spark_master)
        where = conditions_of(self.where)
        missing = {} if self.missing.policy is None else {"missing": self.missing.policy}
        return missing | {
            "where": where,
            "unit": self.unit,
            "rows_per_unit": rows,
            "weights": self.weights,
            "engine": session,
        }

    def read_columns(self, names: Sequence[str]) -> Table:
        """Open the table for some of its columns alone, and its unit."""
        table = self._read(False, features=names, schema=self.declared)
        if table.feature_names != tuple(names):
            raise ParameterError(
                f"{parameter_name('features')} names a category, but this release needs "
                "numbers (to count it: nolook tabulate)"
            )
        return table

    def read_groups(
        self, names: Sequence[str], categories: Mapping[str, Sequence[str | None]]
    ) -> Table:
        """Open the table for some of its columns, of numbers or declared levels."""
        return self._read(False, features=names, categories=categories, schema=self.declared)

    def read_described(self, options: Mapping[str, Any], excluded: tuple[str, ...]) -> Table:
        """Open the table for all its columns that are numbers or have declared levels."""
        table = self._read(None, schema=self._without(excluded), **options)
        self._tell(table, by_default="features" not in options)
        return table

    def positive_word(self, target: str, given: str | None) -> str:
        """Return the name of a target's positive class in a report."""
        own = self.declared.columns.get(target)
        return given or (own.true[0] if own and own.type == "boolean" else "1")

    def read_scores(
        self, score: str, target: str, positive: str | None, negative: str | None
    ) -> Table:
        """Open the table for a score and a target of classes."""
        from nolook.tables.read import read_scores

        return read_scores(
            self.place,
            score,
            target,
            positive,
            negative,
            schema=self.declared,
            **self._rows,
        )

    def read_for(
        self,
        read_options: Mapping[str, Any],
        target: str,
        positive: str | None,
        negative: str | None,
    ) -> Table:
        """Open the table as a model's fit did, with a target, and perhaps words, of its own."""
        from nolook.tables import read_table

        declared = self.schema or read_options.get("schema")
        options = {**read_options, **self._rows, "schema": declared}
        if positive is not None or negative is not None:
            options |= {"positive": positive, "negative": negative}
        table = read_table(self.place, target, **options)
        if not table.binary[-1]:
            table = read_table(self.place, target, **options | {"positive": "1"})
        return table

    def fit(self, estimator: PrivateEstimator, columns: Columns) -> None:
        """Fit an estimator to the table."""
        units, excluded = {self.unit, *self.declared.used_as("unit")}, columns.excluded
        for what, names in (("target", {columns.target}), ("unit", units)):
            for name in names.intersection(excluded):
                raise ParameterError(
                    f"--exclude names the {what} {name!r}, which is not a feature anyway "
                    "(leave it out there)"
                )
        from nolook.tables.design import GAP

        with self.running() as ledger_and_progress:
            schema = self._without(excluded)
            table = self._read(columns.target, schema=schema, **columns.options)
            for name in self.missing.indicated:
                if f"{name}={GAP}" not in table.feature_names:
                    raise ParameterError(
                        f"--missing indicator names {name!r}, which is not a numeric feature "
                        "(leave it out)"
                    )
            self._tell(table, by_default=columns.features is None)
            estimator.fit(table, **ledger_and_progress)

    def opened(self, columns: Columns) -> Table:
        """Open the table for a model's columns; reads no row."""
        schema = self._without(columns.excluded)
        return self._read(columns.target, schema=schema, **columns.options)

    def _without(self, excluded: tuple[str, ...]) -> Schema:
        """Return the schema with columns left out; the table must have all that are named."""
        from nolook.tables.design import unknown_column
        from nolook.tables.read import column_names as header

        named = {"exclude": excluded, "missing": self.missing.indicated}
        known = header(self.place, self.declared) if any(named.values()) else ()
        for option, names in named.items():
            for name in names:
                if name not in known:
                    raise unknown_column(option, name, repr(str(called(self.place))), known)
        return self.declared.without(excluded)

    def _read(self, target: str | Literal[False] | None, **options: Any) -> Table:  # noqa: ANN401
        """Open the table; the options are those of `nolook.read_table`."""
        from nolook.tables import read_table

        options |= self._rows
        return read_table(self.place, target, **options)

    def _tell(self, table: Table, *, by_default: bool) -> None:
        """List the columns left out, and those that may identify persons, before spending."""
        from nolook.report.column_hints import column_hints

        # By default those that types or a schema tell.
        tell(*(() if self.quiet else column_hints(table, by_default=by_default)))

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

        with (
            Ledger(self.ledger, output=self.output.name) as ledger,
            self.outcome.charging(ledger),
        ):
            yield ledger

    def keep(self, found: Result, export: Path | None = None) -> None:
        """Write the findings, and a report or a table if one is wanted, and print them."""
        from nolook.formats.model_file import save

        save(found, self.output)
        if export is not None:
            from nolook.report.exports import write_tables

            write_tables(found, export)

        findings = evolve(found.content(), title=self.title)
        show(
            findings,
            output=self.output,
            report=self.report,
            quiet=self.quiet,
            ledger=self.ledger,
        )
        if self.ledger is None and findings.provenance.guarantee.private and not self.quiet:
            tell(_UNCHARGED)


def release_command(
    ending: str,
    what: str,
    *,
    about: Sequence[str] = ("target",),
    missing: object | None = MissingOption,
    more: Iterable[Parameter] = (),
    names: Mapping[str, str] | None = None,
    find_target: FindTarget = lambda given, schema: target_of(given["target"], schema),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes a `Release` and its own options.

    `what` names the main output; by default it is called after the table and the columns that the
    options `about` name. `more` are options that the function takes by `**`; `names`
    are those of :func:`reads_table`; `find_target` tells the target by the options and the schema.
    """
    default = ".".join(filter(None, ("TABLE", "+".join(about).upper(), ending)))
    output = typer.Option(
        "--output", "-o", metavar="FILE", help=f"{what}; by default {default} here."
    )
    own_forms: dict[str, Any] = {"missing": missing, "output": Annotated[Path | None, output]}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = signature(command, eval_str=True).parameters.values()
        own = [option for option in own if option.kind is not Parameter.VAR_KEYWORD]
        shared = dict(signature(Release, eval_str=True).parameters)
        if missing is None:  # missing values are groups of their own
            del shared["missing"], own_forms["missing"]
        for name, form in own_forms.items():
            shared[name] = shared[name].replace(annotation=form, default=None)

        def run(**given: Any) -> None:  # noqa: ANN401 -- Typer has checked the types
            options = {name: given.pop(name) for name in shared}
            options["missing"] = check_missing(options.get("missing"))
            if given.get("formula") is not None:
                _read_formula(given, options)
            if "target" in given:
                given["target"] = find_target(given, options["schema"])
            if options["output"] is None:
                named = [name for option in about for name in _columns(option, given[option])]
                place = place_of(options["table"], options["from_table"])
                options["output"] = default_name(called(place), named, ending)
            release = Release(**options)
            outcome = release.outcome
            dry = printed_dry_run(release.charging, quiet=release.quiet)
            with (
                explained(lambda: str(outcome)),
                outcome.told(),
                dry if release.dry_run else nullcontext(),
            ):
                command(release, **given)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        options = [*own, *more, *shared.values()]
        required_first = sorted(options, key=lambda one: one.default is not Parameter.empty)
        run.__signature__ = Signature(required_first)  # type: ignore[attr-defined]
        return reads_table(names)(run)

    return decorate


def _read_formula(given: dict[str, Any], options: dict[str, Any]) -> None:
    """Replace a formula by its target, its features and a schema that derives them."""
    from nolook.tables.formula import schema_of
    from nolook.tables.schema import as_schema

    for name in ("target", "features"):
        if given[name]:
            raise ParameterError(
                f"{parameter_name(name)} is given next to --formula, which names it (leave one out)"
            )
    categories = column_options(None, given["categories"]).get("categories")
    made = schema_of(given["formula"], as_schema(options["schema"]), categories)
    options["schema"], given["target"], features = made
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
    charging: Callable[[], AbstractContextManager[Ledger | None]], *, quiet: bool
) -> Iterator[None]:
    """End the block before it reads a row, and print what it would release and charge."""
    from nolook.estimators.releasing import DryRun, dry_running
    from nolook.report.dry_run import print_dry_run

    try:
        with dry_running():
            yield
    except DryRun as found:
        if not quiet:
            with charging() as ledger:
                print_dry_run(console(), found, ledger)


def check_files(output: Path, report: Path | None, inputs: Iterable[Path], *, force: bool) -> None:
    """Check that a release's file and report can be written, before anything is spent on them."""
    reports = [] if report is None else [("--report", report)]
    check_outputs([("--output", output), *reports], inputs, replace=force)


def show(
    findings: Findings,
    *,
    output: Path,
    report: Path | None,
    quiet: bool,
    ledger: Path | None = None,
) -> None:
    """Write the report of a release, if one is wanted, and print what was found."""
    from nolook.report.ledger_status import LedgerStatus
    from nolook.report.page import write_page
    from nolook.report.terminal import print_findings

    now = LedgerStatus.now(ledger)
    if report is not None:
        write_page(findings, report, now)
    if not quiet:
        print_findings(console(), findings, output=output, report_file=report, ledger_status=now)


def tell(*lines: str) -> None:
    """Print lines."""
    from nolook.report._console import say

    for line in lines:
        say(console(), one_line(line))


def console() -> Console:
    """Return the console for results: plain text, whatever the columns' names."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)

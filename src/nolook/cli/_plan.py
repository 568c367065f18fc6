"""``nolook plan``: a release's expected accuracy, before any budget is spent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from attrs import frozen

from nolook._defaults import DEFAULT_DELTA
from nolook._validation import check_epsilon
from nolook.cli._count import count_rows, number_in
from nolook.cli._declared import SchemaOption, reads_table
from nolook.cli._options import (
    CategoriesOption,
    DeltaOption,
    DryRunOption,
    FeaturesOption,
    ForceOption,
    LedgerOption,
    MissingNumbersOption,
    QuietOption,
    RandomStateOption,
    ReportOption,
    RowsPerUnitOption,
    TargetOption,
    UnitOption,
    WeightsOption,
    check_missing,
    check_rows_per_unit,
    column_options,
)
from nolook.cli._places import (
    FromTableOption,
    WhereOption,
    conditions_of,
    files_of,
    place_of,
)
from nolook.cli._release import console
from nolook.errors import ParameterError
from nolook.formats.files import check_outputs

if TYPE_CHECKING:
    from pathlib import Path

    from nolook.tables import Table
    from nolook.tables.databases import Database
    from nolook.tables.schema import Schema


# Whose accuracy does not depend on the number of columns.
_ONE_COLUMN = frozenset({"ecdf", "roc", "calibration", "compare-groups", "survival"})


@reads_table({"features": "--features", "want": "--want"})
def plan(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]",
            help="A table whose header tells the columns; its rows are read by --count-epsilon "
            "alone.",
        ),
    ] = None,
    *,
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of rows, or of units if each counts once; with --weights, their sum over "
            "the largest.",
        ),
    ] = None,
    columns: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of features, or of columns that share the budget."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A method of fit, ecdf, quantiles, roc, calibration, compare-groups, survival, "
            "describe, tabulate (rows of one group).",
        ),
    ] = "linear",
    epsilon: Annotated[
        list[float] | None,
        typer.Option("--epsilon", "-e", help="Budgets to compare. May be repeated."),
    ] = None,
    delta: DeltaOption = DEFAULT_DELTA,
    want: Annotated[
        str | None,
        typer.Option(
            metavar="'MEASURE MOST'",
            help="Find the smallest epsilon for: interval, median, loss, error or quantile, and "
            "the most it may be, such as 'interval 0.1'.",
        ),
    ] = None,
    count_epsilon: Annotated[
        float | None,
        typer.Option(metavar="EPSILON", help="Count the table's rows privately, for this much."),
    ] = None,
    target: TargetOption = "",
    features: FeaturesOption = None,
    categories: CategoriesOption = None,
    schema: SchemaOption = None,
    from_table: FromTableOption = None,
    where: WhereOption = None,
    missing: MissingNumbersOption = None,
    unit: UnitOption = None,
    rows_per_unit: RowsPerUnitOption = "weights",
    weights: WeightsOption = None,
    report: ReportOption = None,
    force: ForceOption = False,
    ledger: LedgerOption = None,
    random_state: RandomStateOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
) -> None:
    """Estimate a release's accuracy before spending any budget.

    The mechanisms were run on simulated tables; no real one is read. The number of rows is stated
    (--rows), or counted privately (--count-epsilon), which is a release of its own.
    """
    per_unit = check_rows_per_unit(rows_per_unit)
    outputs = [] if report is None else [("--report", report)]
    place = None if table is None else place_of(table, from_table)
    inputs = [*([] if place is None else files_of(place)), *([] if ledger is None else [ledger])]
    check_outputs(outputs, inputs, replace=force)
    from nolook.tables.schema import as_schema

    _check_given(table, rows, count_epsilon, shaped=columns is not None or method in _ONE_COLUMN)
    given = {
        **({} if missing is None else {"missing": check_missing(missing).policy}),
        "where": conditions_of(where),
        "unit": unit,
        "rows_per_unit": per_unit,
        "weights": weights,
    }
    names = column_options(features, categories)
    opened = None if place is None else _Opened(place, as_schema(schema), target, names, given)
    if columns is None:
        columns = 1 if opened is None or method in _ONE_COLUMN else opened.columns

    from nolook.planning.forecast import plan as forecast
    from nolook.report.plan_page import print_plan, write_plan_page

    planned = partial(
        forecast,
        columns=columns,
        method=method,
        epsilon=epsilon or None,
        delta=delta,
        rows_per_unit=per_unit,
        want=want,
        weighted=weights is not None,
    )
    if count_epsilon is not None and opened is not None:
        planned(1)  # what is refused is refused before anything is spent
        cost = check_epsilon(count_epsilon, "--count-epsilon")
        column = opened.numbers()
        rows = count_rows(column, cost, ledger, random_state, dry_run=dry_run, quiet=quiet)
        if rows is None:
            return
    found = planned(rows or 0)
    if report is not None:
        write_plan_page(found, report)
    if not quiet:
        print_plan(console(), found)


@frozen
class _Opened:
    """A table of which the header and the schema are read."""

    place: Path | str | Database
    schema: Schema
    target: str
    names: dict[str, Any]
    given: dict[str, Any]

    def _read(self, target: str | Literal[False] | None, **options: Any) -> Table:  # noqa: ANN401
        from nolook.tables import read_table

        return read_table(self.place, target, schema=self.schema, **options, **self.given)

    @property
    def columns(self) -> int:
        """The number of features."""
        return len(self._whole().feature_names)

    def _whole(self) -> Table:
        return self._read(self.target or None, **self.names)

    def numbers(self) -> Table:
        """Return the table of one column of numbers, in which rows can be counted."""
        return self._read(False, features=[number_in(self._whole())])


def _check_given(
    table: str | None, rows: int | None, count_epsilon: float | None, *, shaped: bool
) -> None:
    """Check that it is told, once, how many rows and columns there are."""
    if (rows is None) == (count_epsilon is None):
        raise ParameterError(
            "the number of rows is missing; give --rows or --count-epsilon (for example "
            "--rows 10000)"
        )
    if table is None and (not shaped or count_epsilon is not None):
        raise ParameterError(
            "the number of columns is missing; give a table, or --rows and --columns (for "
            "example --rows 10000 --columns 8)"
        )

"""``nolook plan``: a release's expected accuracy, before any budget is spent."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from attrs import evolve

from nolook._defaults import DEFAULT_DELTA
from nolook._validation import check_epsilon
from nolook.cli._count import count_rows, number_in
from nolook.cli._declared import with_options
from nolook.cli._options import column_names
from nolook.cli._places import files_of
from nolook.cli._release import Columns, Reading, console, tell
from nolook.errors import ParameterError
from nolook.formats.files import check_outputs, write_text

# Whose accuracy does not depend on the number of columns.
_ONE_COLUMN = frozenset({"ecdf", "roc", "calibration", "compare-groups", "survival"})

_TableArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[TABLE]",
        help="A table whose header names the columns; only --count-epsilon reads its rows.",
    ),
]


@with_options(
    {
        "--rows N": "Number of rows, or of units if each counts once. With survey weights: their "
        "sum divided by the largest; 1000 rows of mean weight 2 and weights up to 5 are 400.",
        "--columns N": "Number of features, or of columns that share the budget.",
        "--mean A,B,C": "Instead, the columns whose means tabulate is to release.",
        "--method NAME": "A method of fit, ecdf, quantiles, roc, calibration, compare-groups, "
        "survival, describe, tabulate (means of a group of --rows; for counts tabulate --dry-run).",
        "--epsilon -e": "Budgets to compare. May be repeated.",
        "--want 'MEASURE MOST'": "Find the smallest epsilon for: interval, median, loss, error or "
        "quantile, and the most it may be, such as 'interval 0.1'.",
        "--count-epsilon EPSILON": "Count the table's rows privately, at this epsilon.",
    },
    {"table": _TableArgument},
)
def plan(
    reading: Reading,
    *,
    rows: int | None = None,
    columns: int | None = None,
    mean: str | None = None,
    method: str = "linear",
    epsilon: list[float] | None = None,
    delta: float = DEFAULT_DELTA,
    want: str | None = None,
    count_epsilon: float | None = None,
    named: Columns,
) -> None:
    """Estimate a release's accuracy before spending any budget.

    The mechanisms were run on simulated tables; no real one is read. The number of rows is stated
    (--rows), or counted privately (--count-epsilon), which is a release of its own.
    """
    has_table, ledgers = reading.table is not None, [*filter(None, [reading.ledger])]
    inputs = [*(files_of(reading.place) if has_table else ()), *ledgers]
    check_outputs([("--report", reading.report)], inputs, replace=reading.force)
    means, assumed = column_names(mean, "--mean"), ""
    if columns is None and (means or method in _ONE_COLUMN):
        columns = max(len(means), 1)
    if (rows is None) == (count_epsilon is None):
        raise ParameterError("the number of rows is missing; give --rows or --count-epsilon")
    if not has_table and (columns is None or count_epsilon is not None or reading.where):
        raise ParameterError("there is no table; give one, or --rows and --columns")
    from nolook.report.findings import listed, plain

    whole = partial(reading.opened, named)
    if columns is None:
        names = whole().feature_names
        if method in {"describe", "tabulate"}:  # counts of categories take little of the budget
            coded = whole().as_codes()
            pairs = zip(coded.column_names, coded.code_labels, strict=True)
            names = tuple(name for name, levels in pairs if levels is None)
        columns, assumed = len(names), plain(listed(names, 8))

    from nolook.planning.forecast import plan as forecast
    from nolook.report.plan_page import plan_lines, render_plan_page
    from nolook.report.terminal import print_lines

    planned = partial(
        forecast, columns=columns, method=method, epsilon=epsilon or None, delta=delta, want=want,
        rows_per_unit=reading.rows["rows_per_unit"],
        weighted=bool(reading.declared.chosen("weights", reading.rows["weights"])),
    )  # fmt: skip
    if count_epsilon is not None:
        planned(1)  # what is refused is refused before anything is spent
        cost = check_epsilon(count_epsilon, "--count-epsilon")
        rows = count_rows(reading, reading.read(False, features=[number_in(whole())]), cost)
        if rows is None:
            return
    found = evolve(planned(rows or 0), where=whole().subject().where if reading.where else None)
    if reading.report is not None:
        write_text(reading.report, render_plan_page(found))
    if not reading.quiet:
        tell(*([f"Columns assumed (choose by --features): {assumed}."] if assumed else []))
        print_lines(console(), plan_lines(found))

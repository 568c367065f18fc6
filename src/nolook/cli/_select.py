"""``nolook select``: choose columns privately."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nolook._validation import check_choice, check_epsilon, check_random_state
from nolook.cli._options import (
    CategoriesOption,
    EpsilonOption,
    FeaturesOption,
    LedgerOption,
    MissingOption,
    MultilineOption,
    QuietOption,
    RandomStateOption,
    ReportOption,
    TableArgument,
    TargetOption,
    count_or_auto,
    table_options,
)
from nolook.cli._release import console, fit_table, main_output
from nolook.estimators.catalogue import DEFAULT_SELECTOR, SELECTORS

__all__ = ["select"]


def select(  # noqa: PLR0917 -- Typer gives every option by name
    table: TableArgument,
    target: TargetOption,
    k: Annotated[str, typer.Option("-k", metavar="K|auto", help="How many columns to choose.")],
    epsilon: EpsilonOption,
    selector: Annotated[
        str, typer.Option(metavar="|".join(SELECTORS), help="How to choose them.")
    ] = DEFAULT_SELECTOR,
    features: FeaturesOption = None,
    categories: CategoriesOption = None,
    missing: MissingOption = None,
    multiline: MultilineOption = False,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The selection file; by default TABLE.selection.json here."
        ),
    ] = None,
    report: ReportOption = None,
    ledger: LedgerOption = None,
    random_state: RandomStateOption = None,
    quiet: QuietOption = False,
) -> None:
    """Choose the columns that explain another best, privately."""
    check_epsilon(epsilon, "--epsilon")
    check_random_state(random_state, "--random-state")
    count = count_or_auto(k, "-k")
    name = check_choice("--selector", selector, SELECTORS)
    options = table_options(features, categories, missing, multiline=multiline)
    selection_file = main_output(
        output, "selection.json", table=table, report=report, ledger=ledger
    )

    fitted = SELECTORS[name].load()(k=count, epsilon=epsilon, random_state=random_state)
    fit_table(fitted, table, target, options, ledger=ledger, quiet=quiet)
    from nolook.formats.selection_file import write_selection

    write_selection(fitted, selection_file, target=target)
    if report is not None:
        from nolook.report.selection_html import write_selection_report

        write_selection_report(fitted, report, table=table.name, target=target)
    if not quiet:
        from nolook.report.terminal import print_selection

        print_selection(
            console(), fitted, target=target, selection_file=selection_file, report_file=report
        )

"""The steps of every command that makes a release: check the outputs, charge, read, fit."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from nolook.formats.files import check_outputs

if TYPE_CHECKING:
    from rich.console import Console

    from nolook.estimators.base import PrivateEstimator, Progress
    from nolook.privacy.ledger import Ledger
    from nolook.report.findings import Findings

__all__ = ["console", "fit_table", "main_output", "releasing", "show"]


class Around(TypedDict):
    """What a release needs besides its table."""

    ledger: Ledger | None
    progress: Progress | None


def main_output(
    output: Path | None, ending: str, *, table: Path, report: Path | None, ledger: Path | None
) -> Path:
    """Return the file to write, by default beside nothing else; check that all can be written."""
    chosen = output if output is not None else Path(f"{table.stem}.{ending}")
    outputs = [("--output", chosen)]
    if report is not None:
        outputs.append(("--report", report))
    check_outputs(outputs, inputs=(table, *_ledger_files(ledger)))
    return chosen


def fit_table(
    estimator: PrivateEstimator,
    table: Path,
    target: str,
    options: Mapping[str, Any],
    *,
    ledger: Path | None,
    quiet: bool,
) -> None:
    """Fit an estimator to a table's file, charged to a ledger."""
    from nolook.tables import read_table

    with releasing(ledger, quiet=quiet) as around:
        estimator.fit(read_table(table, target, **options), **around)


@contextmanager
def releasing(ledger: Path | None, *, quiet: bool) -> Iterator[Around]:
    """Open a ledger and draw a progress bar around a release."""
    with _open_ledger(ledger) as opened, _progress(quiet=quiet) as progress:
        yield {"ledger": opened, "progress": progress}


def show(
    findings: Findings, *, table: Path, output: Path, report: Path | None, quiet: bool
) -> None:
    """Write the report of a release, if one is wanted, and print what was found."""
    if report is not None:
        from nolook.report.findings_html import write_findings_report

        write_findings_report(findings, report, table=table.name)
    if not quiet:
        from nolook.report.findings_terminal import print_findings

        print_findings(console(), findings, output=output, report_file=report)


def console() -> Console:
    """Return where results are printed: as plain text, whatever columns are called."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def _ledger_files(path: Path | None) -> tuple[Path, ...]:
    """Return all files a ledger consists of: no output may replace any of them."""
    if path is None:
        return ()
    return (path, *(Path(f"{path}{end}") for end in ("-journal", "-wal", "-shm")))


@contextmanager
def _open_ledger(path: Path | None) -> Iterator[Ledger | None]:
    if path is None:
        yield None
        return
    from nolook.privacy.ledger import Ledger

    with Ledger(path) as ledger:
        yield ledger


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Give a progress callable that draws a bar, if there is a terminal to draw it on."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(step: str, done: int, total: int) -> None:
            bar.update(task, description=step, completed=done, total=total)

        yield show

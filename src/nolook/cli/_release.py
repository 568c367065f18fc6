"""The commands that make a release: the options they share, and what they do around it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from nolook._validation import check_epsilon, check_random_state
from nolook.cli._options import (
    EpsilonOption,
    LedgerOption,
    MissingOption,
    MultilineOption,
    QuietOption,
    RandomStateOption,
    ReportOption,
    TableArgument,
    check_missing,
)
from nolook.report.files import check_outputs

if TYPE_CHECKING:
    from rich.console import Console

    from nolook.estimators.base import PrivateEstimator, Progress
    from nolook.privacy.ledger import Ledger
    from nolook.report.findings import Findings
    from nolook.tables import Table

__all__ = ["Release", "console", "release_command", "show"]


class LedgerAndProgress(TypedDict):
    """Keyword arguments of every release: what to charge, and whom to tell how far it is."""

    ledger: Ledger | None
    progress: Progress | None


@dataclass(frozen=True)
class Release:
    """The options that all releases share, checked."""

    table: Path
    epsilon: float
    missing: str
    multiline: bool
    output: Path
    report: Path | None
    ledger: Path | None
    random_state: int | None
    quiet: bool

    def read(self, target: str | None = None, **options: Any) -> Table:  # noqa: ANN401
        """Open the table; the options are those of `nolook.read_table`."""
        from nolook.tables import read_table

        options |= {"missing": self.missing, "multiline": self.multiline}
        return read_table(self.table, target, **options)

    def fit(self, estimator: PrivateEstimator, target: str, options: Mapping[str, Any]) -> None:
        """Fit an estimator to the table."""
        with self.running() as ledger_and_progress:
            estimator.fit(self.read(target, **options), **ledger_and_progress)

    @contextmanager
    def running(self) -> Iterator[LedgerAndProgress]:
        """Open the ledger and show progress for as long as the release takes."""
        with _open_ledger(self.ledger) as ledger, _progress(quiet=self.quiet) as progress:
            yield {"ledger": ledger, "progress": progress}

    def show(self, findings: Findings) -> None:
        """Write the report, if one is wanted, and print what was found."""
        show(findings, table=self.table, output=self.output, report=self.report, quiet=self.quiet)


def release_command(
    ending: str, what: str, *, missing: object = MissingOption
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes a `Release` and its own options.

    `what` names the main output, which is TABLE.`ending` by default.
    """
    output = typer.Option(metavar="FILE", help=f"{what}; by default TABLE.{ending} here.")
    annotations = {"missing": missing, "output": Annotated[Path | None, output]}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = signature(command, eval_str=True).parameters.values()
        _, *shared = signature(_check, eval_str=True).parameters.values()
        shared = [
            option.replace(annotation=annotations.get(option.name, option.annotation))
            for option in shared
        ]

        def run(**given: Any) -> None:  # noqa: ANN401 -- Typer has checked the types
            release = _check(ending, **{option.name: given.pop(option.name) for option in shared})
            command(release, **given)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        required_first = sorted(
            [*own, *shared], key=lambda option: option.default is not Parameter.empty
        )
        run.__signature__ = Signature(required_first)  # type: ignore[attr-defined]
        return run

    return decorate


def _check(
    ending: str,
    *,
    table: TableArgument,
    epsilon: EpsilonOption,
    missing: MissingOption = None,
    multiline: MultilineOption = False,
    output: Path | None = None,
    report: ReportOption = None,
    ledger: LedgerOption = None,
    random_state: RandomStateOption = None,
    quiet: QuietOption = False,
) -> Release:
    """Check the options that all releases share, and that every file can be written."""
    check_epsilon(epsilon, "--epsilon")
    check_random_state(random_state, "--random-state")
    policy = check_missing(missing)
    output = output or Path(f"{table.stem}.{ending}")
    outputs = [("--output", output)]
    if report is not None:
        outputs.append(("--report", report))
    check_outputs(outputs, inputs=(table, *_ledger_files(ledger)))
    return Release(table, epsilon, policy, multiline, output, report, ledger, random_state, quiet)


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
    """Return all files of a ledger: no output may replace any of them."""
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

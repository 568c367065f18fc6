"""``nolook federated query``: the analyst asks both servers and puts their answers together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nolook.cli._declared import with_options
from nolook.cli._interruption import explained
from nolook.cli._release import console, show
from nolook.federated.commands._options import Servers
from nolook.federated.kinds import KINDS
from nolook.formats.files import check_outputs

if TYPE_CHECKING:
    from nolook.estimators.calibration import HosmerLemeshow
    from nolook.estimators.ecdf import ECDF
    from nolook.estimators.roc import ROCCurve
    from nolook.estimators.tabulated import Tabulation
    from nolook.federated.batch import Batch
    from nolook.federated.shares import Answer
    from nolook.report.findings import Findings


_AGAIN = "the servers charge their ledgers once for a batch, however often it is asked; start again"
_CHARGED = (
    "Each server's ledger would be charged that, under replacement, unless the batch was paid for "
    "already: all answers to it cost it once. No server was asked."
)


@with_options(
    {
        "--freeze": "Close the batch first: no more reports.",
        "--groups N": "For a calibration: the number of groups.",
        "--output -o FILE": "The file to write; by default BATCH.KIND.json here.",
    }
)
def query(
    servers: Servers,
    freeze: bool = False,
    groups: int = 10,
    output: Path | None = None,
    report: Path | None = None,
    force: bool = False,
    dry_run: bool = False,
    quiet: bool = False,
) -> None:
    """Ask both servers and write the distribution, ROC curve, calibration or counts."""
    from nolook.federated.analyst import agreement, ask, status
    from nolook.federated.analyst import freeze as close
    from nolook.federated.batch_content import read_batch

    batch = read_batch(servers.batch)
    named = Path(f"{servers.batch.stem}.{KINDS[batch.kind].ending}.json")
    file = named if output is None else output
    check_outputs([("--output", file), ("--report", report)], servers.files, replace=force)
    with explained(lambda: _AGAIN), servers.clients(batch) as both:
        if dry_run:
            _print_dry_run(batch, quiet=quiet)
            return
        if freeze:
            close(batch, both)
        answers = ask(batch, both)
        reported = agreement(status(batch, both))
        findings = _released(batch, answers, groups, reported, file)
    show(findings, file, report, None, quiet=quiet)


def _released(
    batch: Batch, both: tuple[Answer, Answer], groups: int, reported: str, file: Path
) -> Findings:
    """Write the release that both answers make, and return what a report shows."""
    from attrs import evolve

    from nolook.federated.answers import calibration, counts, distribution
    from nolook.formats.model_file import save

    guarantee = batch.guarantee()
    privacy = evolve(guarantee, basis=(*guarantee.basis, reported))
    found: ECDF | ROCCurve | HosmerLemeshow | Tabulation
    if batch.kind == "counts":
        found = evolve(counts(batch, *both), privacy=privacy)
    else:
        found = (
            calibration(batch, *both, groups)
            if batch.kind == "hosmer-lemeshow"
            else distribution(batch, *both)
        )
        found.privacy_ = privacy
    save(found, file)
    shown: Findings = found.content()
    return shown


def _print_dry_run(batch: Batch, *, quiet: bool) -> None:
    """Show the answers to a batch and their cost beforehand; contacts no server."""
    from nolook.estimators.releasing import DryRun
    from nolook.report.dry_run import print_dry_run

    if not quiet:
        planned = DryRun(f"two servers' {batch.kind}", batch.guarantee(), None)
        print_dry_run(console(), planned, None, elsewhere=_CHARGED)

"""``nolook federated query``: the analyst asks both servers and puts their answers together."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from nolook._validation import check_choice
from nolook.cli._interruption import explained
from nolook.cli._options import (
    DryRunOption,
    ForceOption,
    QuietOption,
    ReportOption,
    numbers,
    shares,
)
from nolook.cli._release import check_files, console, show
from nolook.errors import ParameterError
from nolook.federated.commands._options import (
    BatchOption,
    CaOption,
    ClientCertificateOption,
    ClientKeyOption,
    Server0Option,
    Server1Option,
    TokenFileOption,
    accesses,
    check_extra,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nolook.algorithms.tree_smoothing import Smoothing
    from nolook.federated.asking import Frozen
    from nolook.federated.batch import Batch
    from nolook.federated.commands._analysis import Ask
    from nolook.report.findings import Findings

__all__ = ["query"]

_AGAIN = "the servers charge their ledgers once for a batch, however often it is asked; start again"
_CHARGED = (
    "Each server's ledger would be charged that, under replacement, unless the batch was paid for "
    "already: all answers to it cost it once. No server was asked."
)
_SMOOTHINGS = ("isotonic", "none", "l2", "l1")  # the first two for format 2


def query(  # noqa: PLR0917 -- Typer gives every option by name
    batch: BatchOption,
    token_file: TokenFileOption,
    ca: CaOption,
    server0: Server0Option = None,
    server1: Server1Option = None,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Close the batch first: no more reports.")
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="T1,T2,...", help="Count values up to these; for more than 2^16 thresholds."
        ),
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option(metavar="P1,P2,...", help="Search quantiles; for more than 2^16 thresholds."),
    ] = None,
    groups: Annotated[
        int, typer.Option(metavar="N", help="Of a calibration: how many are compared.")
    ] = 10,
    smoothing: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(_SMOOTHINGS),
            help="How noise is removed from the counts; l2 and l1 for batches of format 1.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write; by default BATCH.KIND.json here.",
        ),
    ] = None,
    report: ReportOption = None,
    force: ForceOption = False,
    certificate: ClientCertificateOption = None,
    key: ClientKeyOption = None,
    dry_run: DryRunOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask both servers and write the distribution, ROC curve or calibration."""
    check_extra()

    from nolook.federated.asking import ask
    from nolook.federated.asking import freeze as close
    from nolook.federated.batch_file import read_batch
    from nolook.federated.client import ServerClient

    shared = read_batch(batch)
    ending, release = _chosen(shared, at, quantiles, groups, smoothing)
    file = output if output is not None else Path(f"{batch.stem}.{ending}")
    check_files(file, report, [batch, *token_file, ca], force=force)
    reach = accesses(shared, (server0, server1), token_file, ca, certificate, key)
    if dry_run:
        _rehearse(shared, quiet=quiet)
        return
    with ExitStack() as stack:
        stack.enter_context(explained(lambda: _AGAIN))
        servers = [stack.enter_context(ServerClient(one)) for one in reach]
        agreed = close(shared, servers) if freeze else None
        findings = release(partial(ask, shared, servers), file)
    if agreed is not None and not quiet:
        _tell(shared, agreed)
    show(findings, table=batch, output=file, report=report, quiet=quiet)


def _rehearse(batch: Batch, *, quiet: bool) -> None:
    """Say what the answers to a batch would be and cost; asks no server."""
    from nolook.federated.by_format import guarantee
    from nolook.report.dry_run import print_rehearsed

    if not quiet:
        words = f"{batch.kind} by two servers"
        print_rehearsed(console(), words, guarantee(batch), None, elsewhere=_CHARGED)


def _tell(batch: Batch, found: Frozen) -> None:
    """Say how many reports count, and how many do not."""
    alone = [stored - found.counted - found.rejected for stored in found.stored]
    sys.stdout.write(
        f"reports of {batch.name}: {found.counted} counted, {found.rejected} rejected as "
        f"malformed, {alone[0]} at server 0 alone, {alone[1]} at server 1 alone\n"
    )


def _chosen(
    batch: Batch, at: str | None, quantiles: str | None, groups: int, smoothing: str | None
) -> tuple[str, Callable[[Ask, Path], Findings]]:
    """Return how the file's name ends, and what makes the release."""
    from nolook.federated.batch import MOST_PLACES
    from nolook.federated.commands import _analysis
    from nolook.federated.point_batch import PointBatch

    verified = isinstance(batch, PointBatch)
    usual, possible = ("isotonic", _SMOOTHINGS[:2]) if verified else ("l2", _SMOOTHINGS)
    chosen = check_choice("--smoothing", smoothing or usual, possible)
    smoothed = cast("Smoothing", None if chosen == "none" else chosen)
    thresholds = None if at is None else _thresholds(at)
    wanted = None if quantiles is None else shares(quantiles, "--quantiles")
    if batch.whole and (at is not None or quantiles is not None):
        raise ParameterError(
            f"--at or --quantiles is given, but {batch.name} has a whole distribution to ask for; "
            "expected neither"
        )
    if not batch.whole and (at is None) == (quantiles is None):
        raise ParameterError(
            f"{batch.name} has more than 2^16 thresholds; expected either --at or --quantiles"
        )
    if thresholds is not None:
        if len(thresholds) > MOST_PLACES:
            raise ParameterError(
                f"--at has {len(thresholds)} numbers; expected at most {MOST_PLACES}"
            )
        return "counts.json", partial(_analysis.counts, batch, thresholds)
    if wanted is not None:
        return "quantiles.json", partial(_analysis.quantiles, batch, wanted)
    if batch.kind == "hosmer-lemeshow":
        return "calibration.json", partial(_analysis.calibration, batch, groups)
    ending = "roc.json" if batch.kind == "roc" else "distribution.json"
    return ending, partial(_analysis.distribution, batch, smoothed)


def _thresholds(text: str) -> tuple[float, ...]:
    """Translate numbers separated by commas."""
    found = numbers(text, ",")
    if not found or any(math.isnan(number) for number in found):
        raise ParameterError("--at holds something that is not a number; expected --at 10,20,30")
    return found

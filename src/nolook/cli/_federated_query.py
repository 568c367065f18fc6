"""``nolook federated query``: the analyst asks both servers and puts their answers together."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from nolook.cli._federated_options import (
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
from nolook.cli._options import (
    QuietOption,
    ReportOption,
    SmoothingOption,
    check_smoothing,
    shares,
)
from nolook.cli._release import show
from nolook.errors import ParameterError
from nolook.formats.files import check_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from nolook.algorithms.tree_smoothing import Smoothing
    from nolook.federated.answers import Answer
    from nolook.federated.batch import Batch
    from nolook.report.findings import Findings

__all__ = ["query"]

_ENDINGS = {
    "ecdf": "distribution.json",
    "roc": "roc.json",
    "hosmer-lemeshow": "calibration.json",
}
_MOST_PLACES = 4096


def query(  # noqa: PLR0917 -- Typer gives every option by name
    batch: BatchOption,
    server0: Server0Option,
    server1: Server1Option,
    token_file: TokenFileOption,
    ca: CaOption,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="First close the batch: no more reports.")
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
    smoothing: SmoothingOption = "l2",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What to write; by default BATCH.KIND.json here."),
    ] = None,
    report: ReportOption = None,
    certificate: ClientCertificateOption = None,
    key: ClientKeyOption = None,
    quiet: QuietOption = False,
) -> None:
    """Have both servers answer and write the distribution, ROC curve or calibration."""
    check_extra()

    from nolook.federated.asking import ask
    from nolook.federated.asking import freeze as close
    from nolook.federated.client import ServerClient
    from nolook.report.batch_file import read_batch

    shared = read_batch(batch)
    asked = _Query(shared, at, quantiles, groups, smoothing)
    file = output if output is not None else Path(f"{batch.stem}.{asked.ending}")
    outputs = [("--output", file), *([("--report", report)] if report is not None else [])]
    check_outputs(outputs, inputs=[batch, *token_file, ca])
    reach = accesses((server0, server1), token_file, ca, certificate, key)
    with ExitStack() as stack:
        servers = [stack.enter_context(ServerClient(one)) for one in reach]
        if freeze:
            close(shared, servers)
        findings = asked.released(lambda question: ask(shared, servers, question), file)
    show(findings, table=batch, output=file, report=report, quiet=quiet)


class _Query:
    """What is asked of a batch, and where it goes."""

    def __init__(
        self, batch: Batch, at: str | None, quantiles: str | None, groups: int, smoothing: str
    ) -> None:
        self._batch = batch
        self._groups = groups
        self._smoothing = cast("Smoothing", check_smoothing(smoothing))
        self._at = None if at is None else _thresholds(at)
        self._shares = None if quantiles is None else shares(quantiles, "--quantiles")
        if batch.whole and (at is not None or quantiles is not None):
            raise ParameterError(
                f"--at or --quantiles is given, but {batch.name} has a whole distribution to ask; "
                "expected neither"
            )
        if not batch.whole and (at is None) == (quantiles is None):
            raise ParameterError(
                f"{batch.name} has more than 2^16 thresholds; expected either --at or --quantiles"
            )
        if self._at is not None and len(self._at) > _MOST_PLACES:
            raise ParameterError(f"--at has {len(self._at)} numbers; expected up to {_MOST_PLACES}")
        several = {(False, True): "counts.json", (True, False): "quantiles.json"}
        self.ending = several.get((at is None, quantiles is None), _ENDINGS[batch.kind])

    def released(
        self, ask: Callable[[dict[str, object]], tuple[Answer, Answer]], file: Path
    ) -> Findings:
        """Ask, write the file, and say what was found."""
        self._ask = ask
        if self._at is not None:
            return self._counts(file)
        if self._shares is not None:
            return self._quantiles(file)
        if self._batch.kind == "hosmer-lemeshow":
            return self._calibration(file)
        return self._distribution(file)

    def _distribution(self, file: Path) -> Findings:
        from nolook.estimators.ecdf import ECDF
        from nolook.federated import answers
        from nolook.formats.findings_file import Scored, write_roc
        from nolook.formats.model_file import save
        from nolook.report.findings import ecdf_findings
        from nolook.report.score_findings import roc_findings

        found = answers.distribution(
            self._batch, *self._ask({"question": "curves"}), self._smoothing
        )
        if isinstance(found, ECDF):
            save(found, file)
            return ecdf_findings(found, self._batch.name)
        scored = Scored(self._batch.name, "label", "1")
        write_roc(found, file, scored=scored)
        return roc_findings(found, scored)

    def _calibration(self, file: Path) -> Findings:
        from nolook.federated import answers
        from nolook.formats.findings_file import Scored, write_calibration
        from nolook.report.score_findings import calibration_findings

        curves = self._ask({"question": "curves"})
        places = answers.borders(self._batch, *curves, self._groups)
        sums = self._ask({"question": "groups", "borders": places.tolist()})
        found = answers.calibration(self._batch, curves, sums, places, self._groups)
        scored = Scored(self._batch.name, "label", "1")
        write_calibration(found, file, scored=scored)
        return calibration_findings(found, scored)

    def _counts(self, file: Path) -> Findings:
        from nolook.federated import answers
        from nolook.federated.shares import guarantee
        from nolook.report.federated_counts import Counts, counts_findings, write_counts

        places = answers.places(self._batch, self._at or ())
        both = self._ask({"question": "points", "places": places.tolist()})
        counted, errors = answers.counts(self._batch, *both, places)
        thresholds = self._batch.points()[places]
        cost = guarantee(self._batch)
        found = Counts(self._batch, both[0].n, thresholds, counted, errors, cost)
        write_counts(found, file)
        return counts_findings(found)

    def _quantiles(self, file: Path) -> Findings:
        import numpy as np
        from numpy.typing import NDArray

        from nolook.estimators.quantiles import Quantiles
        from nolook.federated import answers
        from nolook.federated.shares import guarantee
        from nolook.formats.findings_file import write_quantiles
        from nolook.report.findings import quantiles_findings

        batch = self._batch

        def count(places: NDArray[np.uint64]) -> tuple[int, NDArray[np.float64]]:
            both = self._ask({"question": "points", "places": places.tolist()})
            return both[0].n, answers.counts(batch, *both, places)[0]

        wanted = np.array(self._shares)
        last = np.array([len(batch.points()) - 1], dtype=np.uint64)
        rows, _ = count(last)
        values, errors = answers.quantiles(batch, rows, wanted, lambda places: count(places)[1])
        found = Quantiles(
            (batch.name,), wanted, values[np.newaxis], errors[np.newaxis], guarantee(batch)
        )
        recipe = batch.recipe()
        grids = {} if batch.grid is None else {batch.name: batch.grid}
        write_quantiles(found, file, grids=grids, recipe=recipe)
        return quantiles_findings(found, recipe, grids)


def _thresholds(text: str) -> tuple[float, ...]:
    """Translate numbers separated by commas."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or any(math.isnan(number) for number in found):
        raise ParameterError("--at has a part that is no number; expected numbers (--at 10,20,30)")
    return found

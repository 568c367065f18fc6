"""``nolook federated submit``: owners report to both servers."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from nolook.cli._options import MultilineOption, QuietOption
from nolook.errors import ParameterError
from nolook.formats.files import check_outputs, one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nolook.federated.batch import Batch

__all__ = ["submit"]


def submit(  # noqa: PLR0917 -- Typer gives every option by name
    batch: BatchOption,
    server0: Server0Option,
    server1: Server1Option,
    token_file: TokenFileOption,
    ca: CaOption,
    value: Annotated[float | None, typer.Option(help="The one number to report.")] = None,
    table: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="A file of which every row reports.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The table's column of numbers.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="The value's label, or the table's column of labels.")
    ] = None,
    positive: Annotated[str, typer.Option(metavar="VALUE", help="The positive label.")] = "1",
    multiline: MultilineOption = False,
    pending: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keeps reports until both servers have them; by default BATCH.pending here.",
        ),
    ] = None,
    certificate: ClientCertificateOption = None,
    key: ClientKeyOption = None,
    quiet: QuietOption = False,
) -> None:
    """Cut numbers in two and send each server one half. Repeat it if it is interrupted.

    Without --value and --table it sends what an interrupted submission left.
    """
    check_extra()
    wanted = _Wanted(value, table, column, label, positive, multiline=multiline)

    from nolook.federated.client import ServerClient
    from nolook.federated.client import submit as send
    from nolook.federated.pending import read_pending
    from nolook.federated.wire import unpack
    from nolook.report.batch_file import read_batch

    shared = read_batch(batch)
    file = pending if pending is not None else Path(f"{shared.name}.pending")
    check_outputs([("--pending", file)], inputs=[batch, *token_file, ca])
    reach = accesses((server0, server1), token_file, ca, certificate, key)
    with ServerClient(reach[0]) as first, ServerClient(reach[1]) as second:
        reports = read_pending(file, shared, wanted.digest)
        if reports is None:
            reports = wanted.reports(shared, file)
        ids = [one.tobytes() for one in unpack(shared, reports[0])[0]]
        listed = [[one.tobytes() for one in half] for half in reports]
        send(shared, ids, listed, (first, second))
    file.unlink()
    if not quiet:
        sys.stdout.write(f"{len(ids)} reports of {shared.name} are at both servers\n")


class _Wanted:
    """What is to be reported."""

    def __init__(
        self,
        value: float | None,
        table: Path | None,
        column: str | None,
        label: str | None,
        positive: str,
        *,
        multiline: bool,
    ) -> None:
        if value is not None and table is not None:
            raise ParameterError("--value and --table are both given; expected one of them")
        if (table is None) != (column is None):
            raise ParameterError("--table and --column are not both given; expected both or none")
        self._value, self._table, self._column = value, table, column
        self._label, self._positive, self._multiline = label, positive, multiline
        self.digest: bytes | None = None
        if value is not None or table is not None:
            self.digest = hashlib.sha256(json.dumps(self._named()).encode()).digest()

    def _named(self) -> list[object]:
        """Return what tells this submission from others."""
        shown = [self._column, self._label, self._positive, *["multiline"] * self._multiline]
        if self._table is None:
            return [repr(self._value), *shown]
        try:
            status = self._table.stat()
        except (OSError, ValueError):
            raise ParameterError(
                f"--table is {one_line(self._table)!r}, which cannot be read; expected a file"
            ) from None
        return [str(self._table.absolute()), status.st_size, status.st_mtime_ns, *shown]

    def reports(self, batch: Batch, file: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Make the reports and store them, so that they are the same whenever they are sent."""
        from nolook.federated.owners import make_reports
        from nolook.federated.pending import write_pending
        from nolook.privacy.noise import SystemEntropy

        if self.digest is None:
            raise ParameterError(
                f"there is nothing to send: {one_line(file)} does not exist; expected --value or "
                "--table"
            )
        if (self._label is None) != (batch.kind == "ecdf"):
            given = "is not given" if self._label is None else "is given"
            raise ParameterError(
                f"--label {given} for a batch of kind {batch.kind}; expected one for roc and "
                "hosmer-lemeshow only"
            )
        values, labels = self._rows()
        _, first, second = make_reports(batch, values, labels, SystemEntropy())
        write_pending(file, batch, self.digest, first, second)
        return first, second

    def _rows(self) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Return numbers and labels."""
        import numpy as np

        from nolook.tables import read_table
        from nolook.tables.scored import read_scores

        if self._value is not None:
            if math.isnan(self._value):
                raise ParameterError("--value is no number; expected one")
            labels = None if self._label is None else np.array([self._label == self._positive])
            return np.array([self._value]), labels
        if self._label is None:
            read = read_table(self._table, features=[str(self._column)], multiline=self._multiline)
        else:
            read = read_scores(
                self._table,
                str(self._column),
                self._label,
                self._positive,
                multiline=self._multiline,
            )
        kept = read.keeping_infinite()
        kept.check_complete()
        rows = np.concatenate([np.empty((kept.n_columns, 0)), *kept.batches()], axis=1)
        return rows[0], None if self._label is None else rows[1] == 1.0

"""``nolook federated submit``: owners report to both servers."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from attrs import frozen

from nolook._validation import check_epsilon
from nolook.cli._declared import SchemaOption, with_options
from nolook.cli._options import form_of
from nolook.cli._places import files_of, place_of
from nolook.errors import ParameterError
from nolook.federated.commands._options import Servers
from nolook.federated.failures import RefusedError
from nolook.formats.files import check_outputs, one_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nolook.federated.batch import Batch
    from nolook.federated.client import ServerClient
    from nolook.federated.pending import Bytes
    from nolook.tables.databases import Database
    from nolook.tables.schema import Schema
    from nolook.tables.table import Table

    Both: TypeAlias = tuple[Bytes, Bytes]


_MOST_ROWS = 10**6


@with_options(
    {
        "--value": "The one number, or for counts the level, to report.",
        "--table TABLE": "A small table, each row of which is a report: a file, a folder or "
        "pattern of files, or a database, as for `nolook ecdf`.",
        "--column NAME": "The table's column of numbers.",
        "--target": "The value's class, or the table's column of classes.",
        "--positive -p VALUE": "The table's word for the batch's positive class, if another.",
        "--negative -n VALUE": "The table's word for the negative class, if another.",
        "--again": "Send a table that was sent to the batch before: its rows count twice.",
        "--pending FILE": "Keeps reports until both servers have them; by default BATCH.pending "
        "here.",
        "--at-most-epsilon NUMBER": "Refuse a batch that promises only a larger epsilon.",
    },
    names={"features": "--column"},
)
def submit(  # noqa: PLR0917 -- Typer gives every option by name
    servers: Servers,
    schema: SchemaOption = None,
    value: str | None = None,
    table: str | None = None,
    from_table: Annotated[
        str | None, form_of("--from NAME", "For a database: the table or view.")
    ] = None,
    column: str | None = None,
    target: str | None = None,
    positive: str | None = None,
    negative: str | None = None,
    pending: Path | None = None,
    at_most_epsilon: float = 10.0,
    again: bool = False,
    quiet: bool = False,
) -> None:
    """Split numbers in two and send each server one half. If interrupted, repeat the command.

    Without --value and --table it sends what an interrupted submission left.
    """
    from nolook.federated.batch_content import read_batch
    from nolook.federated.pending import finish_pending, read_pending

    batch = read_batch(servers.batch)
    place = _place(table, from_table, described=bool(schema))
    named = (*batch.columns, None, None, None, None)
    wanted = _Wanted(
        value,
        place,
        column or (named[0] if table else None),
        target or (named[1] if table else None),
        (positive or named[2], negative or named[3]),
        schema,
        batch.unit,
    )
    if batch.epsilon > check_epsilon(at_most_epsilon, "--at-most-epsilon"):
        raise ParameterError(
            f"{batch.name} has epsilon {batch.epsilon:g}, above --at-most-epsilon "
            f"{at_most_epsilon:g}: its promise is too weak (ask for a batch with a smaller epsilon)"
        )
    file = pending if pending is not None else Path(f"{batch.name}.pending")
    tables = [] if place is None else files_of(place)
    check_outputs([("--pending", file)], inputs=[*servers.files, *tables])
    with servers.clients(batch) as both:
        left = read_pending(file, batch, wanted.digest())
        reports = wanted.kept(batch, file, again=again) if left is None else left
        if not quiet:
            short, whole = batch.in_words()[0], f"nolook show {one_line(servers.batch)}"
            promise = f"epsilon = {batch.epsilon:g}, delta = {batch.delta:g} (explained by {whole})"
            sys.stdout.write(f"{short}\nServers: {' and '.join(batch.servers)}; {promise}\n")
        _send(batch, reports, both, file, is_new=left is None)
    finish_pending(file)
    if not quiet:
        stored = ", ".join(f"{each.stored:,} at {each.url}" for each in both)
        sys.stdout.write(f"{batch.name}: {len(reports[0]):,} sent; all reports so far: {stored}\n")


def _send(
    batch: Batch, reports: Both, both: tuple[ServerClient, ServerClient], file: Path, is_new: bool
) -> None:
    """Send reports; leave no file of new ones of which no server has any."""
    from nolook.federated.client import submit as send

    try:
        send(batch, reports, both)
    except BaseException as error:
        nothing = is_new and all(each.untouched for each in both)
        if nothing:
            file.unlink()
        if not isinstance(error, RefusedError) or error.status != 409:
            raise
        said = f"what reached both servers before counts; delete {one_line(file)}"
        said = "nothing of yours was counted" if nothing else said
        raise RefusedError(f"{error} ({said}, and agree on a new batch)", 409) from None


def _place(
    table: str | None, from_table: str | None, *, described: bool = False
) -> Path | str | Database | None:
    """Return the location of the table, if there is one."""
    if table is None and described:
        raise ParameterError("--schema is given, but --table is not")
    if table is None and from_table is None:
        return None  # the tables' code takes a second to load

    from nolook.tables.databases import is_address

    if from_table is not None and (table is None or not is_address(table)):
        raise ParameterError(
            "--from is given, but --table is not a database (such as duckdb:visits.duckdb)"
        )
    return None if table is None else place_of(table, from_table)


@frozen
class _Wanted:
    """The values to be reported."""

    value: str | None
    table: Path | str | Database | None
    column: str | None
    target: str | None
    classes: tuple[str | None, str | None]  # of the positive and the negative class
    schema: Schema | None
    unit: str | None  # the batch's

    def __attrs_post_init__(self) -> None:
        if self.value is not None and self.table is not None:
            raise ParameterError("--value and --table are both given; give one of them")
        if (self.table is None) != (self.column is None):
            raise ParameterError("--table and --column: give both or neither")
        if self.schema is not None and self.schema.used_as("weights"):
            raise ParameterError(
                "--schema names survey weights, which reports do not have (change the column's use)"
            )
        units = () if self.schema is None or self.unit else self.schema.used_as("unit")
        for unit in units:
            raise ParameterError(
                f"--schema names {unit!r} as the unit, but the batch has none: every row would be "
                "a report and protected separately; ask for a batch with --unit"
            )

    def digest(self) -> bytes | None:
        """Return the digest of a submission, None if this one only continues another."""
        if self.value is None and self.table is None:
            return None
        source: list[object] = [repr(self.value), repr(self.table)]
        if isinstance(self.table, Path) and self.table.is_file():
            status = self.table.stat()
            source = [str(self.table.absolute()), status.st_size, status.st_mtime_ns]
        described = [] if self.schema is None else [self.schema.digest]
        options = [self.column, self.target, self.classes, self.unit, *described]
        return hashlib.sha256(json.dumps([source, options]).encode()).digest()

    def kept(self, batch: Batch, file: Path, *, again: bool) -> Both:
        """Make the reports to both servers and keep them in a file: they are the same each time."""
        from nolook.federated.pending import was_sent, write_pending
        from nolook.federated.reports import make_reports
        from nolook.privacy.noise import SystemEntropy

        named = self.digest()
        if named is None:
            raise ParameterError(
                f"there is nothing to send: {one_line(file)} does not exist; give --value or "
                "--table"
            )
        if (self.target is None) != (len(batch.classes) == 1):
            given = "is not given" if self.target is None else "is given"
            raise ParameterError(f"--target {given}, but the batch is of kind {batch.kind}")
        if not again and was_sent(file, batch, named):
            raise ParameterError(
                f"--table was sent to {batch.name} before; its rows would count twice, and be "
                "protected half as well (--again sends them all the same)"
            )
        first, second = make_reports(batch, *self._rows(batch), SystemEntropy())[1:]
        write_pending(file, batch, named, first, second)
        return first, second

    def _one(self, batch: Batch) -> float:
        """Return the number to report, or the code of the level."""
        if batch.labels:
            from nolook.tables.words import same

            found = [same(str(self.value), label) for label in batch.labels]
            return float((*found, bool(self.value), True).index(True))
        number = math.nan
        with suppress(ValueError):
            number = float(str(self.value))
        if math.isnan(number):
            raise ParameterError(f"--value is {self.value!r}; expected a number (such as 0.31)")
        return number

    @property
    def _words(self) -> tuple[str | None, str | None]:
        return self.classes if any(self.classes) else ("1", "0")

    def _is_positive(self, target: str) -> bool:
        """Tell whether a class is the positive one."""
        positive, negative = self._words
        if target in {positive, negative}:  # the tables' code takes long to load
            return target == positive
        from nolook.tables.words import OTHERS, same

        is_positive = positive is not None and same(target, positive)
        if is_positive or (negative is not None and same(target, negative)):
            return is_positive
        if negative == OTHERS and target.strip():
            return False
        raise ParameterError(f"--target is {target!r}; expected {positive} or {negative}")

    def _tell_lacking(self, read: Table) -> None:
        """Tell the owner only how many rows have neither word and count as negative."""
        classed = [each for _, each, _ in read.keeping_infinite().batches_in_place()]
        rows, used = sum(map(len, classed)), sum(int(each.sum()) for each in classed)
        said = f"have {' or '.join(map(str, self._words))} as their {self.target}"
        if used < rows:
            sys.stderr.write(
                f"nolook: {used:,} of {rows:,} rows {said}; others count as negative\n"
            )

    def _rows(self, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Return the numbers, and whether each is positive if there are classes."""
        import numpy as np

        if self.value is not None:
            number = np.array([self._one(batch)])
            if self.target is None:
                return number, None

            return number, np.array([self._is_positive(self.target)])
        from nolook.privacy.noise import SystemEntropy
        from nolook.tables.read import check_probability, read_scores, read_table

        column = str(self.column)
        # The number of reports is public: no value, missing or not, may leave one out.
        declared: dict[str, Any] = {"schema": self.schema, "missing": "zero"}
        if self.unit is not None and not (self.schema and self.schema.used_as("unit")):
            declared["unit"] = self.unit
        if self.target is None:
            levels = {column: list(batch.labels)} if batch.labels else None
            read = read_table(self.table, False, features=[column], categories=levels, **declared)
            read = read.as_codes([column]) if batch.labels else read
        else:
            read = read_scores(self.table, column, self.target, *self.classes, **declared)
        if batch.kind == "hosmer-lemeshow":
            check_probability(read)
        if self.target is not None:
            self._tell_lacking(read)
        kept = read.keeping_infinite(all_targets=True)
        if self.unit is not None:
            kept = kept.sample_rows(1, SystemEntropy().words)
        parts = [np.empty((kept.n_columns, 0))]
        for part in kept.batches():
            parts.append(part)
            if sum(one.shape[1] for one in parts) > _MOST_ROWS:
                raise ParameterError(
                    f"--table has more than {_MOST_ROWS:,} rows, each of which would be a report; "
                    "submit it in parts"
                )
        rows = np.concatenate(parts, axis=1)
        return rows[0], None if self.target is None else rows[1] == 1.0

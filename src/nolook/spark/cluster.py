"""A pass whose rows other processes read: what they are sent, and what they send back.

A task is a table without its rows and a statistic that has seen nothing. The process that has a
part of the rows updates the statistic with them and answers with its state, once. States are merged
by the caller, in the parts' order, into a statistic of its own; noise is drawn there, so never
elsewhere. A state is as confidential as the table. It is unpickled, so it is taken from the engine
that was asked for it, and never from a file.
"""

from __future__ import annotations

import pickle
import zlib
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nolook._numerics import undisturbed
from nolook._version import __version__
from nolook.errors import TableError
from nolook.spark.moving import ByUnit, Identify
from nolook.spark.workers import count_units, read_through, state, work_at_rows
from nolook.tables.folding import Foldable
from nolook.tables.source import Source, attempt
from nolook.tables.table import DistributedSource, Table

__all__ = ["Engine", "PartResult", "next_pieces", "packed", "state_of", "unpacked"]

# States are mostly zeros and small numbers: this makes them a tenth, and more costs time.
_LEVEL = 1


# A tuple: its fields are an engine's columns, its values a row.
class PartResult(NamedTuple):
    """The result of a part."""

    part: int
    version: str  # of nolook, where the part was read
    state: bytes


class Engine(DistributedSource):
    """A cluster of which every part, or every place that units are moved to, gives one answer."""

    def __init__(self) -> None:
        # What brings a unit's rows together, by its column and the columns read: the same in each
        # pass, so that an engine may keep what was moved.
        self._shuffles: dict[tuple[str, ...], ByUnit] = {}

    @abstractmethod
    def states(self, task: bytes, names: Sequence[str]) -> tuple[list[PartResult], int | None]:
        """Have :func:`state_of` called with every part; return its answers and how many are due.

        That is None where only the engine knows. `names` are the columns that will be asked for.
        """

    @abstractmethod
    def states_by_unit(
        self, task: bytes, names: Sequence[str], by_unit: ByUnit
    ) -> tuple[list[PartResult], int | None]:
        """Have the pieces of every part moved, and :func:`state_of` called with every place.

        The places' numbers are those of the answers.
        """

    def fold(self, table: Table, statistic: Foldable) -> None:
        """Update a statistic with all rows of a table of this source, each once."""
        if table.unit.column is not None:
            table.finish_first_pass()  # a place has no row that names no unit
        checksum, total, run = np.zeros(2, np.uint64), 0, table._run
        for made, left_out, rows in self._over(table, partial(state, statistic)):
            statistic.merge(made)
            checksum += rows
            total += left_out
        run.left_out[None] = total
        if run.seen is not None and (run.seen != checksum).any():
            raise TableError(
                f"the rows of {self.name} changed between two passes (export them to files, or "
                "persist them where they are drawn at random; start again)"
            )
        run.seen = checksum

    def count_units(self, table: Table) -> int:
        """Return the number of units."""
        return sum(self._over(table, count_units))

    def read_through(self, table: Table) -> None:
        """Read all rows, only to see that they can be read."""
        deque(self._over(table, read_through, alone=True), maxlen=0)

    def _over(
        self, table: Table, work: Callable[[Any, int], Any], *, alone: bool = False
    ) -> Iterator[Any]:
        """Yield the result of some work for the rows of every part, in the parts' order.

        All rows of a unit are in one part, unless each row can be judged alone.
        """
        source, column = table._source, table.unit.column
        unit = None
        if column is not None and not alone:
            unit = partial(source.of(None).column, name=column)
        names = source.needed(table._design.source_names)
        return self.collect(partial(work_at_rows, table.with_source(None), work), names, unit)

    def collect(
        self, work: Callable[[Source, int], Any], names: Sequence[str], unit: Identify | None
    ) -> Iterator[Any]:
        """Yield the result of some work for the rows of every part, in the parts' order.

        `names` are the columns that it reads. With a `unit`, which identifies those of a
        batch, all rows of one are in one part. Raises TableError where a part is missing,
        came twice or could not be read, before anything is yielded; or one that refused its rows,
        in its turn: what was made of the others must not be used then.
        """
        if unit is None:
            answers, due = self.states(packed(work), names)
        else:
            cutter = self._shuffles.setdefault(tuple(names), ByUnit(unit, names))
            answers, due = self.states_by_unit(packed(work), names, cutter)
        answers = sorted(answers, key=lambda answer: answer.part)
        expected = range(len(answers) if due is None else due)
        if [answer.part for answer in answers] != [*expected]:
            raise TableError(
                f"{self.engine} left out a part of {self.name} or returned one twice (start again)"
            )
        for answer in answers:
            if answer.version != __version__:
                raise TableError(
                    f"{self.engine} read {self.name} with nolook {answer.version[:20]}; expected "
                    f"{__version__} wherever rows are read, as here (install the same version "
                    "there)"
                )
        return map(_accepted, answers)


def state_of(task: bytes, source: Source, part: int) -> bytes:
    """Return the state that a task makes of the rows of a part, or words that refuse them.

    It is called where the rows are.
    """
    work = unpacked(task)
    with undisturbed():
        try:
            return packed(work(source, part))
        except TableError as refused:
            return packed(str(refused))


def next_pieces(pieces: Iterator[list[tuple[int, bytes]]]) -> list[tuple[int, bytes]] | None:
    """Return the next pieces of a part, or None after the last; called where its rows are."""
    with undisturbed():
        try:
            return next(pieces, None)
        except TableError as refused:
            return [(0, pickle.dumps(str(refused)))]


def _accepted(answer: PartResult) -> Any:  # noqa: ANN401
    if isinstance(made := unpacked(answer.state), str):
        raise TableError(made)
    return made


def packed(thing: object) -> bytes:
    """Return a task, a part or a state as few bytes."""
    message = (
        f"a value of type {type(thing).__name__} cannot be sent to other processes, as it cannot "
        "be pickled (read the table without an engine)"
    )
    return zlib.compress(attempt(message, pickle.dumps, thing, pickle.HIGHEST_PROTOCOL), _LEVEL)


def unpacked(data: bytes) -> Any:  # noqa: ANN401
    """Return the unpacked result."""
    return pickle.loads(zlib.decompress(data))  # noqa: S301 -- of the engine, see above

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
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from nolook._numerics import undisturbed
from nolook._version import __version__
from nolook.errors import TableError
from nolook.spark.moving import ByUnit
from nolook.tables.folding import DistributedSource, Identify
from nolook.tables.source import Source, attempt

__all__ = ["Engine", "PartResult", "next_pieces", "packed", "state_of", "unpacked"]

# States are mostly zeros and small numbers: this makes them a tenth, and more costs time.
_LEVEL = 1


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

    def collect(
        self, work: Callable[[Source, int], Any], names: Sequence[str], unit: Identify | None
    ) -> Iterator[Any]:
        """Yield the result of some work for every part, as a cluster does."""
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
    """Return the state that a task makes of the rows of a part; called where these are."""
    work = unpacked(task)
    with undisturbed():
        try:
            return packed((work(source, part), None))
        except TableError as refused:
            return packed((None, str(refused)))


def next_pieces(pieces: Iterator[list[tuple[int, bytes]]]) -> list[tuple[int, bytes]] | None:
    """Return the next pieces of a part, or None after the last; called where its rows are."""
    with undisturbed():
        try:
            return next(pieces, None)
        except TableError as refused:
            return ByUnit.refusal(str(refused))


def _accepted(answer: PartResult) -> Any:  # noqa: ANN401
    made, refused = unpacked(answer.state)
    if refused is not None:
        raise TableError(refused)
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

"""A pass whose rows other processes read: what they are sent, and what they send back.

A task is a table without its rows and a statistic that has seen nothing. Whoever has a part of the
rows updates the statistic with them and answers with its state, once. States are merged here, in
the parts' order, into the caller's statistic; noise is drawn by the caller, so never elsewhere. A
state is as confidential as the table. It is unpickled, so it is taken from the engine that was
asked for it, and never from a file.
"""

from __future__ import annotations

import pickle
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nolook._numerics import undisturbed
from nolook._version import __version__
from nolook.errors import TableError
from nolook.tables._hash import sum_of_rows
from nolook.tables.folding import Foldable
from nolook.tables.source import Column, Source, attempt

__all__ = ["Answer", "Checksum", "Cluster", "fold_elsewhere", "packed", "state_of", "unpacked"]

# States are mostly zeros and small numbers: this makes them a tenth, and more costs time.
_LEVEL = 1


class Checksum:
    """How many rows a pass saw, and what they were, whatever their order: the same in each pass.

    It finds rows that changed, not rows that were changed to deceive it.
    """

    def __init__(self) -> None:
        self.rows = self.sum = 0

    def update(self, numbers: NDArray[np.float64]) -> None:
        """Add rows of shape (columns, rows)."""
        self._add(numbers.shape[1], int(sum_of_rows(numbers)))

    def merge(self, other: Checksum) -> None:
        """Add the rows another one has seen."""
        self._add(other.rows, other.sum)

    def _add(self, rows: int, added: int) -> None:
        self.rows += rows
        self.sum = (self.sum + added) % 2**64

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Checksum) and (self.rows, self.sum) == (other.rows, other.sum)

    __hash__ = None  # type: ignore[assignment]


class Answer(NamedTuple):
    """What comes back for a part."""

    part: int
    version: str  # of nolook, where the part was read
    state: bytes


class Bare(Protocol):
    """A table without its rows."""

    def over(self, source: Source | None) -> Any:  # noqa: ANN401
        """Return the table of other rows."""


class _State(NamedTuple):
    """What a part's rows add up to."""

    statistic: Foldable
    gaps: bool
    checksum: Checksum


class Cluster(ABC):
    """A source whose rows other processes read, and nobody gathers.

    Attributes
    ----------
    engine : str
        What messages call those who read.
    """

    engine: ClassVar[str]
    name: str
    label: str | None
    columns: tuple[Column, ...]

    @abstractmethod
    def states(self, task: bytes, names: Sequence[str]) -> tuple[list[Answer], int | None]:
        """Have :func:`state_of` called with every part; return its answers and how many are due.

        That is None where only the engine knows. `names` are the columns that will be asked for.
        """

    def batches(self, names: Sequence[str]) -> Iterator[Any]:  # noqa: ARG002
        """Refuse: the rows stay where they are."""
        raise TableError(
            f"{self.name} is read by {self.engine}, which adds rows up and hands none over; "
            f"expected a table read without {self.engine} (its files, or a frame in memory)"
        )

    def parts(self) -> Sequence[Source]:
        """Return the source: only its engine divides it."""
        return (self,)


def state_of(task: bytes, source: Source) -> bytes:
    """Return the state of a task's statistic for the rows of a part; called where these are."""
    table, statistic = unpacked(task)
    with undisturbed():
        try:
            return packed(_State(*table.over(source).state(statistic)))
        except TableError as refused:
            return packed(str(refused))


def fold_elsewhere(
    statistic: Foldable, table: Bare, cluster: Cluster, names: Sequence[str]
) -> tuple[bool, Checksum]:
    """Update a statistic that has seen nothing with all rows of a cluster, in one pass.

    Returns whether a value was missing, and a checksum of the rows. Raises TableError where a part
    is missing, came twice or could not be read; then the statistic must not be used.
    """
    answers, due = cluster.states(packed((table.over(None), statistic)), names)
    answers = sorted(answers, key=lambda answer: answer.part)
    expected = range(len(answers) if due is None else due)
    if [answer.part for answer in answers] != [*expected]:
        raise TableError(
            f"{cluster.engine} left out a part of {cluster.name} or gave one twice; expected every "
            "part once (start again)"
        )
    for answer in answers:
        if answer.version != __version__:
            raise TableError(
                f"{cluster.engine} read {cluster.name} with nolook {answer.version[:20]}; expected "
                f"{__version__} wherever rows are read, as here (install the same version there)"
            )
    gaps, checksum = False, Checksum()
    for answer in answers:
        state = unpacked(answer.state)
        if isinstance(state, str):
            raise TableError(state)
        statistic.merge(state.statistic)
        checksum.merge(state.checksum)
        gaps |= state.gaps
    return gaps, checksum


def packed(thing: object) -> bytes:
    """Return a task, a part or a state as few bytes."""
    message = (
        f"a value of type {type(thing).__name__} cannot be sent to other processes; expected one "
        "that can be pickled (read the table without an engine)"
    )
    return zlib.compress(attempt(message, pickle.dumps, thing, pickle.HIGHEST_PROTOCOL), _LEVEL)


def unpacked(data: bytes) -> Any:  # noqa: ANN401
    """Return what was packed."""
    return pickle.loads(zlib.decompress(data))  # noqa: S301 -- of the engine, see above

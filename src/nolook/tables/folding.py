"""The one way to run a pass: a statistic is updated with all rows, by threads or by a cluster.

What a statistic holds in the end does not depend on how many there were: its sums are exact, and
every part of the rows is added to a copy of its own, which is merged once, here, in the parts'
order. A copy is made before any row is seen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from copy import deepcopy
from itertools import chain, islice
from threading import Event
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

from nolook.errors import TableError
from nolook.tables.source import Column, Source

__all__ = [
    "Batches",
    "DistributedSource",
    "Drawing",
    "Foldable",
    "Mapped",
    "Part",
    "Rows",
    "S",
    "Together",
    "fold",
]

#: Yields the batches of a part, each as what a statistic's `update` takes.
Part: TypeAlias = Callable[[], Iterable[tuple[Any, ...]]]


class Foldable(Protocol):
    """What a pass feeds; :class:`nolook.statistics.Statistic` says what one owes."""

    def update(self, *batch: Any) -> Self:  # noqa: ANN401
        """Add the rows of a batch."""

    def merge(self, other: Self) -> Self:
        """Add the rows that another one has seen."""


class Drawing(Foldable):
    """A statistic whose rows draw random numbers, each part's its own.

    Its batches are numbers, weights, and the unit of each row.
    """

    @abstractmethod
    def start(self, part: int, units: int | None) -> None:
        """Make ready for a part with so many units; None where a row is one."""


S = TypeVar("S", bound=Foldable)

#: Returns the identifiers of the units in a batch of a source's columns.
Identify: TypeAlias = Callable[[Any], Any]


class Rows(Protocol):
    """Anything that feeds a statistic all its rows, as often as asked."""

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all rows, in one pass, and return it."""


class DistributedSource(ABC):
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
    def collect(
        self, work: Callable[[Source, int], Any], names: Sequence[str], unit: Identify | None
    ) -> Iterator[Any]:
        """Yield what some work returns for the rows of every part, in the parts' order.

        `names` are the columns that it reads. With a `unit`, which identifies those of a
        batch, all rows of one are in one part. Raises TableError where a part is missing,
        came twice or could not be read, before anything is yielded; or one that refused its rows,
        in its turn: what was made of the others must not be used then.
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


class Mapped:
    """A statistic of what `turn` makes of batches: for each, any number of other batches."""

    def __init__(self, statistic: Foldable, turn: Callable[..., Iterable[tuple[Any, ...]]]) -> None:
        self._statistic, self._transform = statistic, turn

    def __deepcopy__(self, memo: dict[int, Any]) -> Mapped:
        return Mapped(deepcopy(self._statistic, memo), self._transform)

    def update(self, *batch: Any) -> Self:  # noqa: ANN401
        """Add the rows of a batch."""
        for turned in self._transform(*batch):
            self._statistic.update(*turned)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows that another one has seen."""
        self._statistic.merge(other._statistic)
        return self


class Together:
    """Several statistics fed by one pass."""

    def __init__(self, *statistics: Foldable) -> None:
        self._statistics = statistics

    def update(self, *batch: Any) -> Self:  # noqa: ANN401
        """Add the rows of a batch to each."""
        for statistic in self._statistics:
            statistic.update(*batch)
        return self

    def merge(self, other: Self) -> Self:
        """Add the rows that others have seen."""
        for statistic, seen in zip(self._statistics, other._statistics, strict=True):
            statistic.merge(seen)
        return self


class Batches:
    """Rows in memory already, each batch as what a statistic's `update` takes."""

    def __init__(self, batches: Sequence[tuple[Any, ...]], threads: int = 1) -> None:
        self._batches, self._threads = batches, threads

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all rows, and return it."""
        return fold(statistic, [lambda: self._batches], self._threads)


def fold(statistic: S, parts: Sequence[Part], threads: int = 1) -> S:
    """Update a statistic that has seen nothing with every batch of every part, and return it.

    With several threads each takes a part at a time; where there are fewer parts than threads, one
    reads and the others take a batch at a time. About a batch and a state for each thread are in
    memory. The first part that fails, in their order, raises.
    """
    if threads > 1 and len(parts) >= threads:
        _over_parts(statistic, parts, threads)
    else:
        _over_batches(statistic, chain.from_iterable(part() for part in parts), threads)
    return statistic


def _over_parts(statistic: Foldable, parts: Sequence[Part], threads: int) -> None:
    fresh, stop = deepcopy(statistic), Event()

    def updated(own: Foldable, part: Part) -> Foldable:
        for batch in part():
            if stop.is_set():
                break
            own.update(*batch)
        return own

    with _pool(threads, stop) as submit:
        waiting: deque[Future[Foldable]] = deque()
        for part in parts:
            if len(waiting) > threads:
                statistic.merge(waiting.popleft().result())
            waiting.append(submit(updated, deepcopy(fresh), part))
        while waiting:
            statistic.merge(waiting.popleft().result())


def _over_batches(statistic: Foldable, batches: Iterator[tuple[Any, ...]], threads: int) -> None:
    first = list(islice(batches, threads)) if threads > 1 else []
    if len(first) < threads or threads == 1:
        for batch in chain(first, batches):
            statistic.update(*batch)
        return
    idle: list[Foldable] = [deepcopy(statistic) for _ in range(threads)]
    running: set[Future[Foldable]] = set()
    with _pool(threads, Event()) as submit:
        for batch in chain(first, batches):
            if not idle:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                idle = [each.result() for each in done]
            running.add(submit(idle.pop().update, *batch))
        for state in (*idle, *(each.result() for each in running)):
            statistic.merge(state)


@contextmanager
def _pool(threads: int, stop: Event) -> Iterator[Callable[..., Future[Any]]]:
    """Give a function that starts a call in one of some threads, under the caller's settings."""
    with ThreadPoolExecutor(threads, "nolook") as pool:

        def submit(action: Callable[..., Any], *args: Any) -> Future[Any]:  # noqa: ANN401
            return pool.submit(copy_context().run, action, *args)

        try:
            yield submit
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise

"""The passes over a table's rows: by threads here, or by an engine where the rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from nolook._numerics import worker_threads
from nolook._unit import Unit
from nolook.tables.by_unit import ByUnit
from nolook.tables.checksum import Checksum
from nolook.tables.completeness import FirstPass, Seen, look, surely_complete
from nolook.tables.conversion import in_place_of, needed, original, unfiltered
from nolook.tables.design import Design
from nolook.tables.engines import Cluster, gathered
from nolook.tables.folding import Drawing, Foldable, S, fold
from nolook.tables.remembered import Remembered
from nolook.tables.source import Source

__all__ = ["Passes", "Weights"]

#: What each row weighs, or the number of its unit; None where every row counts in full.
Weights: TypeAlias = NDArray[np.int64] | None


class Passes(ABC):
    """Rows that are passed over as often as wanted; who reads them is the source's affair."""

    def __init__(self, source: Source, design: Design) -> None:
        self._source = source
        self._design = design
        self.unit: Unit = design.unit
        self._first_pass = FirstPass(source, design)

    @property
    @abstractmethod
    def _parts(self) -> Sequence[Source]:
        """The source's parts; their rows in use, one after the other, are this table's."""

    @abstractmethod
    def _weighted(self, part: int | None) -> Iterator[tuple[NDArray[np.float64], Weights]]:
        """Yield batches and what each row weighs, of all rows or of a part."""

    @abstractmethod
    def _of_units(self, part: int | None) -> Iterator[tuple[NDArray[np.float64], Weights, Weights]]:
        """Yield batches, weights, and the number of each row's unit."""

    @abstractmethod
    def count_units(self) -> int:
        """Return how many units there are."""

    def fold(self, statistic: S) -> S:
        """Update a statistic that has seen nothing with all rows, in one pass, and return it.

        It takes batches of rows, as of :meth:`Table.batches`, cut elsewhere perhaps, and what each
        row weighs: whole numbers, those of a unit ``unit.whole`` together at most, shared equally
        and rounded down; or None where every row counts in full. Parts of the table are read by
        several threads at a time, or by an engine's workers; what it holds is the same, to the last
        bit, for any number of them.
        """
        if self._cluster is not None:
            self._fold_elsewhere(statistic, self._cluster)
        else:
            count = len(self._parts)
            places = [None] if count == 1 else range(count)
            fold(statistic, [partial(self._weighted, place) for place in places], self.threads)
        self._first_pass.end()
        return statistic

    def _fold_elsewhere(self, statistic: Foldable, cluster: Cluster) -> None:
        gaps, rows = False, Checksum()
        for state, with_gaps, checksum in self._gathered(partial(_state, statistic), cluster):
            statistic.merge(state)
            rows.merge(checksum)
            gaps |= with_gaps
        self._first_pass.compare(gaps, rows)

    def _gathered(
        self, work: Callable[[Any, int], Any], cluster: Cluster, *, alone: bool = False
    ) -> Iterator[Any]:
        """Yield what some work returns for the rows of every part, in the parts' order.

        All rows of a unit are in one part, unless each row can be judged alone.
        """
        names = needed(self._source, self._design.source_names)
        by_unit = None
        if self.unit.column is not None and not alone:
            made = ByUnit(in_place_of(unfiltered(self._source), None), self.unit.column, names)
            by_unit = cluster.cutters.setdefault((self.unit.column, *names), made)
        return gathered(partial(_over, self.over(None), work), cluster, names, by_unit)

    @property
    def threads(self) -> int:
        """How many threads read and count."""
        return worker_threads(self._design.threads)

    @property
    def _cluster(self) -> Cluster | None:
        found = original(self._source)
        return found if isinstance(found, Cluster) else None

    @property
    def engine(self) -> str | None:
        """Who reads the rows where no thread of this process does, such as "Spark"."""
        return None if self._cluster is None else self._cluster.engine

    def check_here(self) -> None:
        """Refuse rows that an engine reads: they are not handed over."""
        if self._cluster is not None:
            self._cluster.batches(())

    def over(self, source: Source | None) -> Self:
        """Return the table of another source with the same columns, fit to be pickled.

        With None it has no rows: it is what other processes are sent, to read theirs with.
        """
        table = copy(self)
        table._source = cast("Source", in_place_of(self._source, source))
        table._first_pass = FirstPass(table._source, self._design)
        return table

    def paid_by(self, pay: Callable[[], object]) -> Self:
        """Return the same table; it calls `pay` before it hands on anything it reads.

        That is at the end of its first pass, if no row is refused there (:meth:`check_complete`).
        """
        if self.unit.column is not None:
            self.check_complete()  # the pass that groups units looks at nothing else
            pay()
            return self._again()
        table = self._again()
        table._first_pass.pay = pay
        return table

    def _again(self) -> Self:
        """Return a copy whose first pass is still to come, and keeps the rows if they fit."""
        table = copy(self)
        kept = self._first_pass.kept_of(self._source, self._design)
        kept = kept or Remembered.of(self._source, self._design.binary.size)
        table._first_pass = FirstPass(self._source, self._design, kept)
        return table

    def settle(self) -> None:
        """Look for missing values in a pass of its own, and pay, if no pass has."""
        if self._first_pass.pay is not None:
            self.check_complete()
            self._first_pass.end()

    def check_complete(self) -> None:
        """Refuse a table that cannot be read, or has missing values if its policy is "error".

        One pass over the table, or a quicker one over an array in memory that is finite. With the
        policy "error", whether it raises TableError is one bit about the data that no noise
        protects, and all it reveals: the message says neither where nor how many values are missing
        or infinite. The other policies reveal nothing but that the file is damaged.
        """
        source, design = self._source, self._design
        if surely_complete(source, design):
            return
        if self._cluster is None:
            seen = look(source, design)
        else:
            found = [*self._gathered(_looked, self._cluster, alone=True)]
            seen = Seen(*(all(each) for each in zip(Seen(True, True), *found, strict=True)))
        seen.check(source, design)


def _over(table: Passes, work: Callable[[Any, int], Any], source: Source, part: int) -> Any:  # noqa: ANN401
    """Do some work with a table that was sent without its rows, where these are."""
    return work(table.over(source), part)


def _state(statistic: S, table: Passes, part: int) -> tuple[S, bool, Checksum]:
    """Update a statistic with all rows; return whether a value was missing, and a checksum."""
    first = table._first_pass
    first.rows = Checksum()
    batches: Iterator[tuple[Any, ...]] = table._weighted(None)
    if isinstance(statistic, Drawing):
        statistic.start(part, None if table.unit.column is None else table.count_units())
        batches = table._of_units(None)
    for batch in batches:
        statistic.update(*batch)
    return statistic, first.gaps, first.rows


def _looked(table: Passes, _: int) -> Seen:
    return look(table._source, table._design)

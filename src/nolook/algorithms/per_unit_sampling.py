"""Random draws of units for their rows: whether they are kept, their block, or one of them.

See ``sublasso.md``, and for rows that an engine reads ``../tables/folding.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np

from nolook._arrays import Integers, Vector
from nolook.algorithms.kept_batches import KeptBatches
from nolook.privacy.noise import (
    ByteSource,
    KeyedSource,
    SystemEntropy,
    derived_key,
    uniform_integers,
)
from nolook.privacy.sampling import SAMPLING_UNIT, kept_rows
from nolook.tables import Table
from nolook.tables.folding import Batches, Drawing, Foldable
from nolook.tables.table import Weights

__all__ = ["Drawn", "Sample", "choose_chances", "rows_in_blocks", "sampled_rows"]

# More rows than this do not sharpen a choice enough to wait for them.
_ROWS_WANTED = 2**20
_KEY_WORDS = 4


def choose_chances(bound: int) -> int:
    """Choose the probability, in units of 1/SAMPLING_UNIT, that keeps about a million rows."""
    return max(1, min(SAMPLING_UNIT, SAMPLING_UNIT * _ROWS_WANTED // max(bound, 1)))


class _Draws:
    """Draws of rows, or of units for all their rows, from a source; `units` draw at once."""

    def __init__(self, m: int, chances: int, source: ByteSource, units: int | None) -> None:
        self._m, self._chances, self._source = m, chances, source
        self._of_units = None if units is None else self._draw(units)

    def _draw(self, count: int) -> Integers:
        """Draw blocks, -1 for what is not kept."""
        blocks = np.zeros(count, dtype=np.int64)  # one of which draws nothing
        if self._m > 1:
            blocks = uniform_integers(self._m, count, self._source)
        if self._chances < SAMPLING_UNIT:
            blocks[~kept_rows(count, self._chances, self._source)] = -1
        return blocks

    def kept(
        self, batch: Vector, weights: Weights, units: Weights
    ) -> tuple[Vector, Weights, Integers]:
        """Return the rows of a batch that are kept, their weights and their blocks."""
        if self._of_units is None or units is None:
            blocks = self._draw(batch.shape[1])
        else:
            blocks = self._of_units[units]
        if self._chances == SAMPLING_UNIT:
            return batch, weights, blocks
        kept = blocks >= 0
        return batch[:, kept], None if weights is None else weights[kept], blocks[kept]


class Drawn(Drawing):
    """Feeds a statistic rows, weights, and the block that each row, or its unit, draws.

    Each is kept with probability ``chances / SAMPLING_UNIT``; a unit draws for all its rows, unless
    its rows draw `by_row`. Every part draws separately, where its rows are; from a seed, if
    `source` has one, parts draw other numbers of it.
    """

    def __init__(
        self, statistic: Foldable, m: int, chances: int, source: ByteSource, *, by_row: bool = False
    ) -> None:
        self._statistic, self._m, self._chances, self._by_row = statistic, m, chances, by_row
        self._key = None if source.private else source.words(_KEY_WORDS).tobytes()

    def start(self, part: int, units: int | None) -> None:
        """Draw for a part's units, if rows have any and do not draw themselves."""
        source: ByteSource = SystemEntropy()
        if self._key is not None:
            source = KeyedSource(derived_key(self._key, part.to_bytes(8, "big")), b"rows")
        self._draws = _Draws(self._m, self._chances, source, None if self._by_row else units)

    def update(self, *batch: Any) -> Self:  # noqa: ANN401
        """Let rows draw, and add those that are kept."""
        self._statistic.update(*self._draws.kept(*batch))
        return self

    def merge(self, other: Self) -> Self:
        """Add what other rows drew."""
        self._statistic.merge(other._statistic)
        return self


def rows_in_blocks(
    table: Table, m: int, source: ByteSource, chances: int = SAMPLING_UNIT, *, by_row: bool = False
) -> Iterator[tuple[Vector, Weights, Integers]]:
    """Yield a table's rows, their weights, and the block of each, from 0 to m - 1.

    Every row draws its block, or every unit for all its rows (unless rows draw `by_row`): so adding
    or removing one changes what is in one block. Each is kept with probability ``chances /
    SAMPLING_UNIT``. Rows that an engine reads come in an order that follows from them alone. Blocks
    must not reach a user.
    """
    if table.engine is not None:
        kept = KeptBatches()
        table.fold(Drawn(kept, m, chances, source, by_row=by_row))
        yield from _in_order(kept.batches or [])
        return
    units = None if by_row or table.unit.column is None else table.units().counts.size
    draws = _Draws(m, chances, source, units)
    for batch in table.batches_of_units():
        yield draws.kept(*batch)


def _in_order(batches: list[tuple[Any, ...]]) -> Iterator[tuple[Vector, Weights, Integers]]:
    """Yield all rows at once, sorted by their numbers and weights."""
    if not batches:
        return
    drawn, own, places = zip(*batches, strict=True)
    rows, blocks = np.hstack(drawn), np.concatenate(places)
    weights = None if own[0] is None else np.concatenate(own)
    order = np.lexsort(rows if weights is None else np.vstack([rows, weights]))
    yield rows[:, order], None if weights is None else weights[order], blocks[order]


class Sample(Batches):
    """Rows in memory, without weights."""

    def __init__(self, batches: Iterable[Vector], n_columns: int) -> None:
        super().__init__([(batch,) for batch in batches])
        self.n_columns = n_columns


def sampled_rows(table: Table, chances: int, source: ByteSource) -> Table | Sample:
    """Return rows, each kept with probability ``chances / SAMPLING_UNIT``; without weights.

    For each unit whose rows have weights one row is drawn, and may be kept: so adding or
    removing a unit adds or removes a row. Where several rows of a unit count in full each draws by
    itself: their costs add up row by row. Which rows are drawn must not reach a user. Rows draw
    once, one after the other; all of them draw nothing, and stay where they are.
    """
    if table.unit.weight_scale > 1:
        table = table.sample_rows(1, source.words)
    if chances == SAMPLING_UNIT:
        return table
    drawn = rows_in_blocks(table, 1, source, chances, by_row=True)
    return Sample((batch for batch, *_ in drawn), table.n_columns)

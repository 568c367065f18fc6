"""The work of a process that has rows: it reads a part, checks it, and answers with one state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from attrs import Factory, define

from nolook._arrays import Matrix, Words
from nolook.tables.conversion import DeclaredSource
from nolook.tables.design import Design
from nolook.tables.folding import Drawing, Run, S, identified
from nolook.tables.source import Source
from nolook.tables.table import Table
from nolook.tables.units import group_hashes, hashes_of, keyed_hashes

__all__ = ["count_units", "read_through", "row_keys", "state", "work_at_rows"]

# Odd numbers whose products spread a change over all bits.
_SPREAD, _STIR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


def sum_of_rows(numbers: Matrix) -> int:
    """Return a sum, modulo 2^64, of something all bits of a row enter; shape (columns, rows).

    It has no key: it tells rows from others by chance, not by design.
    """
    mixed = np.full(numbers.shape[1], _SPREAD)
    for cells in np.ascontiguousarray(numbers).view(np.uint64):
        mixed = (mixed ^ cells) * _STIR
        mixed = (mixed ^ (mixed >> _HALF)) * _SPREAD
    return int((mixed ^ (mixed >> _HALF)).sum())


@define
class _CheckedRun(Run):
    """A run of one pass that knows the number and the sum of its rows: the same in each pass.

    That finds rows that changed, not rows that were changed to deceive it.
    """

    checksum: Words = Factory(lambda: np.zeros(2, np.uint64))

    def through(self, part: int | None, read: Iterator[Matrix]) -> Iterator[Matrix]:  # noqa: ARG002
        """Yield the blocks of a part."""
        for block in read:
            self.checksum += np.array([block.shape[1], sum_of_rows(block)], np.uint64)
            yield block


def work_at_rows(table: Table, work: Callable[[Table, int], Any], source: Source, part: int) -> Any:  # noqa: ANN401
    """Do some work with a table that was sent without its rows, where these are."""
    table = table.with_source(source)
    if table._drawn is not None:
        most, secret = table._drawn
        keys = partial(row_keys, secret, table._source, table._design)
        table = table._only(table.units().chosen(most, keys))
    return work(table, part)


def state(statistic: S, table: Table, part: int) -> tuple[S, int, Words]:
    """Update a statistic with all rows; return how many were left out, and a checksum."""
    table._run = run = _CheckedRun(table._run.threads)
    batches: Iterator[tuple[Any, ...]] = table._weighted(None)
    if isinstance(statistic, Drawing):
        statistic.start(part, None if table.unit.column is None else table.count_units())
        batches = table._of_units(None)
    for batch in batches:
        statistic.update(*batch)
    return statistic, table.left_out(), run.checksum


def count_units(table: Table, _: int) -> int:
    """Return the number of units."""
    return table.count_units()


def read_through(table: Table, _: int) -> None:
    """Read all rows, only to see that they can be read."""
    table.read_through()


def row_keys(secret: bytes, source: DeclaredSource, design: Design, rows: int) -> Words:
    """Return a random number for each row in use, whatever their order and in every pass.

    It follows from the secret, the row's unit and numbers, and how many like it come before it in
    the unit: rows that no table tells apart may change places.
    """
    found = [np.empty((0, 2), dtype=np.uint64)]
    for cells, _, numbers in identified(source, design):
        own = np.ascontiguousarray(numbers.T).view(np.uint64)
        found.append(_hashed(np.hstack([hashes_of(cells, secret), own]), secret))
    hashes = np.concatenate(found)
    alike, _ = group_hashes(hashes)
    counts = np.bincount(alike, minlength=1)
    before = np.empty(rows, dtype=np.uint64)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    before[np.argsort(alike, kind="stable")] = np.arange(rows) - starts
    return _hashed(np.column_stack([hashes, before]), secret)[:, 0]


def _hashed(words: Words, key: bytes) -> Words:
    """Hash each row of words."""
    return keyed_hashes(map(np.ndarray.tobytes, words), key)

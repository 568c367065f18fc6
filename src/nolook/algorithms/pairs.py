"""All tables of two columns of a set of columns: which to count again, and estimates of them.

Post-processing of counts that were released. A table is the one of independent columns with its
margins, plus a departure; the departure is shrunk by the share of it that is noise (empirical
Bayes), and the result scaled to non-negative margins that all tables share.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from heapq import nlargest

import numpy as np

from nolook._arrays import Array
from nolook.algorithms.margins import Dimensions, Margin, Margins, NoisyTable, margins

__all__ = ["shrunk", "strongest"]

#: Of the count under independence: no estimate starts below this share of it.
_LEAST = 1e-3
_MOST_SCALINGS = 200


def strongest(tables: Sequence[NoisyTable], number: int) -> list[int]:
    """Return the places of the tables of two columns that depart most from independence."""
    found, sizes = margins(tables), {}
    for place, table in enumerate(tables):
        if len(table.dimensions) == 2:
            rest = _departure(found, table.dimensions)
            sizes[place] = (rest**2).sum() - table.variance * _freedom(rest)
    return sorted(nlargest(number, sizes, key=sizes.__getitem__))


def shrunk(tables: Sequence[NoisyTable], found: Margins) -> Margins:
    """Return non-negative estimates that agree on their margins, from the least-squares ones."""
    total = max(1.0, float(found[()].values))
    precisions: dict[Dimensions, float] = defaultdict(float)
    for table in tables:
        precisions[table.dimensions] += 1.0 / max(table.variance, 1e-99)  # it may underflow
    estimates: dict[Dimensions, Array] = {(): np.asarray(total)}
    for own, margin in found.items():  # smaller margins come first
        if len(own) == 1:
            estimates[own] = _non_negative(margin.values, total)
        elif own:
            rest, variance = _departure(found, own), 1.0 / precisions[own]
            rows, columns = estimates[own[:1]], estimates[own[1:]]
            free = np.outer(rows, columns) / total
            # As large as chi-square has it: the square of a departure is in proportion to `free`.
            excess = max((rest**2).sum() - variance * _freedom(rest), 0.0)
            signal = excess / total * free
            start = np.maximum(free + signal / (signal + variance) * rest, _LEAST * free)
            estimates[own] = _scaled(start, rows, columns)
    return {own: Margin(values, math.nan) for own, values in estimates.items()}


def _departure(found: Margins, own: Dimensions) -> Array:
    rows, columns = (found[own[place : place + 1]].values for place in (0, 1))
    rest: Array = found[own].values - np.outer(rows, columns) / max(1.0, float(found[()].values))
    return rest


def _freedom(rest: Array) -> int:
    return math.prod(size - 1 for size in rest.shape)


def _non_negative(counts: Array, total: float) -> Array:
    """Return the nearest counts of at least 0 that add up to a total."""
    falling = np.sort(counts)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    found: Array = np.maximum(counts - over[np.count_nonzero(falling > over) - 1], 0.0)
    return np.asarray(found * (total / found.sum()))


def _scaled(table: Array, rows: Array, columns: Array) -> Array:
    """Return a table, near one scaled by rows and columns, that has these margins."""
    free: Array = np.outer(rows, columns) / rows.sum()
    for _ in range(_MOST_SCALINGS):
        table = table * _ratio(rows, table.sum(axis=1))[:, np.newaxis]
        table = table * _ratio(columns, table.sum(axis=0))
        # The rest of the way at once, as soon as that leaves no count below 0.
        rest = np.outer(rows - table.sum(axis=1), columns) / rows.sum()
        if (table + rest).min() >= 0.0:
            return np.asarray(table + rest)
    return free


def _ratio(wanted: Array, sums: Array) -> Array:
    return np.divide(wanted, sums, out=np.zeros_like(wanted), where=sums > 0.0)

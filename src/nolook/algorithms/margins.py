"""Tables of one set of rows made consistent by least squares: every margin from all tables at once.

A table with independent noise splits into components, one for each subset of its dimensions: the
part of a margin that no smaller margin has. Components of different subsets are uncorrelated, so
the best component is the mean of those of all tables that have it, weighted by precision, and every
margin is the sum of its components. The proof is ``tabulation.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TypeAlias, TypeVar

import numpy as np
from attrs import frozen

from nolook._arrays import Array

__all__ = ["Margin", "Margins", "NoisyTable", "margins", "subsets"]

#: Dimensions of a table or margin, in increasing order.
Dimensions: TypeAlias = tuple[int, ...]
_Name = TypeVar("_Name", int, str)


@frozen(eq=False)
class NoisyTable:
    """A released table: an axis for each of its dimensions, then perhaps others."""

    dimensions: Dimensions
    values: Array
    variance: float  # of the noise of every entry, which is independent


@frozen(eq=False)
class Margin:
    """The least-squares margin over some dimensions, and the variance of each entry's noise."""

    values: Array
    variance: float


Margins: TypeAlias = dict[Dimensions, Margin]


def subsets(tables: Sequence[tuple[_Name, ...]]) -> list[tuple[_Name, ...]]:
    """Return every margin that some table has, the smallest first."""
    found = {each for table in tables for each in _subsets(table)}
    return sorted(found, key=lambda each: (len(each), each))


def _subsets(dimensions: tuple[_Name, ...]) -> Iterator[tuple[_Name, ...]]:
    for size in range(len(dimensions) + 1):
        yield from combinations(dimensions, size)


def margins(tables: Sequence[NoisyTable], total: float | None = None) -> Margins:
    """Return all margins of tables of the same rows, which agree with each other.

    The `total` is that of all rows, if it is public. Axes after the dimensions are kept.
    """
    sizes: dict[int, int] = {}
    for table in tables:
        sizes |= zip(table.dimensions, table.values.shape, strict=False)
    having: dict[Dimensions, list[NoisyTable]] = {}
    for table in tables:
        for own in _subsets(table.dimensions):
            having.setdefault(own, []).append(table)
    components: Margins = {}
    for own in subsets([*having]):
        # A margin adds up this many entries of each table.
        known = having[own]
        added = (math.prod(sizes[d] for d in each.dimensions if d not in own) for each in known)
        # Discrete noise of a very large epsilon is 0 so surely that its variance underflows.
        precisions = [1.0 / max(e.variance * n, 1e-99) for e, n in zip(known, added, strict=True)]
        weighted = zip(precisions, known, strict=True)
        mean = sum(weight * _component(each, own) for weight, each in weighted) / sum(precisions)
        components[own] = Margin(np.asarray(mean), 1.0 / sum(precisions))
    if total is not None:
        components[()] = Margin(np.full_like(components[()].values, total), 0.0)
    return {whole: _sum(components, whole, sizes) for whole in components}


def _component(table: NoisyTable, own: Dimensions) -> Array:
    """Return the component of a table's margin that no smaller margin has."""
    outside = tuple(place for place, d in enumerate(table.dimensions) if d not in own)
    found: Array = table.values.sum(axis=outside)
    for axis in range(len(own)):
        found = found - found.mean(axis=axis, keepdims=True)
    return found


def _sum(components: Margins, whole: Dimensions, sizes: dict[int, int]) -> Margin:
    """Add components up; each is spread evenly over the dimensions that it does not have."""
    values, variance = np.zeros(()), 0.0
    for own in _subsets(whole):
        part = components[own]
        spread = math.prod(sizes[d] for d in whole if d not in own)
        axes = tuple(place for place, d in enumerate(whole) if d not in own)
        values = values + np.expand_dims(part.values, axes) / spread
        centred = math.prod(1.0 - 1.0 / sizes[d] for d in own)
        variance += part.variance * centred / spread**2
    return Margin(values, variance)

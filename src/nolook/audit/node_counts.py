"""Audits of the counts of a forest's blocks: one column, several, or two classes of rows.

Only blocks whose counts differ on the two tables are looked at: the others have the same noise.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Integers
from nolook.algorithms.forest import CountEvent, best_forest
from nolook.algorithms.node_counts import noise_kind, release_forests
from nolook.audit.audit_case import (
    FEWER_RUNS,
    Case,
    Vector,
    gaussian_case,
    outcomes,
    pure_case,
)
from nolook.audit.exact_laws import gaussian_law, laplace_law
from nolook.privacy.guarantee import GaussianEvent, PureEvent, Relation
from nolook.privacy.noise import ByteSource
from nolook.statistics.cell_counts import node_counts_sensitivity

__all__ = ["cases"]

#: The cell of the only row in each forest, on both tables; None where it is not.
Places: TypeAlias = tuple[tuple[int | None, ...], tuple[int | None, ...]]

_COVERS = ("release_forests", "node_counts_sensitivity", "node_counts_l2_sensitivity")
_LIMIT = 3  # counts are clipped to -3..3: beyond, little is learned
_COPIES = 2_000  # released at once, as if each were a table of its own


def cases(parameter: float) -> tuple[Case, ...]:
    """Return the cases at an epsilon, and at a mu."""
    pure = partial(_case, pure_case(parameter), PureEvent("counts", parameter), _COVERS[:2])
    gaussian = partial(_case, gaussian_case(parameter), GaussianEvent("counts", parameter), _COVERS)
    # As few cells as give two levels, or three.
    return (
        pure(
            name="node-counts",
            neighbours="a value more: a block of each of two levels",
            pair=_Pair((16,), ((7,), (None,))),
        ),
        pure(
            name="node-counts-replace",
            neighbours="a value moved to other blocks of both levels",
            pair=_Pair((16,), ((1,), (15,)), "replace"),
        ),
        pure(
            name="node-counts-columns",
            neighbours="a row more: blocks of both levels of two columns",
            pair=_Pair((16, 20), ((1, 19), (None, None))),
        ),
        pure(
            name="node-counts-classes",
            neighbours="a row more of one of two classes: blocks of one of two forests",
            pair=_Pair((16, 16), ((7, None), (None, None)), classes=2),
        ),
        pure(
            name="node-counts-classes-replace",
            neighbours="a row that changes its class: blocks of both forests",
            pair=_Pair((16, 16), ((7, None), (None, 7)), "replace", classes=2),
        ),
        gaussian(
            name="gaussian-node-counts",
            neighbours="a value more: a block of each of three levels",
            pair=_Pair((5,), ((2,), (None,))),
        ),
        gaussian(
            name="gaussian-node-counts-replace",
            neighbours="a value moved to other blocks of both levels",
            pair=_Pair((3,), ((0,), (2,)), "replace"),
        ),
        gaussian(
            name="gaussian-node-counts-columns",
            neighbours="a row more: blocks of both levels of two columns",
            pair=_Pair((3, 4), ((0, 3), (None, None))),
        ),
    )


@frozen
class _Pair:
    """Two tables whose rows are counted in forests: in each, or in that of a row's class."""

    sizes: tuple[int, ...]
    places: Places
    relation: Relation = "add-remove"
    classes: int = 1

    def cells(self, table: int) -> list[Integers]:
        """Return the number of rows in every cell of each forest."""
        found = [np.zeros(size, dtype=np.int64) for size in self.sizes]
        for cells, place in zip(found, self.places[table], strict=True):
            if place is not None:
                cells[place] = 1
        return found

    def blocks(self, table: int, event: CountEvent) -> Integers:
        """Count the rows of every block by its definition, the longest blocks first."""
        counts = []
        for cells in self.cells(table):
            lengths = best_forest(len(cells), noise_kind(event)).lengths
            padded = -(-len(cells) // lengths[0]) * lengths[0]
            for length in lengths:
                counts += [cells[i : i + length].sum() for i in range(0, padded, length)]
        return np.array(counts)

    def changed(self, event: CountEvent) -> NDArray[np.intp]:
        """Return the places of the blocks whose counts differ."""
        return np.flatnonzero(self.blocks(0, event) != self.blocks(1, event))


def _case(
    make: partial[Case], event: CountEvent, covers: tuple[str, ...], *, pair: _Pair, **words: str
) -> Case:
    return make(
        **words,
        relation=pair.relation,
        covers=covers,
        draw=partial(_draw, event, pair),
        law=partial(_law, event, pair),
        runs=FEWER_RUNS,
        power=0.7,
    )


def _draw(event: CountEvent, pair: _Pair, table: int, runs: int, source: ByteSource) -> Vector:
    levels = sum(best_forest(size, noise_kind(event)).levels for size in pair.sizes)
    sensitivity = node_counts_sensitivity(levels // pair.classes, pair.relation)
    changed, parts = pair.changed(event), []
    for start in range(0, runs, _COPIES):
        copies = min(_COPIES, runs - start)
        forests = release_forests(pair.cells(table) * copies, event, sensitivity, source)
        noisy = np.concatenate([forest.blocks for forest in forests]).reshape(copies, -1)
        parts.append(outcomes(noisy[:, changed], _LIMIT))
    return np.concatenate(parts)


def _law(event: CountEvent, pair: _Pair, table: int) -> Vector:
    exact = pair.blocks(table, event)[pair.changed(event)].tolist()
    # So many counts differ, by one each: together they have the claim.
    if isinstance(event, PureEvent):
        laws = [laplace_law(len(exact) / event.epsilon, count, _LIMIT) for count in exact]
    else:
        laws = [gaussian_law(len(exact) ** 0.5 / event.mu, count, _LIMIT) for count in exact]
    return reduce(lambda one, other: np.outer(one, other).ravel(), laws)

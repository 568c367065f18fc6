"""A race among classes of equal scores: one uniform number stands for a whole class's noise.

The best noise of m standard exponential numbers is -ln(1 - U^(1/m)), U uniform. Classes come in
blocks, in float64. A class is dropped only if it is behind by more than a tolerance that covers
every rounding (`noise.md`); exact arithmetic decides among the others. Nothing here draws at random
by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Array, Words
from nolook.privacy._compare import LARGEST_GAP, clear_words, log_exponentials
from nolook.privacy._refine import LazyUniform, class_winner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from fractions import Fraction


_TOLERANCE = 2.0**-34
# A clear word's exponential number is above 2^-24, so noise exceeds ln(size) by less than this.
_MOST_NOISE = 17.0
# Below this ln(E/size), -ln(1 - e^(-E/size)) is -ln(E/size) up to 2^-47.
_SMALL = -32.0


@frozen(eq=False)
class ClassBlock:
    """Some classes of a grid, shape (rows, columns)."""

    row: int  # of the first class
    column: int
    gaps: Array  # how far scores lie below the best one, right to a relative 2^-51; a gap of
    # LARGEST_GAP may be larger, and one of infinity is not known
    log_sizes: Array


class Classes(Protocol):
    """A grid of classes, each with a score and a size.

    An implementer owes: `blocks` returns each class once, in an order that does not depend on data,
    with the accuracy that `slack` and :class:`ClassBlock` state; `exact` has no error.
    """

    slack: float  # twice what log_sizes may be wrong by, and at least 2^-50 times the largest

    def blocks(self) -> Iterator[ClassBlock]:
        """Return all classes."""

    def exact(self, row: int, column: int) -> tuple[Fraction, int]:
        """Return a class's gap and size."""


# A tuple: the parts of several are put together.
class _Standing(NamedTuple):
    """Classes that could still win, and enclosures of their values."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    words: Words
    low: Array
    high: Array


def class_race(
    classes: Classes, words: Callable[[int], Words], draw: Callable[[], int]
) -> tuple[int, int]:
    """Return the row and column of the class with the largest score - ln(1 - U^(1/size)), exactly.

    `words` takes n and returns the first words of n uniform numbers, one a class; `draw` returns a
    further word.
    """
    best = -np.inf
    found = []
    for block in classes.blocks():
        standing = _contenders(block, words(block.gaps.size), classes.slack, best)
        if standing.low.size:
            best = max(best, float(standing.low.max()))
            found.append(standing)
    rows, columns, first, _, high = (np.concatenate(part) for part in zip(*found, strict=True))
    places = np.flatnonzero(high >= best)
    if len(places) == 1:
        return int(rows[places[0]]), int(columns[places[0]])
    left = [(int(rows[i]), int(columns[i])) for i in places]
    gaps, sizes = zip(*(classes.exact(*place) for place in left), strict=True)
    return left[class_winner(gaps, sizes, [LazyUniform(int(first[i]), draw) for i in places])]


def _contenders(block: ClassBlock, words: Words, slack: float, best: float) -> _Standing:
    """Return the classes of a block that could beat `best`, which some class is sure to reach."""
    gaps, log_sizes = block.gaps.ravel(), block.log_sizes.ravel()
    clear = clear_words(words) & np.isfinite(gaps)
    with np.errstate(all="ignore"):
        margin = _TOLERANCE * (1.0 + gaps) + slack
        # What a class can reach at most needs no logarithm.
        places = np.flatnonzero(~clear | (log_sizes + _MOST_NOISE - gaps + margin >= best))
        gaps, clear, margin = gaps[places], clear[places], margin[places]
        value = _noise(log_exponentials(words[places]) - log_sizes[places]) - gaps
        low = np.where(clear & (gaps < LARGEST_GAP), value - margin, -np.inf)
        high = np.where(clear, value + margin, np.inf)
    kept = np.flatnonzero(high >= max(best, low.max(initial=-np.inf)))
    rows, columns = np.divmod(places[kept], block.gaps.shape[1])
    chosen = words[places[kept]]
    return _Standing(block.row + rows, block.column + columns, chosen, low[kept], high[kept])


def _noise(logarithms: Array) -> Array:
    """Return -ln(1 - exp(-q)) from ln q."""
    out = -logarithms
    large = np.flatnonzero(logarithms >= _SMALL)
    out[large] = -np.log(-np.expm1(-np.exp(logarithms[large])))
    return out

"""Sums of owners' vectors of integers modulo 2^64, which show nobody a single vector.

An implementation says who sees what. Each says which owners are in the sum, as some may drop out,
and opens nothing without those that must be in it.

`InProcessSum` is the reference: one process holds every vector. `PointwiseSum` asks another sum for
one number at a time (Barczewski, Mawass and Ramon 2024, section 4.1). ``secagg.py`` has one with
pairwise masks, from which owners may drop out.

Numbers below 0 are sent as their two's complement; a total in the range of int64 is read back by
``numbers.view(np.int64)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nolook.errors import NolookError, ParameterError

__all__ = ["InProcessSum", "PointwiseSum", "SecureSum", "SumError", "Total", "Words", "check_sum"]

Words: TypeAlias = NDArray[np.uint64]


class SumError(NolookError):
    """No sum was opened: too few owners took part, or not those that must."""


class Total(NamedTuple):
    """A sum, and the places of the owners whose vectors are in it, increasing."""

    numbers: Words
    owners: tuple[int, ...]


class SecureSum(Protocol):
    """What a secure sum can do."""

    def sum(self, vectors: Sequence[Words], needed: int = 0) -> Total:
        """Add up vectors modulo 2^64, one of each owner, all of one length.

        Without the first `needed` owners nobody learns any sum, and this raises a `SumError`; so it
        does if too few owners took part.
        """


class InProcessSum:
    """The sum in one process, which sees all vectors.

    Examples
    --------
    >>> vectors = [np.array([1, 2], dtype=np.uint64), np.array([2**64 - 1, 5], dtype=np.uint64)]
    >>> InProcessSum().sum(vectors)
    Total(numbers=array([0, 7], dtype=uint64), owners=(0, 1))
    """

    def sum(self, vectors: Sequence[Words], needed: int = 0) -> Total:
        """Add up vectors; see :class:`SecureSum`."""
        check_sum(vectors, needed)
        return Total(np.sum(vectors, axis=0, dtype=np.uint64), tuple(range(len(vectors))))


class PointwiseSum:
    """A sum of one number at a time, each added up by another sum, with all owners in it.

    It costs a round for each number that is asked for. Sums of different owners would differ by
    what one owner holds, so none is opened without them all.
    """

    def __init__(self, inner: SecureSum) -> None:
        self._inner = inner

    def sum(self, vectors: Sequence[Words], needed: int = 0) -> Total:
        """Add up vectors, place by place; see :class:`SecureSum`."""
        check_sum(vectors, needed)
        words = [self.one(vectors, place) for place in range(len(vectors[0]))]
        return Total(np.array(words, dtype=np.uint64), tuple(range(len(vectors))))

    def one(self, vectors: Sequence[Words], place: int) -> int:
        """Add up the numbers at one place; the sum is from 0 to 2^64 - 1."""
        numbers = [vector[place : place + 1] for vector in vectors]
        return int(self._inner.sum(numbers, len(vectors)).numbers[0])


def check_sum(vectors: Sequence[Words], needed: int) -> None:
    """Refuse vectors that cannot be added up, and more owners needed than there are."""
    shapes = {vector.shape for vector in vectors}
    if len(shapes) != 1 or shapes == {(0,)} or any(len(shape) != 1 for shape in shapes):
        raise ParameterError(
            f"vectors has {len(vectors)} arrays of {len(shapes)} different shapes; expected one "
            "vector for each owner, all of the same length"
        )
    if any(vector.dtype != np.uint64 for vector in vectors):
        raise ParameterError("vectors has arrays of another dtype; expected uint64")
    if not 0 <= needed <= len(vectors):
        raise ParameterError(
            f"needed is {needed!r}; expected a number of owners from 0 to {len(vectors)}"
        )

"""Sums of owners' vectors, whole numbers modulo 2^64, that show nobody a single vector.

An implementation says who sees what. All tell which owners are in the sum, as owners may drop
out, and open nothing where an owner that must be in it is not.

`InProcessSum` is the reference: one process holds every vector. `PointwiseSum` asks another sum for
one number at a time (Barczewski, Mawass and Ramon 2024, section 4.1). ``contrib/flower`` has one
with pairwise masks, from which owners may drop out.

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
    """A sum, and whose vectors are in it.

    Parameters
    ----------
    numbers : ndarray of uint64, shape (n,)
    owners : tuple of int
        Places in the sequence of vectors, increasing.
    """

    numbers: Words
    owners: tuple[int, ...]


class SecureSum(Protocol):
    """What a secure sum can do."""

    def sum(self, vectors: Sequence[Words], needed: int = 0) -> Total:
        """Add up vectors modulo 2^64.

        Parameters
        ----------
        vectors : sequence of ndarray of uint64, shape (n,)
            One for each owner.
        needed : int, default=0
            So many first owners must be in the sum; without them nobody learns any sum.

        Returns
        -------
        Total

        Raises
        ------
        SumError
            If too few owners, or not those needed, took part.
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
    """A sum of one number at a time; all owners must be in every one of them.

    It costs a round for each number, and numbers nobody asks for cost none. Two sums without the
    same owners would differ by what one owner holds, so none is opened without them all.

    Parameters
    ----------
    inner : SecureSum
        What adds up each number.
    """

    def __init__(self, inner: SecureSum) -> None:
        self._inner = inner

    def sum(self, vectors: Sequence[Words], needed: int = 0) -> Total:
        """Add up vectors, place by place; see :class:`SecureSum`."""
        check_sum(vectors, needed)
        words = [self.one(vectors, place) for place in range(len(vectors[0]))]
        return Total(np.array(words, dtype=np.uint64), tuple(range(len(vectors))))

    def one(self, vectors: Sequence[Words], place: int) -> int:
        """Add up the numbers at one place.

        Parameters
        ----------
        vectors : sequence of ndarray of uint64, shape (n,)
            One for each owner.
        place : int
            From 0 to n - 1.

        Returns
        -------
        int
            From 0 to 2^64 - 1.

        Raises
        ------
        SumError
            If an owner is missing.
        """
        numbers = [vector[place : place + 1] for vector in vectors]
        return int(self._inner.sum(numbers, len(vectors)).numbers[0])


def check_sum(vectors: Sequence[Words], needed: int) -> None:
    """Refuse what cannot be added up.

    Parameters
    ----------
    vectors : sequence of ndarray of uint64, shape (n,)
    needed : int

    Raises
    ------
    ParameterError
        If there is no vector, they differ in length or are not of uint64, or more are needed than
        there are.
    """
    shapes = {vector.shape for vector in vectors}
    if len(shapes) != 1 or shapes == {(0,)} or any(len(shape) != 1 for shape in shapes):
        raise ParameterError(
            f"vectors has {len(vectors)} arrays of {len(shapes)} different shapes; expected one "
            "vector for each owner, all of the same length"
        )
    if any(vector.dtype != np.uint64 for vector in vectors):
        raise ParameterError("vectors has another dtype; expected arrays of uint64")
    if not 0 <= needed <= len(vectors):
        raise ParameterError(
            f"needed is {needed!r}; expected a number of owners from 0 to {len(vectors)}"
        )

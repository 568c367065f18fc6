"""Exact, mergeable statistics of a table, each with its sensitivity as a named function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, Self, TypeVar

__all__ = ["Statistic", "fold"]


class Statistic(Protocol):
    """What is found out about a table, part by part and in any order.

    An implementer owes: made with public arguments, it has seen no rows. It can be sent to another
    process. It has a ``value`` (a property, or a method of further public arguments) that depends
    on the rows seen and on nothing else, to the last bit: not on how they were cut into batches,
    which object saw them, or in which order they were merged. Beside it stands, as a named function
    or constant of public numbers, its sensitivity: how far the values of neighbouring tables differ
    at most.
    """

    def update(self, *batch: Any, **named: Any) -> Self:  # noqa: ANN401
        """Add the rows of a batch, which may be kept as it is."""

    def merge(self, other: Self) -> Self:
        """Add the rows that another one, made with the same arguments, has seen."""


_S = TypeVar("_S", bound=Statistic)


def fold(statistic: _S, batches: Iterable[Any]) -> _S:
    """Update a statistic with every batch, an array or a tuple of arrays, and return it."""
    for batch in batches:
        statistic.update(*batch if isinstance(batch, tuple) else (batch,))
    return statistic

"""A release, two neighbouring tables, and draws from both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._arrays import Matrix, Vector
from nolook.privacy.noise import ByteSource

__all__ = [
    "FEWER_RUNS",
    "RUNS",
    "Case",
    "Draws",
    "Neighbours",
    "Vector",
    "gaussian_case",
    "ignore",
    "one_by_one",
    "outcomes",
    "pure_case",
    "with_row",
]

#: Draws from each table in a full audit.
RUNS = 200_000
#: Where exact laws tell what is lost, and draws only that they are the mechanism's.
FEWER_RUNS = 50_000

#: Takes the table, 0 or 1, a number of runs and a source.
Draws: TypeAlias = Callable[[int, int, ByteSource], Vector]
#: The columns of two neighbouring tables.
Neighbours: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...]]


@frozen
class Case:
    """A release and a pair of neighbouring tables that tell much about it."""

    name: str  # unique: words joined by hyphens
    neighbours: str  # how the two tables differ, in words
    relation: Literal["add-remove", "replace"]
    measure: Literal["epsilon", "mu"]  # what the claim bounds
    claim: float
    covers: tuple[str, ...]  # names of the functions or classes audited
    #: Returns a score of each output on a table, the better it tells the two apart the better.
    #: With a `law`, the outcomes' numbers.
    draw: Draws
    delta: float = 0.0  # of the claim; 0 with mu
    #: Returns the exact law of the outcomes on a table, 0 or 1.
    law: Callable[[int], Vector] | None = None
    runs: int = RUNS  # on each table, in a full audit
    power: float = 0.6  # share of the claim that a full audit must reach
    protects: Literal["row", "unit"] = "row"  # what the claim is for: a unit has several rows


def pure_case(epsilon: float) -> partial[Case]:
    """Return a maker of cases that claim an epsilon, by default for a row added."""
    return partial(Case, relation="add-remove", measure="epsilon", claim=epsilon)


def gaussian_case(mu: float) -> partial[Case]:
    """Return a maker of cases that claim a mu, by default for a row added."""
    return partial(Case, relation="add-remove", measure="mu", claim=mu)


def ignore(_: str) -> None:
    """Do nothing with the name of a pass."""


def one_by_one(one: Callable[[int, ByteSource], float]) -> Draws:
    """Draw scores one run at a time; `one` is told which table it sees: 0 or 1."""
    return lambda table, runs, source: np.fromiter(
        (one(table, source) for _ in range(runs)), np.float64, runs
    )


def with_row(X: Matrix, y: Vector, row: list[float], target: float) -> Neighbours:
    """Return the columns of rows, and those of one row more."""
    return (X, y), (np.vstack([X, row]), np.append(y, target))


def outcomes(noisy: NDArray[Any], limit: int) -> Vector:
    """Return the outcomes' numbers; the last axis holds the entries of one, clipped to a limit."""
    clipped = noisy.clip(-limit, limit).astype(np.int64) + limit
    powers = (2 * limit + 1) ** np.arange(clipped.shape[-1])[::-1]
    return (clipped @ powers).astype(np.float64)

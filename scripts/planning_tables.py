"""The simulated tables that plans are computed on, from easy to hard.

What a table does to a private regression, besides its size, is: how closely columns go together,
how far their values lie from most others, how many are rarely-set flags, how much of the target is
explained at all, whether what explains it is what the columns share or how they differ, and whether
single cells are wrong, which least squares without privacy suffers from more. Each kind sets these;
columns are standardised, which no method notices.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from attrs import frozen

from nolook._arrays import Vector
from nolook.algorithms._simulation import Generator

# A flag is set where its column lies this many standard deviations up: in a tenth of the rows.
_RARE = 1.28
# Of the logarithm of the mean of counts.
_SPREAD = 0.5


@frozen
class Kind:
    """One kind of table.

    Parameters
    ----------
    correlation : float
        Of any two columns, before `tail` changes some of them.
    r2 : float
        The share of the target's variance that least squares explains.
    signal : {"common", "spread"}
        Whether the target goes along with what the columns share, or has a coefficient of the same
        size and of either sign on each.
    tail : float
        0 for normal columns and errors. Otherwise every fourth column, and the error, is
        log-normal with this standard deviation of the logarithm, and every fourth column a flag
        set in a tenth of the rows.
    positive : float
        The share of positive rows, where the target has two classes; a quarter of the mean count,
        where it is a count.
    wrong : float
        The share of cells that are ten times what they should be.
    """

    correlation: float
    r2: float
    signal: Literal["common", "spread"]
    tail: float
    positive: float
    wrong: float = 0.0


#: From easy to hard; "ordinary" is what is expected of a table nothing is known about.
KINDS = {
    "plain": Kind(0.0, 0.9, "spread", 0.0, 0.5),
    "dirty": Kind(0.0, 0.5, "common", 0.0, 0.5, 0.03),
    "alike": Kind(0.6, 0.5, "common", 0.0, 0.5),
    "ordinary": Kind(0.6, 0.5, "spread", 0.75, 0.25),
    "tangled": Kind(0.95, 0.8, "spread", 1.25, 0.1),
}


def simulate(kind: Kind, rows: int, columns: int, generator: Generator) -> tuple[Vector, Vector]:
    """Return columns, shape (rows, columns), and a target, all standardised."""
    common = generator.normal(size=(rows, 1))
    X = generator.normal(size=(rows, columns))
    X = np.sqrt(kind.correlation) * common + np.sqrt(1.0 - kind.correlation) * X
    if kind.tail:
        X[:, 1::4] = np.exp(kind.tail * X[:, 1::4])
        X[:, 3::4] = X[:, 3::4] > _RARE
    X = _standard(X)
    signs = generator.integers(2, size=columns) * 2.0 - 1.0
    slopes = np.ones(columns) if kind.signal == "common" else signs
    error = generator.normal(size=rows)
    if kind.tail:
        error = np.exp(kind.tail * error)
    explained, rest = _standard(X @ slopes), _standard(error)
    if kind.wrong:
        X = np.where(generator.random(X.shape) < kind.wrong, 10.0 * X, X)
    return X, np.sqrt(kind.r2) * explained + np.sqrt(1.0 - kind.r2) * rest


def classes(kind: Kind, target: Vector) -> Vector:
    """Return 1 for the rows with the highest targets, 0 for others."""
    return (target > np.quantile(target, 1.0 - kind.positive)).astype(np.int64)


def counts(kind: Kind, target: Vector, generator: Generator) -> Vector:
    """Return counts that vary more than Poisson's law says, with means that follow the target."""
    steady = np.exp(_SPREAD * target.clip(-3.0, 3.0))
    return generator.poisson(4.0 * kind.positive * steady / steady.mean()).astype(np.float64)


def bent(X: Vector) -> Vector:
    """Return columns of which every second is curved: what it explained is a root of it now."""
    X = X.copy()
    X[:, ::2] *= np.abs(X[:, ::2])
    return X


def _standard(values: Vector) -> Vector:
    spread = values.std(axis=0)
    standard: Vector = (values - values.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return standard

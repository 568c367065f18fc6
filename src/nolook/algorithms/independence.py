"""Independence of two columns, from their table of noisy counts.

The chi-square statistic of the noisy table is compared with those of tables that are drawn from its
margins and get noise of the same kind (Gaboardi, Lim, Rogers and Vadhan 2016). That is
post-processing of counts that were released.
"""

from __future__ import annotations

import math

import numpy as np

from nolook._arrays import Vector
from nolook.algorithms._simulation import simulation_generator

__all__ = ["independence_test"]

_TABLES, _FEWEST, _ENTRIES = 1999, 39, 2**22  # tables drawn, and their entries
_LEAST = 0.5  # rows: a floor of expected counts where there is hardly any noise


def independence_test(
    counts: Vector, deviation: float, *, normal: bool
) -> tuple[float, float, float]:
    """Return the chi-square statistic of a table, the chance of one as large, and Cramér's V.

    V is computed from what the statistic exceeds the mean of independent tables by.

    Parameters
    ----------
    counts : ndarray, shape (rows, columns)
        With independent noise.
    deviation : float
        Standard deviation of each entry's noise.
    normal : bool
        Whether it is Gaussian; Laplace's otherwise.
    """
    generator = simulation_generator()
    total = max(1.0, float(counts.sum()))
    rows, columns = (_shares(counts.sum(axis=axis), total) for axis in (1, 0))
    number = max(_FEWEST, min(_TABLES, _ENTRIES // counts.size))
    drawn = generator.multinomial(round(total), np.outer(rows, columns).ravel(), number)
    draw, scale = generator.laplace, deviation / math.sqrt(2.0)
    if normal:
        draw, scale = generator.normal, deviation
    size = (number, *counts.shape)
    tables = np.concatenate([counts[np.newaxis], drawn.reshape(size) + draw(0.0, scale, size)])
    own, *others = _statistics(tables, max(deviation, _LEAST))
    chance = (1.0 + np.count_nonzero(np.array(others) >= own)) / (1.0 + number)
    above = max(float(own - np.mean(others)), 0.0)
    strength = math.sqrt(above / (total * max(min(counts.shape) - 1, 1)))
    return float(own), chance, min(strength, 1.0)


def _shares(margin: Vector, total: float) -> Vector:
    positive = np.maximum(margin, 0.0) + 1e-9 * total
    return np.asarray(positive / positive.sum())


def _statistics(tables: Vector, least: float) -> Vector:
    """Return the chi-square statistic of each table, expected counts at least `least`."""
    rows, columns = tables.sum(axis=2, keepdims=True), tables.sum(axis=1, keepdims=True)
    total = np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    expected = rows.clip(0.0) * columns.clip(0.0) / total
    return np.asarray(((tables - expected) ** 2 / np.maximum(expected, least)).sum(axis=(1, 2)))

"""Lasso models of many blocks of rows at once, and how they vote for features.

A block's votes follow from that block's rows alone, in their order: its columns are standardised by
themselves, its model is found by the same plain loops as every other, and blocks share no numbers.
So a row added to one block changes that block's votes and no other's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from nolook._arrays import Integers, Matrix, Vector
from nolook._compiled import compiled

__all__ = ["arrange_blocks", "block_votes", "lasso_models"]


# A model is found when a sweep over all features moves no standardised coefficient by more.
_TOLERANCE = 1e-6
_MOST_SWEEPS = 1000
# Standardised coefficients up to here are rounding, and are not voted for.
_NOTHING = 1e-9
_FIRST_ROOM = 64  # columns of products a block has room for, before more is needed
# Numbers in all rows; fewer take a few milliseconds.
_WORTH_THREADS = 100_000


def arrange_blocks(
    batches: Sequence[Matrix], blocks: Sequence[Integers], m: int
) -> tuple[Matrix, Integers]:
    """Put the rows of each of m blocks together, in their order.

    At least one batch is given; they have shape (columns, rows), the result (all rows, columns).
    Block b has the rows from ``starts[b]`` to ``starts[b + 1] - 1``.
    """
    own = np.concatenate(blocks)
    starts = np.append(0, np.cumsum(np.bincount(own, minlength=m)))
    rows, places = np.empty((own.size, len(batches[0]))), np.empty_like(own)
    places[np.argsort(own, kind="stable")] = np.arange(own.size)
    for batch in batches:
        rows[places[: batch.shape[1]]] = batch.T
        places = places[batch.shape[1] :]
    return rows, starts


@compiled
def _shift(rows: Matrix, weights: Vector, exponents: Vector, mean: Vector) -> None:
    """Scale each column below 1 by a power of 2 and subtract its first number, in place.

    What is left is exactly 0 where a column is constant, and has all its digits where it nearly is.
    """
    n, columns = rows.shape
    largest, first, power = np.zeros(columns), np.empty(columns), np.empty(columns)
    for i in range(n):
        for j in range(columns):
            largest[j] = max(largest[j], abs(rows[i, j]))
    for j in range(columns):
        exponent = max(math.frexp(largest[j])[1], -1000)
        exponents[j] = exponent
        power[j] = math.ldexp(1.0, -exponent)
        first[j] = rows[0, j] * power[j]
    mean[:] = 0.0
    for i in range(n):
        for j in range(columns):
            rows[i, j] = rows[i, j] * power[j] - first[j]
            mean[j] += weights[i] * rows[i, j]
    mean /= weights.sum()


@compiled
def _standardise(rows: Matrix, weights: Vector, spread: Matrix) -> None:
    """Give each column mean 0 and mean square 1, in place; a constant column becomes 0.

    Means are weighted; then each row is multiplied by the root of its weight over their mean, so
    that plain mean products are weighted ones. The standard deviation is
    ``spread[0] * 2 ** spread[1]``, so that columns of any size have one.
    """
    n, columns = rows.shape
    mean, squares, inverse = np.empty(columns), np.zeros(columns), np.zeros(columns)
    _shift(rows, weights, spread[1], mean)
    total = weights.sum()
    for i in range(n):
        for j in range(columns):
            rows[i, j] -= mean[j]
            squares[j] += weights[i] * (rows[i, j] * rows[i, j])
    for j in range(columns):
        spread[0, j] = math.sqrt(squares[j] / total)
        if spread[0, j] > 0.0:
            inverse[j] = 1.0 / spread[0, j]
    for i in range(n):
        root = math.sqrt(weights[i] * n / total)
        for j in range(columns):
            rows[i, j] *= inverse[j] * root


@compiled
def _products(rows: Matrix, j: int, out: Vector) -> None:
    """Write the mean products of column j with the columns of `out`."""
    out[:] = 0.0
    for i in range(rows.shape[0]):
        value = rows[i, j]
        for k in range(out.size):
            out[k] += value * rows[i, k]
    for k in range(out.size):
        out[k] /= rows.shape[0]


@compiled
def _sweep(
    rows: Matrix,
    limits: Vector,
    left: Vector,
    model: Vector,
    gram: Matrix,
    place: Integers,
    features: Integers,
) -> tuple[float, Matrix]:
    """Move each of some coefficients to its best value; return the longest move.

    `left` holds the features' mean products with what the model leaves of the target, `gram` those
    with one another, for features that have moved before.
    """
    longest = 0.0
    for j in features:
        best = left[j] + model[j]
        size = max(abs(best) - limits[j], 0.0)
        new = size if best > 0.0 else -size
        move = new - model[j]
        if move == 0.0:
            continue
        if place[j] < 0:
            place[j] = place.max() + 1
            if place[j] == gram.shape[0]:
                larger = np.empty((2 * gram.shape[0], gram.shape[1]))
                larger[: gram.shape[0]] = gram
                gram = larger
            _products(rows, j, gram[place[j]])
        own = gram[place[j]]
        for i in range(left.size):
            left[i] -= move * own[i]
        model[j] = new
        longest = max(longest, abs(move))
    return longest, gram


@compiled
def _descend(rows: Matrix, limits: Vector, left: Vector, model: Vector) -> None:
    """Find the model by coordinate descent, on the features in use while that goes on."""
    d = model.size
    place = np.full(d, -1)
    gram = np.empty((min(_FIRST_ROOM, d), d))
    every = np.arange(d)
    sweeps = 0
    while sweeps < _MOST_SWEEPS:
        longest, gram = _sweep(rows, limits, left, model, gram, place, every)
        sweeps += 1
        if longest <= _TOLERANCE:
            return
        used = np.flatnonzero(model)
        while longest > _TOLERANCE and sweeps < _MOST_SWEEPS:
            longest, gram = _sweep(rows, limits, left, model, gram, place, used)
            sweeps += 1


@compiled
def _penalties(penalty: float, spread: Matrix, left: Vector, limits: Vector) -> None:
    """Write each feature's penalty in standardised units."""
    d = limits.size
    if penalty > 0.0:
        limits[:] = penalty * np.abs(left).max()
        return
    for j in range(d):
        # A constant feature or target has products 0 and needs none.
        both = spread[0, j] * spread[0, d]
        exponent = int(spread[1, j] + spread[1, d])
        limits[j] = math.ldexp(-penalty / both, -exponent) if both > 0.0 else 1.0


@compiled
def _fit(rows: Matrix, weights: Vector, penalty: float, model: Vector) -> None:
    """Fit the model of one block, whose rows are destroyed."""
    d = model.size
    model[:] = 0.0
    if rows.shape[0] < 2:
        return
    spread, left, limits = np.empty((2, d + 1)), np.empty(d), np.empty(d)
    _standardise(rows, weights, spread)
    _products(rows, d, left)
    _penalties(penalty, spread, left, limits)
    _descend(rows, limits, left, model)


@compiled
def _vote(models: Matrix, k: int, votes: Integers) -> None:
    """Add each block's votes for its k largest coefficients, or for all if it has fewer."""
    for model in models:
        left = np.abs(model)
        for _ in range(k):
            place = left.argmax()
            if not left[place] > _NOTHING:
                break
            votes[place] += 1
            left[place] = 0.0


@compiled
def _fit_blocks(
    rows: Matrix, weights: Vector, penalty: float, starts: Integers, models: Matrix
) -> None:
    for block in range(models.shape[0]):
        first, last = starts[block], starts[block + 1]
        _fit(rows[first:last], weights[first:last], penalty, models[block])


def lasso_models(
    rows: Matrix, starts: Integers, penalty: float, weights: Vector | None = None
) -> Matrix:
    """Fit a Lasso to every block from :func:`arrange_blocks`, the target last; destroys the rows.

    Numbers are finite. A positive `penalty` is a share of the least one at which the block's
    standardised model is empty; a negative one is minus scikit-learn's ``alpha``, for the model in
    raw units. Weights, one a row, are above 0; without them all rows count alike.
    Coefficients are in standard deviations of the block's target for one of its feature.
    """
    weights = np.ones(len(rows)) if weights is None else np.ascontiguousarray(weights)
    models = np.empty((starts.size - 1, rows.shape[1] - 1))
    fit = partial(_fit_blocks, rows, weights, penalty)
    if rows.size < _WORTH_THREADS:
        fit(starts, models)
    else:
        cut = starts.size // 2
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(fit, (starts[: cut + 1], starts[cut:]), (models[:cut], models[cut:])))
    return models


def block_votes(
    rows: Matrix, starts: Integers, penalty: float, k: int, weights: Vector | None = None
) -> Integers:
    """Count the blocks that have a feature among the k largest of their Lasso coefficients.

    Arguments are those of :func:`lasso_models`. A block with fewer coefficients other than 0 has
    fewer votes; of equal ones the first counts.
    """
    votes = np.zeros(rows.shape[1] - 1, dtype=np.int64)
    _vote(lasso_models(rows, starts, penalty, weights), k, votes)
    return votes

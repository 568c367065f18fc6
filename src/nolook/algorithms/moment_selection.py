"""Feature selection from noisy moments: which few features explain the target.

Post-processing of one release, the noisy sums of products of standardised rows: it sees these
sums, the standard deviations of their noise and the released number of rows. A set of features is
worth what the sum of squared residuals falls by when they are fitted with a ridge of the noise's
size. Features are added one by one; after each, features are exchanged as long as that gains
anything, since the best pair often lacks the best single feature. The proof is
``moment_selection.md``.

===============  ========================================================================
name here        meaning
===============  ========================================================================
``gram``         A, the sum of z z' over rows z = (1, x), x standardised, and the noise
``products``     b, the sum of z y and the noise
``left``         b less what the chosen features explain, and of each feature what is
                 left of its square: a feature adds ``left.products^2 / left.squares``
===============  ========================================================================
"""

from __future__ import annotations

import math

import numpy as np
from attrs import frozen
from scipy.special import ndtri

from nolook._arrays import Flags, Matrix, Vector

__all__ = ["NoisyProducts", "largest_of", "nearest_moments", "select_features", "strengths"]


# Below this share of the diagonal's sum a ridge is lost to rounding; an exchange gains no less.
_ROUNDING = 2.0**-40


@frozen(eq=False)
class NoisyProducts:
    """Released sums over rows z = (1, x) with a target y, all in standardised units."""

    gram: Matrix  # of z z', shape (d, d), symmetric
    products: Vector  # of z y, shape (d,)
    squares: float  # of y^2, or a guess
    gram_noise: float  # standard deviation on the gram's diagonal; smaller by sqrt(2) elsewhere
    products_noise: float  # standard deviation of each product
    rows: float  # released number of rows, at least 1


@frozen(eq=False)
class _Left:
    """The residual products and squares of the features once some are fitted."""

    products: Vector
    squares: Vector
    theta: Vector  # of the fit, the constant first
    loads: Matrix  # coefficients of all columns on those fitted
    inverse: Matrix


def nearest_moments(matrix: Matrix) -> Matrix:
    """Nearest positive semidefinite matrix in the Frobenius norm (negative eigenvalues dropped)."""
    values, vectors = np.linalg.eigh(matrix)
    roots = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(roots @ roots.T)


def select_features(moments: NoisyProducts, k: int | None, detected: Flags) -> tuple[int, ...]:
    """Choose k of p features, each followed by the one that adds most to those before it.

    Features that are not `detected`, shape (p,), are chosen only when all others are. If `k` is
    None, features are added while any of the detected ones that are left stands out: noise and
    sampling alone would be likelier than not to leave every one of them a smaller product with the
    residuals. That gives at least one feature and at most p - 1.
    """
    size = len(moments.products)
    gram = nearest_moments(moments.gram)
    ridge = max(moments.gram_noise * math.sqrt(size), _ROUNDING * float(np.trace(gram)))
    shrunk = gram + ridge * np.eye(size)
    wanted = np.append(False, detected)
    fewest, most = (1, size - 2) if k is None else (k, k)
    chosen: list[int] = []
    while len(chosen) < most:
        pool = _others(wanted, chosen)
        if len(chosen) >= fewest:
            left = _standing_out(moments, gram, chosen)[pool]
            # Noise and sampling alone would typically leave one as large.
            if not left.size or left.max() <= largest_of(left.size):
                break
        if not pool.any():
            pool = _others(np.arange(size) > 0, chosen)
        chosen.append(_best(shrunk, moments.products, chosen, pool))
        _exchange(shrunk, moments.products, chosen, wanted)
    return _in_order(shrunk, moments.products, chosen, wanted)


def strengths(moments: NoisyProducts, chosen: tuple[int, ...]) -> Vector:
    """Return the strength of each chosen feature when those before it are fitted.

    The size of its product with the residuals, in standard deviations of noise and sampling.
    """
    gram, columns = nearest_moments(moments.gram), [column + 1 for column in chosen]
    return np.array(
        [_standing_out(moments, gram, columns[:i])[column] for i, column in enumerate(columns)]
    )


def largest_of(columns: int) -> float:
    """Return the median of the largest size of as many standard normal numbers."""
    return float(-ndtri((1.0 - 0.5 ** (1.0 / columns)) / 2))


def _others(wanted: Flags, chosen: list[int]) -> Flags:
    """Return the columns that are wanted and not yet chosen."""
    pool = wanted.copy()
    pool[chosen] = False
    return pool


def _fit(gram: Matrix, products: Vector, chosen: list[int]) -> _Left:
    """Fit the constant and the chosen columns."""
    fitted = [0, *chosen]
    inverse = np.asarray(np.linalg.inv(gram[np.ix_(fitted, fitted)]), dtype=np.float64)
    theta, loads = inverse @ products[fitted], inverse @ gram[fitted]
    squares = gram.diagonal() - (gram[fitted] * loads).sum(axis=0)
    return _Left(products - gram[:, fitted] @ theta, squares, theta, loads, inverse)


def _best(gram: Matrix, products: Vector, chosen: list[int], pool: Flags) -> int:
    """Return the column of a pool that explains most of what is left."""
    left = _fit(gram, products, chosen)
    gains = left.products[pool] ** 2 / left.squares[pool]
    return int(np.flatnonzero(pool)[gains.argmax()])


def _exchange(gram: Matrix, products: Vector, chosen: list[int], wanted: Flags) -> None:
    """Exchange a chosen column for a better one, in place, until no exchange explains more."""
    before = -math.inf
    while (pool := _others(wanted, chosen)).any():
        left = _fit(gram, products, chosen)
        # Without a column, its coefficient over its own part of the inverse is left again.
        own = left.inverse.diagonal()[1:, None]
        given_up = left.theta[1:, None] / own
        loads = left.loads[1:, pool]
        gains = (left.products[pool] + given_up * loads) ** 2
        gains /= left.squares[pool] + loads**2 / own
        gains -= given_up**2 * own
        out, best = np.unravel_index(gains.argmax(), gains.shape)
        explained = float(left.theta @ products[[0, *chosen]])
        # What rounding alone gains could go on for ever.
        if not (gains[out, best] > _ROUNDING * explained and explained > before):
            return
        before = explained
        chosen[out] = int(np.flatnonzero(pool)[best])


def _in_order(gram: Matrix, products: Vector, chosen: list[int], wanted: Flags) -> tuple[int, ...]:
    """Sort chosen columns, those wanted first, each after those to which it adds most.

    Features count from 0.
    """
    left = np.isin(np.arange(len(products)), chosen)
    order: list[int] = []
    while len(order) < len(chosen):
        pool = _others(left & wanted, order)
        order.append(_best(gram, products, order, pool if pool.any() else _others(left, order)))
    return tuple(column - 1 for column in order)


def _standing_out(moments: NoisyProducts, gram: Matrix, chosen: list[int]) -> Vector:
    """Return the size of each product left, in standard deviations of noise and sampling.

    The least ridge is used that keeps a fit stable: more would leave something of what the chosen
    columns explain to every column correlated with them.
    """
    ridge = max(moments.gram_noise, _ROUNDING * float(np.trace(gram)))
    left = _fit(gram + ridge * np.eye(len(gram)), moments.products, chosen)
    fitted = [0, *chosen]
    products = moments.products - moments.gram[:, fitted] @ left.theta
    explained = float(left.theta @ moments.products[fitted])
    spread = max(moments.squares - explained, 0.0) / moments.rows
    noise = moments.products_noise**2 + moments.gram_noise**2 / 2 * float(left.theta @ left.theta)
    # What is left of a square is at least the ridge, up to rounding.
    deviations = np.sqrt(noise + spread * np.maximum(left.squares, 0.0))
    return np.asarray(np.abs(products) / np.maximum(deviations, np.finfo(float).tiny))

"""Priors of lines and curves, and the model that is likeliest by them. Post-processing.

Each line and each curve has a prior variance of its own, that of deviations falling as their
roughness: the likeliest ones (empirical Bayes). An estimate's error has two parts: shrinkage
towards 0, and noise. Averaged over the prior they give bands that hold a curve at their level on
average over its points (Wahba 1983, Nychka 1988).
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from nolook._arrays import Integers, Matrix, Places, Vector
from nolook.algorithms.curves import Curve
from nolook.algorithms.glm.estimate import CombinedGradients, hidden_directions
from nolook.algorithms.glm.frame import NoisyFrame
from nolook.algorithms.glm.inference import HIDDEN_EFFECT

__all__ = ["Shrunk", "shrink"]

# Log-likelihood by which a curve must beat its line.
_EVIDENCE = 1.0
# Log-likelihood that a larger prior may lose where errors are judged: variances are vague.
_VAGUE = 0.5
_PRIORS, _STRAIGHT = (1e-7, 10.0), 1e-9
_ROUNDS, _SETTLED = 60, 0.01
_STEPS_UP = 60


@frozen(eq=False)
class Shrunk:
    """A model shrunk by priors, and what its errors follow from.

    Models are those of the columns about their centre, except `theta`, of whitened rows.
    """

    theta: Vector  # shape (d,)
    response: Matrix  # how the model follows the combined gradients, shape (d, d)
    missed: Matrix  # what shrinkage leaves out of a model, shape (d, d)
    prior: Vector  # variances that errors are judged by, shape (d,)


def shrink(
    combined: CombinedGradients, found: NoisyFrame, residuals: float, sigma: float
) -> Shrunk:
    """Estimate a model by the variances of lines and curves that are likeliest.

    Gradients are observations of ``A theta`` by noise, and by sampling's ``residuals A``, times the
    squares of survey weights; `sigma` is the deviation of the noise of A on its diagonal. A curve
    whose line is nearly as likely is that line; without curves the model is the combined one.
    """
    block, shape = _blocks_of(found.curves or (None,) * np.count_nonzero(found.kept))
    vectors = combined.vectors
    curvature = (vectors * combined.values) @ vectors.T
    moments = vectors @ combined.moments
    # theta is of whitened rows; what has a prior is the model of the columns about their centre.
    whitened = np.eye(len(moments))
    whitened[1:, 1:] = np.linalg.inv(found.spread.map)
    noise = combined.variance * np.eye(len(moments)) + found.squares * residuals * curvature
    ways = np.linalg.solve(noise, curvature @ whitened)
    precision = whitened.T @ curvature @ ways
    products = ways.T @ moments
    prior = _likeliest(precision, products, block, shape)
    # Errors: nothing was seen of directions that noise hides.
    seen = np.where(hidden_directions(combined.eigenvalues, sigma), 0.0, combined.values)
    honest = (vectors * seen) @ vectors.T @ whitened
    sure = whitened.T @ curvature @ np.linalg.solve(noise, honest)
    sure = 0.5 * (sure + sure.T)
    moved = vectors @ np.where(seen > 0.0, combined.moments, 0.0)
    vague = _vague(sure, ways.T @ moved, prior, block, shape)
    posterior = _posterior(precision, prior)
    lines = np.count_nonzero(found.kept) + 1
    for one in range(lines, block.max() + 1):
        place = np.flatnonzero(block == one)
        sizes = np.array([prior[place[0]] / shape[place[0]], _STRAIGHT])
        there, none = _likelihood(posterior, posterior @ products, prior, place, shape, sizes)
        if there - none < _EVIDENCE:
            prior[place] = _STRAIGHT
            posterior = _posterior(precision, prior)
    if found.curves:
        response = posterior @ ways.T
    else:
        kept = combined.shrinkage / combined.values
        response = (found.spread.along(vectors) * kept) @ vectors.T
    theta: Vector = whitened @ (response @ moments)
    return Shrunk(theta, response, np.eye(len(moments)) - response @ honest, vague)


def _posterior(precision: Matrix, prior: Vector) -> Matrix:
    return np.asarray(np.linalg.inv(precision + np.diag(1.0 / prior)), dtype=np.float64)


def _vague(
    precision: Matrix, products: Vector, prior: Vector, block: Integers, shape: Vector
) -> Vector:
    """Return the largest variance of each entry that is nearly as likely, block by block."""
    posterior = _posterior(precision, prior)
    mean, vague = posterior @ products, prior.copy()
    for one in range(block.max() + 1):
        place = np.flatnonzero(block == one)
        own = prior[place[0]] / shape[place[0]]
        up = np.geomspace(own, max(own, HIDDEN_EFFECT**2), _STEPS_UP)
        likelihood = _likelihood(posterior, mean, prior, place, shape, up)
        near = up[likelihood >= likelihood[0] - _VAGUE]
        vague[place] = near.max(initial=own) * shape[place]
    return vague


def _likeliest(precision: Matrix, products: Vector, block: Integers, shape: Vector) -> Vector:
    """Return the variances of all entries by the likeliest one of each block."""
    variances = np.full(block.max() + 1, 0.1)
    variances[0] = 1.0
    for _ in range(_ROUNDS):
        prior = variances[block] * shape
        posterior = _posterior(precision, prior)
        mean, sure = posterior @ products, 1.0 - posterior.diagonal() / prior
        squares, before = np.bincount(block, mean**2 / shape), variances
        variances = (squares / np.maximum(np.bincount(block, sure), 1e-12)).clip(*_PRIORS)
        if np.abs(np.log(variances / before)).max() < _SETTLED:
            break
    return np.asarray(variances[block] * shape)


def _likelihood(
    posterior: Matrix, mean: Vector, prior: Vector, place: Places, shape: Vector, sizes: Vector
) -> Vector:
    """Return the log-likelihood of variances of one block, all others as they are."""
    inverse = np.linalg.inv(posterior[np.ix_(place, place)])
    roots, own = np.sqrt(shape[place]), inverse - np.diag(1.0 / prior[place])
    values, vectors = np.linalg.eigh(roots[:, None] * own * roots)
    squares = (vectors.T @ (roots * (inverse @ mean[place]))) ** 2
    scaled = sizes[:, None] * np.maximum(values, 0.0)
    each = squares * sizes[:, None] / (1.0 + scaled) - np.log1p(scaled)
    return np.asarray(0.5 * each.sum(axis=1))


def _blocks_of(curves: tuple[Curve | None, ...]) -> tuple[Integers, Vector]:
    """Return the prior of each entry of a model, and its variance in units of that.

    The constant has 0, then lines one each, then curves one each.
    """
    block, shape = list(range(len(curves) + 1)), [1.0] * (len(curves) + 1)
    for curve in curves:
        if curve is not None:
            block += [max(block) + 1] * len(curve.shapes)
            shape += list(1.0 / curve.roughness)
    return np.array(block), np.array(shape)

"""One linear model from a noisy moment matrix and noisy gradients of the squared error.

All of it is post-processing. With A the sum of ``u u'`` and b that of ``u v`` over the rows, the
gradient at ``theta_t`` is ``b - A theta_t`` plus noise, so every gradient is a noisy observation of
the solution. In the matrix's eigenbasis the directions separate, and in each a normal prior, its
variance chosen by the marginal likelihood, shrinks what the noise hides (empirical Bayes).

================  ==================================================================
name here         meaning
================  ==================================================================
``gram``          A plus noise of deviation ``gram_sigma`` (off the diagonal / sqrt 2)
``eigenvalues``   of the noisy A, ascending, some perhaps negative
``values``        the same, kept away from zero by half of what noise alone may reach
``moments``       the combined observation of ``values * theta``, in the eigenbasis
``variance``      that observation's noise
``prior``         variance of a coordinate of the model before anything is observed
================  ==================================================================
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from attrs import frozen

from nolook._arrays import Array, Flags, Matrix, Vector

__all__ = [
    "CombinedGradients",
    "Gradients",
    "Noisy",
    "combine_gradients",
    "hidden_directions",
    "likeliest_prior",
]


_PRIORS = np.geomspace(1e-5, 3.0, 16)  # columns and target are standardised
_FIXED_POINT_STEPS = 4


# A tuple: most callers unpack it.
class Noisy(NamedTuple):
    """A released array, and the deviation of its noise: of a matrix's, on the diagonal."""

    value: Array
    sigma: float


@frozen(eq=False)
class Gradients:
    """Noisy gradients: where they were taken, and how noisy they are."""

    thetas: Matrix  # shape (steps, d)
    values: Matrix  # shape (steps, d)
    sigmas: Vector  # deviations of their noise, shape (steps,)

    @classmethod
    def none(cls, size: int) -> Self:
        """Return no gradient of models of this size."""
        return cls(np.zeros((0, size)), np.zeros((0, size)), np.zeros(0))

    def and_one(self, theta: Vector, gradient: Noisy) -> Self:
        """Return these and one more."""
        thetas, values = np.vstack([self.thetas, theta]), np.vstack([self.values, gradient.value])
        return type(self)(thetas, values, np.append(self.sigmas, gradient.sigma))


@frozen(eq=False)
class CombinedGradients:
    """All gradients as one observation of the model, in the eigenbasis of the matrix."""

    vectors: Matrix  # columns are the directions
    eigenvalues: Vector
    values: Vector  # positive
    moments: Vector
    variance: float  # positive
    prior: float
    misled: Vector | float = 0.0  # how wrong that is where the base's model is right, squared

    @property
    def shrinkage(self) -> Vector:
        """Share of each direction's observation that the estimate keeps, in (0, 1)."""
        signal = self.prior * self.values**2
        return signal / (signal + self.variance)

    @property
    def theta(self) -> Vector:
        """The estimate: each direction's observation, shrunk towards 0."""
        return np.asarray(self.vectors @ (self.shrinkage * self.moments / self.values))


def combine_gradients(gram: Matrix, gram_sigma: float, seen: Gradients) -> CombinedGradients:
    """Weigh the gradients by their noise, and choose the prior.

    A gradient tells ``A theta`` after ``A theta_t`` is added to it, with the noisy A: besides its
    own noise it carries the matrix's, times the way from ``theta_t`` to the solution. That way is
    not known beforehand, so it takes a few steps of a fixed point.
    """
    edge = gram_sigma * np.sqrt(len(gram))
    eigenvalues, vectors = np.linalg.eigh(gram)
    values = np.maximum(eigenvalues, 0.0) + 0.5 * edge
    points, noise = seen.thetas @ vectors, seen.sigmas**2
    observed = seen.values @ vectors + points * values
    wrong = np.zeros_like(noise)
    for _ in range(_FIXED_POINT_STEPS + 1):
        variances = noise + wrong
        variance = 1.0 / (1.0 / variances).sum()
        moments = variance * (observed / variances[:, None]).sum(axis=0)
        prior = likeliest_prior(_PRIORS, moments, values, variance)
        found = CombinedGradients(vectors, eigenvalues, values, moments, variance, prior)
        ways = (found.shrinkage * moments / values - points) ** 2
        wrong = 0.5 * gram_sigma**2 * ways.sum(axis=1)
    return found


def likeliest_prior(priors: Vector, moments: Vector, values: Vector, variance: float) -> float:
    """Choose the prior's variance by the marginal likelihood of observations ``values * theta``."""
    total = priors[:, None] * values**2 + variance
    likelihood = -0.5 * (moments**2 / total + np.log(total)).sum(axis=1)
    return float(priors[likelihood.argmax()])


def hidden_directions(eigenvalues: Vector, sigma: float) -> Flags:
    """Directions that noise alone could have made.

    The largest eigenvalue of a symmetric matrix of noise of size m is about ``sigma sqrt(2 m)``, m
    the number of directions that are hidden themselves. One sigma more allows for chance.
    """
    hidden = np.full(len(eigenvalues), True)
    while True:
        edge = sigma * (np.sqrt(2.0 * np.count_nonzero(hidden)) + 1.0)
        fewer = eigenvalues < edge
        if (fewer == hidden).all():
            return hidden
        hidden = fewer

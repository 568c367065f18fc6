"""DPSGD as the paper compares with it: NOT private, its settings were chosen with the table.

The paper's figure 4 has, for each table, the settings that did best of 2184, and those at the 90th
percentile. Rows are in their own units. What the paper leaves open is as the authors' public code
has it: Adam, batches of a shuffled table. The model starts at 0; the noise is calibrated with
Renyi accounting for a Poisson sample of a batch's size, as was usual then.
"""

from __future__ import annotations

from functools import lru_cache

import dp_accounting
import numpy as np
from attrs import frozen
from dp_accounting import rdp
from numpy.typing import NDArray

from nolook.privacy.noise import ByteSource, rounded_gaussian, uniform_integers

__all__ = ["SETTINGS", "SGDSettings", "multiplier", "tuned_sgd"]

Vector = NDArray[np.float64]

_UNIT = 2**20  # of the noise: so many steps are one standard deviation
_FIRST, _SECOND, _SMALL = 0.9, 0.999, 1e-7  # Adam's constants


@frozen
class SGDSettings:
    """Epochs, clip norm, learning rate and rows a batch: a row of figure 4."""

    epochs: int
    clip: float
    rate: float
    batch: int


#: Those of figure 4: tuned, and at the 90th percentile.
SETTINGS = {
    "synthetic": (SGDSettings(20, 1.0, 1.0, 128), SGDSettings(20, 1e-3, 0.1, 64)),
    "california": (SGDSettings(20, 100.0, 1.0, 64), SGDSettings(10, 1000.0, 0.01, 64)),
    "diamonds": (SGDSettings(20, 1e6, 1.0, 128), SGDSettings(10, 1e6, 0.1, 32)),
    "nba": (SGDSettings(20, 100.0, 1.0, 512), SGDSettings(20, 1e-6, 0.1, 32)),
    "garbage": (SGDSettings(20, 1.0, 1.0, 32), SGDSettings(5, 1000.0, 1.0, 64)),
    "mlb": (SGDSettings(10, 100.0, 0.01, 512), SGDSettings(10, 1e-5, 0.001, 128)),
}


@lru_cache(maxsize=64)
def multiplier(rows: int, settings: SGDSettings, epsilon: float, delta: float) -> float:
    """Return the noise of a batch's sum of gradients, in clip norms, that keeps a budget."""
    steps = settings.epochs * (rows // settings.batch)

    def event(noise: float) -> dp_accounting.DpEvent:
        sampled = dp_accounting.PoissonSampledDpEvent(
            settings.batch / rows, dp_accounting.GaussianDpEvent(noise)
        )
        return dp_accounting.SelfComposedDpEvent(sampled, steps)

    bracket = dp_accounting.ExplicitBracketInterval(0.2, 50.0)
    found: float = dp_accounting.calibrate_dp_mechanism(
        rdp.RdpAccountant, event, epsilon, delta, bracket
    )
    return found


def tuned_sgd(
    X: Vector, y: Vector, settings: SGDSettings, noise: float, source: ByteSource
) -> Vector:
    """Minimise the squared error by Adam on clipped, noisy gradients; return the model.

    NOT private: the settings were chosen with the table, which costs nothing here.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        A constant column is added.
    y : ndarray of shape (n,)
    settings : SGDSettings
    noise : float
        That of `multiplier`.
    source : ByteSource

    Returns
    -------
    ndarray of shape (d + 1,)
        The intercept first.
    """
    rows, batch = len(y), settings.batch
    design = np.column_stack([np.ones(rows), X])
    order = np.argsort(uniform_integers(2**62, rows, source), kind="stable")
    starts = range(0, rows - batch + 1, batch)
    theta = np.zeros(design.shape[1])
    mean, square = np.zeros_like(theta), np.zeros_like(theta)
    step = 0
    for _ in range(settings.epochs):
        order = order[np.argsort(uniform_integers(2**62, rows, source), kind="stable")]
        drawn = rounded_gaussian(noise * _UNIT, len(starts) * len(theta), source)
        noises = settings.clip / _UNIT * drawn.reshape(len(starts), -1)
        for start, own in zip(starts, noises, strict=True):
            step += 1
            some = order[start : start + batch]
            gradient = (_clipped(design[some], y[some], theta, settings.clip) + own) / batch
            mean = _FIRST * mean + (1 - _FIRST) * gradient
            square = _SECOND * square + (1 - _SECOND) * gradient**2
            spread = np.sqrt(square / (1 - _SECOND**step)) + _SMALL
            theta = theta - settings.rate * mean / (1 - _FIRST**step) / spread
    return theta


def _clipped(design: Vector, y: Vector, theta: Vector, clip: float) -> Vector:
    """Return the sum of the rows' gradients, each shortened to a norm."""
    pull = 2 * (design @ theta - y)
    norms = np.abs(pull) * np.sqrt(np.einsum("ij,ij->i", design, design))
    total: Vector = (pull * np.minimum(1.0, clip / np.maximum(norms, 1e-300))) @ design
    return total

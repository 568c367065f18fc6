"""AdaSSP with the constants of Wang (2018) and the table's own norms: NOT private.

That is how the paper runs it: section 5.1 gives it the largest norm and the largest target. The
constants are those of the published algorithm, whose split of the budget is more than it needs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nolook.privacy.noise import ByteSource, rounded_gaussian

__all__ = ["wang_adassp"]

Vector = NDArray[np.float64]

_UNIT = 2**20  # of the noise: so many steps are one standard deviation
_RHO = 0.05


def wang_adassp(X: Vector, y: Vector, epsilon: float, delta: float, source: ByteSource) -> Vector:
    """Return a ridge regression's model from noisy moments, the intercept first. NOT private.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        A constant column is added.
    y : ndarray of shape (n,)
    epsilon, delta : float
        Of the whole, a third for each of three releases.
    source : ByteSource
    """
    design = np.column_stack([np.ones(len(y)), X])
    size = design.shape[1]
    bound = float(np.linalg.norm(design, axis=1).max())
    largest = float(np.abs(y).max())
    noise = math.sqrt(math.log(6 / delta)) / (epsilon / 3)
    normal = rounded_gaussian(_UNIT, 1 + size**2 + size, source) / _UNIT
    upper = np.triu(normal[1 : 1 + size**2].reshape(size, size))
    gram = design.T @ design
    least = float(np.linalg.eigvalsh(gram)[0]) + noise * bound**2 * normal[0]
    least = max(0.0, least - bound**2 * math.log(6 / delta) / (epsilon / 3))
    wanted = noise * math.sqrt(size * math.log(2 * size**2 / _RHO)) * bound**2
    ridge = max(0.0, wanted - least)
    gram = gram + noise * bound**2 * (upper + np.triu(upper, 1).T)
    products = design.T @ y + noise * bound * largest * normal[1 + size**2 :]
    model: Vector = np.linalg.pinv(gram + ridge * np.eye(size), hermitian=True) @ products
    return model

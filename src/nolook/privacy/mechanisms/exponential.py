"""Exponential mechanism: choose one of n by score, pure epsilon. See `exponential.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nolook.privacy.mechanisms._exact import product_up, quotient_up
from nolook.privacy.noise import ByteSource, report_noisy_max_gumbel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["exponential_choice"]


def exponential_choice(
    scores: NDArray[np.int64] | NDArray[np.float64],
    sensitivity: float,
    epsilon: float,
    source: ByteSource,
) -> int:
    """Return an index, large scores being likelier; the release is epsilon-DP.

    Guarantee
    ---------
    If no score changes by more than `sensitivity` between neighbours, in either direction, the
    result is (epsilon, 0)-DP under that relation.

    Parameters
    ----------
    scores : ndarray of int64 or float64, shape (n,)
        Finite for every data set; n >= 1 is public. Float scores are exact real numbers: the
        rounding of their computation belongs in the sensitivity.
    sensitivity : float
        The largest change of one score, as an exact real number.
    epsilon : float
        Index i is drawn with probability proportional to
        exp(epsilon scores[i] / (2 sensitivity)), the exponent's factor rounded down.
    source : ByteSource

    Returns
    -------
    int

    Raises
    ------
    ParameterError
        If a parameter is out of range, or `scores` is not such an array.
    """
    scale = product_up(2.0, quotient_up(sensitivity, epsilon, "epsilon"))
    return report_noisy_max_gumbel(scores, scale, source)

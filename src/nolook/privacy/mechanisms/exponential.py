"""Choose one of n by score: the exponential mechanism and permute-and-flip.

Permute-and-flip chooses better at equal epsilon; choices by the exponential mechanism cost less
together where there is a delta. Both are proved in `exponential.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nolook.privacy.mechanisms._exact import product_up, quotient_up
from nolook.privacy.noise import ByteSource, permuted_flips, report_noisy_max_gumbel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["exponential_choice", "permute_and_flip"]


def exponential_choice(
    scores: NDArray[np.int64] | NDArray[np.float64],
    sensitivity: float,
    epsilon: float,
    source: ByteSource,
) -> int:
    """Return an index, large scores being likelier; its range of losses is bounded by epsilon.

    Guarantee
    ---------
    If no two scores move apart by more than twice `sensitivity` between neighbours, the
    privacy losses of two results differ by at most epsilon under that relation: a choice of a
    `BoundedRangeEvent`. So the result is (epsilon, 0)-DP.

    Parameters
    ----------
    scores : ndarray of int64 or float64, shape (n,)
        Finite for every data set; n >= 1 is public. Float scores are exact real numbers: the
        rounding of their computation belongs in the sensitivity.
    sensitivity : float
        The largest change of one score, in either direction, or half of the largest change of a
        difference of two, as an exact real number.
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
    return report_noisy_max_gumbel(scores, _choice_scale(sensitivity, epsilon), source)


def permute_and_flip(
    scores: NDArray[np.int64] | NDArray[np.float64],
    sensitivity: float,
    epsilon: float,
    source: ByteSource,
) -> int:
    """Return an index, large scores being likelier; the release is epsilon-DP.

    At every score the chance of a result that is at least as good is no smaller than with
    :func:`exponential_choice` at the same epsilon (McKenna and Sheldon 2020). Its privacy losses
    may lie twice as far apart.

    Guarantee
    ---------
    If no two scores move apart by more than twice `sensitivity` between neighbours, the
    result is (epsilon, 0)-DP under that relation.

    Parameters
    ----------
    scores, sensitivity
        As for :func:`exponential_choice`, whose errors it raises.
    epsilon : float
        Index i is accepted with probability exp(epsilon (scores[i] - best) / (2 sensitivity)), the
        exponent's factor rounded down, and one of those accepted is drawn uniformly.
    source : ByteSource

    Returns
    -------
    int
    """
    return permuted_flips(scores, _choice_scale(sensitivity, epsilon), source)


def _choice_scale(sensitivity: float, epsilon: float) -> float:
    """Return twice the sensitivity over epsilon, rounded up."""
    return product_up(2.0, quotient_up(sensitivity, epsilon, "epsilon"))

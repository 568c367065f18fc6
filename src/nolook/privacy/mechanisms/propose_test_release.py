"""The test of propose-test-release: whether the data are far from where a release is unsafe.

The proof is in `propose_test_release.md`.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from nolook._validation import check_delta
from nolook.errors import ParameterError
from nolook.privacy.mechanisms._exact import noise_scale
from nolook.privacy.noise import LARGEST_SCALE, ByteSource, discrete_laplace

__all__ = ["distance_scale", "passes_test", "passing_threshold"]

_DOWN = Context(prec=40, rounding=ROUND_FLOOR)
_UP = Context(prec=40, rounding=ROUND_CEILING)


def distance_scale(epsilon: float) -> float:
    """Return the scale of the noise on the distance, at least 1/epsilon; none exceeds 2**70."""
    scale = noise_scale(1, epsilon, "epsilon")
    if scale > LARGEST_SCALE:
        raise ParameterError(f"epsilon is {epsilon!r}; expected more than 2**-70")
    return scale


def passing_threshold(epsilon: float, delta: float) -> int:
    """Return the smallest c >= 0 with P(noise >= c + 1) <= delta, found with outward rounding.

    With r = exp(-1/scale) that probability is ``r^(c+1) / (1 + r)``.
    """
    scale = Decimal(distance_scale(epsilon))
    ratio = _DOWN.next_minus(_DOWN.exp(_DOWN.divide(Decimal(-1), scale)))
    allowed = _DOWN.multiply(Decimal(check_delta(delta)), _DOWN.add(Decimal(1), ratio))

    def too_likely(threshold: int) -> bool:
        exponent = _UP.divide(Decimal(-threshold - 1), scale)
        return _UP.next_plus(_UP.exp(exponent)) > allowed

    threshold = max(0, int(_DOWN.multiply(scale, _DOWN.minus(_UP.ln(allowed)))) - 1)
    while too_likely(threshold):
        threshold += 1
    return threshold


def passes_test(distance: int, epsilon: float, delta: float, source: ByteSource) -> bool:
    """Tell, privately, whether a distance is well above -1.

    Guarantee
    ---------
    If `distance` changes by at most 1 between neighbours, the answer is (epsilon, 0)-DP, and True
    with probability at most `delta` when `distance` is -1.

    Parameters
    ----------
    distance : int
        At least -1.
    epsilon, delta : float
        The cost, and the chance of a wrong True.
    source : ByteSource
    """
    noise = discrete_laplace(distance_scale(epsilon), 1, source)
    return bool(distance + int(noise[0]) >= passing_threshold(epsilon, delta))

"""Shared parts of the additive mechanisms: scales rounded up, sums that never wrap."""

from __future__ import annotations

import math
import operator

import numpy as np

from nolook._validation import check_positive
from nolook.errors import ParameterError
from nolook.privacy._collect import Integers
from nolook.privacy.noise import SMALLEST_SCALE


def quotient_up(sensitivity: float, divisor: float, name: str) -> float:
    """Return a float64 that is at least sensitivity / divisor, both taken as exact real numbers.

    Both must be finite and above 0; `name` is what messages call the divisor, mu or epsilon.
    """
    top = check_positive(sensitivity, "sensitivity")
    if int(top) < int(sensitivity):  # a whole number beyond 2^53 that was rounded down
        top = math.nextafter(top, math.inf)
    return math.nextafter(top / check_positive(divisor, name), math.inf)


def noise_scale(
    sensitivity: float, divisor: float, name: str, weight: float | None = None
) -> float:
    """Return the scale of noise that hides a sensitivity: their quotient, times a weight if given.

    It is rounded up, and at least `SMALLEST_SCALE`, since more noise than asked for is private too.
    """
    scale = quotient_up(sensitivity, divisor, name)
    return max(scale if weight is None else product_up(scale, weight), SMALLEST_SCALE)


def product_up(scale: float, factor: float) -> float:
    """Return a float64 that is at least scale * factor, both at least 0."""
    return math.nextafter(scale * factor, math.inf)


def add_exactly(values: Integers, noise: Integers) -> Integers:
    """Return values + noise without wrapping, both integers in arrays of one shape.

    The sum is int64 if both are, saturating at its ends; otherwise exact Python ints. An entry of
    an object array that is not an integer is a TypeError.
    """
    if values.dtype == object or (values.dtype == np.int64 and noise.dtype == object):
        out = np.empty(values.shape, dtype=object)
        pairs = zip(values.ravel(), noise.ravel(), strict=True)
        out.ravel()[:] = [operator.index(value) + int(extra) for value, extra in pairs]
        return out
    if values.dtype != np.int64:
        raise ParameterError(
            f"values has dtype {values.dtype}; expected int64, or Python ints in an object array"
            " (round to a grid that does not depend on the data)"
        )
    total = np.asarray(values + noise)
    ends = np.iinfo(np.int64)
    # A sum that wrapped is on the other side of the value.
    total[(noise > 0) & (total < values)] = ends.max
    total[(noise < 0) & (total > values)] = ends.min
    return total

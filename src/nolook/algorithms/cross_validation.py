"""Cross-validation within one budget: folds drawn row by row, fits in sequence, one evaluation.

A row, or a unit with all its rows, is in one fold: it takes part in all fits but one, and in one
evaluation. So of k folds the k fits and k evaluations cost k - 1 fits and one evaluation, and each
of these k gets the same share of the budget. The proof is ``cross_validation.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook._defaults import QUANTILE
from nolook.algorithms.scaling import NoisyCount
from nolook.privacy.guarantee import GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.privacy.release import GaussianRelease
from nolook.statistics.held_out import (
    COUNT_STEPS,
    DEVIATION_STEPS,
    HeldOutErrors,
    held_out_sensitivity,
)
from nolook.statistics.weighted_rows import ERROR_UNIT
from nolook.tables import Table

__all__ = ["Estimate", "HeldOut", "HeldOutRelease", "draw_folds", "mean_of", "shown"]

# Scores whose interval is wider say nothing and are not given.
_WIDEST = 0.5
# The target's variation must be so many deviations of its noise, or a share of it means nothing.
_CLEAR = 4.0
_CHUNK = 2**20


def draw_folds(folds: int, source: ByteSource, rows: int) -> NDArray[np.uint8]:
    """Draw the fold of every row, or unit, uniformly and alone; they must not reach a user."""
    parts = [np.empty(0, dtype=np.uint8)]
    for start in range(0, rows, _CHUNK):
        drawn = uniform_integers(folds, min(_CHUNK, rows - start), source)
        parts.append(drawn.astype(np.uint8))
    return np.concatenate(parts)


@frozen
class Estimate:
    """A number and its standard error, by noise and sampling."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of a score that is at most 1."""
        margin = QUANTILE * self.error
        return self.value - margin, min(self.value + margin, 1.0)


@frozen
class HeldOut:
    """The released sums of a model's squared errors, in squares of the target's scale."""

    rows: float
    left_out: float
    deviation: float  # sum of y - c
    total: float  # sum of (y - c)^2
    rest: float  # sum of (y - p)^2
    errors: tuple[float, float, float]  # deviations of the noise: rows, deviation, either square

    @property
    def counted(self) -> NoisyCount:
        """The number of rows; those left out belong to the first fold."""
        error, *_ = self.errors
        return NoisyCount(self.rows, error, self.left_out, None, error)

    def score(self, alike: int = 1) -> Estimate | None:
        """Return R2: the share of the squared deviations from the rows' own mean that is explained.

        None if noise hides how much the target varies. The variance by sampling is that of R2 in a
        normal population, 4 R2 (1 - R2)^2 / n, times the rows in full of a unit, at most, which may
        be `alike`. Post-processing.
        """
        rows_error, deviation_error, error = self.errors
        mean = self.deviation / max(self.rows, 1.0)
        total = self.total - mean * self.deviation
        total_error = math.hypot(error, 2.0 * mean * deviation_error, mean * mean * rows_error)
        if total <= _CLEAR * total_error:
            return None
        ratio = self.rest / total
        noise = math.hypot(error, ratio * total_error) / total
        drawn = 2.0 * ratio * math.sqrt(alike * max(1.0 - ratio, 0.0) / max(self.rows, 1.0))
        return Estimate(min(1.0 - ratio, 1.0), math.hypot(noise, drawn))


@frozen
class HeldOutRelease(GaussianRelease):
    """The errors of a model that does not depend on the rows, or is a private release of its own.

    Guarantee: ``mu``-GDP when a row is added or removed. No table raises.
    """

    def events(self) -> tuple[GaussianEvent, ...]:
        """State everything that will be released."""
        return (GaussianEvent("squared errors on held-out rows", self.mu),)

    def run(self, predicted: Table, center: float, scale: float, source: ByteSource) -> HeldOut:
        """Release the errors of predictions for their targets; centre and scale are the model's."""
        whole = predicted.unit.weight_scale
        used = predicted.fold(HeldOutErrors(center, scale, whole)).value
        exact = np.append(used, COUNT_STEPS * predicted.left_out())
        sensitivity = held_out_sensitivity(whole)
        noisy = gaussian_release(exact, sensitivity, self.mu, source).astype(np.float64)
        square = ERROR_UNIT**2
        steps = np.array([COUNT_STEPS, DEVIATION_STEPS * ERROR_UNIT, square, square, COUNT_STEPS])
        rows, deviation, total, rest, left_out = (noisy / steps).tolist()
        errors = (sensitivity / steps / self.mu).tolist()
        return HeldOut(rows, left_out, deviation, total, rest, (errors[0], errors[1], errors[2]))


def mean_of(found: Sequence[Estimate | None]) -> Estimate | None:
    """Return the mean of scores with independent noise; None if one of them is not known."""
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    count = len(known)
    value, error = math.fsum(one.value for one in known), math.hypot(*(one.error for one in known))
    return Estimate(value / count, error / count)


def shown(found: Estimate | None) -> Estimate | None:
    """Return an estimate whose interval says something."""
    return None if found is None or 2 * QUANTILE * found.error > _WIDEST else found

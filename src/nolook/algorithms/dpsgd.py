"""DP-SGD for a linear model (Abadi et al. 2016), on privately standardised columns.

Each step draws a fresh Poisson sample of the rows, sums their clipped gradients (signs turned to
point downhill), adds Gaussian noise and moves along the result, with momentum. The noise multiplier
is the smallest that keeps the budget, found with dp-accounting. All settings are constants or
follow from the number of columns. The proof is ``dpsgd.md``.

==============  =========================================================================
name here       meaning
==============  =========================================================================
``q``           sampling probability, a power of 1/2 so that it can be drawn exactly
``T``           number of gradients
``C``           clip norm of a row's gradient
``sigma``       noise multiplier: the noise of a sum of gradients has deviation sigma C
``size``        d, the number of features plus one
==============  =========================================================================
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook.algorithms.scaling import LIMIT, ScaleSearch, Scaling
from nolook.kernels.bounded_rows import bounded_rows, bounded_targets
from nolook.privacy.accounting import gaussian_mu, total_delta
from nolook.privacy.budgets import too_small
from nolook.privacy.guarantee import Budget, Event, SampledGaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.privacy.release import Announce
from nolook.statistics.clipped_gradients import (
    GRADIENT_UNIT,
    ClippedGradients,
    UnitGradients,
    gradient_radius,
    gradient_sensitivity,
)
from nolook.statistics.residual_products import grid_model
from nolook.tables import Table

__all__ = ["DPSGD", "noise_multiplier"]

#: Share of mu^2 for the scales.
SCALES_SHARE = 0.35
#: 1/q: each row is in a sample with probability 1/8.
SAMPLE_EVERY = 8

_UNIT = 2**12  # of the rows' grid: five scales fit 16 bits
_RATE = 8.0  # learning rate times the number of columns: momentum keeps it stable
_MOMENTUM = 0.9
_AVERAGED = 0.5  # the model is the mean over the last steps, this share of them
_PRECISION = 1e-3  # relative, of the noise multiplier
_LARGEST_MULTIPLIER = 2.0**40
_PART = 2**14  # units drawn at a time


@lru_cache(maxsize=64)
def noise_multiplier(budget: Budget, gradients: int) -> float:
    """Return the smallest noise multiplier, to a thousandth, that keeps a budget beside the scales.

    Raises ParameterError if the budget is too small for any noise.
    """

    def kept(multiplier: float) -> bool:
        events: tuple[Event, ...] = _scales(budget).events()
        events = (*events, _samples(gradients, multiplier))
        return total_delta(events, budget.epsilon) <= budget.delta

    # Start near the amplified noise of a Gaussian release.
    high = math.sqrt(gradients / (1.0 - SCALES_SHARE)) / SAMPLE_EVERY / gaussian_mu(budget)
    high = max(high, 1e-3)
    ratio = 1.05
    low = high / ratio
    while not kept(high):
        low, high, ratio = high, high * ratio, ratio * ratio
        if high > _LARGEST_MULTIPLIER:
            raise too_small(budget.epsilon, budget.delta)
    while kept(low):
        low, high, ratio = low / ratio, low, ratio * ratio
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def _samples(gradients: int, multiplier: float) -> SampledGaussianEvent:
    return SampledGaussianEvent("gradients of samples", multiplier, 1.0 / SAMPLE_EVERY, gradients)


def _scales(budget: Budget) -> ScaleSearch:
    return ScaleSearch(gaussian_mu(budget) * math.sqrt(SCALES_SHARE))


@frozen
class DPSGD:
    """Noisy gradients of random samples.

    Guarantee: (epsilon, delta)-private when a row is added or removed. No table raises. Keeps the
    rows in memory, two bytes a feature and eight a target.

    Parameters
    ----------
    budget : Budget
    gradients : int
        T.
    most_rows : int
        How many rows of a unit count in full. The scales' costs are divided by it. The gradients
        are not: a unit is in a sample with all its rows, and their sum is clipped.
    """

    budget: Budget
    gradients: int
    most_rows: int = 1

    @property
    def stages(self) -> int:
        """How many stages `run` announces."""
        return _scales(self.budget).stages + 1 + self.gradients

    def for_rows(self, most: int) -> DPSGD:
        """Return the release whose samples are of units, of so many rows each."""
        _scales(self.budget).for_rows(most)  # refuses what is too small
        return evolve(self, most_rows=most)

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released."""
        multiplier = noise_multiplier(self.budget, self.gradients)
        return (*self._search().events(), _samples(self.gradients, multiplier))

    def _search(self) -> ScaleSearch:
        scales = _scales(self.budget)
        return scales if self.most_rows == 1 else scales.for_rows(self.most_rows)

    def run(
        self, table: Table, source: ByteSource, announce: Announce
    ) -> tuple[NDArray[np.float64], Scaling]:
        """Fit a table with a target: a standardised model, the constant first, and its scaling."""
        scaling = self._search().run(table, source, announce)
        table = table.filled(scaling.center)
        # Features that are not visible are left out.
        visible = scaling.visible[:-1]
        table = table.select(visible)
        size = table.n_columns
        # A typical row (1, u) has norm sqrt(d), and a typical residual is below one scale.
        radius = gradient_radius(math.sqrt(size))
        announce("rows")
        kept = _read(table, scaling.select(visible), size, radius)
        # The private number of rows turns sums over a sample into means over all rows.
        rate = _RATE / size * SAMPLE_EVERY / scaling.rows.value / GRADIENT_UNIT
        sensitivity = gradient_sensitivity(radius, size, table.unit.whole)
        per_step = math.nextafter(1.0 / noise_multiplier(self.budget, self.gradients), 0.0)
        theta, velocity, total = np.zeros(size), np.zeros(size), np.zeros(size)
        last = max(1, round(_AVERAGED * self.gradients))
        for number in range(1, self.gradients + 1):
            announce(f"gradient {number}")
            chosen = _poisson_sample(kept.units, source)
            on_grid, grid_step = grid_model(theta, _largest_square(size))
            exact = kept.value(chosen, on_grid, grid_step)
            noisy = gaussian_release(exact, sensitivity, per_step, source)
            velocity = _MOMENTUM * velocity + (1.0 - _MOMENTUM) * noisy.astype(np.float64)
            theta = grid_step * on_grid + rate * velocity
            if number > self.gradients - last:
                total += theta
        return scaling.all_features(total / last), scaling


def _largest_square(size: int) -> int:
    """Bound on the squared norm of a row on its grid."""
    return size * math.floor(LIMIT * _UNIT) ** 2


def _read(table: Table, scaling: Scaling, size: int, radius: int) -> ClippedGradients:
    center, scale = scaling.center, scaling.scale
    low, high = scaling.limits
    kind = ClippedGradients if table.unit.most_rows == 1 else UnitGradients
    kept = kind(size, _UNIT, radius, table.unit.whole)
    for batch, weights, units in table.batches_of_units():
        rows = bounded_rows(
            batch[:-1], center[:-1], scale[:-1], low[:-1], high[:-1], _largest_square(size), _UNIT
        )
        targets = bounded_targets(batch[-1], float(center[-1]), float(scale[-1]), LIMIT)
        kept.update(rows, targets, weights, units)
    return kept


def _poisson_sample(units: int, source: ByteSource) -> NDArray[np.bool_]:
    """Choose each unit, or row, independently with probability 1/SAMPLE_EVERY, exactly."""
    parts = [
        uniform_integers(SAMPLE_EVERY, min(_PART, units - start), source) == 0
        for start in range(0, units, _PART)
    ]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *parts])

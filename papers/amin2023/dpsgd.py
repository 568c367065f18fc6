"""DP-SGD for a linear model (Abadi et al. 2016), on privately standardised columns.

Each step draws a fresh Poisson sample of the rows, sums their clipped gradients (signs turned to
point downhill), adds Gaussian noise and moves along the result, with momentum. The noise multiplier
is the smallest that keeps the budget, found with dp-accounting. All settings are constants or
follow from the number of columns: it is DP-SGD with nothing to tune, where `tuned_sgd` has the
settings of the paper. The proof is ``dpsgd.md``.

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
from attrs import frozen
from dp_accounting.pld import privacy_loss_distribution as pld
from numpy.typing import NDArray

from nolook._validation import check_count
from nolook.algorithms.scaling import LIMIT, ScaleSearch, Scaling
from nolook.estimators._checks import check_budget
from nolook.estimators.base import PrivateRegressor
from nolook.kernels.weighted_rows import bounded_targets
from nolook.privacy.accounting import gaussian_delta, gaussian_mu
from nolook.privacy.budgets import too_small
from nolook.privacy.guarantee import ApproximateEvent, Budget, Event
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.privacy.release import OnStep, Plan
from nolook.statistics.grid_models import grid_model
from nolook.tables import Table
from papers.amin2023.clipped_gradients import (
    GRADIENT_UNIT,
    ClippedGradients,
    gradient_radius,
    gradient_sensitivity,
)
from papers.bounded_rows import bounded_rows

__all__ = ["DPSGD", "DPSGDRegressor", "noise_multiplier", "sampled_delta"]

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
_PART = 2**14  # rows drawn at a time
_MOST_STEPS = 10_000

# Privacy losses are counted on a grid; a longer one is not worth its memory.
_LOSS_SPACING = 1e-4
_LARGEST_LOSS = 20.0
_MOST_POINTS = 2**19
# How much one convolution's Fourier transforms can lower a delta, on a grid of that many points.
_TRANSFORM_ERROR = 2e-11


@lru_cache(maxsize=64)
def noise_multiplier(budget: Budget, gradients: int) -> float:
    """Return the smallest noise multiplier, to a thousandth, that keeps a budget with the scales.

    Raises ParameterError if the budget is too small for any noise.
    """
    mu = math.hypot(*(event.mu for event in _scales(budget).events())) * (1.0 + 2.0**-50)

    def kept(multiplier: float) -> bool:
        # A sample counts as the whole table, or the losses of samples are composed.
        whole = math.hypot(mu, math.sqrt(gradients) / multiplier) * (1.0 + 2.0**-50)
        left = math.nextafter(budget.epsilon, -math.inf)
        if gaussian_delta(math.nextafter(whole, math.inf), left) <= budget.delta:
            return True
        return sampled_delta(mu, multiplier, gradients, budget.epsilon) <= budget.delta

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


def sampled_delta(mu: float, multiplier: float, gradients: int, epsilon: float) -> float:
    """Return the delta of a mu-GDP release and of noisy sums over samples; 1 if it is not found.

    It composes pessimistic privacy-loss distributions (dp-accounting).
    """
    inverse = 1.0 / multiplier
    spread = math.sqrt(gradients * math.expm1(min(inverse, 10.0) ** 2)) / SAMPLE_EVERY
    if max(_reach(mu) + _reach(spread), _reach(inverse)) > _LARGEST_LOSS:
        return 1.0
    with np.errstate(all="ignore"):  # the library's numbers underflow
        whole = _losses(multiplier, 1.0 / SAMPLE_EVERY).self_compose(gradients)
        other = _losses(1.0 / mu, 1.0)
        if _points(whole) + _points(other) > _MOST_POINTS:
            return 1.0
        found = float(whole.compose(other).get_delta_for_epsilon(epsilon))
    # The library's grid errs upward, the rounding of its sums and transforms need not.
    return min(1.0, found * (1.0 + 1e-6) + _TRANSFORM_ERROR * (gradients + 1))


def _reach(mu: float) -> float:
    """Return roughly the largest loss of a Gaussian release that is worth counting."""
    return mu * mu / 2 + 10.0 * mu


@lru_cache(maxsize=4)
def _losses(deviation: float, probability: float) -> pld.PrivacyLossDistribution:
    return pld.from_gaussian_mechanism(
        min(deviation, 1e12),  # larger ones overflow, and less noise overstates the losses
        pessimistic_estimate=True,
        value_discretization_interval=_LOSS_SPACING,
        sampling_prob=probability,
    )


def _points(part: pld.PrivacyLossDistribution) -> int:
    """Return the length of a distribution's grid, the larger of the two directions."""
    return max(int(part._pmf_remove.size), int(part._pmf_add.size))


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
    """

    budget: Budget
    gradients: int

    @property
    def progress_steps(self) -> int:
        """How many progress steps of `run`."""
        return _scales(self.budget).progress_steps + 1 + self.gradients

    def events(self) -> tuple[Event, ...]:
        """State everything that will be released, as one; an error if no noise keeps the budget."""
        noise_multiplier(self.budget, self.gradients)
        epsilon, delta = self.budget.epsilon, self.budget.delta
        return (ApproximateEvent("scales and gradients of samples", epsilon, delta),)

    def run(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> tuple[NDArray[np.float64], Scaling]:
        """Fit a table with a target: a standardised model, the constant first, and its scaling."""
        scaling = _scales(self.budget).run(table, source, progress)
        table = table.filled(scaling.center)
        # Features that are not detected are left out.
        detected = scaling.detected[:-1]
        table = table.select(detected)
        size = table.n_columns
        # A typical row (1, u) has norm sqrt(d), and a typical residual is below one scale.
        radius = gradient_radius(math.sqrt(size))
        progress("rows")
        kept = _read(table, scaling.select(detected), size, radius)
        # The private number of rows turns sums over a sample into means over all rows.
        rate = _RATE / size * SAMPLE_EVERY / scaling.rows.value / GRADIENT_UNIT
        sensitivity = gradient_sensitivity(radius)
        per_step = math.nextafter(1.0 / noise_multiplier(self.budget, self.gradients), 0.0)
        theta, velocity, total = np.zeros(size), np.zeros(size), np.zeros(size)
        last = max(1, round(_AVERAGED * self.gradients))
        for number in range(1, self.gradients + 1):
            progress(f"gradient {number}")
            chosen = _poisson_sample(kept.rows, source)
            on_grid, grid_step = grid_model(theta, _largest_square(size))
            exact = kept.value(chosen, on_grid, grid_step)
            noisy = gaussian_release(exact, sensitivity, per_step, source)
            velocity = _MOMENTUM * velocity + (1.0 - _MOMENTUM) * noisy.astype(np.float64)
            theta = grid_step * on_grid + rate * velocity
            if number > self.gradients - last:
                total += theta
        return scaling.all_features(total / last, scaling.detected[:-1]), scaling


def _largest_square(size: int) -> int:
    """Bound on the squared norm of a row on its grid."""
    return size * math.floor(LIMIT * _UNIT) ** 2


def _read(table: Table, scaling: Scaling, size: int, radius: int) -> ClippedGradients:
    center, scale = scaling.center, scaling.scale
    low, high = scaling.limits
    kept = ClippedGradients(size, _UNIT, radius)
    for batch in table.batches():
        rows = bounded_rows(
            batch[:-1], center[:-1], scale[:-1], low[:-1], high[:-1], _largest_square(size), _UNIT
        )
        kept.update(rows, bounded_targets(batch[-1], float(center[-1]), float(scale[-1]), LIMIT))
    return kept


def _poisson_sample(rows: int, source: ByteSource) -> NDArray[np.bool_]:
    """Choose each row independently with probability 1/SAMPLE_EVERY, exactly."""
    parts = [
        uniform_integers(SAMPLE_EVERY, min(_PART, rows - start), source) == 0
        for start in range(0, rows, _PART)
    ]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *parts])


class DPSGDRegressor(PrivateRegressor):
    """Linear regression by DP-SGD (Abadi et al., CCS 2016), on privately standardised columns.

    Each step draws each row independently with probability 1/8, clips the drawn rows' gradients of
    the squared error and releases their sum with Gaussian noise: the least that keeps the budget,
    found by composing privacy-loss distributions. Columns are standardised privately first, so
    there is nothing to tune. Proof: ``dpsgd.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed, for every table. A table with units of several rows is refused.

    Parameters
    ----------
    delta : float, default=1e-6
        Probability of a larger loss, in (0, 1). Below about 1e-8 sampling cannot be shown to
        protect, and the noise is several times larger.
    n_steps : int, default=200
        Number of gradients, at most 10,000. More steps go further, with more noise in each.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = x @ [2.0, -1.0] + 5
    >>> model = DPSGDRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    n_steps: int = 200

    _ledger_label = "DP-SGD"
    _needs_local_rows = True

    _imputes_centres = True

    def plan(self) -> Plan[tuple[NDArray[np.float64], Scaling]]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        gradients = check_count(self.n_steps, "n_steps", _MOST_STEPS)
        return Plan.of(DPSGD(budget, gradients), budget, self.random_state)

    def _store(self, released: tuple[NDArray[np.float64], Scaling]) -> None:
        theta, scaling = released
        self._store_model(scaling, theta)

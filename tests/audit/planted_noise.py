"""Faults of noise, sensitivities and sums."""

from __future__ import annotations

import numpy as np
from scipy import stats

from nolook.algorithms import hosmer_lemeshow
from nolook.kernels.moments import UNIT
from nolook.privacy import noise
from nolook.privacy.accounting import smallest_epsilon
from nolook.privacy.guarantee import BoundedRangeEvent
from nolook.privacy.mechanisms import exponential, gaussian, laplace
from nolook.statistics import design_moments, histograms
from nolook.statistics.group_sums import GROUP_UNIT, GroupSums
from tests.audit.planted import Fault, Release, choices, halved

# --- a count with Laplace noise ------------------------------------------------------------------


def float_uniform(draws, source):
    """Return uniform multiples of 2^-53 in (0, 1], as usual in floating point."""
    return ((source.words(draws) >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53


def float_laplace(values, sensitivity, epsilon, source):
    """Add Laplace noise the textbook's way: a logarithm in float64, and a sum in float64."""
    signs = np.where(source.words(len(values)) >> np.uint64(63), 1.0, -1.0)
    return values + signs * (-np.log(float_uniform(len(values), source)) * (sensitivity / epsilon))


def reachable_with_float_laplace(outputs, value, epsilon):
    """Whether the textbook's sampler can give each output at this value: some uniform must do."""
    steps = np.rint(np.exp(-abs(outputs - value) * epsilon) * 2.0**53)
    signs = np.sign(outputs - value)
    found = np.zeros(len(outputs), dtype=bool)
    for near in range(-4, 5):
        uniform = (steps + near).clip(1.0, 2.0**53) * 2.0**-53
        found |= value + signs * (-np.log(uniform) * (1.0 / epsilon)) == outputs
    return found.astype(np.float64)


def laplace_count(table, draws, source):
    noisy = laplace.laplace_release(np.full(draws, len(table)), 1, 1.0, source)
    outputs = np.asarray(noisy, dtype=np.float64)
    return [outputs, reachable_with_float_laplace(outputs, 3.0, 1.0)]


LAPLACE = Release(
    "count with Laplace noise", (np.zeros(3), np.zeros(4)), laplace_count, 1.0, 40_000, 0.8
)


def small_noise(module, sampler):
    """Plant noise of 0.7 times the scale asked for."""
    exact = getattr(noise, sampler)

    def smaller(scale, size, source):
        return exact(0.7 * scale, size, source)

    return lambda patch: patch.setattr(module, sampler, smaller)


# --- histograms and a count with Gaussian noise --------------------------------------------------


def signs_of_columns(batch, _):
    """Count the numbers below 0, and the others, in each column."""
    below = (batch < 0.0).sum(axis=1)
    return np.stack([below, batch.shape[1] - below], axis=1)


def gaussian_histograms(table, draws, source):
    counts = histograms.Histograms(signs_of_columns).update(table.T).value(2).ravel()
    sensitivity = histograms.histograms_sensitivity(2, "add-remove")
    noisy = gaussian.gaussian_release(np.tile(counts, (draws, 1)), sensitivity, 0.5, source)
    return [noisy[:, [0, 3]].sum(axis=1).astype(np.float64)]  # the bins of the row (-1, 1)


HISTOGRAMS = Release(
    "histograms with Gaussian noise",
    (np.ones((5, 2)), np.concatenate([np.ones((5, 2)), [[-1.0, 1.0]]])),
    gaussian_histograms,
    0.5,
    100_000,
    0.8,
    delta=None,
)


def gaussian_count(table, draws, source):
    noisy = gaussian.gaussian_release(np.full(draws, len(table)), 1, 1.0, source)
    return [noisy.astype(np.float64)]


COUNT = Release(
    "count with Gaussian noise of one count",
    (np.zeros(3), np.zeros(4)),
    gaussian_count,
    1.0,
    500_000,
    0.95,
    delta=None,
)


def discrete_gaussian(sigma, size, source):
    """Draw k with P(k) proportional to exp(-k^2 / 2 sigma^2): not a rounded normal number."""
    k = np.arange(-40, 41)
    law = np.exp(-(k**2) / (2 * sigma**2))
    return k[np.searchsorted(np.cumsum(law / law.sum()), float_uniform(np.prod(size), source))]


# What a threshold halfway between two neighbouring counts shows of it, and no event shows more.
_AT_ZERO = 1.0 / np.exp(-(np.arange(-40, 41) ** 2) / 2.0).sum()
DISCRETE_MU = -2.0 * stats.norm.ppf((1.0 - _AT_ZERO) / 2.0)

# --- the moment matrix ---------------------------------------------------------------------------


def noisy_moments(table, draws, source):
    squared_radius = 13 * UNIT**2
    rows = np.vstack([np.ones(len(table)), table.T]) * UNIT
    exact = design_moments.DesignMoments(4, squared_radius).update(rows).value
    sensitivity = design_moments.gram_sensitivity(squared_radius)
    row = np.array([1.0, 2.0, -2.0, 2.0]) * UNIT  # the row that is added, and its constant
    shift = np.outer(row, row) / sensitivity
    noisy = (
        gaussian.symmetric_gaussian_release(exact, sensitivity, 1.0, source) for _ in range(draws)
    )
    return [np.array([(one.astype(np.float64) * shift).sum() for one in noisy])]


MOMENTS = Release(
    "moment matrix",
    (np.ones((4, 3)), np.concatenate([np.ones((4, 3)), [[2.0, -2.0, 2.0]]])),
    noisy_moments,
    1.0,
    1_200,
    0.3,
    delta=None,
)

# --- one of two groups by their sizes ------------------------------------------------------------


def larger_group(table, draws, source):
    sizes = np.bincount(table, minlength=2)
    return [choices(lambda: exponential.exponential_choice(sizes, 1, 2.0, source), draws)]


GROUPS = Release(
    "choice of a group (one row replaced)",
    (np.array([0] * 5 + [1] * 6), np.array([0] * 4 + [1] * 7)),
    larger_group,
    2.0,
    12_000,
    0.5,
)


def sharper_choice(patch):
    exact = noise.report_noisy_max_gumbel

    def sharper(scores, scale, source):
        return exact(scores, 0.7 * scale, source)

    patch.setattr(exponential, "report_noisy_max_gumbel", sharper)


# --- the same by permute-and-flip -----------------------------------------------------------------


# The other group becomes the larger one.
CROSSING = (np.array([0] * 6 + [1] * 5), np.array([0] * 5 + [1] * 6))


def larger_group_by_flips(table, draws, source):
    sizes = np.bincount(table, minlength=2)
    return [choices(lambda: exponential.permute_and_flip(sizes, 1, 2.0, source), draws)]


FLIPS = Release(
    "choice of a group by permute-and-flip (one row replaced)",
    CROSSING,
    larger_group_by_flips,
    2.0,
    12_000,
    0.5,
)


def first_of_the_heads(patch):
    """Plant ties broken by index: the first whose coin shows heads is the winner."""
    patch.setattr(noise, "uniform_integers", lambda *_: np.zeros(1, dtype=np.int64))


def without_the_two(patch):
    """Plant the noise that would do if scores could not move apart."""
    exact = noise.permuted_flips
    patch.setattr(
        exponential,
        "permuted_flips",
        lambda scores, scale, source: exact(scores, scale / 2, source),
    )


# --- many choices by the exponential mechanism ---------------------------------------------------

PICKS = 3


def larger_group_again_and_again(table, draws, source):
    """Count how often one of two groups is chosen."""
    sizes = np.bincount(table, minlength=2)

    def pick():
        return sum(exponential.exponential_choice(sizes, 1, 1.0, source) for _ in range(PICKS))

    return [choices(pick, draws)]


CHOICES = Release(
    "choices by the exponential mechanism (one row replaced)",
    CROSSING,
    larger_group_again_and_again,
    smallest_epsilon([BoundedRangeEvent("choices", 1.0, PICKS)], 0.05),
    8_000,
    0.4,
    delta=0.05,
)


# --- a sum of probabilities ----------------------------------------------------------------------

# Each is a little more than half of what separates float32 numbers above 1.
_SMALL = np.full(2**23, 2.0**-24 * (1.0 + 2.0**-10))


class FloatGroupSums(GroupSums):
    """Add up as a float32 column does, one after the other."""

    _total = np.float32(0.0)

    def update(self, numbers):
        probabilities, _ = numbers
        start = np.concatenate([[self._total], probabilities.astype(np.float32)])
        self._total = np.cumsum(start, dtype=np.float32)[-1]
        return self

    @property
    def value(self):
        return None, None, np.array([int(float(self._total) * GROUP_UNIT)])


def noisy_sum(table, draws, source):
    borders = np.array([0.0, 1.0])
    sums = hosmer_lemeshow.GroupSums(borders).update(np.stack([table, np.zeros(len(table))]))
    _, _, excess = sums.value
    sensitivity = hosmer_lemeshow.excess_sensitivities(borders)[0]
    noisy = laplace.laplace_release(np.repeat(excess, draws), sensitivity, 1.0, source)
    return [noisy.astype(np.float64)]


SUM = Release(
    "sum of probabilities",
    (_SMALL, np.concatenate([[1.0], _SMALL])),
    noisy_sum,
    1.0,
    20_000,
    0.8,
)

FAULTS = (
    Fault(
        "Laplace noise 30 % too small", LAPLACE, small_noise(laplace, "discrete_laplace"), 1 / 0.7
    ),
    Fault(
        "Gaussian noise 30 % too small",
        HISTOGRAMS,
        small_noise(gaussian, "rounded_gaussian"),
        0.5 / 0.7,
    ),
    Fault("choice 30 % too sharp", GROUPS, sharper_choice, 2 / 0.7),
    Fault("ties of coins broken by index", FLIPS, first_of_the_heads),
    Fault("choice by coins without the factor of 2", FLIPS, without_the_two, 4.0),
    Fault(
        "permute-and-flip charged as if its range were bounded",
        CHOICES,
        lambda patch: patch.setattr(
            exponential, "exponential_choice", exponential.permute_and_flip
        ),
        PICKS,
    ),
    Fault(
        "sensitivity of histograms halved",
        HISTOGRAMS,
        halved(histograms, "histograms_sensitivity"),
        1.0,
    ),
    Fault(
        "sensitivity of the moment matrix halved",
        MOMENTS,
        halved(design_moments, "gram_sensitivity"),
        2.0,
    ),
    Fault(
        "coarse discrete Gaussian accounted as continuous",
        COUNT,
        lambda patch: patch.setattr(gaussian, "rounded_gaussian", discrete_gaussian),
        DISCRETE_MU,
    ),
    Fault(
        "float64 Laplace sampler",
        LAPLACE,
        lambda patch: patch.setattr(laplace, "laplace_release", float_laplace),
    ),
    Fault(
        "float rounding of a sum",
        SUM,
        lambda patch: patch.setattr(hosmer_lemeshow, "GroupSums", FloatGroupSums),
        1.5,
    ),
)

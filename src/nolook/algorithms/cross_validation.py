"""Cross-validation within one budget: folds drawn row by row, fits in sequence, one evaluation.

A row, or a unit with all its rows, is in one fold: it takes part in all fits but one, and in one
evaluation. So of k folds the k fits and k evaluations cost k - 1 fits and one evaluation, and each
of these k gets the same share of the budget. The proof is ``cross_validation.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook.algorithms.moment_estimates import QUANTILE
from nolook.privacy.guarantee import Event, GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.privacy.release import GaussianRelease, OnStep
from nolook.statistics.held_out import (
    COUNT_STEPS,
    DEVIATION_STEPS,
    HeldOutErrors,
    held_out_sensitivity,
)
from nolook.statistics.weighted_rows import ERROR_UNIT
from nolook.tables import Table
from nolook.tables.folds import folds_of

__all__ = [
    "Estimate",
    "Fitting",
    "FoldsInSequence",
    "HeldOut",
    "HeldOutRelease",
    "draw_folds",
    "explained",
    "mean_of",
    "shown",
]

# Scores whose interval is wider say nothing and are not given.
_WIDEST = 0.5
# The target's variation must be so many deviations of its noise, or a share of it means nothing.
_CLEAR = 4.0
_CHUNK = 2**20

_Model = TypeVar("_Model")
_Found = TypeVar("_Found")
_Part = TypeVar("_Part")
_Judged_co = TypeVar("_Judged_co", covariant=True)


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
    deviation: float  # sum of y - c
    total: float  # sum of (y - c)^2
    rest: float  # sum of (y - p)^2
    errors: tuple[float, float, float]  # deviations of the noise: rows, deviation, either square


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
        exact = predicted.fold(HeldOutErrors(center, scale, whole)).value
        sensitivity = held_out_sensitivity(whole)
        noisy = gaussian_release(exact, sensitivity, self.mu, source).astype(np.float64)
        steps = np.array([COUNT_STEPS, DEVIATION_STEPS * ERROR_UNIT, ERROR_UNIT**2, ERROR_UNIT**2])
        rows, deviation, total, rest = (noisy / steps).tolist()
        errors = (sensitivity / steps / self.mu).tolist()
        return HeldOut(rows, deviation, total, rest, (errors[0], errors[1], errors[2]))


def explained(found: HeldOut) -> Estimate | None:
    """Return R2: the share of the squared deviations from the rows' own mean that is explained.

    None if noise hides how much the target varies. The variance by sampling is that of R2 in a
    normal population, 4 R2 (1 - R2)^2 / n. Post-processing.
    """
    rows_error, deviation_error, error = found.errors
    mean = found.deviation / max(found.rows, 1.0)
    total = found.total - mean * found.deviation
    total_error = math.hypot(error, 2.0 * mean * deviation_error, mean * mean * rows_error)
    if total <= _CLEAR * total_error:
        return None
    ratio = found.rest / total
    noise = math.hypot(error, ratio * total_error) / total
    drawn = 2.0 * ratio * math.sqrt(max(1.0 - ratio, 0.0) / max(found.rows, 1.0))
    return Estimate(min(1.0 - ratio, 1.0), math.hypot(noise, drawn))


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


class Fitting(Protocol[_Model, _Judged_co]):
    """A fit to one table and its evaluation on another, at the costs that are stated.

    An implementer owes: `fit` releases what `fit_events` state of its table and nothing else, None
    if a private test fails; `judge` what `judge_events` state of its own, for every fixed model.
    Both under add-remove, for a unit where the table names one, and neither is ever raised by a
    table. `for_rows_per_unit` returns the release that costs the same for units of `most` rows.
    """

    def fit_events(self) -> tuple[Event, ...]:
        """State what one fit releases."""

    def judge_events(self) -> tuple[Event, ...]:
        """State what one evaluation releases."""

    def for_rows_per_unit(self, most: int) -> Self:
        """Return the release that costs the same for units of `most` rows."""

    def fit(self, table: Table, number: int) -> _Model | None:
        """Return the model of a fold, if there is one."""

    def judge(self, model: _Model, table: Table, source: ByteSource) -> _Judged_co:
        """Release how good a model is on rows that it has not seen."""


@frozen
class FoldsInSequence(Generic[_Model, _Found]):
    """A model of the rows outside each fold, judged on the rows in it.

    Guarantee: that of `folds` - 1 fits and one evaluation in sequence, when a row is added or
    removed, or a unit with all its rows. No table raises.

    Parameters
    ----------
    folds : int
        k, from 2 to 255.
    fitting : Fitting
    """

    folds: int
    fitting: Fitting[_Model, _Found]

    @property
    def progress_steps(self) -> int:
        """One to draw folds, then two for each."""
        return 1 + 2 * self.folds

    def of_a_row(self, fit: _Part, evaluation: _Part) -> list[_Part]:
        """Return the events of one row: all fits except that of its own fold, which evaluates it.

        One evaluation stands for all, which are of disjoint rows.
        """
        return [*[fit] * (self.folds - 1), evaluation]

    def events(self) -> tuple[Event, ...]:
        """State what a row takes part in."""
        parts = self.of_a_row(self.fitting.fit_events(), self.fitting.judge_events())
        return tuple(event for part in parts for event in part)

    def for_rows_per_unit(self, most: int) -> FoldsInSequence[_Model, _Found]:
        """Return the release that costs the same for units of `most` rows."""
        return evolve(self, fitting=self.fitting.for_rows_per_unit(most))

    def run(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> list[tuple[_Model, _Found] | None]:
        """Return the model of each fold with what was found of it; None where a fit failed."""
        progress("folds")
        released: list[tuple[_Model, _Found] | None] = []
        # Drawn once: another draw for another pass would put a row into several evaluations.
        pairs = folds_of(table, self.folds, partial(draw_folds, self.folds, source))
        for number, (rest, part) in enumerate(pairs, 1):
            progress(f"fit {number}")
            model = self.fitting.fit(rest, number)
            progress(f"evaluation {number}")
            found = None if model is None else (model, self.fitting.judge(model, part, source))
            released.append(found)
        return released

"""The linear model of a release in the original units, its intervals and its fit.

All of it is post-processing. The model is the estimate of :mod:`nolook.algorithms.glm.estimate`,
shrunk towards 0 where noise dominates; intervals (:mod:`nolook.algorithms.glm.inference`) lie
around it, and where nothing is known there is none. What they cover, and how that was tried, is in
``linear.md``.
"""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen

from nolook._defaults import QUANTILE
from nolook.algorithms.glm.error_inference import (
    CutErrors,
    cut_errors,
    error_quantile,
    share_beyond,
    smearing,
)
from nolook.algorithms.glm.error_sizes import ERROR_EDGES
from nolook.algorithms.glm.estimate import hidden_directions
from nolook.algorithms.glm.inference import (
    HIDDEN_EFFECT,
    Coefficients,
    Knowledge,
    coefficients,
    explained,
)
from nolook.algorithms.glm.linear import NoisyRegression
from nolook.algorithms.intervals import Measure
from nolook.statistics.weighted_rows import LARGEST_ERROR

__all__ = ["ERROR_SHARES", "MOST_HIDDEN", "LinearModel", "linear_model"]

# A slope's interval wider than this to either side, in scales of the target a deviation of the
# column, says nothing: a column that explained all of the target would have slope 1.
_WIDEST = 1.1
#: Share of a slope's squared loading on hidden directions; each of two columns that cannot be told
# apart has half of its there.
MOST_HIDDEN = 0.3
_WIDEST_R2 = 0.5
#: Shares of the errors, for each of which a size is given that they stay within.
ERROR_SHARES = {"median_error": 0.5, "p90_error": 0.9}
# Where more errors may be cut no root mean square is given: it may be the work of a few.
_MOST_CUT = 0.001


@frozen(eq=False, kw_only=True)
class LinearModel:
    """A released linear model in the table's units, with intervals at LEVEL.

    None stands for what the noise hides.
    """

    known: Coefficients
    #: Of the rows as clipped: sizes that errors stay within, in units of the target; R2, where an
    #: error above 4 scales counts as 4; and the root mean square, where hardly an error was cut.
    measures: dict[str, Measure | None]
    cut: CutErrors | None  # None unless errors were cut mostly on one side
    smearing: float | None  # mean of the errors' exponential; None if they are mostly on one side


def linear_model(release: NoisyRegression, alike: int = 1) -> LinearModel:
    """Return the model, its intervals and its fit from what was released.

    Sizes of errors are those of rows of which up to `alike` of a unit may be alike.
    """
    theta = release.spread.model(release.theta)[: np.count_nonzero(release.kept) + 1]
    margin = np.full(len(theta), np.nan)
    if release.chosen is None:  # a choice by the same rows voids what intervals promise
        combined, residuals, sigma, _ = release.observed()
        hidden = hidden_directions(combined.eigenvalues, sigma)
        known = Knowledge(release, combined, hidden, sigma, HIDDEN_EFFECT, release.scores)
        margin = known.margins(MOST_HIDDEN, _WIDEST, residuals=residuals)
    else:  # what is left of the others is rounding
        theta[1:][~np.isin(np.arange(len(theta) - 1), release.chosen)] = 0.0
    r2 = explained(release.fit, _WIDEST_R2)
    rows, scale = release.scaling.rows, float(release.scaling.scale[-1])
    errors = release.errors.distribution(ERROR_EDGES, rows.value, rows.error**2)
    errors = evolve(errors, sampled=alike)
    cut = cut_errors(release.sides, errors, release.scaling, release.clip.bound / release.norm)
    whole = share_beyond(errors, LARGEST_ERROR) <= _MOST_CUT
    measures = {name: error_quantile(errors, scale, each) for name, each in ERROR_SHARES.items()}
    return LinearModel(
        known=coefficients(release, theta, margin),
        measures={**measures, "r2": r2, "rmse": _rmse(release) if r2 and whole else None},
        cut=cut,
        smearing=None if cut else smearing(errors, scale),
    )


def _rmse(release: NoisyRegression) -> Measure:
    """Root mean squared error, and its interval."""
    rows, scale = release.scaling.rows, float(release.scaling.scale[-1])
    mean = float(release.fit.value[1]) / rows.value
    error = QUANTILE * np.hypot(release.fit.sigma, mean * rows.error) / rows.value
    rmse = scale * np.sqrt(np.maximum([mean, mean - error, mean + error], 0.0))
    return Measure(*rmse.tolist())

"""What is said of `LinearRegression` alone: its intervals, what was clipped, chosen and hidden."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nolook.algorithms.inference import HIDDEN_EFFECT, MOST_CLIPPED
from nolook.algorithms.linear_design import TARGET_LIMIT
from nolook.report.wording import CONFIDENCE, count, number
from nolook.statistics.weighted_rows import LARGEST_ERROR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nolook.estimators.base import PrivateRegressor

__all__ = [
    "HIDDEN",
    "about_errors",
    "chosen_in_words",
    "chosen_of",
    "clipped_in_words",
    "clipped_shares",
    "is_linear",
    "legend",
    "marked",
    "purpose",
    "purpose_in_short",
    "target_limits",
    "weights_in_words",
    "withheld_in_words",
]

#: Stands where a number would that noise hides.
HIDDEN = "hidden by the noise"

_STARRED = 0.03  # share of a column's rows that may be clipped without a word


def is_linear(model: PrivateRegressor) -> bool:
    """Tell whether a model is one of `LinearRegression`."""
    return _shares(model) is not None


def _shares(model: PrivateRegressor) -> NDArray[np.float64] | None:
    shares: NDArray[np.float64] | None = getattr(model, "clipped_share_", None)
    return shares


def chosen_of(model: PrivateRegressor) -> NDArray[np.bool_]:
    """Tell which features have a slope: all, unless some were chosen."""
    chosen: NDArray[np.intp] | None = getattr(model, "chosen_", None)
    if chosen is None:
        return np.ones(len(model.coef_), dtype=np.bool_)
    return np.isin(np.arange(len(model.coef_)), chosen)


def chosen_in_words(model: PrivateRegressor) -> tuple[str, ...]:
    """Say that columns were chosen from the release itself, if so, and what that costs."""
    if getattr(model, "chosen_", None) is None:
        return ()
    words = (
        f"{chosen_of(model).sum()} of {count(len(model.coef_), 'column')} were chosen, from what "
        "was released anyway: after a choice by the same rows no interval would keep its promise, "
        "so none is given."
    )
    return (words,)


def legend(withheld: int) -> str:
    """Say how to read lines and points; `withheld` points have no line."""
    alone = " A point without a line has no interval." * (withheld > 0)
    return (
        f"A line is a {CONFIDENCE} interval: a filled point's leaves out 0, a hollow point may be "
        f"noise.{alone} An arrow marks an interval that runs off the picture."
    )


def purpose(model: PrivateRegressor) -> tuple[str, ...]:
    """Say what the intervals are for, and to which side the coefficients lean."""
    drawn = f"{model.privacy_.unit.protected}s"
    meaning = (
        f"The {CONFIDENCE} intervals are for the bounded-influence regression of the population "
        f"that the {drawn} were drawn from: columns clipped to the ranges below, long rows with "
        "less weight, very large errors cut. Where errors to one side are often large (incomes, "
        "costs), effects on the mean are larger than that: a model of the logarithm says more. "
        "Intervals cover sampling and privacy noise. Of what noise hides they assume "
        f"effects of the usual size: a standard deviation of {HIDDEN_EFFECT:g} scales of the "
        "target for one scale of a column."
    )
    leaning = (
        "The coefficients are pulled towards 0 where noise hides the answer, so the truth is more "
        "often farther from 0 than they are."
    )
    return meaning, leaning


def purpose_in_short(model: PrivateRegressor) -> str:  # noqa: ARG001 -- as of others
    """Say the same in a sentence."""
    return (
        f"The {CONFIDENCE} intervals are for the population's bounded-influence regression, "
        "columns clipped and very large errors cut: they cover sampling and noise, and assume "
        "effects of the usual size where noise hides them; the coefficients are pulled towards 0."
    )


def withheld_in_words(model: PrivateRegressor) -> str:
    """Say why intervals are withheld."""
    if model.privacy_.unit.max_rows > 1:
        return (
            "No intervals are given where several rows of a unit count in full: they are not "
            "independent of each other, and how alike they are is not known."
        )
    return (
        f"No interval is given where more than {100 * MOST_CLIPPED:.0f} % of the column's values "
        "seem to have been clipped, or of those that differ from its most frequent value, where "
        "the column cannot be told apart from others or from noise, or where the interval would be "
        "too wide to say anything."
    )


def marked(model: PrivateRegressor) -> NDArray[np.bool_]:
    """Tell which columns, the target last, were clipped in more than a few rows."""
    shares = _shares(model)
    if shares is None:
        return np.zeros(len(model.scaling_.names), dtype=np.bool_)
    return shares > _STARRED


def clipped_in_words(model: PrivateRegressor, used: NDArray[np.bool_]) -> tuple[str, ...]:
    """Say how many rows were clipped where it matters: in the features used, and in the target."""
    shares, starred = _shares(model), marked(model)
    if shares is None:
        return ()
    words = []
    found = shares[:-1][starred[:-1] & used]
    if found.size == 1:
        words.append(
            f"* Up to {_percent(found[0])} of this column's values may have been clipped: the "
            "coefficient is about the clipped column."
        )
    elif found.size:
        words.append(
            f"* Up to {_percent(found.max())} of the values may have been clipped in these "
            "columns: the coefficients are about the clipped columns."
        )
    if starred[-1]:
        words.append(
            f"Up to {_percent(shares[-1])} of the target's values may have been clipped: the model "
            "is about the clipped target."
        )
    return tuple(words)


def weights_in_words(model: PrivateRegressor) -> tuple[str, ...]:
    """Say which rows have less weight, if any can."""
    norm = getattr(model, "weight_norm_", math.inf)
    if not math.isfinite(norm):
        return ()
    distance = math.sqrt(max(norm**2 - 1.0, 0.0))
    words = (
        "A row has less weight in training where its Mahalanobis distance from the centre is above "
        f"{number(distance)}: {number(norm**2)} over 1 and that distance squared."
    )
    return (words,)


def clipped_shares(model: PrivateRegressor) -> tuple[str, ...]:
    """Return for each column, the target last, at most which share of its rows was clipped."""
    shares = _shares(model)
    return () if shares is None else tuple(map(_percent, shares.tolist()))


def _percent(share: float) -> str:
    """Return a share rounded up, as it stands for "at most"."""
    return f"{math.ceil(100.0 * share - 1e-9)} %"


def target_limits(model: PrivateRegressor) -> tuple[float, float]:
    """Return where the target was clipped in training, which is not where predictions are."""
    center, scale = float(model.scaling_.center[-1]), float(model.scaling_.scale[-1])
    return center - TARGET_LIMIT * scale, center + TARGET_LIMIT * scale


def about_errors(model: PrivateRegressor) -> str:
    """Say of what R2 and the typical error are."""
    most = LARGEST_ERROR * float(model.scaling_.scale[-1])
    return (
        "The estimates are of the training data as clipped, and their intervals cover the noise "
        f"alone; an error above {LARGEST_ERROR:g} scales of the target, {number(most)}, counts as "
        "that much."
    )

"""What is said of a model of two classes alone: odds ratios, base rate, how well it tells apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nolook.algorithms.glm.steps import HIDDEN_EFFECT
from nolook.estimators.catalogue import CLASSIFIERS, name_of
from nolook.report.findings import Name, Section, Table
from nolook.report.linear_words import HIDDEN
from nolook.report.wording import CONFIDENCE, NOT_KNOWN, Ends, estimated, number

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateRegressor

__all__ = [
    "class_cards",
    "class_fit",
    "classifies",
    "odds_ratio",
    "purpose",
    "purpose_in_short",
    "without_evidence",
]

_LARGEST = 700.0  # whose exponential is a double
_LEANING = (
    "The coefficients are pulled towards 0 where noise hides the answer, so the truth is more "
    "often farther from 0 than they are."
)


def classifies(model: PrivateRegressor) -> bool:
    """Tell whether a model, perhaps a part of a pipeline, is of two classes."""
    return name_of(model) in CLASSIFIERS


def purpose(model: PrivateRegressor) -> tuple[str, ...]:
    """Say what the intervals are for, and to which side the coefficients lean."""
    meaning = (
        f"The {CONFIDENCE} intervals are for the logistic regression of the population that the "
        f"{model.privacy_.unit.protected}s were drawn from: columns clipped to the ranges below, "
        "long rows with less weight. They cover sampling and privacy noise. Of what noise hides "
        f"they assume effects of a standard deviation of about {HIDDEN_EFFECT:g} times that of the "
        "rows' log-odds, for one scale of a column."
    )
    return meaning, _LEANING


def purpose_in_short(model: PrivateRegressor) -> str:  # noqa: ARG001 -- as of others
    """Say the same in a sentence."""
    return (
        f"The {CONFIDENCE} intervals are for the population's logistic regression, columns clipped "
        "and long rows with less weight: they cover sampling and noise, and assume effects of the "
        "usual size where noise hides them; the coefficients are pulled towards 0."
    )


def odds_ratio(coefficient: float, ends: Ends | None) -> str:
    """Return what a unit of a column multiplies the odds by, and its interval if there is one."""
    ratios = None if ends is None else (_exponential(ends[0]), _exponential(ends[1]))
    value, between = estimated(_exponential(coefficient), ratios, "")
    return f"{value} ({between})" if between else value


def _exponential(log_odds: float) -> float:
    return math.exp(min(log_odds, _LARGEST))


def class_cards(model: Any) -> tuple[tuple[str, str, str], ...]:  # noqa: ANN401
    """Return what a classifier is judged by first."""
    return (
        ("Base rate", *estimated(model.base_rate_, model.base_rate_interval_)),
        _card("Telling the classes apart", "AUC", model.auc_, model.auc_interval_),
        _card("Log loss explained", "pseudo-R²", model.pseudo_r2_, model.pseudo_r2_interval_),
    )


def _card(head: str, short: str, value: float | None, ends: Any) -> tuple[str, str, str]:  # noqa: ANN401
    if value is None:
        return head, "unknown", HIDDEN
    shown, between = estimated(value, ends)
    return head, f"{short} {shown}", between


def class_fit(model: Any) -> Section:  # noqa: ANN401
    """Say how well a classifier does on the training rows."""
    measures = (
        ("Base rate, share of the positive class", model.base_rate_, model.base_rate_interval_),
        ("AUC, area under the ROC curve", model.auc_, model.auc_interval_),
        ("McFadden's pseudo-R²", model.pseudo_r2_, model.pseudo_r2_interval_),
    )
    rows = tuple(
        (name, HIDDEN, NOT_KNOWN) if value is None else (name, *estimated(value, ends, NOT_KNOWN))
        for name, value, ends in measures
    )
    table = Table(
        "Measured on the training data, by noisy counts",
        ("Measure", "Estimate", f"{CONFIDENCE} interval"),
        rows,
    )
    about = (
        "AUC and pseudo-R² are of the data that the model was fitted to, which flatters it a "
        "little, with log-odds in 16 bins; their intervals cover the noise alone. The base rate's "
        "covers sampling too."
    )
    limits = (
        " Predictions are the probability that ", Name(model.scaling_.names[-1]), " is positive."
    )  # fmt: skip
    return Section(
        "fit",
        "How well it fits",
        tables=(table,),
        notes=((about, *limits),),
        printed=(table, about),
    )


def without_evidence(model: Any) -> str:  # noqa: ANN401
    """Say of a model that did not stand out from the noise what its predictions are."""
    return (
        "What the columns tell of the target did not stand out from the noise, so nothing is said "
        "of any of them. Predictions are pulled far towards the base rate, "
        f"{number(model.base_rate_)}, and may be no better than it. The budget is spent in full."
    )

"""Result of a cross-validation, computed from the releases of its folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from attrs import evolve, frozen
from sklearn.base import is_classifier

from nolook.algorithms.cross_validation import (
    Estimate,
    HeldOut,
    mean_of,
    shown,
)
from nolook.algorithms.evaluation import Judged
from nolook.algorithms.scaling import NoisyCount
from nolook.estimators.catalogue import called
from nolook.estimators.result import Measure, Result
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.tables import Table
from nolook.tables.source import as_text

__all__ = ["CrossValidation", "Found", "cross_validated"]


#: What one evaluation gives: squared errors, or scores of two classes.
Found: TypeAlias = HeldOut | Judged


@frozen(repr=False)
class CrossValidation(Result):
    """Cross-validation of a model: one release, one guarantee.

    Returned by :func:`nolook.cross_validate`.

    Parameters
    ----------
    measure : {"R2", "AUC"}
        The score: R2 for numbers, the area under the ROC curve for two classes.
    fitted : tuple of bool
        Whether the fit of each fold passed its private test, if it has one.
    estimates : tuple of Estimate or None
        The score of each fold, however wide its interval; None if there is none.
    rows : NoisyCount or None
        Private number of rows in all folds, or of units if these are protected, and of those left
        out because of missing or undeclared values; None if a fit failed.
    models : tuple of fitted estimators or None
        The model of each fold, fitted to the rows outside it; its `privacy_` is its own cost. Files
        do not contain them: save those that you want to keep.
    privacy : PrivacyGuarantee
        Of everything here together.
    method, target : str
        Names of the model and of the target.
    read_options : dict
        How the table was read.

    See Also
    --------
    cross_validate : Releases the scores.
    Evaluation : One model, evaluated on given rows.
    """

    kind = "cross-validation"

    measure: Literal["R2", "AUC"]
    fitted: tuple[bool, ...]
    estimates: tuple[Estimate | None, ...]
    rows: NoisyCount | None
    models: tuple[Any, ...]
    privacy: PrivacyGuarantee
    method: str
    target: str
    read_options: dict[str, Any]

    @property
    def scores(self) -> tuple[Estimate | None, ...]:
        """The score of each fold: `value`, its standard `error` and 95 % `interval`.

        None if it is not distinguishable from noise, or the private test of the fit failed.
        """
        return tuple(map(shown, self.estimates))

    @property
    def mean(self) -> Estimate | None:
        """The mean over folds; None if a fold has none, or it is not distinguishable from noise."""
        return shown(mean_of(self.estimates))

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The mean over folds."""
        mean = self.mean
        known = (mean.value, mean.interval) if mean else (None, None)
        return (Measure(self.measure.lower(), *known),)

    def _columns(self) -> dict[str, Any]:
        scores = [*self.scores, self.mean]
        ends = np.array([(np.nan, np.nan) if one is None else one.interval for one in scores])
        return {
            "fold": [*(str(place) for place in range(1, len(scores))), "mean"],
            self.measure: [np.nan if one is None else one.value for one in scores],
            "low": ends[:, 0],
            "high": ends[:, 1],
        }


def cross_validated(
    model: Any,  # noqa: ANN401
    table: Table,
    released: list[tuple[Any, Found | None]],
    guarantee: PrivacyGuarantee,
) -> CrossValidation:
    """Return scores and models; post-processing."""
    classifies, unit = is_classifier(model), guarantee.unit
    positive = {"positive": as_text(model.classes_[-1].item())} if classifies else {}
    models, known = zip(*released, strict=True)
    for fitted in filter(None, models):
        if not hasattr(model, "feature_names_in_"):
            del fitted.feature_names_in_  # the table's own names for an array's columns
        if classifies:  # they were 0 and 1 in the table
            fitted.classes_ = fitted.regression.classes_ = model.classes_
    counts = [each.counted for each in known if each is not None]
    return CrossValidation(
        "AUC" if classifies else "R2",
        tuple(one is not None for one in models),
        tuple(None if each is None else each.score(unit.max_rows) for each in known),
        _all_rows(counts) if len(counts) == len(released) else None,
        models,
        guarantee,
        called(model),
        str(table.target_name),
        table.read_options() | positive,
    )


def _all_rows(counts: Sequence[NoisyCount]) -> NoisyCount:
    """Return the rows of all folds; those left out belong to the first."""
    rows, error = math.fsum(one.value for one in counts), math.hypot(*(one.error for one in counts))
    return evolve(counts[0], value=max(rows, 1.0), error=error)

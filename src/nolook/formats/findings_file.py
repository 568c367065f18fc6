"""Private quantiles, ROC curves, tests of calibration and evaluations as JSON files.

Each says what was released, what it cost and how the table was read.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import asdict as asdict_of

from nolook.estimators._scores import Scored
from nolook.formats.distribution_file import grid_content
from nolook.formats.files import write_release
from nolook.formats.parts import guarantee_content, recipe_content, rows_content

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from nolook.algorithms.grids import LinearGrid, LogGrid
    from nolook.algorithms.roc_threshold import Classified
    from nolook.estimators.calibration import HosmerLemeshow
    from nolook.estimators.evaluation import Evaluation
    from nolook.estimators.quantiles import Quantiles
    from nolook.estimators.roc import ROCCurve

__all__ = ["Scored", "write_calibration", "write_evaluation", "write_quantiles", "write_roc"]

_TABLE = (
    "borders",
    "positives",
    "negatives",
    "expected_positives",
    "expected_negatives",
    "observed_error",
    "expected_positives_error",
    "expected_negatives_error",
)


def write_quantiles(
    found: Quantiles,
    path: Path,
    *,
    grids: Mapping[str, LinearGrid | LogGrid],
    recipe: dict[str, Any],
) -> None:
    """Write quantiles."""
    document = {
        "columns": found.names,
        "grids": {name: grid_content(grids.get(name)) for name in found.names},
        "shares": found.shares,
        "quantiles": found.values,
        "standard_errors": found.errors,
        "recipe": recipe_content(recipe),
        **guarantee_content(found.privacy),
    }
    write_release(path, "nolook-quantiles", 1, document)


def write_roc(
    curve: ROCCurve, path: Path, *, scored: Scored, thresholds: Sequence[float] = ()
) -> None:
    """Write a ROC curve, only where it changes, and how rows are classified at some thresholds.

    Null stands for an infinite threshold, and for what is not known.
    """
    document = {
        **scored.content(),
        **_curve(curve, thresholds),
        "caution": curve.caution,
        "recipe": recipe_content(curve.recipe_),
        **guarantee_content(curve.privacy_),
    }
    write_release(path, "nolook-roc", 1, document)


def _curve(curve: ROCCurve, thresholds: Sequence[float]) -> dict[str, Any]:
    rates = np.stack([curve.fpr_, curve.tpr_])
    changed = np.append(True, (np.diff(rates) != 0).any(axis=0))
    places = curve.thresholds_[changed].tolist()
    precisions = ("recall", "precision_low", "precision_high")
    return {
        "grid": grid_content(curve.grid_),
        "smoothing": curve.smoothing,
        "auc": curve.auc_,
        "auc_interval": curve.auc_interval_,
        "average_precision": curve.average_precision_,
        "average_precision_interval": curve.average_precision_interval_,
        "base_rate": curve.base_rate_,
        "base_rate_interval": curve.base_rate_interval_,
        "n_positive": curve.n_positive_,
        "n_negative": curve.n_negative_,
        "thresholds": [t if np.isfinite(t) else None for t in places],
        "fpr": curve.fpr_[changed],
        "tpr": curve.tpr_[changed],
        "precision": curve.precision_recall()[0][::-1][changed],
        "band": dict(zip(("fpr", "tpr_low", "tpr_high"), curve.band_, strict=True)),
        "precision_band": dict(zip(precisions, curve.precision_band_, strict=True)),
        "classified": [_classified(curve.at(each), each) for each in thresholds],
    }


def _classified(found: Classified, asked: float) -> dict[str, Any]:
    used = found.threshold if np.isfinite(found.threshold) else None
    return {"above": asked, **asdict_of(found), "threshold": used}


def write_calibration(test: HosmerLemeshow, path: Path, *, scored: Scored) -> None:
    """Write the groups of a calibration and the test."""
    document = {
        **scored.content(),
        **_calibration(test),
        **rows_content(test),
        "caution": test.caution,
        "recipe": recipe_content(test.recipe_),
        **guarantee_content(test.privacy_),
    }
    write_release(path, "nolook-calibration", 1, document)


def _calibration(test: HosmerLemeshow) -> dict[str, Any]:
    return {
        "statistic": test.statistic_,
        "p_value": test.p_value_,
        "degrees_of_freedom": test.degrees_of_freedom_,
        "table": {name: getattr(test.table_, name) for name in _TABLE},
        "curve": asdict(test.calibration_curve()),
    }


def write_evaluation(
    found: Evaluation, path: Path, *, scored: Scored, thresholds: Sequence[float] = ()
) -> None:
    """Write what was found of a model, whose file `scored` names as the score.

    Null stands for the calibration of a model that gives no probabilities.
    """
    document = {
        "model": scored.score,
        "label": scored.target,
        "positive": scored.positive,
        "other_rows": found.other_rows,
        "curve": _curve(found.roc, thresholds),
        "calibration": None if found.calibration is None else _calibration(found.calibration),
        "n_rows": found.n_rows,
        "n_rows_error": found.n_rows_error,
        "cautions": found.cautions,
        "recipe": recipe_content(found.roc.recipe_),
        **guarantee_content(found.privacy),
    }
    write_release(path, "nolook-evaluation", 1, document)

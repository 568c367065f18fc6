"""Private quantiles, ROC curves and tests of calibration as JSON files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nolook._version import __version__
from nolook.report._model_content import guarantee_content
from nolook.report.distribution_file import grid_content
from nolook.report.files import write_json

if TYPE_CHECKING:
    from nolook.algorithms.grids import LinearGrid, LogGrid
    from nolook.estimators.calibration import HosmerLemeshow
    from nolook.estimators.quantiles import Quantiles
    from nolook.estimators.roc import ROCCurve
    from nolook.report.score_findings import Scored

__all__ = ["write_calibration", "write_quantiles", "write_roc"]

_SCHEMA_VERSION = 1
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
_CURVE = ("prob_true", "prob_pred", "counts", "errors")


def write_quantiles(
    found: Quantiles,
    path: Path,
    *,
    grids: Mapping[str, LinearGrid | LogGrid],
    recipe: dict[str, Any],
) -> None:
    """Write quantiles, what they cost and how the table was read.

    The file appears whole or not at all; an older one of the same name is replaced.
    """
    document = {
        "columns": list(found.names),
        "grids": {name: grid_content(grids.get(name)) for name in found.names},
        "shares": found.shares.tolist(),
        "quantiles": found.values.tolist(),
        "standard_errors": found.errors.tolist(),
        "recipe": recipe,
        **guarantee_content(found.privacy),
    }
    write_json(path, _head("nolook-quantiles") | document)


def write_roc(curve: ROCCurve, path: Path, *, scored: Scored) -> None:
    """Write a ROC curve, what it cost and how the table was read.

    The file appears whole or not at all; an older one of the same name is replaced.
    """
    # Thresholds at which nothing changes say nothing; null stands for an infinite one.
    rates = np.stack([curve.fpr_, curve.tpr_])
    changed = np.append(True, (np.diff(rates) != 0).any(axis=0))
    thresholds = [float(t) if np.isfinite(t) else None for t in curve.thresholds_[changed]]
    document = {
        **asdict(scored),
        "grid": grid_content(curve.grid_),
        "smoothing": curve.smoothing,
        "auc": curve.auc_,
        "auc_interval": curve.auc_interval_.tolist(),
        "n_positive": curve.n_positive_,
        "n_negative": curve.n_negative_,
        "thresholds": thresholds,
        "fpr": curve.fpr_[changed].tolist(),
        "tpr": curve.tpr_[changed].tolist(),
        "band": dict(zip(("fpr", "tpr_low", "tpr_high"), curve.band_.tolist(), strict=True)),
        "caution": curve.caution,
        "recipe": curve.recipe_,
        **guarantee_content(curve.privacy_),
    }
    write_json(path, _head("nolook-roc") | document)


def write_calibration(test: HosmerLemeshow, path: Path, *, scored: Scored) -> None:
    """Write the groups of a calibration, the test, what it cost and how the table was read.

    The file appears whole or not at all; an older one of the same name is replaced.
    """
    table, curve = test.table_, test.calibration_curve()
    document = {
        **asdict(scored),
        "statistic": test.statistic_,
        "p_value": test.p_value_,
        "degrees_of_freedom": test.degrees_of_freedom_,
        "table": {name: getattr(table, name).tolist() for name in _TABLE},
        "curve": {name: getattr(curve, name).tolist() for name in _CURVE},
        "caution": test.caution,
        "recipe": test.recipe_,
        **guarantee_content(test.privacy_),
    }
    write_json(path, _head("nolook-calibration") | document)


def _head(form: str) -> dict[str, Any]:
    return {
        "format": form,
        "schema_version": _SCHEMA_VERSION,
        "nolook_version": __version__,
    }

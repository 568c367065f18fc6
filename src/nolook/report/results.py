"""How each kind of release shows itself: the one table behind `summary`, `to_frame` and the rest.

A new kind of release is a row in `_KINDS`. `nolook.estimators.result` finds this module by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nolook._validation import check_path
from nolook.errors import ParameterError
from nolook.estimators._selector import PrivateSelector, offered_columns
from nolook.estimators.base import PrivateRegressor
from nolook.estimators.calibration import CalibrationCurve, HosmerLemeshow
from nolook.estimators.ecdf import ECDF
from nolook.estimators.evaluation import Evaluation
from nolook.estimators.folds import CrossValidation
from nolook.estimators.logistic import LogisticRegression
from nolook.estimators.quantiles import Quantiles
from nolook.estimators.roc import ROCCurve
from nolook.estimators.scaler import QuantileScaler
from nolook.report import frames
from nolook.report.distribution_findings import ecdf_findings, quantiles_findings
from nolook.report.evaluation_findings import evaluation_findings
from nolook.report.findings import Findings
from nolook.report.folds_findings import folds_findings
from nolook.report.ledger_status import UNKNOWN, Standing
from nolook.report.model_findings import model_findings
from nolook.report.page import write_page
from nolook.report.plots import draw_on
from nolook.report.scale_findings import scale_findings
from nolook.report.score_findings import calibration_findings, calibration_picture, roc_findings
from nolook.report.selection_findings import selection_findings
from nolook.report.summary import summary_of
from nolook.report.terminal import told

if TYPE_CHECKING:
    import pandas as pd

    from nolook.estimators.result import Summary
    from nolook.privacy.ledger import Ledger

__all__ = ["MODELS", "findings_of", "plot", "report", "summary", "to_frame"]

_EXAMPLE = "report.html"
#: Classes of what has coefficients.
MODELS = (PrivateRegressor, LogisticRegression)


def findings_of(release: object) -> Findings:
    """Return the content of a release's report."""
    return _shown_by(release)[0](_named(release))


def summary(release: object) -> Summary:
    """Return what a release says on one screen."""
    return summary_of(told(findings_of(release)))


def to_frame(release: object) -> pd.DataFrame:
    """Return a release's main table."""
    made = _shown_by(release)[1](_named(release))
    guarantee = findings_of(release).origin.guarantee
    made.attrs = {"table": guarantee.table, "where": guarantee.where}
    return made


def plot(release: object, ax: Any = None) -> Any:  # noqa: ANN401 -- matplotlib's own types
    """Draw the first picture of a release's report."""
    if isinstance(release, CalibrationCurve):
        return draw_on(calibration_picture(release, "probabilities"), ax)
    figures = [figure for section in findings_of(release).sections for figure in section.figures]
    if not figures:
        raise ParameterError(
            f"plot has nothing to draw of this {type(release).__name__} (summary() and to_frame() "
            "show it)"
        )
    return draw_on(figures[0].picture, ax)


def report(
    release: object,
    path: str | os.PathLike[str],
    ledger: Ledger | None = None,
) -> None:
    """Write the page of a release."""
    place, found = check_path(path, _EXAMPLE), findings_of(release)
    standing = UNKNOWN if ledger is None else Standing.of(ledger)
    write_page(found, place, standing)


def _shown_by(release: object) -> tuple[_MakeFindings, _MakeFrame]:
    if isinstance(release, BaseEstimator):
        check_is_fitted(release)
    return next((findings, frame) for kind, findings, frame in _KINDS if isinstance(release, kind))


def _named(release: Any) -> Any:  # noqa: ANN401
    """Return a release whose columns have names: those of arrays are x0, x1 and so on."""
    if not isinstance(release, PrivateSelector | QuantileScaler):
        return release
    if hasattr(release, "feature_names_in_"):
        return release
    named = copy(release)
    named.feature_names_in_ = np.array(offered_columns(release), dtype=object)
    return named


_MakeFindings: TypeAlias = Callable[[Any], Findings]
_MakeFrame: TypeAlias = "Callable[[Any], pd.DataFrame]"
_KINDS: tuple[tuple[type | tuple[type, ...], _MakeFindings, _MakeFrame], ...] = (
    (MODELS, model_findings, frames.coefficient_frame),
    (
        PrivateSelector,
        lambda one: selection_findings(one, one.target_name_),
        frames.selection_frame,
    ),
    (QuantileScaler, scale_findings, frames.scale_frame),
    (ECDF, lambda one: ecdf_findings(one, one.recipe_["features"][0]), frames.distribution_frame),
    (ROCCurve, lambda one: roc_findings(one, one.scored_, one.asked_), frames.curve_frame),
    (HosmerLemeshow, lambda one: calibration_findings(one, one.scored_), frames.calibration_frame),
    (
        Quantiles,
        lambda one: quantiles_findings(one, one.recipe, one.grids),
        frames.quantile_frame,
    ),
    (
        Evaluation,
        lambda one: evaluation_findings(one, one.scored, one.model, one.roc.asked_),
        frames.evaluation_frame,
    ),
    (CrossValidation, folds_findings, frames.folds_frame),
)

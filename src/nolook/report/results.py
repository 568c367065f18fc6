"""How each kind of release shows itself: the one table behind `summary`, `to_frame` and the rest.

A new kind of release is a row in `_KINDS`. `nolook.estimators.result` finds this module by name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from nolook.report import frames, plots
from nolook.report.distribution_findings import ecdf_findings, quantiles_findings
from nolook.report.evaluation_findings import evaluation_findings
from nolook.report.findings import Findings
from nolook.report.folds_findings import folds_findings
from nolook.report.model_findings import model_findings
from nolook.report.page import write_page
from nolook.report.scale_findings import scale_findings
from nolook.report.score_findings import calibration_findings, roc_findings
from nolook.report.selection_findings import selection_findings
from nolook.report.standing import UNKNOWN, Standing
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
#: What a page calls a table that nobody named.
_NAMELESS = "without a name"


def _nothing_to_draw(release: object, _: Any) -> Any:  # noqa: ANN401
    raise ParameterError(
        f"plot has nothing to draw of a {type(release).__name__}; expected another release "
        "(to_frame() and summary() show this one)"
    )


@dataclass(frozen=True, slots=True)
class _Kind:
    """How one kind of release becomes the content of a report, a frame and a picture."""

    findings: Callable[[Any], Findings]
    frame: Callable[[Any], pd.DataFrame]
    draw: Callable[[Any, Any], Any] = _nothing_to_draw


def findings_of(release: object) -> Findings:
    """Return the content of a release's report."""
    return _kind(release).findings(_named(release))


def summary(release: object) -> Summary:
    """Return what a release says on one screen."""
    return summary_of(told(findings_of(release)))


def to_frame(release: object) -> pd.DataFrame:
    """Return a release's main table."""
    return _kind(release).frame(_named(release))


def plot(release: object, ax: Any = None) -> Any:  # noqa: ANN401 -- matplotlib's own types
    """Draw a release."""
    if isinstance(release, CalibrationCurve):
        return plots.plot_groups(release, ax)
    return _kind(release).draw(_named(release), ax)


def report(
    release: object,
    path: str | os.PathLike[str],
    *,
    table: str = "",
    ledger: Ledger | None = None,
) -> None:
    """Write the page of a release."""
    place, found = check_path(path, _EXAMPLE), findings_of(release)
    standing = UNKNOWN if ledger is None else Standing.of(ledger)
    write_page(found, place, table=table or _NAMELESS, standing=standing)


def _kind(release: object) -> _Kind:
    if isinstance(release, BaseEstimator):
        check_is_fitted(release)
    return next(shown for kind, shown in _KINDS if isinstance(release, kind))


def _named(release: Any) -> Any:  # noqa: ANN401
    """Return a release whose columns have names: those of arrays are x0, x1 and so on."""
    if not isinstance(release, PrivateSelector | QuantileScaler):
        return release
    if hasattr(release, "feature_names_in_"):
        return release
    named = copy(release)
    named.feature_names_in_ = np.array(offered_columns(release), dtype=object)
    return named


_KINDS: tuple[tuple[type | tuple[type, ...], _Kind], ...] = (
    (MODELS, _Kind(model_findings, frames.coefficient_frame, plots.plot_coefficients)),
    (
        PrivateSelector,
        _Kind(lambda one: selection_findings(one, one.target_name_), frames.selection_frame),
    ),
    (QuantileScaler, _Kind(scale_findings, frames.scale_frame)),
    (
        ECDF,
        _Kind(
            lambda one: ecdf_findings(one, one.recipe_["features"][0]),
            frames.distribution_frame,
            plots.plot_distribution,
        ),
    ),
    (
        ROCCurve,
        _Kind(
            lambda one: roc_findings(one, one.scored_, one.asked_),
            frames.curve_frame,
            plots.plot_curve,
        ),
    ),
    (
        HosmerLemeshow,
        _Kind(
            lambda one: calibration_findings(one, one.scored_),
            frames.calibration_frame,
            plots.plot_calibration,
        ),
    ),
    (
        Quantiles,
        _Kind(
            lambda one: quantiles_findings(one, one.recipe, one.grids),
            frames.quantile_frame,
            plots.plot_quantiles,
        ),
    ),
    (
        Evaluation,
        _Kind(
            lambda one: evaluation_findings(one, one.scored, one.model, one.roc.asked_),
            frames.evaluation_frame,
            plots.plot_evaluation,
        ),
    ),
    (CrossValidation, _Kind(folds_findings, frames.folds_frame, plots.plot_folds)),
)

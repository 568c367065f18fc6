"""What a file says of a ROC curve: what was released, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import asdict

from nolook.algorithms.roc_curve import ClassScores
from nolook.estimators.ecdf import check_smoothing
from nolook.estimators.roc import ROCCurve
from nolook.formats._calibration_content import label_content
from nolook.formats._model_content import Interval
from nolook.formats._steps import Counted, Steps, Vector, counted_content, steps_content
from nolook.formats.distribution_file import Grid, grid_content
from nolook.formats.strict import Broken, Content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nolook.algorithms.roc_threshold import Classified
    from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = ["Curve", "curve_content"]

_BAND = ("fpr", "tpr_low", "tpr_high")
_PRECISION_BAND = ("recall", "precision_low", "precision_high")


class _Scores(Content, frozen=True):
    """The private scores of one class, before smoothing too."""

    counted: Counted
    noisy: Steps

    def scores(self, points: Vector) -> ClassScores:
        """Return them on these thresholds."""
        found = self.counted.distribution(points)
        noisy = self.noisy.numbers(len(points))
        return ClassScores(points, found.counts, found.rows, found.noise, noisy)


class _Released(Content, frozen=True):
    """The scores of both classes."""

    positive: _Scores
    negative: _Scores


class Curve(Content, frozen=True):
    """A curve. Intervals and bands were simulated once, and are kept; all else must follow."""

    grid: Grid
    grid_found: bool
    smoothing: str | None
    pos_label: float | str
    released: _Released
    auc: float
    auc_interval: Interval
    average_precision: float
    average_precision_interval: Interval
    base_rate: float
    base_rate_interval: Interval
    n_positive: float
    n_negative: float
    thresholds: list[float | None]
    fpr: list[float]
    tpr: list[float]
    precision: list[float]
    band: dict[str, list[float]]
    precision_band: dict[str, list[float]]
    classified: list[dict[str, Any]]

    def estimator(self, privacy: PrivacyGuarantee, recipe: dict[str, Any]) -> ROCCurve:
        """Return the fitted curve."""
        grid = self.grid.grid()
        points = grid.points()
        scores = (self.released.positive.scores(points), self.released.negative.scores(points))
        check_smoothing(self.smoothing)
        given = None if self.grid_found else grid
        curve = ROCCurve(privacy.epsilon, given, self.pos_label, privacy.relation, self.smoothing)
        curve.keep_release((grid, *scores), privacy=privacy, recipe=recipe)
        for key in ("auc_interval", "average_precision_interval"):
            ends = getattr(self, key)
            setattr(curve, f"{key}_", np.array([ends.low, ends.high]))
        curve.band_ = _stacked(self.band, _BAND, curve.band_.shape)
        shape = curve.precision_band_.shape
        curve.precision_band_ = _stacked(self.precision_band, _PRECISION_BAND, shape)
        return curve

    def asked(self) -> tuple[float, ...]:
        """Return the thresholds at which rows were classified."""
        asked = [each.get("above") for each in self.classified]
        if not all(isinstance(each, float | int) for each in asked):
            raise Broken("expected classified to say above which number")
        return tuple(float(each) for each in asked if each is not None)


def _stacked(
    band: dict[str, list[float]], names: tuple[str, ...], shape: tuple[int, ...]
) -> Vector:
    if tuple(band) != names or any(len(band[name]) != shape[1] for name in names):
        raise Broken(f"expected a band of {', '.join(names)}, {shape[1]} numbers each")
    return np.array([band[name] for name in names])


def curve_content(curve: ROCCurve, thresholds: Sequence[float]) -> dict[str, Any]:
    """Return what a file says of a curve, and of rows at some thresholds."""
    rates = np.stack([curve.fpr_, curve.tpr_])
    changed = np.append(True, (np.diff(rates) != 0).any(axis=0))
    places = curve.thresholds_[changed].tolist()
    return {
        "grid": grid_content(curve.grid_),
        "grid_found": curve.grid is None,
        "smoothing": curve.smoothing,
        "pos_label": label_content(curve.pos_label),
        "released": {
            "positive": _scores_content(curve.positive_),
            "negative": _scores_content(curve.negative_),
        },
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
        "band": dict(zip(_BAND, curve.band_, strict=True)),
        "precision_band": dict(zip(_PRECISION_BAND, curve.precision_band_, strict=True)),
        "classified": [_classified(curve.at(each), each) for each in thresholds],
    }


def _scores_content(scores: ClassScores) -> dict[str, Any]:
    return {"counted": counted_content(scores), "noisy": steps_content(scores.noisy)}


def _classified(found: Classified, asked: float) -> dict[str, Any]:
    used = found.threshold if np.isfinite(found.threshold) else None
    return {"above": asked, **asdict(found), "threshold": used}

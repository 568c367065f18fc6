"""Private ROC curves of scores anyone computed."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nolook._arrays import Vector
from nolook._validation import check_epsilon
from nolook.algorithms.evaluation import Judged, scores_release
from nolook.algorithms.grids import LinearGrid, LogGrid
from nolook.algorithms.roc_curve import RocCurve
from nolook.algorithms.roc_threshold import Classified, classified
from nolook.errors import ParameterError
from nolook.estimators._checks import check_grid, check_relation
from nolook.estimators._parameters import fitted
from nolook.estimators._scores import ScoredEstimator, check_pos_label
from nolook.estimators.result import any_share
from nolook.privacy.guarantee import Budget
from nolook.privacy.release import Plan

__all__ = ["ROCCurve", "check_threshold"]


class ROCCurve(ScoredEstimator):
    """The ROC curve of scores, released once and then read at no further cost.

    Estimates the true positive rate ``P(score > t | positive)`` and the false positive rate
    ``P(score > t | negative)`` at each threshold t, and the area ``P(s_1 > s_0) + P(s_1 = s_0) /
    2`` for the scores s_1 and s_0 of a random positive and a random negative row.

    The rows of each class are counted in nested blocks of a public grid of thresholds, and the
    counts are released with noise (after Barczewski, Mawass and Ramon 2024, section 5.1). A row is
    classified as positive if its score is above the threshold. Intervals cover noise and sampling.
    Proof: ``algorithms/roc.md``.

    The scores must come from a model that was NOT fitted on these rows without privacy: such a
    model moves every score when one row changes, which this guarantee does not cover. Use a model
    fitted on other rows, or a private one, and charge both to one ledger.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row (a score and its
    target) is added or removed (or replaced, with ``relation="replace"``; the number of all rows is
    then public). If the table names a unit, that holds for one unit with all its rows, of one class
    or both (and the number of units).

    Parameters
    ----------
    grid : LinearGrid, LogGrid or None, default=None
        Public thresholds, for example ``LinearGrid(1/256, 1, 1/256)`` for probabilities. Scores
        outside count in the end cells; scores in one cell count as equal. None spends 15 % of
        epsilon on a range of the scores and places 2^5 to 2^12 thresholds in it, more for more
        rows; whole numbers for scores of an integer type.
    pos_label : number or str, default=1
        The target's value for the positive class; every other value is negative.
    relation : {"add-remove", "replace"}, default="add-remove"
        Which tables are neighbours. Replacing a row may change both classes, at twice the noise.
        "replace" refuses a table that may leave rows out, and several full rows of a unit, because
        the number of rows in use would not be public; a row without a target counts as negative.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_thresholds + 1,)
        Falling, from infinity to minus infinity.
    fpr_, tpr_ : ndarray of shape (n_thresholds + 1,)
        The shares of negative and of positive rows with a score above each threshold, from 0 to 1.
    auc_ : float
        The area under the curve by trapezoids; pairs within a cell count half.
    auc_interval_ : ndarray of shape (2,)
        95 % interval of `auc_` for noise, sampling and any order of different scores in one cell;
        from 0 to 1 if a class is not distinguishable from noise.
    auc_noise_interval_ : ndarray of shape (2,)
        95 % interval for the area of these rows on this grid, for the noise only.
    tied_ : float
        Share of the pairs of a positive and a negative row in one cell.
    average_precision_ : float
        Mean precision over the positive rows, as in ``sklearn.metrics.average_precision_score``.
    average_precision_interval_ : ndarray of shape (2,)
        95 % interval of it.
    base_rate_ : float
        Share of positives among all rows: the precision of guessing.
    base_rate_interval_ : ndarray of shape (2,)
        95 % interval of it.
    band_ : ndarray of shape (3, 201)
        False positive rates, and for each the ends of a 95 % interval of the true positive rate.
    precision_band_ : ndarray of shape (3, 201)
        Recalls (true positive rates), and for each the ends of a 95 % interval of the precision,
        assuming that rows between two thresholds are evenly mixed.
    grid_ : LinearGrid or LogGrid
        The thresholds used, given or found.
    n_positive_, n_negative_ : float
        The private number of rows of each class, at least 1.
    positive_, negative_ : PrivateDistribution
        The scores of each class.

    See Also
    --------
    evaluate : Curve and calibration of a model on given rows.
    HosmerLemeshow : Test of predicted probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> target = generator.random(50_000) < 0.3
    >>> scores = generator.normal(size=50_000) + target
    >>> curve = ROCCurve(epsilon=1.0).fit(scores, target)
    >>> bool(abs(curve.auc_ - 0.76) < 0.02)
    True
    """

    grid: LinearGrid | LogGrid | None = None
    pos_label: float | str = 1
    relation: str = "add-remove"

    #: The thresholds that a report shows.
    asked_: tuple[float, ...] = fitted(())

    kind = _ledger_label = "ROC curve"
    _measured = ("auc", "average_precision", "base_rate")

    questions = ("at", "threshold_at", "rate_at", "partial_auc", "precision_recall")

    def _columns(self) -> dict[str, Any]:
        places, *ends = self.band_
        rates = np.array([self.rate_at(places), *ends])
        rates[:, [any_share(each) for each in rates[1:].T]] = np.nan
        found = {"fpr": places, **dict(zip(("tpr", "low", "high"), rates, strict=True))}
        return found | {"threshold": [self.threshold_at(fpr=rate) for rate in places.tolist()]}

    def rate_at(self, fpr: Any) -> Any:  # noqa: ANN401 -- of the shape of `fpr`
        """Return ``P(score > t | positive)`` at the t where that of negative rows is `fpr`."""
        return np.interp(fpr, self.fpr_, self.tpr_)

    def plan(self) -> Plan[Any]:
        """Check the parameters; return what a fit will release and cost."""
        budget = Budget(check_epsilon(self.epsilon))
        relation = check_relation(self.relation)
        check_grid(self.grid)
        check_pos_label(self.pos_label)
        release = scores_release(budget.epsilon, relation, self.grid)
        return Plan.of(release, budget, self.random_state, relation=relation)

    def _store(self, released: Judged) -> None:
        curve = released.curve.sampled(self.privacy_.unit.max_rows)
        self.grid_, self._curve = released.grid, curve
        self.positive_, self.negative_ = curve.positive, curve.negative
        self.n_positive_, self.n_negative_ = curve.positive.rows, curve.negative.rows
        self.rows_ = curve.scores.counted
        self.thresholds_, (self.fpr_, self.tpr_) = curve.thresholds, curve.rates
        found = curve.intervals()
        measured = found.area, found.average_precision, found.base_rate
        self._keep_measures(dict(zip(self._measured, measured, strict=True)))
        self.auc_noise_interval_, self.tied_ = found.area_noise.ends, curve.tied
        self.band_, self.precision_band_ = found.band, found.precision_band

    def partial_auc(self, max_fpr: float, *, return_interval: bool = False) -> Any:  # noqa: ANN401
        """Return the area up to a false positive rate, standardised as in scikit-learn.

        Parameters
        ----------
        max_fpr : float
            Above 0, at most 1.
        return_interval : bool, default=False
            Whether to return a 95 % interval too.

        Returns
        -------
        area : float
            0.5 for guessing and 1 for a perfect score at any `max_fpr`, as from
            ``sklearn.metrics.roc_auc_score(..., max_fpr=max_fpr)``.
        interval : ndarray of shape (2,)
            Only with `return_interval`.
        """
        rate = _check_rate(max_fpr, "max_fpr")
        if rate == 0.0:
            raise ParameterError("max_fpr is 0; expected a number above 0, at most 1 (0.1)")
        found = self._fitted().partial_area(rate)
        return (found.value, found.ends) if return_interval else found.value

    def precision_recall(self) -> tuple[Vector, Vector, Vector]:
        """Return the precision-recall curve, in the order of scikit-learn.

        Returns
        -------
        precision, recall, thresholds : ndarray of shape (n_thresholds + 1,)
            The share of positives among the rows with a score above each threshold, and the share
            of the positive rows that these are; thresholds rise from minus infinity to infinity,
            above which there are no rows: precision 1 and recall 0.
        """
        curve = self._fitted()
        return curve.precision[::-1].copy(), self.tpr_[::-1].copy(), self.thresholds_[::-1].copy()

    def at(self, threshold: float) -> Classified:
        """Return the classification of rows if scores above a threshold are positive.

        Parameters
        ----------
        threshold : float
            The last of `thresholds_` not above it is used.

        Returns
        -------
        Classified
            The threshold used, the confusion matrix, sensitivity, specificity, predictive values,
            accuracy and F1, each with a 95 % interval (`value`, `low`, `high`). A rate is None if
            the number of rows it is a share of is not distinguishable from noise.
        """
        return classified(self._fitted(), check_threshold(threshold))

    def threshold_at(self, *, fpr: float | None = None, tpr: float | None = None) -> float:
        """Return the threshold for a given rate; scores above it are positive.

        Parameters
        ----------
        fpr : float, optional
            From 0 to 1: the smallest threshold with at most this false positive rate.
        tpr : float, optional
            From 0 to 1: the largest threshold with at least this true positive rate. Give either.

        Returns
        -------
        float
            One of `thresholds_`; infinite if no score, or every score, is to be called positive.
        """
        if (fpr is None) == (tpr is None):
            raise ParameterError("fpr and tpr are both given or both None (give one of them)")
        check_is_fitted(self)
        if fpr is not None:
            place = np.searchsorted(self.fpr_, _check_rate(fpr, "fpr"), side="right") - 1
        else:
            place = np.searchsorted(self.tpr_, _check_rate(tpr, "tpr"), side="left")
        return float(self.thresholds_[place])

    def _fitted(self) -> RocCurve:
        check_is_fitted(self)
        return self._curve


def check_threshold(value: object) -> float:
    """Return a threshold for scores, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ParameterError("threshold is not a finite number (for example 0.5)")
    return float(value)


def _check_rate(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise ParameterError(f"{name} is not a number from 0 to 1 (for example 0.1)")
    return float(value)

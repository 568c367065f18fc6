"""Private ROC curves of scores anyone computed."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from nolook._validation import check_choice, check_epsilon
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.grids import LinearGrid, LogGrid
from nolook.algorithms.roc import RocRelease, roc_plan
from nolook.algorithms.roc_curve import RocCurve, area
from nolook.errors import ParameterError
from nolook.estimators._scores import ScoredEstimator
from nolook.estimators.base import Progress
from nolook.estimators.ecdf import check_grid, check_smoothing
from nolook.privacy.guarantee import Budget
from nolook.privacy.ledger import Ledger
from nolook.privacy.release import Plan

if TYPE_CHECKING:
    from nolook.privacy.guarantee import Relation
    from nolook.tables import Table

__all__ = ["ROCCurve"]

_NORMAL_95 = 1.96


class ROCCurve(ScoredEstimator):
    """The ROC curve of scores and labels, published once and asked as often as wanted.

    The scores of each class are counted up to each threshold of a public grid, and the counts are
    released with the noise of a binary tree (Barczewski, Mawass and Ramon 2024, section 5.1),
    beside each class's number of rows. Higher scores mean positive, as in scikit-learn. A row is
    called positive at a threshold if its score is above it. See ``algorithms/roc.md`` for the
    proof.

    The scores must come from a model that was NOT fitted on these rows without privacy: such a
    model moves every score when one row changes, and this guarantee does not cover that. Use a
    model fitted on other rows, or a private one, and then charge both to one ledger.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row (a score and its
    label) is added or removed (with ``relation="replace"``: replaced, and the number of all rows
    is public), for every table without missing scores; those are an error, raised before anything
    is spent. Every question asked of the result is free.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    grid : LinearGrid, LogGrid or None, default=None
        Public thresholds, such as ``LinearGrid(1/256, 1, 1/256)`` for probabilities. Scores outside
        count in the end cells, and scores in one cell count as equal. None spends a part of epsilon
        on finding a range of the scores, in which 2^7 thresholds are laid.
    pos_label : number or str, default=1
        The label of the positive class; every other label is negative.
    relation : {"add-remove", "replace"}, default="add-remove"
        Which tables are neighbours. Replacing a row may change both classes, at twice the noise.
        "replace" takes no table that may leave rows out, as their number would not be public.
    smoothing : {"l2", "l1"} or None, default="l2"
        As for :class:`nolook.ECDF`. Without any, the curve may fall in places.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_thresholds + 1,)
        Falling, from infinity to minus infinity.
    fpr_, tpr_ : ndarray of shape (n_thresholds + 1,)
        The shares of negative and of positive rows with a score above each threshold, from 0 to 1.
    auc_ : float
        The area under the curve by trapezoids; pairs within a cell count half.
    auc_interval_ : ndarray of shape (2,)
        In which the area under the exact curve of these rows on this grid lies with 95 %
        confidence. It counts the noise only, not that the rows are a sample. The noise is simulated
        on the private curve, from a fixed seed.
    band_ : ndarray of shape (3, 201)
        False positive rates, and below and above which true positive rate the exact curve lies at
        each with 95 % confidence, the noise counted only.
    grid_ : LinearGrid or LogGrid
        The thresholds used, given or found.
    n_positive_, n_negative_ : float
        The private number of rows of each class, at least 1.
    positive_, negative_ : PrivateDistribution
        Of the scores of each class.
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the scores were read: arguments for :func:`nolook.read_table` on another table.
    caution : str
        What a reader of the curve must know about the scored model.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> labels = generator.random(50_000) < 0.3
    >>> scores = generator.normal(size=50_000) + labels
    >>> curve = ROCCurve(epsilon=1.0).fit(scores, labels)
    >>> bool(abs(curve.auc_ - 0.76) < 0.02)
    True
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        grid: LinearGrid | LogGrid | None = None,
        pos_label: float | str = 1,
        relation: str = "add-remove",
        smoothing: str | None = "l2",
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.grid = grid
        self.pos_label = pos_label
        self.relation = relation
        self.smoothing = smoothing
        self.random_state = random_state

    _purpose = "ROC curve"

    def plan(self) -> Plan[Any]:
        """Check the parameters; return what a fit will release and cost."""
        budget = Budget(check_epsilon(self.epsilon))
        check_choice("relation", self.relation, ("add-remove", "replace"))
        relation = cast("Relation", self.relation)
        smoothing = check_smoothing(self.smoothing)
        check_grid(self.grid)
        self._check_label()
        parts = roc_plan(budget.epsilon, relation, search=self.grid is None)
        release = RocRelease(parts, self.grid, smoothing)
        return Plan.of(release, budget, self.random_state, relation=relation)

    def fit(
        self,
        scores: Table | ArrayLike,
        labels: object = None,
        *,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Release the curve.

        Parameters
        ----------
        scores : array of shape (n_samples,), series, or Table of one feature and a target
            Infinite scores count in the end cells. A missing one is an error, unless the table's
            `missing` says otherwise.
        labels : array or series of shape (n_samples,)
            Numbers, booleans or texts. Every label but `pos_label` is negative, a missing one as
            well. With a Table its target is the label, and a missing one is treated as the table's
            `missing` says.
        ledger : Ledger, optional
            Is charged before the data are read.
        progress : callable, optional
            Called with a step's name, the steps done and their number.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is out of range. Nothing is spent.
        TableError
            If the scores are not one column of numbers. Nothing is spent.
        BudgetExceededError
            If the ledger has too little left. The data are not read.
        """
        return self._fit(scores, labels, ledger, progress)

    def _store(
        self, released: tuple[LinearGrid | LogGrid, PrivateDistribution, PrivateDistribution]
    ) -> None:
        self.grid_, self.positive_, self.negative_ = released
        curve = self._curve = RocCurve(self.positive_, self.negative_)
        self.n_positive_, self.n_negative_ = curve.positive.rows, curve.negative.rows
        self.thresholds_ = curve.thresholds
        self.fpr_, self.tpr_ = curve.rates
        self.auc_ = area(self.fpr_, self.tpr_)
        error, fpr, tpr, tpr_error = curve.noise_errors(
            check_smoothing(self.smoothing), rows_known=self.relation == "replace"
        )
        ends = np.array([-_NORMAL_95, _NORMAL_95])
        self.auc_interval_ = (self.auc_ + ends * error).clip(0.0, 1.0)
        self.band_ = np.stack([fpr, *(tpr + ends[:, np.newaxis] * tpr_error).clip(0.0, 1.0)])

    def partial_auc(self, max_fpr: float) -> float:
        """Return the area up to a false positive rate, standardised as in scikit-learn.

        Parameters
        ----------
        max_fpr : float
            Above 0, at most 1.

        Returns
        -------
        float
            0.5 for guessing and 1 for a perfect score, whatever `max_fpr` is: that of
            ``sklearn.metrics.roc_auc_score(..., max_fpr=max_fpr)``.
        """
        rate = _check_rate(max_fpr, "max_fpr")
        if rate == 0.0:
            raise ParameterError("max_fpr is 0; expected a number above 0, at most 1 (0.1)")
        return self._fitted().partial_area(rate)

    def threshold_at(self, *, fpr: float | None = None, tpr: float | None = None) -> float:
        """Return the threshold for a wanted rate; a score above it is called positive.

        Parameters
        ----------
        fpr : float, optional
            From 0 to 1: the smallest threshold with at most this false positive rate.
        tpr : float, optional
            From 0 to 1: the largest threshold with at least this true positive rate. One of both.

        Returns
        -------
        float
            Of `thresholds_`; infinite where no score, or every score, is to be called positive.
        """
        if (fpr is None) == (tpr is None):
            raise ParameterError("fpr and tpr are both given or both missing; expected one of them")
        if fpr is not None:
            return self._fitted().threshold_at_fpr(_check_rate(fpr, "fpr"))
        return self._fitted().threshold_at_tpr(_check_rate(tpr, "tpr"))

    def plot(self, ax: Any = None) -> Any:  # noqa: ANN401 -- matplotlib's own types
        """Draw the curve with its band.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new ones by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        ParameterError
            If matplotlib is not installed.
        """
        self._fitted()
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            message = (
                "plot needs matplotlib, which is missing; expected it (pip install matplotlib)"
            )
            raise ParameterError(message) from error
        if ax is None:
            _, ax = plt.subplots()
        line = ax.plot(self.fpr_, self.tpr_, label=f"private (AUC = {self.auc_:.2f})")[0]
        ax.fill_between(*self.band_, color=line.get_color(), alpha=0.2, label="95 % of the noise")
        ax.plot([0, 1], [0, 1], "k--", linewidth=0.8, label="guessing (AUC = 0.5)")
        ax.set(
            xlabel="False positive rate",
            ylabel="True positive rate",
            xlim=(-0.01, 1.01),
            ylim=(-0.01, 1.01),
            aspect="equal",
        )
        ax.legend(loc="lower right")
        return ax

    def _fitted(self) -> RocCurve:
        check_is_fitted(self)
        return self._curve


def _check_rate(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise ParameterError(f"{name} is no number from 0 to 1; expected one (for example 0.1)")
    return float(value)

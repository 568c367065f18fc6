"""Private tests of calibration, and calibration curves, of probabilities anyone computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from nolook._validation import check_count, check_epsilon
from nolook.algorithms.calibration_table import CalibrationTable
from nolook.algorithms.distribution import PrivateDistribution
from nolook.algorithms.hosmer_lemeshow import hosmer_lemeshow_plan
from nolook.errors import ParameterError
from nolook.estimators._scores import ScoredEstimator
from nolook.estimators.base import Progress
from nolook.privacy.guarantee import Budget
from nolook.privacy.ledger import Ledger
from nolook.privacy.release import Plan

if TYPE_CHECKING:
    from nolook.tables import Table

__all__ = ["CalibrationCurve", "HosmerLemeshow"]

_MOST_GROUPS = 100

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CalibrationCurve:
    """How often what was predicted happened: a point for each group of probabilities.

    Made by :meth:`HosmerLemeshow.calibration_curve`; named as scikit-learn's `calibration_curve`.

    Parameters
    ----------
    prob_true : ndarray of shape (groups,)
        The private share of positive rows.
    prob_pred : ndarray of shape (groups,)
        The private mean of the probabilities, within the group.
    counts : ndarray of shape (groups,)
        The private number of rows; the noise may make that of a small group negative.
    errors : ndarray of shape (groups,)
        The standard error of `prob_true` less `prob_pred` from the noise; it says nothing of how
        the rows were sampled.
    """

    prob_true: Vector
    prob_pred: Vector
    counts: Vector
    errors: Vector

    def plot(self, ax: Any = None) -> Any:  # noqa: ANN401 -- matplotlib's own types
        """Draw the points, each with 1.96 standard errors of the noise on either side.

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
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            message = (
                "plot needs matplotlib, which is missing; expected it (pip install matplotlib)"
            )
            raise ParameterError(message) from error
        if ax is None:
            _, ax = plt.subplots()
        ax.errorbar(
            self.prob_pred, self.prob_true, 1.96 * self.errors, fmt="o-", label="private (95 %)"
        )
        ax.plot([0, 1], [0, 1], "k--", linewidth=0.8, label="perfectly calibrated")
        ax.set(
            xlabel="Mean probability",
            ylabel="Share of positives",
            xlim=(-0.01, 1.01),
            ylim=(-0.01, 1.01),
            aspect="equal",
        )
        ax.legend(loc="upper left")
        return ax


class HosmerLemeshow(ScoredEstimator):
    """Hosmer and Lemeshow's test of whether probabilities are what happened.

    Rows are put into groups between private quantiles of their probabilities, and the numbers of
    positive and negative rows of each group are released beside what the probabilities say of them
    (Barczewski, Mawass and Ramon 2024, section 5.2). See ``algorithms/hosmer_lemeshow.md`` for
    the proof.

    The probabilities must come from a model that was NOT fitted on these rows without privacy: such
    a model moves every probability when one row changes, and this guarantee does not cover that.
    Use a model fitted on other rows, or a private one, and then charge both to one ledger.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row (a probability and
    its label) is added or removed, for every table without missing probabilities; those are an
    error, raised before anything is spent.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    groups : int, default=10
        How many, up to 100. There are fewer where quantiles agree to a 1024th.
    pos_label : number or str, default=1
        The label of the positive class; every other label is negative.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    table_ : CalibrationTable
        The borders of the groups, observed and expected numbers of rows, and their standard errors.
    statistic_ : float
        H, less what the noise adds to it and at least 0. Small groups, which tell little through
        the noise, count less than in H.
    p_value_ : float
        How often a perfectly calibrated model would have this statistic or a larger one. The noise
        and the labels under that hypothesis are simulated on the private groups, from a fixed seed.
    degrees_of_freedom_ : int
        The number of groups: without noise H has a chi-squared distribution with as many if the
        model is perfectly calibrated. (Two fewer is the rule for a model fitted on the same rows.)
        The noise changes the distribution; use `p_value_`.
    distribution_ : PrivateDistribution
        Of the probabilities, on steps of a 1024th.
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the table was read: arguments for :func:`nolook.read_table` on another table.
    caution : str
        What a reader of the result must know about the model.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> probabilities = generator.beta(1, 4, 50_000)
    >>> labels = generator.random(50_000) < probabilities
    >>> bool(HosmerLemeshow(epsilon=1.0).fit(probabilities, labels).p_value_ > 1e-3)
    True
    >>> HosmerLemeshow(epsilon=1.0).fit(probabilities**2, labels).p_value_
    0.0001
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        groups: int = 10,
        pos_label: float | str = 1,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.groups = groups
        self.pos_label = pos_label
        self.random_state = random_state

    _purpose = "calibration"

    def plan(self) -> Plan[tuple[PrivateDistribution, CalibrationTable]]:
        """Check the parameters; return what a fit will release and cost."""
        budget = Budget(check_epsilon(self.epsilon))
        groups = check_count(self.groups, "groups", _MOST_GROUPS)
        self._check_label()
        release = hosmer_lemeshow_plan(budget.epsilon, groups)
        return Plan.of(release, budget, self.random_state)

    def fit(
        self,
        probabilities: Table | ArrayLike,
        labels: object = None,
        *,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Release the groups, and test.

        Parameters
        ----------
        probabilities : array of shape (n_samples,), series, or Table of one feature and a target
            That a row is positive. Numbers outside 0 and 1 count as the nearer of them. A missing
            one is an error, unless the table's `missing` says otherwise.
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
            If the probabilities are not one column of numbers. Nothing is spent.
        BudgetExceededError
            If the ledger has too little left. The data are not read.
        """
        return self._fit(probabilities, labels, ledger, progress)

    def _store(self, released: tuple[PrivateDistribution, CalibrationTable]) -> None:
        self.distribution_, self.table_ = released
        self.statistic_ = self.table_.statistic
        self.p_value_ = self.table_.p_value
        self.degrees_of_freedom_ = len(self.table_.counts)

    def calibration_curve(self) -> CalibrationCurve:
        """Return the shares of positives of the groups beside their mean probabilities.

        Returns
        -------
        CalibrationCurve
            From the same release, at no cost.
        """
        check_is_fitted(self)
        observed, expected, errors = self.table_.rates()
        return CalibrationCurve(observed, expected, self.table_.counts, errors)

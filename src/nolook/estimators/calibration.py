"""Private tests of calibration and calibration curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from sklearn.utils.validation import check_is_fitted

from nolook._arrays import Vector
from nolook._validation import check_count, check_epsilon
from nolook.algorithms.evaluation import Calibrated, Judged, calibration_release
from nolook.algorithms.intervals import NORMAL_95
from nolook.estimators._scores import ScoredEstimator, check_pos_label
from nolook.estimators.result import Measure
from nolook.privacy.guarantee import Budget
from nolook.privacy.release import Plan

__all__ = ["MOST_GROUPS", "CalibrationCurve", "HosmerLemeshow"]

#: Groups that a calibration compares.
MOST_GROUPS = 100


@frozen
class CalibrationCurve:
    """Observed frequency against predicted probability, a point for each group.

    Returned by :meth:`HosmerLemeshow.calibration_curve`; fields as in scikit-learn's
    `calibration_curve`.

    Parameters
    ----------
    prob_true : ndarray of shape (groups,)
        Private share of positive rows.
    prob_pred : ndarray of shape (groups,)
        Private mean of the probabilities in the group.
    counts : ndarray of shape (groups,)
        Private number of rows; noise may make it negative in a small group.
    errors : ndarray of shape (groups,)
        The standard error of `prob_true` less `prob_pred`, of noise and sampling.

    See Also
    --------
    HosmerLemeshow : The test and the groups.
    """

    prob_true: Vector
    prob_pred: Vector
    counts: Vector
    errors: Vector


class HosmerLemeshow(ScoredEstimator):
    """Hosmer and Lemeshow's test of the calibration of predicted probabilities.

    The statistic is ``H = sum_g (O_g - E_g)**2 n_g / (E_g (n_g - E_g))``, where group g has n_g
    rows, O_g of them positive, and E_g is the sum of their probabilities.

    Rows are grouped by private quantiles of their probabilities. The observed and expected numbers
    of positive rows in each group are released with noise (Barczewski, Mawass and Ramon 2024,
    section 5.2). Numbers below 0 count as 0, above 1 as 1. Proof:
    ``algorithms/hosmer_lemeshow.md``.

    The probabilities must come from a model that was NOT fitted on these rows without privacy: such
    a model moves every probability when one row changes, which this guarantee does not cover. Use a
    model fitted on other rows, or a private one, and charge both to one ledger.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row (a probability and
    its target) is added or removed, or one unit with all its rows if the table names a unit.

    Parameters
    ----------
    groups : int, default=10
        Number of groups, up to 100; fewer if quantiles agree to 1/1024.
    pos_label : number or str, default=1
        The target's value for the positive class; every other value is negative.

    Attributes
    ----------
    table_ : CalibrationTable
        Borders of the groups, observed and expected numbers of positive rows, and their standard
        errors.
    statistic_ : float
        H, corrected for the noise, and at least 0. Small groups, which noise hides, count less than
        in H.
    p_value_ : float or None
        Probability that a perfectly calibrated model has this statistic or a larger one. Noise and
        target are simulated under this hypothesis on the private groups, with a fixed seed. If
        units count once it is an upper bound; None if several rows of a unit count in full, because
        their correlation is not known.
    degrees_of_freedom_ : int
        The number of groups: without noise H of a perfectly calibrated model has a chi-squared
        distribution with this many degrees of freedom, if rows are independent. (Two fewer is the
        rule for a model fitted on the same rows.) The noise changes the distribution; use
        `p_value_`.
    distribution_ : PrivateDistribution
        Distribution of the probabilities, in steps of 1/1024.

    See Also
    --------
    evaluate : The same for a model on given rows, with its ROC curve.
    ROCCurve : Ranking of the scores, on any scale.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(0)
    >>> probabilities = generator.beta(1, 4, 50_000)
    >>> target = generator.random(50_000) < probabilities
    >>> bool(HosmerLemeshow(epsilon=1.0).fit(probabilities, target).p_value_ > 1e-3)
    True
    >>> HosmerLemeshow(epsilon=1.0).fit(probabilities**2, target).p_value_
    0.0001
    """

    groups: int = 10
    pos_label: float | str = 1

    kind = _ledger_label = "calibration"
    _indexed = _takes_whole = False

    questions = ("calibration_curve",)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """P-value: the probability of such a statistic if the model is calibrated."""
        return (Measure("calibration_p_value", self.p_value_, None),)

    def _columns(self) -> dict[str, Any]:
        table, curve = self.table_, self.calibration_curve()
        room = NORMAL_95 * curve.errors
        return {
            "above": table.borders[:-1],
            "up_to": table.borders[1:],
            "rows": table.counts,
            "rows_error": table.count_error,
            "positives": table.positives,
            "positives_error": table.observed_error,
            "expected": table.expected_positives,
            "expected_error": table.expected_positives_error,
            "mean_probability": curve.prob_pred,
            "share_positive": curve.prob_true,
            "low": curve.prob_true - room,  # of the share of positives
            "high": curve.prob_true + room,
        }

    _withheld_when_sampled = ("p_value_",)

    def plan(self) -> Plan[Judged]:
        """Check the parameters; return what a fit will release and cost."""
        budget = Budget(check_epsilon(self.epsilon))
        groups = check_count(self.groups, "groups", MOST_GROUPS)
        check_pos_label(self.pos_label)
        return Plan.of(calibration_release(budget.epsilon, groups), budget, self.random_state)

    def _store(self, released: Calibrated) -> None:
        self.distribution_, self.table_ = released.scores, released.table
        # Both releases count the rows.
        self.rows_ = self.distribution_.counted.or_better(self.table_.counted)
        self.statistic_ = self.table_.statistic
        self.p_value_: float | None = self.table_.p_value
        self.degrees_of_freedom_ = len(self.table_.counts)

    def calibration_curve(self) -> CalibrationCurve:
        """Return each group's share of positives and mean probability.

        Returns
        -------
        CalibrationCurve
            From the same release, at no further cost.
        """
        check_is_fitted(self)
        observed, expected, noise = self.table_.rates()
        shares, counts = np.stack([observed, expected]), self.table_.counts
        sampling = (shares * (1.0 - shares)).max(axis=0) / np.maximum(counts, 1.0)
        errors = np.sqrt(noise**2 + self.privacy_.unit.max_rows * sampling)
        return CalibrationCurve(observed, expected, counts, errors)

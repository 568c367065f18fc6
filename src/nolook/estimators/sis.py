"""Feature selection by sure independence screening."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from numpy.typing import ArrayLike

from nolook._validation import check_choice, check_delta, check_epsilon
from nolook.algorithms.screening import SCORES, TOP_K, Screening, public_ranges
from nolook.algorithms.selection_plan import Selected, selection_plan
from nolook.errors import ParameterError
from nolook.estimators._selector import PrivateSelector
from nolook.privacy.guarantee import DEFAULT_DELTA, Budget
from nolook.privacy.release import Plan
from nolook.tables import Table

if TYPE_CHECKING:
    from nolook.algorithms.screening import TopK

__all__ = ["SISSelector"]


class SISSelector(PrivateSelector):
    """Chooses the features that each by itself go best with the label (DP-SIS, Swope et al. 2024).

    Sure independence screening: one score for each feature, once, and then the k best. Features
    that say the same are chosen together; :class:`nolook.KendallSelector` avoids that, at twice the
    noise. See ``algorithms/screening.md`` for
    the proof.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed, or (`epsilon`, `delta`) where ranges are found privately, for every table without
    missing values; those are an error, raised before anything is spent.

    Parameters
    ----------
    k : int or "auto", default=5
        How many features to choose, fewer than there are. "auto" takes ``n epsilon / (120 ln(10
        d))`` for a private lower bound n on the number of rows and d features, at least 1 and
        at most the square root of d; see :class:`nolook.KendallSelector`.
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    delta : float, default=1e-6
        Probability left for a larger loss, in (0, 1). Only spent where ranges are found privately.
    score : {"kendall", "covariance"}, default="kendall"
        Size of Kendall's rank correlation with the label, which needs no ranges and keeps all
        rows as ranks in memory, 12 bytes a cell and then 4; or of the covariance of the two,
        clipped to ranges, which reads the table once.
    top_k : {"peeling", "canonical-lipschitz"}, default="peeling"
        The mechanism: one after the other, or all k at once, as published. On tables of many more
        columns than rows the first found more (``benchmarks/results/selection.md``).
    ranges : pair of array-like or None, default=None
        For ``score="covariance"``: smallest and largest values, each a number or one number for
        each column, the label's last. They must be public. None finds them privately, with 30 % of
        `epsilon` and all of `delta`: one scale to either side of the centre of
        :class:`nolook.QuantileScaler`.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    k_ : int
        How many were chosen.
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the columns were read: arguments for :func:`nolook.read_table` on another table.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for tables whose columns have names.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> y = x[:, 2] + 5
    >>> SISSelector(k=1, epsilon=1.0).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    _purpose = "sure independence screening"

    def __init__(
        self,
        k: int | str = 5,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        score: str = "kendall",
        top_k: str = "peeling",
        ranges: tuple[ArrayLike, ArrayLike] | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, random_state)
        self.delta = delta
        self.score = score
        self.top_k = top_k
        self.ranges = ranges

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        budget = Budget(check_epsilon(self.epsilon), check_delta(self.delta))
        k = self._known_k()
        check_choice("score", self.score, SCORES)
        check_choice("top_k", self.top_k, tuple(TOP_K))
        if self.ranges is not None and self.score != "covariance":
            raise ParameterError(
                "ranges is given with score 'kendall', which needs none; expected None (or use "
                "score='covariance')"
            )
        if self.score == "kendall" or self.ranges is not None:
            budget = Budget(budget.epsilon)
        parts = selection_plan(k, budget, bound=False)
        release = Screening(parts, cast("TopK", self.top_k), self.ranges)
        return Plan.of(release, budget, self.random_state)

    def _rows(self, X: object, y: object) -> Table:
        table = super()._rows(X, y)
        if self.ranges is not None:
            public_ranges(self.ranges, table.n_columns)
        return table

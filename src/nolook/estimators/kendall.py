"""Feature selection by rank correlation."""

from __future__ import annotations

from attrs import field

from nolook.algorithms.kendall_selection import KendallSelection
from nolook.algorithms.selection_plan import Selected, selection_plan
from nolook.estimators._selector import RowSelector
from nolook.estimators.base import check_budget
from nolook.privacy.release import Plan
from nolook.privacy.sampling import SAMPLING_UNIT

__all__ = ["KendallSelector"]


class KendallSelector(RowSelector):
    """Chooses features whose order agrees with the target's (DPKendall, Dick et al., NeurIPS 2023).

    One after the other, the feature j with the largest
    ``|tau(x_j, y)| - mean over chosen c of |tau(x_j, x_c)|``, tau Kendall's rank correlation.

    Features are chosen one by one. A feature's score is the absolute value of its Kendall rank
    correlation with the target, less the mean of its correlations with the features chosen before,
    so that no two choices carry the same information. Ranks need no bounds and no scaling, and wild
    values do no harm. Proof: ``algorithms/kendall_selection.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed, or (`epsilon`, `delta`) if a delta is given and charged.

    Parameters
    ----------
    k : int or "auto", default=5
        How many features to choose, fewer than there are. "auto" spends 5 % of `epsilon` on a lower
        bound on the number of rows and chooses as many features as it can while one that leads by
        0.1 in rank correlation is found nine times in ten: ``n epsilon / (120 ln(10 d))`` for n
        rows and d features, at least 1 and at most the square root of d.
    epsilon : float, default=1.0
        Privacy loss of all choices together, above 0. Smaller protects more.
    sample : float, "auto" or None, default=None
        Keep each row with this probability, between 0 and 1, for tables too large to rank: 12
        bytes a cell of the rows kept, 4 once they are ranked. What sampling adds to privacy makes
        the choices sharper in return. A number must not come from the table; "auto" keeps about a
        million rows, judged by the lower bound on their number. None keeps all.
    delta : float, default=0.0
        Probability of a larger loss, in [0, 1). Charged only where it makes the choices sharper:
        for about eight of them or more, made from all rows; otherwise they are pure.

    Attributes
    ----------
    order_ : ndarray of int, shape (k_,)
        The features in the order they were chosen.

    See Also
    --------
    SISSelector : Scores each feature once, with half of the noise.
    MomentSelector : Chooses features that explain the target together.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> y = x[:, 2] + 5
    >>> KendallSelector(k=1, epsilon=1.0).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    _ledger_label = "Kendall selection"

    delta: float = field(default=0.0, kw_only=True)

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta, pure=True)
        chances = self._chances()
        parts = selection_plan(
            self._known_k(),
            budget,
            bound=chances is None,
            # What a sample adds to privacy is proved for pure choices.
            pure=chances != SAMPLING_UNIT,
            beside=self._beside,
        )
        return Plan.of(KendallSelection(parts, chances), parts.budget, self.random_state)

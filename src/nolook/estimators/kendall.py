"""Feature selection by rank correlation."""

from __future__ import annotations

from nolook.algorithms.kendall_selection import KendallSelection
from nolook.algorithms.selection_plan import Selected
from nolook.estimators._selector import RowSelector
from nolook.privacy.release import Plan

__all__ = ["KendallSelector"]


class KendallSelector(RowSelector):
    """Select features by rank correlation with the target (DPKendall, Dick et al., NeurIPS 2023).

    Each step selects the feature j with the largest ``|tau(x_j, y)| - mean over chosen c of
    |tau(x_j, x_c)|``, where tau is Kendall's rank correlation.

    The second term avoids features that carry the same information. Ranks need no bounds and no
    scaling, and outliers do no harm. Proof: ``algorithms/kendall_selection.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed, or (`epsilon`, `delta`) if a delta is given and charged.

    Parameters
    ----------
    k : int or "auto", default=5
        Number of features to select, fewer than there are. "auto" spends 5 % of `epsilon` on a
        lower bound n on the number of rows and selects ``n epsilon / (120 ln(10 d))`` of d
        features, at least 1 and at most the square root of d: a feature that leads by 0.1 in rank
        correlation is then found nine times in ten.
    epsilon : float, default=1.0
        Privacy loss of all selections together, above 0. Smaller protects more.
    sample : float, "auto" or None, default=None
        Keep each row with this probability, between 0 and 1, for tables too large to rank: ranking
        needs 12 bytes for each cell kept, 4 after it. Sampling adds privacy, so the same budget
        buys less noise. A number must not come from the table; "auto" keeps about a million rows,
        by the lower bound on their number. None keeps all.
    delta : float, default=0.0
        Probability of a larger loss, in [0, 1). Charged only if it reduces the noise: for about
        eight features or more, selected from all rows. Otherwise the guarantee has delta = 0.

    Attributes
    ----------
    order_ : ndarray of int, shape (k_,)
        The features in the order they were chosen.

    See Also
    --------
    SISSelector : Scores each feature once, with half of the noise.
    MomentSelector : Selects features that explain the target together.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> y = x[:, 2] + 5
    >>> KendallSelector(k=1, epsilon=1.0).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    _ledger_label = "Kendall selection"

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        return self._split(KendallSelection)

"""Feature selection by votes of Lasso models."""

from __future__ import annotations

from functools import partial

from nolook._validation import check_count_or_auto, check_fraction
from nolook.algorithms.selection_plan import Selected
from nolook.algorithms.sublasso import MOST_MODELS, LassoSelection
from nolook.estimators._selector import RowSelector
from nolook.privacy.release import Plan

__all__ = ["LassoSelector"]


class LassoSelector(RowSelector):
    """Select features by votes of many small Lasso models (SubLasso, Kifer et al., COLT 2012).

    Selects the k features with the most votes ``v_j = #{m : j is among the k largest |b_m|}``, for
    Lasso models b_m of disjoint blocks of rows.

    Each row draws its block at random, independently of the others. The Lasso model of each block
    votes for its k largest coefficients, and features with many votes are drawn. The noise does not
    depend on the scale of the columns: it is about 2 k / `epsilon` votes, so the method needs
    several times as many blocks, each with enough rows. Proof: ``algorithms/sublasso.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed, or (`epsilon`, `delta`) if a delta is given and charged.

    Parameters
    ----------
    n_models : int or "auto", default="auto"
        Number of blocks. "auto" spends 5 % of `epsilon` on a lower bound on the number of rows and
        uses one block for every 25 of them, up to a number at which the noise is small. A number
        must not come from the table. The table is kept in memory: 16 bytes for each cell while the
        blocks are built, 8 afterwards.
    penalty : float, default=0.1
        Penalty of each Lasso model, as a fraction between 0 and 1 of the smallest one that makes
        all coefficients of the block's standardised columns 0.
    delta : float, default=0.0
        Probability of a larger loss, in [0, 1). Charged only if it reduces the noise: for about
        eight features or more. Otherwise the guarantee has delta = 0.

    sample : float, "auto" or None, default=None
        Keep each row with this probability, between 0 and 1, for tables too large for memory, as
        for :class:`nolook.KendallSelector`; the guarantee then has delta = 0. A number must not
        come from the table; "auto" keeps about a million rows, by the lower bound on their number.
        None keeps all.

    Attributes
    ----------
    order_ : ndarray of int, shape (k_,)
        The features in the order they were chosen.
    n_models_ : int
        Number of blocks.

    See Also
    --------
    MomentSelector : Needs far fewer rows.
    TukeyRegressor : Fits a regression in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> y = x[:, 2] + 5
    >>> LassoSelector(k=1, epsilon=1.0).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    _ledger_label = "Lasso selection"

    n_models: int | str = "auto"
    penalty: float = 0.1

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        blocks = check_count_or_auto(self.n_models, "n_models", MOST_MODELS)
        penalty = check_fraction(self.penalty, "penalty")
        kind = partial(LassoSelection, blocks=blocks, penalty=penalty)
        return self._split(kind, bound=blocks is None)

    def _store(self, released: Selected) -> None:
        super()._store(released)
        self.n_models_ = released.blocks

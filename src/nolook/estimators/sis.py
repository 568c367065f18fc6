"""Feature selection by sure independence screening."""

from __future__ import annotations

from functools import partial
from typing import cast

from nolook._validation import check_choice
from nolook.algorithms.screening import SCORES, TOP_K, Screening, TopK
from nolook.algorithms.selection_plan import Selected
from nolook.errors import ParameterError
from nolook.estimators._selector import RowSelector
from nolook.privacy.release import Plan

__all__ = ["SISSelector"]


class SISSelector(RowSelector):
    """Select the features with the largest single correlations (DP-SIS, Swope et al. 2024).

    Selects the k features j with the largest scores ``|tau(x_j, y)|``, Kendall's rank correlation,
    or ``|sum_i (x_ij - m_j)(y_i - m)|``, the covariance.

    Sure independence screening scores each feature once. Features that carry the same information
    are selected together; :class:`nolook.KendallSelector` avoids that, at twice the noise. Proof:
    ``algorithms/screening.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed, or (`epsilon`, `delta`) for the covariance, or if a delta is given and charged, for
    every table.

    Parameters
    ----------
    delta : float or None, default=None
        Probability of a larger loss, in (0, 1). None is 1e-6 for the covariance, and otherwise 0.
        For the rank correlation it is charged only if it reduces the noise: for about eight
        features or more, by peeling.
    score : {"kendall", "covariance"}, default="kendall"
        The rank correlation needs no ranges and keeps all rows in memory, 12 bytes for each cell
        and 4 after ranking. The covariance is of columns clipped to ranges that are found privately
        with 30 % of `epsilon` and all of `delta`: one scale on either side of the centre of
        :class:`nolook.QuantileScaler`. Features that are not distinguishable from the noise of that
        search are selected last, at random.
    top_k : {"peeling", "canonical-lipschitz"}, default="peeling"
        Select one feature after the other, or all k at once as published. On tables with many more
        columns than rows peeling found more (``papers/swope2024/results``).
    sample : float, "auto" or None, default=None
        For ``score="kendall"``: keep each row with this probability, between 0 and 1, for tables
        too large for memory, as for :class:`nolook.KendallSelector`; the guarantee then has delta =
        0. A number must not come from the table; "auto" spends 5 % of `epsilon` on a lower bound on
        the number of rows, and keeps about a million. None keeps all.

    See Also
    --------
    KendallSelector : Avoids features that carry the same information.
    MomentSelector : Selects features that explain the target together.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> y = x[:, 2] + 5
    >>> SISSelector(k=1, epsilon=1.0).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    _ledger_label = "sure independence screening"
    _ordered = False

    @property
    def _needs_local_rows(self) -> bool:  # type: ignore[override]
        return self.score == "kendall" and self.sample is None

    delta: float | None = None
    score: str = "kendall"
    top_k: str = "peeling"

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        check_choice("score", self.score, SCORES)
        check_choice("top_k", self.top_k, TOP_K)
        if self.sample is not None and self.score != "kendall":
            raise ParameterError(
                "sample is given, but score 'covariance' needs none; expected None (or use "
                "score='kendall')"
            )
        kind = partial(Screening, top_k=cast("TopK", self.top_k))
        return self._split(kind, pure=self.top_k != "peeling")

    def needs_delta(self) -> bool:
        """Return whether every fit needs a delta, to find ranges."""
        return self.score == "covariance"

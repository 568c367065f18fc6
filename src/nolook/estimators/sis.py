"""Feature selection by sure independence screening."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolook._validation import check_choice, check_delta, check_epsilon
from nolook.algorithms.scaling import find_scaling
from nolook.algorithms.screening import (
    TOP_K,
    TopK,
    covariance_scores,
    private_ranges,
    published_scores,
    rank_scores,
    screen,
)
from nolook.algorithms.selection_plan import SelectionPlan, selection_plan
from nolook.errors import ParameterError
from nolook.estimators._selector import PrivateSelector
from nolook.privacy.guarantee import DEFAULT_DELTA, Budget
from nolook.privacy.noise import ByteSource

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.tables import Table

__all__ = ["SISSelector"]

_SCORES = ("kendall", "covariance")


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
    missing values; those are an error, raised before anything is spent. With ``ranges="oracle"``
    nothing is promised.

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
    ranges : pair of array-like, "oracle" or None, default=None
        For ``score="covariance"``: smallest and largest values, each a number or one number for
        each column, the label's last. They must be public. None finds them privately, with 30 % of
        `epsilon` and all of `delta`: one scale to either side of the centre of
        :class:`nolook.QuantileScaler`. "oracle" centres and scales by the table itself, as
        published; one extreme row can change all scores, which is why `privacy_` then says the
        result is NOT private. For reproduction only.
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

    _release = "sure independence screening"

    def __init__(
        self,
        k: int | str = 5,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        score: str = "kendall",
        top_k: str = "peeling",
        ranges: tuple[ArrayLike, ArrayLike] | str | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, random_state)
        self.delta = delta
        self.score = score
        self.top_k = top_k
        self.ranges = ranges

    def _plan(self) -> tuple[SelectionPlan, PrivacyGuarantee]:
        budget = Budget(check_epsilon(self.epsilon), check_delta(self.delta))
        k = self._known_k()
        check_choice("score", self.score, _SCORES)
        check_choice("top_k", self.top_k, tuple(TOP_K))
        self._check_ranges()
        if self.score == "kendall" or self.ranges is not None:
            budget = Budget(budget.epsilon)
        plan = selection_plan(k, budget, bound=False)
        guarantee = self._guarantee(plan, budget)
        if isinstance(self.ranges, str):
            guarantee = replace(guarantee, private=False)
        return plan, guarantee

    def _choose(
        self,
        table: Table,
        plan: SelectionPlan,
        k: int,
        bound: int,  # noqa: ARG002 -- the other selectors' interface
        source: ByteSource,
        step: Callable[[str], None],
    ) -> Sequence[int]:
        if plan.scales_mu:
            ranges = private_ranges(find_scaling(table, plan.scales_mu, source, step)[0])
        step("features")
        if self.score == "kendall":
            scores = rank_scores(table)
        elif isinstance(self.ranges, str):
            scores = published_scores(table)
        else:
            if self.ranges is not None:
                ranges = _public_ranges(self.ranges, table.n_columns)
            scores = covariance_scores(table, *ranges)
        chosen = screen(scores, k, plan.features.epsilon, cast("TopK", self.top_k), source)
        return cast("list[int]", chosen.tolist())

    def _check_columns(self, table: Table) -> None:
        if self.ranges is not None and not isinstance(self.ranges, str):
            _public_ranges(self.ranges, table.n_columns)

    def _check_ranges(self) -> None:
        """Check what can be checked of the ranges without knowing the columns."""
        if self.ranges is None:
            return
        if self.score != "covariance":
            raise ParameterError(
                "ranges is given with score 'kendall', which needs none; expected None (or use "
                "score='covariance')"
            )
        if isinstance(self.ranges, str):
            check_choice("ranges", self.ranges, ("oracle",))


def _public_ranges(
    ranges: tuple[ArrayLike, ArrayLike], columns: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return public ranges as two arrays, shape (columns,)."""
    expected = (
        f"expected a pair (low, high), each a number or {columns} numbers, one for each column "
        "and the label's last"
    )
    try:
        low, high = (
            np.broadcast_to(np.asarray(end, dtype=np.float64), (columns,)) for end in ranges
        )
    except (TypeError, ValueError):
        raise ParameterError(f"ranges is not of that form; {expected}") from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
        raise ParameterError(f"ranges is not ordered and finite; {expected}")
    return low, high

"""DP-SIS as published: centred and scaled by the table itself. NOT private."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.scaling import Scaling
from nolook.algorithms.screening import Scores, Screening
from nolook.algorithms.selection_plan import Selected
from nolook.estimators.sis import SISSelector
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import Plan
from nolook.tables import Table
from papers import not_private, only_choices

__all__ = ["PublishedSISSelector", "published_scores"]


def published_scores(table: Table) -> Scores:
    """Score features by their centred products with the target, all divided by their maxima.

    One extreme row rescales all others, so a score may fall from the number of rows to
    almost nothing; the sensitivity of 1 is the paper's claim.

    Parameters
    ----------
    table : Table
        Kept in memory.

    Returns
    -------
    Scores
    """
    columns = np.concatenate([np.empty((table.n_columns, 0)), *table.batches()], axis=1)
    columns = _to_size_one(columns)  # so that no sum overflows
    columns -= columns.mean(axis=1, keepdims=True) if columns.shape[1] else 0.0
    columns = _to_size_one(columns)
    return Scores(np.abs(columns[:-1] @ columns[-1]), 1.0)


def _to_size_one(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    peak = np.abs(columns).max(axis=1, initial=0.0, keepdims=True)
    scaled: NDArray[np.float64] = columns / np.where(peak > 0.0, peak, 1.0)
    return scaled


class _PublishedScreening(Screening):
    """One published score for each feature, and then the k best."""

    for_rows_per_unit = None  # type: ignore[assignment]  # nothing is proved, of units neither

    def scores(
        self,
        table: Table,
        scaling: Scaling | None,  # noqa: ARG002
        source: ByteSource,  # noqa: ARG002
    ) -> Scores:
        return published_scores(table)


class PublishedSISSelector(SISSelector):
    """DP-SIS with the published score, whose claimed sensitivity does not hold for rows.

    One extreme row can change all scores, which is why `privacy_` says that the result is NOT
    private.

    Parameters
    ----------
    k : int, default=5
    epsilon : float, default=1.0
        What the paper claims.
    top_k : {"canonical-lipschitz", "peeling"}, default="canonical-lipschitz"
        Both with the product's corrected class sizes; see `classes.py` for the published ones.
    random_state : int or None, default=None

    Attributes
    ----------
    support_, k_, privacy_
        As those of :class:`nolook.SISSelector`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> PublishedSISSelector(k=1).fit(x, x[:, 2] + 5).privacy_.private
    False
    """

    def __init__(
        self,
        k: int = 5,
        epsilon: float = 1.0,
        top_k: str = "canonical-lipschitz",
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, top_k=top_k, random_state=random_state)

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release."""
        own = cast("Screening", super().plan().release)
        release = only_choices(own, _PublishedScreening)
        return not_private(Plan.of(release, release.budget, self.random_state))

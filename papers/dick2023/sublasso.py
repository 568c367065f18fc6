"""SubLasso as published (Algorithm 2), and the product's with the penalty of published code."""

from __future__ import annotations

from typing import cast

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from nolook._validation import check_positive
from nolook.algorithms.selection_plan import Selected
from nolook.algorithms.sublasso import VOTES_SENSITIVITY, LassoSelection
from nolook.estimators.lasso import LassoSelector
from nolook.kernels.block_lasso import arrange_blocks, lasso_models
from nolook.privacy.budgets import with_room
from nolook.privacy.mechanisms.exponential import exponential_choice
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.privacy.release import OnStep, Plan
from nolook.tables import Table
from papers import not_private, only_choices

__all__ = [
    "PublishedLassoSelection",
    "PublishedLassoSelector",
    "RawLassoSelector",
    "equal_parts",
    "raw_votes",
]

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]

_KEYS = 2**62  # two rows hardly ever draw the same


def equal_parts(rows: int, m: int, source: ByteSource) -> Integers:
    """Return the part of each row: a random partition into m parts, of sizes that differ by 1."""
    order = np.argsort(uniform_integers(_KEYS, rows, source), kind="stable")
    parts = np.empty(rows, dtype=np.int64)
    parts[order] = np.arange(rows) % m
    return parts


def raw_votes(columns: Matrix, parts: Integers, m: int, k: int, alpha: float) -> Integers:
    """Count the parts whose k largest Lasso coefficients in raw units a feature is among.

    As in the paper, the intercept is a column of ones like any other: it is penalised, nothing is
    centred, and it gets no vote.

    Parameters
    ----------
    columns : ndarray of shape (features + 1, n)
        The target last.
    parts : ndarray of int64, shape (n,)
    m, k : int
        No part is empty.
    alpha : float
        scikit-learn's penalty.

    Returns
    -------
    ndarray of int64, shape (features,)
        A coefficient of 0 gets no vote; the first of equal ones is taken.
    """
    # The kernel centres: rows next to their negatives have mean 0, and the same mean products.
    ones = np.ones((1, columns.shape[1]))
    own = np.concatenate([columns[:-1], ones, columns[-1:]])
    rows, starts = arrange_blocks([own, -own], [parts, parts], m)
    squares = np.add.reduceat(rows**2, starts[:-1], axis=0)
    features, target = np.sqrt(squares[:, :-2]), np.sqrt(squares[:, -1:])
    inverse = np.divide(target, features, out=np.zeros_like(features), where=features > 0)
    sizes = np.abs(lasso_models(rows, starts, -alpha)[:, :-1]) * inverse
    best = np.argsort(-sizes, axis=1, kind="stable")[:, :k]
    voted = best[np.take_along_axis(sizes, best, axis=1) > 0]
    return np.bincount(voted, minlength=len(columns) - 1)


@frozen
class PublishedLassoSelection(LassoSelection):
    """Algorithm 2 of the paper. It is not private where a row is added or removed."""

    for_rows_per_unit = None  # type: ignore[assignment]  # the paper speaks of rows

    def choose(self, table: Table, bound: int, source: ByteSource, progress: OnStep) -> Selected:  # noqa: ARG002
        """Choose k features by peeling."""
        progress("features")
        columns = np.concatenate([np.empty((table.n_columns, 0)), *table.batches()], axis=1)
        m = min(cast("int", self.blocks), columns.shape[1])
        parts = equal_parts(columns.shape[1], m, source)
        votes = raw_votes(columns, parts, m, self.k, -self.penalty)
        share = with_room(self.features.epsilon / self.k)
        left = list(range(table.n_columns - 1))
        chosen: list[int] = []
        while len(chosen) < self.k:
            place = exponential_choice(votes[left], VOTES_SENSITIVITY, share, source)
            chosen.append(left.pop(place))
        return Selected(tuple(chosen), m)


class RawLassoSelector(LassoSelector):
    """SubLasso of the product with the penalty of published code: the columns' units decide.

    Blocks are drawn row by row, and votes go to the largest coefficients in standard deviations, as
    in :class:`nolook.LassoSelector`.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed: the penalty is public, and votes have sensitivity 1 with any penalty.

    Parameters
    ----------
    k : int or "auto", default=5
    epsilon : float, default=1.0
    n_models : int or "auto", default="auto"
        All as those of :class:`nolook.LassoSelector`.
    alpha : float, default=1.0
        scikit-learn's penalty, above 0.
    random_state : int or None, default=None

    Attributes
    ----------
    support_, order_, k_, n_models_, privacy_
        As those of :class:`nolook.LassoSelector`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> RawLassoSelector(k=1).fit(x, x[:, 2] + 5).get_support()
    array([False, False,  True, False])
    """

    def __init__(
        self,
        k: int | str = 5,
        epsilon: float = 1.0,
        n_models: int | str = "auto",
        alpha: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, n_models, random_state=random_state)
        self.alpha = alpha

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        plan = super().plan()
        # The kernel takes a negative number for a penalty in raw units.
        penalty = -check_positive(self.alpha, "alpha")
        return evolve(plan, release=evolve(cast("LassoSelection", plan.release), penalty=penalty))


class PublishedLassoSelector(RawLassoSelector):
    """SubLasso as published: equal parts, votes for the largest coefficients in raw units, peeling.

    Guarantee
    ---------
    None. Where a row is replaced, one part's votes change, as the paper's proof has it. Where one
    is added or removed, up to two parts do, so that up to 2 `epsilon` is lost
    (`dick2023/README.md`).

    Parameters
    ----------
    k : int, default=5
    epsilon : float, default=1.0
    n_models : int, default=100
        m: number of parts, public.
    alpha : float, default=1.0
        scikit-learn's penalty, above 0.
    random_state : int or None, default=None

    Attributes
    ----------
    support_, order_, k_, n_models_, privacy_
        As those of :class:`nolook.LassoSelector`.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> PublishedLassoSelector(k=1).fit(x, x[:, 2] + 5).get_support()
    array([False, False,  True, False])
    """

    def __init__(
        self,
        k: int = 5,
        epsilon: float = 1.0,
        n_models: int = 100,
        alpha: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, n_models, alpha, random_state)

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        own = cast("LassoSelection", super().plan().release)
        release = only_choices(own, PublishedLassoSelection)
        return not_private(Plan.of(release, release.budget, self.random_state))

"""DPKendall as published: ties broken by noise, the exponential mechanism, sensitivities 3/2 and 3.

The product's own (`nolook/algorithms/kendall_selection.md`) counts ties as 0, knows that scores
move by 5/4 and 5/2 about a common middle, and draws by permute-and-flip.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from nolook.algorithms.kendall_selection import KendallSelection
from nolook.algorithms.selection_plan import Selected
from nolook.estimators.kendall import KendallSelector
from nolook.kernels.inversions import pair_differences
from nolook.privacy.budgets import with_room
from nolook.privacy.mechanisms.exponential import exponential_choice
from nolook.privacy.noise import ByteSource, uniform_integers
from nolook.privacy.release import OnStep, Plan
from nolook.statistics.kendall import KENDALL_UNIT, KendallRows, kendall_scores
from nolook.tables import Table
from papers import only_choices

__all__ = ["PublishedKendallSelection", "PublishedKendallSelector", "published_sensitivity"]

Matrix = NDArray[np.float64]

_KEYS = 2**62  # two rows hardly ever draw the same


def published_sensitivity(chosen: int) -> float:
    """Return how far a row moves a score, in the scores' units: Lemma 3.2, and its double."""
    return (1.5 if chosen == 0 else 3.0) * KENDALL_UNIT


def without_ties(column: Matrix, source: ByteSource) -> Matrix:
    """Return the places of cells in their order; equal cells in a random order of their rows."""
    keys = uniform_integers(_KEYS, column.size, source)
    places = np.empty(column.size)
    places[np.lexsort((keys, column))] = np.arange(column.size)
    return places


@frozen
class PublishedKendallSelection(KendallSelection):
    """Algorithm 1 of the paper.

    Guarantee: pure, the sum of the plan's events, when a row is added or removed.
    """

    for_rows_per_unit = None  # type: ignore[assignment]  # the paper speaks of rows

    def choose(self, table: Table, bound: int, source: ByteSource, progress: OnStep) -> Selected:  # noqa: ARG002
        """Choose k features."""
        progress("features")
        k = self.k
        share = with_room(self.features.epsilon / k)
        columns = np.concatenate([np.empty((table.n_columns, 0)), *table.batches()], axis=1)
        places = np.array([without_ties(column, source) for column in columns])
        ranked = KendallRows(table.n_columns).update(places).value
        left = list(range(table.n_columns - 1))
        target = pair_differences(ranked[-1], ranked[:-1])
        others = np.zeros(len(left), dtype=np.int64)
        chosen: list[int] = []
        while len(chosen) < k:
            if chosen:
                features = [ranked[j] for j in left]
                others[left] += abs(pair_differences(ranked[chosen[-1]], features))
            rows = columns.shape[1]
            scores = kendall_scores(target[left], others[left].tolist(), len(chosen), rows)
            sensitivity = published_sensitivity(len(chosen))
            chosen.append(left.pop(exponential_choice(scores, sensitivity, share, source)))
        return Selected(tuple(chosen))


class PublishedKendallSelector(KendallSelector):
    """DPKendall as published (Algorithm 1).

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed; the proof is `dick2023/README.md`.

    Parameters
    ----------
    k : int, default=5
    epsilon : float, default=1.0
    random_state : int or None, default=None
        All as those of :class:`nolook.KendallSelector`.

    Attributes
    ----------
    support_, order_, k_, privacy_
        As there.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> PublishedKendallSelector(k=1).fit(x, x[:, 2] + 5).get_support()
    array([False, False,  True, False])
    """

    def __init__(self, k: int = 5, epsilon: float = 1.0, random_state: int | None = None) -> None:
        super().__init__(k, epsilon, random_state=random_state)

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        own = cast("KendallSelection", super().plan().release)
        published = only_choices(own, PublishedKendallSelection)
        return Plan.of(published, published.budget, self.random_state)

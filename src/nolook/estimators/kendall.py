"""Feature selection by rank correlation."""

from __future__ import annotations

import numpy as np

from nolook._validation import check_choice, check_epsilon, check_fraction
from nolook.algorithms.kendall_selection import KendallSelection
from nolook.algorithms.selection_plan import Selected, selection_plan
from nolook.estimators._selector import PrivateSelector
from nolook.privacy.guarantee import Budget
from nolook.privacy.release import Plan
from nolook.privacy.sampling import SAMPLING_UNIT

__all__ = ["KendallSelector"]


class KendallSelector(PrivateSelector):
    """Chooses features whose order agrees with the label's (DPKendall, Dick et al., NeurIPS 2023).

    Features are chosen one by one. A feature's score is the size of its Kendall rank correlation
    with the label, less the mean of those with the features chosen before, so that no two
    choices say the same. Ranks need no bounds and no scaling, and wild values do no harm. See
    ``algorithms/kendall_selection.md`` for the proof.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, 0)-differentially private when one row is added or
    removed, for every table without missing values; those are an error, raised before anything
    is spent.

    Parameters
    ----------
    k : int or "auto", default=5
        How many features to choose, fewer than there are. "auto" spends 5 % of `epsilon` on a lower
        bound on the number of rows and chooses as many as a feature that leads by 0.1 in rank
        correlation needs to be found nine times in ten: ``n epsilon / (120 ln(10 d))`` for n rows
        and d features, at least 1 and at most the square root of d.
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more. All choices together have it.
    sample : float, "auto" or None, default=None
        Keep each row with this probability, between 0 and 1, for tables too large to rank: 12
        bytes a cell of the rows kept, 4 once they are ranked. What the sample adds to privacy
        makes the choices sharper in return. A number must not come from the table; "auto" keeps
        about a million rows, judged by the lower bound on their number. None keeps all.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    order_ : ndarray of int, shape (k_,)
        The features chosen, the first one first.
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
    >>> KendallSelector(k=1, epsilon=1.0).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    _purpose = "Kendall selection"

    def __init__(
        self,
        k: int | str = 5,
        epsilon: float = 1.0,
        sample: float | str | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(k, epsilon, random_state)
        self.sample = sample

    def plan(self) -> Plan[Selected]:
        """Check the parameters; return what a fit will release and cost."""
        budget = Budget(check_epsilon(self.epsilon))
        chances = self._chances()
        parts = selection_plan(self._known_k(), budget, bound=chances is None)
        return Plan.of(KendallSelection(parts, chances), budget, self.random_state)

    def _store(self, released: Selected) -> None:
        super()._store(released)
        self.order_ = np.array(released.features)

    def _chances(self) -> int | None:
        """Check the share of rows; None if it depends on their number."""
        if isinstance(self.sample, str):
            check_choice("sample", self.sample, ("auto",))
            return None
        if self.sample is None:
            return SAMPLING_UNIT
        return max(1, int(check_fraction(self.sample, "sample") * SAMPLING_UNIT))

"""Feature selection from one noisy moment matrix."""

from __future__ import annotations

import math
from typing import Any

from nolook.algorithms.moment_regression import MomentRelease
from nolook.algorithms.moment_selection import NoisyProducts, select_features, strengths
from nolook.algorithms.selection_plan import Selected
from nolook.estimators._chosen import known_k
from nolook.estimators._selector import PrivateSelector
from nolook.privacy.guarantee import DEFAULT_DELTA

__all__ = ["MomentSelector"]


class MomentSelector(PrivateSelector):
    """Select the features that together explain the target best in linear regression.

    Selects a set S of k features with a large explained sum of squares ``c_S' (G_S + ridge I)^-1
    c_S``, for the noisy cross-products G of the features and c of features and target.

    The centre and scale of each column are found privately; rows are standardised and clipped;
    their cross-products are released once with Gaussian noise. Features are then added one by one,
    and exchanged while that explains more. Features that are not distinguishable from noise are
    selected last. Proofs: ``algorithms/moment_selection.md``, ``algorithms/moment_regression.md``.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed, for every table.

    Parameters
    ----------
    k : int or "auto", default=5
        Number of features to select, fewer than there are. "auto" costs nothing: features are added
        while the best of the others explains more than noise and sampling would typically give it.
        If no others matter, a feature is still added about every other time. At least 1.
    delta : float, default=1e-6
        Probability of a larger loss, in (0, 1); choose it well below one over the number of rows.

    Attributes
    ----------
    order_ : ndarray of int, shape (k_,)
        The selected features, each followed by the one that adds most to those before it.
    strengths_ : ndarray of shape (k_,)
        Strength of each, after those before it are fitted, in standard deviations of noise and
        sampling.

    See Also
    --------
    SISSelector : Scores each feature separately.
    KendallSelector : Uses ranks, so outliers do no harm.
    LinearRegression : With `k`, selects and fits within one release.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> y = x[:, 2] + 5
    >>> MomentSelector(k=1, epsilon=1.0, delta=1e-6).fit(x, y).get_support()
    array([False, False,  True, False])
    """

    _ledger_label = "selection from moments"
    _imputes_centres = True

    delta: float = DEFAULT_DELTA

    def needs_delta(self) -> bool:
        """Return whether every fit needs a delta."""
        return True

    def _release(self, mu: float) -> MomentRelease:
        known_k(self.k)
        return MomentRelease(mu)

    def _store(self, released: Any) -> None:  # noqa: ANN401 -- NoisyMoments
        matrix, sigma = released.matrix, released.sigma
        moments = NoisyProducts(
            gram=matrix[:-1, :-1],
            products=matrix[:-1, -1],
            squares=float(matrix[-1, -1]),
            gram_noise=sigma,
            products_noise=sigma / math.sqrt(2),
            rows=released.scaling.rows.value,
        )
        chosen = select_features(moments, known_k(self.k), released.scaling.detected[:-1])
        super()._store(Selected(chosen, rows=released.scaling.rows))
        self.strengths_ = strengths(moments, chosen)

"""Boosted AdaSSP: private linear regression by noisy preconditioned gradients."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Self

from numpy.typing import ArrayLike

from nolook._validation import check_choice, check_count
from nolook.algorithms.boosted_adassp import boosted_adassp, boosted_events, steps
from nolook.estimators._private import (
    PrivateRegressor,
    Progress,
    check_budget,
    gaussian_guarantee,
    progress_steps,
    spending,
)
from nolook.estimators._tables import training_table
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import byte_source

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.tables import Table

__all__ = ["BoostedAdaSSPRegressor"]

_MOST_ROUNDS = 10_000


class BoostedAdaSSPRegressor(PrivateRegressor):
    """Boosted AdaSSP (Tang et al., 2023): linear regression by rounds of clipped gradients.

    X'X and its smallest eigenvalue are released once; every round releases the product of the
    rows with the clipped residuals and takes the step AdaSSP's ridge solution of it gives. By
    default the columns are standardised privately first, residuals are clipped to two scales of
    the label, and the model is the mean over the last quarter of the rounds. See
    ``algorithms/boosted_adassp.md`` for the proof.

    Because residuals are clipped, the model is close to a Huber estimate: rows far off the line
    pull less than in least squares. Along directions in which the features do not vary, as between
    two equal columns, coefficients drift at random with the rounds; predictions do not depend on
    them.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed, for every table of up to 2^34 rows without missing values; those are an error,
    raised before anything is spent.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    delta : float, default=1e-6
        Probability left for a larger loss, in (0, 1).
    n_rounds : int, default=100
        Number of gradients, at most 10,000. More rounds get further with more noise each.
    scaling : {"private", "none"}, default="private"
        "none" is the published setting: rows (1, x) are shrunk to norm 1 and residuals clipped to
        1, in the units they come in, and the last round's model is the result. It fits well only
        where labels and rows are of about that size.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients, in the columns' units.
    intercept_ : float
    scaling_ : Scaling
        Centre and scale of each column, the label last.
    row_norm_ : float
        Bound on the norm of (1, x), x in standardised units, that rows are shrunk to.
    label_range_ : tuple of float
        Predictions are clipped to it; without bounds if `scaling` is "none".
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the columns were read: arguments for :func:`nolook.read_table` on another table.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for tables whose columns have names.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(40_000.0).reshape(-1, 2) % 977
    >>> y = x @ [2.0, -1.0] + 5
    >>> model = BoostedAdaSSPRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        n_rounds: int = 100,
        scaling: str = "private",
        random_state: int | None = None,
    ) -> None:
        super().__init__(epsilon, delta, random_state)
        self.n_rounds = n_rounds
        self.scaling = scaling

    def _plan(self) -> tuple[tuple[float, int, bool], PrivacyGuarantee]:
        private = check_choice("scaling", self.scaling, ("private", "none")) == "private"
        rounds = check_count(self.n_rounds, "n_rounds", _MOST_ROUNDS)
        mu, guarantee = gaussian_guarantee(
            check_budget(self.epsilon, self.delta),
            partial(boosted_events, rounds=rounds, private_scaling=private),
            self.random_state,
        )
        return (mu, rounds, private), guarantee

    def fit(
        self,
        X: Table | ArrayLike,
        y: ArrayLike | None = None,
        *,
        ledger: Ledger | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : Table with a target, array or frame of shape (n_samples, n_features)
            A `Table` from :func:`nolook.read_table` is read in a few passes; its rows are then
            kept in memory, two bytes a feature and eight a label.
        y : array of shape (n_samples,), optional
            The label; left out when X is a `Table`.
        ledger : Ledger, optional
            Is charged before the data are read.
        progress : callable, optional
            Called with a step's name, the steps done and their number.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is out of range. Nothing is spent.
        TableError
            If X and y are no table of numbers. Nothing is spent.
        BudgetExceededError
            If the ledger has too little left. The data are not read.
        """
        (mu, rounds, private), guarantee = self._plan()
        table = training_table(self, X, y)
        step = progress_steps(progress, steps(rounds, private_scaling=private) + 1)
        with spending(ledger, guarantee, "boosted AdaSSP", table, step):
            source = byte_source(self.random_state)
            model = boosted_adassp(table, mu, rounds, source, step, private_scaling=private)

        self.privacy_ = guarantee
        self.scaling_ = model.scaling
        self.row_norm_ = model.design.norm
        self.label_range_ = (-math.inf, math.inf)
        if private:
            self.label_range_ = (float(model.scaling.low[-1]), float(model.scaling.high[-1]))
        self.coef_, self.intercept_ = model.scaling.original_units(model.theta)
        return self

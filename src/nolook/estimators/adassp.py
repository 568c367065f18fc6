"""AdaSSP: private ridge regression from noisy sufficient statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolook._validation import check_choice, check_epsilon
from nolook.algorithms.adassp import (
    PASSES,
    AdaSSPModel,
    adassp,
    adassp_events,
    private_adassp,
)
from nolook.algorithms.bounded_design import public_design
from nolook.algorithms.scaling import Scaling
from nolook.errors import ParameterError
from nolook.estimators._private import (
    PrivateRegressor,
    Progress,
    check_budget,
    gaussian_guarantee,
    progress_steps,
    spending,
)
from nolook.estimators._tables import training_table
from nolook.kernels.moments import UNIT
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.ledger import Ledger
from nolook.privacy.noise import ByteSource, byte_source

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.tables import Table

__all__ = ["AdaSSPRegressor"]

# A row (1, x / bound_X) has at most this norm.
_PUBLIC_NORM = math.sqrt(2.0)


class AdaSSPRegressor(PrivateRegressor):
    """AdaSSP (Wang, UAI 2018): linear regression from three noisy sufficient statistics.

    The smallest eigenvalue of X'X, X'X and X'y are released with Gaussian noise; a ridge of the
    noise's size, less what the eigenvalue allows, gives the model. By default the columns are
    standardised privately first. See ``algorithms/adassp.md`` for the proof.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added
    or removed, for every table of up to 2^34 rows without missing values; those are an error,
    raised before anything is spent. With ``bounds="oracle"`` nothing is promised.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    delta : float, default=1e-6
        Probability left for a larger loss, in (0, 1).
    bound_X : float or None, default=None
        A public bound on the Euclidean norm of a row of features, in their own units: rows beyond
        it are shrunk to it. With `bound_y` it replaces the private scaling. It must not come from
        the table.
    bound_y : float or None, default=None
        A public bound on the size of a label, to which labels are clipped.
    bounds : {"private", "oracle"}, default="private"
        What to do without `bound_X` and `bound_y`. "private" finds scales and norms under the
        guarantee. "oracle" takes the largest norm and the largest label of the table itself, as
        published experiments do; a single row can decide them and so be seen in the
        model, which is why `privacy_` then says the result is NOT private. For reproduction only.
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
        Predictions are clipped to it.
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
    >>> model = AdaSSPRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        bound_X: float | None = None,
        bound_y: float | None = None,
        bounds: str = "private",
        random_state: int | None = None,
    ) -> None:
        super().__init__(epsilon, delta, random_state)
        self.bound_X = bound_X
        self.bound_y = bound_y
        self.bounds = bounds

    def _plan(self) -> tuple[tuple[float, tuple[float, float] | None, bool], PrivacyGuarantee]:
        bounds, oracle = self._checked_bounds()
        mu, guarantee = gaussian_guarantee(
            check_budget(self.epsilon, self.delta),
            partial(adassp_events, private_scaling=bounds is None and not oracle),
            self.random_state,
        )
        if oracle:
            guarantee = replace(guarantee, private=False)
        return (mu, bounds, oracle), guarantee

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
            A `Table` from :func:`nolook.read_table` is read in several passes in bounded memory.
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
        (mu, bounds, oracle), guarantee = self._plan()
        private_scaling = bounds is None and not oracle
        table = training_table(self, X, y)
        passes = PASSES if private_scaling else 2 if oracle else 1
        step = progress_steps(progress, passes + 1)
        with spending(ledger, guarantee, "AdaSSP", table, step):
            source = byte_source(self.random_state)
            if private_scaling:
                model = private_adassp(table, mu, source, step)
                self.label_range_ = (float(model.scaling.low[-1]), float(model.scaling.high[-1]))
            else:
                if bounds is None:
                    step("norms")
                    bounds = _norms_of(table)
                model = _with_bounds(table, bounds, mu, source, step)
                self.label_range_ = (-bounds[1], bounds[1])
        self.privacy_ = guarantee
        self.scaling_ = model.scaling
        self.row_norm_ = model.design.norm
        self.coef_, self.intercept_ = model.scaling.original_units(model.theta)
        return self

    def _checked_bounds(self) -> tuple[tuple[float, float] | None, bool]:
        """Return the public bounds if there are any, and whether to read them off the table."""
        oracle = check_choice("bounds", self.bounds, ("private", "oracle")) == "oracle"
        given = {"bound_X": self.bound_X, "bound_y": self.bound_y}
        if all(bound is None for bound in given.values()):
            return None, oracle
        for name, bound in given.items():
            if bound is None:
                raise ParameterError(
                    f"{name} is None; expected a number above 0 beside the other bound (give both "
                    "or neither)"
                )
        if oracle:
            raise ParameterError(
                "bounds is 'oracle' beside bound_X and bound_y; expected 'private' (or leave "
                "bound_X and bound_y out)"
            )
        return (
            check_epsilon(self.bound_X, "bound_X"),
            check_epsilon(self.bound_y, "bound_y"),
        ), False


def _with_bounds(
    table: Table,
    bounds: tuple[float, float],
    mu: float,
    source: ByteSource,
    step: Callable[[str], None],
) -> AdaSSPModel:
    scale = np.full(table.n_columns, bounds[0])
    scale[-1] = bounds[1]
    scaling = Scaling.public(table.column_names, scale, math.inf)
    return adassp(table, public_design(scaling, _PUBLIC_NORM, UNIT), mu, source, step)


def _norms_of(table: Table) -> tuple[float, float]:
    """Return the largest norm of a row of features and the largest label: NOT private."""
    largest = np.zeros(2)
    for batch in table.batches():
        found = np.array([_norms(batch[:-1]).max(initial=0.0), np.abs(batch[-1]).max(initial=0.0)])
        largest = np.maximum(largest, found)
    largest[largest == 0.0] = 1.0
    bound_x, bound_y = largest.clip(max=np.finfo(np.float64).max)
    return float(bound_x), float(bound_y)


def _norms(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    peak = np.maximum(np.abs(columns).max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):
        norms: NDArray[np.float64] = peak * np.sqrt(((columns / peak) ** 2).sum(axis=0))
    return norms

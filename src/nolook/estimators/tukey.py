"""Linear regression by the Tukey mechanism."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nolook._validation import check_choice, check_count, check_random_state
from nolook.algorithms.inference import fit_measures
from nolook.algorithms.rows_bound import rows_bound
from nolook.algorithms.tukey import (
    BASES,
    Basis,
    BasisName,
    TukeyPlan,
    choose_models,
    fit_models,
    model_grid,
    passes_over,
    release_basis,
    rows_needed,
    tukey_plan,
)
from nolook.algorithms.tukey_published import Lemma, published_tukey
from nolook.errors import ParameterError, PrivateFitFailed, TooFewRows
from nolook.estimators._private import (
    PrivateRegressor,
    Progress,
    check_budget,
    progress_steps,
    spending,
)
from nolook.estimators._tables import training_table
from nolook.privacy import accounting
from nolook.privacy.guarantee import DEFAULT_DELTA
from nolook.privacy.ledger import Ledger
from nolook.privacy.mechanisms.tukey_depth import tukey_release
from nolook.privacy.noise import ByteSource, byte_source

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.tables import Table

__all__ = ["TukeyRegressor"]

_MOST_MODELS = 2**20
_ADVICE = "use a larger epsilon, fewer features or the default method; what was spent stays spent"


class TukeyRegressor(PrivateRegressor):
    """Linear regression that releases a deep one of many models (Amin et al., ICLR 2023).

    Every row draws a block; each block gets its own least-squares model; a private test asks
    whether the models lie close together, and if so one in their middle is released. No noise
    grows with the columns' units, and a few wild rows spoil a few models only. It needs some
    hundred models and a few rows more than coefficients for each: see :meth:`rows_needed`. See
    ``algorithms/tukey.md`` and ``privacy/mechanisms/tukey_depth.md`` for the proofs.

    Guarantee
    ---------
    Everything `fit` stores, and whether it fails, is (`epsilon`, `delta`)-differentially private
    when one row is added or removed, for every table without missing values; those are an error,
    raised before anything is spent. With ``guarantee="paper"`` nothing is promised.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    delta : float, default=1e-6
        Probability left for a larger loss, in (0, 1).
    n_models : int or "auto", default="auto"
        Number of blocks. "auto" spends 5 % of `epsilon` on a lower bound on the number of rows
        and takes a number that the test accepts, if there are rows for it. A number must not come
        from the table. Memory grows as n_models times the square of the number of columns.
    basis : {"private-whitening", "private-scaling", "raw"}, default="private-whitening"
        What the block models are fitted to: columns that a private scaling has standardised and
        clipped at six scales, and a private second-moment matrix has decorrelated; only
        standardised ones; or the columns as they are, as published, which have to fit in memory.
    guarantee : {"record", "paper"}, default="record"
        "paper" is the published mechanism, for reproduction only. Its proof holds when a whole
        model is added or removed. A row changes one model into another, which can cost twice
        the epsilon claimed, so `privacy_` then says that the result is NOT private.
    ptr : {"2023", "2022"}, default="2023"
        With ``guarantee="paper"``, the lemma of its test: 9.5 of Dick et al. (2023) or 3.6 of
        Amin et al. (2022).
    on_failure : {"raise", "constant"}, default="raise"
        What to do when the test fails or there are too few rows: raise, or predict the private
        median of the label everywhere (not with the raw basis, which knows none). What was spent
        stays spent.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, which `privacy_` then says.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients, in the columns' units.
    intercept_ : float
    failed_ : bool
        Whether the model is the constant of ``on_failure="constant"``.
    n_models_ : int or None
        Number of blocks; None if there were too few rows for any.
    r2_, rmse_ : float or None
        Estimates of the model's fit to the training rows, clipped at five scales; only for
        "private-whitening", whose second moments they come from.
    r2_interval_, rmse_interval_ : ndarray of shape (2,) or None
    scaling_ : Scaling
        Private centre, scale, low and high of each column, the label last.
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
    >>> model = TukeyRegressor(epsilon=1.0, delta=1e-6).fit(x, y)
    >>> model.coef_.shape
    (2,)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        n_models: int | str = "auto",
        basis: str = "private-whitening",
        guarantee: str = "record",
        ptr: str = "2023",
        on_failure: str = "raise",
        random_state: int | None = None,
    ) -> None:
        super().__init__(epsilon, delta, random_state)
        self.n_models = n_models
        self.basis = basis
        self.guarantee = guarantee
        self.ptr = ptr
        self.on_failure = on_failure

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
        TooFewRows
            If the private bound on the number of rows is too low. The budget is spent.
        PrivateFitFailed
            If the private test failed. The budget is spent.
        """
        plan, guarantee = self._plan()
        table = training_table(self, X, y)
        step = progress_steps(progress, passes_over(plan) + 2)
        source = byte_source(self.random_state)
        with spending(ledger, guarantee, "Tukey regression", table, step):
            basis = release_basis(table, plan, source, step)
            m = self._number_of_models(table, plan, source, step)
            released = None
            if m is not None:
                models = fit_models(table, basis, m, source, step)
                step("Tukey mechanism")
                released = self._release(models, plan, source)
        if self.on_failure == "raise" and released is None:
            self._fail(m, plan, table.n_columns)
        self.privacy_ = guarantee
        self.n_models_ = m
        self.failed_ = released is None
        self._store(basis, basis.constant() if released is None else basis.matrix @ released)
        return self

    def rows_needed(self, n_features: int) -> int:
        """Return how many rows a table needs, from the parameters alone.

        With so many rows ``n_models="auto"`` finds them enough with probability 0.9999. That the
        test then passes depends on the data; it is likely for all but very uneven ones.

        Parameters
        ----------
        n_features : int
            Number of features, without the label.

        Returns
        -------
        int

        Examples
        --------
        >>> TukeyRegressor(epsilon=1.0, delta=1e-6).rows_needed(5)
        6168
        """
        plan, _ = self._plan()
        if isinstance(self.n_models, str):
            return rows_needed(n_features + 1, plan)
        return self.n_models * (n_features + 1)

    def _plan(self) -> tuple[TukeyPlan, PrivacyGuarantee]:
        budget = check_budget(self.epsilon, self.delta)
        auto = isinstance(self.n_models, str)
        if isinstance(self.n_models, str):
            check_choice("n_models", self.n_models, ("auto",))
        else:
            check_count(self.n_models, "n_models", _MOST_MODELS)
        check_choice("basis", self.basis, BASES)
        check_choice("guarantee", self.guarantee, ("record", "paper"))
        check_choice("ptr", self.ptr, ("2023", "2022"))
        check_choice("on_failure", self.on_failure, ("raise", "constant"))
        if self.basis == "raw" and self.on_failure == "constant":
            raise ParameterError(
                "on_failure is 'constant' with basis 'raw'; expected 'raise' (nothing private is "
                "known of the label then)"
            )
        basis: BasisName = self.basis  # type: ignore[assignment]
        plan = tukey_plan(budget, basis, auto=auto)
        private = check_random_state(self.random_state) is None and self.guarantee == "record"
        guarantee = accounting.guarantee(
            plan.events(), budget, relation="add-remove", private=private
        )
        return plan, guarantee

    def _number_of_models(
        self, table: Table, plan: TukeyPlan, source: ByteSource, step: Callable[[str], None]
    ) -> int | None:
        if not isinstance(self.n_models, str):
            return check_count(self.n_models, "n_models", _MOST_MODELS)
        bound = rows_bound(table, plan.epsilon_rows, source, step)
        if self.guarantee == "paper":
            return max(1, bound // table.n_columns)
        return choose_models(bound, table.n_columns, plan)

    def _release(
        self, models: NDArray[np.float64], plan: TukeyPlan, source: ByteSource
    ) -> NDArray[np.float64] | None:
        """Release one of the models, None if the test fails."""
        grid = model_grid(plan.basis)
        points = grid.round(models)
        if self.guarantee == "paper":
            lemma: Lemma = self.ptr  # type: ignore[assignment]
            point = published_tukey(points, plan.epsilon, plan.delta, lemma, source)
        else:
            point = tukey_release(points, plan.rule(len(points)), source)
        return None if point is None else grid.values(point)

    def _fail(self, m: int | None, plan: TukeyPlan, d: int) -> None:
        if m is None:
            raise TooFewRows(
                "the private bound on the number of rows is too low: the Tukey mechanism needs "
                f"about {rows_needed(d, plan)} rows for {d - 1} features at epsilon = "
                f"{self.epsilon:g} ({_ADVICE})"
            )
        raise PrivateFitFailed(
            f"the private test of the Tukey mechanism failed with {m} models ({_ADVICE})"
        )

    def _store(self, basis: Basis, theta: NDArray[np.float64]) -> None:
        scaling = basis.scaling
        self.scaling_ = scaling
        self.label_range_ = (float(scaling.low[-1]), float(scaling.high[-1]))
        self.coef_, self.intercept_ = scaling.original_units(theta)
        if basis.moments is not None:
            fit = fit_measures(basis.moments, theta)
            self.r2_, self.r2_interval_ = fit.r2, fit.r2_interval
            self.rmse_, self.rmse_interval_ = fit.rmse, fit.rmse_interval

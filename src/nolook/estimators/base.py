"""The one order of every release: check, charge, read, run, store."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import compress
from typing import Any, ClassVar, Self

import numpy as np
from attrs import field
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.validation import check_is_fitted

from nolook._arrays import Flags, Interval, Intervals, Places, Vector
from nolook._numerics import undisturbed
from nolook.algorithms.glm.additive_inference import ColumnCurve
from nolook.algorithms.intervals import Measure as Estimate
from nolook.algorithms.scaling import NoisyCount, Scaling
from nolook.errors import ParameterError
from nolook.estimators._checks import check_budget
from nolook.estimators._outside import note_rows, warn_of_caller, warn_of_score
from nolook.estimators._parameters import AtLeast0, Declared, Positive, fitted
from nolook.estimators._tables import prediction_rows, training_table
from nolook.estimators.releasing import Progress, release, warn_of_delta
from nolook.estimators.result import Coefficient, Measure, Result
from nolook.kernels.moments import squared_norms
from nolook.kernels.row_products import row_products
from nolook.privacy.accounting import whole_mu
from nolook.privacy.guarantee import DEFAULT_DELTA, PrivacyGuarantee
from nolook.privacy.ledger import AnyLedger
from nolook.privacy.release import Plan, Release
from nolook.tables import Rows, Table

__all__ = [
    "PrivateEstimator",
    "PrivateModel",
    "PrivateRegressor",
    "exponential",
]


class PrivateEstimator(Declared, Result):
    """Base class of all private estimators.

    A subclass says what it releases and what it keeps: `plan` checks the parameters and makes the
    release; `_rows` turns the arguments of `fit` into a table and checks parameters against its
    columns; `_store` keeps the results. :func:`release` alone decides the order of all that,
    and when a ledger is charged. Parameters and attributes that a base class documents need no
    entry in a subclass's docstring: they are added to it.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss, above 0. Smaller protects more.
    delta : float, default=1e-6
        Probability of a larger loss, in (0, 1); choose it well below one over the number of rows.
    random_state : int or None, default=None
        For experiments only: any value but None makes the noise repeatable and the result NOT
        private, as `privacy_` then states.

    Attributes
    ----------
    privacy_ : PrivacyGuarantee
        The guarantee; its `unit` is what is protected: a row, or the unit that the table names.
    read_options_ : dict
        Arguments that make :func:`nolook.read_table` read another table in the same way.
    rows_ : NoisyCount or None
        The private number of rows; None if they were not counted. `value`, at least 1, is that of
        rows used (of units, if each counts once; with survey weights, the sum of the clipped
        weights), with noise of standard deviation `error`. `left_out` is that of rows left out (of
        units, if all their rows were), `undeclared` that of rows used with a value that is not a
        declared level, and `lost_error` the standard deviation of the noise of both.
    """

    random_state: int | None = field(default=None, kw_only=True)

    read_options_: dict[str, Any] = fitted()
    rows_: NoisyCount | None = fitted(None)

    #: What a ledger calls the release.
    _ledger_label: ClassVar[str]
    #: What it may measure of itself; each has an interval, too.
    _measured: ClassVar[tuple[str, ...]] = ()
    #: What is withheld where several rows of a unit count in full: they are not independent, and
    #: nothing tells how much less they say.
    _withheld_when_sampled: ClassVar[tuple[str, ...]] = ()

    #: Whether all rows must be in one memory, not only their sums.
    _needs_local_rows: ClassVar[bool] = False
    #: Whether a release has centres to stand for missing values.
    _imputes_centres: ClassVar[bool] = False

    @property
    def privacy(self) -> PrivacyGuarantee:
        """The guarantee of the fit."""
        check_is_fitted(self)
        return self.privacy_

    @property
    def read_options(self) -> dict[str, Any]:
        """Types and settings the columns of the fit were read with."""
        return self.read_options_

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measures of quality, as far as the method estimates them."""
        return tuple(
            Measure.of(name, getattr(self, f"{name}_"), getattr(self, f"{name}_interval_"))
            for name in self._measured
        )

    def _keep_measures(self, found: Mapping[str, Estimate | None]) -> None:
        for name, one in found.items():
            setattr(self, f"{name}_", one and one.value)
            setattr(self, f"{name}_interval_", one and one.ends)

    def plan(self) -> Plan[Any]:
        """Check the parameters; return what a fit will release and cost.

        Reads no data, so a pipeline can charge all its fits before the first one runs.

        Returns
        -------
        Plan
            Its `guarantee` becomes `privacy_`.

        Raises
        ------
        ParameterError
            If a parameter is out of range, or the budget too small for any noise.
        """
        budget = check_budget(self.epsilon, self.delta)
        return Plan.of(self._release(whole_mu(budget)), budget, self.random_state)

    def _release(self, mu: float) -> Release[Any]:
        """Check the method's own parameters; return the release that a mu pays for."""
        raise NotImplementedError

    def fit(
        self,
        X: Table | ArrayLike,
        y: ArrayLike | None = None,
        *,
        ledger: AnyLedger = None,
        progress: Progress | None = None,
    ) -> Self:
        """Charge the ledger, read the table, and keep what is released.

        Parameters
        ----------
        X : Table, array or frame of shape (n_samples, n_features)
            A `Table` from :func:`nolook.read_table` is read in bounded memory, as often as needed.
        y : array of shape (n_samples,), optional
            The target; left out if X is a `Table`, or if the estimator needs none.
        ledger : Ledger or path-like, optional
            Charged before the data are read.
        progress : callable, optional
            Called with a step's name, the number of steps done and how many there are at most.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is out of range. Nothing is charged.
        TableError
            If the arguments are not a table of numbers. Nothing is charged.
        BudgetExceededError
            If the ledger has too little left. The data are not read.
        PrivateFitFailed
            If a method's private test fails. The budget is spent.
        """
        return self._fit(X, y, ledger, progress)

    def _fit(self, X: object, y: object, ledger: AnyLedger, progress: Progress | None) -> Self:
        plan = self.plan()
        warn_of_caller()
        with self._all_or_nothing():
            rows = partial(self._open, X, y)
            release(plan, rows, self._ledger_label, self._keep, ledger, progress)
        note_rows(self, X.X if isinstance(X, Rows) else X)
        # After all is kept: a warning that was made an error must not lose what is paid for.
        warn_of_delta(self.privacy_, self.rows_)
        return self

    def _open(self, X: object, y: object) -> Table:
        """Return the rows; refuse those that an engine such as Spark reads, if they must be here.

        Parameters alone decide that: how many rows there are is private.
        """
        rows: Table = self._rows(X, y)
        if rows.engine is not None and self._needs_local_rows:
            raise ParameterError(
                f"{type(self).__name__} needs all rows in one memory, but {rows.engine} reads them "
                "where they are; expected a method that needs sums only (such as LinearRegression "
                f"or MomentSelector), sample='auto' of a selector, or a table read without "
                f"{rows.engine}"
            )
        return rows

    def _keep(self, released: Any, guarantee: PrivacyGuarantee) -> None:  # noqa: ANN401
        self.privacy_ = guarantee
        self._store(released)
        self.rows_ = self.rows_ and self.rows_.totals(guarantee.unit)
        if guarantee.unit.max_rows > 1:
            for name in self._withheld_when_sampled:
                setattr(self, name, None)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Replace the results of an earlier fit, or keep them all if this one fails."""
        before = dict(vars(self))
        for name in before:
            if name.endswith("_"):
                delattr(self, name)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _rows(self, X: object, y: object) -> Any:  # noqa: ANN401 -- what the release reads
        """Return the table to be released, by default one with a target; remember its columns.

        Parameters are checked against the declared columns here, before anything is charged.
        """
        return training_table(self, X, y)

    def _store(self, released: Any) -> None:  # noqa: ANN401
        """Keep the release as fitted attributes."""
        raise NotImplementedError

    def _keep_rows(self, rows: NoisyCount | None) -> None:
        """Keep the number of rows, if they were counted."""
        if rows is not None and rows.error < math.inf:
            self.rows_ = rows

    @property
    def rows(self) -> NoisyCount | None:
        """The private number of rows, if they were counted."""
        return self.rows_

    def _html_repr(self) -> str:
        """Return the HTML shown in a notebook: the result, or else scikit-learn's own diagram."""
        return self.summary().html if hasattr(self, "privacy_") else str(super()._html_repr())

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Return scikit-learn's tags: noise makes two fits differ."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = getattr(self, "random_state", None) is None
        tags.input_tags.allow_nan = True  # rows that lack a value are left out of a fit
        return tags


class PrivateModel(PrivateEstimator):
    """Base class of all models with coefficients.

    `_store` sets the attributes; a method that estimates more documents it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients, on the scale of the columns.
        One without an interval may be noise only: it is for predictions, and
        :meth:`to_frame` has NaN there.
    intercept_ : float
    coef_interval_, intercept_interval_ : None
        This method has no intervals. Methods that have them return none if several rows of a unit
        count in full.
    scaling_ : Scaling
        Centre, scale and range of each column, the target last: found privately, unless public
        bounds were given.
    failed_ : bool
        Whether the model is a constant because a private test failed, or because the 95 % interval
        of the released R2 has no values above 0.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns have names.
    """

    _withheld_when_sampled: ClassVar[tuple[str, ...]] = ("coef_interval_", "intercept_interval_")

    #: The measure that is 0 for a constant.
    _gain: ClassVar[str] = "r2"
    #: The name of a coefficient's exponential, where that is what one reads.
    _ratio: ClassVar[str] = ""

    epsilon: float = 1.0
    delta: float = DEFAULT_DELTA

    scaling_: Scaling = fitted()
    coef_: Vector = fitted()
    intercept_: float = fitted()
    coef_interval_: Intervals | None = fitted(None)
    intercept_interval_: Interval | None = fitted(None)
    clipped_share_: Vector | None = fitted(None)
    chosen_: Places | None = fitted(None)
    curves_: tuple[ColumnCurve, ...] = fitted(())
    level_sets_: tuple[tuple[str, ...], ...] = fitted(())
    row_norm_: AtLeast0 = fitted(math.inf)
    weight_norm_: Positive = fitted(math.inf)
    failed_: bool = fitted(False)
    detected_: bool = fitted(True)

    def _fit(self, X: object, y: object, ledger: AnyLedger, progress: Progress | None) -> Self:
        super()._fit(X, y, ledger, progress)
        known = getattr(self, f"{self._gain}_interval_", None)
        if not self.detected_:
            self._hide()
        elif known is not None and known[1] <= 0.0 and self.coef_.any():
            self._replace_by_constant()
        return self

    def _hide(self) -> None:
        """Keep less where nothing is detected."""

    def _replace_by_constant(self) -> None:
        """Release a constant instead, which predicts no worse than the model."""

    def _keep_constant(self, intercept: float) -> None:
        """Keep a constant: the association is no more than noise."""
        self.coef_, self.intercept_ = np.zeros(self.n_features_in_), intercept
        self.__dict__.pop("curves_", None)
        self.coef_interval_ = self.intercept_interval_ = None
        self._keep_measures(dict.fromkeys(set(self._measured) - {"base_rate"}))

    @property
    def selection(self) -> PrivateEstimator | None:
        """The selector that chose its columns, if they were chosen by a release of their own."""
        return vars(self).get("selector_")

    @property
    def regression(self) -> PrivateModel:
        """Itself, or the part that has coefficients."""
        return vars(self).get("regressor_", self)  # type: ignore[no-any-return]

    @property
    def parts(self) -> tuple[tuple[str, PrivacyGuarantee], ...]:
        """The selection, if there is one, and the regression."""
        chosen = () if self.selection is None else (("selection", self.selection.privacy),)
        return *chosen, ("regression", self.regression.privacy)

    @property
    def considered(self) -> Flags:
        """Mask of the features that may have a coefficient: all, or those chosen by the release."""
        places = np.arange(len(self.coef_))
        return np.isin(places, places if self.chosen_ is None else self.chosen_)

    @property
    def dropped(self) -> Flags:
        """Mask of the features left out, since they are not distinguishable from noise."""
        part = self.regression
        return np.asarray(~part.scaling_.detected[:-1] & (part.coef_ == 0.0))

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The coefficients of the features in use and, last, the intercept."""
        part = self.regression
        unknown = np.full((len(part.coef_), 2), np.nan)
        ends = unknown if part.coef_interval_ is None else part.coef_interval_
        numbers = np.column_stack([part.coef_, ends])
        with np.errstate(over="ignore"):
            effects = np.nan_to_num(numbers * part.scaling_.scale[:-1, None])
        used = part.detected_ & part.considered & ~part.dropped
        columns = zip(part.scaling_.names[:-1], numbers.tolist(), effects.tolist(), strict=True)
        found = [
            Coefficient(name, value, None, effect, None)
            if math.isnan(sum(interval))
            else Coefficient(name, value, tuple(interval), effect, tuple(effect_interval))
            for name, (value, *interval), (effect, *effect_interval) in compress(columns, used)
        ]
        last = part.intercept_interval_
        known = None if last is None else (last[0], last[1])
        return *found, Coefficient("intercept", part.intercept_, known, math.nan, None)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the target; inputs are clipped as in training, numbers to `target_range_`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Of a frame that has more columns, those of the fit are taken by name.

        Returns
        -------
        ndarray of shape (n_samples,)
            Of a classifier the likelier class of each row, an entry of `classes_`.

        Raises
        ------
        TableError
            If X is not a table of numbers, or has a missing or infinite value (unless the model was
            fitted with ``missing="centre"``).
        ValueError
            If its columns are not those of the fit.
        """
        rows = prediction_rows(self, X)
        with undisturbed():
            return self._predict(rows)

    def _predict(self, rows: Vector) -> NDArray[Any]:
        """Predict for rows of the fit's columns, shape (rows, features); NaN where none is."""
        raise NotImplementedError

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R2, or a classifier's accuracy. On private rows it is not private, as warned."""
        warn_of_score(self, X)
        mixin = ClassifierMixin if is_classifier(self) else RegressorMixin
        return float(mixin.score(self, X, y, sample_weight))

    def _clipped(self, rows: Vector) -> Vector:
        """Clip rows of the fit's columns as in training; NaN stands for a column's centre."""
        scaling = self.scaling_
        rows = np.where(np.isnan(rows), scaling.center[:-1], rows)
        return rows.clip(scaling.low[:-1], scaling.high[:-1])

    def _linear_predictor(self, rows: Vector) -> Vector:
        """Return intercept and slopes times rows of the fit's columns, clipped as in training."""
        return np.asarray(self.intercept_ + row_products(self._clipped(rows).T, self.coef_))

    def _store_scaling(self, scaling: Scaling) -> None:
        self.scaling_ = scaling
        self.detected_ = bool(scaling.detected[-1])
        self._keep_rows(scaling.rows)

    def _columns(self) -> dict[str, Any]:
        found = self.coefficients
        low, high = np.array([one.ends or (np.nan, np.nan) for one in found]).T
        # Without an interval nothing is known of a coefficient.
        values = np.array([one.value if one.ends else np.nan for one in found])
        made = {"column": [c.name for c in found], "coefficient": values, "low": low, "high": high}
        ratio = self.regression._ratio
        if not ratio:
            return made | {"times_scale": [one.effect if one.ends else np.nan for one in found]}
        ends = {ratio: values, f"{ratio}_low": low, f"{ratio}_high": high}
        # That of the intercept, the last, is no ratio.
        return made | {n: exponential(np.append(own[:-1], np.nan)) for n, own in ends.items()}


class PrivateRegressor(RegressorMixin, PrivateModel):  # type: ignore[misc]
    """Base class of all models of a number: their budget, and the predictions of a fitted one.

    Attributes
    ----------
    median_error_, p90_error_ : None
        This method does not estimate the size of its errors.
    median_error_interval_, p90_error_interval_ : None
    r2_, rmse_ : None
        This method does not estimate its fit.
    r2_interval_, rmse_interval_ : None
    row_norm_ : float
        Longer rows (1, x), x standardised, are shrunk to this norm; infinite if they are not.
    target_range_ : tuple of float
        Predictions are clipped to this range.
    detected_ : bool
        Whether the target was distinguishable from noise. If not, the model is a constant, the
        private centre of the target, and nothing else is estimated. The budget is spent all the
        same.
    """

    kind = "linear model"
    _measured: ClassVar[tuple[str, ...]] = ("median_error", "p90_error", "r2", "rmse")

    target_range_: tuple[float, float] = fitted()
    r2_: float | None = fitted(None)
    r2_interval_: Interval | None = fitted(None)
    median_error_: AtLeast0 | None = fitted(None)
    median_error_interval_: Interval | None = fitted(None)
    p90_error_: AtLeast0 | None = fitted(None)
    p90_error_interval_: Interval | None = fitted(None)
    rmse_: float | None = fitted(None)
    rmse_interval_: Interval | None = fitted(None)

    questions = ("predict",)
    score = PrivateModel.score

    def _replace_by_constant(self) -> None:
        self.failed_ = True
        self._hide()

    def _hide(self) -> None:
        """Keep the target's centre alone: nothing that is made of noise may pass for a model."""
        self._keep_constant(float(self.scaling_.center[-1]))

    def _predict(self, rows: Vector) -> Vector:
        """Predict for rows of the fit's columns, shape (rows, features); NaN where none is.

        Only a model whose policy is "centre" is given NaN.
        """
        target = self._linear_predictor(rows)
        if self.row_norm_ < math.inf:
            scaling = self.scaling_
            standard = (self._clipped(rows) - scaling.center[:-1]) / scaling.scale[:-1]
            # Features that the model leaves out are in no row's norm.
            standard = standard[:, scaling.detected[:-1] | (self.coef_ != 0.0)]
            norms = np.hypot(1.0, np.sqrt(squared_norms(standard.T)))
            center = scaling.center[-1]
            target = center + np.minimum(1.0, self.row_norm_ / norms) * (target - center)
        return np.asarray(target.clip(*self.target_range_))

    def _store_model(self, scaling: Scaling, theta: Vector) -> None:
        """Keep a model of standardised columns, in their original units, and the scaling."""
        self._store_scaling(scaling)
        self.coef_, self.intercept_ = scaling.original_units(theta)

    def _store_scaling(self, scaling: Scaling) -> None:
        super()._store_scaling(scaling)
        self.target_range_ = (float(scaling.low[-1]), float(scaling.high[-1]))


def exponential(logarithms: Vector) -> Vector:
    """Return exponentials, cut at the largest number."""
    with np.errstate(over="ignore"):
        return np.minimum(np.exp(logarithms), np.finfo(np.float64).max)

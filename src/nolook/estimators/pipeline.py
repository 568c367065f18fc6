"""Feature selection and regression within one budget."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from attrs import evolve, frozen
from sklearn.base import clone, is_classifier
from sklearn.utils.metaestimators import available_if

from nolook._arrays import Vector
from nolook._language import parameter_name
from nolook._validation import check_fraction
from nolook.algorithms.selection_plan import Beside
from nolook.errors import ParameterError, PrivateFitFailed
from nolook.estimators._checks import check_budget
from nolook.estimators._chosen import check_selected
from nolook.estimators._classes import class_table
from nolook.estimators._parameters import fitted
from nolook.estimators._selector import PrivateSelector
from nolook.estimators._tables import training_table
from nolook.estimators.base import PrivateRegressor
from nolook.estimators.logistic import LogisticRegression
from nolook.privacy.accounting import gaussian_part, in_sequence, whole_mu
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import DEFAULT_DELTA, Event, GaussianEvent
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep, Plan, for_rows_per_unit
from nolook.tables import Table

__all__ = ["PrivatePipeline"]

# What the regression says of the columns chosen, or of its own part: not of the whole pipeline.
_OWN = frozenset({
    "n_features_in_", "feature_names_in_", "coef_", "coef_interval_", "chosen_", "clipped_share_",
    "weight_norm_", "influence_bound_", "smearing_", "privacy_", "read_options_",
})  # fmt: skip


@frozen
class _InSequence:
    """A selection, then the regression on what it chose; each part draws as it does by itself."""

    selector: PrivateSelector
    regressor: PrivateRegressor

    #: The parts.
    progress_steps: ClassVar[int] = 2

    def events(self) -> tuple[Event, ...]:
        """Return the release of both parts."""
        parts = (self.selector.plan(), self.regressor.plan())
        return tuple(event for part in parts for event in part.guarantee.mechanisms)

    def for_rows_per_unit(self, most: int) -> _InSequence:
        """Return itself, since each part adapts itself to the unit; refuse a part that cannot."""
        for part in (self.selector, self.regressor):
            for_rows_per_unit(part.plan().release, most)
        return self

    def run(
        self, table: Table, _: ByteSource, progress: OnStep
    ) -> tuple[PrivateSelector, PrivateRegressor, PrivateFitFailed | None]:
        """Fit both parts; a failed test of the regressor is an outcome too."""
        progress("selection")
        self.selector.fit(table)
        progress("regression")
        try:
            self.regressor.fit(table.select(self.selector.support_))
        except PrivateFitFailed as failure:
            return self.selector, self.regressor, failure
        return self.selector, self.regressor, None


def _has_classes(pipeline: PrivatePipeline) -> bool:
    """Tell whether a pipeline ends in a classifier."""
    return bool(is_classifier(pipeline.regressor))


class PrivatePipeline(PrivateRegressor):
    """A private selector followed by a private regressor, charged at once.

    Guarantee
    ---------
    Everything `fit` stores is (`epsilon`, `delta`)-differentially private when one row is added or
    removed. The selection gets ``split * epsilon`` (and ``split * delta`` if it needs any), the
    regression the rest; epsilons and deltas add up. If the losses of both can be composed more
    tightly, the selection also gets the budget that this saves, so the parts' own epsilons add up
    to more than `epsilon`: for features selected one after another, and for parts that draw only
    Gaussian noise, where the squares of mu add up. If either part is not private, the pipeline is
    not private.

    Parameters
    ----------
    selector : selector
        For example :class:`nolook.KendallSelector`; its own `epsilon` is replaced.
    regressor : regressor
        For example :class:`nolook.TukeyRegressor`; its own `epsilon` and `delta` are replaced.
    split : float, default=0.2
        The selection's share of the budget, between 0 and 1.

    Attributes
    ----------
    selector_, regressor_ : fitted estimators
    support_ : ndarray of bool, shape (n_features_in_,)
        Which features were chosen.
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients, on the scale of the columns; 0 for features that were not chosen.
    coef_interval_, intercept_interval_ : None
        Intervals would not hold after a choice made with the same rows, nor do bands of curves.
    r2_, rmse_ : float or None
        Those of `regressor_`; None if its method does not estimate them.
    r2_interval_, rmse_interval_ : ndarray of shape (2,) or None
    scaling_ : Scaling
        That of `regressor_`: centre, scale, low and high of each chosen column, the target last.
    spread_ : Spread or None
        That of `regressor_`, if its method whitens rows; otherwise None.

    See Also
    --------
    LinearRegression : With `k`, selects and fits within one release.

    Examples
    --------
    >>> import numpy as np
    >>> import nolook
    >>> x = np.arange(40_000.0).reshape(-1, 4) ** 2 % 977
    >>> pipeline = PrivatePipeline(nolook.KendallSelector(k=1), nolook.LinearRegression())
    >>> pipeline.fit(x, x[:, 2] + 5).support_
    array([False, False,  True, False])
    """

    def __init__(
        self,
        selector: PrivateSelector,
        regressor: PrivateRegressor,
        epsilon: float = 1.0,
        delta: float = DEFAULT_DELTA,
        split: float = 0.2,
    ) -> None:
        super().__init__(epsilon, delta)
        self.selector = selector
        self.regressor = regressor
        self.split = split

    spread_: Any = fitted(None)

    kind = "pipeline"
    _ledger_label = "feature selection and regression"

    @property
    def _measured(self) -> tuple[str, ...]:  # type: ignore[override]
        """The measures of its regression."""
        return self.regressor_._measured

    @property
    def questions(self) -> tuple[str, ...]:  # type: ignore[override]
        """The questions that the regression answers."""
        return self.regressor.questions

    @property
    def _needs_local_rows(self) -> bool:  # type: ignore[override]
        return self.selector._needs_local_rows or self.regressor._needs_local_rows

    @property
    def _imputes_centres(self) -> bool:  # type: ignore[override]
        return self.selector._imputes_centres and self.regressor._imputes_centres

    def plan(self) -> Plan[Any]:
        """Split the budget between copies of the parts; return what a fit will release and cost."""
        budget = check_budget(self.epsilon, self.delta)
        split = check_fraction(self.split, "split")
        selector, regressor = clone(self.selector), clone(self.regressor)
        for name in ("k", "exposure", "straight", "monotone"):
            asked = "regressor__k" if name == "k" else name  # the selection has a k, too
            if (value := regressor.get_params().get(name)) is not None:
                raise ParameterError(
                    f"{parameter_name(asked)} is {value!r} in a pipeline, whose "
                    "selection decides which columns are left (omit it, or the selection)"
                )
        if _has_classes(self):
            # The table that both parts read has them as 0 and 1.
            regressor.set_params(classes=None)
        first = split * budget.epsilon
        selector.set_params(epsilon=with_room(first))
        own = split * budget.delta
        if "delta" in selector.get_params():
            selector.set_params(delta=own if selector.needs_delta() else 0.0)
        selection = selector.plan().guarantee
        regressor.set_params(epsilon=budget.epsilon - first, delta=budget.delta - selection.delta)
        parts = [selection, regressor.plan().guarantee]
        # Gaussian noise alone adds up by the squares of its mu.
        if all(isinstance(event, GaussianEvent) for part in parts for event in part.mechanisms):
            taken = (e.mu**2 for e in parts[1].mechanisms if isinstance(e, GaussianEvent))
            share = sum(taken) / whole_mu(budget) ** 2
            for part, own in ((selector, 1.0 - share), (regressor, share)):
                part.set_params(**gaussian_part(budget, own).to_dict())
            parts = [selector.plan().guarantee, regressor.plan().guarantee]
        else:
            selector._beside = Beside(parts[1].mechanisms, budget, own)
            parts[0] = selector.plan().guarantee
        return Plan(_InSequence(selector, regressor), in_sequence(parts, budget), None)

    def _rows(self, X: object, y: object) -> Table:
        if _has_classes(self):
            table, self.classes_ = class_table(self, X, y, self.regressor.classes)
        else:
            table = training_table(self, X, y)
        check_selected(self.selector.k, self.n_features_in_)
        return table

    def _store(
        self, released: tuple[PrivateSelector, PrivateRegressor, PrivateFitFailed | None]
    ) -> None:
        selector, regressor, failure = released
        if failure is not None:
            raise failure
        self.keep_parts(selector, regressor)

    def keep_parts(self, selector: PrivateSelector, regressor: PrivateRegressor) -> None:
        """Keep the fitted parts, and the results of the whole pipeline."""
        if hasattr(self, "classes_"):
            regressor.classes_ = self.classes_
        # No interval holds its level for columns that were chosen with the same rows.
        regressor.coef_interval_ = regressor.intercept_interval_ = None
        if regressor.curves_:
            regressor.curves_ = tuple(evolve(curve, band=None) for curve in regressor.curves_)
        self.selector_, self.regressor_ = selector, regressor
        self.support_ = selector.support_
        self.coef_ = np.zeros(len(self.support_))
        self.coef_[self.support_] = regressor.coef_
        for name, value in vars(regressor).items():
            if name.endswith("_") and name not in _OWN:
                setattr(self, name, value)

    def _predict(self, rows: Vector) -> Vector:
        return self.regressor_._predict(rows[:, self.support_])

    def _hide(self) -> None:
        """Keep what its regression kept: a constant, or hardly more."""

    def _linear_predictor(self, rows: Vector) -> Vector:
        return np.asarray(self.regressor_._linear_predictor(rows[:, self.support_]))

    decision_function = available_if(_has_classes)(LogisticRegression.decision_function)
    predict_proba = available_if(_has_classes)(LogisticRegression.predict_proba)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 -- scikit-learn's own untyped class
        """Say whether the model after the selection has classes."""
        tags = super().__sklearn_tags__()
        if _has_classes(self):
            own = self.regressor.__sklearn_tags__()
            tags.estimator_type, tags.classifier_tags = own.estimator_type, own.classifier_tags
            tags.regressor_tags = None
        return tags

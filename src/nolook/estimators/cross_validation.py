"""Error of a model on rows it has not seen, within one budget."""

from __future__ import annotations

from functools import partial
from inspect import signature
from itertools import chain
from typing import Any, TypeVar

from attrs import evolve, frozen
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier

from nolook._validation import check_count, check_random_state
from nolook.algorithms.cross_validation import HeldOutRelease, draw_folds
from nolook.algorithms.evaluation import ScoresRelease, scores_release
from nolook.errors import ParameterError, PrivateFitFailed
from nolook.estimators._checks import check_budget
from nolook.estimators._model_scores import ModelScores
from nolook.estimators.base import PrivateEstimator
from nolook.estimators.folds import CrossValidation, Found, cross_validated
from nolook.estimators.releasing import Progress, release, warn_of_delta
from nolook.privacy import accounting
from nolook.privacy.accounting import gaussian_part, in_sequence, whole_mu
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import DEFAULT_DELTA, Budget, Event, GaussianEvent
from nolook.privacy.ledger import AnyLedger
from nolook.privacy.noise import ByteSource
from nolook.privacy.release import OnStep, Plan, for_rows_per_unit
from nolook.tables import Table
from nolook.tables.views import folds_of

__all__ = ["FoldsInSequence", "cross_validate"]

_MOST_FOLDS = 100
_Part = TypeVar("_Part")


@frozen
class FoldsInSequence:
    """A model of the rows outside each fold, judged on the rows in it.

    Guarantee: that of `folds` - 1 fits and one evaluation in sequence, when a row is added or
    removed, or a unit with all its rows. No table raises.

    Parameters
    ----------
    folds : int
        k, from 2 to 255.
    estimator : estimator
        With the budget of one fit.
    release : HeldOutRelease or ScoresRelease
        Judges a model.
    """

    folds: int
    estimator: Any
    release: HeldOutRelease | ScoresRelease

    @property
    def progress_steps(self) -> int:
        """One to draw folds, then two for each."""
        return 1 + 2 * self.folds

    def of_a_row(self, fit: _Part, evaluation: _Part) -> list[_Part]:
        """Return the events of one row: all fits except that of its own fold, which evaluates it.

        One evaluation stands for all, which are of disjoint rows.
        """
        return [*[fit] * (self.folds - 1), evaluation]

    def events(self) -> tuple[Event, ...]:
        """State what a row takes part in."""
        fit: tuple[Event, ...] = self.estimator.plan().guarantee.mechanisms
        return tuple(chain(*self.of_a_row(fit, self.release.events())))

    def for_rows_per_unit(self, most: int) -> FoldsInSequence:
        """Return the same fits, which adapt themselves to the unit; refuse those that cannot."""
        for_rows_per_unit(self.estimator.plan().release, most)
        return evolve(self, release=self.release.for_rows_per_unit(most))

    def run(
        self, table: Table, source: ByteSource, progress: OnStep
    ) -> list[tuple[Any, Found | None]]:
        """Return the model of each fold with what was found of it; None where a fit failed."""
        progress("folds")
        released = []
        # Drawn once: another draw for another pass would put a row into several evaluations.
        pairs = folds_of(table, self.folds, partial(draw_folds, self.folds, source))
        for number, (rest, part) in enumerate(pairs, 1):
            progress(f"fit {number}")
            model = self.fit(rest, number)
            progress(f"evaluation {number}")
            released.append((model, None if model is None else self.judge(model, part, source)))
        return released

    def fit(self, table: Table, number: int) -> Any | None:  # noqa: ANN401
        """Return the model of a fold; None if its private test failed."""
        model = clone(self.estimator)
        seeds = {
            name: value + number
            for name, value in model.get_params().items()
            if name.endswith("random_state") and value is not None
        }
        try:
            return model.set_params(**seeds).fit(table)
        except PrivateFitFailed:
            return None

    def judge(self, model: Any, table: Table, source: ByteSource) -> Found:  # noqa: ANN401
        """Release how good a model is on rows that it has not seen."""
        predicted = ModelScores(model).beside(table, table.target_name)
        if isinstance(self.release, ScoresRelease):
            return self.release.run(predicted, source, lambda _: None)
        scaling = model.scaling_
        center, scale = float(scaling.center[-1]), float(scaling.scale[-1])
        return self.release.run(predicted, center, scale, source)


def cross_validate(  # noqa: PLR0913 -- all but three by keyword
    estimator: Any,  # noqa: ANN401
    X: Table | ArrayLike,
    y: ArrayLike | None = None,
    *,
    folds: int = 5,
    epsilon: float = 1.0,
    delta: float = DEFAULT_DELTA,
    ledger: AnyLedger = None,
    progress: Progress | None = None,
    random_state: int | None = None,
) -> CrossValidation:
    """Cross-validate a model within one budget.

    The score is the mean over the folds of R2, ``1 - sum (y_i - p_i)**2 / sum (y_i - mean)**2``, or
    of the AUC for two classes, on the rows of a fold, for a model fitted to all others. Each row,
    or unit, draws its fold at random, so folds differ in size. A row is in one evaluation and in
    all fits but one: as many releases as there are folds, each with an equal share of the budget.
    Models are therefore noisier than one fitted with the whole budget, and scores lower; compare
    them only with each other. Proof: ``algorithms/cross_validation.md``.

    Guarantee
    ---------
    Everything in the result, the models included, is (`epsilon`, `delta`)-differentially private
    when one row is added or removed, or a unit with all its rows.

    Parameters
    ----------
    estimator : estimator of nolook that predicts
        A regression, a classifier, or a pipeline from :class:`nolook.PrivatePipeline`; its own
        `epsilon` and `delta` are replaced, and copies of it are fitted. Its settings must not have
        been chosen by looking at the rows; nolook cannot check this.
    X : Table, array or frame of shape (n_samples, n_features)
        The rows. A source without a fixed row order is refused.
    y : array of shape (n_samples,), optional
        The target; left out if X is a Table.
    folds : int, default=5
        From 2 to 100.
    epsilon, delta : float
        Privacy loss of everything together, above 0, and the probability of a larger one, in (0,
        1).
    ledger, progress : optional
        As for :meth:`nolook.LinearRegression.fit`; the ledger is charged once.
    random_state : int or None, default=None
        For experiments only: any value but None makes the result NOT private.

    Returns
    -------
    CrossValidation
        R2 of each fold for numbers: deviations from the mean and from the prediction count as at
        most 4 scales of the target. AUC for two classes. Intervals cover noise and sampling, but
        not the random folds.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the estimator cannot be cross-validated. Nothing is
        charged.
    TableError
        If X and y are not a table of numbers. Nothing is charged.
    BudgetExceededError
        If the ledger has too little left. The data are not read.

    See Also
    --------
    evaluate : Evaluates one fitted model on given rows.

    Examples
    --------
    >>> import numpy as np
    >>> import nolook
    >>> generator = np.random.default_rng(0)
    >>> X = generator.normal(size=(20_000, 2))
    >>> y = X[:, 0] + 0.5 * generator.normal(size=20_000)
    >>> found = cross_validate(nolook.LinearRegression(), X, y, folds=3, epsilon=2.0)
    >>> bool(abs(found.mean.value - 0.8) < 0.1)
    True
    """
    budget = check_budget(epsilon, delta)
    count = check_count(folds, "folds", _MOST_FOLDS)
    if count < 2:
        raise ParameterError("folds is 1; expected at least 2 (rows outside each fold are fitted)")
    if not isinstance(estimator, PrivateEstimator) or not hasattr(estimator, "predict"):
        raise ParameterError(
            f"estimator is of type {type(estimator).__name__}; expected a regression or classifier "
            "of nolook (before it, a selector by nolook.PrivatePipeline)"
        )
    model = clone(estimator)
    usual = signature(type(estimator)).parameters.get("epsilon")
    own = getattr(estimator, "epsilon", None)
    if usual is not None and own not in (usual.default, epsilon):
        raise ParameterError(
            f"the estimator's epsilon is {own!r}, which is not used: all folds share epsilon "
            f"{epsilon!r} of cross_validate (give it there, and leave the estimator's out)"
        )
    plan = _plan(model, budget, count, random_state)
    table: Table = model._rows(X, y)
    table.check_here()

    keep = partial(cross_validated, model, table)
    found = release(plan, lambda: table, "cross-validation", keep, ledger, progress)
    warn_of_delta(found.privacy, found.rows)
    return found


def _plan(
    model: PrivateEstimator, budget: Budget, folds: int, random_state: int | None
) -> Plan[list[tuple[Any, Found | None]]]:
    """Split the budget between the fits and the evaluation that a row takes part in."""
    fitted = clone(model)
    if random_state is not None:
        names = [name for name in fitted.get_params() if name.endswith("random_state")]
        fitted.set_params(**dict.fromkeys(names, random_state))
    fits, judging = _shares(fitted, budget, folds)
    # The table that all fits read has its classes as 0 and 1.
    names = [name for name in fitted.get_params() if name.split("__")[-1] == "classes"]
    fitted.set_params(**fits.to_dict(), **dict.fromkeys(names))
    release: HeldOutRelease | ScoresRelease
    if is_classifier(model):
        release = scores_release(judging.epsilon, bounds=(0.0, 1.0))
    else:
        release = HeldOutRelease(whole_mu(judging))
    part = fitted.plan().guarantee
    if part.relation != "add-remove":
        raise ParameterError(
            f"estimator promises relation {part.relation!r}; expected 'add-remove'"
        )
    seed = check_random_state(random_state)
    judged = accounting.guarantee(
        release.events(), judging, relation="add-remove", private=seed is None
    )
    sequence = FoldsInSequence(folds, fitted, release)
    return Plan(sequence, in_sequence(sequence.of_a_row(part, judged), budget), seed)


def _shares(model: Any, budget: Budget, folds: int) -> tuple[Budget, Budget]:  # noqa: ANN401
    """Return the budget of each fit and of each evaluation: equal shares.

    Where all noise is Gaussian that is a share of mu^2, otherwise of epsilon and delta.
    """
    pure = is_classifier(model)
    own = with_room(budget.epsilon / folds)
    delta = with_room(budget.delta / folds)
    judging = Budget(own, 0.0 if pure else delta)
    events = model.set_params(**budget.to_dict()).plan().guarantee.mechanisms
    if not all(isinstance(event, GaussianEvent) for event in events):
        return Budget(own, with_room(budget.delta / (folds - 1)) if pure else delta), judging
    rest, parts = budget, folds
    if pure:
        rest, parts = Budget(with_room(budget.epsilon - own), budget.delta), folds - 1
    equal = gaussian_part(rest, 1.0 / parts)
    return equal, judging if pure else equal

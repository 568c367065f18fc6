"""How well a model does on rows it has not seen, within one budget."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier

from nolook._validation import check_count, check_random_state
from nolook.algorithms.cross_validation import (
    QUANTILE,
    Estimate,
    FoldsInSequence,
    HeldOut,
    HeldOutRelease,
    explained,
    mean_of,
    shown,
)
from nolook.algorithms.evaluation import EvaluationRelease, Judged, evaluation_release
from nolook.errors import ParameterError, PrivateFitFailed
from nolook.estimators._model_scores import ModelScores
from nolook.estimators._scores import Scored
from nolook.estimators.base import PrivateEstimator, check_budget, whole_mu
from nolook.estimators.catalogue import called
from nolook.estimators.evaluation import Asked, Evaluation, beside_target, evaluation_of
from nolook.estimators.making import Progress, make_release
from nolook.estimators.pipeline import PrivatePipeline
from nolook.estimators.result import Result
from nolook.privacy import accounting
from nolook.privacy.accounting import gaussian_epsilon, in_sequence
from nolook.privacy.budgets import with_room
from nolook.privacy.guarantee import DEFAULT_DELTA, Budget, Event, GaussianEvent
from nolook.privacy.release import Plan
from nolook.tables import Table
from nolook.tables.folds import check_order
from nolook.tables.scored import ScoredTable
from nolook.tables.table import View

if TYPE_CHECKING:
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.privacy.ledger import Ledger
    from nolook.privacy.noise import ByteSource

__all__ = ["CrossValidation", "cross_validate"]

_MOST_FOLDS = 100
_GROUPS = 10

#: What one evaluation gives: squared errors, or scores of two classes.
_Found = HeldOut | Judged


@dataclass(frozen=True)
class CrossValidation(Result):
    """What was found of a model by cross-validation: one release, one guarantee.

    Made by :func:`nolook.cross_validate`.

    Parameters
    ----------
    measure : {"R2", "AUC"}
        What scores are: R2 of numbers, or the area under the ROC curve of two classes.
    scores : tuple of Estimate or None
        That of each fold: its `value`, the standard deviation of its noise, `error`, and the 95 %
        `interval` of the noise. None where nothing can be said, since noise hides it or the fit's
        private test failed.
    mean : Estimate or None
        The mean over folds; None where one of them is not known at all, or noise hides it.
    models : tuple of fitted estimators or None
        That of each fold, fitted to the rows outside it; its `privacy_` is what it cost by itself.
    evaluations : tuple of Evaluation or None
        Of each fold of a classifier, with its ROC curve and its calibration; empty otherwise.
    privacy : PrivacyGuarantee
        Of everything here together.
    method, target : str
        What the model and the column explained are called.
    recipe : dict
        How the table was read.
    """

    measure: str
    scores: tuple[Estimate | None, ...]
    mean: Estimate | None
    models: tuple[Any, ...] = field(repr=False)
    evaluations: tuple[Evaluation | None, ...] = field(repr=False)
    privacy: PrivacyGuarantee
    method: str
    target: str
    recipe: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Fitting:
    """An estimator with its share of the budget, and the release that judges its models."""

    estimator: Any
    release: HeldOutRelease | EvaluationRelease

    def fit_events(self) -> tuple[Event, ...]:
        events: tuple[Event, ...] = self.estimator.plan().guarantee.mechanisms
        return events

    def judge_events(self) -> tuple[Event, ...]:
        return self.release.events()

    def for_rows(self, most: int) -> _Fitting:
        """Return the same fits, which adapt themselves to the unit; refuse those that cannot."""
        adapted = getattr(self.estimator.plan().release, "for_rows", None)
        if adapted is None:
            raise ParameterError(
                f"{type(self.estimator).__name__} has no proof for units of several rows; expected "
                "another method, or no unit"
            )
        adapted(most)  # refuses what is too small before anything is charged
        return replace(self, release=self.release.for_rows(most))

    def fit(self, table: Table, number: int) -> Any | None:  # noqa: ANN401
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

    def judge(self, model: Any, table: Table, source: ByteSource) -> _Found:  # noqa: ANN401
        score = partial(beside_target, ModelScores(model))
        binary = np.array([False, table.binary[-1]])
        predicted = View(table, ("prediction",), table.target_name, score, binary)
        if isinstance(self.release, EvaluationRelease):
            return self.release.run(ScoredTable(predicted, 1.0), source, lambda _: None)
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
    ledger: Ledger | None = None,
    progress: Progress | None = None,
    random_state: int | None = None,
) -> CrossValidation:
    """Fit a model to all rows but those of a fold and judge it on these, for every fold.

    Each row draws its fold at random and alone, a unit for all its rows, so folds differ in size.
    A row is in one evaluation and in all fits but one: these are as many releases as there are
    folds, and each gets an equal share of the budget. Models are therefore noisier than one fitted
    with the whole budget, and scores lower; compare them with each other. Proof:
    ``algorithms/cross_validation.md``.

    Guarantee
    ---------
    Everything in the result, the models included, is (`epsilon`, `delta`)-differentially private
    when one row is added or removed, or a unit with all its rows, for every table without missing
    values (see the table's `missing`).

    Parameters
    ----------
    estimator : estimator of nolook that predicts
        A regression, a classifier, or a pipeline by :func:`nolook.make_private_pipeline`; its own
        `epsilon` and `delta` are replaced, and it is not fitted itself. Whether its settings were
        chosen by looking at the rows nobody can tell.
    X : Table, array or frame of shape (n_samples, n_features)
        The rows. A file or database whose rows may come in another order is refused.
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
        R2 by fold for numbers: deviations from the rows' mean and from the prediction count as 4
        of the target's scales if they are larger. AUC for two classes. Intervals are of the noise
        alone: neither that rows are a sample nor which fold they drew is in them.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the estimator cannot be judged so. Nothing is charged.
    TableError
        If X and y are not a table of numbers. Nothing is charged.
    BudgetExceededError
        If the ledger has too little left. The data are not read.

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
    model = _copy_of(estimator)
    plan = _plan(model, budget, count, random_state)
    opened: list[Table] = []

    def rows() -> Table:
        table: Table = model._rows(X, y)
        check_order(table)
        opened.append(table)
        return table

    def keep(
        released: list[tuple[Any, _Found] | None], guarantee: PrivacyGuarantee
    ) -> CrossValidation:
        return _result(model, released, guarantee, opened[0])

    return make_release(
        plan, rows, "cross-validation", ledger=ledger, progress=progress, store=keep
    )


def _copy_of(estimator: Any) -> Any:  # noqa: ANN401
    """Return a copy of an estimator that predicts; refuse whatever else."""
    if not isinstance(estimator, PrivateEstimator) or not hasattr(estimator, "predict"):
        raise ParameterError(
            f"estimator is of type {type(estimator).__name__}; expected a regression or classifier "
            "of nolook (before it, a selector by nolook.make_private_pipeline)"
        )
    return clone(estimator)


def _plan(
    model: Any,  # noqa: ANN401
    budget: Budget,
    folds: int,
    random_state: int | None,
) -> Plan[list[tuple[Any, _Found] | None]]:
    """Split the budget between the fits and the evaluation that a row takes part in."""
    fitted = clone(model)
    if random_state is not None:
        names = [name for name in fitted.get_params() if name.endswith("random_state")]
        fitted.set_params(**dict.fromkeys(names, random_state))
    fits, judging = _shares(fitted, budget, folds)
    # The table that all fits read has its classes as 0 and 1.
    names = [name for name in fitted.get_params() if name.split("__")[-1] == "classes"]
    fitted.set_params(**fits.to_dict(), **dict.fromkeys(names))
    release: HeldOutRelease | EvaluationRelease
    if is_classifier(model):
        release = evaluation_release(judging.epsilon, _GROUPS)
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
    sequence = FoldsInSequence(folds, _Fitting(fitted, release))
    return Plan(sequence, in_sequence(sequence.of_a_row(part, judged), budget), seed)


def _shares(model: Any, budget: Budget, folds: int) -> tuple[Budget, Budget]:  # noqa: ANN401
    """Return what each fit costs, and each evaluation: equal shares.

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
    mu = with_room(whole_mu(rest) / np.sqrt(parts).item())
    share = with_room(rest.delta / parts)
    equal = Budget(gaussian_epsilon(mu, share), share)
    return equal, judging if pure else equal


def _result(
    model: Any,  # noqa: ANN401
    released: list[tuple[Any, _Found] | None],
    guarantee: PrivacyGuarantee,
    table: Table,
) -> CrossValidation:
    """Return scores and models; post-processing."""
    classifies = is_classifier(model)
    models = tuple(None if one is None else one[0] for one in released)
    for fitted in filter(None, models):
        if not hasattr(model, "feature_names_in_"):
            del fitted.feature_names_in_  # the table's own names for an array's columns
    known: list[Estimate | None] = []
    evaluations: list[Evaluation | None] = []
    for one in released:
        if one is None:
            known.append(None)
            evaluations += [None] * classifies
        elif isinstance(one[1], HeldOut):
            known.append(explained(one[1]))
        else:
            _name_classes(one[0], model.classes_)
            judged = _judged(one[0], one[1], guarantee, table)
            evaluations.append(judged)
            known.append(_area(judged))
    return CrossValidation(
        "AUC" if classifies else "R2",
        tuple(map(shown, known)),
        shown(mean_of(known)),
        models,
        tuple(evaluations),
        guarantee,
        called(model),
        str(table.target_name),
        table.recipe(),
    )


def _name_classes(model: Any, classes: NDArray[Any]) -> None:  # noqa: ANN401
    """Give a model the names of its classes, which were 0 and 1 in the table."""
    model.classes_ = classes
    if isinstance(model, PrivatePipeline):
        model.regressor_.classes_ = classes


def _judged(model: Any, released: Judged, guarantee: PrivacyGuarantee, table: Table) -> Evaluation:  # noqa: ANN401
    label = model.classes_[-1].item()
    asked = Asked(guarantee.epsilon, label, _GROUPS, other_rows=True)
    scored = Scored(called(model), str(table.target_name), str(label))
    return evaluation_of(model, released, guarantee, table.recipe(), scored, asked)


def _area(found: Evaluation) -> Estimate | None:
    """Return the area under the ROC curve; None where the noise may be all of a class."""
    area, (low, high) = float(found.roc.auc_), found.roc.auc_interval_.tolist()
    if (low, high) == (0.0, 1.0):
        return None
    # An end at 0 or 1 is cut off.
    return Estimate(area, max(area - low, high - area) / QUANTILE)

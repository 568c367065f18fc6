"""Evaluation of a model of two classes: its ROC curve and the calibration of its probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from nolook._language import parameter_name, usage_hint
from nolook._validation import check_count, check_epsilon
from nolook.algorithms.evaluation import Judged, scores_release
from nolook.errors import ParameterError
from nolook.estimators._classes import table_classes
from nolook.estimators._model_scores import ModelScores
from nolook.estimators._scores import Scored, check_pos_label, class_word, labelled
from nolook.estimators._tables import refuse_gaps
from nolook.estimators.base import PrivateEstimator, PrivateModel
from nolook.estimators.calibration import MOST_GROUPS, HosmerLemeshow
from nolook.estimators.catalogue import called
from nolook.estimators.releasing import Progress, release
from nolook.estimators.result import Measure, TableResult
from nolook.estimators.roc import ROCCurve
from nolook.privacy.guarantee import Budget, PrivacyGuarantee
from nolook.privacy.ledger import AnyLedger
from nolook.privacy.release import Plan
from nolook.tables import Table
from nolook.tables.design import DEFAULT_MISSING
from nolook.tables.read import with_class
from nolook.tables.words import same

__all__ = ["Evaluation", "described", "evaluate", "evaluation_of"]

_FAR = 4.0  # a target of zeros and ones is not that large, whatever the noise


@frozen(repr=False)
class Evaluation(TableResult):
    """Evaluation of a model on some rows: one release, one guarantee.

    Returned by :func:`nolook.evaluate`.

    Parameters
    ----------
    roc : ROCCurve
        Fitted: the ROC and the precision-recall curve, AUC, average precision and base rate, each
        with a 95 % interval, and the confusion matrix at any threshold.
    calibration : HosmerLemeshow or None
        Fitted: groups of rows with their observed and expected numbers of positives, and the test
        of calibration. None if the model has no probabilities.
    rows : NoisyCount
        Private number of rows, at least 1.
    privacy : PrivacyGuarantee
        Guarantee of the whole result; `roc` and `calibration` have the same one and cost no more.
    other_rows : bool
        Whether the user stated that the model was fitted on other rows.
    method : str
        Name of the model's method, or of its class.
    model_privacy : PrivacyGuarantee or None
        The model's own guarantee; None if it was not fitted by nolook.
    hidden : bool
        Whether the model did not stand out from the noise of its own fit: it is a constant, or
        hardly more.

    See Also
    --------
    evaluate : Releases the evaluation.
    CrossValidation : Several fits, each evaluated on other rows.
    """

    kind = "evaluation"

    roc: ROCCurve
    calibration: HosmerLemeshow | None
    other_rows: bool
    method: str
    model_privacy: PrivacyGuarantee | None
    hidden: bool

    @property
    def _all(self) -> tuple[ROCCurve | HosmerLemeshow, ...]:
        return (self.roc,) if self.calibration is None else (self.roc, self.calibration)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Those of the curve and of the calibration."""
        return tuple(measure for part in self._all for measure in part.measures)

    @property
    def questions(self) -> tuple[str, ...]:
        """Those of the curve and of the calibration."""
        return tuple(name for part in self._all for name in part.questions)

    def ask(self, question: str, **arguments: Any) -> Any:  # noqa: ANN401
        """Return a further result of the curve or the calibration at no cost."""
        part: Any = next((each for each in self._all if question in each.questions), super())
        return part.ask(question, **arguments)

    def _columns(self) -> dict[str, Any]:
        found = self.measures
        low, high = np.array([(np.nan, np.nan) if m.ends is None else m.ends for m in found]).T
        values = np.array([measure.value for measure in found], dtype=np.float64)
        return {"measure": [m.name for m in found], "value": values, "low": low, "high": high}


def evaluate(  # noqa: PLR0913 -- all but three by keyword
    model: Any,  # noqa: ANN401 -- whatever predicts
    X: Table | ArrayLike,
    y: object = None,
    *,
    epsilon: float = 1.0,
    pos_label: float | str | None = None,
    groups: int = 10,
    other_rows: bool = False,
    ledger: AnyLedger = None,
    progress: Progress | None = None,
    random_state: int | None = None,
) -> Evaluation:
    """Evaluate a model of a yes/no outcome on confidential rows, within one budget.

    The AUC is ``P(s_1 > s_0) + P(s_1 = s_0) / 2`` for the scores s_1 and s_0 of a random positive
    and a random negative row: the model's probabilities of the positive class, or its predictions
    if it has none. The ROC curve, precision-recall curve, average precision and base rate follow
    from the same release of counts. For probabilities, 35 % of epsilon is for the calibration, in
    groups with Hosmer and Lemeshow's test. Proof: ``algorithms/evaluation.md``.

    Guarantee
    ---------
    The result is (`epsilon`, 0)-differentially private when one row is added or removed; no delta
    is needed. If a private model was fitted on the same rows, its own guarantee adds to this one:
    charge both to one ledger. A model that is not private must not have been fitted on these rows:
    it would move every score when one row changes, which this guarantee does not cover.

    Parameters
    ----------
    model : fitted model
        A model of nolook, or any model with `predict_proba`, `decision_function` or `predict`,
        which is called with one row at a time. A model that is not private (fitted elsewhere, with
        a `random_state`, or with a setting without proof) is refused unless `other_rows` is True.
    X : Table with a target, array or frame of shape (n_samples, n_features)
        With the model's features:
        ``nolook.read_table(path, target, **model.read_options_)``. Read up to four times.
    y : array or series of shape (n_samples,)
        Outcomes: numbers, booleans or strings; None if X is a Table.
    epsilon : float, default=1.0
        Privacy loss, above 0.
    pos_label : number, str or None, default=None
        The target's value for the positive class; every other value is negative. None is the last
        of the model's `classes_`, or 1 if it has none or X is a Table.
    groups : int, default=10
        Number of groups for the calibration, up to 100; fewer if quantiles agree.
    other_rows : bool, default=False
        True states that the model was fitted on other rows than these. Otherwise the result warns
        that its figures may be optimistic.
    ledger, progress, random_state
        As for :class:`nolook.ROCCurve` and its `fit`; the ledger is charged once.

    Returns
    -------
    Evaluation

    Raises
    ------
    ParameterError
        If a parameter is out of range, or the model is refused. Nothing is charged.
    TableError
        If X is not a table of numbers, or lacks values. Nothing is charged.
    BudgetExceededError
        If the ledger has too little left. The data are not read.

    See Also
    --------
    cross_validate : Fits a model and evaluates it on other rows, within one budget.
    ROCCurve : The curve of scores in a column.

    Examples
    --------
    >>> import numpy as np
    >>> import nolook
    >>> generator = np.random.default_rng(0)
    >>> X = generator.normal(size=(20_000, 2))
    >>> y = generator.random(20_000) < 1 / (1 + np.exp(-X[:, 0]))
    >>> model = nolook.LinearRegression(epsilon=1.0).fit(X[:10_000], y[:10_000])
    >>> found = evaluate(model, X[10_000:], y[10_000:], epsilon=1.0, other_rows=True)
    >>> bool(abs(found.roc.auc_ - 0.74) < 0.03)
    True
    """
    budget = Budget(check_epsilon(epsilon))
    asked_groups = check_count(groups, "groups", MOST_GROUPS)
    if not isinstance(other_rows, bool):
        raise ParameterError(
            f"other_rows is a value of type {type(other_rows).__name__}; expected True or False"
        )
    if pos_label is not None:
        check_pos_label(pos_label)
    scores = ModelScores(model, _own_label(model, X, pos_label))
    if not other_rows:
        _check_private(model)
    _check_two_classes(model, X, y)
    own = asked_groups if scores.probabilities else None
    planned = scores_release(budget.epsilon, groups=own, bounds=scores.bounds)
    plan = Plan.of(planned, budget, random_state)
    label = (1 if pos_label is None else pos_label) if isinstance(X, Table) else scores.pos_label
    rows = _scored(model, scores, X, y, label)

    scored = Scored(called(model), rows.column_names[-1], class_word(X, label))
    about: dict[str, Any] = {"scored": scored, "read_options": rows.read_options()}

    def keep(released: Judged, guarantee: PrivacyGuarantee) -> Evaluation:
        said = label, asked_groups, other_rows
        return evaluation_of(described(model), released, *said, privacy=guarantee, **about)

    return release(plan, lambda: rows, "evaluation of a model", keep, ledger, progress)


def described(model: Any) -> tuple[str, PrivacyGuarantee | None, bool]:  # noqa: ANN401
    """Return a model's method, its guarantee if nolook fitted it, and whether it is a constant."""
    hidden = isinstance(model, PrivateModel) and (model.failed_ or not model.detected_)
    return called(model), model.privacy_ if isinstance(model, PrivateEstimator) else None, hidden


def evaluation_of(
    model: tuple[str, PrivacyGuarantee | None, bool],
    released: Judged,
    label: float | str,
    groups: int,
    other_rows: bool,
    **about: Any,  # noqa: ANN401
) -> Evaluation:
    """Return the measures of a model, as described, that follow from a release: post-processing.

    `about` is what :meth:`ROCCurve.keep_release` takes.
    """
    guarantee = about["privacy"]
    curve = ROCCurve(guarantee.epsilon, None, label).keep_release(released, **about)
    test = HosmerLemeshow(guarantee.epsilon, groups, label)
    return Evaluation(
        curve,
        None if released.table is None else test.keep_release(released, **about),
        other_rows,
        *model,
        rows=released.counted,
        privacy=guarantee,
        read_options=about["read_options"],
    )


def _check_private(model: Any) -> None:  # noqa: ANN401
    """Refuse a model that nothing is promised for if it was fitted on the rows it is judged on."""
    _, privacy, _ = described(model)
    if privacy is None or not privacy.private:
        what = "was not fitted by nolook" if privacy is None else "is marked as not private"
        raise ParameterError(
            f"model {what}: if it was fitted on these rows, one row moves all its scores and "
            f"nothing is promised; expected a private model (or, if it was fitted on other rows "
            f"only, {usage_hint('other_rows', True)})"
        )


def _own_label(model: Any, X: object, label: float | str | None) -> Any:  # noqa: ANN401
    """Return the model's own class for a label: those of a table are 0 and 1."""
    classes = list(getattr(model, "classes_", ()))
    by_place = isinstance(X, Table) and len(classes) == 2 and label in {0, 1}
    return classes[int(label or 0)] if by_place else label


def _check_two_classes(model: Any, X: object, y: object) -> None:  # noqa: ANN401
    """Refuse a model's own target that is a number, or whose positive class is another one.

    The range of a number was released with the model.
    """
    low, high = getattr(model, "target_range_", (0.0, 1.0))
    names = getattr(getattr(model, "scaling_", None), "names", ("",))
    target = X.target_name if isinstance(X, Table) else getattr(y, "name", None)
    if target != names[-1]:
        return
    if isinstance(X, Table):
        own, word = model.read_options_.get("positive"), X.class_words[1]
        if not (same(word, own) if own else table_classes(X)[1]):
            raise ParameterError(
                f"{parameter_name('positive')} is {word!r}, which is not the positive class of the "
                "model; leave it out, as the model knows it (a schema can `merge` another spelling)"
            )
    if max(-low, high) > _FAR:
        raise ParameterError(
            f"the model's target {names[-1]!r} goes from {low:.3g} to {high:.3g}, but "
            "evaluate judges models of two classes; expected a yes/no target (cross-validation "
            "judges a regression)"
        )


def _scored(model: Any, scores: ModelScores, X: object, y: object, label: float | str) -> Table:  # noqa: ANN401
    """Return the rows' scores and targets; checks declared columns and the model only."""
    knows_centres = getattr(model, "read_options_", {}).get("missing") == "centre"
    table, positive = labelled(X, y, label, "centre" if knows_centres else DEFAULT_MISSING)
    if not knows_centres:
        refuse_gaps(table, "this model")
    scores.check_features(table.feature_names, named=not isinstance(X, np.ndarray | list))
    scores.check_works(len(table.feature_names))
    return with_class(scores.beside(table, table.target_name), positive)

"""Every release as a JSON file, and back; anyone may see these.

Numbers are written so that they come back bit for bit.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta
from sklearn.base import clone

from nolook._validation import check_path
from nolook.errors import ModelFileError, ParameterError
from nolook.estimators._scores import ScoredEstimator
from nolook.estimators._selector import PrivateSelector
from nolook.estimators.calibration import HosmerLemeshow
from nolook.estimators.catalogue import SELECTORS, name_of
from nolook.estimators.ecdf import ECDF
from nolook.estimators.evaluation import Evaluation
from nolook.estimators.folds import CrossValidation
from nolook.estimators.pipeline import PrivatePipeline
from nolook.estimators.quantiles import Quantiles
from nolook.estimators.roc import ROCCurve
from nolook.formats._classifier_content import Classifier, classifier_content, is_classifier
from nolook.formats._model_content import Model, model_content
from nolook.formats.distribution_file import Distribution, distribution_content
from nolook.formats.files import one_line, write_release
from nolook.formats.findings_file import (
    CalibrationFile,
    EvaluationFile,
    QuantilesFile,
    RocFile,
    write_calibration,
    write_evaluation,
    write_quantiles,
    write_roc,
)
from nolook.formats.folds_file import FoldsFile, write_folds
from nolook.formats.parts import Release, guarantee_content
from nolook.formats.selection_file import (
    Selection,
    SelectionFile,
    selection_content,
    write_selection,
)
from nolook.formats.strict import Broken, convert, read_object
from nolook.privacy import accounting

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from nolook.estimators.base import PrivateRegressor

__all__ = ["load", "save"]

_EXAMPLE = "people.model.json"


class Pipeline(Release, frozen=True):
    """A selection, a regression on the chosen columns, and the guarantee of both together."""

    named: bool
    split: Annotated[float, Meta(gt=0, lt=1)]
    selection: Selection
    regression: Model

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = set(self.selection.chosen)
        if self.regression.features != [n for n in self.selection.features if n in chosen]:
            raise Broken(
                "expected regression.features to be the columns chosen, in the table's order"
            )
        whole, parts = self.guarantee(), (self.selection.guarantee(), self.regression.guarantee())
        try:
            together = accounting.in_sequence(parts, whole.budget)
        except ValueError:
            together = None
        if whole != together:
            raise Broken("expected privacy to be that of selection and regression together")

    def estimator(self) -> PrivatePipeline:
        """Return the fitted pipeline."""
        selector, regressor = self.selection.estimator(), self.regression.estimator()
        selector.target_name_ = regressor.scaling_.names[-1]
        # As after a fit: the recipe is that of the whole table.
        regressor.recipe_ = selector.recipe_
        regressor.feature_names_in_ = np.array(self.regression.features, dtype=object)
        privacy = self.guarantee()
        pipeline = PrivatePipeline(
            clone(selector), clone(regressor), privacy.epsilon, privacy.delta, self.split
        )
        pipeline.keep_parts(selector, regressor)
        pipeline.privacy_ = privacy
        pipeline.recipe_ = selector.recipe_
        pipeline.n_features_in_ = selector.n_features_in_
        if self.named:
            pipeline.feature_names_in_ = selector.feature_names_in_
        return pipeline


class ClassifierPipeline(Pipeline, frozen=True):
    """A selection, and a classifier on the chosen columns."""

    regression: Classifier  # type: ignore[assignment]


def _made(kind: Any) -> Callable[[dict[str, Any]], Any]:  # noqa: ANN401 -- one with `estimator`
    return lambda document: convert(document, kind).estimator()


# What reads a document, by format and schema version.
_KINDS: dict[tuple[str, int], Callable[[dict[str, Any]], Any]] = {
    ("nolook-model", 2): _made(Model),
    ("nolook-model", 3): _made(Pipeline),
    ("nolook-model", 4): _made(Classifier),
    ("nolook-model", 5): _made(ClassifierPipeline),
    ("nolook-selection", 1): _made(SelectionFile),
    ("nolook-distribution", 2): _made(Distribution),
    ("nolook-quantiles", 1): _made(QuantilesFile),
    ("nolook-roc", 2): RocFile.read,
    ("nolook-calibration", 2): CalibrationFile.read,
    ("nolook-evaluation", 2): EvaluationFile.read,
    ("nolook-cross-validation", 1): FoldsFile.read,
}
# Of version 0.1, which kept of these only what follows from what was released.
_TOO_LITTLE = [(f"nolook-{form}", 1) for form in ("roc", "calibration", "evaluation")]


def save(model: Any, path: str | os.PathLike[str]) -> None:  # noqa: ANN401 -- any release
    """Write a release to a JSON file.

    The file appears whole or not at all; an older one of the same name is replaced.

    Parameters
    ----------
    model : fitted estimator, Quantiles, Evaluation or CrossValidation
        A model such as :class:`nolook.LinearRegression`, a :class:`nolook.PrivatePipeline`, a
        selector, an :class:`nolook.ECDF`, a :class:`nolook.ROCCurve` or any other release but a
        scaler. A cross-validation's models are not in its file; each can be saved by itself.
    path : path-like
        Where to write.

    Raises
    ------
    ParameterError
        If `model` is not a fitted estimator of nolook, or a parameter is not a plain value.
    NolookError
        If the file cannot be written.
    """
    place = check_path(path, _EXAMPLE)
    if isinstance(model, PrivatePipeline):
        version = 5 if is_classifier(model.regressor) else 3
        write_release(place, "nolook-model", version, _pipeline_content(model))
    elif isinstance(model, ECDF):
        write_release(place, "nolook-distribution", 2, distribution_content(model))
    elif is_classifier(model):
        write_release(place, "nolook-model", 4, classifier_content(model))
    elif isinstance(model, Quantiles):
        write_quantiles(model, place, grids=model.grids, recipe=model.recipe)
    elif isinstance(model, Evaluation):
        asked = getattr(model.roc, "asked_", ())
        write_evaluation(model, place, scored=model.scored, thresholds=asked)
    elif isinstance(model, CrossValidation):
        write_folds(model, place)
    elif isinstance(model, PrivateSelector | ScoredEstimator):
        _save_finding(model, place)
    else:
        write_release(place, "nolook-model", 2, model_content(model))


def _save_finding(found: PrivateSelector | ScoredEstimator, path: Path) -> None:
    """Write a selection, a curve or a calibration."""
    if not hasattr(found, "privacy_"):
        raise ParameterError(
            f"model is a {type(found).__name__}; expected a fitted one (call fit first)"
        )
    if isinstance(found, PrivateSelector):
        write_selection(found, path, target=found.target_name_)
    elif isinstance(found, ROCCurve):
        write_roc(found, path, scored=found.scored_, thresholds=getattr(found, "asked_", ()))
    elif isinstance(found, HosmerLemeshow):
        write_calibration(found, path, scored=found.scored_)


def _pipeline_content(pipeline: PrivatePipeline) -> dict[str, Any]:
    """Return everything a file says about a pipeline."""
    if not hasattr(pipeline, "privacy_") or name_of(pipeline.selector_) not in SELECTORS:
        raise ParameterError(
            "model is a PrivatePipeline; expected a fitted one with a selector of nolook (call "
            "fit first)"
        )
    return {
        # Columns of arrays have no names, so scikit-learn asks for none when predicting.
        "named": hasattr(pipeline, "feature_names_in_"),
        "split": float(pipeline.split),
        **guarantee_content(pipeline.privacy_),
        "selection": selection_content(pipeline.selector_),
        # Its columns are read by the selection's recipe.
        "regression": _part_content(pipeline.regressor_) | {"recipe": None},
    }


def _part_content(model: PrivateRegressor) -> dict[str, Any]:
    return classifier_content(model) if is_classifier(model) else model_content(model)


def load(path: str | os.PathLike[str]) -> Any:  # noqa: ANN401 -- any release
    """Read a release that :func:`save` or the command line wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    fitted estimator, Quantiles, Evaluation or CrossValidation
        Of the class that was saved, with its parameters; `random_state` is not kept. An evaluation
        knows of its model only what the file says.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, was edited into something impossible, or is of
        a format this version does not know.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> ecdf = ECDF(epsilon=1.0).fit(np.arange(1000.0))
    >>> with TemporaryDirectory() as folder:
    ...     save(ecdf, f"{folder}/numbers.distribution.json")
    ...     found = load(f"{folder}/numbers.distribution.json")
    >>> bool(found.quantile(0.5) == ecdf.quantile(0.5))
    True
    """
    place = check_path(path, _EXAMPLE)
    try:
        return _estimator(read_object(place))
    except (Broken, ParameterError) as error:
        wrong = one_line(error)
    raise ModelFileError(f"{one_line(place)} is not the file of a release: {wrong}")


def _estimator(document: dict[str, Any]) -> Any:  # noqa: ANN401
    kind = document.pop("format", None), document.pop("schema_version", None)
    if kind in _TOO_LITTLE and type(kind[1]) is int:
        raise Broken(
            "version 0.1 wrote it without what a later one shows it from; expected one made since "
            "(the report written with it shows it)"
        )
    if kind not in list(_KINDS) or type(kind[1]) is not int:
        known = " or ".join(f'"{form}" with schema_version {version}' for form, version in _KINDS)
        raise Broken(f'expected "format": {known}; another one needs another nolook')
    version = document.pop("nolook_version", None)
    if not isinstance(version, str) or not version:
        raise Broken("nolook_version is missing or not a text")
    return _KINDS[kind](document)

"""Models, pipelines and distributions as JSON files, and back; anyone may see these.

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
from nolook.estimators.catalogue import SELECTORS, name_of
from nolook.estimators.ecdf import ECDF
from nolook.estimators.pipeline import PrivatePipeline
from nolook.formats._classifier_content import Classifier, classifier_content, is_classifier
from nolook.formats._model_content import Model, model_content
from nolook.formats.distribution_file import (
    Distribution,
    TreeDistribution,
    distribution_content,
    distribution_version,
)
from nolook.formats.files import one_line, write_release
from nolook.formats.parts import Release, guarantee_content
from nolook.formats.selection_file import Selection, selection_content
from nolook.formats.strict import Broken, convert, read_object
from nolook.privacy import accounting

if TYPE_CHECKING:
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


# By format and schema version.
_KINDS: dict[
    tuple[str, int], type[Model | Classifier | Pipeline | Distribution | TreeDistribution]
] = {
    ("nolook-model", 2): Model,
    ("nolook-model", 3): Pipeline,
    ("nolook-model", 4): Classifier,
    ("nolook-model", 5): ClassifierPipeline,
    ("nolook-distribution", 1): TreeDistribution,
    ("nolook-distribution", 2): Distribution,
}


def save(model: PrivateRegressor | ECDF, path: str | os.PathLike[str]) -> None:
    """Write a fitted model or distribution to a JSON file.

    The file appears whole or not at all; an older one of the same name is replaced.

    Parameters
    ----------
    model : fitted estimator
        A regression such as :class:`nolook.LinearRegression`, a :class:`nolook.PrivatePipeline` or
        an :class:`nolook.ECDF`.
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
        version = distribution_version(model)
        write_release(place, "nolook-distribution", version, distribution_content(model))
    elif is_classifier(model):
        write_release(place, "nolook-model", 4, classifier_content(model))
    else:
        write_release(place, "nolook-model", 2, model_content(model))


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


def load(path: str | os.PathLike[str]) -> PrivateRegressor | ECDF:
    """Read a model or distribution that :func:`save` or the command line wrote.

    Parameters
    ----------
    path : path-like
        A JSON file.

    Returns
    -------
    fitted estimator
        Of the class that was saved, with its parameters; `random_state` is not kept.

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
        raise ModelFileError(f"{one_line(place)} is not a model file: {one_line(error)}") from None


def _estimator(document: dict[str, Any]) -> PrivateRegressor | ECDF:
    kind = document.pop("format", None), document.pop("schema_version", None)
    if kind not in list(_KINDS) or type(kind[1]) is not int:
        known = " or ".join(f'"{form}" with schema_version {version}' for form, version in _KINDS)
        raise Broken(f'expected "format": {known}; another one needs another nolook')
    version = document.pop("nolook_version", None)
    if not isinstance(version, str) or not version:
        raise Broken("nolook_version is missing or not a text")
    return convert(document, _KINDS[kind]).estimator()

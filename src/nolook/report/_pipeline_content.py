"""What a model file says about a selection and the model of what it chose, and back."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import clone

from nolook.errors import ParameterError
from nolook.estimators.catalogue import SELECTORS, name_of
from nolook.estimators.pipeline import PrivatePipeline
from nolook.privacy import accounting
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.report._model_content import (
    guarantee_content,
    guarantee_from,
    model_content,
    model_from,
)
from nolook.report._strict import Broken, keys, number
from nolook.report.selection_file import selection_content, selection_from

if TYPE_CHECKING:
    pass

__all__ = ["pipeline_content", "pipeline_from"]

_KEYS = frozenset({"named", "split", "budget", "privacy", "selection", "regression"})

_Part = TypeVar("_Part")


def pipeline_content(pipeline: PrivatePipeline) -> dict[str, Any]:
    """Return everything a file says about a pipeline.

    The regression is told as a model of its own, of the chosen columns; budget and guarantee
    outside are those of the whole.
    """
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
        "regression": model_content(pipeline.regressor_) | {"recipe": None},
    }


def pipeline_from(value: object) -> PrivatePipeline:
    """Return the pipeline that a file's content describes."""
    document = keys(value, _KEYS, "the model")
    share = number(document["split"], "split")
    if not 0 < share < 1:
        raise Broken("expected split to lie between 0 and 1")
    selector = _part("selection", selection_from, document["selection"])
    regressor = _part("regression", model_from, document["regression"])
    names = selector.feature_names_in_
    chosen = tuple(compress(names.tolist(), selector.support_.tolist()))
    if regressor.scaling_.names[:-1] != chosen:
        raise Broken("expected regression.features to be the columns chosen, in the table's order")
    privacy = guarantee_from(document)
    if privacy != _together(selector.privacy_, regressor.privacy_, privacy):
        raise Broken("expected privacy to be that of selection and regression together")
    # As after a fit: the recipe is that of the whole table.
    regressor.recipe_ = selector.recipe_
    regressor.feature_names_in_ = np.array(chosen, dtype=object)
    pipeline = PrivatePipeline(
        clone(selector), clone(regressor), privacy.epsilon, privacy.delta, share
    )
    pipeline.keep_parts(selector, regressor)
    pipeline.privacy_ = privacy
    pipeline.recipe_ = selector.recipe_
    pipeline.n_features_in_ = len(names)
    if _flag(document["named"], "named"):
        pipeline.feature_names_in_ = names
    return pipeline


def _part(name: str, reader: Callable[[object], _Part], value: object) -> _Part:
    try:
        return reader(value)
    except Broken as broken:
        raise Broken(f"in {name}, {broken}") from None


def _together(
    selection: PrivacyGuarantee, regression: PrivacyGuarantee, whole: PrivacyGuarantee
) -> PrivacyGuarantee | None:
    try:
        return accounting.in_sequence((selection, regression), whole.budget)
    except (ParameterError, ValueError):
        return None


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise Broken(f"expected {name} to be true or false")
    return value

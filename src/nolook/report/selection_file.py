"""A selection of columns as a JSON file, and as the part of a model's file that tells of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nolook._version import __version__
from nolook.estimators._selector import chosen_columns
from nolook.estimators.catalogue import SELECTORS, name_of
from nolook.report._model_content import (
    guarantee_content,
    guarantee_from,
    plain_parameters,
    recipe_from,
    unfitted,
)
from nolook.report._strict import Broken, keys, names, text
from nolook.report.files import write_json

if TYPE_CHECKING:
    from nolook.estimators._selector import PrivateSelector

__all__ = ["selection_content", "selection_from", "write_selection"]

_FORMAT = "nolook-selection"
_SCHEMA_VERSION = 1
_KEYS = frozenset(
    {"selector", "parameters", "recipe", "features", "chosen", "in_order_of_choice"}
    | {"budget", "privacy"}
)


def write_selection(selector: PrivateSelector, path: Path, *, target: str) -> None:
    """Write which columns were chosen, how, and what that cost.

    The file appears whole or not at all; an older one of the same name is replaced.
    """
    head = {
        "format": _FORMAT,
        "schema_version": _SCHEMA_VERSION,
        "nolook_version": __version__,
        "target": target,
    }
    write_json(path, head | selection_content(selector))


def selection_content(selector: PrivateSelector) -> dict[str, Any]:
    """Return everything a file says about a selection."""
    chosen, ordered = chosen_columns(selector)
    return {
        "selector": name_of(selector),
        "parameters": plain_parameters(selector),
        "recipe": selector.recipe_,
        "features": selector.feature_names_in_.tolist(),
        "chosen": list(chosen),
        "in_order_of_choice": ordered,
        **guarantee_content(selector.privacy_),
    }


def selection_from(value: object) -> PrivateSelector:
    """Return the fitted selector that a file's content describes."""
    content = keys(value, _KEYS, "the selection")
    name = text(content["selector"], "selector")
    if name not in SELECTORS:
        raise Broken(f"expected selector to be one of {', '.join(SELECTORS)}")
    privacy = guarantee_from(content)
    features = names(content["features"], "features")
    selector: PrivateSelector = unfitted(name, SELECTORS[name], content["parameters"], privacy)
    selector.recipe_ = recipe_from(content["recipe"], features)
    selector.n_features_in_ = len(features)
    selector.feature_names_in_ = np.array(features, dtype=object)
    selector.privacy_ = privacy
    _set_chosen(selector, content, features)
    return selector


def _set_chosen(
    selector: PrivateSelector, content: dict[str, Any], features: tuple[str, ...]
) -> None:
    chosen = names(content["chosen"], "chosen")
    places = {name: place for place, name in enumerate(features)}
    if not places.keys() > set(chosen):
        raise Broken("expected chosen to name some of features and not all")
    if isinstance(selector.k, int) and len(chosen) != selector.k:
        raise Broken("expected chosen to name as many columns as parameters.k says")
    order = np.array([places[name] for name in chosen])
    ordered = content["in_order_of_choice"]
    if not isinstance(ordered, bool):
        raise Broken("expected in_order_of_choice to be true or false")
    if ordered:
        selector.__dict__["order_"] = order
    selector.k_ = len(chosen)
    selector.support_ = np.zeros(len(features), dtype=bool)
    selector.support_[order] = True

"""A selection of columns as a JSON file, and as a part of a pipeline's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nolook._validation import check_choice
from nolook.estimators._selector import chosen_columns, offered_columns
from nolook.estimators.catalogue import SELECTORS, name_of
from nolook.formats.files import write_release
from nolook.formats.parts import (
    Fitted,
    Names,
    Recipe,
    guarantee_content,
    plain_parameters,
    recipe_content,
    rows_content,
)
from nolook.formats.strict import Broken

if TYPE_CHECKING:
    from pathlib import Path

    from nolook.estimators._selector import PrivateSelector

__all__ = ["Selection", "SelectionFile", "selection_content", "write_selection"]


class Selection(Fitted, frozen=True, kw_only=True):
    """Which columns were chosen, and how."""

    selector: str
    recipe: Recipe
    chosen: Names
    in_order_of_choice: bool

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("selector", self.selector, tuple(SELECTORS))
        self.recipe.check_gives(self.features)
        chosen = set(self.chosen)
        if not set(self.features) > chosen or len(chosen) != len(self.chosen):
            raise Broken("expected chosen to name some of features and not all, each column once")
        k = self.unfitted(self.selector, SELECTORS).k
        if isinstance(k, int) and len(self.chosen) != k:
            raise Broken("expected chosen to name as many columns as parameters.k says")

    def estimator(self) -> PrivateSelector:
        """Return the fitted selector."""
        selector: PrivateSelector = self.unfitted(self.selector, SELECTORS)
        selector.recipe_ = self.recipe.options()
        selector.n_features_in_ = len(self.features)
        selector.feature_names_in_ = np.array(self.features, dtype=object)
        selector.privacy_ = self.guarantee()
        places = {name: place for place, name in enumerate(self.features)}
        order = np.array([places[name] for name in self.chosen])
        if self.in_order_of_choice:
            selector.__dict__["order_"] = order
        selector.k_ = len(order)
        selector.support_ = np.zeros(len(places), dtype=bool)
        selector.support_[order] = True
        return selector


class SelectionFile(Selection, frozen=True, kw_only=True):
    """A selection in a file of its own."""

    target: str

    def estimator(self) -> PrivateSelector:
        """Return the fitted selector."""
        selector = super().estimator()
        selector.target_name_ = self.target
        return selector


def write_selection(selector: PrivateSelector, path: Path, *, target: str) -> None:
    """Write which columns were chosen, how, and what that cost."""
    document = {"target": target, **selection_content(selector)}
    write_release(path, "nolook-selection", 1, document)


def selection_content(selector: PrivateSelector) -> dict[str, Any]:
    """Return everything a file says about a selection."""
    chosen, ordered = chosen_columns(selector)
    return {
        "selector": name_of(selector),
        "parameters": plain_parameters(selector),
        "recipe": recipe_content(selector.recipe_),
        "features": offered_columns(selector),
        "chosen": chosen,
        "in_order_of_choice": ordered,
        **rows_content(selector),
        **guarantee_content(selector.privacy_),
    }

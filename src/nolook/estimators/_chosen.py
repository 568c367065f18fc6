"""Columns to choose from and columns chosen, of whatever chooses: without scikit-learn's mix-in."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import TYPE_CHECKING, Any

from nolook._language import parameter_name, usage_hint
from nolook._validation import check_count_or_auto
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.tables import Table

#: Features whose pairs are summed: 4,096 take a minute and 1 GB; time grows with the cube.
MOST_PAIRED = 2**12


def known_k(k: object) -> int | None:
    """Check a number of features to choose; return None for "auto"."""
    return check_count_or_auto(k, "k", MOST_PAIRED)


def check_selected(k: int | str, features: int) -> None:
    """Refuse a selection that would leave no feature out; "auto" chooses at least 1."""
    if features < 2 if isinstance(k, str) else k >= features:
        raise ParameterError(
            f"{parameter_name('k')} is {k}, but the number of features is {features} (choose a "
            "smaller k, or omit the selection)"
        )


def check_features(table: Table, parameter: str, names: Iterable[str]) -> None:
    """Refuse a name that is not one of a table's features."""
    for name in names:
        if name not in table.feature_names:
            raise ParameterError(
                f"{parameter_name(parameter)} names {name!r}, which is not a feature "
                f"({usage_hint('features', [*table.feature_names, name])} if it is a column)"
            )


def offered_columns(selector: Any) -> list[str]:  # noqa: ANN401
    """Return the names of the columns to choose from: those of arrays are x0, x1 and so on."""
    known = getattr(selector, "feature_names_in_", None)
    return list(selector.read_options_["features"] if known is None else known)


def chosen_columns(selector: Any) -> tuple[tuple[str, ...], bool]:  # noqa: ANN401
    """Return the chosen columns' names, and whether in order of choice (or of the table)."""
    names = offered_columns(selector)
    order = getattr(selector, "order_", None)
    if order is None:
        return tuple(compress(names, selector.support_.tolist())), False
    return tuple(names[place] for place in order.tolist()), True

"""How a table was read, kept beside what is released of it."""

from __future__ import annotations

from typing import Any

from nolook.tables.design import Design
from nolook.tables.levels import recipe_levels

__all__ = ["recipe_of"]


def recipe_of(design: Design) -> dict[str, Any]:
    """Return the arguments of :func:`nolook.read_table`, the target left out, fit for JSON."""
    features = design.features
    recipe: dict[str, Any] = {
        "features": [feature.name for feature in features],
        "categories": {f.name: recipe_levels(f.levels) for f in features if f.levels is not None},
        "missing": design.missing,
    }
    # Left out by default: older files know no such keys.
    if design.multiline:
        recipe["multiline"] = True
    declared = design.schema.only(recipe["features"]).to_dict() if design.schema else {}
    return recipe | {"schema": declared} if declared else recipe

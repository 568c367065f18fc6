"""What a table is, and how it was read, kept beside what is released of it."""

from __future__ import annotations

from typing import Any

from nolook.tables.conversion import original
from nolook.tables.design import Design
from nolook.tables.schema import recipe_levels
from nolook.tables.source import Source

__all__ = ["described", "recipe_of", "subject_of"]


def described(source: Source, design: Design, target: str | None) -> str:
    """Return the columns in use with their types, and the unit."""
    types = {column.name: column.declared for column in source.columns}
    features = ", ".join(f"{f.name}: {types[f.name]}" for f in design.features)
    about = f"; target {target}: {types[target]}" if target else ""
    unit = "" if design.unit.column is None else f"; unit {design.unit.column}"
    return f"Table({features}{about}{unit})"


def subject_of(source: Source, design: Design, about: str) -> tuple[str | None, str, str | None]:
    """Return what a release is about: a file, columns, and a digest of what was declared.

    A file's name is without folders, that of a database's table without its address; None if there
    is neither. The digest is None if no schema was given.
    """
    label: str | None = getattr(original(source), "label", None)
    schema = design.schema
    digest = schema.digest if schema is not None and schema.to_dict() else None
    return label, about, digest


def recipe_of(design: Design) -> dict[str, Any]:
    """Return the arguments of :func:`nolook.read_table`, the target left out, fit for JSON."""
    features = design.features
    recipe: dict[str, Any] = {
        "features": [feature.name for feature in features],
        "categories": {f.name: recipe_levels(f.levels) for f in features if f.levels is not None},
        "missing": design.missing,
    }
    declared = design.schema.only(recipe["features"]).to_dict() if design.schema else {}
    return recipe | {"schema": declared} if declared else recipe

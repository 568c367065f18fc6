"""What a table is, and how it was read, kept beside what is released of it."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from nolook.tables.conversion import original
from nolook.tables.design import Design
from nolook.tables.filter import Filtered
from nolook.tables.schema import recipe_levels
from nolook.tables.source import Source

__all__ = ["Subject", "described", "recipe_of", "subject_of"]


def described(source: Source, design: Design, target: str | None) -> str:
    """Return the columns in use with their types, and the unit."""
    types = {column.name: column.declared for column in source.columns}
    features = ", ".join(f"{f.name}: {types[f.name]}" for f in design.features)
    about = f"; target {target}: {types[target]}" if target else ""
    unit = "" if design.unit.column is None else f"; unit {design.unit.column}"
    return f"Table({features}{about}{unit})"


@frozen
class Subject:
    """What a release is about, in words.

    A file's name is without folders, that of a database's table without its address. `schema` is a
    digest of what was declared. What there is not is None.
    """

    table: str | None
    where: str | None
    columns: str
    schema: str | None


def subject_of(source: Source, design: Design, columns: str) -> Subject:
    """Return what a release of some columns is about."""
    schema = design.schema
    return Subject(
        getattr(original(source), "label", None),
        source.where if isinstance(source, Filtered) else None,
        columns,
        schema.digest if schema is not None and schema.to_dict() else None,
    )


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

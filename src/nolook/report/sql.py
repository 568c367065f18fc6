"""A model as one SQL expression over the columns of its table. Post-processing.

It gives what ``nolook predict`` gives: NULL where a value is missing that the model needs, and of
two classes the positive one's probability. Numbers are taken to be finite, and levels to be
written as declared: blanks around them and letter case count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from attrs import evolve

from nolook.errors import ParameterError
from nolook.estimators.base import PrivateModel
from nolook.estimators.result import Result
from nolook.report.model_words import LARGEST_EXPONENT, WORDS, words_of
from nolook.tables.design import Feature
from nolook.tables.schema import ColumnSchema, as_schema
from nolook.tables.words import Levels, check_categories

__all__ = ["sql_of"]


def sql_of(release: Result) -> str:
    """Return the SQL expression of a model; refuse what no expression of its columns gives."""
    model: Any = getattr(release, "regression", release)
    if model.kind not in WORDS or math.isfinite(model.row_norm_):
        raise ParameterError(
            f"--format is 'sql', but this {release.kind} is not a formula of its columns; "
            "expected a linear, logistic, count or additive model"
        )
    options = model.read_options
    levels = check_categories(options["categories"])
    _check_columns(options, levels)
    terms = [f"{float(model.intercept_)!r}"]
    for name in options["features"]:
        terms += _category(model, name, levels[name]) if name in levels else _number(model, name)
    total = "\n  + ".join(terms)
    family, range_ = words_of(model).family, getattr(model, "target_range_", (-math.inf, math.inf))
    limited = _between(total, -LARGEST_EXPONENT, LARGEST_EXPONENT)
    if family == "logistic":
        found = f"1.0 / (1.0 + EXP(-({limited})))"
    elif family == "count":
        exposure = getattr(model, "exposure", None)
        found = f"EXP({limited})"
        if exposure is not None:
            found += f" * {_between(_value(model, exposure), *model.exposure_range_)}"
        found = _between(found, *range_)
    else:
        found = _between(total, *range_)
    if options["missing"] == "centre":
        return f"{found}\n"
    lacking = " OR ".join(f"{_quoted(name)} IS NULL" for name in options["features"])
    return f"CASE WHEN {lacking} THEN NULL ELSE\n{found}\nEND\n"


def _check_columns(options: dict[str, Any], levels: dict[str, Levels]) -> None:
    """Refuse derived columns, and those that are not read as they are in the table."""
    declared = as_schema(options.get("schema")).columns
    for name in options["features"]:
        own = declared.get(name, ColumnSchema("number"))
        plain = evolve(ColumnSchema(own.type), levels=own.levels, use=own.use)
        if own != plain or own.type == "date" or (own.type == "text" and name not in levels):
            raise ParameterError(
                f"--format is 'sql', but {name!r} is derived or declared in a way that has no SQL; "
                "expected numbers, booleans and categories as they are in the table"
            )


def _number(model: PrivateModel, name: str) -> Iterator[str]:
    """Yield the term of a number: a line, or straight pieces between the places of its curve."""
    if name not in model.scaling_.names:
        return
    place = model.scaling_.names.index(name)
    if not model.curves_:
        ends = float(model.scaling_.low[place]), float(model.scaling_.high[place])
        if slope := float(model.coef_[place]):
            yield f"{slope!r} * {_between(_value(model, name), *ends)}"
        return
    curve = model.curves_[place]
    places, heights = curve.places.tolist(), curve.heights.tolist()
    value = _between(_value(model, name), places[0], places[-1])
    cases = [
        f"WHEN {value} <= {end!r} "
        f"THEN {height!r} + {(to - height) / (end - start)!r} * ({value} - {start!r})"
        for start, height, end, to in zip(places, heights, places[1:], heights[1:], strict=False)
        if end > start
    ]
    if any(heights):
        yield f"CASE {' '.join(cases)} END"


def _category(model: PrivateModel, name: str, levels: Levels) -> Iterator[str]:
    """Yield the terms of a category, of which all levels but the first have a number each."""
    cell, whole, cases = f"CAST({_quoted(name)} AS VARCHAR)", 0.0, ""
    texts = {level: _quoted(level, "'") for level in levels if level is not None}
    for level, number in zip(levels[1:], Feature(name, levels).names, strict=True):
        if number not in model.scaling_.names:  # a choice left it out
            continue
        place = model.scaling_.names.index(number)
        low, high = 0.0, float(model.coef_[place])
        if model.curves_:
            low, high = model.curves_[place].at(np.array([0.0, 1.0])).tolist()
        whole += low
        if high != low:
            # A missing cell counts as any other value, if rows that lack one are kept.
            other = f"COALESCE({cell} NOT IN ({', '.join(texts.values())}), TRUE)"
            test = other if level is None else f"{cell} = {texts[level]}"
            cases += f" WHEN {test} THEN {high - low!r}"
    if whole:
        yield repr(whole)
    if cases:
        yield f"CASE{cases} ELSE 0.0 END"


def _value(model: PrivateModel, name: str) -> str:
    """Return a column as a number, with its centre where that stands for a missing value."""
    value = f"CAST({_quoted(name)} AS DOUBLE)"
    if model.read_options["missing"] != "centre":
        return value
    return f"COALESCE({value}, {float(model.scaling_.center[model.scaling_.names.index(name)])!r})"


def _between(value: str, low: float, high: float) -> str:
    """Return a value that is clipped to a range, of which an end may be infinite."""
    if math.isfinite(low):
        value = f"GREATEST({value}, {float(low)!r})"
    return f"LEAST({value}, {float(high)!r})" if math.isfinite(high) else value


def _quoted(text: str, mark: str = '"') -> str:
    """Return the name of a column or, between other marks, a text."""
    return mark + text.replace(mark, 2 * mark) + mark

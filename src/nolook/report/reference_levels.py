"""Levels: what the coefficients of categories compare, and declared words that no row has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import compress
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from nolook._unit import Unit
from nolook.report.sentences import phrase
from nolook.tables.derived import OF_DATES
from nolook.tables.design import Feature, labels_of
from nolook.tables.formula import interactions
from nolook.tables.schema import as_schema
from nolook.tables.words import Levels, check_categories

if TYPE_CHECKING:
    from nolook.estimators.base import PrivateEstimator, PrivateModel

__all__ = [
    "contrasts",
    "level_labels",
    "shared_terms",
    "sides",
    "unseen_levels",
    "unseen_words",
]

_HARDLY_ANY = 0.02
_OF_THEIR_OWN = (*OF_DATES, "missing_of")  # they vary where the column itself is held equal


def contrasts(model: PrivateModel) -> dict[str, str]:
    """Return a label for each level in a model, and for each boolean, by the name of its number."""
    return {
        name: phrase("model.contrast", level=level, base=base)
        for name, (level, base) in sides(model).items()
    }


def sides(model: PrivateModel) -> dict[str, tuple[str, str]]:
    """Return the two values that such a number compares: its own, and the reference.

    Where a choice of columns left a level out, its rows are among those of the reference.
    """
    used = set(compress(model.scaling_.names, model.considered.tolist()))
    labels = level_labels(model.read_options_)
    found: dict[str, tuple[str, str]] = {}
    for column, levels in check_categories(model.read_options_["categories"]).items():
        names = Feature(column, levels).names
        base = phrase("model.other_values", column=column)
        if levels[0] is not None and used.issuperset(names):
            base = _level(column, levels[0], levels)
        found |= {name: (labels[name], base) for name in names if name in used}
    for each in model.level_sets_:
        of = re.split("[_.:][^_.:]*$", commonprefix(each))[0]  # noqa: RUF071
        mean = phrase("model.levels_mean", of=of, levels=len(each))
        found |= {name: (name, mean) for name in each}
    products = interactions(model.read_options_)  # named by their factors
    for name in compress(model.scaling_.names[:-1], model.scaling_.binary[:-1].tolist()):
        if name in used and name not in found and name not in products:
            found[name] = _true(name, model.read_options_)
    return found


def level_labels(read_options: Mapping[str, Any]) -> dict[str, str]:
    """Return a label for each level that is not the first of a category, by its number's name."""
    return {
        name: _level(column, level, levels)
        for column, levels in check_categories(read_options["categories"]).items()
        for name, level in zip(Feature(column, levels).names, levels[1:], strict=True)
    }


def shared_terms(model: PrivateModel) -> list[str]:
    """Name the terms that share a column with another one, such as its square."""
    options = model.read_options_
    derived = as_schema(options.get("schema")).derived

    def sources(name: str) -> set[str]:
        column = next((each for each in options["categories"] if name.startswith(f"{each}=")), name)
        found = derived.get(column)
        if found is None or found.function in _OF_THEIR_OWN:
            return {column}
        return {each for of in found.of for each in sources(of)}

    uses = Counter(each for term in options["features"] for each in sources(term))
    names = (one.name for one in model.coefficients[:-1])
    return [name for name in names if max(uses[each] for each in sources(name)) > 1]


def _true(name: str, read_options: Mapping[str, Any]) -> tuple[str, str]:
    """Return when a number that is 1 or 0 is 1, and when it is 0."""
    schema = as_schema(read_options.get("schema"))
    derived = schema.derived.get(name)
    if derived is not None and derived.function == "missing_of":
        return f"{derived.of[0]} missing", f"{derived.of[0]} known"
    no, yes, _ = labels_of(None, schema.columns.get(name))
    return f"{name} = {yes}", f"{name} = {no}"


def _level(column: str, level: str | None, levels: Levels) -> str:
    declared = sum(one is not None for one in levels)
    return phrase("model.level", column=column, level=level, declared=declared)


def unseen_words(
    release: PrivateEstimator, target: str, interval: Iterable[float] | None
) -> tuple[str, ...]:
    """Ask to check a class's word that hardly a row has, if the noise may be all of its share.

    `interval` is that of the positive class's share.
    """
    if interval is None:
        return ()
    options, (low, high) = release.read_options_, interval
    sides = ((options.get("positive"), low, high), (options.get("negative"), 1 - high, 1 - low))
    return unseen_levels(target, release.privacy_.unit, sides)


def unseen_levels(
    column: str, unit: Unit, shares: Iterable[tuple[str | None, float, float]]
) -> tuple[str, ...]:
    """Ask to check words that hardly a row has, by the ends of each one's share."""
    return tuple(
        phrase("release.word", counted=unit.counted, column=column, level=word)
        for word, least, most in shares
        if word not in {None, "..."} and 10 * least <= most < _HARDLY_ANY
    )

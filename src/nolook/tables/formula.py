"""Formulas in the usual notation: columns of a schema, each a function of its own row.

Nothing is dropped or merged in silence, and no term depends on the data: levels are those of the
schema, and whatever else a formula can say elsewhere is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import chain, combinations, product
from typing import Any, TypeAlias

from attrs import asdict, define, field

from nolook._language import parameter_name
from nolook.errors import ParameterError
from nolook.tables.read import levels_given, read_table
from nolook.tables.schema import Schema, as_schema
from nolook.tables.table import Table
from nolook.tables.words import OTHERS, Categories, Levels

__all__ = ["formula_of", "from_formula", "interactions", "schema_of"]

#: The columns of a term, each once: `age:sex` has two.
Term: TypeAlias = tuple[str, ...]

_COLUMN = r"[^\W\d][\w.]*|`[^`]+`"
_LOGARITHM = re.compile(rf"(?:np\.)?(log|log1p|asinh|arcsinh)\(\s*({_COLUMN})\s*\)")
_CATEGORY = re.compile(rf"C\(\s*({_COLUMN})\s*\)")
_POWER = re.compile(rf"I\(\s*({_COLUMN})\s*\*\*\s*([2-8])\s*\)")
_SQUARE = re.compile(
    rf"I\(\s*\(\s*({_COLUMN})\s*([-+])\s*(\d+\.?\d*(?:[eE][-+]?\d+)?)\s*\)\s*\*\*\s*2\s*\)"
)
_PRODUCT = re.compile(rf"I\(\s*((?:{_COLUMN})(?:\s*\*\s*(?:{_COLUMN}))+)\s*\)")
# A name in backticks, a bracket that holds others at most once, a power, or a letter.
_INSIDE = r"[^()`]|`[^`]*`"
_PIECE = re.compile(rf"`[^`]*`?|\((?:{_INSIDE}|\((?:{_INSIDE})*\))*\)|\*\*|.", re.DOTALL)
_KNOWN = (
    "a column, C(column), log(x), log1p(x), asinh(x), I(x**2), I((x - 40)**2), I(x*z), and terms "
    "joined by +, : or *"
)


def from_formula(
    formula: str,
    source: object,
    *,
    schema: Schema | Mapping[str, object] | str | os.PathLike[str] | None = None,
    categories: Categories | None = None,
    **options: Any,  # noqa: ANN401 -- those of `read_table`
) -> Table:
    """Open a table for private use by a formula for its target and features.

    Parameters
    ----------
    formula : str
        Such as ``"log(cost) ~ age + I(age**2) + sex*ward"``. Terms are columns (names that are not
        words in backticks), ``C(column)`` for a category, ``log``, ``log1p`` and ``asinh`` of a
        column, ``I(x**2)`` and higher powers, ``I((x - 40)**2)``, ``I(x*z)``, and interactions:
        ``a:b`` is the product of both, ``a*b`` stands for ``a + b + a:b``. A model always has an
        intercept. Without ``~`` there is no target.
    source : path, frame, query or stream
        As for :func:`read_table`, like all other parameters.
    schema, categories : optional
        Declarations of the levels of categories, which are not read from the table.

    Returns
    -------
    Table
        Each term is a column, or one for each level except the first of its categories; they are
        derived as in a :class:`Schema`.

    Raises
    ------
    ParameterError
        If the formula cannot be read, if a term would be dropped or merged with another, or if it
        would depend on the data.
    TableError
        If a column is unknown or of another type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"cost": [1.0, 2.0], "age": [30.0, 50.0], "sex": ["F", "M"]})
    >>> from_formula(
    ...     "log(cost) ~ age*sex + I((age - 40)**2)", rows, categories={"sex": ["F", "M"]}
    ... ).feature_names
    ('age', 'sex=M', 'sex=...', 'I((age - 40)**2)', 'age:sex=M', 'age:sex=...')
    """
    made, target, features = schema_of(formula, as_schema(schema), categories)
    options |= {"features": features, "categories": categories, "schema": made}
    return read_table(source, target or False, **options)


def schema_of(
    formula: str, schema: Schema, categories: Categories | None = None
) -> tuple[Schema, str | None, list[str]]:
    """Return a schema with the columns of a formula, its target and its features."""
    reader = _Reader(schema, levels_given(categories, schema))
    left, _, right = formula.rpartition("~")
    target = reader.column(left.strip()) if left.strip() else None
    terms = reader.terms(right)
    features = [name for term in terms for name in reader.columns(term)]
    others = {*schema.used_as("target")} - {target}
    kept = schema.without(others)
    return Schema(kept.columns | reader.made, **asdict(kept.file)), target, features


def formula_of(target: str, read_options: Mapping[str, Any]) -> str | None:
    """Return the formula of a model some of whose columns are derived; None if none is."""
    products = interactions(read_options)
    terms: dict[str, None] = {}
    for name in read_options["features"]:
        factors = [each.rpartition("=")[0] or each for each in products.get(name, ())]
        terms[":".join(factors) or name] = None
    derived = as_schema(read_options.get("schema")).derived.values()
    shown = any(each.function != "missing_of" for each in derived)
    return f"{target} ~ {' + '.join(terms)}" if shown else None


def interactions(read_options: Mapping[str, Any]) -> dict[str, Term]:
    """Return the factors of each column that is named as a product of them."""
    derived = as_schema(read_options.get("schema")).derived
    return {name: each.of for name, each in derived.items() if name == ":".join(each.of)}


@define
class _Reader:
    """The declarations that a formula is read by, and the columns that it derives."""

    schema: Schema
    categories: dict[str, Levels]
    made: dict[str, Any] = field(factory=dict)

    def refused(self, term: str, why: str) -> ParameterError:
        name = parameter_name("formula")
        return ParameterError(f"{name} has the term {term.strip()[:60]!r}, {why}")

    def terms(self, text: str) -> list[Term]:
        """Return the terms of a sum, by the number of their columns; each must stand once."""
        found: list[Term] = []
        for each in _split(text, "+"):
            if each.strip() == "1":
                continue  # the constant, which every model has
            factors = [
                tuple(self.column(name.strip()) for name in _split(one, ":"))
                for one in _split(each, "*")
            ]
            for size in range(1, len(factors) + 1):
                for some in combinations(factors, size):
                    term = tuple(chain.from_iterable(some))
                    if len({*term}) < len(term) or {*term} in map(set, found):
                        raise self.refused(
                            ":".join(term), "which occurs twice (write each term once)"
                        )
                    found.append(term)
        for term in found:
            self._check_margins(term, found)
        return sorted(found, key=len)

    def column(self, text: str) -> str:
        """Return the column that a term without interactions stands for."""
        if re.fullmatch(_COLUMN, text):
            return text.strip("`")
        if found := _CATEGORY.fullmatch(text):
            if not self._levels(name := found[1].strip("`")):
                raise self.refused(
                    text, "but no levels are declared of it (declare them in a schema)"
                )
            return name
        if found := _LOGARITHM.fullmatch(text):
            function = found[1].replace("arcsinh", "asinh")
            return self._derived(f"{function}({found[2]})", {f"{function}_of": found[2].strip("`")})
        if found := _POWER.fullmatch(text):
            name, power = found[1].strip("`"), int(found[2])
            settings = {"square_of": name} if power == 2 else {"product_of": [name] * power}
            return self._derived(f"I({found[1]}**{power})", settings)
        if found := _SQUARE.fullmatch(text):
            name, sign, number = found.groups()
            around = float(number) if sign == "-" else -float(number)
            settings = {"square_of": name.strip("`"), "around": around}
            return self._derived(f"I(({name} {sign} {number})**2)", settings)
        if found := _PRODUCT.fullmatch(text):
            names = [name.strip() for name in found[1].split("*")]
            settings = {"product_of": [name.strip("`") for name in names]}
            return self._derived(f"I({'*'.join(names)})", settings)
        if text in {"0", "-1"} or re.search(r"-\s*1\s*$", text):
            raise self.refused(text, "but a model always has a constant (leave it out)")
        if found := re.fullmatch(rf"({_COLUMN})\s*(?:\*\*|\^)\s*(\d+)", text):
            raise self.refused(
                text, f"which in a formula is {found[1]} (write I({found[1]}**{found[2]}))"
            )
        raise self.refused(text, f"which is none of: {_KNOWN}")

    def columns(self, term: Term) -> list[str]:
        """Return the features of a term: a column, or a product for each choice of levels."""
        if len(term) == 1:
            return [*term]
        choices = [
            [f"{name}={OTHERS if each is None else each}" for each in levels[1:]]
            if (levels := self._levels(name))
            else [name]
            for name in term
        ]
        return [self._derived(":".join(one), {"product_of": [*one]}) for one in product(*choices)]

    def _derived(self, name: str, settings: dict[str, Any]) -> str:
        self.made[name] = settings
        return name

    def _levels(self, name: str) -> Levels:
        return self.schema.features([name], self.categories).get(name) or ()

    def _check_margins(self, term: Term, terms: Sequence[Term]) -> None:
        """Refuse a product with a category whose first level would be compared with nothing."""
        for name in term:
            margin = {*term} - {name}
            if margin and self._levels(name) and margin not in map(set, terms):
                missing = ":".join(each for each in term if each in margin)
                raise self.refused(":".join(term), f"but not {missing!r} (add it: + {missing})")


def _split(text: str, sign: str) -> list[str]:
    """Split a text at a sign that is neither in brackets, in backticks, nor one of two such."""
    parts = [""]
    for piece in _PIECE.findall(text):
        if piece == sign:
            parts.append("")
        else:
            parts[-1] += piece
    return parts

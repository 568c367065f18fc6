"""Two models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from nolook._arrays import Vector
from nolook.errors import ParameterError
from nolook.estimators.catalogue import called
from nolook.estimators.result import Result, Summary, frame
from nolook.report.findings import Table, Text, plain
from nolook.report.model_words import MEASURES, measured, words_of
from nolook.report.reference_levels import contrasts
from nolook.report.sentences import phrase
from nolook.report.summary import summary_of
from nolook.report.terminal import Line
from nolook.report.wording import NOT_KNOWN, loss_in_words, rows_in_words, with_ends

if TYPE_CHECKING:
    import pandas as pd

    from nolook._unit import Unit

__all__ = ["Comparison", "compare", "comparison_lines"]


_NONE = "-"  # of a column that a model does not have
_NOTHING = np.full(3, np.nan)
_INTERCEPT = "intercept"


@frozen(repr=False)
class Comparison:
    """The coefficients of two models side by side.

    Returned by :func:`nolook.compare`.

    Parameters
    ----------
    columns : tuple of str
        The columns of both models, those of the first one first, and "intercept".
    first, second : ndarray of shape (columns, 3)
        Each model's coefficient, and both ends of its 95 % interval; NaN where these are not known.
    difference : ndarray of shape (columns, 3)
        The second minus the first, and both ends of its interval. Its half width is the sum of both
        half widths, since both models may be from the same rows.
    models : tuple of fitted models
    names : tuple of str
        Names of the two models.
    """

    columns: tuple[str, ...]
    first: Vector
    second: Vector
    difference: Vector
    models: tuple[Any, Any]
    names: tuple[str, str]

    def summary(self) -> Summary:
        """Return the coefficients, their differences, and how well both fit, on one screen.

        Returns
        -------
        Summary
        """
        return summary_of(comparison_lines(self))

    __repr__, _repr_html_ = Result.__repr__, Result._repr_html_

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficients and their differences, unrounded.

        Returns
        -------
        pandas.DataFrame
            A row for each column.

        Raises
        ------
        ParameterError
            If pandas is not installed.
        """
        numbers = {
            f"{kind}{end}": getattr(self, kind)[:, place]
            for kind in ("first", "second", "difference")
            for place, end in enumerate(("", "_low", "_high"))
        }
        return frame({"column": list(self.columns), **numbers})


def compare(first: Any, second: Any, names: Sequence[str] = ("A", "B")) -> Comparison:  # noqa: ANN401
    """Compare the coefficients of two models of the same target.

    This reads no data and costs nothing.

    Parameters
    ----------
    first, second : fitted models
        Of the same kind and target, and protecting the same unit.
    names : sequence of two str, default=("A", "B")
        Names of the models.

    Returns
    -------
    Comparison

    Raises
    ------
    ParameterError
        If they are not fitted models, or cannot be compared: their target, kind of model or unit
        differs.

    Examples
    --------
    >>> import numpy as np
    >>> import nolook
    >>> x = np.arange(40_000.0).reshape(-1, 2) ** 2 % 977
    >>> models = [nolook.LinearRegression(epsilon=e).fit(x, x[:, 0]) for e in (1.0, 2.0)]
    >>> low, high = nolook.compare(*models).difference[0, 1:]
    >>> bool(low < 0 < high)
    True
    """
    if isinstance(names, str) or len(names) != 2:
        raise ParameterError("names is not a pair of strings (for example ('A', 'B'))")
    pair = first, second
    for model, name in zip(pair, ("first", "second"), strict=True):
        if not getattr(model, "coefficients", ()):
            raise ParameterError(
                f"{name} is of type {type(model).__name__}; expected a fitted model with "
                "coefficients (for example nolook.LinearRegression; call fit first)"
            )
    parts = [model.regression for model in pair]
    _check_alike(parts, pair)
    one, other = (_coefficients(part) for part in parts)
    columns = (*(name for name in {**one, **other} if name != _INTERCEPT), _INTERCEPT)
    a, b = (np.array([each.get(name, _NOTHING) for name in columns]) for each in (one, other))
    # The second's lower end is farthest from the first's upper one.
    difference = np.stack([b[:, 0] - a[:, 0], b[:, 1] - a[:, 2], b[:, 2] - a[:, 1]], axis=1)
    called_a, called_b = map(str, names)
    return Comparison(columns, a, b, difference, pair, (called_a, called_b))


def _check_alike(parts: Sequence[Any], models: Sequence[Any]) -> None:
    """Refuse models whose coefficients are about different things."""
    targets = [repr(plain(part.scaling_.names[-1])) for part in parts]
    kinds = [repr(part.kind.removesuffix(" model")) for part in parts]
    units = [_unit(model.privacy.unit) for model in models]
    for what, (one, other) in {"targets": targets, "kinds": kinds, "units": units}.items():
        if one != other:
            raise ParameterError(
                f"the models have different {what}, {one} and {other}, so their coefficients "
                "cannot be compared (fit both to the same)"
            )


def _unit(unit: Unit) -> str:
    if unit.column is None:
        return "a row"
    counted = "rows have weights" if unit.is_shared else f"at most {unit.max_rows} rows"
    return f"{plain(unit.column)!r} ({counted})"


def _coefficients(part: Any) -> dict[str, Vector]:  # noqa: ANN401
    """Return each coefficient with the ends of its interval, by what it is the coefficient of."""
    compared = contrasts(part)
    return {
        compared.get(one.name, one.name): np.array([one.value, *one.ends]) if one.ends else _NOTHING
        for one in part.coefficients
    }


def comparison_lines(found: Comparison) -> tuple[Line, ...]:
    """List texts and tables in order."""
    words, (a, b) = words_of(found.models[0].regression), found.names
    one, other = (_coefficients(model.regression).keys() for model in found.models)
    numbers = zip(found.columns, found.first, found.second, found.difference, strict=True)
    rows = tuple(
        (name, *map(_with_ends, values, (name in one, name in other, name in one & other)))
        for name, *values in numbers
    )
    caption = f"{words.phrase('coefficients_caption')}, with 95 % intervals"
    table = Table(caption, ("Column", a, b, f"{b} less {a}"), rows)
    said = "widths", "leaning", *("other_columns",) * (one != other)
    notes = (phrase(f"release.{name}") for name in said)
    rest: list[Text | Table] = [table, *notes, _both(found), _together(found)]
    return ((("Two models of ", words.target), "bold"), *((part, "") for part in rest))


def _with_ends(values: Vector, there: bool) -> str:
    value, low, high = values.tolist()
    return with_ends(value, (low, high), missing=NOT_KNOWN if there else _NONE)


def _both(found: Comparison) -> Table:
    """Put side by side how both were made, and how well they fit."""
    parts = [model.regression for model in found.models]
    rows = [("Method", *map(called, parts)), ("Used", *map(_rows, found.models))]
    for measures in zip(*(part.measures for part in parts), strict=True):
        if any(one.value is not None for one in measures):
            rows.append((MEASURES[measures[0].name][2], *map(measured, measures)))
    rows.append(("Privacy", *(loss_in_words(model.privacy) for model in found.models)))
    return Table("How they were made, and how well they fit", ("", *found.names), tuple(rows))


def _rows(model: Any) -> str:  # noqa: ANN401
    rows, one = model.regression.rows, model.privacy.unit.counted
    of = "a population of " * (model.privacy.unit.weighting is not None)
    return NOT_KNOWN if rows is None else f"{of}{rows_in_words(rows.value, rows.error, one)[0]}"


def _together(found: Comparison) -> str:
    guarantees = [model.privacy for model in found.models]
    if not all(one.private for one in guarantees):
        return phrase("release.not_private")
    both = {name: sum(getattr(one, name) for one in guarantees) for name in ("epsilon", "delta")}
    return phrase("release.together", **both)

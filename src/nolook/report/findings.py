"""What is said about a private distribution: page and terminal show the same words and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nolook.report.distribution_picture import Line, Picture
from nolook.report.origin import Origin
from nolook.report.summary import number

if TYPE_CHECKING:
    from nolook.algorithms.grids import LinearGrid, LogGrid
    from nolook.estimators.ecdf import ECDF
    from nolook.estimators.quantiles import Quantiles
    from nolook.privacy.guarantee import PrivacyGuarantee

__all__ = ["Findings", "ecdf_findings", "grid_in_words", "quantiles_findings", "rows_in_words"]

_SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_TRIMMED = 0.05
_STEPS = 600  # of a drawn curve

_NOISE_ONLY = (
    "Standard errors count the noise that protects the rows, before any smoothing; they do not "
    "count that the rows may be a sample."
)
_FREE = "The file answers every other question about this distribution at no further cost."


@dataclass(frozen=True, slots=True)
class Findings:
    """What one release found, ready to be shown.

    Parameters
    ----------
    kind : str
        What was released.
    of : str
        A column's name, or several in one text.
    cards : tuple of (str, str, str)
        The main figures: a head, a large and a small text.
    heads : tuple of str
    rows : tuple of tuple of str
        A table; the first cell of a row is its name.
    caption : str
        Of the table.
    notes : tuple of str
        How to read the figures.
    settings : tuple of (str, str)
        How it was made.
    privacy_ : PrivacyGuarantee
    recipe_ : dict
        How the table was read.
    picture : Picture or None
    caution : str
        What must be known before any of it is used; may be empty.
    """

    kind: str
    of: str
    cards: tuple[tuple[str, str, str], ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    notes: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    privacy_: PrivacyGuarantee
    recipe_: dict[str, Any]
    picture: Picture | None = None
    caution: str = ""

    @property
    def origin(self) -> Origin:
        """What it promises, and what it cost."""
        steps = ((self.kind, self.privacy_),)
        return Origin(self.privacy_, self.recipe_["missing"], steps)


def ecdf_findings(ecdf: ECDF, column: str) -> Findings:
    """Say what the distribution of a column is."""
    values, errors = ecdf.quantile(_SHARES, return_std=True)
    rows = [
        (f"{100 * p:g} % lie at or below", _value(value), _error(error))
        for p, value, error in zip(_SHARES, values, errors, strict=True)
    ]
    mean, error = ecdf.trimmed_mean(_TRIMMED, return_std=True)
    rows.append((f"mean without {100 * _TRIMMED:g} % at either end", _value(mean), _error(error)))
    many, origin = rows_in_words(
        ecdf.n_samples_, math.sqrt(ecdf.distribution_.rows_variance), ecdf.relation
    )
    rows.insert(0, ("number of rows", many, origin))
    middle = _SHARES.index(0.5)
    median = _value(values[middle]), f"standard error {_error(errors[middle])}"
    return Findings(
        kind="distribution",
        of=column,
        cards=(("Rows", many, f"standard error {origin}"), ("Median", *median)),
        heads=("", "value", "standard error"),
        rows=tuple(rows),
        caption="The distribution in a few numbers",
        notes=(_FREE, _NOISE_ONLY),
        settings=(
            ("Column", column),
            ("Thresholds", grid_in_words(ecdf.grid)),
            ("Smoothing", ecdf.smoothing or "none"),
        ),
        privacy_=ecdf.privacy_,
        recipe_=ecdf.recipe_,
        picture=_ecdf_picture(ecdf, column),
    )


def quantiles_findings(
    found: Quantiles, recipe: dict[str, Any], grids: Mapping[str, LinearGrid | LogGrid]
) -> Findings:
    """Say what the quantiles of several columns are."""
    rows = tuple(
        (name, *(f"{_value(v)} (± {_error(e)})" for v, e in zip(values, errors, strict=True)))
        for name, values, errors in zip(found.names, found.values, found.errors, strict=True)
    )
    columns = ", ".join(found.names)
    thresholds = "; ".join(f"{name}: {grid_in_words(grids.get(name))}" for name in found.names)
    return Findings(
        kind="quantiles",
        of=columns,
        cards=(("Columns", str(len(found.names)), "share the budget equally"),),
        heads=("column", *(f"{100 * p:g} %" for p in found.shares)),
        rows=rows,
        caption="The value at or below which a share of the rows lies, and its standard error",
        notes=(_NOISE_ONLY,),
        settings=(("Thresholds", thresholds),),
        privacy_=found.privacy,
        recipe_=recipe,
    )


def rows_in_words(rows: float, error: float, relation: str) -> tuple[str, str]:
    """Return a number of rows and how sure it is, as text."""
    return f"{rows:,.0f}", "none, it is public" if relation == "replace" else number(error)


def grid_in_words(grid: LinearGrid | LogGrid | None) -> str:
    """Say which public thresholds were used."""
    if grid is None:
        return "of all numbers: steps of at most a 1024th from 7.6e-06 to 7e+13, coarser beyond"
    kind = "relative steps" if type(grid).__name__ == "LogGrid" else "steps"
    return f"from {grid.low:g} to {grid.high:g} in {kind} of {grid.step:g}"


def _value(value: float) -> str:
    return f"{value + 0.0:.6g}" if math.isfinite(value) else "unknown"


def _error(error: float) -> str:
    return number(error) if math.isfinite(error) else "unknown"


def _ecdf_picture(ecdf: ECDF, column: str) -> Picture:
    low, high = _view(ecdf)
    places = low + (high - low) * np.linspace(0.0, 1.0, _STEPS)
    shares, errors = ecdf.cdf(places, return_std=True)
    band = (places, shares - 2 * errors, shares + 2 * errors)
    return Picture(
        title=f"The share of rows up to each value of {column}",
        across=column,
        up="share of rows",
        low=low,
        high=high,
        lines=(Line("curve", places, shares),),
        band=band,
        legend="the private curve and two standard errors of its noise on either side",
    )


def _view(ecdf: ECDF) -> tuple[float, float]:
    """Return where most of the rows lie: noise may put a quantile at the ends of the grid."""
    low, left, right, high = ecdf.quantile([0.005, 0.25, 0.75, 0.995]).clip(-1e307, 1e307)
    if right > left:
        low, high = max(low, left - 5 * (right - left)), min(high, right + 5 * (right - left))
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return float(low - room), float(high + room)

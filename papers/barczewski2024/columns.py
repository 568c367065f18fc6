"""What the page takes of the columns of trials."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

__all__ = ["line", "mean", "median", "ratio_of", "rejected"]

Value = Callable[[pd.DataFrame], float]


def line(own: pd.DataFrame, along: str, value: Value) -> tuple[list[float], list[float]]:
    """Return the places along a column, in order, and the value of their rows."""
    xs = sorted(set(own[along]))
    return xs, [value(own[own[along] == x]) for x in xs]


def mean(title: str) -> Value:
    """Return the function that takes the mean of a column."""
    return lambda chosen: float(chosen[title].mean())


def median(title: str) -> Value:
    """Return the function that takes the median of a column."""
    return lambda chosen: float(chosen[title].median())


def rejected(title: str) -> Value:
    """Return the function that takes the share of p-values below 0.05."""
    return lambda chosen: float((chosen[title] < 0.05).mean())


def ratio_of(title: str, base: str) -> Value:
    """Return the function that divides the sum of a column by that of another, where both are."""

    def ratio(chosen: pd.DataFrame) -> float:
        both = chosen[[title, base]].dropna()
        return float(both[title].sum() / both[base].sum()) if len(both) else float("nan")

    return ratio

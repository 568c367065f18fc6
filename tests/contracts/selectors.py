"""Every selector of the catalogue: all contracts run on a new one by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from nolook.estimators.catalogue import SELECTORS as NAMED

# Why a scikit-learn check cannot hold for a private selector.
OBJECT_CELLS = "cells of an object array would have to be looked at: only declared types are taken"
NO_ROWS = "a table without rows gets the ordinary private answer, since its size is private"
SCORE = "`score` is a parameter, the name of a score, and no method"
ONE_FEATURE = "of one feature none can be chosen; the error says so in other words"


FAILURES = {
    "check_dtype_object": OBJECT_CELLS,
    "check_estimators_empty_data_messages": NO_ROWS,
    "check_fit2d_1feature": ONE_FEATURE,
}


@dataclass(frozen=True)
class Row:
    """One selector.

    Parameters
    ----------
    make : callable
        Takes k, epsilon and the selector's parameters.
    failures : mapping
        Scikit-learn's checks that fail besides `FAILURES`, and why.
    last : str
        What is released last.
    automatic : tuple of int
        How many of five features, of which two matter, "auto" may choose with an ample budget.
    counted : bool
        Whether "auto" releases the number of rows.
    smallest : float
        An epsilon too small for any noise, or 0 if its delta always buys some.
    """

    make: Callable[..., Any]
    failures: Mapping[str, str] = field(default_factory=dict)
    last: str = "features"
    automatic: tuple[int, ...] = (3,)
    counted: bool = True
    smallest: float = 1e-300


# Parameters a selector is tested with, if not once with its own defaults.
VARIANTS = {
    "kendall": {"KendallSelector": {}, "KendallSelector on a sample": {"sample": 0.5}},
    "lasso": {"LassoSelector": {}, "LassoSelector on a sample": {"sample": 0.5}},
    "sis": {
        "SISSelector on a sample": {"sample": 0.5},
        "SISSelector": {"top_k": "canonical-lipschitz"},
        "SISSelector with private ranges": {"score": "covariance"},
    },
}
SPECIAL: dict[str, dict[str, Any]] = {
    "moments": {
        "last": "moment matrix",
        "automatic": (2, 3, 4),
        "counted": False,
        "smallest": 0.0,
    },
    "sis": {
        "failures": {"check_fit_score_takes_y": SCORE, "check_n_features_in_after_fitting": SCORE}
    },
}
SELECTORS = {
    variant: Row(partial(entry.load(), **parameters), **SPECIAL.get(name, {}))
    for name, entry in NAMED.items()
    for variant, parameters in VARIANTS.get(name, {entry.kind: {}}).items()
}

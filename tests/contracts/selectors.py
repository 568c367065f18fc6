"""Every selector and what it promises: a new one adds a row, and all contracts run on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import nolook

# Why a scikit-learn check cannot hold for a private selector.
OBJECT_CELLS = "cells of an object array would have to be looked at: only declared types are taken"
NO_ROWS = "a table without rows gets the ordinary private answer, since its size is private"
SCORE = "`score` is a parameter, the name of a score, and no method"
ONE_FEATURE = "of one feature none can be chosen; the error says so in other words"


@dataclass(frozen=True)
class Row:
    """One selector.

    Parameters
    ----------
    make : callable
        Takes k, epsilon and the selector's parameters.
    expected_failures : mapping
        From the name of a scikit-learn check to the reason why it fails.
    """

    make: Callable[..., Any]
    expected_failures: Mapping[str, str] = field(default_factory=dict)


SELECTORS = {
    "KendallSelector": Row(
        make=nolook.KendallSelector,
        expected_failures={
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
            "check_fit2d_1feature": ONE_FEATURE,
        },
    ),
    "LassoSelector": Row(
        make=nolook.LassoSelector,
        expected_failures={
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
            "check_fit2d_1feature": ONE_FEATURE,
        },
    ),
    "SISSelector": Row(
        make=partial(nolook.SISSelector, top_k="canonical-lipschitz"),
        expected_failures={
            "check_fit_score_takes_y": SCORE,
            "check_n_features_in_after_fitting": SCORE,
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
            "check_fit2d_1feature": ONE_FEATURE,
        },
    ),
    "SISSelector with private ranges": Row(
        make=partial(nolook.SISSelector, score="covariance"),
        expected_failures={
            "check_fit_score_takes_y": SCORE,
            "check_n_features_in_after_fitting": SCORE,
            "check_dtype_object": OBJECT_CELLS,
            "check_estimators_empty_data_messages": NO_ROWS,
            "check_fit2d_1feature": ONE_FEATURE,
        },
    ),
}

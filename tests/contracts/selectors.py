"""Every selector and what it promises: a new one adds a row, and all contracts run on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import nolook

# Why a scikit-learn check cannot hold for a private selector.
OBJECT_CELLS = "cells of an object array would have to be looked at: only declared types are taken"
NO_ROWS = "a table without rows gets the ordinary private answer, since its size is private"
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
}

"""Levels of columns that a release has found among the values that occur."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from nolook.tables.design import GAP
from nolook.tables.levels import OTHERS, Vocabulary
from nolook.tables.table import Table

__all__ = ["with_levels"]


def with_levels(table: Table, shown: Mapping[int, NDArray[np.int64]]) -> Table:
    """Return the same rows with some of the values that occur as the levels of columns.

    `shown` has the codes of these values, which have been released, by column.
    """
    labels, places = list(table.code_labels), {}
    for column, codes in shown.items():
        texts = cast("Vocabulary", table._design.features[column].vocabulary).texts
        levels = sorted((texts[c], c) for c in codes.tolist() if texts[c] not in {OTHERS, GAP})
        labels[column] = (*(level for level, _ in levels), OTHERS, GAP)
        places[column] = np.full(len(texts), float(len(levels)))
        places[column][[code for _, code in levels]] = np.arange(len(levels))
    turn = partial(_shown, places)
    found = table.transformed(table.feature_names, table.target_name, turn, table.binary)
    found.code_labels = tuple(labels)
    return found


def _shown(
    places: Mapping[int, NDArray[np.float64]], numbers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Turn codes of values that occur into codes of levels; one after the last for others."""
    turned = numbers.copy()
    for column, own in places.items():
        known = ~np.isnan(numbers[column])
        codes = numbers[column, known].astype(np.int64)
        turned[column, known] = np.append(own, own.size)[codes.clip(0, own.size)]
    return turned

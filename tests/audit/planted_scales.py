"""Faults planted into the search for scales: columns and budgets that are counted wrongly.

Many columns hold the same value in every row, so a row more moves the same bin of each; the score
is the sum of these bins, noise included, over all that was released.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from nolook.algorithms import scaling
from nolook.tables import read_table
from tests.audit.planted import Fault, Release

_MU = 2.0
_COLUMNS = 8


def _table(rows):
    """Columns that need a finer look, and a target."""
    columns = {f"x{j}": rows for j in range(_COLUMNS)}
    return read_table(pd.DataFrame(columns | {"y": rows}), target="y")


def _best_score(releases, row):
    """Project what was released on what one more row changes, in units of each one's noise."""
    score = 0.0
    for exact, noisy, scale in releases:
        # All rows are equal, so the bins of a row are those that hold any; each count is known but
        # for the row in question.
        changed = exact == exact.max(axis=1, keepdims=True)
        score += float(((noisy - row) * changed).sum()) / scale**2
    return score


def searched(rows, draws, source):
    """Run the search and score its releases by the best test of one row more."""
    table, scores = _table(rows), []
    release, releases = scaling.gaussian_release, []

    def spy(exact, sensitivity, mu, byte_source):
        noisy = release(exact, sensitivity, mu, byte_source)
        if len(exact):
            releases.append((exact, noisy.astype(np.float64), sensitivity / mu))
        return noisy

    scaling.gaussian_release = spy
    try:
        for _ in range(draws):
            releases.clear()
            scaling.ScaleSearch(_MU).run(table, source, lambda _: None)
            scores.append(_best_score(releases, 60.0))
    finally:
        scaling.gaussian_release = release
    return [np.array(scores)]


SCALES = Release(
    "scales of equal columns",
    (np.full(60, 1.5), np.full(61, 1.5)),
    searched,
    _MU,
    400,
    0.3,
    delta=None,
)


def unspent_target(patch):
    """Plant a target whose share the features are given as well."""
    patch.setattr(scaling, "SHARES", {"rows": 0.1, "target": 9.0, "features": 0.6})


def columns_forgotten(patch):
    """Plant the sensitivity of one column, whatever the number of those that are released."""
    exact = scaling.histograms_sensitivity
    patch.setattr(scaling, "histograms_sensitivity", lambda _, relation: exact(1, relation))


FAULTS = (
    Fault("the target's scale not charged", SCALES, unspent_target, math.sqrt(9.7) * _MU),
    Fault(
        "columns forgotten in the sensitivity",
        SCALES,
        columns_forgotten,
        math.sqrt(0.4 + 0.6 * _COLUMNS) * _MU,
    ),
)

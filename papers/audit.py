"""Audits of the published releases: those that are not private for rows lose more than they claim.

    python -m papers.audit

DP-SGD's sum of gradients keeps its claim. Draws from two neighbouring tables bound the loss from
below, as in `nolook audit`; where the exact laws of the outcomes are known, their loss is shown
next to it. Two versions without a guarantee have nothing that draws could show: the search for the
settings of `tuned_sgd` is not repeated, and Algorithm 2 of Barczewski et al. takes the number of
rows, which it does not hide, as public.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from nolook.algorithms.screening import Scores, screen
from nolook.audit.audit_case import FEWER_RUNS, Case, Vector, gaussian_case, ignore, one_by_one
from nolook.audit.exact_laws import point_law
from nolook.audit.findings import audit
from nolook.audit.gaussian_sums import vectors
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import ByteSource, SystemEntropy
from nolook.statistics.grid_models import grid_model
from nolook.tables import table_from_arrays
from papers.amin2023.adassp import OracleAdaSSP
from papers.amin2023.clipped_gradients import (
    ClippedGradients,
    gradient_radius,
    gradient_sensitivity,
)
from papers.amin2023.tukey_em import published_depth, published_tukey
from papers.amin2023.wang_adassp import wang_adassp
from papers.dick2023.sublasso import PublishedLassoSelector, raw_votes
from papers.swope2024.classes import published_law
from papers.swope2024.screening import published_scores

__all__ = ["cases", "clipped_gradients"]

_EPSILON, _DELTA = 4.0, 1e-3
_RUNS = 5_000


def cases() -> tuple[Case, ...]:
    """Return every published release that breaks its claim, on tables that show it.

    Returns
    -------
    tuple of Case
    """
    return (*_models(), *_choices())


def _models() -> tuple[Case, ...]:
    return (
        Case(
            name="point of the published Tukey mechanism",
            neighbours="one model replaced: from the left end to the right one",
            relation="add-remove",
            measure="epsilon",
            claim=_EPSILON / 2,
            covers=("published_tukey",),
            draw=one_by_one(_point),
            delta=_DELTA,
            law=_point_law,
            runs=_RUNS,
        ),
        Case(
            name="model of AdaSSP with the table's own norms",
            neighbours="one row with a target of a million added",
            relation="add-remove",
            measure="mu",
            claim=1.0,
            covers=("OracleAdaSSP",),
            draw=one_by_one(_oracle_model),
            runs=_RUNS,
        ),
        Case(
            name="model of AdaSSP by Wang's constants",
            neighbours="one row with a target of a million added",
            relation="add-remove",
            measure="epsilon",
            claim=1.0,
            covers=("wang_adassp",),
            draw=one_by_one(_wang_model),
            delta=_DELTA,
            runs=_RUNS,
        ),
    )


def _choices() -> tuple[Case, ...]:
    return (
        Case(
            name="published canonical Lipschitz classes",
            neighbours="scores that move by their sensitivity, and nearly tie",
            relation="add-remove",
            measure="epsilon",
            claim=1.0,
            covers=("published_law",),
            draw=one_by_one(_set),
            law=_set_law,
            runs=FEWER_RUNS,
        ),
        Case(
            name="choice by the published DP-SIS score",
            neighbours="one row at the ends of the ranges added",
            relation="add-remove",
            measure="epsilon",
            claim=2.0,
            covers=("published_scores",),
            draw=one_by_one(_choice),
            runs=_RUNS,
        ),
        Case(
            name="feature of the published SubLasso",
            neighbours="one row of eight removed, which leaves no part of two rows",
            relation="add-remove",
            measure="epsilon",
            claim=1.0,
            covers=("PublishedLassoSelector",),
            draw=one_by_one(_voted),
            law=_vote_law,
            runs=_RUNS,
        ),
    )


# Most points of the grid lie left of the median, where the moved model makes depths smaller; it
# makes those on the right larger, so that the two changes add up. The test passes nearly always.
_SPREAD = np.concatenate([60 * np.arange(-47, 1), 1 + np.arange(48)])[:, None]
_MODELS = (_SPREAD, np.concatenate([_SPREAD[-1:] + 1, _SPREAD[1:]]))
_GRID = np.arange(_SPREAD[0, 0], _SPREAD[-1, 0] + 2)[:, None]


def _point(table: int, source: ByteSource) -> float:
    point = published_tukey(_MODELS[table], _EPSILON, _DELTA, "2023", source)
    return 0.0 if point is None else float(point[0] - _GRID[0, 0])


def _point_law(table: int) -> Vector:
    models = _MODELS[table]
    return point_law(models, _GRID, published_depth(len(models)), _EPSILON / 2)


# Scores of two tables: none differs by more than 1 + 1e-5, which a hair of epsilon makes up for.
_NEAR_TIES = 1e-6 * np.array([4, 2, 0, 3, 1])
_SCORES = (
    np.array([3.0, 2.0, 2.0, 4.0, 4.0]) + _NEAR_TIES,
    np.array([2.0, 3.0, 3.0, 3.0, 5.0]) - _NEAR_TIES,
)
_K = 4


@cache
def _set_law(table: int) -> Vector:
    return np.array(list(published_law(list(_SCORES[table] / (1.0 + 1e-5)), _K, 1.0).values()))


def _set(table: int, source: ByteSource) -> float:
    """Draw from the law itself: no mechanism has the published classes."""
    uniform = float(source.words(1)[0]) / 2.0**64
    ends = _set_law(table).cumsum()
    return float(np.searchsorted(ends[:-1], uniform))


# The target and the first feature are within a tenth of their range and alike; three features have
# nothing to do with them. One row reaches the end of the first feature's range, and the target's.
_BITS = (np.arange(400)[:, None] >> np.array([0, 1, 2, 3, 0])) & 1
_ROWS = np.concatenate([0.1 * _BITS, [[1.0, 0.05, 0.05, 0.05, 1.0]]])


@cache
def _scored(table: int) -> Scores:
    rows = _ROWS[: len(_ROWS) - 1 + table]
    return published_scores(table_from_arrays(rows[:, :-1], rows[:, -1]))


def _choice(table: int, source: ByteSource) -> float:
    """Tell whether the first feature is chosen."""
    return float(screen(_scored(table), 1, PureEvent("features", 2.0), "peeling", source)[0] == 0)


# `papers/dick2023/counterexamples.py` says what each row is for.
_PARTS = 7
_EIGHT = np.stack([100.0 * 1.5 ** np.arange(8), np.full(8, 50.0), np.full(8, 1000.0)])
_EIGHT[0, -1] = 0.0
_VOTING = tuple(table_from_arrays(rows[:-1].T, rows[-1]) for rows in (_EIGHT, _EIGHT[:, :-1]))


def _voted(table: int, source: ByteSource) -> float:
    """Return the feature that is chosen."""
    release = PublishedLassoSelector(k=1, n_models=_PARTS).plan().release
    return float(release.run(_VOTING[table], source, ignore).features[0])


@cache
def _vote_law(table: int) -> Vector:
    """Return the law of the chosen feature: any two of the eight rows may share a part."""
    count = 8 - table
    chances = []
    for pair in combinations(range(count), 2) if count > _PARTS else [()]:
        alone = [row for row in range(count) if row not in pair]
        parts = np.zeros(count, dtype=np.int64)
        parts[alone] = np.arange(_PARTS - len(alone), _PARTS)
        weights = np.exp(raw_votes(_EIGHT[:, :count], parts, _PARTS, 1, 1.0) / 2)
        chances.append(weights / weights.sum())
    return np.asarray(np.mean(chances, axis=0))


_FAR = tuple(
    (np.ones((rows, 1)), np.concatenate([np.arange(40) % 2, np.full(rows - 40, 1e6)]))
    for rows in (40, 41)
)


def _oracle_model(table: int, source: ByteSource) -> float:
    """Return the size of the slope: the largest target is a factor of its noise."""
    found = OracleAdaSSP(1.0).run(table_from_arrays(*_FAR[table]), source, ignore)
    return float(np.abs(found.theta).max() * found.scaling.scale[-1])


def _wang_model(table: int, source: ByteSource) -> float:
    return float(np.abs(wang_adassp(*_FAR[table], 1.0, _DELTA, source)).max())


def clipped_gradients(mu: float = 1.0) -> Case:
    """Return the case of a sum of DP-SGD, which keeps its claim.

    Returns
    -------
    Case
    """
    return gaussian_case(mu)(
        name="clipped gradients of DP-SGD",
        neighbours="a row with a gradient beyond the clipping",
        covers=("gaussian_release", "gradient_sensitivity"),
        draw=vectors(mu, gradient_sensitivity(gradient_radius(1.0)), *map(_gradients, (1, 0))),
    )


_ROW_UNIT = 2**10


def _gradients(rows: int) -> NDArray[np.object_]:
    kept = ClippedGradients(2, _ROW_UNIT, gradient_radius(1.0))
    kept.update(np.array([[_ROW_UNIT], [0.0]])[:, :rows], np.full(rows, 1e9))
    return kept.value(np.ones(rows, dtype=np.bool_), *grid_model(np.zeros(2), _ROW_UNIT**2))


def main() -> None:
    """Audit all, and print a table."""
    print("| release | claim | shown by draws | exact | verdict |")
    print("|---|---:|---:|---:|---|")
    for case in (*cases(), clipped_gradients()):
        found = audit(case, SystemEntropy())
        exact = "" if found.exact is None else f"{found.exact:.2f}"
        print(f"| {case.name} | {case.claim:g} | {found.bound:.2f} | {exact} | {found.verdict} |")


if __name__ == "__main__":
    main()

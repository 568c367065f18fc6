"""Faults of the counts of a forest's blocks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

import nolook
from nolook.algorithms import ecdf, node_counts, tabulation
from nolook.algorithms.forest import Forest
from nolook.algorithms.grids import LinearGrid
from nolook.privacy.guarantee import Budget, GaussianEvent, PureEvent
from nolook.privacy.mechanisms import gaussian, laplace
from nolook.statistics.group_totals import GroupedCells
from tests.audit.planted import Fault, Release

#: Three blocks of seven cells and 21 cells: the last five are padding.
CELLS, LENGTHS = 16, (7, 1)
LONGEST = 3


def released(release, table, source):
    """Release the counts of a column's values in cells; return those of all blocks."""
    found, exact = [], node_counts.release_forests

    def keep(*given, **named):
        found.extend(exact(*given, **named))
        return found[:]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_counts, "release_forests", keep)
        cells = np.bincount(table, minlength=CELLS)
        ecdf.release_counts([cells], release, source)
    return np.concatenate([forest.blocks for forest in found])


def without_noise(release, table):
    """Return the counts that a release adds noise to."""

    def none(scale, shape, source):
        return np.zeros(shape, dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(laplace, "discrete_laplace", none)
        patch.setattr(gaussian, "rounded_gaussian", none)
        return released(release, table, None)


def scores_of(release, tables):
    """Return a run that scores noisy counts by how much nearer they are to one of two tables."""

    def run(table, draws, source):
        first, second = (without_noise(release, each) for each in tables)
        own = without_noise(release, table)
        if len(first) != len(second):  # which of them it is, the number of counts tells
            return [np.full(draws, len(own), dtype=np.float64)]
        changed = first != second
        first, second = first[changed], second[changed]
        scores = np.empty(draws)
        for i in range(draws):
            noisy = released(release, table, source)[changed]
            if isinstance(release.event, GaussianEvent):
                scores[i] = noisy @ (first - second)
            else:
                scores[i] = np.sum(np.abs(noisy - second) - np.abs(noisy - first))
        return [scores]

    return run


def column(event, relation):
    return ecdf.EcdfRelease(relation, event, (LinearGrid(1, CELLS, 1),))


SEVEN = np.arange(7)
ADDED = SEVEN, np.append(SEVEN, CELLS - 1)
MOVED = SEVEN, np.append(SEVEN[:-1], CELLS - 1)
LAPLACE, GAUSSIAN = PureEvent("counts", 2.0), GaussianEvent("counts", 1.0)

COUNTS = Release(
    "node counts", ADDED, scores_of(column(LAPLACE, "add-remove"), ADDED), 2.0, 6_000, 0.5
)
REPLACED = Release(
    "node counts (one row replaced)",
    MOVED,
    scores_of(column(LAPLACE, "replace"), MOVED),
    2.0,
    8_000,
    0.4,
)
NORMAL = Release(
    "node counts with Gaussian noise",
    ADDED,
    scores_of(column(GAUSSIAN, "add-remove"), ADDED),
    1.0,
    4_000,
    0.6,
    delta=None,
)


def one_level_less(patch):
    """Plant a sensitivity of h - 1."""
    exact = node_counts.node_counts_sensitivity
    patch.setattr(node_counts, "node_counts_sensitivity", lambda *given: exact(*given) - 1)


def replacement_forgotten(patch):
    patch.setattr(node_counts, "node_counts_sensitivity", lambda levels, _: levels)


def one_root_more(patch):
    """Plant a level above those that the sensitivity counts."""
    best, exact = node_counts.best_forest, node_counts.release_forests

    def rooted(cells, noise, **shares):
        lengths = best(cells, noise, **shares).lengths
        return Forest(cells, (-(-cells // lengths[0]) * lengths[0], *lengths))

    def released(*given, **named):
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(node_counts, "best_forest", rooted)
            return exact(*given, **named)

    patch.setattr(node_counts, "release_forests", released)


def shape_from_the_data(patch):
    """Plant a shape that the number of rows decides."""
    exact = node_counts.release_forests

    def shaped(cells, *rest, **shares):
        lengths = LENGTHS if cells[0].sum() > len(SEVEN) else (5, 1)
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(node_counts, "best_forest", lambda cells, _, **__: Forest(cells, lengths))
            return exact(cells, *rest, **shares)

    patch.setattr(node_counts, "release_forests", shaped)


def quiet(places):
    """Plant counts that are released without noise."""

    def plant(patch):
        exact = node_counts.laplace_release

        def some(values, *rest):
            return np.where(places(len(values)), values, exact(values, *rest))

        patch.setattr(node_counts, "laplace_release", some)

    return plant


def longest(size):
    return np.arange(size) < LONGEST


def padded(size):
    """Tell which blocks have padding in them: the last of the longest, and the last cells."""
    return (np.arange(size) == LONGEST - 1) | (np.arange(size) >= LONGEST + CELLS)


def root_of_the_changes_halved(patch):
    exact = node_counts.node_counts_l2_sensitivity
    patch.setattr(node_counts, "node_counts_l2_sensitivity", lambda changes: exact(changes) / 2)


# --- the values of groups that are compared ------------------------------------------------------

VALUES = tabulation.tabulation(Budget(4.0), "add-remove", [(0,)], [(0,)], [], [1], tests=True)
BY_GROUP = np.array([[0, 1]] * 3), np.array([[0, 1]] * 3 + [[1, 1]])


def values_of_groups(rows, draws, source):
    """Return the number of rows of the second group in one cell."""
    table = pa.table({"by": rows[:, 0] > 0, "value": rows[:, 1]})
    run = tabulation._Run(VALUES, nolook.read_table(table).as_codes(), source)
    run.ends = [np.arange(16.0)]
    exact = GroupedCells(run._grouped, (1,), run.ends).update(rows.T.astype(float))
    found = (run._values(exact)[1].of((0,), (1,)) for _ in range(draws))
    return [np.array([each.cells[1] for each in found])]


GROUPS = Release(
    "values of groups", BY_GROUP, values_of_groups, VALUES.costs[-1].epsilon, 4_000, 0.5
)


MEDIANS = tabulation.tabulation(Budget(4.0), "add-remove", [(0,)], [(0,)], [], [1])


def blocks_of_groups(rows, draws, source):
    """Return the number of rows of the second group in one block, times its weight."""
    table = pa.table({"by": rows[:, 0] > 0, "value": rows[:, 1]})
    run = tabulation._Run(MEDIANS, nolook.read_table(table).as_codes(), source)
    run.ends = [np.arange(64.0)]
    exact = GroupedCells(run._grouped, (1,), run.ends).update(rows.T.astype(float))
    found = (run._values(exact)[1].blocks[0,].values[1] for _ in range(draws))
    return [np.array([each[0] for each in found])]


SHARED = Release(
    "blocks of groups of one shape",
    BY_GROUP,
    blocks_of_groups,
    MEDIANS.costs[-1].epsilon,
    4_000,
    0.5,
)


def blocks_counted_as_cells(patch):
    patch.setattr(tabulation, "blocks_and_cells_sensitivities", lambda times, _: (2 * times, 1.5))


def noise_halved(patch):
    exact = tabulation.noisy_counts

    def quieter(counts, event, *rest):
        return exact(counts, evolve(event, epsilon=2.0 * event.epsilon), *rest)

    patch.setattr(tabulation, "noisy_counts", quieter)


FAULTS = (
    Fault("noise of the values of groups halved", GROUPS, noise_halved),
    Fault("weight of blocks forgotten", SHARED, blocks_counted_as_cells),
    Fault("scale of one level less", COUNTS, one_level_less, 4.0),
    Fault("sensitivity of a replaced row forgotten", REPLACED, replacement_forgotten, 4.0),
    Fault("root without a share of the budget", COUNTS, one_root_more, 3.0),
    Fault("shape from the number of rows", COUNTS, shape_from_the_data),
    Fault("longest blocks without noise", COUNTS, quiet(longest)),
    Fault("blocks with padding without noise", COUNTS, quiet(padded)),
    Fault("Euclidean sensitivity of counts halved", NORMAL, root_of_the_changes_halved, 2.0),
)

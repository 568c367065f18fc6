"""The exact privacy loss of node counts on all small neighbouring tables, in every use of them.

Discrete Laplace noise of scale s on counts f has P(y) proportional to exp(-|y - f|/s), the sum over
all counts: two tables lose |f - f'|/s at most, and that much where y lies beyond f for every
count. Rounded Gaussian noise shows at most what exact Gaussian noise of the same deviation does.
Both are compared with the claim in rational numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from nolook.algorithms import node_counts
from nolook.algorithms.ecdf import ecdf_release
from nolook.algorithms.evaluation import scores_release
from nolook.algorithms.forest import Forest, best_forest
from nolook.algorithms.grids import LinearGrid
from nolook.privacy.guarantee import Budget, PureEvent
from nolook.privacy.mechanisms import gaussian, laplace
from nolook.privacy.noise import SystemEntropy
from nolook.tables import table_from_arrays

RELATIONS = ("add-remove", "replace")
relations = pytest.mark.parametrize("relation", RELATIONS)


@dataclass
class Drawn:
    """What one release drew: exact counts of all blocks, and the noise that they got."""

    blocks: np.ndarray
    amounts: list[tuple[str, float, int]]  # sampler, scale and how many
    lengths: list[tuple[int, ...]]


@pytest.fixture
def drawn(monkeypatch):
    """Take the noise away; return how to find out what a release draws, given as a function."""
    amounts, forests = [], []

    def quiet(name):
        def none(scale, shape, source):
            amounts.append((name, scale, int(np.prod(shape))))
            return np.zeros(shape, dtype=np.int64)

        return none

    exact = node_counts.release_forests

    def keep(*given, **named):
        found = exact(*given, **named)
        forests.extend(found)
        return found

    monkeypatch.setattr(laplace, "discrete_laplace", quiet("laplace"))
    monkeypatch.setattr(gaussian, "rounded_gaussian", quiet("gaussian"))
    monkeypatch.setattr(node_counts, "release_forests", keep)

    def run(release):
        amounts.clear()
        forests.clear()
        release()
        blocks = np.concatenate([each.blocks for each in forests]).astype(np.int64)
        return Drawn(blocks, amounts[:], [each.forest.lengths for each in forests])

    return run


class Use:
    """A way to release node counts: tables are tuples of rows."""

    def __init__(self, rows, plan, release):
        self.rows, self.plan, self.release = rows, plan, release


def of_columns(grids, budget, cells):
    """Columns over grids; `cells` are the places where rows have values, for each column."""

    def plan(relation):
        return ecdf_release(budget, relation, grids)

    def release(planned, table):
        rows = np.array(table, dtype=float).reshape(-1, len(grids))
        rows[rows == GONE] = np.nan
        found = planned.run(table_from_arrays(rows), SystemEntropy(), lambda _: None)
        assert len(found) == len(grids)

    return Use(list(product(*cells)), lambda r: (p := plan(r), p.event), release)


def grid(cells):
    return LinearGrid(0, cells - 1, 1)


def of_scores(cells, places):
    def release(plan, table):
        rows = np.array(table, dtype=float).reshape(-1, 2)
        plan.run(table_from_arrays(rows[:, :1], rows[:, 1]), SystemEntropy(), lambda _: None)

    def plan(relation):
        planned = scores_release(1.5, relation, grid(cells))
        return planned, planned.counts

    return Use(list(product(places, (False, True))), plan, release)


PURE, BOTH = Budget(1.5), Budget(1.5, 1e-6)
#: A value that is missing.
GONE = -1
#: At both ends of blocks of either level.
ENDS = [0, 6, 7, 13, 14, 15]
USES = {
    "one level": of_columns([grid(2)], PURE, [[0, 1]]),
    "two levels": of_columns([grid(16)], PURE, [[*ENDS, GONE]]),
    "three levels": of_columns([grid(256)], PURE, [[0, 8, 9, 80, 81, 243, 255]]),
    "Gaussian": of_columns([grid(5)], BOTH, [range(GONE, 5)]),
    "Gaussian, five levels": of_columns([grid(17)], BOTH, [[0, 1, 7, 8, 15, 16]]),
    "columns": of_columns([grid(16), grid(3)], PURE, [[0, 6, 15, GONE], range(3)]),
    "Gaussian columns": of_columns([grid(5), grid(3)], BOTH, [[0, 3, 4], [0, 2]]),
    "classes": of_scores(100, [0, 9, 50, 99]),
    "classes of few scores": of_scores(16, [0, 6, 15]),
}
uses = pytest.mark.parametrize("name", USES)


def small_tables(use, relation):
    """Return all tables of at most two rows (of two where rows are replaced), and neighbours."""
    sizes = (0, 1, 2) if relation == "add-remove" else (2,)
    whole = [row for row in use.rows if GONE not in row or relation == "add-remove"]
    tables = [one for size in sizes for one in combinations_with_replacement(whole, size)]
    if relation == "add-remove":
        pairs = [
            (table, tuple(sorted((*table, row))))
            for table in tables
            if len(table) < 2
            for row in use.rows
        ]
    else:
        pairs = [
            (tuple(sorted((kept, one))), tuple(sorted((kept, other))))
            for kept in whole
            for one, other in product(whole, repeat=2)
        ]
    return tables, pairs


def losses(use, relation, drawn):
    """Return the largest loss of all pairs in shares of the claim, squared for Gaussian noise."""
    tables, pairs = small_tables(use, relation)
    plan, event = use.plan(relation)
    found = {tuple(sorted(table)): drawn(lambda t=table: use.release(plan, t)) for table in tables}
    first = next(iter(found.values()))
    for each in found.values():
        # Nothing but the counts depends on the table.
        assert each.lengths == first.lengths
        assert each.amounts[0] == first.amounts[0]
        # One vector of noise, for all blocks of all forests.
        assert each.amounts[0][2] == len(each.blocks) == len(first.blocks)
    sampler, scale, _ = first.amounts[0]
    assert sampler == ("laplace" if isinstance(event, PureEvent) else "gaussian")
    worst = Fraction(0)
    for pair in pairs:
        one, other = (found[each].blocks for each in pair)
        if sampler == "laplace":
            loss = Fraction(int(np.abs(one - other).sum())) / Fraction(scale)
            worst = max(worst, loss / Fraction(event.epsilon))
        else:
            squared = Fraction(int(((one - other) ** 2).sum())) / Fraction(scale) ** 2
            worst = max(worst, squared / Fraction(event.mu) ** 2)
    return worst


@uses
@relations
def test_the_worst_neighbours_lose_the_claim_and_not_more(name, relation, drawn):
    worst = losses(USES[name], relation, drawn)
    # Scales are rounded up.
    assert 1 - 1e-14 < worst <= 1


@relations
def test_every_block_has_noise_padded_ones_too(relation, drawn):
    use = USES["two levels"]
    found = drawn(lambda: use.release(use.plan(relation)[0], ((7,),)))
    left_out = relation == "add-remove"
    assert found.lengths == [(7, 1), (1,)][: 1 + left_out]
    assert len(found.blocks) == 3 + 21 + left_out
    assert found.blocks.sum() == 2


# --- faults -----------------------------------------------------------------------------------


def one_level_less(patch):
    exact = node_counts.node_counts_sensitivity
    patch.setattr(node_counts, "node_counts_sensitivity", lambda *given: exact(*given) - 1)


def replacement_forgotten(patch):
    patch.setattr(node_counts, "node_counts_sensitivity", lambda levels, _: levels)


def shaped(patch, shape):
    """Release other forests than the sensitivity is that of."""
    exact = node_counts.release_forests

    def released(cells, *rest, **named):
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(node_counts, "best_forest", shape(cells))
            return exact(cells, *rest, **named)

    patch.setattr(node_counts, "release_forests", released)


def one_root_more(patch):
    def rooted(cells, noise, **named):
        lengths = best_forest(cells, noise, **named).lengths
        return Forest(cells, (-(-cells // lengths[0]) * lengths[0], *lengths))

    shaped(patch, lambda _: rooted)


def left_out_in_every_level(patch):
    def others(weighing):
        return [np.repeat(weighing.left_out(), 3)] if weighing.left_out else []

    patch.setattr(node_counts.Weighing, "others", property(others))


def quiet_longest_blocks(patch):
    def some(counts, *rest):
        return np.append(counts[:1], laplace.laplace_release(counts[1:], *rest))

    patch.setattr(node_counts, "laplace_release", some)


def shape_from_the_data(patch):
    def shape(cells):
        lengths = (5, 1) if sum(each.sum() for each in cells) == 2 else (7, 1)
        return lambda cells, *_, **__: Forest(cells, lengths)

    shaped(patch, shape)


FAULTS = {
    "h - 1": (one_level_less, RELATIONS, ("two levels", "classes", "columns")),
    "replacement": (replacement_forgotten, ("replace",), ("two levels", "classes", "Gaussian")),
    "a root": (one_root_more, ("add-remove",), ("two levels", "classes", "Gaussian columns")),
    # Where a row keeps its class, its root keeps its count.
    "roots of classes": (one_root_more, ("replace",), ("classes",)),
    "left out": (left_out_in_every_level, ("add-remove",), ("two levels", "Gaussian")),
    "no noise": (quiet_longest_blocks, RELATIONS, ("two levels", "classes")),
    "shape": (shape_from_the_data, ("add-remove",), ("two levels",)),
}


@pytest.mark.parametrize(
    ("fault", "relation", "name"),
    [
        (fault, relation, name)
        for fault, (_, its_relations, names) in FAULTS.items()
        for relation in its_relations
        for name in names
    ],
)
def test_a_fault_is_found(fault, relation, name, drawn, monkeypatch):
    FAULTS[fault][0](monkeypatch)
    with pytest.raises(AssertionError):
        assert losses(USES[name], relation, drawn) <= 1

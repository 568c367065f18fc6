from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nolook.kernels.inversions import pair_differences
from nolook.statistics.kendall import (
    KENDALL_UNIT,
    KendallRows,
    kendall_scores,
    kendall_sensitivity,
)
from tests.collected import fed


def scores(rows, chosen=()):
    """Score the features of a table of rows, the target last, against features chosen."""
    block = np.array(rows, dtype=float).T
    return scores_of(KendallRows(len(block)).update(block).value, len(block) - 1, chosen)


def scores_of(ranked, target, chosen):
    features = ranked[:target]
    each = (abs(pair_differences(ranked[s], features)) for s in chosen)
    others = sum(each, np.zeros(target, np.int64))
    own = pair_differences(ranked[target], features)
    return kendall_scores(own, others.tolist(), len(chosen), ranked[0].ranks.size)


def by_definition(rows, chosen):
    n = len(rows)

    def size(a, b):
        pairs = itertools.combinations(rows, 2)
        signs = (np.sign(p[a] - q[a]) * np.sign(p[b] - q[b]) for p, q in pairs)
        return Fraction(abs(int(sum(signs))), n - 1)

    target = len(rows[0]) - 1
    means = [
        sum((size(j, s) for s in chosen), Fraction(0)) / max(len(chosen), 1) for j in range(target)
    ]
    return [(KENDALL_UNIT * (size(j, target) - means[j])).__floor__() for j in range(target)]


def test_every_small_table_keeps_the_sensitivity():
    cells = list(itertools.product(range(3), repeat=2))
    changes = set()
    for n in range(5):
        for rows in itertools.combinations_with_replacement(cells, n):
            before = scores(np.array(rows).reshape(n, 2))
            changes |= {int((scores([*rows, row]) - before)[0]) for row in cells}
    # Two features are any two of these at once, but for the target.
    assert max(changes) <= KENDALL_UNIT
    assert min(changes) >= -1.5 * KENDALL_UNIT
    assert 1.2 * kendall_sensitivity(0) < max(changes) - min(changes) <= 2 * kendall_sensitivity(0)


row = st.lists(st.integers(0, 4), min_size=4, max_size=4)


@settings(max_examples=100)
@given(st.lists(row, max_size=12), row, st.sampled_from([(), (0,), (0, 2), (1, 1, 2)]))
def test_no_two_scores_move_apart_by_more(rows, extra, chosen):
    before = scores(np.array(rows).reshape(len(rows), 4), chosen)
    after = scores([*rows, extra], chosen)
    assert np.ptp(after - before) <= 2 * kendall_sensitivity(len(chosen))


def test_the_sensitivity_is_attained():
    # One feature in the target's order, and one that says nothing; then a row against the order of
    # the one, and in the order of the other.
    rows = [(i, 0, i) for i in range(200)]
    change = scores([*rows, (-1, 1, 200)]) - scores(rows)
    assert change.tolist() == [-1.5 * KENDALL_UNIT, KENDALL_UNIT]
    assert np.ptp(change) == 2 * kendall_sensitivity(0)


def test_scores_of_later_choices_move_apart_by_nearly_five():
    # While one loses 3/2 with the target and gains 1 with what was chosen.
    rows = [(i, 0, 0, i) for i in range(200)]
    extra = (-1, 1, -1, 200)
    change = scores([*rows, extra], chosen=(2,)) - scores(rows, chosen=(2,))
    assert -2.5 * KENDALL_UNIT <= change[0] <= -2.49 * KENDALL_UNIT
    assert np.ptp(change) <= 2 * kendall_sensitivity(1)


@given(st.lists(row, min_size=2, max_size=9), st.sampled_from([(), (0,), (0, 2), (1, 0, 2)]))
def test_scores_are_those_of_the_definition(rows, chosen):
    assert scores(rows, chosen).tolist() == by_definition(rows, chosen)


@pytest.mark.parametrize("rows", [0, 1])
def test_fewer_than_two_rows_score_nothing(rows):
    batches = [np.ones((4, rows))] if rows else []
    assert scores_of(fed(KendallRows(4), batches).value, 3, (1,)).tolist() == [0, 0, 0]


def test_scores_are_exact_beyond_64_bits():
    rows = 2**32 - 1
    most = rows * (rows - 1) // 2
    found = kendall_scores(np.array([most, 0, -most + 1]), [0, 9 * most, 0], 9, rows)
    expected = [rows * KENDALL_UNIT // 2, -rows * KENDALL_UNIT // 2]
    assert found[:2].tolist() == expected
    assert found[2] == KENDALL_UNIT * (most - 1) // (rows - 1)


def test_the_unit_makes_the_sensitivity_whole():
    assert kendall_sensitivity(0) == 5 * KENDALL_UNIT // 4 == 1.25 * KENDALL_UNIT
    assert kendall_sensitivity(7) == 2.5 * KENDALL_UNIT

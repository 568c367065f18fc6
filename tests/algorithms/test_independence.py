"""The test of independence keeps its level whatever the noise, and finds what is there."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from nolook.algorithms.independence import independence_test

SHAPE = (3, 4)


def rejected(epsilon, association, *, normal, tables=200, rows=4000, copies=1, alike=1):
    generator = np.random.default_rng(0)
    sign = np.outer((-1.0) ** np.arange(3), (-1.0) ** np.arange(4))
    chances = np.outer([0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]) * (1.0 + association * sign)
    scale = 4.2 / epsilon if normal else math.sqrt(2.0) / epsilon
    found = 0
    for _ in range(tables):
        counts = generator.multinomial(rows, (chances / chances.sum()).ravel()).reshape(SHAPE)
        counts *= copies
        draw = generator.normal if normal else generator.laplace
        noise = draw(0.0, scale if normal else scale / math.sqrt(2.0), SHAPE)
        tested = independence_test((counts + noise) / alike, scale / alike, normal=normal)
        found += tested[1] <= 0.05
    return found / tables


@pytest.mark.parametrize(
    ("epsilon", "normal"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] * (case not in {(0.3, True), (1.0, False)}))
        for case in product([0.1, 0.3, 1.0], [False, True])
    ],
)
def test_the_level_holds_at_every_epsilon(epsilon, normal):
    # Without its noise in the null distribution, the test would reject far more often.
    assert 0.0 < rejected(epsilon, 0.0, normal=normal) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 200)


def test_the_level_holds_where_rows_of_a_unit_are_alike_only_if_that_is_allowed_for():
    # Five rows of each unit: .76 of the tests would reject.
    own = {"normal": False, "rows": 800, "copies": 5, "tables": 60}
    assert rejected(1.0, 0.0, **own) > 0.5
    assert rejected(1.0, 0.0, **own, alike=5) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 60)
    assert rejected(1.0, 0.3, **own, alike=5) > 0.9


def test_an_association_is_found():
    assert rejected(1.0, 0.12, normal=False) > 0.9
    assert rejected(0.3, 0.12, normal=True) > 0.5

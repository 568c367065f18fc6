"""A table in folds: each row in one, a unit with all its rows, the same in every pass."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nolook.algorithms.cross_validation import draw_folds
from nolook.privacy.noise import SeededSource
from nolook.tables import read_table, table_from_arrays
from nolook.tables.views import folds_of
from tests.collected import Collected

ROWS = 5_000
FOLDS = 3


@pytest.fixture
def path(tmp_path):
    """A file of several parts whose rows can be told apart, some of them left out."""
    numbers = np.arange(float(ROWS))
    gaps = pa.array(numbers, mask=numbers % 7 == 3)
    units = pa.array([f"u{int(n) * 31 % 900}" for n in numbers])
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": numbers, "y": gaps, "id": units}), path, row_group_size=400)
    return path


def opened(path, threads=1, **more):
    return read_table(path, "y", features=["x"], missing="drop-row", threads=threads, **more)


def fixed(table, seed=0):
    return list(folds_of(table, FOLDS, partial(draw_folds, FOLDS, SeededSource(seed))))


def seen(table):
    batches = table.fold(Collected()).batches
    return sorted(np.concatenate([numbers for numbers, _ in batches], axis=1)[0].tolist())


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("more", [{}, {"unit": "id"}])
def test_every_row_is_in_one_fold_and_outside_all_others_in_every_pass(path, more, threads):
    table = opened(path, threads, **more)
    all_rows = seen(table)
    pairs = fixed(table)
    assert sorted(row for _, part in pairs for row in seen(part)) == all_rows
    for rest, part in pairs:
        inside = seen(part)
        assert sorted(seen(rest) + inside) == all_rows
        assert seen(part) == inside
        assert seen(part.select(np.array([True]))) == inside
    assert [seen(part) for _, part in fixed(opened(path, 1, **more))] == [
        seen(part) for _, part in pairs
    ]


def test_a_unit_is_in_one_fold_with_the_weights_it_has_in_the_table(path):
    table = opened(path, unit="id")
    whole = {
        row: weight
        for numbers, weights, _ in table.batches_of_units()
        for row, weight in zip(numbers[0], weights, strict=True)
    }
    homes = {}
    for number, (_, part) in enumerate(fixed(table)):
        for numbers, weights, _ in part.batches_of_units():
            for row, weight in zip(numbers[0].tolist(), weights.tolist(), strict=True):
                assert whole[row] == weight
                homes.setdefault(int(row) * 31 % 900, set()).add(number)
    assert {len(home) for home in homes.values()} == {1}
    assert len(set.union(*homes.values())) == FOLDS


def test_a_row_more_moves_no_other_row():
    """Folds of equal size would shift: here the others' numbers are the same draws."""
    x = np.arange(1000.0)
    before = fixed(table_from_arrays(x[:, None], x))
    longer = np.append(x, 1000.0)
    after = fixed(table_from_arrays(longer[:, None], longer))
    changed = [
        set(seen(one)) ^ set(seen(other))
        for (_, one), (_, other) in zip(before, after, strict=True)
    ]
    assert sorted(map(len, changed)) == [0, 0, 1]


def test_sizes_are_those_of_independent_draws():
    """As spread as the binomial law says; equal sizes would have no spread."""
    table = table_from_arrays(np.zeros((300, 1)), np.zeros(300))
    sizes = [len(seen(fixed(table, seed)[0][1])) for seed in range(300)]
    spread = np.var(sizes) / (300 * (1 / 3) * (2 / 3))
    assert 0.7 < spread < 1.4
    assert abs(np.mean(sizes) - 100) < 3


def test_an_empty_table_has_empty_folds():
    for rest, part in fixed(table_from_arrays(np.zeros((0, 1)), np.zeros(0))):
        assert not rest.fold(Collected()).batches
        assert not part.fold(Collected()).batches

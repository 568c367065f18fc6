from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from nolook.kernels.cells import index_cells
from nolook.statistics.cell_counts import CellCounts, ColumnCells, cell_counts_sensitivity
from tests.collected import fed

SPECIAL = [-np.inf, np.inf, np.nan, 0.0, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308]
NUMBERS = st.floats() | st.integers(-4, 4).map(lambda i: i / 4) | st.sampled_from(SPECIAL)
VALUES = hnp.arrays(np.float64, st.integers(0, 40), elements=NUMBERS)


def cell_counts(batches, edges):
    return fed(CellCounts(edges), batches).value


def doubles_in_order(n):
    """Edges spread over all finite doubles."""
    places = np.linspace(-0x7FE, 0x7FE, n).astype(np.int64) << 52
    return np.sort(np.where(places < 0, places ^ 0x7FFFFFFFFFFFFFFF, places).view(np.float64))


GRIDS = {
    "one": np.array([3.0]),
    "two": np.array([0.25, 9.0]),
    "negative zero": np.array([-0.0, 1.0]),
    "even": np.linspace(-1.0, 1.0, 65),
    "geometric": np.exp(np.linspace(-30.0, 3.0, 64)),
    "all doubles": doubles_in_order(128),
    "widest": np.array([-1.7e308, 0.0, 1.7e308, np.inf]),
    "smallest": np.array([-5e-324, 0.0, 5e-324, 1e-323]),
    "uneven": np.array([-1e300, -1.0, -1.0 + 2**-53, 0.0, 2**-1074, 1.0, 1.0 + 2**-52, 1e300]),
}
grids = pytest.mark.parametrize("edges", GRIDS.values(), ids=GRIDS)
drawn_edges = hnp.arrays(
    np.float64, st.integers(1, 30), elements=st.floats(allow_nan=False, allow_infinity=False)
).map(np.sort)


def assert_cumulative_counts(values, edges):
    counts = cell_counts([values], edges)
    assert counts.dtype == np.int64
    assert counts.sum() == len(values)
    for i in range(len(edges) - 1):
        assert counts[: i + 1].sum() == sum(value <= edges[i] for value in values.tolist())


@grids
@given(values=VALUES)
def test_cumulative_sums_are_the_numbers_of_values_up_to_each_edge(edges, values):
    assert_cumulative_counts(values, edges)


@given(values=VALUES, edges=drawn_edges)
def test_any_edges_will_do(values, edges):
    assert_cumulative_counts(values, edges)


@grids
def test_values_at_and_next_to_an_edge_are_counted_by_comparison(edges):
    near = [edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf), -edges, SPECIAL]
    assert_cumulative_counts(np.concatenate(near), edges)


def test_many_values_agree_with_a_sorted_search():
    rng = np.random.default_rng(1)
    for edges in (np.linspace(-1.0, 2.0, 4096), np.sort(rng.normal(size=4096) ** 5)):
        values = rng.normal(size=100_000) * rng.choice([1e-9, 1.0, 1e9], size=100_000)
        place = np.searchsorted(edges[:-1], values)
        np.testing.assert_array_equal(
            cell_counts([values], edges), np.bincount(place, minlength=len(edges))
        )


@grids
def test_infinities_and_nan_count_in_the_end_cells(edges):
    ends = np.zeros(len(edges), dtype=np.int64)
    ends[0] += 1
    ends[-1] += 2
    values = np.array([-np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(cell_counts([values], edges), ends)


@grids
@given(values=VALUES, extra=NUMBERS)
def test_a_row_added_changes_one_count_by_one(edges, values, extra):
    change = cell_counts([np.append(values, extra)], edges) - cell_counts([values], edges)
    assert change.max() == 1
    assert np.abs(change).sum() == cell_counts_sensitivity("add-remove")


@grids
@given(values=VALUES.filter(len), other=NUMBERS)
def test_a_row_replaced_moves_from_one_cell_to_another(edges, values, other):
    replaced = np.append(values[1:], other)
    change = cell_counts([replaced], edges) - cell_counts([values], edges)
    assert change.sum() == 0
    assert np.abs(change).sum() in {0, cell_counts_sensitivity("replace")}


@grids
@given(values=VALUES, data=st.data())
def test_a_value_counts_as_often_as_its_weight_says(edges, values, data):
    weights = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(0, 5)))
    copies = cell_counts([np.repeat(values, weights)], edges)
    np.testing.assert_array_equal(cell_counts([(values, weights)], edges), copies)
    # Float64 does not hold such sums.
    heavy = cell_counts([(values, weights * (2**55 + 1))], edges)
    np.testing.assert_array_equal(heavy, copies * (2**55 + 1))


def test_columns_with_the_same_edges_share_their_index(monkeypatch):
    indexed = []
    monkeypatch.setattr(
        "nolook.statistics.cell_counts.index_cells",
        lambda borders: indexed.append(borders) or index_cells(borders),
    )
    edges, other = np.linspace(0.0, 1.0, 9), np.linspace(0.0, 1.0, 5)
    counts = ColumnCells([edges, other, edges]).update(np.full((3, 4), 0.3)).value
    assert len(indexed) == 2
    assert [each.argmax() for each in counts] == [3, 2, 3]

"""A regression of units tells of none what it would not tell of a row; planted faults do."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pyarrow as pa
import pytest

from nolook.algorithms import sublasso, tukey
from nolook.algorithms.glm.counts import CountRelease
from nolook.algorithms.glm.linear import LinearRelease
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.algorithms.grids import LinearGrid
from nolook.errors import ParameterError
from nolook.estimators.ecdf import ECDF
from nolook.privacy.budgets import SMALLEST_MU
from nolook.privacy.noise import SeededSource
from nolook.tables import read_table
from tests.audit import planted_units
from tests.audit.planted import check_that_the_audit_catches
from tests.audit.replay import check_neighbours, recorded

MU = 3.0
#: The unit that is added; the other of these is in both tables.
ADDED, NEAR = 2**53 + 1, 2**53
_random = np.random.default_rng(0)


def base(rows=2_500, columns=3):
    """Return identifiers, of units of one to four rows, features and a target."""
    random = np.random.default_rng(1)
    X = random.normal(size=(rows, columns))
    y = X @ np.ones(columns) + 0.5 * random.normal(size=rows)
    return np.append(NEAR, random.integers(0, rows // 2, rows - 1)), X, y


def opened(identifiers, X, y, rows_per_unit="weights"):
    columns = {f"x{i}": column for i, column in enumerate(X.T)}
    stored = pa.table({"id": identifiers, **columns, "y": y})
    return read_table(stored, "y", unit="id", rows_per_unit=rows_per_unit)


def with_unit(identifiers, X, y, rows, targets):
    """Add a unit of some rows, here and there."""
    places = _random.integers(0, len(y) + 1, len(targets))
    return (
        np.insert(identifiers, places, ADDED),
        np.insert(X, places, rows, axis=0),
        np.insert(y, places, targets),
    )


def equal(row, target, times):
    return np.tile(row, (times, 1)), np.full(times, target)


def far_and_wide(times):
    random = np.random.default_rng(times)
    return random.normal(0.0, 9.0, (times, 3)), random.normal(0.0, 30.0, times)


UNITS = {
    "one row": equal([3.0, -4.0, 3.7], 40.0, 1),
    "a thousand equal rows": equal([3.0, -4.0, 3.7], 40.0, 1_000),
    "eleven equal rows": equal([-3.3, 4.1, 9.0], -40.0, 11),
    "far rows": far_and_wide(999),
    "rows beyond every bound": equal([1e308, -1e308, 5e-324], 1e308, 70),
}


@cache
def without_fault(kind):
    return recorded(opened(*base()), MU, kind=kind)


def check(unit, first, kind=LinearRelease):
    second = opened(*with_unit(*base(), *UNITS[unit]))
    return check_neighbours(first, second, MU, kind=kind)


@pytest.mark.parametrize(
    "kind", [LogisticRelease, CountRelease, partial(CountRelease, exposure="x2")]
)
@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_within_every_sensitivity_of_a_row_of_other_models(unit, kind):
    assert max(check(unit, without_fault(kind), kind)) <= 1.0


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_within_every_sensitivity_of_a_row(unit):
    shares = check(unit, without_fault(LinearRelease))
    assert max(shares) <= 1.0
    assert "equal" not in unit or min(shares[-13:]) > 0.5


@pytest.mark.parametrize("fault", planted_units.EXACT_FAULTS, ids=lambda fault: fault.name)
def test_a_unit_tells_of(fault, monkeypatch):
    fault.plant(monkeypatch)
    with pytest.raises(AssertionError, match=fault.shown):
        check("a thousand equal rows", opened(*base()))


@pytest.mark.slow
@pytest.mark.parametrize("fault", planted_units.FAULTS, ids=lambda fault: fault.name)
def test_the_audit_catches(fault):
    check_that_the_audit_catches(fault)


def sampled(most, *table):
    return opened(*table, most).sample_rows(most, lambda rows: np.zeros(rows, dtype=np.uint64))


@cache
def with_rows_in_full(most):
    return recorded(sampled(most, *base()), MU / most)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("unit", UNITS)
def test_so_many_rows_of_a_unit_are_within_so_many_times_the_sensitivity(unit, most):
    # With the same rows of all other units: which are drawn does not depend on this one.
    second = sampled(most, *with_unit(*base(), *UNITS[unit]))
    assert max(check_neighbours(with_rows_in_full(most), second, MU / most, rows=most)) <= 1.0


def most_blocks_of_a_unit(module):
    table = opened(*with_unit(*base(300), *UNITS["a thousand equal rows"]))
    units = np.concatenate([units for _, _, units in table.batches_of_units()])
    drawn = module.rows_in_blocks(table, 50, SeededSource(1))
    places = np.concatenate([places for _, _, places in drawn])
    assert np.unique(places).size > 40
    return max(np.unique(places[units == unit]).size for unit in np.unique(units))


@pytest.mark.parametrize("module", [tukey, sublasso])
def test_a_unit_is_in_one_block(module, monkeypatch):
    assert most_blocks_of_a_unit(module) == 1
    planted_units.blocks_of_rows(monkeypatch)
    assert most_blocks_of_a_unit(module) > 30


def known_number(rows):
    """Return the number that is public under replacement, of two units, one of so many rows."""
    cells = pa.table({"id": np.append(0, np.ones(rows, dtype=int)), "x": np.zeros(1 + rows)})
    table = read_table(cells, features=["x"], unit="id", missing="zero")
    grid = LinearGrid(-1.0, 1.0, 1.0)
    return ECDF(epsilon=1.0, grid=grid, relation="replace", random_state=1).fit(table).rows_.value


def test_the_number_of_units_does_not_tell_of_their_rows(monkeypatch):
    assert known_number(3) == known_number(1_000_000) == 2.0
    planted_units.total_of_weights(monkeypatch)
    # A million rows of 2^30 // 10^6 each are short of one by .0007.
    assert known_number(3) != known_number(1_000_000)


@pytest.mark.parametrize("unit", [{}, {"rows_per_unit": 1}, {"rows_per_unit": 1_024}])
def test_the_smallest_budget_gives_noise_or_is_refused(unit):
    table = opened(*base(200), **unit)
    release = LinearRelease(SMALLEST_MU)
    if table.unit.max_rows > 1:
        with pytest.raises(ParameterError, match="too small"):
            release.for_rows_per_unit(table.unit.max_rows)
        release = LinearRelease(1_024 * SMALLEST_MU * 1.001)
    release = release.for_rows_per_unit(table.unit.max_rows)
    if table.unit.weight_scale == 1:
        table = table.sample_rows(table.unit.max_rows, SeededSource(2).words)
    release.run(table, SeededSource(1), lambda _: None)


def test_so_many_rows_cost_what_one_does():
    whole = LinearRelease(MU)
    for most in (1, 3, 1_024):
        parts = whole.for_rows_per_unit(most).events()
        for event, part in zip(whole.events(), parts, strict=True):
            assert part.mu * most == pytest.approx(event.mu)

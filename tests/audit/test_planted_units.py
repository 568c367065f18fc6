"""A regression of units tells of none what it would not tell of a row; planted faults do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nolook.algorithms.linear_regression import LinearRelease
from nolook.tables import read_table
from tests.audit import planted_units
from tests.audit.planted import check_that_the_audit_catches
from tests.audit.replay import check_neighbours

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


def check(unit, mu=MU):
    table = base()
    return check_neighbours(opened(*table), opened(*with_unit(*table, *UNITS[unit])), mu)


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_within_every_sensitivity_of_a_row(unit):
    shares = check(unit)
    assert max(shares) <= 1.0
    assert "equal" not in unit or min(shares[-13:]) > 0.5


@pytest.mark.parametrize("fault", planted_units.EXACT_FAULTS, ids=lambda fault: fault.name)
def test_a_unit_tells_of(fault, monkeypatch):
    fault.plant(monkeypatch)
    with pytest.raises(AssertionError, match=fault.shown):
        check("a thousand equal rows")


@pytest.mark.slow
@pytest.mark.parametrize("fault", planted_units.FAULTS, ids=lambda fault: fault.name)
def test_the_audit_catches(fault):
    check_that_the_audit_catches(fault)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("unit", UNITS)
def test_so_many_rows_of_a_unit_are_within_so_many_times_the_sensitivity(unit, most):
    # With the same rows of all other units: which are drawn does not depend on this one.
    table = base()
    pair = [
        opened(*each, most).limited(most, lambda rows: np.zeros(rows, dtype=np.uint64))
        for each in (table, with_unit(*table, *UNITS[unit]))
    ]
    assert max(check_neighbours(*pair, MU / most, rows=most)) <= 1.0


def test_so_many_rows_cost_what_one_does():
    whole = LinearRelease(MU)
    for most in (1, 3, 1_024):
        parts = whole.for_rows(most).events()
        for event, part in zip(whole.events(), parts, strict=True):
            assert part.mu * most == pytest.approx(event.mu)

"""The audit notices every fault planted here, and finds none in the same releases without it.

Each planted version is run on a pair of neighbouring tables and must be shown to lose more than
is claimed; the right code, on the same tables and scores, must be shown to lose something, yet not
more than is claimed. A bound is above the truth with probability 1e-5 at most, the seeds are
fixed, and draws of one and the same table must show nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

from nolook.privacy.noise import SeededSource
from tests.audit import (
    planted_counts,
    planted_noise,
    planted_regression,
    planted_scales,
    planted_selection,
    planted_tukey,
)
from tests.audit.planted import check_that_the_audit_catches, rows_that_differ

pytestmark = pytest.mark.slow

FAULTS = (
    *planted_noise.FAULTS,
    *planted_counts.FAULTS,
    *planted_regression.FAULTS,
    *planted_scales.FAULTS,
    *planted_tukey.FAULTS,
    *planted_selection.FAULTS,
)
RELEASES = list({fault.release: None for fault in FAULTS})
# Half of the time of all.
LONG = {
    "shuffled parts of equal size",
    "grid taken from the data",
    "choice 30 % too sharp",
    "sensitivity of Kendall scores halved",
}


def named(fault):
    marks = [pytest.mark.slow] * (fault.name in LONG)
    return pytest.param(fault, marks=marks, id=fault.name)


@pytest.mark.parametrize("fault", [named(fault) for fault in FAULTS])
def test_the_audit_catches(fault):
    check_that_the_audit_catches(fault)


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_the_tables_are_neighbours(release):
    assert rows_that_differ(*release.tables) == 1


def test_parts_of_equal_size_show_nothing_where_their_size_stays(monkeypatch):
    # So what the audit finds at n = m b - 1 is that one row more changes every part.
    planted_selection.equal_parts(monkeypatch)
    rows = planted_selection.VOTERS
    first, second = (
        planted_selection.voted(table, 2_000, SeededSource(seed))
        for seed, table in enumerate((rows, np.concatenate([rows, rows[3:4]])))
    )
    assert planted_selection.VOTES.bound(first, second) < planted_selection.VOTES.claim / 2


def test_the_count_of_rows_that_differ():
    rows = np.arange(12).reshape(4, 3)
    assert rows_that_differ(rows, rows) == 0
    assert rows_that_differ(rows, np.delete(rows, 1, axis=0)) == 1
    assert rows_that_differ(rows[:-2], rows) == 2
    assert rows_that_differ(rows, np.concatenate([rows[1:], rows[:1] + 1, rows[:1]])) > 1
    assert rows_that_differ(rows, rows + np.array([[0], [0], [1], [1]])) == 2

"""What owners send adds up to the counts, whatever they hold; one half of it tells nothing."""

from __future__ import annotations

import numpy as np
import pytest
from attrs import evolve
from scipy import stats

import nolook
from nolook.errors import ParameterError
from nolook.federated.batch import Batch
from nolook.federated.dcf import evaluate
from nolook.federated.owners import make_reports
from nolook.federated.wire import unpack
from nolook.privacy.noise import SeededSource, SystemEntropy
from tests.federated.roles import BATCHES, CALIBRATION, ECDF, ROC, exact, kind, sums, targets_for

LEAST = np.nextafter(0.0, 1.0)
EDGES = {
    "first cell": [-5.0, 0.0, LEAST, 1 / 1024],
    "last cell": [0.9999, 1.0, 7.0, 1e300],
    "infinite": [-np.inf, np.inf, 0.5, np.finfo(float).max],
    "missing": [np.nan, 0.5, np.nan, 0.25],
    "one owner": [0.3],
    "on thresholds": [1 / 64, 2 / 64, 63 / 64, 1.0],
    "beside thresholds": [np.nextafter(1 / 64, 1), np.nextafter(1 / 64, 0), np.nextafter(1.0, 0)],
    "both zeros": [0.0, -0.0],
    "last digits": [1 - 2**-31, 2**-30 - 2**-60, 2**-31, 0.1],
}
ONE_LEVEL = nolook.LinearGrid(0, 1, 1)


@pytest.mark.parametrize("batch", BATCHES, ids=kind)
@pytest.mark.parametrize("values", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("positive", ["none", "all", "some"])
def test_the_halves_add_up_to_the_counts(batch, values, positive):
    targets = np.array([positive == "all" or (positive == "some" and i % 2) for i in range(4)])
    targets = targets[: len(values)].astype(bool)
    first, second = sums(batch, values, targets)
    np.testing.assert_array_equal(first + second, exact(batch, values, targets))


@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_many_owners_add_up(batch):
    generator = np.random.default_rng(0)
    values, targets = generator.normal(0.5, 0.4, 500), generator.random(500) < 0.2
    first, second = sums(batch, values, targets)
    np.testing.assert_array_equal(first + second, exact(batch, values, targets))


@pytest.mark.parametrize(
    "grid",
    [ONE_LEVEL, nolook.LinearGrid(0, 2, 1), nolook.LinearGrid(0, 4, 1), nolook.LogGrid(1, 50, 0.5)],
)
@pytest.mark.parametrize("batch", [ECDF, ROC], ids=kind)
def test_grids_of_any_size_will_do(batch, grid):
    batch = evolve(batch, grid=grid)
    values = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.9, 4.0, 9.0, 60.0]
    targets = np.arange(10) % 3 == 0
    first, second = sums(batch, values, targets)
    np.testing.assert_array_equal(first + second, exact(batch, values, targets))


def test_no_owner_at_all_is_fine():
    ids, first, second = make_reports(ROC, [], np.zeros(0, bool), SystemEntropy())
    assert (len(ids), len(first), len(second)) == (0, 0, 0)


def test_both_reports_of_an_owner_have_one_id_and_owners_have_different_ones():
    ids, first, second = make_reports(ECDF, np.full(1000, 0.5), None, SystemEntropy())
    np.testing.assert_array_equal(unpack(ECDF, first)[0], ids)
    np.testing.assert_array_equal(unpack(ECDF, second)[0], ids)
    assert len(np.unique(ids, axis=0)) == 1000


def test_two_reports_of_one_value_share_no_secret():
    """Neither another's nor those of another time."""
    _, first, second = make_reports(ROC, [0.5, 0.5], np.array([True, True]), SystemEntropy())
    _, again, _ = make_reports(ROC, [0.5], np.array([True]), SystemEntropy())
    for one, other in ((first[0], first[1]), (first[0], second[0]), (first[0], again[0])):
        for a, b in zip(unpack(ROC, one[None])[1:], unpack(ROC, other[None])[1:], strict=True):
            assert not np.array_equal(a, b)


def halves(batch, value, label, role, n=4000):
    """Return one server's share of an owner's count, at a threshold, for many reports."""
    targets = targets_for(batch, np.full(n, label))
    reports = make_reports(batch, np.full(n, value), targets, SeededSource(role))[1 + role]
    _, payloads, keys = unpack(batch, reports)
    for curve in range(len(batch.curves)):
        own = payloads[:, curve] - evaluate(role, keys[:, curve], batch.levels, 20)
        yield from (payloads[:, curve], own)


def uniform(words):
    """Return the smallest chance of the frequencies of any of the eight bytes."""
    octets = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)
    return min(stats.chisquare(np.bincount(each, minlength=256)).pvalue for each in octets.T)


@pytest.mark.parametrize("role", [0, 1])
@pytest.mark.parametrize("batch", BATCHES, ids=kind)
@pytest.mark.parametrize(("value", "label"), [(0.001, False), (0.001, True), (0.99, True)])
def test_what_one_server_holds_is_uniform(batch, role, value, label):
    """The chance of a false alarm is below 48 times 1e-12."""
    for words in halves(batch, value, label, role):
        assert uniform(words) > 1e-12


def test_what_both_servers_hold_is_not():
    """The test above could fail."""
    both = zip(halves(ROC, 0.99, True, 0), halves(ROC, 0.99, True, 0), strict=True)
    assert all(uniform(one - other) < 1e-12 for one, other in both)


@pytest.mark.parametrize(
    ("batch", "values", "targets", "expected"),
    [
        (ECDF, [0.5], [True], "targets is given for an ecdf; expected None"),
        (ROC, [0.5], None, r"targets has shape \(\) and dtype object; expected a boolean"),
        (ROC, [0.5], [1], "targets has shape .* and dtype int64; expected a boolean for each"),
        (ROC, [0.5, 0.7], [True], r"for each of the 2 values"),
        (CALIBRATION, [0.5], [[True]], r"targets has shape \(1, 1\)"),
        (
            ECDF,
            [[0.5]],
            None,
            "values is not an array of numbers; expected one number for each owner",
        ),
        (ECDF, 0.5, None, "values is not an array of numbers"),
        (ECDF, ["secret"], None, "values is not an array of numbers"),
        (ECDF, [[1], [2, 3]], None, "values is not an array of numbers"),
        (ECDF, [10**400], None, "values is not an array of numbers"),
    ],
)
def test_a_wrong_parameter_is_one_line_and_quotes_no_value(batch, values, targets, expected):
    with pytest.raises(ParameterError, match=expected) as caught:
        make_reports(batch, values, targets, SystemEntropy())
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_whole_numbers_are_values():
    batch = Batch("ages", "ecdf", 1.0, nolook.LinearGrid(0, 120, 1))
    first, second = sums(batch, np.array([3, 90], dtype=np.int8), None)
    np.testing.assert_array_equal(first + second, exact(batch, [3.0, 90.0], [False, False]))

"""What one server answers: exact sums of its half, noise of the promised law, and no other's."""

from __future__ import annotations

import hashlib
import itertools
from functools import cache

import numpy as np
import pytest
from attrs import evolve
from scipy import stats
from scipy.optimize import linprog
from scipy.sparse import csr_array

import nolook
from nolook.errors import ParameterError
from nolook.federated import shares
from nolook.federated.batch import Batch
from nolook.federated.owners import make_reports
from nolook.privacy.mechanisms.binary_tree import laplace_node_variance, tree_sensitivity
from nolook.privacy.noise import SeededSource
from nolook.statistics.group_sums import GROUP_UNIT
from tests.federated.roles import (
    BATCHES,
    CALIBRATION,
    ECDF,
    REPORTS,
    ROC,
    exact,
    key,
    kind,
    neighbours,
    reported,
    scores,
    signed,
    sums,
    sums_at,
    targets_for,
)

pytestmark = pytest.mark.slow

# Of the noise that follows from `SECRET`.
PINNED = "1f1388e7d367cd8172b64f5f0ca8ed77e5ca1d12335d66777e8ca794292b38ad"
SECRET = bytes(range(32))
PLACES = np.array([100, 500, 1023], dtype=np.uint64)


def words(*numbers):
    return np.array(numbers, dtype=np.uint64)


def as_bytes(numbers):
    return {name: array.tobytes() for name, array in numbers.items()}


# --- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_points_are_those_of_the_whole_curve(batch):
    values, targets = scores()
    values, targets = values[:100], targets[:100]
    places = words(0, 5, 5, len(batch.points()) - 1, 3)
    whole = sums(batch, values, targets)
    for one, some in zip(whole, sums_at(batch, values, targets, places), strict=True):
        np.testing.assert_array_equal(some, one[:, places])


def test_points_of_the_widest_grid_are_exact():
    batch = Batch("any", "ecdf", 1.0)
    values = np.array([-1e300, -3.0, 0.0, 0.0, 2.0, 5.0, 7e100, np.inf])
    places = words(0, *np.searchsorted(batch.points(), [-3.0, 0.0, 4.0]), len(batch.points()) - 1)
    first, second = sums_at(batch, values, None, places)
    assert (first + second).tolist() == [[0, 2, 4, 5, 8]]


def test_parts_of_the_reports_may_be_added(monkeypatch):
    """Blocks of any size give the same, also those within one call."""
    values, targets = scores()
    reports = reported(ROC, values[:50], targets[:50])[1]
    whole = shares.curve_sums(ROC, 1, reports)
    parts = [shares.curve_sums(ROC, 1, part) for part in (reports[:7], reports[7:7], reports[7:])]
    np.testing.assert_array_equal(sum(parts), whole)
    monkeypatch.setattr(shares, "_BLOCK", 13)
    np.testing.assert_array_equal(shares.curve_sums(ROC, 1, reports), whole)
    places = words(0, 9)
    np.testing.assert_array_equal(shares.point_sums(ROC, 1, reports, places), whole[:, places])


# --- what it costs ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [2.0**-17, 0.1, 0.3, 7.0])
@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_the_events_add_up_to_the_budget(batch, epsilon):
    guarantee = shares.guarantee(evolve(batch, epsilon=epsilon))
    spent = sum(event.epsilon for event in guarantee.mechanisms)
    assert epsilon * (1 - 1e-9) < spent <= epsilon
    assert (guarantee.epsilon, guarantee.delta) == (epsilon, 0.0)
    assert guarantee.relation == "replace"
    assert guarantee.private


@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_too_small_a_budget_is_refused_before_anyone_reports(batch):
    with pytest.raises(ParameterError, match="epsilon is 1e-10; expected a larger one"):
        shares.guarantee(evolve(batch, epsilon=1e-10))


def test_the_smallest_budget_has_noise_for_groups_of_any_width():
    batch = evolve(CALIBRATION, epsilon=2.0**-17)
    nothing = np.zeros((3, 1024), dtype=np.uint64)
    for places in (words(1023), words(0, 1023), words(1022, 1023), np.arange(1024).astype("u8")):
        assert (shares.noisy_groups(batch, nothing, places, SECRET)["excess"] != 0).all()
    with pytest.raises(ParameterError, match="expected a larger one"):
        shares.guarantee(evolve(batch, epsilon=2.0**-18))


@cache
def least_nodes(change):
    """Return how much of the nodes' noise must change to explain a change of counts, in L1 norm."""
    size = len(change)
    nodes = 2 * size - 1
    leaves = np.arange(size)
    depths = [(size + leaves) >> level for level in range(size.bit_length())]
    above = csr_array(
        (np.ones(size * len(depths)), (np.tile(leaves, len(depths)), np.concatenate(depths) - 1)),
        shape=(size, nodes),
    ).toarray()
    solved = linprog(np.ones(2 * nodes), A_eq=np.hstack([above, -above]), b_eq=np.array(change))
    assert solved.success
    return solved.fun


def difference(one, other):
    return tuple((signed(one) - signed(other)).tolist())


class Recorder:
    """In place of the noise: remembers what is noised, and with which parameters."""

    def __init__(self, monkeypatch):
        self.found = []
        monkeypatch.setattr(shares, "keyed_laplace", self.single)
        monkeypatch.setattr(shares, "keyed_noise_laplace", self.tree)

    def single(self, counts, sensitivity, epsilon, key):
        self.found.append((counts.copy(), sensitivity / epsilon, None, key))
        return counts

    def tree(self, counts, epsilon, relation, key):
        scale = tree_sensitivity(len(counts).bit_length() - 1, relation) / epsilon
        self.found.append((counts.copy(), scale, len(counts), key))
        return counts

    def of(self, answer):
        self.found = []
        answer()
        keys = [one[3] for one in self.found]
        assert len(set(keys)) == len(keys), "two arrays share their random numbers"
        return self.found


def loss(one, other):
    """Return the privacy loss of all arrays together, for a pair of neighbours."""
    total = 0.0
    for (counts, scale, tree, _), (others, again, *_) in zip(one, other, strict=True):
        assert scale == again
        change = difference(counts, others)
        total += (least_nodes(change) if tree else np.abs(change).sum()) / scale
    return total


def worst_loss(monkeypatch, batch, rows, answers, size):
    recorder = Recorder(monkeypatch)
    tables = {table for pair in neighbours(rows, size) for table in pair}
    found = {}
    for table in tables:
        counts = exact(batch, *zip(*table, strict=True))
        found[table] = [recorder.of(lambda a=a, c=counts: a(batch, c)) for a in answers]
    return [
        max(loss(found[one][i], found[other][i]) for one, other in neighbours(rows, size))
        for i in range(len(answers))
    ]


def curves(batch, counts):
    return shares.noisy_curves(batch, counts, SECRET)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("batch", [ECDF, ROC], ids=kind)
def test_the_loss_keeps_the_budget_on_all_small_neighbours(monkeypatch, batch, levels, size):
    """More than the budget was not promised, and less than nearly all of it would waste it."""
    batch = evolve(batch, epsilon=1.5, grid=nolook.LinearGrid(0, 2**levels - 1, 1))
    rows = list(itertools.product(batch.points(), [False, True]))
    if batch.kind == "ecdf":
        rows = rows[::2]
    (worst,) = worst_loss(monkeypatch, batch, rows, [curves], size)
    assert 0.999 * 1.5 < worst <= 1.5 * (1 + 1e-9)


@pytest.mark.parametrize("places", [[1023], [255, 1023], [127, 255, 511, 1023]])
def test_the_loss_of_groups_keeps_the_budget(monkeypatch, places):
    rows = list(itertools.product([0.0, 0.2, 0.25, 0.9, 1.0], [False, True]))
    batch = evolve(CALIBRATION, epsilon=1.5)

    def groups(batch, counts):
        return shares.noisy_groups(batch, counts, words(*places), SECRET)

    counted, summed = worst_loss(monkeypatch, batch, rows, [curves, groups], 2)
    borders_event, sums_event = shares.guarantee(batch).mechanisms
    assert 0 < counted <= borders_event.epsilon
    assert summed <= sums_event.epsilon
    if len(places) > 1:  # a row of a single group cannot move as far twice
        assert summed > 0.999 * sums_event.epsilon


# --- the noise --------------------------------------------------------------------------------


def draws(batch, answer, count=600):
    """Return the noise of one server in many releases, by name: releases by numbers."""
    found = [answer(batch, key(number)) for number in range(count)]
    return {name: signed(np.stack([one[name] for one in found])) for name in found[0]}


def assert_mean(sizes, expected):
    """The chance of a false alarm is below 1e-10; a size 30 % off is noticed."""
    error = sizes.std() / np.sqrt(len(sizes))
    assert 14 * error < 0.6 * expected, "too few releases to tell 1.3 from 1"
    assert abs(sizes.mean() - expected) < 7 * error


def assert_tree(noise, variance):
    """Releases by thresholds; a scale 30 % off has a variance 69 % off."""
    assert_mean((noise.astype(float) ** 2).mean(axis=1), variance)
    middle = noise.mean(axis=1)
    assert abs(middle.mean()) < 7 * middle.std() / np.sqrt(len(middle))


def assert_laplace(noise, scale):
    """Single draws of a discrete Laplace law."""
    ratio = np.exp(-1 / scale)
    assert_mean(np.abs(noise).astype(float), 2 * ratio / (1 - ratio**2))
    assert abs(noise.mean()) < 7 * noise.std() / np.sqrt(len(noise))


@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_the_noise_of_curves_has_the_promised_size(batch):
    size = 1 << batch.levels
    nothing = np.zeros((len(batch.curves), size), dtype=np.uint64)
    found = draws(batch, lambda batch, key: shares.noisy_curves(batch, nothing, key), 2000)
    guarantee = shares.guarantee(batch)
    epsilon = guarantee.mechanisms[-1 if batch.kind == "roc" else 0].epsilon
    if batch.kind == "roc":
        rows = found.pop("rows")
        assert rows.shape == (2000, 1)
        assert_laplace(rows[:, 0], 1 / guarantee.mechanisms[0].epsilon)
        epsilon, relation, names = epsilon / 2, "add-remove", {"positive", "negative"}
    else:
        relation, names = "replace", {"count"}
    assert set(found) == names
    for noise in found.values():
        assert noise.shape == (2000, size)
        variance = laplace_node_variance(batch.levels, epsilon, relation)
        assert_tree(noise, variance * (batch.levels + 1))


def test_the_noise_of_groups_has_the_promised_size():
    nothing = np.zeros((3, 1024), dtype=np.uint64)
    found = draws(
        CALIBRATION, lambda batch, key: shares.noisy_groups(batch, nothing, PLACES, key), 2000
    )
    half = shares.guarantee(CALIBRATION).mechanisms[-1].epsilon / 2
    borders = np.concatenate([[0.0], CALIBRATION.points()[PLACES.astype(int)]])
    for i, (left, width) in enumerate(zip(borders, np.diff(borders), strict=False)):
        ratio = np.cbrt(width**2 / ((1 - left) ** 2 + left**2))
        counts, excess = half / (1 + ratio), half * ratio / (1 + ratio)
        for name in ("positives", "negatives"):
            assert_laplace(found[name][:, i], 1 / counts)
        assert_laplace(found["excess"][:, i], width * GROUP_UNIT / excess)
    both = np.corrcoef(found["positives"][:, 0], found["negatives"][:, 0])[0, 1]
    assert abs(both) < 7 / np.sqrt(2000)


def test_the_noise_of_two_classes_is_not_the_same():
    nothing = np.zeros((2, 64), dtype=np.uint64)
    found = draws(ROC, lambda batch, key: shares.noisy_curves(batch, nothing, key))
    flat = np.corrcoef(found["positive"][:, 5], found["negative"][:, 5])[0, 1]
    assert abs(flat) < 7 / np.sqrt(600)
    ends = np.corrcoef(found["positive"][:, -1], found["rows"][:, 0])[0, 1]
    assert abs(ends) < 7 / np.sqrt(600)


@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_points_have_the_noise_they_have_in_the_whole_curve(batch):
    generator = np.random.default_rng(0)
    whole = generator.integers(0, 2**64, (len(batch.curves), 2**batch.levels), dtype=np.uint64)
    noisy = shares.noisy_curves(batch, whole, SECRET)
    for places in (words(0), words(7, 3, 7, len(batch.points()) - 1)):
        some = shares.noisy_points(batch, whole[:, places], places, SECRET)
        assert set(some) == set(noisy) - {"rows"}
        for name, array in some.items():
            np.testing.assert_array_equal(array, noisy[name][places])


@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_a_repeated_question_has_the_same_answer(batch):
    """Byte by byte, whatever order reports are in."""
    values, targets = scores()
    reports = reported(batch, values[:40], targets[:40])[0]
    once, again = (
        shares.curve_sums(batch, 0, rows) for rows in (reports, np.ascontiguousarray(reports[::-1]))
    )
    one, other = (shares.noisy_curves(batch, own, SECRET) for own in (once, again))
    assert as_bytes(one) == as_bytes(other)
    if batch.kind == "hosmer-lemeshow":
        one, other = (shares.noisy_groups(batch, own, PLACES, SECRET) for own in (once, again))
        assert as_bytes(one) == as_bytes(other)


def release_keys():
    yield shares.release_key(SECRET, ECDF, REPORTS)
    yield shares.release_key(bytes(32), ECDF, REPORTS)
    yield shares.release_key(SECRET, ECDF, b"\1" * 32)
    yield shares.release_key(SECRET, CALIBRATION, REPORTS)
    yield shares.release_key(SECRET, CALIBRATION, REPORTS, PLACES.tobytes())
    yield shares.release_key(SECRET, CALIBRATION, REPORTS, PLACES[1:].tobytes())
    for changed in ({"epsilon": 1.1}, {"name": "other"}, {"minimum": 7}, {"grid": None}):
        yield shares.release_key(SECRET, evolve(ECDF, **changed), REPORTS)


def test_whatever_is_different_has_other_noise():
    keys = list(release_keys())
    assert len(set(keys)) == len(keys)
    nothing = np.zeros((1, 64), dtype=np.uint64)
    noise = [shares.noisy_curves(ECDF, nothing, key)["count"] for key in keys]
    correlations = np.corrcoef(signed(np.stack(noise)))
    for one, other in itertools.combinations(range(len(keys)), 2):
        assert not np.array_equal(noise[one], noise[other])
        assert abs(correlations[one, other]) < 0.99


def test_another_sampler_has_other_keys(monkeypatch):
    before = shares.release_key(SECRET, ECDF, REPORTS)
    monkeypatch.setattr(shares, "SAMPLER_VERSION", shares.SAMPLER_VERSION + 1)
    assert shares.release_key(SECRET, ECDF, REPORTS) != before


def test_the_noise_of_a_secret_is_that_of_this_version_of_the_sampler():
    """All on the way from secret to noise: who changes it raises `SAMPLER_VERSION`, then this."""
    assert shares.SAMPLER_VERSION == 1
    noise = hashlib.sha256()
    for batch in BATCHES:
        key = shares.release_key(SECRET, batch, REPORTS)
        nothing = np.zeros((len(batch.curves), 1 << batch.levels), dtype=np.uint64)
        places = words(3, 9)
        whole = shares.noisy_curves(batch, nothing, key)
        some = shares.noisy_points(batch, nothing[:, :2], places, key)
        for name, array in (*whole.items(), *some.items()):
            noise.update(name.encode() + array.astype("<u8").tobytes())
    assert noise.hexdigest() == PINNED


def test_another_budget_has_other_random_numbers_under_one_key():
    """Not the same ones at another scale, whose ratio would tell the noise."""
    nothing = np.zeros((1, 64), dtype=np.uint64)
    one, other = (
        signed(shares.noisy_curves(evolve(ECDF, epsilon=epsilon), nothing, SECRET)["count"])
        for epsilon in (1e-3, 2e-3)
    )
    assert abs(np.median(one / other) - 2.0) > 0.05
    assert abs(stats.spearmanr(np.diff(one), np.diff(other)).statistic) < 0.8


@pytest.mark.parametrize("role", [0, 1])
@pytest.mark.parametrize("batch", BATCHES, ids=kind)
def test_a_single_answer_is_uniform_without_the_other_share(batch, role):
    """The chance of a false alarm is below 1e-9."""
    values, targets = scores()
    targets = targets_for(batch, targets[:20])
    found = {}
    for seed in range(300):
        reports = make_reports(batch, values[:20], targets, SeededSource(seed))[1 + role]
        own = shares.point_sums(batch, role, reports, words(3, 9))
        for name, array in shares.noisy_points(batch, own, words(3, 9), SECRET).items():
            found.setdefault(name, []).append(array)
    for arrays in found.values():
        octets = np.stack(arrays).view(np.uint8).reshape(-1, 8)
        for each in octets.T:
            assert stats.chisquare(np.bincount(each >> 4, minlength=16)).pvalue > 1e-11


# --- mistakes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("places", [words(64), words(3, 2**63), words(0, 64)])
def test_places_beyond_the_thresholds_are_refused(places):
    reports = reported(ECDF, [0.5], None)[0]
    with pytest.raises(ParameterError, match="beyond the last threshold, 63; expected"):
        shares.point_sums(ECDF, 0, reports, places)
    with pytest.raises(ParameterError, match="beyond the last threshold"):
        shares.noisy_points(ECDF, np.zeros((1, len(places)), "u8"), places, SECRET)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (words(), "do not increase up to place 1023"),
        (words(5), "do not increase up to place 1023"),
        (words(5, 5, 1023), "do not increase"),
        (words(7, 5, 1023), "do not increase"),
        (words(1023, 5), "do not increase"),
        (words(5, 1024), "beyond the last threshold, 1023"),
    ],
)
def test_borders_that_are_none_are_refused(places, expected):
    with pytest.raises(ParameterError, match=expected) as caught:
        shares.noisy_groups(CALIBRATION, np.zeros((3, 1024), "u8"), places, SECRET)
    assert "\n" not in str(caught.value)


def test_only_probabilities_have_groups():
    with pytest.raises(ParameterError, match="scores is of kind roc, which has no groups"):
        shares.group_borders(ROC, words(63))

"""A server's part: exact counts, rejected reports, and the noise it adds."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from scipy import stats

from nolook.federated import shares
from nolook.federated.batch import Batch
from nolook.federated.reports import report_bytes, unpack
from nolook.federated.shares import (
    check_reports,
    noisy_blocks,
    release_key,
)
from nolook.kernels.forests import block_counts
from nolook.privacy.noise import SeededSource
from tests.federated.forged_keys import FORGERIES
from tests.federated.made import KEYS, NONCE, SCORES, batch_of, both_halves

KEY = bytes(range(32))
# Of the noise that follows from `KEY`.
PINNED = "38ffc25def4974257a9b029d460a919b8fc8a964a33a949676ea0bd80acfa10b"
ODD_VALUES = [-np.inf, -1e300, -0.0, 0.0, 5e-324, 0.5, 1.0, 63.5, 98.0, 98.5, 1e9, np.inf, np.nan]


def summed(batch, halves):
    return sum(check_reports(batch, role, halves[role]).counts for role in (0, 1))


def test_counts_are_those_of_the_cells():
    batch = batch_of()
    _, halves = both_halves(batch, ODD_VALUES)
    points = batch.points()
    want = np.zeros((1, 100), int)
    for value in ODD_VALUES:
        fits = [i for i in range(99) if value <= points[i]]
        want[0, fits[0] if fits else 99] += 1
    assert (summed(batch, halves) == want).all()
    checked = [check_reports(batch, role, halves[role]) for role in (0, 1)]
    assert (checked[0].counts + checked[1].counts == want).all()
    assert (checked[0].messages == checked[1].messages).all()


@pytest.mark.parametrize("kind", ["roc", "hosmer-lemeshow"])
def test_one_key_tells_cell_and_class(kind):
    batch = batch_of(kind, grid=SCORES if kind == "roc" else None)
    values, targets = np.array([0.0, 0.2, 0.2, 1.0, np.nan]), np.array([1, 0, 1, 1, 0], bool)
    _, halves = both_halves(batch, values, targets)
    found = dict(zip(batch.classes, summed(batch, halves), strict=True))
    numbers = np.nan_to_num(values, nan=0.0 if kind == "hosmer-lemeshow" else np.inf)
    for name, own in (("positive", targets), ("negative", ~targets)):
        cells = np.searchsorted(batch.points()[:-1], numbers[own])
        assert (found[name] == np.bincount(cells, minlength=len(batch.points()))).all()


def test_cells_beyond_the_last_threshold_count_in_the_last_cell():
    """An owner may report one: it is a single valid cell, and no more than that."""
    batch = batch_of()
    beyond = np.array([100, 127, 99, 4], np.uint64)
    pair = batch.functions.generate(beyond, SeededSource(1))
    total = 0
    for role in (0, 1):
        _, halves = both_halves(batch, np.zeros(4))
        reports = halves[role].copy()
        unpack(batch, reports)[1][...] = pair[role]
        total = total + check_reports(batch, role, reports).counts
    assert total[0, 99] == 3
    assert total.sum() == 4


def test_rejected_reports_are_taken_off_exactly():
    batch = batch_of()
    values = np.arange(40.0)
    _, halves = both_halves(batch, values)
    bad = np.zeros(40, bool)
    for i, forge in enumerate(FORGERIES.values()):
        pairs = np.stack([unpack(batch, each)[1][i : i + 2] for each in halves])
        forged = forge(batch.functions, pairs, np.random.default_rng(i))
        for role in (0, 1):
            unpack(batch, halves[role])[1][i : i + 1] = forged[role, :1]
        bad[i] = True
    checked = [check_reports(batch, role, halves[role]) for role in (0, 1)]
    accepted = (checked[0].messages == checked[1].messages).all(axis=1)
    assert (accepted == ~bad).all()
    counts = sum(
        checked[role].counts - check_reports(batch, role, halves[role][~accepted]).counts
        for role in (0, 1)
    )
    assert (counts[0] == np.bincount(values[~bad].astype(int), minlength=100)).all()


def test_a_key_belongs_to_one_secret_batch_and_set():
    batch, accepted = batch_of(), bytes(32)
    keys = {
        release_key(KEY, batch, accepted),
        release_key(KEY[::-1], batch, accepted),
        release_key(KEY, batch_of(nonce=NONCE[::-1]), accepted),
        release_key(KEY, batch, accepted[1:] + b"1"),
    }
    assert len(keys) == 4
    assert release_key(KEY, batch, accepted) in keys


# Noise.


def noise(batch, key=KEY):
    nothing = np.zeros((len(batch.classes), len(batch.points())), np.uint64)
    return {name: each.view(np.int64) for name, each in noisy_blocks(batch, nothing, key).items()}


def test_a_repeated_answer_is_the_same_and_classes_differ():
    batch = batch_of("roc", 1.0, SCORES)
    one, other = noise(batch), noise(batch)
    assert all((one[name] == other[name]).all() for name in one)
    assert (one["positive"] != one["negative"]).any()
    assert (noise(batch, KEY[::-1])["positive"] != one["positive"]).any()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_noise_has_the_scale_of_two_blocks_a_level(delta):
    """Scale 2 h/epsilon, or sqrt(2 h)/mu; 30 % more or less would be found."""
    batch = Batch(
        "ages", "ecdf", 0.7, None, servers=("a", "b"), keys=KEYS, nonce=NONCE, delta=delta
    )
    draws, levels = noise(batch)["count"][:100_000], batch.forest.levels
    event = batch.event()
    if delta:
        law = stats.norm(scale=np.sqrt(2 * levels) / event.mu)
    else:
        law = stats.laplace(scale=2 * levels / 0.7)
    # A rounded number and a discrete one differ from these by less than one.
    for wrong, fits in ((1.0, True), (1.3, False), (0.7, False)):
        uniform = law.cdf((draws + np.random.default_rng(0).uniform(-0.5, 0.5, len(draws))) / wrong)
        assert (stats.kstest(uniform, "uniform").statistic < 0.01) == fits


@pytest.mark.parametrize("kind", ["ecdf", "roc"])
def test_a_replaced_report_changes_two_blocks_a_level(kind):
    """The largest change over all pairs of reports is the sensitivity that the noise is for."""
    batch = batch_of(kind, 1.0, SCORES, lengths=(6, 3, 1))
    shape = (len(batch.classes), 16)
    blocks = []
    for place in itertools.product(*map(range, shape)):
        cells = np.zeros(shape, np.int64)
        cells[place] = 1
        blocks.append(np.concatenate([block_counts(each, batch.forest.lengths) for each in cells]))
    changes = np.abs(np.array(blocks)[:, None] - np.array(blocks)[None]).sum(axis=2)
    assert changes.max() == 2 * batch.forest.levels


def test_another_sampler_has_other_keys(monkeypatch):
    before = release_key(KEY, batch_of(), bytes(32))
    monkeypatch.setattr(shares, "SAMPLER_VERSION", shares.SAMPLER_VERSION + 1)
    assert release_key(KEY, batch_of(), bytes(32)) != before


def test_the_noise_of_a_secret_is_that_of_this_version_of_the_sampler():
    """All on the way from secret to noise: who changes it raises `SAMPLER_VERSION`, then this."""
    assert shares.SAMPLER_VERSION == 1
    found = hashlib.sha256()
    batches = [batch_of("ecdf", 1.0, SCORES), batch_of("ecdf", 1.0, SCORES, delta=1e-6)]
    for batch in (*batches, batch_of("roc", 1.0, SCORES)):
        for name, array in noise(batch, release_key(KEY, batch, bytes(32))).items():
            found.update(name.encode() + array.astype("<i8").tobytes())
    assert found.hexdigest() == PINNED


def test_another_budget_has_other_random_numbers_under_one_secret():
    """Not the same ones at another scale, whose ratio would tell the noise."""
    batches = [batch_of("ecdf", epsilon) for epsilon in (1e-3, 2e-3)]
    one, other = (noise(each, release_key(KEY, each, bytes(32)))["count"] for each in batches)
    assert abs(np.median(one / other) - 2.0) > 0.05
    assert abs(stats.spearmanr(one, other).statistic) < 0.5


@pytest.mark.parametrize("role", [0, 1])
@pytest.mark.parametrize("kind", ["ecdf", "roc"])
def test_a_single_answer_is_uniform_without_the_other_share(kind, role):
    """The chance of a false alarm is below 1e-8."""
    batch, values = batch_of(kind, 1.0, SCORES), np.full(20, 0.5)
    found = []
    for seed in range(300):
        _, halves = both_halves(batch, values, None if kind == "ecdf" else values > 0, seed)
        numbers = noisy_blocks(batch, check_reports(batch, role, halves[role]).counts, KEY)
        found.append(np.concatenate([each[-16:] for each in numbers.values()]))
    octets = np.ascontiguousarray(np.stack(found)[:, ::7]).view(np.uint8).reshape(-1, 8)
    for each in octets.T:
        assert stats.chisquare(np.bincount(each >> 4, minlength=16)).pvalue > 1e-11


def test_nothing_in_a_report_raises():
    batch = batch_of()
    size = report_bytes(batch)
    reports = SeededSource(3).words(5 * size).view(np.uint8)[: 5 * size].reshape(5, size)
    for role in (0, 1):
        assert check_reports(batch, role, reports).messages.shape == (5, 32)
        assert check_reports(batch, role, reports).counts.shape == (1, 100)

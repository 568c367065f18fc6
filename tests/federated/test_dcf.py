"""Distributed comparison functions: what two keys share, and what one does not tell."""

from __future__ import annotations

import json
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.errors import ParameterError
from nolook.federated import _prg, dcf
from nolook.privacy.noise import SeededSource, SystemEntropy
from scripts import dcf_vectors
from tests.federated import slow_dcf

MOST = 2**64 - 1
CASES = json.loads(dcf_vectors.PATH.read_text(encoding="utf-8"))["cases"]
ALL_LEVELS = range(1, 64)
numbers = st.one_of(st.sampled_from([0, 1, 2**63, MOST]), st.integers(0, MOST))


def words(*values):
    return np.array(values, np.uint64)


def as_keys(*keys):
    return np.array([np.frombuffer(key, np.uint8) for key in keys])


def opened(pair, levels, point):
    return dcf.evaluate(0, pair[0], levels, point) + dcf.evaluate(1, pair[1], levels, point)


def opened_domain(pair, levels):
    return dcf.full_domain_sum(0, pair[0], levels) + dcf.full_domain_sum(1, pair[1], levels)


def opened_sum(pair, levels, points):
    return dcf.evaluate_sum(0, pair[0], levels, points) + dcf.evaluate_sum(
        1, pair[1], levels, points
    )


@pytest.mark.parametrize("levels", range(1, 9))
def test_every_alpha_at_every_point(levels):
    size = 1 << levels
    alphas = np.arange(size, dtype=np.uint64)
    betas = SeededSource(levels).words(size)
    betas[0], betas[-1] = 0, MOST
    pair = dcf.generate(alphas, betas, levels, SeededSource(0))
    for point in range(size):
        want = np.where(point < alphas, betas, np.uint64(0))
        assert (opened(pair, levels, point) == want).all()


@pytest.mark.parametrize("levels", [*range(1, 13), 17])
def test_sums_over_keys_on_the_full_domain_and_at_points(levels):
    # More keys than one block holds where trees are small, a tree of many parts where not.
    n = 300 if levels < 12 else 3
    source = SeededSource(levels)
    alphas, betas = source.words(n) >> np.uint64(64 - levels), source.words(n)
    alphas[:2] = (0, (1 << levels) - 1)
    pair = dcf.generate(alphas, betas, levels, source)
    want = np.zeros(1 << levels, np.uint64)
    for alpha, beta in zip(alphas.tolist(), betas, strict=True):
        want[:alpha] += beta
    assert (opened_domain(pair, levels) == want).all()
    points = np.append(source.words(40) >> np.uint64(64 - levels), words(0, (1 << levels) - 1))
    assert (opened_sum(pair, levels, points) == want[points]).all()


@pytest.mark.parametrize("levels", ALL_LEVELS)
def test_random_points_and_both_ends_of_large_domains(levels):
    last = (1 << levels) - 1
    source = SeededSource(levels)
    alphas, betas = source.words(20) >> np.uint64(64 - levels), source.words(20)
    alphas[:4], betas[:4] = (0, last, last, 0), (MOST, MOST, 0, 1)
    pair = dcf.generate(alphas, betas, levels, source)
    assert pair[0].shape == pair[1].shape == (20, dcf.key_bytes(levels))
    middle = [int(alpha) + step for alpha in alphas[4:8] for step in (-1, 0, 1)]
    points = [0, last, last // 2, *(min(max(point, 0), last) for point in middle)]
    want = np.where(words(*points)[:, None] < alphas, betas, np.uint64(0))
    for point, row in zip(points, want, strict=True):
        assert (opened(pair, levels, point) == row).all()
    assert (opened_sum(pair, levels, words(*points)) == want.sum(axis=1)).all()


@given(
    levels=st.integers(1, 63),
    alpha=st.integers(0),
    beta=numbers,
    point=st.integers(0),
    near=st.booleans(),
)
def test_two_shares_add_up(levels, alpha, beta, point, near):
    alpha %= 1 << levels
    point = min(alpha + point % 3, (1 << levels) - 1) if near else point % (1 << levels)
    pair = dcf.generate(words(alpha), words(beta), levels, SeededSource(beta % 1000))
    assert opened(pair, levels, point) == (beta if point < alpha else 0)


def test_many_blocks_of_keys_are_as_one(monkeypatch):
    """How many keys are taken together is nobody's business: keys and shares stay the same."""
    alphas, betas = SeededSource(1).words(50) >> np.uint64(54), SeededSource(2).words(50)

    def results():
        pair = dcf.generate(alphas, betas, 10, SeededSource(3))
        return (
            *pair,
            dcf.evaluate(1, pair[1], 10, 700),
            dcf.evaluate_sum(0, pair[0], 10, words(3, 1000, 3, 0)),
            dcf.full_domain_sum(1, pair[1], 10),
        )

    whole = results()
    sizes = {"_DEALT_KEYS": 7, "_WALKED_KEYS": 9, "_GROWN_KEYS": 6, "_GROWN_NODES": 8}
    for name, size in (sizes | {"_LEAF_NODES": 3}).items():
        monkeypatch.setattr(dcf, name, size)
    for one, other in zip(whole, results(), strict=True):
        assert one.tobytes() == other.tobytes()


def test_keys_in_any_layout_and_read_only():
    alphas, betas = words(5, 200, 255), words(1, 2, 3)
    pair = dcf.generate(alphas, betas, 8, SeededSource(0))
    reports = np.zeros((3, 2, dcf.key_bytes(8) + 5), np.uint8)
    reports[:, 1, 3:-2] = pair[0]
    reports.flags.writeable = False
    view = reports[:, 1, 3:-2]
    for keys in (view, np.asfortranarray(pair[0])):
        assert (dcf.evaluate(0, keys, 8, 7) == dcf.evaluate(0, pair[0], 8, 7)).all()
        assert (dcf.full_domain_sum(0, keys, 8) == dcf.full_domain_sum(0, pair[0], 8)).all()
    assert (view == pair[0]).all()


@pytest.mark.parametrize("levels", [1, 5, 6, 16, 63])
def test_no_keys(levels):
    pair = dcf.generate(words(), words(), levels, SeededSource(0))
    assert pair[0].shape == (0, dcf.key_bytes(levels))
    assert dcf.evaluate(1, pair[1], levels, 0).shape == (0,)
    assert dcf.evaluate_sum(0, pair[0], levels, words(1, 0)).tolist() == [0, 0]
    assert dcf.evaluate_sum(0, pair[0], levels, words()).shape == (0,)
    if levels < 20:
        assert not dcf.full_domain_sum(0, pair[0], levels).any()


def test_the_length_of_a_key():
    assert dcf.key_bytes(16) == 539
    for levels in ALL_LEVELS:
        depth = max(0, levels - 5)
        assert dcf.key_bytes(levels) == (
            16 + 24 * depth + (depth + 3) // 4 + 8 * 2 ** min(5, levels)
        )


# Against a second implementation, and the stored vectors.


def test_the_stored_vectors_are_what_the_code_makes():
    assert dcf_vectors.PATH.read_text(encoding="utf-8") == dcf_vectors.text()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['levels']}-{case['alpha']}")
def test_a_second_implementation_agrees_with_the_vectors(case):
    levels, alpha, beta = case["levels"], int(case["alpha"]), int(case["beta"])
    keys = [bytes.fromhex(case["key0"]), bytes.fromhex(case["key1"])]
    for point, *shares in case["shares"]:
        x = int(point)
        for role in (0, 1):
            assert slow_dcf.evaluate(role, keys[role], levels, x) == int(shares[role])
        total = sum(map(int, shares)) % 2**64
        assert total == (beta if x < alpha else 0)
    made = slow_dcf.generate(alpha, beta, levels, keys[0][:16], keys[1][:16])
    assert made == tuple(keys)


@given(levels=st.integers(1, 63), alpha=st.integers(0), beta=numbers, seed=st.integers(0, 10**6))
def test_both_implementations_make_and_read_the_same_keys(levels, alpha, beta, seed):
    alpha %= 1 << levels
    roots = SeededSource(seed).words(4).astype("<u8").tobytes()
    slow = slow_dcf.generate(alpha, beta, levels, roots[:16], roots[16:])
    fast = dcf.generate(words(alpha), words(beta), levels, SeededSource(seed))
    assert slow == tuple(key.tobytes() for key in fast)
    for point in {0, (1 << levels) - 1, alpha, seed % (1 << levels)}:
        for role in (0, 1):
            share = slow_dcf.evaluate(role, fast[role].tobytes(), levels, point)
            assert share == dcf.evaluate(role, as_keys(slow[role]), levels, point)[0]


@given(levels=st.integers(1, 12), seed=st.integers(0, 10**6), role=st.integers(0, 1))
def test_any_bytes_are_a_key(levels, seed, role):
    """Bits that must be 0 are ignored, and nothing fails on a malformed key."""
    size = dcf.key_bytes(levels)
    key = SeededSource(seed).words(-(-size // 8)).tobytes()[:size]
    whole = dcf.full_domain_sum(role, as_keys(key), levels)
    for point in {0, (1 << levels) - 1, seed % (1 << levels)}:
        share = slow_dcf.evaluate(role, key, levels, point)
        assert dcf.evaluate(role, as_keys(key), levels, point)[0] == share
        assert whole[point] == share


def test_bytes_do_not_depend_on_the_machine(monkeypatch):
    """The words of a machine with the other byte order, swapped before and after the cipher."""
    inputs = SeededSource(0).words(8)
    room, swapped = _prg.block_words(4), _prg.block_words(4)
    other = inputs.byteswap()
    ciphers = _prg.FixedKeys()
    ciphers.encrypt("left", _prg.as_bytes(inputs), _prg.as_bytes(room))
    monkeypatch.setattr(sys, "byteorder", {"little": "big", "big": "little"}[sys.byteorder])
    ciphers.encrypt("left", _prg.as_bytes(other), _prg.as_bytes(swapped))
    assert (swapped[:8].byteswap() == room[:8]).all()


# What one key tells.


def test_a_root_does_not_depend_on_the_secret():
    """Only the root's seed differs within a pair, and it comes from the source alone."""
    one = dcf.generate(words(0), words(0), 16, SeededSource(4))
    other = dcf.generate(words(40_000), words(MOST), 16, SeededSource(4))
    for role in (0, 1):
        assert one[role][0, :16].tobytes() == other[role][0, :16].tobytes()
    assert one[0][0, 16:].tobytes() == one[1][0, 16:].tobytes()
    assert one[0][0, :16].tobytes() != one[1][0, :16].tobytes()
    assert one[0][0, 16:].tobytes() != other[0][0, 16:].tobytes()


def free_bits(levels):
    """Which of a key's bits are not always 0, lowest bit of each byte first."""
    depth = max(0, levels - 5)
    free = np.ones(8 * dcf.key_bytes(levels), bool)
    free[[0, *(8 * (16 + 24 * i) for i in range(depth))]] = False
    start = 8 * (16 + 24 * depth)
    free[start + 2 * depth : start + 8 * ((depth + 3) // 4)] = False
    return free


@pytest.mark.parametrize("alpha", [0, 1, 31, 32, 333, 511])
@pytest.mark.parametrize("beta", [0, 1, MOST])
def test_every_bit_of_one_key_is_fair_and_no_two_go_together(alpha, beta):
    """On many keys of one secret; the limits are 8 standard deviations, and the seed is fixed."""
    n, levels = 1000, 9
    secret = np.full(n, alpha, np.uint64), np.full(n, beta, np.uint64)
    for keys in dcf.generate(*secret, levels, SeededSource(alpha)):
        bits = np.unpackbits(keys, axis=1, bitorder="little")
        free = free_bits(levels)
        assert not bits[:, ~free].any()
        signs = 1.0 - 2.0 * bits[:, free].astype(np.float32)
        assert np.abs(signs.sum(axis=0)).max() < 8 * np.sqrt(n)
        together = signs.T @ signs
        np.fill_diagonal(together, 0.0)
        assert np.abs(together).max() < 8 * np.sqrt(n)


def test_the_shares_of_one_party_are_uniform_on_either_side_of_alpha():
    n = 4000
    pair = dcf.generate(np.full(n, 77, np.uint64), np.ones(n, np.uint64), 8, SeededSource(6))
    for role in (0, 1):
        for point in (0, 76, 77, 255):
            shares = dcf.evaluate(role, pair[role], 8, point)
            bits = np.unpackbits(shares.view(np.uint8).reshape(n, 8), axis=1)
            assert np.abs(bits.sum(axis=0) - n / 2).max() < 4 * np.sqrt(n)


def test_fresh_entropy_gives_fresh_keys():
    one, other = (dcf.generate(words(3), words(1), 4, SystemEntropy()) for _ in range(2))
    assert one[0].tobytes() != other[0].tobytes()


# Parameters.


@pytest.mark.parametrize("levels", [0, -1, 64, 2.0, True, None, "16"])
def test_levels_outside_their_range(levels):
    keys = np.zeros((1, 539), np.uint8)
    for call in (
        lambda: dcf.key_bytes(levels),
        lambda: dcf.generate(words(1), words(1), levels, SeededSource(0)),
        lambda: dcf.evaluate(0, keys, levels, 0),
        lambda: dcf.evaluate_sum(0, keys, levels, words(0)),
        lambda: dcf.full_domain_sum(0, keys, levels),
    ):
        with pytest.raises(ParameterError, match=r"^levels is "):
            call()


def test_a_full_domain_that_does_not_fit_in_memory():
    with pytest.raises(ParameterError, match=r"^levels is 25; expected an integer from 1 to 24"):
        dcf.full_domain_sum(0, np.zeros((1, dcf.key_bytes(25)), np.uint8), 25)


def test_secrets_are_checked_and_never_shown():
    source = SeededSource(0)
    for alphas, betas in (
        (words(4242), words(1)),
        (words(4242, 1), words(1, 2)),
        (words(4242), words(1, 2)),
        (words(4242)[None], words(1)[None]),
        (np.array([4242]), words(1)),
        (words(42), np.array([4242.0])),
    ):
        with pytest.raises(ParameterError, match=r"(alphas|betas) ") as caught:
            dcf.generate(alphas, betas, 12, source)
        assert "4242" not in str(caught.value)


@pytest.mark.parametrize("role", [2, -1, None, "0"])
def test_a_role_is_0_or_1(role):
    with pytest.raises(ParameterError, match=r"^role is .*; expected 0 or 1"):
        dcf.evaluate(role, np.zeros((1, dcf.key_bytes(4)), np.uint8), 4, 0)


@pytest.mark.parametrize(
    "keys",
    [
        np.zeros((1, 10), np.uint8),
        np.zeros(dcf.key_bytes(4), np.uint8),
        np.zeros((1, 144), np.int8),
    ],
    ids=["short", "flat", "signed"],
)
def test_keys_of_another_length_or_type(keys):
    for call in (
        lambda: dcf.evaluate(0, keys, 4, 0),
        lambda: dcf.evaluate_sum(0, keys, 4, words(0)),
        lambda: dcf.full_domain_sum(0, keys, 4),
    ):
        with pytest.raises(ParameterError, match=r"^keys are .* expected uint8 of shape"):
            call()


@pytest.mark.parametrize("point", [-1, 16, 2**64, 3.0, None])
def test_points_outside_the_domain(point):
    keys = np.zeros((1, dcf.key_bytes(4)), np.uint8)
    with pytest.raises(ParameterError, match=r"^point is .*; expected an integer from 0 to 2\*\*4"):
        dcf.evaluate(0, keys, 4, point)
    with pytest.raises(ParameterError, match=r"^points "):
        dcf.evaluate_sum(0, keys, 4, np.array([point], object))
    with pytest.raises(ParameterError, match=r"^points go beyond the domain"):
        dcf.evaluate_sum(0, keys, 4, words(3, 16))


@pytest.mark.parametrize("levels", [6, 16, 20])
def test_memory_of_a_full_domain_does_not_grow_with_the_keys(levels):
    n = 4000 >> max(0, levels - 12)
    keys, _ = dcf.generate(
        np.zeros(n, np.uint64), np.ones(n, np.uint64), levels, SeededSource(levels)
    )
    peaks = []
    for some in (keys[: n // 2], keys):
        tracemalloc.start()
        result = dcf.full_domain_sum(0, some, levels)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 2**16
    assert peaks[1] < result.nbytes * 1.125 + 2**21

"""Noise that follows from a key: its law, the same from the same key, and no other key's."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from scipy import stats

from nolook.errors import ParameterError
from nolook.privacy.mechanisms.keyed_noise import keyed_gaussian, keyed_laplace
from nolook.privacy.noise import SAMPLER_VERSION, KeyedSource, derived_key

KEY = bytes(range(32))
# Of the draws of `SAMPLER_VERSION`.
PINNED = "fd93af3bb741004f52228ede7e84f5fd7d8f7aeb3b02dc9e797901ea7984c17a"


def keys(count):
    return [hashlib.sha256(number.to_bytes(4, "little")).digest() for number in range(count)]


def zeros(count):
    return np.zeros(count, dtype=np.uint64)


def places(*numbers):
    return np.array(numbers, dtype=np.uint64)


def laplace_fit(draws, scale):
    """The chance of a chi-square statistic this large if the draws have that scale."""
    limit = int(3 * scale) + 1
    values = np.arange(-limit, limit + 1)
    ratio = np.exp(-1 / scale)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    tail = ratio ** (limit + 1) / (1 + ratio)
    chances = np.concatenate([[tail], chances, [tail]])
    counts = np.bincount(np.clip(draws + limit + 1, 0, 2 * limit + 2), minlength=2 * limit + 3)
    return stats.chisquare(counts, chances * len(draws)).pvalue


def test_words_are_shakes_of_key_label_and_counter():
    expected = b"".join(
        hashlib.shake_256(KEY + b"label" + counter.to_bytes(8, "little")).digest(8192)
        for counter in range(2)
    )
    source = KeyedSource(KEY, b"label")
    words = np.concatenate([source.words(n) for n in (1, 0, 7, 1000, 1040)])
    assert words.astype("<u8").tobytes() == expected[: 8 * 2048]
    assert source.private


def test_keys_are_derived_by_hmac():
    assert derived_key(KEY, b"statement") == hmac.new(KEY, b"statement", "sha256").digest()


def test_draws_of_this_version_of_the_sampler():
    # A change here is a new version: keyed noise must never repeat itself wrongly.
    assert SAMPLER_VERSION == 1
    draws = [
        keyed_laplace(zeros(4096), 12, 0.5, KEY),
        keyed_laplace(zeros(64), 63, 2.0**-40, KEY),
        keyed_gaussian(zeros(4096), 3.0, 0.5, KEY),
        keyed_gaussian(zeros(64), 3.0, 2.0**-40, KEY),
    ]
    text = b"".join(part.astype("<u8").tobytes() for part in draws)
    assert hashlib.sha256(text).hexdigest() == PINNED


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_single_sums_get_laplace_noise_of_the_scale(epsilon):
    draws = keyed_laplace(zeros(100_000), 2, epsilon, KEY).view(np.int64)
    assert laplace_fit(draws, 2 / epsilon) > 1e-6
    assert laplace_fit(draws, 1.3 * 2 / epsilon) < 1e-12
    assert laplace_fit(draws, 0.7 * 2 / epsilon) < 1e-12


@pytest.mark.parametrize("mu", [0.01, 0.5])
def test_single_sums_get_gaussian_noise_of_the_scale(mu):
    draws = keyed_gaussian(zeros(50_000), 3.0, mu, KEY).view(np.int64)
    limits = np.arange(-3.0, 3.1, 0.25) * 3.0 / mu
    chances = {}
    for wrong in (0.7, 1.0, 1.3):
        upto = stats.norm.cdf(np.floor(limits) + 0.5, scale=wrong * 3.0 / mu)
        shares = np.diff(np.concatenate([[0.0], upto, [1.0]]))
        counts = np.bincount(np.searchsorted(limits, draws), minlength=len(shares))
        chances[wrong] = stats.chisquare(counts, shares * len(draws)).pvalue
    assert chances[1.0] > 1e-6
    assert max(chances[0.7], chances[1.3]) < 1e-12
    again = keyed_gaussian(zeros(50_000), 3.0, mu, KEY).view(np.int64)
    assert (again == draws).all()
    with pytest.raises(ParameterError, match=r"^mu is "):
        keyed_gaussian(zeros(1), 3.0, 2.0**-60, KEY)


def test_noise_wraps_and_does_not_look_at_the_shares():
    shares = places(0, 2**64 - 1, 2**63, 17)
    noise = keyed_laplace(zeros(4), 1, 1e-9, KEY)
    np.testing.assert_array_equal(keyed_laplace(shares, 1, 1e-9, KEY) - shares, noise)
    normal = keyed_gaussian(zeros(4), 1.0, 1e-9, KEY)
    np.testing.assert_array_equal(keyed_gaussian(shares, 1.0, 1e-9, KEY) - shares, normal)


def test_another_key_or_label_gives_other_noise():
    first = keyed_laplace(zeros(100), 1, 1e-6, KEY).view(np.int64)
    other = keyed_laplace(zeros(100), 1, 1e-6, derived_key(KEY, b"other")).view(np.int64)
    assert (first != other).all()
    labels = [KeyedSource(KEY, label).words(50).tolist() for label in (b"", b"\0" * 8, b"\1")]
    assert len({word for words in labels for word in words}) == 150


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: keyed_laplace(zeros(1), 1, 1.0, b"short"), "the key has 5 bytes; expected 32"),
        (lambda: derived_key(b"", b"x"), "the key has 0 bytes; expected 32"),
        (lambda: keyed_laplace(zeros(1), 1, 2.0**-51, KEY), "epsilon is .*; expected a larger one"),
        (lambda: keyed_laplace(zeros(1), 1, 0.0, KEY), "epsilon is 0.0"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(call, message):
    with pytest.raises(ParameterError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)

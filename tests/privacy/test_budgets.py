from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from nolook.privacy.budgets import Allowance, split, too_small, with_room

weights = st.lists(st.floats(0.0, 1.0), max_size=12)


@given(st.floats(1e-200, 1e200), weights)
def test_parts_never_add_up_to_more_than_the_whole(whole, found):
    shares = [weight / 12 for weight in found]
    parts = split(whole, *shares)
    assert len(parts) == len(shares) + 1
    exact = sum(map(Fraction, parts))
    assert exact <= Fraction(whole)
    assert exact >= Fraction(whole) * (1 - Fraction(2) ** -39)
    for part, share in zip(parts, shares, strict=False):
        assert part == pytest.approx(share * whole, rel=1e-11)


@given(st.floats(1e-200, 1e200))
def test_room_is_more_than_a_thousand_roundings(amount):
    less = Fraction(with_room(amount)) / Fraction(amount)
    assert less * (1 + Fraction(2) ** -53) ** 1000 < 1
    assert less >= 1 - Fraction(2) ** -39


def test_a_refusal_says_what_would_help():
    assert str(too_small(1e-12)) == (
        "epsilon is 1e-12; expected a larger one (its noise would exceed any table)"
    )
    assert str(too_small(1e-12, 1e-6)) == (
        "epsilon is 1e-12 with delta 1e-06; expected a larger budget (its noise would exceed any "
        "table)"
    )


@given(st.floats(2.0**-20, 1e5), st.lists(st.integers(1, 400), min_size=1, max_size=30))
def test_what_is_spent_is_at_most_the_allowance_and_no_part_is_lost(mu, wanted):
    allowance, spent = Allowance(mu), []
    for parts in wanted:
        if parts > allowance.left:
            with pytest.raises(AssertionError, match=f"{parts} parts of {allowance.left}"):
                allowance.spend(parts)
        else:
            spent.append(allowance.spend(parts))
    if allowance.left:
        spent.append(allowance.spend(allowance.left))
    with pytest.raises(AssertionError):
        allowance.spend(1)
    exact = sum(Fraction(each) ** 2 for each in spent)
    assert exact <= Fraction(mu) ** 2 * (1 + Fraction(2) ** -45)
    assert exact >= Fraction(mu) ** 2 * (1 - Fraction(2) ** -45)


@pytest.mark.parametrize("parts", [0, -1])
def test_no_release_without_noise_of_its_own(parts):
    with pytest.raises(AssertionError):
        Allowance(1.0).spend(parts)


def log_ratio(mu, shifted, generator):
    """Return the log-likelihood ratio of answers, how much is spent on each hanging on the last.

    The worse the attack goes, the more it spends; it stops while it is ahead.
    """
    allowance, told = Allowance(mu), 0.0
    for _ in range(12):
        parts = min(64 if told > 0.3 else 200, allowance.left)
        if not parts or told > 1.0:
            break
        shift = allowance.spend(parts)
        answer = generator.normal() + shift * shifted
        told += shift * answer - shift**2 / 2
    if allowance.left:
        rest = allowance.spend(allowance.left)
        told += rest * (generator.normal() + rest * shifted) - rest**2 / 2
    return told


def test_decisions_on_the_way_tell_no_more_than_one_release():
    generator, mu = np.random.default_rng(0), 1.5
    for shifted in (0, 1):
        told = [log_ratio(mu, shifted, generator) for _ in range(20_000)]
        law = norm((shifted - 0.5) * mu**2, mu)
        assert kstest(told, law.cdf).pvalue > 1e-3

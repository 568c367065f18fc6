from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.privacy.budgets import split, too_small, with_room

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

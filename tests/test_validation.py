from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook._validation import (
    check_choice,
    check_count,
    check_delta,
    check_epsilon,
    check_fraction,
    check_names,
    check_positive,
    check_random_state,
)
from nolook.errors import ParameterError

NOT_NUMBERS = [None, True, np.bool_(True), "1", b"1", [1.0], np.array([1.0]), 1j]
NOT_FINITE = [math.nan, math.inf, -math.inf, np.float64("nan"), 10**400, -(10**400)]


def message_of(check, *args, **kwargs):
    with pytest.raises(ParameterError) as caught:
        check(*args, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 250
    return message


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(3), Fraction(1, 2), 5e-324])
def test_epsilon_accepts_every_kind_of_real_number(value):
    for checked in (check_epsilon(value), check_positive(value, "mu")):
        assert type(checked) is float
        assert checked == value


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE, 0, -0.0, -1, Fraction(1, 10**400)])
@pytest.mark.parametrize("check", [check_epsilon, check_positive])
def test_epsilon_refuses(check, value):
    message = message_of(check, value, "budget")
    assert message.startswith("budget is ")
    assert "finite number above 0" in message


@pytest.mark.parametrize("check", [check_delta, check_fraction])
@given(st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True))
def test_open_interval_accepts_its_inside(check, value):
    assert check(value, "delta") == value


@pytest.mark.parametrize("check", [check_delta, check_fraction])
@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE, 0, -0.0, 1, -0.1, 1.5])
def test_open_interval_refuses(check, value):
    message = message_of(check, value, "share")
    assert message.startswith("share is ")
    assert "between 0 and 1" in message


@pytest.mark.parametrize("value", [1, 7, np.int64(10)])
def test_count_accepts_integers_up_to_the_most(value):
    assert check_count(value, "n_rounds", 10) == value


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE, 0, -1, 11, 2.0, 10**400])
def test_count_refuses(value):
    message = message_of(check_count, value, "n_rounds", 10)
    assert message.startswith("n_rounds is ")
    assert "from 1 to 10" in message


@pytest.mark.parametrize("value", [0, 0.0, -0.0, np.int8(0), Fraction(0)])
def test_delta_may_be_zero_where_allowed(value):
    assert math.copysign(1.0, check_delta(value, allow_zero=True)) == 1.0


def test_a_delta_too_small_for_a_double_does_not_become_pure():
    message_of(check_delta, Fraction(1, 10**400), allow_zero=True)


def test_choice():
    choices = ("error", "drop-row", "zero")
    assert check_choice("missing", "zero", choices) == "zero"
    message = message_of(check_choice, "missing", "Zero", choices)
    assert message.startswith("missing is 'Zero'")
    for choice in choices:
        assert repr(choice) in message
    message_of(check_choice, "missing", None, choices)
    message_of(check_choice, "missing", ["zero"], choices)


@pytest.mark.parametrize(("value", "expected"), [(None, None), (0, 0), (np.uint8(7), 7)])
def test_random_state_accepts(value, expected):
    checked = check_random_state(value)
    assert checked == expected
    assert checked is None or type(checked) is int


@pytest.mark.parametrize("value", [-1, True, False, 1.0, "1", math.nan, np.random.RandomState(0)])
def test_random_state_refuses(value):
    assert message_of(check_random_state, value).startswith("random_state is ")


def test_names():
    assert check_names(iter(["b", "a"]), "features") == ("b", "a")


@pytest.mark.parametrize("value", ["age", None, 3, [], [""], ["a", 1], ["a", "b", "a"]])
def test_names_refuse(value):
    assert message_of(check_names, value, "features").startswith("features is ")


def test_a_message_is_one_short_line_and_shows_no_data():
    long_text = "line one\n" * 100
    assert "line two" not in message_of(check_choice, "missing", long_text, ("error",))
    secret = np.array([[123456.789]])
    assert "123456" not in message_of(check_epsilon, secret)
    assert "123456" not in message_of(check_names, [123456.789], "features")

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.report.methods import METHODS, check_method, estimator_class, method_of
from nolook.report.picture import shortened
from nolook.report.summary import certainty_in_words, coefficients, number
from tests.report.hand_made import fitted, guarantee


def test_effects_are_coefficients_times_scales():
    model = fitted(("a", "b", "c", "y"))
    for one, value, ends, scale in zip(
        coefficients(model), model.coef_, model.coef_interval_, model.scaling_.scale, strict=False
    ):
        assert (one.value, one.low, one.high) == (value, *ends)
        effects = (one.effect, one.effect_low, one.effect_high)
        assert effects == (value * scale, ends[0] * scale, ends[1] * scale)
        assert one.clear == (ends[0] > 0 or ends[1] < 0)


def test_effects_beyond_the_doubles_stay_finite():
    model = fitted()
    model.coef_ = np.array([1e308, -1e308])
    model.scaling_.scale[:] = 1e10
    assert all(math.isfinite(one.effect) for one in coefficients(model))


@pytest.mark.parametrize(
    ("epsilon", "expected"), [(1e-9, "50.1 %"), (1.0, "73.2 %"), (math.log(9), "90.0 %")]
)
def test_certainty_follows_bayes_and_is_never_understated(epsilon, expected):
    text = certainty_in_words(guarantee(epsilon=epsilon))
    assert f"at most {expected} sure" in text


@given(st.floats(1e-6, 6.5), st.floats(1e-14, 0.09))
def test_no_rounding_promises_more_than_the_release(epsilon, delta):
    text = certainty_in_words(guarantee(epsilon=epsilon, delta=delta))
    if "nearly certain" not in text:
        percent = float(text.partition("at most ")[2].partition(" %")[0])
        assert percent >= 100 / (1 + math.exp(-epsilon)) - 1e-6
    one_in = int(text.partition("1 in ")[2].rstrip(".").replace(",", ""))
    assert 1 / one_in >= delta * (1 - 1e-11)


def test_a_pure_guarantee_has_no_exception():
    assert "exception" not in certainty_in_words(guarantee(delta=0.0))


@given(st.text(min_size=1, max_size=200), st.integers(5, 60))
def test_a_shortened_name_fits_and_keeps_both_ends(name, length):
    short = shortened(name, length)
    assert len(short) <= max(length, 1)
    if short != name:
        head, tail = short.split("…")[0], short.split("…")[-1]
        assert name.startswith(head)
        assert name.endswith(tail)


def test_numbers_have_no_negative_zero():
    assert number(-0.0) == "0"
    assert number(-1e-300) == "-1e-300"


@pytest.mark.parametrize("method", METHODS)
def test_each_method_has_an_estimator_that_knows_its_method(method):
    assert check_method(method) == method
    assert method_of(estimator_class(method)()) == method


def test_a_subclass_belongs_to_its_parents_method():
    class Ours(estimator_class("linear")):
        pass

    assert method_of(Ours()) == "linear"
    assert method_of(object()) is None

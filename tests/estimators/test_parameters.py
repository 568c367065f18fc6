"""Parameters that a class declares: its signature, copies, and subclasses of a user."""

from __future__ import annotations

import inspect
import pickle
from typing import ClassVar

import pytest
from sklearn.base import clone

import nolook
from nolook.estimators._parameters import fitted
from nolook.estimators.base import PrivateRegressor


class Mine(nolook.LinearRegression):
    """A user's subclass."""

    rounds: int = 3
    unit_: str = fitted()
    share_: float | None = fitted(None)
    kinds: ClassVar[int] = 2


class Written(nolook.LinearRegression):
    """A subclass that wrote its signature."""

    def __init__(self, rounds=1):
        super().__init__(2.0, rounds * 1e-6, random_state=4)
        self.rounds = rounds


class Plain(nolook.LinearRegression):
    """A subclass with a hint, that wrote its signature and calls no other."""

    rate: float

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon


class Below(Written):
    """Has that signature, too."""


def test_own_parameters_follow_those_of_the_bases_and_a_seed_is_given_by_name():
    found = inspect.signature(Mine).parameters
    assert list(found) == ["epsilon", "delta", "k", "rounds", "random_state"]
    assert [one.default for one in found.values()] == [1.0, 1e-6, None, 3, None]
    assert found["random_state"].kind is inspect.Parameter.KEYWORD_ONLY
    with pytest.raises(TypeError):
        Mine(1.0, 1e-6, None, 3, 0)
    with pytest.raises(TypeError, match="rate"):
        Mine(rate=1)


@pytest.mark.parametrize("copy", [clone, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_has_the_same_parameters(copy):
    made = copy(Mine(0.5, k=2, rounds=7, random_state=1).set_params(delta=1e-3))
    assert made.get_params() == {
        "epsilon": 0.5, "delta": 1e-3, "k": 2, "rounds": 7, "random_state": 1
    }  # fmt: skip


def test_results_are_no_parameters():
    assert Mine().share_ is None
    assert not hasattr(Mine(), "unit_")
    assert not hasattr(PrivateRegressor(), "coef_")
    assert vars(Mine()).keys() == set(Mine().get_params())


def test_a_signature_that_is_written_stays_below_it_too():
    for kind in (Written, Below):
        assert kind(2).get_params() == {"rounds": 2}
        assert (kind(2).delta, kind(2).random_state) == (2e-6, 4)


def test_a_hint_is_no_parameter_and_what_is_not_set_has_its_default():
    assert Plain(2.0).get_params() == {"epsilon": 2.0}
    assert (Plain().random_state, nolook.KendallSelector.sample) == (None, None)
    assert Plain(2.0).plan().guarantee.epsilon == 2.0


@pytest.mark.parametrize("selector", [nolook.KendallSelector, nolook.LassoSelector])
def test_a_delta_of_a_selector_is_given_by_name(selector):
    with pytest.raises(TypeError):
        selector(2, 1.0, "auto", 0.1, 0.1, 0.1)
    assert selector(delta=1e-6).delta == 1e-6

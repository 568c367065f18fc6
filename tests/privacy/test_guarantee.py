from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook._unit import Unit
from nolook._validation import one_line
from nolook.errors import ParameterError
from nolook.privacy.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    Budget,
    GaussianEvent,
    PrivacyGuarantee,
    PureEvent,
)

positive = st.floats(1e-300, 1e300)
deltas = st.floats(1e-300, 1 - 1e-9)
names = st.text(min_size=1, max_size=20)
events = st.one_of(
    st.builds(GaussianEvent, names, positive),
    st.builds(PureEvent, names, positive),
    st.builds(ApproximateEvent, names, positive, deltas),
    st.builds(BoundedRangeEvent, names, positive, st.integers(1, 2**20)),
)


guarantees = st.builds(
    PrivacyGuarantee,
    positive,
    st.one_of(st.just(0.0), deltas),
    st.sampled_from(["add-remove", "replace"]),
    st.lists(events, max_size=5).map(tuple),
    st.booleans(),
)


@given(guarantees)
def test_guarantees_survive_json(guarantee):
    again = PrivacyGuarantee.from_dict(json.loads(json.dumps(guarantee.to_dict())))
    assert again == guarantee


@given(positive, st.one_of(st.just(0.0), deltas))
def test_budgets_survive_json(epsilon, delta):
    budget = Budget(epsilon, delta)
    assert Budget.from_dict(json.loads(json.dumps(budget.to_dict()))) == budget


def example(**changes):
    values = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "relation": "add-remove",
        "mechanisms": (GaussianEvent("moment matrix", 0.2),),
        "private": True,
    }
    return PrivacyGuarantee(**(values | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 0.0}, {"epsilon": math.inf}, {"epsilon": math.nan}, {"delta": 1.0},
        {"delta": -1e-9}, {"relation": "swap"}, {"mechanisms": ("laplace",)}, {"mechanisms": []},
        {"private": 1}, {"unit": "person"},
    ],
    ids=str,
)  # fmt: skip
def test_impossible_guarantees_are_refused(changes):
    with pytest.raises(ParameterError) as caught:
        example(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"mechanisms": [PureEvent("a", 1.0)]},
            "mechanisms is a value of type list; expected a tuple of events",
        ),
        ({"private": "yes"}, "private is a value of type str; expected True or False"),
    ],
)
def test_a_value_of_another_type_is_named_by_it(changes, message):
    with pytest.raises(ParameterError) as caught:
        example(**changes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("unit"),
        lambda d: d.update(extra=1),
        lambda d: d.update(mechanisms=None),
        lambda d: d["mechanisms"][0].update(mechanism="magic"),
        lambda d: d["mechanisms"][0].pop("mu"),
        lambda d: d["mechanisms"][0].update(epsilon=1.0),
        lambda d: d["mechanisms"].append(5),
        lambda d: d.update(private="yes"),
    ],
)
def test_damaged_data_is_refused(damage):
    data = example().to_dict()
    damage(data)
    with pytest.raises(ParameterError):
        PrivacyGuarantee.from_dict(data)


def test_everything_is_frozen():
    for value in (Budget(1), example(), PureEvent("a", 1.0)):
        with pytest.raises(AttributeError):
            value.epsilon = 2.0


def test_words_say_who_is_protected():
    words = example().in_words()
    assert "protects a row" in words
    assert "several rows" in words
    assert "epsilon = 1" in words
    assert example(private=False).in_words().startswith("NOT PRIVATE")


def test_words_blame_no_seed_for_what_a_setting_did():
    words = example(private=False).in_words()
    assert "seed" in words
    assert "or a setting" in words


def test_words_fit_the_relation():
    assert "added or removed" in example().in_words()
    assert "replaced by another" in example(relation="replace").in_words()


def test_nothing_numeric_is_imported():
    code = (
        "import sys, nolook.privacy.guarantee, nolook.privacy.ledger, nolook._strength;"
        "assert not {'numpy', 'scipy', 'sklearn', 'pyarrow', 'dp_accounting'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("unit", [Unit(), Unit("patient_id"), Unit("a\nb", 5), Unit("record", 1)])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_unit_comes_back_and_is_named_in_words(unit, relation):
    promise = example(unit=unit, relation=relation)
    assert PrivacyGuarantee.from_dict(json.loads(json.dumps(promise.to_dict()))) == promise
    words = promise.in_words()
    assert words.isprintable()
    change = {"add-remove": "added or removed", "replace": "replaced by another"}[relation]
    assert f"any one {unit.protected} {change}" in words
    if unit.column is not None:
        assert f"All rows with the same {one_line(unit.column)}" in words
        assert ("counts once" in words) == (unit.rows == "weights")
        assert (f"at most {unit.rows} of its rows" in words) == (unit.rows != "weights")


@pytest.mark.parametrize(
    "plain",
    [
        None, "row", {}, {"column": ""}, {"column": "", "rows": 1}, {"column": None, "rows": 1},
        {"column": "a", "rows": 0}, {"column": "a", "rows": 1025}, {"column": "a", "rows": "all"},
        {"column": "a", "rows": True}, {"column": "a", "rows": 1.5},
        {"column": "a", "rows": 1, "x": 1},
    ],
)  # fmt: skip
def test_a_unit_that_cannot_be_is_refused(plain):
    with pytest.raises(ParameterError):
        PrivacyGuarantee.from_dict(example().to_dict() | {"unit": plain})
    if isinstance(plain, dict):
        with pytest.raises(ParameterError):
            PrivacyGuarantee.from_dict(example().to_dict() | {"unit": plain | {"weighting": None}})

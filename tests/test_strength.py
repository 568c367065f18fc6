"""What a guarantee is worth, in words: never more than it promises, and one verdict everywhere."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import nolook
from nolook._strength import (
    chance_of_guessing,
    delta_in_words,
    delta_too_large,
    guarantee_in_words,
    percent_of_guessing,
    strength,
    too_weak,
)
from nolook._unit import ROW, Unit

epsilons, deltas = st.floats(1e-9, 1e6), st.floats(1e-16, 0.99)
shares = st.floats(0.0, 1.0)


@given(epsilons, deltas, shares, shares)
def test_no_outcome_lets_anybody_guess_better(epsilon, delta, p, q):
    factor = math.exp(min(epsilon, 700.0))
    assume(p <= factor * q + delta)
    assume(1.0 - q <= factor * (1.0 - p) + delta)
    assert (p + 1.0 - q) / 2.0 <= chance_of_guessing(epsilon, delta) * (1.0 + 1e-12)


@given(epsilons, deltas)
def test_the_chance_of_guessing_is_reached(epsilon, delta):
    p = chance_of_guessing(epsilon, delta)
    assert 0.5 < p <= 1.0
    # Equality in what binds p, and so in what binds q = 1 - p.
    assert math.exp(-epsilon) * (p - delta) == pytest.approx(1.0 - p, abs=1e-12)


@given(st.floats(1e-9, 6.5), deltas)
def test_percents_are_never_understated_and_at_most_a_tenth_too_large(epsilon, delta):
    text = percent_of_guessing(epsilon, delta)
    true = 100.0 * chance_of_guessing(epsilon, delta)
    if "practically" in text:
        assert true > 99.7
    else:
        assert true - 1e-6 <= float(text.removesuffix(" %")) <= true + 0.1 + 1e-6


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(1e-9, "50.1 %"), (1.0, "73.2 %"), (math.log(9), "90.0 %"), (50.0, "practically 100 %")],
)
def test_the_example_follows_from_epsilon(epsilon, expected):
    assert percent_of_guessing(epsilon, 0.0) == expected


@given(deltas)
def test_a_delta_is_never_understated(delta):
    text = delta_in_words(delta)
    shown = 1 / int(text[5:].replace(",", "")) if text.startswith("1 in") else float(text)
    assert shown >= delta * (1 - (1e-11 if text.startswith("1 in") else 1e-2))


@given(epsilons, epsilons, st.floats(0.0, 0.99), st.floats(0.0, 0.99))
def test_more_loss_is_never_called_stronger(epsilon, more, delta, larger):
    order = ["strong", "moderate", "weak", "next to none"]
    first, second = sorted((epsilon, more)), sorted((delta, larger))
    verdicts = [order.index(strength(*one)) for one in zip(first, second, strict=True)]
    assert verdicts == sorted(verdicts)


@given(epsilons, st.floats(0.0, 0.99), st.sampled_from(["add-remove", "replace"]))
def test_words_fit_the_strength(epsilon, delta, relation):
    for unit in (ROW, Unit("patient_id"), Unit("a\nb", 5)):
        words = guarantee_in_words(epsilon, delta, relation, unit)
        verdict = strength(epsilon, delta).removesuffix("ne")
        assert words.lower().startswith(f"{verdict} protection: ")
        assert words.isprintable()
        assert "times" not in words
        assert ("tell" in words) is False
        assert percent_of_guessing(epsilon, delta) in words
        assert ("this limit may fail" in words) == (delta > 0.0)


@pytest.mark.parametrize("amount", [1e-4, 0.5, 1234.5, 20000.0, 1e6, 9.9e6])
def test_amounts_people_meet_are_written_out(amount):
    for words in (guarantee_in_words(amount, 0.0, "replace"), *too_weak(amount, 0.0)):
        assert "e+" not in words
        assert "e-" not in words


def test_a_budget_is_too_weak_above_8_or_with_a_large_delta():
    assert too_weak(8.0, 0.01) == ()
    (words,) = too_weak(8.1, 1e-6)
    assert words.startswith("epsilon is 8.1: above 8 ")
    (words,) = too_weak(1.0, 0.02)
    assert words.startswith("delta is 0.02: ")
    assert len(too_weak(9.0, 0.5)) == 2


def test_a_delta_is_judged_by_what_was_counted_and_only_then():
    assert delta_too_large(1e-3, 999.0) == ()
    (words,) = delta_too_large(1e-3, 1100.0)
    assert "number of rows, about 1,100, so" in words
    # Of 5 rows a unit, 4,000 rows may be 800 units; and as many as have weights.
    assert delta_too_large(1e-3, 4000.0, Unit("who", 5)) == ()
    assert "units" in delta_too_large(1e-3, 4000.0, Unit("who"))[0]
    # Nothing is said twice.
    assert delta_too_large(0.02, 4000.0) == ()


@pytest.mark.parametrize(
    ("column", "word"),
    [
        *(("patient_id", "patient"), ("PatientID", "patient"), ("HOUSEHOLD-NR", "household")),
        *(("Patient", "patient"), ("patients", "unit"), ("person", "person")),
        *(("PatNr", "patient"), ("pat_id", "patient"), ("CustomerNo", "customer")),
        *(("HaushaltNr", "unit"), ("Casino", "unit"), ("pattern", "unit")),
        *(("haushalt_id", "unit"), ("KundeID", "unit"), ("klient_nr", "unit"), ("home", "unit")),
        *(("home_id", "home"), ("FirmID", "firm"), ("hospital-no", "hospital")),
        *(("valid", "unit"), ("family_id", "unit"), ("Patienten-ID", "patient"), ("id", "unit")),
    ],
)
def test_a_unit_has_the_word_of_its_column(column, word):
    assert Unit(column).protected == word
    said = guarantee_in_words(1.0, 0.0, "replace", Unit(column))
    assert f"which of two versions of a {word}'s rows was in the table" in said
    assert f"are one {word}" in said


def fit(**settings):
    numbers = np.random.default_rng(0).normal(size=(500, 2))
    return nolook.LinearRegression(**settings).fit(numbers[:, :1], numbers[:, 1])


def test_a_weak_budget_warns_where_the_fit_was_asked_for_and_can_be_silenced():
    with pytest.warns(nolook.WeakPrivacyWarning, match="epsilon is 9") as caught:
        fit(epsilon=9.0)
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(epsilon=1.0)
        fit(epsilon=9.0, random_state=1)  # not private: there is nothing to weaken
        warnings.simplefilter("ignore", nolook.WeakPrivacyWarning)
        fit(epsilon=9.0)


def test_a_pipeline_warns_once_and_when_all_is_done():
    numbers = np.random.default_rng(0).normal(size=(3000, 4))
    pipeline = nolook.PrivatePipeline(
        nolook.KendallSelector(k=2), nolook.LinearRegression(), epsilon=6.0, delta=0.009
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", nolook.WeakPrivacyWarning)
        with pytest.raises(nolook.WeakPrivacyWarning, match="number of rows"):
            pipeline.fit(numbers[:, :3], numbers[:, 3])
    assert pipeline.regressor_.coef_.shape == (2,)
    with pytest.warns(nolook.WeakPrivacyWarning) as caught:
        pipeline.fit(numbers[:, :3], numbers[:, 3])
    assert len(caught) == 1


def test_a_warning_made_an_error_costs_nothing_before_and_loses_nothing_after(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(500, 2))
    budget = nolook.Budget(30.0, 0.01)
    with nolook.Ledger.create(tmp_path / "l", budget, name="n") as ledger:
        with warnings.catch_warnings():
            warnings.simplefilter("error", nolook.WeakPrivacyWarning)
            with pytest.raises(nolook.WeakPrivacyWarning, match="epsilon"):
                nolook.LinearRegression(9.0).fit(numbers[:, :1], numbers[:, 1], ledger=ledger)
            assert ledger.spent.epsilon == 0.0
            model = nolook.LinearRegression(6.0, 0.009)
            with pytest.raises(nolook.WeakPrivacyWarning, match="number of rows"):
                model.fit(numbers[:, :1], numbers[:, 1], ledger=ledger)
        assert ledger.spent.epsilon == 6.0
    assert model.rows_.value > 0
    assert model.coef_.shape == (1,)

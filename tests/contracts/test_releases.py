"""What every estimator owes that releases something, whatever it is."""

from __future__ import annotations

import functools
import json
import math

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import nolook
from nolook.errors import ParameterError
from nolook.estimators.result import Result
from nolook.formats import model_file
from nolook.privacy.accounting import total_delta
from nolook.report import results
from tests.contracts.releases import RELEASES, regression
from tests.formats.releases import KINDS, bits, release

mpl.use("Agg")

every_release = pytest.mark.parametrize("row", RELEASES.values(), ids=RELEASES)


@every_release
def test_the_guarantee_is_the_budget_and_lists_what_was_spent(row):
    estimator = row.within(0.7)
    parameters = estimator.get_params()
    guarantee = estimator.fit(*row.data(3000)).privacy_
    assert guarantee.epsilon == 0.7
    assert parameters.get("delta") in {None, guarantee.delta}
    assert guarantee.relation == parameters.get("relation", "add-remove")
    assert guarantee.private
    assert guarantee.mechanisms
    assert total_delta(guarantee.mechanisms, 0.7) <= guarantee.delta


@every_release
def test_a_seed_makes_results_repeatable_and_not_private(row):
    data = row.data(8000)
    first, second = (row.make(epsilon=row.noisy, random_state=3).fit(*data) for _ in range(2))
    np.testing.assert_array_equal(row.published(first), row.published(second))
    assert not first.privacy_.private
    assert "NOT PRIVATE" in first.privacy_.in_words()


@pytest.mark.parametrize(
    ("row", "bad"),
    [
        # Every day each release with the first, and half of them with one of the others.
        pytest.param(
            row, bad, id=f"{name}-{bad}", marks=[pytest.mark.slow] * (j > 0 and (i + j) % 4 > 0)
        )
        for i, (name, row) in enumerate(RELEASES.items())
        for j, bad in enumerate([np.nan, np.inf, -np.inf])
    ],
)
def test_a_row_that_lacks_a_value_is_as_if_it_were_not_there(row, bad):
    made = row.make(epsilon=row.noisy, random_state=3)
    if made.plan().guarantee.relation == "replace" or (np.isinf(bad) and not row.two_dimensional):
        return  # these count: as 0, or at the ends
    if type(made).__name__ == "OfUnits":
        return  # where a row is decides its unit here; tests/tables/test_units.py looks at these
    spoiled, *others = row.data(8000)
    spoiled = spoiled.copy()
    spoiled.reshape(8000, -1)[17, 0] = bad
    without = [np.delete(each, 17, axis=0) for each in (spoiled, *others)]
    left_out, absent = clone(made).fit(spoiled, *others), clone(made).fit(*without)
    for one, other in zip(row.published(left_out), row.published(absent), strict=True):
        np.testing.assert_array_equal(one, other)


@every_release
def test_the_rows_left_out_are_counted(row):
    made = row.within(20.0)
    if type(made).__name__ == "OfUnits":
        return  # where a row is decides its unit here; tests/tables/test_units.py looks at these
    spoiled, *others = row.data(3000)
    spoiled = spoiled.copy()
    spoiled.reshape(3000, -1)[200:600, 0] = np.nan
    fitted = made.fit(spoiled, *others)
    if fitted.privacy_.relation == "replace":
        assert fitted.rows_.left_out is None  # none are
        return
    assert 0.0 < fitted.rows_.lost_error < 40.0
    assert abs(fitted.rows_.left_out - 400) < 8 * fitted.rows_.lost_error
    assert abs(fitted.rows_.value - 2600) < 8 * fitted.rows_.error


@every_release
def test_a_ledger_is_charged_before_the_data_are_read_and_takes_no_seed(row, open_ledger):
    data = row.data(3000)
    with open_ledger(nolook.Budget(1.0, 1e-5), row.make().plan().guarantee.relation) as ledger:
        fitted = row.within(0.6).fit(*data, ledger=ledger)
        (entry,) = ledger.history()
        assert (entry.cost, entry.state) == (fitted.privacy_.budget, "complete")
        steps = []
        with pytest.raises(nolook.BudgetExceededError):
            row.within(0.6).fit(*data, ledger=ledger, progress=lambda *stage: steps.append(stage))
        assert steps == []
        with pytest.raises(nolook.ParameterError, match="random_state"):
            row.make(epsilon=0.1, random_state=0).fit(*data, ledger=ledger)
        assert len(ledger.history()) == 1


@every_release
def test_bad_parameters_cost_nothing(row, costs_nothing):
    data = row.data(20)
    for parameter, value in row.bad:
        costs_nothing(
            lambda ledger, bad={parameter: value}: row.make(**bad).fit(*data, ledger=ledger),
            f"^{parameter} is ",
        )


EXPONENTS = (6, 16, 24, 30, 31, 32, 36, 40, 44, 60, 70, 100, 1074)


@pytest.mark.parametrize(
    "exponents", [EXPONENTS[::4], pytest.param(EXPONENTS, marks=pytest.mark.slow)], ids=len
)
@pytest.mark.parametrize(
    ("row", "delta"),
    [(row, delta) for row in RELEASES.values() for delta in (1e-7, 1e-300)[: 1 + row.takes_delta]],
)
def test_a_budget_too_small_for_any_noise_is_refused_before_it_is_spent(
    row, delta, exponents, open_ledger
):
    relation = row.make().plan().guarantee.relation
    for exponent in exponents:
        estimator, refusal = row.within(math.ldexp(1.0, -exponent), delta), ""
        with open_ledger(nolook.Budget(1.0, 1e-6), relation) as ledger:
            try:
                estimator.fit(*row.data(40), ledger=ledger)
            except nolook.ParameterError as error:
                refusal = str(error)
            assert len(ledger.history()) == (not refusal)
        assert not refusal or ("epsilon" in refusal and exponent > 6)
        # A delta alone pays for some noise, and choices need none.
        pays = row.two_dimensional or estimator.get_params().get("delta")
        assert refusal or pays or exponent < 36


@every_release
def test_clone_keeps_parameters_only(row):
    fitted = row.make(epsilon=2.0, random_state=5).fit(*row.data(20))
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert not hasattr(again, "privacy_")
    with pytest.raises((NotFittedError, AttributeError, ValueError)):
        row.published(again)


@every_release
def test_progress_tells_stages_and_never_rows(row):
    seen = []
    # Of 300 fits one does not see a target that lies so far from 0, and ends early.
    row.make(random_state=0).fit(*row.data(8000), progress=lambda *stage: seen.append(stage))
    (total,) = {total for _, _, total in seen}
    if isinstance(row.make(), nolook.LogisticRegression | nolook.PoissonRegression):
        assert len(seen) <= total  # it ends where its gradients are noise
    else:
        assert len(seen) == total
    assert [done for _, done, _ in seen] == list(range(len(seen)))


# What is asked of each kind, and what it is asked about.
ROW = [[0.5, 0.25]]
ASKED = {
    "predict": {"X": ROW},
    "predict_proba": {"X": ROW},
    "decision_function": {"X": ROW},
    "transform": {"X": ROW},
    "get_support": {},
    "cdf": {"t": 0.5},
    "quantile": {"p": [0.1, 0.9], "return_interval": True},
    "interval": {"confidence": 0.5},
    "histogram": {"edges": [0.0, 0.5, 1.0]},
    "pdf": {"t": 0.5},
    "mean": {},
    "trimmed_mean": {"proportion": 0.1},
    "rvs": {"size": 3, "random_state": 0},
    "at": {"threshold": 0.5},
    "threshold_at": {"fpr": 0.1},
    "rate_at": {"fpr": [0.1, 0.2]},
    "partial_auc": {"max_fpr": 0.5},
    "precision_recall": {},
    "calibration_curve": {},
    "survival_at": {"times": [1.0, 3.0]},
}
# Of two columns without names.
PLACES = {"linear model": 2, "logistic model": 1, "count model": 1, "pipeline": 1, "selection": 1}


@functools.cache
def made(kind):
    if kind == "scales":
        return nolook.QuantileScaler(random_state=1).fit(regression(400, 2)[0])
    return release(kind, PLACES.get(kind, 0))


every_kind = pytest.mark.parametrize("kind", [*KINDS, "scales"])


def all_results(kind=Result):
    """Every class of results."""
    return {kind, *(one for each in kind.__subclasses__() for one in all_results(each))}


def test_every_kind_of_result_is_shown_and_written_and_here():
    for name in nolook.__all__:
        getattr(nolook, name)  # classes are loaded when they are used first
    kinds = {one.kind for one in all_results() if hasattr(one, "kind")}
    assert kinds == {*KINDS, "scales"} == set(results._CONTENT)
    assert kinds - {"scales"} == set(model_file._RECORDS)


@every_kind
def test_a_release_answers_in_numbers_names_and_kinds(kind):
    found = made(kind)
    before = list(bits(found))
    assert found.kind == kind
    assert found.read_options["missing"] == "drop-row"
    assert {*found.parts[-1][1].mechanisms} <= {*found.privacy.mechanisms}
    is_model = kind.endswith("model") or kind == "pipeline"
    names = [one.name for one in found.coefficients]
    assert names[-1:] == ["intercept"] * is_model
    if is_model:
        assert len(names) == len(set(names)) == len(found.to_frame())
        assert all(math.isfinite(one.value) for one in found.coefficients)
    for measure in found.measures:
        assert measure.name.isidentifier()
        if measure.value is not None and measure.ends is not None:
            assert measure.ends[0] <= measure.value <= measure.ends[1]
    assert all(map(str.isidentifier, found.to_frame().columns))
    assert list(bits(found)) == before


@every_kind
def test_what_is_shown_and_written_of_a_release_is_what_it_answers(kind, tmp_path):
    found = made(kind)
    content = found.content()
    assert content.guarantee == found.privacy
    assert content.parts == found.parts
    assert content.headline[0].endswith(f"{content.what} ") or not found.privacy.private
    if kind == "scales":
        with pytest.raises(ParameterError, match="release of nolook"):
            found.to_dict()
        return
    nolook.save(found, tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert document == json.loads(json.dumps(found.to_dict()))
    assert document["kind"] == kind


@every_kind
def test_questions_are_answered_at_no_cost_and_alike(kind, open_ledger):
    found = made(kind)
    before = list(bits(found))
    with open_ledger(nolook.Budget(1.0, 1e-6)) as ledger:
        for question in found.questions:
            first, second = (found.ask(question, **ASKED[question]) for _ in range(2))
            assert str(first) == str(second)
            with pytest.raises(ParameterError, match=f"question is '{question}', .*'zz'"):
                found.ask(question, zz=1, **ASKED[question])
        assert ledger.history() == ()
    with pytest.raises(ParameterError, match="question"):
        found.ask("fit")
    assert list(bits(found)) == before


@every_release
def test_before_there_is_a_release_nothing_is_answered(row):
    estimator = row.make()
    assert not hasattr(estimator, "privacy")
    for ask in (estimator.content, estimator.to_frame, estimator.summary, estimator.plot):
        with pytest.raises(NotFittedError):
            ask()
    with pytest.raises(ParameterError, match="call fit first"):
        estimator.to_dict()

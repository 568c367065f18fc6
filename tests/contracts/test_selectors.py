from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import nolook
from nolook.algorithms.scaling import ScaleSearch
from nolook.privacy.accounting import total_delta
from tests.contracts.columns import COLUMNS, column
from tests.contracts.selectors import FAILURES, SELECTORS

ROWS = 3000
SCALES = ScaleSearch(1.0).events()[0].name
every_selector = pytest.mark.parametrize("row", SELECTORS.values(), ids=SELECTORS)


def data(rows=ROWS, seed=0):
    """Return five features, the target following the second and the last."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 5)) * [1.0, 20.0, 1e-3, 1.0, 1e6] + 5
    return X, X[:, 1] / 20 - X[:, 4] / 1e6 + 0.1 * generator.normal(size=rows)


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@every_selector
def test_scikit_learn_conventions(row):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(row.make(1, epsilon=1e4), on_fail=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == FAILURES.keys() | row.failures.keys()
    assert sum(result["status"] == "passed" for result in results) > 30


@every_selector
def test_the_features_that_matter_are_found(row):
    X, y = data()
    selector = row.make(2, epsilon=20.0, random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [1, 4]
    np.testing.assert_array_equal(selector.transform(X), X[:, [1, 4]])


@every_selector
def test_the_guarantee_is_the_budget_and_lists_what_was_spent(row):
    guarantee = row.make(3, epsilon=0.7).fit(*data()).privacy_
    assert guarantee.epsilon == 0.7
    assert guarantee.relation == "add-remove"
    assert guarantee.private
    assert total_delta(guarantee.mechanisms, 0.7) <= guarantee.delta
    assert guarantee.mechanisms[-1].name == row.last


@every_selector
@pytest.mark.parametrize("k", [2, "auto"])
def test_the_number_of_rows_is_kept_if_it_was_paid_for(row, k):
    X, y = data()
    found = [row.make(k, epsilon=20.0).fit(X, y) for _ in range(12)]
    names = {event.name for event in found[0].privacy_.mechanisms}
    counted = bool(names & {"number of rows", SCALES})
    if not counted:
        assert {fitted.n_rows_ for fitted in found} == {fitted.n_rows_error_ for fitted in found}
        assert found[0].n_rows_ is None
        return
    errors = {fitted.n_rows_error_ for fitted in found}
    assert len(errors) == 1  # a function of the parameters
    off = np.array([fitted.n_rows_ - ROWS for fitted in found]) / errors.pop()
    # The root mean square of twelve normal or Laplace numbers: chance to fail below 1e-7.
    assert 0.1 < math.sqrt(np.mean(off**2)) < 4.5


@every_selector
def test_a_seed_makes_results_repeatable_and_not_private(row):
    X, y = data()
    first, second = (row.make(2, epsilon=1e-3, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.support_, second.support_)
    assert not first.privacy_.private
    assert "NOT PRIVATE" in first.privacy_.in_words()


@every_selector
def test_without_a_seed_hardly_any_budget_gives_chance(row):
    X, y = data(50)
    found = {tuple(row.make(2, epsilon=1e-4).fit(X, y).support_) for _ in range(60)}
    assert len(found) > 3


@every_selector
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_rows_get_an_ordinary_answer(row, rows):
    X, y = data(rows)
    assert row.make(3).fit(X, y).support_.sum() == 3


@every_selector
@pytest.mark.parametrize("name", COLUMNS)
def test_degenerate_features_and_targets_get_an_ordinary_answer(row, name):
    X, y = data()
    X[:, 0] = column(name, ROWS)
    selector = row.make(2, epsilon=30.0, random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [1, 4]
    assert row.make(2).fit(X, column(name, ROWS)).support_.sum() == 2


@every_selector
def test_duplicated_columns_get_an_ordinary_answer(row):
    X, y = data()
    support = row.make(4, random_state=0).fit(X[:, [1] * 6], y).support_
    assert support.sum() == 4


@every_selector
def test_frames_keep_their_names(row):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    selector = row.make(2, epsilon=20.0, random_state=0).fit(frame, y)
    assert selector.get_feature_names_out().tolist() == ["b", "e"]
    assert selector.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(row.make(2).fit(X, y), "feature_names_in_")


@every_selector
def test_files_and_arrays_give_the_same_selection(row, demo_table):
    table = nolook.read_table(demo_table, "target")
    block = np.concatenate(list(table.batches()), axis=1).T
    file = row.make(3, random_state=0).fit(table)
    array = row.make(3, random_state=0).fit(block[:, :-1], block[:, -1])
    np.testing.assert_array_equal(file.support_, array.support_)
    assert file.recipe_ == table.recipe()


@every_selector
def test_in_a_pipeline(row):
    X, y = data()
    pipeline = make_pipeline(row.make(2, epsilon=20.0), nolook.LinearRegression(1.0, 1e-6))
    assert pipeline.fit(X, y).score(X, y) > 0.9


@every_selector
def test_clone_keeps_parameters_only(row):
    fitted = row.make(2, epsilon=2.0, random_state=5).fit(*data(20))
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert not hasattr(again, "support_")
    with pytest.raises(NotFittedError):
        again.get_support()


@every_selector
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("k", 0), ("k", -1), ("k", 5), ("k", 6), ("k", 2.0), ("k", True), ("k", None), ("k", "all"),
        ("epsilon", 0.0), ("epsilon", -1.0), ("epsilon", math.inf), ("epsilon", math.nan),
        ("epsilon", "1"), ("random_state", -1), ("random_state", 0.5),
    ],
)  # fmt: skip
def test_bad_parameters_cost_nothing(row, parameter, value, tmp_path):
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        with pytest.raises(nolook.ParameterError, match=f"^{parameter} is ") as caught:
            row.make(**{"k": 2, parameter: value}).fit(*data(20), ledger=ledger)
        assert "\n" not in str(caught.value)
        assert ledger.history() == ()


@every_selector
def test_a_budget_without_a_delta_may_be_too_small_for_any_noise(row):
    if row.smallest:
        with pytest.raises(nolook.ParameterError, match=r"^epsilon is "):
            row.make(2, epsilon=row.smallest).plan()


@every_selector
@pytest.mark.parametrize("exponent", [6, 16, 24, 30, 31, 32, 36, 40, 44, 60, 70, 100, 1074])
def test_a_budget_too_small_for_any_noise_is_refused_before_it_is_spent(row, exponent, tmp_path):
    epsilon = math.ldexp(1.0, -exponent)
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        try:
            row.make(2, epsilon=epsilon).fit(*data(40), ledger=ledger)
        except nolook.ParameterError as error:
            refusal = str(error)
        else:
            refusal = ""
        assert len(ledger.history()) == (not refusal)
        assert not refusal or ("epsilon" in refusal and exponent > 6)


@every_selector
def test_a_column_of_texts_is_named(row):
    X, y = data(20)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(c="text")
    with pytest.raises(nolook.TableError, match="'c'"):
        row.make(2).fit(frame, y)


@every_selector
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_values_are_an_error_before_anything_is_spent(row, bad, tmp_path):
    X, y = data()
    X[17, 1] = bad
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        with pytest.raises(nolook.TableError, match="missing or infinite"):
            row.make(2).fit(X, y, ledger=ledger)
        assert ledger.history() == ()


@every_selector
def test_a_ledger_is_charged_before_the_data_are_read(row, tmp_path):
    X, y = data()
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        row.make(3, epsilon=0.8).fit(X, y, ledger=ledger)
        (entry,) = ledger.history()
        assert entry.cost.epsilon == 0.8
        assert entry.state == "complete"
        steps = []
        with pytest.raises(nolook.BudgetExceededError):
            row.make(3, epsilon=0.8).fit(
                X, y, ledger=ledger, progress=lambda *stage: steps.append(stage)
            )
        assert steps == []
        with pytest.raises(nolook.ParameterError, match="random_state"):
            row.make(3, epsilon=0.1, random_state=0).fit(X, y, ledger=ledger)
        assert len(ledger.history()) == 1


@every_selector
def test_progress_tells_stages_and_never_rows(row):
    seen = []
    row.make(3).fit(*data(), progress=lambda *stage: seen.append(stage))
    assert {total for _, _, total in seen} == {len(seen)}
    assert [done for _, done, _ in seen] == list(range(len(seen)))


@every_selector
def test_the_number_of_features_can_be_chosen_privately(row):
    X, y = data()
    few = row.make("auto", epsilon=0.003, random_state=0).fit(X, y)
    assert (few.k_, few.support_.sum()) == (1, 1)
    more = row.make("auto", epsilon=20.0, random_state=0).fit(X, y)
    assert more.k_ == more.support_.sum()
    assert more.k_ in row.automatic
    if row.counted:
        assert "number of rows" in {event.name for event in more.privacy_.mechanisms}
    assert total_delta(more.privacy_.mechanisms, 20.0) <= more.privacy_.delta


@every_selector
@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_still_give_a_number_of_features(row, rows):
    X, y = data(rows)
    assert row.make("auto").fit(X, y).support_.sum() == 1


@every_selector
def test_a_table_with_one_feature_leaves_nothing_to_choose(row):
    X, y = data(50)
    with pytest.raises(nolook.ParameterError, match=r"^k is 'auto' for 1 feature;"):
        row.make("auto").fit(X[:, :1], y)

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import nolook
from nolook.privacy.accounting import total_delta
from tests.contracts.columns import column, with_columns
from tests.contracts.conventions import check_all_but, with_quarters
from tests.contracts.releases import choices as data
from tests.contracts.selectors import FAILURES, SELECTORS

ROWS = 3000
every_selector = pytest.mark.parametrize("row", SELECTORS.values(), ids=SELECTORS)


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@with_quarters(SELECTORS)
def test_scikit_learn_conventions(row, quarter):
    check_all_but(FAILURES.keys() | row.failures.keys(), row.make(1, epsilon=1e4), quarter)


@every_selector
def test_the_features_that_matter_are_found(row):
    X, y = data()
    selector = row.make(2, epsilon=20.0, random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [1, 4]
    np.testing.assert_array_equal(selector.transform(X), X[:, [1, 4]])
    assert selector.privacy_.mechanisms[-1].name == row.last


@pytest.mark.parametrize(
    ("row", "k"),
    [
        pytest.param(row, k, marks=[pytest.mark.slow] * ((i + j) % 2), id=f"{name}-{k}")
        for i, (name, row) in enumerate(SELECTORS.items())
        for j, k in enumerate([2, "auto"])
    ],
)
def test_the_number_of_rows_is_counted(row, k):
    X, y = data()
    found = [row.make(k, epsilon=20.0).fit(X, y) for _ in range(12)]
    errors = {fitted.rows_.error for fitted in found}
    assert len(errors) == 1  # a function of the parameters
    off = np.array([fitted.rows_.value - ROWS for fitted in found]) / errors.pop()
    # The root mean square of twelve normal or Laplace numbers: chance to fail below 1e-7.
    assert 0.1 < math.sqrt(np.mean(off**2)) < 4.5


@every_selector
def test_without_a_seed_hardly_any_budget_gives_chance(row):
    X, y = data(50)
    found = {tuple(row.make(2, epsilon=1e-4).fit(X, y).support_) for _ in range(25)}
    assert len(found) > 3


@every_selector
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_rows_get_an_ordinary_answer(row, rows):
    X, y = data(rows)
    assert row.make(3).fit(X, y).support_.sum() == 3


@with_columns(SELECTORS)
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
    more = frame.assign(note="n", target=y)[["target", "e", "note", "d", "c", "b", "a"]]
    np.testing.assert_array_equal(selector.transform(more), frame[["b", "e"]])
    with pytest.raises(nolook.ParameterError, match=r"^X is a Table"):
        selector.transform(nolook.read_table(frame))


@every_selector
def test_files_and_arrays_give_the_same_selection(row, demo_table):
    table = nolook.read_table(demo_table, "target")
    block = np.concatenate(list(table.batches()), axis=1).T
    file = row.make(3, random_state=0).fit(table)
    array = row.make(3, random_state=0).fit(block[:, :-1], block[:, -1])
    np.testing.assert_array_equal(file.support_, array.support_)
    assert file.read_options_ == table.read_options()


@every_selector
def test_in_a_pipeline(row):
    X, y = data()
    pipeline = make_pipeline(row.make(2, epsilon=20.0), nolook.LinearRegression(1.0, 1e-6))
    assert pipeline.fit(X, y).score(X, y) > 0.9


@every_selector
def test_a_budget_without_a_delta_may_be_too_small_for_any_noise(row):
    if row.smallest:
        with pytest.raises(nolook.ParameterError, match=r"^epsilon is "):
            row.make(2, epsilon=row.smallest).plan()


@every_selector
def test_a_column_of_texts_is_named(row):
    X, y = data(20)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(c="text")
    with pytest.raises(nolook.TableError, match="'c'"):
        row.make(2).fit(frame, y)


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
    with pytest.raises(nolook.ParameterError, match=r"^k is auto, .* is 1"):
        row.make("auto").fit(X[:, :1], y)

from __future__ import annotations

import warnings
from functools import cache, partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import average_precision_score, roc_auc_score

import nolook
from nolook.errors import BudgetExceededError, ParameterError
from nolook.estimators._model_scores import ModelScores
from tests.report.hand_made import probable

ROWS = 3000


def data(rows=ROWS, seed=0):
    """Features, and what happened: the first feature is its probability."""
    generator = np.random.default_rng(seed)
    X = generator.random((rows, 2))
    return X, (generator.random(rows) < X[:, 0]).astype(int)


class Elsewhere:
    """A model of no library, which scores by a function of one row."""

    def __init__(self, score):
        self.score = score

    def predict(self, X):
        return [self.score(row) for row in X]


def test_without_noise_the_figures_are_scikit_learns():
    X, y = data()
    found = nolook.evaluate(probable(0.9, 0.05), X, y, epsilon=1e4)
    scores = 0.9 * X[:, 0] + 0.05 * X[:, 1]
    assert found.roc.auc_ == pytest.approx(roc_auc_score(y, scores), abs=2e-3)
    wanted = average_precision_score(y, scores)
    assert found.roc.average_precision_ == pytest.approx(wanted, abs=5e-3)
    assert found.roc.base_rate_ == pytest.approx(y.mean(), abs=1e-3)
    low, high = found.roc.base_rate_interval_
    sampling = 1.96 * np.sqrt(y.mean() * (1 - y.mean()) / ROWS)
    np.testing.assert_allclose([low, high], y.mean() + np.array([-1, 1]) * sampling, atol=1e-3)
    assert found.rows.value == pytest.approx(ROWS, abs=1)
    table = found.calibration.table_
    assert table.positives.sum() == pytest.approx(y.sum(), abs=1)
    assert table.expected_positives.sum() == pytest.approx(scores.sum(), abs=1)
    assert len(table.counts) == 10


def test_probabilities_are_tested_and_other_scores_get_the_whole_budget():
    X, y = data(20_000)
    right = nolook.evaluate(probable(1.0, 0.0), X, y, random_state=0)
    wrong = nolook.evaluate(probable(0.5, 0.0, intercept=0.25), X, y, random_state=0)
    assert right.calibration.p_value_ > 0.01 > wrong.calibration.p_value_
    assert right.roc.auc_ == pytest.approx(wrong.roc.auc_, abs=0.02)
    line = nolook.LinearRegression(random_state=0).fit(X, y)
    scores = nolook.evaluate(line, X, y, other_rows=True, random_state=0)
    assert scores.calibration is None
    assert scores.roc.auc_ == pytest.approx(roc_auc_score(y, X[:, 0]), abs=0.02)
    for found, most in ((right, 0.65), (scores, 1.0)):
        spent = [event.epsilon for event in found.privacy.mechanisms]
        assert sum(spent[:3]) == pytest.approx(most, rel=1e-9)
        assert found.roc.privacy_ == found.privacy
    assert right.calibration.privacy_ == right.privacy


@pytest.mark.usefixtures("few_repeats")
def test_thresholds_lie_where_scores_may_lie():
    """Few rows and little budget: the range found is often one that no score can be in."""
    X, y = data(300)
    line = nolook.LinearRegression(random_state=0).fit(*data(20_000))
    for model, ends in ((probable(1.0, 0.0), (0.0, 1.0)), (line, line.target_range_)):
        for seed in range(12):
            found = nolook.evaluate(model, X, y, epsilon=0.2, other_rows=True, random_state=seed)
            grid = found.roc.grid_
            assert ends[0] <= grid.low < grid.high <= ends[1]
    other = nolook.evaluate(Elsewhere(lambda row: 50 * row[0]), X, y, epsilon=50, other_rows=True)
    assert other.roc.grid_.high > 40


@pytest.mark.usefixtures("few_repeats")
def test_a_private_model_may_be_judged_on_any_rows_and_the_reader_is_warned():
    X, y = data()
    found = nolook.evaluate(probable(1.0, 0.0), X, y)
    assert found.privacy.private
    assert not found.other_rows
    (caution,) = found.content().cautions
    assert caution.endswith("the figures flatter it.")
    assert "state that (other_rows=True)" in " ".join(str(found.summary()).split())
    assert nolook.evaluate(probable(1.0, 0.0), X, y, other_rows=True).content().cautions == ()


@pytest.mark.usefixtures("few_repeats")
def test_a_table_of_the_same_name_as_that_of_the_fit_is_named(tmp_path):
    X, y = data()
    path = tmp_path / "stays.parquet"
    pd.DataFrame({"x": X[:, 0], "died": y == y.max()}).to_parquet(path)
    table, some = (nolook.read_table(path, "died", where=own) for own in (None, "x > 0"))
    model = nolook.LogisticRegression(50.0).fit(table)
    (caution,) = nolook.evaluate(model, table, epsilon=50).content().cautions
    assert "fitted to a table of the same name (stays.parquet): unless the rows differ" in caution
    (caution,) = nolook.evaluate(model, some, epsilon=50).content().cautions
    assert "not known whether" in caution


@cache
def not_private():
    X, y = data()
    return {
        "was not fitted by nolook": LogisticRegression().fit(X, y),
        "is marked as not private": nolook.LinearRegression(random_state=1).fit(X, y),
        "marked as not private:": probable(1.0, 0.0, private=False),
    }


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize("why", not_private())
def test_a_model_that_is_not_private_needs_the_word_that_it_knows_other_rows(why, costs_nothing):
    judge = partial(nolook.evaluate, not_private()[why], *data(300), epsilon=0.5)
    assert "other_rows=True" in costs_nothing(judge, why)
    found = judge(other_rows=True)
    assert found.privacy.private
    (caution,) = found.content().cautions
    assert "rests on the statement" in caution


def forms(X, y):
    """The same rows in every form they may have."""
    names = ["x0", "x1"]
    frame = pd.DataFrame(X, columns=names).assign(y=y, word=np.where(y == 1, "yes", "no"))
    return {
        "frame": (frame[names], frame["y"], 1),
        "booleans": (X, y == 1, None),
        "words": (X, frame["word"], "yes"),
        "polars": (pl.DataFrame(X, schema=names), pl.Series(y), 1),
        "table": (nolook.read_table(frame, "y", features=names), None, None),
        "table of words": (
            nolook.read_table(frame, "word", features=names, positive="yes", negative="no"),
            None,
            None,
        ),
        "other negatives": (X, np.where(y == 1, 7, 3), 7),
    }


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize("form", forms(*data(4)))
def test_rows_come_in_many_forms(form):
    expected = nolook.evaluate(probable(1.0, 0.0), *data(), random_state=0)
    X, y, label = forms(*data())[form]
    found = nolook.evaluate(probable(1.0, 0.0), X, y, pos_label=label, random_state=0)
    np.testing.assert_array_equal(found.roc.tpr_, expected.roc.tpr_)
    np.testing.assert_array_equal(
        found.calibration.table_.counts, expected.calibration.table_.counts
    )


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize(
    "kind", [pytest.param(LogisticRegression, marks=pytest.mark.slow), RidgeClassifier]
)
def test_either_class_may_be_the_positive_one(kind):
    X, y = data(1000)
    words = np.where(y == 1, "yes", "no")
    model = kind().fit(X, words)
    no, yes, usual = (
        nolook.evaluate(model, X, words, epsilon=1e3, pos_label=label, other_rows=True).roc
        for label in ("no", "yes", None)
    )
    assert no.auc_ == pytest.approx(yes.auc_, abs=3e-3)
    assert no.base_rate_ == pytest.approx(1 - yes.base_rate_, abs=1e-2)
    # The last class by default.
    assert usual.base_rate_ == pytest.approx(yes.base_rate_, abs=1e-2)
    assert usual.auc_ > 0.7


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize("method", [nolook.LogisticRegression, nolook.LinearRegression])
def test_another_positive_class_than_the_models_is_refused(costs_nothing, method):
    X, y = data(300)
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(word=np.where(y, "yes", "no"), flag=y == 1)
    options = {"features": ["a", "b"]}
    for target, own, others in (
        ("word", {"positive": "yes", "negative": "no"}, [("Jes", "no"), ("no", "yes")]),
        ("flag", {}, [("false", "true")]),
    ):
        model = method(epsilon=50.0).fit(nolook.read_table(rows, target, **options, **own))
        for yes, no in others:
            table = nolook.read_table(rows, target, **options, positive=yes, negative=no)
            judge = partial(nolook.evaluate, model, table)
            costs_nothing(judge, "which is not the positive class of the model")
        yes, no = ("YES ", "No") if own else ("True", "False")
        table = nolook.read_table(rows, target, **options, positive=yes, negative=no)
        assert nolook.evaluate(model, table, epsilon=50.0).roc.auc_ > 0.5


@pytest.mark.usefixtures("few_repeats")
def test_a_class_of_a_table_is_0_or_1_whatever_the_model_calls_it():
    X, y = data(2000)
    rows = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(y == 1, 2, 1))
    table = nolook.read_table(rows, "y", positive="2", negative="1")
    model = nolook.LogisticRegression(1e3, 1e-6).fit(table)
    assert model.classes_.tolist() == [1, 2]
    assert set(model.predict(rows[["a", "b"]])) == {1, 2}
    usual, one, none = (
        nolook.evaluate(model, table, epsilon=1e3, pos_label=label).roc for label in (None, 1, 0)
    )
    assert usual.auc_ == pytest.approx(one.auc_, abs=3e-3)
    assert none.auc_ == pytest.approx(one.auc_, abs=3e-3)
    assert usual.auc_ > 0.7
    assert [each.scored_.positive for each in (usual, one, none)] == ["2", "2", "1"]
    assert none.base_rate_ == pytest.approx(1 - one.base_rate_, abs=1e-2)


@cache
def models():
    """Models of so many features that a product of whole batches rounds them otherwise."""
    X = np.random.default_rng(0).random((ROWS, 13))
    y = X.sum(axis=1) > 6.5
    few = nolook.PrivatePipeline(
        nolook.KendallSelector(9, random_state=0),
        nolook.LinearRegression(random_state=0),
        epsilon=5.0,
        delta=1e-6,
    )
    return {
        "linear": nolook.LinearRegression(random_state=0).fit(X, y),
        "boosted": nolook.BoostedAdaSSPRegressor(random_state=0).fit(X, y),
        "pipeline": few.fit(X, y),
        "probabilities": probable(*np.random.default_rng(1).random(13) / 13),
        "elsewhere": LogisticRegression().fit(X, y),
    }


@pytest.mark.parametrize("name", ["linear", "boosted", "pipeline", "probabilities", "elsewhere"])
def test_a_score_has_the_same_bits_whatever_rows_stand_around_it(name):
    scores = ModelScores(models()[name])
    numbers = np.random.default_rng(2).random((13, 997))
    whole = scores.of(numbers)
    assert len(np.unique(whole)) > 500
    order = np.random.default_rng(1).permutation(997)
    np.testing.assert_array_equal(scores.of(np.ascontiguousarray(numbers[:, order])), whole[order])
    for start, end in ((0, 1), (1, 4), (13, 512), (996, 997)):
        np.testing.assert_array_equal(scores.of(numbers[:, start:end].copy()), whole[start:end])
    padded = np.concatenate([np.full((13, 5), 1e9), numbers], axis=1)
    np.testing.assert_array_equal(scores.of(padded)[5:], whole)


def odd(row):
    """A score for most rows; what else happens would tell of the others."""
    if row[0] > 0.96:
        raise SystemExit(f"secret {row}")
    if row[0] > 0.93:
        raise GeneratorExit
    if row[0] > 0.9:
        raise ValueError(f"secret {row}")
    if row[0] > 0.87:
        warnings.warn(f"secret {row}", stacklevel=2)
    if row[0] > 0.8:
        return "a text"
    return [row[0], np.nan, np.inf, -np.inf, 1e400][int(50 * row[0]) % 5]


@pytest.mark.usefixtures("few_repeats")
def test_rows_that_a_model_cannot_score_are_rows_like_others():
    X, y = data(500)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = nolook.evaluate(Elsewhere(odd), X, y, other_rows=True)
    assert not [each for each in seen if "secret" in str(each.message)]
    assert 0.0 <= found.roc.auc_ <= 1.0
    assert np.isfinite(found.roc.band_).all()
    assert found.rows.value == pytest.approx(500, abs=400)
    scores = ModelScores(Elsewhere(odd)).of(
        np.array([[0.98, 0.95, 0.91, 0.85, 0.05, 0.03], [0.0] * 6])
    )
    largest = np.finfo(float).max
    assert scores.tolist() == [*[-largest] * 4, largest, -largest]


@pytest.mark.usefixtures("few_repeats")
def test_hardly_any_rows_get_an_ordinary_answer():
    for rows in (0, 1, 2):
        found = nolook.evaluate(probable(1.0, 0.0), *data(rows), epsilon=0.5)
        for value, (low, high) in (
            (found.roc.auc_, found.roc.auc_interval_),
            (found.roc.base_rate_, found.roc.base_rate_interval_),
        ):
            assert 0.0 <= low <= value <= high <= 1.0
        assert found.rows.value >= 1.0
        assert 0.0 < found.calibration.p_value_ <= 1.0


@pytest.mark.usefixtures("few_repeats")
def test_missing_values_are_what_the_table_says(tmp_path):
    X, y = data()
    holed = X.copy()
    holed[::7, 1] = np.nan
    frame = pd.DataFrame(holed, columns=["x0", "x1"]).assign(y=y)
    model = probable(1.0, 0.0)
    for rows in ((holed, y), (nolook.read_table(frame, "y"),)):  # by default left out
        found = nolook.evaluate(model, *rows, epsilon=20.0)
        assert found.rows.value == pytest.approx(np.isfinite(holed[:, 1]).sum(), abs=20)
    centred = nolook.read_table(frame, "y", missing="centre")
    with pytest.raises(ParameterError, match="finds no centres"):
        nolook.evaluate(model, centred)
    line = nolook.LinearRegression().fit(centred)
    for rows in (centred, (frame[["x0", "x1"]], y)):
        given = rows if isinstance(rows, tuple) else (rows,)
        found = nolook.evaluate(line, *given, epsilon=20.0)
        assert found.rows.value == pytest.approx(ROWS, abs=20)
        assert found.roc.auc_ > 0.75


@cache
def bad():
    X, y = data(40)
    model, frame = probable(1.0, 0.0), pd.DataFrame(X, columns=["a", "b"])
    named = nolook.AdaSSPRegressor(1e3).fit(frame, y)
    other = pd.DataFrame(X, columns=["b", "a"])
    three = LogisticRegression().fit(X, np.arange(40) % 3)
    table = nolook.read_table(frame.assign(y=y), "y")
    return {
        "epsilon is 0": (model, (X, y), {"epsilon": 0}),
        "epsilon is 1e-12": (model, (X, y), {"epsilon": 1e-12}),
        "groups is 101": (model, (X, y), {"groups": 101}),
        "random_state is -1": (model, (X, y), {"random_state": -1}),
        "other_rows is a value": (model, (X, y), {"other_rows": 1}),
        "pos_label is of type list": (model, (X, y), {"pos_label": [1]}),
        "pos_label is 'yes', but target": (model, (X, y), {"pos_label": "yes"}),
        "pos_label is 'yes', but a Table": (model, (table,), {"pos_label": "yes"}),
        "model is of type KendallSelector": (nolook.KendallSelector(), (X, y), {}),
        "model is of type int": (3, (X, y), {}),
        "has 3 classes": (three, (X, y), {"other_rows": True, "pos_label": 7}),
        "the target is None": (model, (X,), {}),
        "a target is given with a Table": (model, (table, y), {}),
        "the Table has no target": (model, (nolook.read_table(frame),), {}),
        "X has 1 features": (model, (X[:, :1], y), {}),
        "X has other features": (named, (other, y), {}),
        "cannot score a row of 2 zeros .KeyError": (
            Elsewhere(lambda row: {}[row[0]]),
            (X, y),
            {"other_rows": True},
        ),
        "cannot score a row of 2 zeros .NaN": (
            Elsewhere(lambda _: None),
            (X, y),
            {"other_rows": True},
        ),
    }


@pytest.mark.parametrize("message", bad())
def test_bad_input_is_one_line_and_costs_nothing(costs_nothing, message):
    model, rows, options = bad()[message]
    costs_nothing(partial(nolook.evaluate, model, *rows, **options), message)


def test_an_unfitted_model_is_none():
    with pytest.raises(NotFittedError):
        nolook.evaluate(nolook.LinearRegression(), *data(20))


def test_all_of_it_is_charged_once_and_stages_are_told(open_ledger):
    told = []
    judge = partial(nolook.evaluate, probable(1.0, 0.0), *data(100), epsilon=0.75)
    with open_ledger(nolook.Budget(1.0)) as ledger:
        judge(ledger=ledger, progress=lambda *stage: told.append(stage))
        (entry,) = ledger.history()
        assert (entry.cost.epsilon, entry.description) == (0.75, "evaluation of a model")
        with pytest.raises(BudgetExceededError):
            judge(ledger=ledger)
    names = ["reading", "magnitudes", "range", "counts", "groups", "results"]
    assert told == [(name, place, 6) for place, name in enumerate(names)]


@pytest.mark.usefixtures("few_repeats")
def test_a_seed_makes_it_repeatable_and_not_private():
    one, two = (nolook.evaluate(probable(1.0, 0.0), *data(), random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.roc.precision_band_, two.roc.precision_band_)
    assert one.calibration.p_value_ == two.calibration.p_value_
    assert not one.privacy.private


@pytest.mark.usefixtures("few_repeats")
def test_figures_that_protect_less_than_the_model_say_so():
    X, y = data()
    cells = {"a": X[:, 0], "b": X[:, 1], "y": y == 1, "who": np.arange(len(y)) // 2}
    rows, frame = {key: cells[key] for key in "aby"}, pa.table(cells)
    of_units = nolook.read_table(frame, "y", features=["a", "b"], unit="who")
    model = nolook.LogisticRegression(epsilon=5.0).fit(of_units)
    plain = nolook.evaluate(model, nolook.read_table(pa.table(rows), "y"), other_rows=True)
    assert "each who with all its rows" in plain.content().cautions[-1]
    assert plain.privacy.unit.column is None
    same = nolook.evaluate(model, of_units, other_rows=True)
    assert same.content().cautions == ()
    assert same.privacy.unit.column == "who"


def test_an_evaluation_has_the_name_of_the_outcomes_series():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(500, 1))
    passed = pd.Series(generator.random(500) < 0.5, name="passed")
    model = nolook.LogisticRegression(epsilon=1.0).fit(X, passed)
    assert "Evaluation of a model of passed" in str(nolook.evaluate(model, X, passed).summary())

"""Cross-validation within one budget: what it tells, what it costs, and whom it protects."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as PlainRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

import nolook
from nolook.algorithms import cross_validation as judging
from nolook.algorithms.cross_validation import Estimate, HeldOut, mean_of, shown
from nolook.errors import BudgetExceededError, TooFewRows
from nolook.estimators import cross_validation
from nolook.privacy.accounting import total_delta
from nolook.privacy.noise import SeededSource
from nolook.statistics.held_out import HeldOutErrors

ROWS = 3_000


def data(rows=ROWS, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3)) * [1.0, 30.0, 0.01]
    return X, X[:, 0] + X[:, 1] / 30 + generator.normal(size=rows)


def happened(rows=ROWS):
    X, y = data(rows)
    return X, np.where(y > 0.5, "yes", "no")


def named(epsilon=1.0):
    return nolook.LogisticRegression(epsilon, classes=("no", "yes"))


LINEAR, YES = nolook.LinearRegression(), nolook.LogisticRegression()


def test_without_noise_scores_are_scikit_learns():
    X, y = data()
    found = nolook.cross_validate(LINEAR, X, y, epsilon=1e4)
    predicted = cross_val_predict(PlainRegression(), X, y, cv=5)
    wanted = 1.0 - np.mean((y - predicted) ** 2) / np.var(y)
    assert found.measure == "R2"
    assert found.mean.value == pytest.approx(wanted, abs=0.02)
    # What is left is sampling.
    sampling = 2 * (1 - wanted) * np.sqrt(wanted / ROWS)
    assert found.mean.error == pytest.approx(sampling, rel=0.1)
    values = [score.value for score in found.scores]
    assert len(values) == 5
    assert found.mean.value == pytest.approx(np.mean(values), abs=1e-12)


def test_without_noise_areas_are_scikit_learns():
    X, y = happened()
    found = nolook.cross_validate(named(), X, y, folds=3, epsilon=1e4)
    wanted = roc_auc_score(y == "yes", cross_val_predict(PlainRegression(), X, y == "yes"))
    assert found.measure == "AUC"
    assert found.mean.value == pytest.approx(wanted, abs=0.02)
    assert set(found.models[0].predict(X)) == {"no", "yes"}
    assert list(found.models[1].classes_) == ["no", "yes"]


def test_pages_name_the_positive_class(tmp_path):
    X, y = happened()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(ill=y)
    table = nolook.read_table(frame, "ill", positive="yes", negative="no")
    of_table = nolook.cross_validate(YES, table, folds=2, epsilon=1e3)
    of_arrays = nolook.cross_validate(named(), X, pd.Series(y, name="ill"), folds=2, epsilon=1e3)
    of_numbers = nolook.cross_validate(LINEAR, *data(), folds=2, epsilon=1e3)
    for place, found in enumerate((of_table, of_arrays)):
        nolook.save(found, tmp_path / f"{place}.json")
        for each in (found, nolook.load(tmp_path / f"{place}.json")):
            said = " ".join(str(each.summary()).split())
            assert "ranks a row with ill = yes above one without" in said
            assert ("Positive class", "yes") in each.content().settings
    assert ("Positive class", None) in of_numbers.content().settings  # which no page shows


def test_intervals_hold_what_they_are_for():
    """The noise moves R2 as far as its error says: neither 30 % more nor less."""
    random = np.random.default_rng(0)
    predicted, targets = random.normal(size=(2, 4_000))
    targets += 2 * predicted
    exact = HeldOutErrors(0.5, 2.0).update(np.stack([2 * predicted, targets])).value
    table = nolook.tables.table_from_arrays(2 * predicted[:, None], targets)
    wanted = 1 - np.sum((targets - 2 * predicted) ** 2) / np.sum((targets - targets.mean()) ** 2)
    source, release = SeededSource(1), cross_validation.HeldOutRelease(0.3)
    found = [release.run(table, 0.5, 2.0, source).score() for _ in range(2_000)]
    values = np.array([one.value for one in found])
    spread = np.std(values) / np.mean([one.error for one in found])
    assert exact[0] == 2**26 * 4_000
    assert 0.9 < spread < 1.1
    assert abs(values.mean() - wanted) < 3 * np.std(values) / np.sqrt(2_000) + 2e-3
    inside = np.mean([one.interval[0] <= wanted <= one.interval[1] for one in found])
    assert 0.93 < inside < 0.98  # intervals are of sampling too


def test_a_summary_and_a_frame_say_what_is_known_and_what_is_not():
    found = nolook.cross_validate(LINEAR, *data(), folds=3, epsilon=50.0)
    text = str(found.summary())
    frame = found.to_frame()
    assert list(frame.index) == ["1", "2", "3", "mean"]
    assert frame.loc["mean", "R2"] == found.mean.value
    assert "Mean" in text
    assert "not estimated" not in text
    hidden = nolook.cross_validate(LINEAR, *data(50), folds=3, epsilon=0.1)
    assert str(hidden.summary()).count("not distinguishable from noise") >= 4
    assert hidden.to_frame().isna().all(axis=None)


def test_nothing_is_said_where_noise_hides_it():
    hidden = HeldOut(1_000.0, 0.0, 0.0, 30.0, 10.0, (1.0, 1.0, 10.0))
    assert hidden.score() is None
    wide = Estimate(0.5, 0.2)
    assert shown(wide) is None
    assert shown(Estimate(0.5, 0.1)) is not None
    assert mean_of([wide, None]) is None
    assert mean_of([wide, wide]).error == pytest.approx(0.2 / np.sqrt(2))
    found = nolook.cross_validate(LINEAR, *data(50), epsilon=0.1)
    assert found.scores == (None,) * 5
    assert found.mean is None


BUDGETS = [(2, 1.0), (5, 1.0), (5, 0.1), (20, 4.0)]
PIPELINE = nolook.PrivatePipeline(nolook.KendallSelector(2), nolook.LinearRegression(), delta=1e-3)
ESTIMATORS = {
    "linear": (LINEAR, data),
    "logistic": (named(), happened),
    "adassp": (nolook.AdaSSPRegressor(), data),
    "tukey": (nolook.TukeyRegressor(n_models=100, on_failure="constant"), data),
    "pipeline": (PIPELINE, data),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_parts_keep_the_budget_and_use_it(name):
    estimator, rows = ESTIMATORS[name]
    X, y = rows(300)
    found = nolook.cross_validate(estimator, X, y, folds=3, epsilon=2.0, delta=1e-5)
    guarantee = found.privacy
    assert (guarantee.epsilon, guarantee.delta, guarantee.private) == (2.0, 1e-5, True)
    assert guarantee.relation == "add-remove"
    assert total_delta(guarantee.mechanisms, 2.0) <= 1e-5
    one = found.models[0].privacy_.mechanisms
    assert guarantee.mechanisms[: 2 * len(one)] == one * 2
    assert estimator.epsilon == 1.0  # as it was


@pytest.mark.parametrize(("folds", "epsilon"), BUDGETS)
def test_gaussian_parts_leave_little_of_the_budget(folds, epsilon):
    found = nolook.cross_validate(LINEAR, *data(200), folds=folds, epsilon=epsilon)
    assert total_delta(found.privacy.mechanisms, epsilon) <= 1e-6
    assert total_delta(found.privacy.mechanisms, 0.97 * epsilon) > 1e-6


def test_the_ledger_is_charged_once(open_ledger):
    asked = partial(nolook.cross_validate, LINEAR, *data(200), folds=2, epsilon=1.0)
    with open_ledger(nolook.Budget(1.5, 1e-5)) as ledger:
        asked(ledger=ledger)
        assert ledger.remaining.epsilon == pytest.approx(0.5)
        with pytest.raises(BudgetExceededError):
            asked(ledger=ledger)
        assert [entry.description for entry in ledger.charged()] == ["cross-validation"]


def test_rows_are_counted_and_a_delta_too_large_for_them_is_warned_of_once():
    X, y = data()
    with pytest.warns(nolook.WeakPrivacyWarning, match="delta") as caught:
        found = nolook.cross_validate(LINEAR, X, y, folds=2, epsilon=8.0, delta=1e-3)
    assert len(caught) == 1
    assert abs(found.rows.value - ROWS) < 5 * found.rows.error
    exact = nolook.cross_validate(named(), *happened(), folds=2, epsilon=1e4)
    assert exact.rows.value == pytest.approx(ROWS, abs=1)


@pytest.mark.parametrize(
    ("estimator", "unit"),
    [
        (LINEAR, "id"),
        (YES, None),
        pytest.param(LINEAR, None, marks=pytest.mark.slow),
        pytest.param(YES, "id", marks=pytest.mark.slow),
    ],
)
def test_rows_left_out_are_counted_once(estimator, unit, tmp_path):
    X, y = data(1_200)
    y = y if estimator is LINEAR else y > 0.5
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, id=np.arange(1_200) // 3)
    frame.loc[:299, "b"] = np.nan  # 100 units with all their rows
    table = nolook.read_table(frame, "y", features=list("abc"), unit=unit)
    found = nolook.cross_validate(estimator, table, folds=3, epsilon=1e4)
    assert found.rows.left_out == pytest.approx(300 if unit is None else 100, abs=1)
    assert "Left out for missing" in str(found.summary())
    nolook.save(found, tmp_path / "found.json")
    again = nolook.load(tmp_path / "found.json")
    assert again.rows == found.rows


def check_what_a_row_left_out_takes_part_in(patch):
    """Assert that a row left out is in the first evaluation alone, and counts there once."""
    X, y = data(300)
    seen = []
    for rows in (299, 300):
        recorded, Counting.passes = Recorded(patch), []
        frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
        frame.loc[299:, "b"] = np.nan
        table = nolook.read_table(frame[:rows], "y")
        nolook.cross_validate(Counting(), table, folds=3, random_state=5)
        seen.append([exact for exact, _ in recorded.exact])
    before, after = (np.array(each) for each in seen)
    changed = np.zeros_like(before)
    changed[0, -1] = 2**26
    assert (after - before == changed).all()


def test_a_row_left_out_is_in_one_evaluation(monkeypatch):
    check_what_a_row_left_out_takes_part_in(monkeypatch)


def test_rows_left_out_of_every_fold_are_noticed(monkeypatch):
    exact = nolook.tables.Table._only
    monkeypatch.setattr(nolook.tables.Table, "_only", lambda self, kept, **_: exact(self, kept))
    with pytest.raises(AssertionError):
        check_what_a_row_left_out_takes_part_in(monkeypatch)


def test_a_seed_repeats_everything_and_is_not_private():
    one, other = (
        nolook.cross_validate(LINEAR, *data(500), folds=2, epsilon=9.0, random_state=4)
        for _ in range(2)
    )
    assert one.scores == other.scores
    assert not one.privacy.private
    first, second = one.models
    assert first.random_state != second.random_state
    seeded = nolook.LinearRegression(random_state=1)
    assert not nolook.cross_validate(seeded, *data(200), folds=2).privacy.private


def test_a_failed_private_test_is_a_fold_without_a_model():
    class Failing(nolook.LinearRegression):
        def _store(self, *_):
            raise TooFewRows("too few")

    found = nolook.cross_validate(Failing(), *data(100), folds=2)
    assert found.models == found.scores == (None, None)
    assert found.mean is None


@pytest.mark.parametrize("rows_per_unit", ["weights", 2])
def test_units_are_protected_with_all_their_rows(rows_per_unit):
    X, y = data(2_000)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, id=np.arange(2_000) // 3)
    table = nolook.read_table(
        frame, "y", features=list("abc"), unit="id", rows_per_unit=rows_per_unit
    )
    found = nolook.cross_validate(LINEAR, table, folds=2, epsilon=1e4)
    assert found.privacy.unit.column == "id"
    assert found.mean.value == pytest.approx(2 / 3, abs=0.05)


@pytest.mark.parametrize("missing", ["drop-row", "centre", "zero"])
def test_gaps_are_as_the_table_says(missing):
    X, y = data(1_000)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    frame.loc[::9, "b"] = np.nan
    table = nolook.read_table(frame, "y", missing=missing)
    assert nolook.cross_validate(LINEAR, table, folds=2, epsilon=1e4).mean.value > 0.4


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("kind", [data, happened])
def test_hardly_any_rows_are_an_ordinary_answer(rows, kind):
    estimator = LINEAR if kind is data else named()
    found = nolook.cross_validate(estimator, *kind(rows), folds=3)
    assert found.mean is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"folds": 1}, "folds is 1"),
        ({"folds": 0}, "folds"),
        ({"folds": 101}, "folds"),
        ({"folds": 2.5}, "folds"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 1e-9}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"random_state": -1}, "random_state"),
        ({"estimator": PlainRegression()}, "LinearRegression; expected a regression"),
        ({"estimator": nolook.KendallSelector(1)}, "KendallSelector"),
        ({"estimator": nolook.LinearRegression}, "expected a regression"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_charged(change, words, costs_nothing):
    asked = {"estimator": LINEAR, "X": data(50)[0], "y": data(50)[1]}
    costs_nothing(partial(nolook.cross_validate, **(asked | change)), words)


# --- neighbours: a row more is in its own fold's evaluation and in the other fits -----------------


class Recorded:
    """Sums of held-out errors, and rows, that a run asked for; answers are the first run's."""

    def __init__(self, monkeypatch):
        self.exact, self.runs = [], []
        run = judging.gaussian_release

        def release(exact, sensitivity, mu, source):
            self.exact.append((exact.tolist(), sensitivity))
            return run(np.zeros_like(exact), sensitivity, 1e-6, SeededSource(0))

        monkeypatch.setattr(judging, "gaussian_release", release)


class Counting(nolook.LinearRegression):
    """A model of no slope that notes the rows of every pass of its fits."""

    passes: ClassVar[list[list[float]]]

    def fit(self, X, y=None, **more):
        for _ in range(2):
            Counting.passes.append([row for each in X.batches() for row in each[-1].tolist()])
        return super().fit(X, y, **more)


def check_what_a_row_takes_part_in(monkeypatch):
    """Assert that a row more is in one evaluation and in all fits but one, in every pass."""
    draw = cross_validation.draw_folds
    with monkeypatch.context() as patch:
        # Of a source of its own: whatever else is drawn in between has no part in it.
        patch.setattr(
            cross_validation, "draw_folds", lambda k, _, rows: draw(k, SeededSource(8), rows)
        )
        X, y = data(301)
        seen = []
        for rows in (300, 301):
            recorded = Recorded(patch)
            Counting.passes = []
            nolook.cross_validate(Counting(), X[:rows], y[:rows], folds=3, random_state=5)
            seen.append((Counting.passes, [exact[0][0] // 2**26 for exact in recorded.exact]))
    (before, counts), (after, more) = seen
    grown = [later - one for one, later in zip(counts, more, strict=True)]
    assert sorted(grown) == [0, 0, 1], "a row is in one evaluation"
    assert sum(more) == 301, "every row is in one evaluation"
    home = grown.index(1)
    for number in range(3):
        one, again = after[2 * number : 2 * number + 2]
        assert one == again, "every pass has the same rows"
        was = before[2 * number]
        assert one == (was if number == home else [*was, y[300]]), "others stay where they are"


def test_a_row_is_in_one_evaluation_and_in_all_fits_but_one(monkeypatch):
    check_what_a_row_takes_part_in(monkeypatch)


def a_fold_per_pass(patch):
    exact = nolook.tables.table._marked

    def redrawn(kept, *given):
        return exact(np.random.default_rng().permutation(kept), *given)

    patch.setattr("nolook.tables.table._marked", redrawn)


def folds_of_equal_size(patch):
    def cut(folds, source, rows):
        return (np.arange(rows) * folds // max(rows, 1)).astype(np.uint8)

    patch.setattr(judging, "uniform_integers", lambda k, n, source: cut(k, source, n))


@pytest.mark.parametrize("plant", [a_fold_per_pass, folds_of_equal_size])
def test_planted_folds_are_noticed(plant, monkeypatch):
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check_what_a_row_takes_part_in(monkeypatch)

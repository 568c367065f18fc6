from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import nolook
from nolook.estimators.base import ESTIMATES
from nolook.report.model_findings import model_findings
from tests.contracts import estimators
from tests.contracts.columns import COLUMNS, column
from tests.contracts.estimators import ESTIMATORS, FAILURES, REGRESSORS, results

ROWS = 8000
every_estimator = pytest.mark.parametrize("row", ESTIMATORS.values(), ids=ESTIMATORS)
every_regressor = pytest.mark.parametrize("row", REGRESSORS.values(), ids=REGRESSORS)


def data(rows=ROWS, features=3, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, features)) * [1.0, 20.0, 1e-3][:features] + 5
    return X, X @ np.array([1.0, -0.2, 300.0])[:features] + generator.normal(size=rows)


def published(fitted):
    """Return all numbers but the intervals that are withheld, whose both ends are NaN."""
    numbers = {name: np.asarray(getattr(fitted, name)) for name in results(fitted)}
    if "coef_interval_" in numbers:
        ends = numbers["coef_interval_"]
        assert np.isnan(ends).all(axis=1).tolist() == np.isnan(ends).any(axis=1).tolist()
        numbers["coef_interval_"] = ends[~np.isnan(ends[:, 0])]
    return np.concatenate([np.ravel(number) for number in numbers.values()])


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@every_estimator
def test_scikit_learn_conventions(row):
    # A large budget: its checks ask for a good fit on a few rows.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(row.make(epsilon=1e4, delta=0.1), on_fail=None)
    failed = {check["check_name"] for check in checks if check["status"] == "failed"}
    assert failed == FAILURES.keys() | row.failures.keys()
    assert sum(check["status"] == "passed" for check in checks) > 30


@every_estimator
def test_the_guarantee_is_the_budget_and_lists_what_was_spent(row):
    fitted = row.make(epsilon=0.7, delta=1e-7).fit(*data())
    guarantee = fitted.privacy_
    assert (guarantee.epsilon, guarantee.delta) == (0.7, 1e-7)
    assert guarantee.relation == "add-remove"
    assert guarantee.private
    assert guarantee.mechanisms


@every_estimator
def test_a_seed_makes_results_repeatable_and_not_private(row):
    X, y = data()
    first, second = (row.make(random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(published(first), published(second))
    assert not first.privacy_.private
    assert "NOT PRIVATE" in first.privacy_.in_words()


@every_estimator
def test_without_a_seed_every_result_is_noisy(row):
    # One R2 in three is clipped to 0 at this budget: 17 are in one case of 10^8.
    X, y = data()
    first = row.make().fit(X, y)
    same = set(results(first))
    assert same
    for _ in range(16):
        other = row.make().fit(X, y)
        same -= {n for n in same if np.any(getattr(first, n) != getattr(other, n))}
        if not same:
            return
    assert not same


@every_estimator
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_rows_get_an_ordinary_answer(row, rows):
    X, y = data(rows)
    fitted = row.make(random_state=0).fit(X, y)
    assert np.isfinite(published(fitted)).all()


@every_estimator
@pytest.mark.parametrize("name", COLUMNS)
def test_a_degenerate_feature_gets_an_ordinary_answer(row, name):
    X, y = data()
    X[:, 1] = column(name, ROWS)
    fitted = row.make(random_state=0).fit(X, y)
    assert np.isfinite(published(fitted)).all()


@every_estimator
def test_the_number_of_rows_is_a_noisy_one_with_its_error(row):
    X, y = data()
    found = [row.make().fit(X, y) for _ in range(12)]
    errors = {fitted.n_rows_error_ for fitted in found}
    assert len(errors) == 1  # a function of the parameters
    off = np.array([fitted.n_rows_ - ROWS for fitted in found]) / errors.pop()
    # The root mean square of twelve numbers leaves these bounds with a chance below 1e-7, be they
    # normal or Laplace's.
    assert 0.1 < math.sqrt(np.mean(off**2)) < 4.5


@every_regressor
def test_a_target_lost_in_the_noise_gets_its_private_centre(row):
    X, y = data(20)
    fitted = row.make(epsilon=0.1).fit(X, y)
    assert fitted.visible_ == fitted.scaling_.visible[-1]
    assert not fitted.visible_
    assert not fitted.coef_.any()
    assert [name for name in ESTIMATES if getattr(fitted, name) is not None] == []
    assert (fitted.predict(X) == fitted.scaling_.center[-1]).all()
    assert row.make().fit(*data()).visible_


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@every_regressor
def test_a_column_without_evidence_has_no_coefficient_and_is_named(row, tmp_path):
    X, y = data()
    rare = np.zeros(ROWS)
    rare[:3] = 1e6
    frame = pd.DataFrame({"one": X[:, 0], "rare": rare, "two": X[:, 1], "three": X[:, 2]})
    # Noise shows such a column in one fit of 50: in six, one in 10^10.
    fits = (row.make(epsilon=2.0, random_state=seed).fit(frame, y) for seed in range(6))
    fitted = next(each for each in fits if not each.scaling_.visible[1])
    assert fitted.scaling_.visible.tolist() == [True, False, True, True, True]
    assert fitted.coef_[1] == 0.0
    assert fitted.coef_[[0, 2, 3]].all()
    assert fitted.score(frame, y) > 0.6
    nolook.save(fitted, tmp_path / "m.json")
    for model in (fitted, nolook.load(tmp_path / "m.json")):
        said = str([section.printed for section in model_findings(model).sections])
        assert "Dropped: nothing stood out from the noise in rare." in said
        assert "is a guess" not in said
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(frame))


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@every_regressor
@pytest.mark.parametrize("name", COLUMNS)
def test_a_degenerate_feature_does_not_spoil_the_fit(row, name):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2 * ROWS, 3))
    y = X[:, 0] - X[:, 2] + generator.normal(size=2 * ROWS)
    X[:, 1] = column(name, 2 * ROWS)
    for seed in range(3):
        fitted = row.make(1.1, 1e-5, random_state=seed).fit(X, y)
        assert fitted.score(X, y) > 0.4


@every_regressor
@pytest.mark.parametrize("name", COLUMNS)
def test_a_degenerate_target_gets_an_ordinary_answer(row, name):
    X, _ = data()
    fitted = row.make(random_state=0).fit(X, column(name, ROWS))
    assert np.isfinite(published(fitted)).all()
    predicted = fitted.predict(X)
    assert np.isfinite(predicted).all()
    low, high = fitted.target_range_
    assert ((low <= predicted) & (predicted <= high)).all()


@every_regressor
def test_duplicate_columns_share_their_coefficient(row):
    X, _ = data(features=1)
    y = 2 * X[:, 0]
    fitted = row.make(random_state=0).fit(np.column_stack([X, X]), y)
    assert fitted.coef_.sum() == pytest.approx(2.0, rel=0.1)
    assert abs(fitted.coef_[0] - fitted.coef_[1]) < row.duplicates_apart


@every_regressor
@pytest.mark.parametrize("factor", [1000.0, 2.0**-40])
def test_units_change_predictions_only_as_in_least_squares(row, factor):
    X, y = data(20_000)
    scores = []
    for unit_x, unit_y in ((1.0, 1.0), (factor, 1.0), (1.0, factor), (factor, factor)):
        fitted = row.make(random_state=0).fit(unit_x * X, unit_y * y)
        scores.append(fitted.score(unit_x * X, unit_y * y))
    assert max(scores) - min(scores) < 0.02


@every_regressor
def test_predictions_on_far_inputs_stay_in_the_private_range(row):
    fitted = row.make(random_state=0).fit(*data())
    low, high = fitted.target_range_
    predicted = fitted.predict(np.array([[1e300] * 3, [-1e300] * 3]))
    assert ((low <= predicted) & (predicted <= high)).all()


@every_regressor
def test_predictions_of_a_target_of_0_and_1_by_type_stay_between_them(row, tmp_path):
    X, y = data()
    public = {"bound_X": 40.0, "bound_y": 2.0}
    takes_bounds = public.keys() <= row.make().get_params().keys()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y > np.median(y))
    table = nolook.read_table(frame, "y", features=["a", "b", "c"])
    far = frame[["a", "b", "c"]] * 1000 - 500
    for bounds in [{}, *[public] * takes_bounds]:
        fitted = row.make(epsilon=20.0, **bounds).fit(table)
        nolook.save(fitted, tmp_path / "m.json")
        for model in (fitted, nolook.load(tmp_path / "m.json")):
            predicted = np.concatenate([model.predict(far), model.predict(-far)])
            assert predicted.min() >= 0.0
            assert predicted.max() <= 1.0


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@every_regressor
def test_in_a_pipeline_and_a_grid_search(row):
    X, y = data()
    pipeline = make_pipeline(nolook.QuantileScaler(), row.make())
    pipeline.fit(X, y)
    assert pipeline.predict(X).shape == (ROWS,)
    search = GridSearchCV(row.make(), {"epsilon": [0.5, 2.0]}, cv=2).fit(X, y)
    assert search.best_params_["epsilon"] in (0.5, 2.0)


@every_estimator
def test_frames_keep_their_names(row):
    X, y = data()
    frame = pd.DataFrame(X, columns=["age", "weight", "dose"])
    fitted = row.make(random_state=0).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["age", "weight", "dose"]
    array = row.make(random_state=0).fit(X, y)
    np.testing.assert_array_equal(published(fitted), published(array))
    assert not hasattr(array, "feature_names_in_")


@every_estimator
def test_a_warning_names_the_line_that_called_fit(row):
    X, y = data(20)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        row.make().fit(X, y[:, np.newaxis])
    # A classifier of the contracts is a subclass of their own.
    assert {warning.filename for warning in seen} <= {__file__, estimators.__file__}
    assert bool(seen) == (row.kind is not nolook.QuantileScaler)


@every_estimator
def test_clone_keeps_parameters_only(row):
    fitted = row.make(epsilon=2.0, random_state=5).fit(*data())
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert not hasattr(again, "privacy_")


@every_estimator
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("epsilon", 0.0), ("epsilon", -1.0), ("epsilon", math.inf), ("epsilon", math.nan),
        ("epsilon", "1"), ("delta", 0.0), ("delta", 1.0), ("delta", 2.0), ("delta", math.nan),
        ("random_state", -1), ("random_state", 0.5),
    ],
)  # fmt: skip
def test_bad_parameters_cost_nothing(row, parameter, value, tmp_path):
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        with pytest.raises(nolook.ParameterError, match=parameter) as caught:
            row.make(**{parameter: value}).fit(*data(20), ledger=ledger)
        assert "\n" not in str(caught.value)
        assert ledger.history() == ()


@every_estimator
@pytest.mark.parametrize("exponent", [6, 16, 24, 30, 31, 32, 36, 40, 44, 60, 70, 100, 1074])
@pytest.mark.parametrize("delta", [1e-7, 1e-300])
def test_a_budget_too_small_for_any_noise_is_refused_before_it_is_spent(
    row, exponent, delta, tmp_path
):
    epsilon = math.ldexp(1.0, -exponent)
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        try:
            row.make(epsilon=epsilon, delta=delta).fit(*data(40), ledger=ledger)
        except nolook.ParameterError as error:
            refusal = str(error)
        else:
            refusal = ""
        assert len(ledger.history()) == (not refusal)
        assert not refusal or ("epsilon" in refusal and exponent > 6)


@every_estimator
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_values_are_an_error_before_anything_is_spent(row, bad, tmp_path):
    X, y = data()
    X[17, 1] = bad
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        with pytest.raises(nolook.TableError, match="missing or infinite") as caught:
            row.make().fit(X, y, ledger=ledger)
        assert "17" not in str(caught.value)
        assert ledger.history() == ()


@every_estimator
def test_a_ledger_is_charged_before_the_data_are_read(row, tmp_path):
    X, y = data()
    budget = nolook.Budget(1.0, 1e-6)
    with nolook.Ledger.create(tmp_path / "a.ledger", budget, name="a") as ledger:
        row.make(epsilon=0.8, delta=1e-7).fit(X, y, ledger=ledger)
        (entry,) = ledger.history()
        assert entry.cost == nolook.Budget(0.8, 1e-7)
        assert entry.state == "complete"
        steps = []
        with pytest.raises(nolook.BudgetExceededError):
            row.make(epsilon=0.8, delta=1e-7).fit(
                X, y, ledger=ledger, progress=lambda *stage: steps.append(stage)
            )
        assert steps == []
        assert len(ledger.history()) == 1


@every_estimator
def test_a_ledger_takes_no_seeded_release(row, tmp_path):
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(1.0, 1e-6), name="a") as ledger:
        with pytest.raises(nolook.ParameterError, match="random_state"):
            row.make(random_state=0).fit(*data(), ledger=ledger)
        assert ledger.history() == ()


@every_estimator
def test_progress_tells_stages_and_never_rows(row):
    seen = []
    # Of 300 fits one does not see a target that lies so far from 0, and ends early.
    row.make(random_state=0).fit(*data(), progress=lambda *stage: seen.append(stage))
    (total,) = {total for _, _, total in seen}
    if isinstance(row.make(), nolook.LogisticRegression):
        assert len(seen) <= total  # it ends where its gradients are noise
    else:
        assert len(seen) == total
    assert [done for _, done, _ in seen] == list(range(len(seen)))


@every_estimator
def test_a_second_fit_that_fails_leaves_the_first_one_whole(row):
    X, y = data()
    fitted = row.make(random_state=0).fit(X, y)
    before = dict(vars(fitted))

    def stop(name, *_):
        if name == "results":
            raise KeyboardInterrupt

    for arguments in ({"progress": stop}, {"ledger": object()}):
        with pytest.raises((KeyboardInterrupt, AttributeError, nolook.ParameterError)):
            fitted.fit(X[:, :2], y, **arguments)
        assert vars(fitted).keys() == before.keys()
        assert all(vars(fitted)[name] is value for name, value in before.items())


@every_estimator
def test_nothing_of_an_earlier_fit_stands_beside_the_last_one(row):
    X, y = data()
    fitted = row.make(random_state=0).fit(pd.DataFrame(X, columns=["age", "weight", "dose"]), y)
    fitted.left_over_ = 1.0
    fitted.fit(X, y)
    assert vars(fitted).keys() == vars(row.make(random_state=0).fit(X, y)).keys()


@every_regressor
def test_an_unfitted_model_does_not_predict(row):
    with pytest.raises(NotFittedError):
        row.make().predict(data(5)[0])

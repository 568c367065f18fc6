"""Missing values that a released centre stands for, and indicators of where they are."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import nolook
import nolook.cli
from nolook.algorithms.scale_search import ColumnGroup
from nolook.algorithms.scaling import ScaleSearch
from nolook.errors import ParameterError, TableError
from nolook.estimators.catalogue import METHODS
from nolook.privacy.noise import SeededSource
from nolook.tables import read_table

ROWS = 20_000
CENTRES = ("linear", "adassp", "boosted-adassp")


def frame(share, seed=0):
    generator = np.random.default_rng(seed)
    height = generator.normal(170.0, 10.0, ROWS)
    income = generator.lognormal(10.0, 0.5, ROWS)
    target = 2.0 * (height - 170.0) / 10.0 + (np.log(income) - 10.0) + generator.normal(size=ROWS)
    found = pd.DataFrame({"height": height, "income": income, "y": target})
    found.loc[generator.random(ROWS) < share, "income"] = np.nan
    return found


def centred(table, **options):
    return read_table(table, "y", missing="centre", **options)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.97])
def test_the_scale_is_that_of_the_values_that_are_there(share):
    found = frame(share)
    scaling = ScaleSearch(1.0).run(centred(found), SeededSource(0), lambda _: None)
    income = found.income.dropna()
    low, high = np.quantile(income, [0.16, 0.84])
    assert scaling.detected.all()
    assert low < scaling.center[1] < high
    assert 0.5 < scaling.scale[1] / income.std() < 2.0


def test_without_missing_values_the_policy_changes_the_scale_little():
    whole = frame(0.0)
    plain, other = (
        ScaleSearch(1.0).run(table, SeededSource(0), lambda _: None)
        for table in (read_table(whole, "y"), centred(whole))
    )
    np.testing.assert_allclose(other.scale, plain.scale, rtol=0.15)
    assert (np.abs(other.center - plain.center) < 0.3 * plain.scale).all()


@pytest.mark.parametrize("magnitudes", [True, False])
def test_a_missing_value_counts_in_no_bin(magnitudes):
    group = ColumnGroup(np.arange(2), alone=False, gaps=True, rare=True)
    if not magnitudes:
        group._bins = 5
    batch = np.array([[0.5, np.nan, -3.0, 1e300], [np.nan, np.nan, 2.0, np.nan]])
    counts = group.counting().update(batch).value(2)
    assert counts.sum(axis=1).tolist() == [3, 1]
    # So each row changes each column's counts by at most one.
    without = group.counting().update(np.delete(batch, 0, axis=1)).value(2)
    assert np.abs(counts - without).sum(axis=1).tolist() == [1, 0]


@pytest.mark.parametrize("method", CENTRES)
def test_a_missing_value_is_the_centre_in_training_and_prediction(method):
    model = METHODS[method].load()(epsilon=5.0, random_state=0)
    model.fit(centred(frame(0.3)))
    rows = pd.DataFrame({"height": [160.0, 180.0], "income": [np.nan, np.nan]})
    filled = rows.assign(income=model.scaling_.center[1])
    np.testing.assert_allclose(model.predict(rows), model.predict(filled))
    assert np.isfinite(model.coef_).all()
    # Half of the rows' incomes say nothing, but the others do.
    assert model.coef_[0] == pytest.approx(0.2, abs=0.05)
    assert model.coef_[1] > 0


def test_after_the_centre_is_released_nothing_but_the_row_decides():
    table = centred(frame(0.3))
    center = np.array([1.0, 2.0, 3.0])
    filled = np.concatenate(list(table.filled(center).batches()), axis=1)
    raw = np.concatenate(list(table.batches()), axis=1)
    np.testing.assert_array_equal(filled, np.where(np.isnan(raw), center[:, None], raw))
    chosen = table.filled(center).select(np.array([False, True]))
    np.testing.assert_array_equal(np.concatenate(list(chosen.batches()), axis=1), filled[1:])


def test_a_model_with_centres_is_saved_and_loaded(tmp_path):
    rows = frame(0.3)
    model = nolook.LinearRegression(epsilon=1.0).fit(centred(rows))
    nolook.save(model, tmp_path / "m.json")
    loaded = nolook.load(tmp_path / "m.json")
    assert loaded.read_options_["missing"] == "centre"
    features = rows.drop(columns="y")
    np.testing.assert_array_equal(loaded.predict(features), model.predict(features))


def test_a_row_without_a_target_is_left_out():
    rows = frame(0.3)
    rows.loc[::2, "y"] = np.nan
    assert sum(batch.shape[1] for batch in centred(rows).batches()) == ROWS // 2


@pytest.mark.parametrize(
    "estimator",
    [
        nolook.TukeyRegressor(),
        nolook.KendallSelector(k=1),
        nolook.LassoSelector(k=1),
        nolook.SISSelector(k=1),
        nolook.PrivatePipeline(
            nolook.KendallSelector(k=1), nolook.LinearRegression(), epsilon=1.0, delta=1e-6
        ),
    ],
)
def test_methods_without_a_released_centre_refuse_it(estimator, costs_nothing):
    fit = partial(estimator.fit, centred(frame(0.1)))
    costs_nothing(fit, r"missing is 'centre', but .*drop-row")


def test_distributions_and_scores_refuse_it():
    column = read_table(frame(0.1), features=["income"], missing="centre")
    with pytest.raises(ParameterError, match="finds no centres"):
        nolook.ECDF().fit(column)
    with pytest.raises(ParameterError, match="finds no centres"):
        nolook.quantiles(column)
    how = {"positive": "1", "negative": "..."}  # of doubles
    scored = read_table(frame(0.1), "y", features=["income"], missing="centre", **how)
    with pytest.raises(ParameterError, match="finds no centres"):
        nolook.ROCCurve().fit(scored)


def test_a_scaler_puts_missing_values_at_zero():
    scaler = nolook.QuantileScaler(epsilon=5.0)
    scaler.fit(read_table(frame(0.3), features=["height", "income"], missing="centre"))
    standard = scaler.transform(pd.DataFrame({"height": [170.0], "income": [np.nan]}))
    assert standard[0, 1] == 0.0


def test_a_model_without_the_policy_still_refuses_missing_values():
    model = nolook.LinearRegression(epsilon=1.0).fit(read_table(frame(0.0), "y"))
    with pytest.raises(TableError, match="missing"):
        model.predict(pd.DataFrame({"height": [np.nan], "income": [1.0]}))


class TestIndicators:
    SCHEMA = {"columns": {"income": "number", "income=missing": {"missing_of": "income"}}}

    @pytest.mark.parametrize("missing", ["centre", "zero"])
    def test_one_tells_where_a_value_is_missing(self, missing):
        rows = frame(0.3)
        table = read_table(rows, "y", missing=missing, schema=self.SCHEMA)
        assert table.feature_names == ("height", "income", "income=missing")
        assert table.binary.tolist() == [False, False, True, False]
        numbers = np.concatenate(list(table.batches()), axis=1)
        np.testing.assert_array_equal(numbers[2] == 1.0, rows.income.isna())

    def test_it_is_there_whether_or_not_a_cell_is_missing(self):
        numbers = next(read_table(frame(0.0), "y", schema=self.SCHEMA).batches())
        assert not numbers[2].any()

    def test_a_model_with_one_is_saved_and_loaded(self, tmp_path):
        rows = frame(0.3)
        table = read_table(rows, "y", missing="centre", schema=self.SCHEMA)
        model = nolook.LinearRegression(epsilon=1.0).fit(table)
        nolook.save(model, tmp_path / "m.json")
        loaded = nolook.load(tmp_path / "m.json")
        again = read_table(rows, **loaded.read_options_)
        assert again.feature_names == table.feature_names
        features = pd.DataFrame(next(again.batches()).T, columns=list(again.feature_names))
        np.testing.assert_array_equal(loaded.predict(features), model.predict(features))

    def test_what_is_missing_may_matter(self):
        rows = frame(0.3)
        rows["y"] += 3.0 * rows.income.isna()
        table = read_table(rows, "y", missing="centre", schema=self.SCHEMA)
        model = nolook.LinearRegression(epsilon=5.0, random_state=0).fit(table)
        assert model.coef_[2] == pytest.approx(3.0, abs=0.3)


def test_a_fit_with_centres_and_indicators_predicts_every_row(tmp_path, cli):
    rows = frame(0.3)
    rows["kind"] = rows.height > 170.0
    rows.to_parquet(tmp_path / "people.parquet")
    words = "fit people.parquet --target y --epsilon 1 --missing centre"
    assert cli(*words.split(), "--missing", "indicator=income,kind").status == 0
    model = nolook.load(tmp_path / "people.y.model.json")
    names = ["height", "income", "kind", "income=missing", "kind=missing"]
    assert list(model.feature_names_in_) == names
    words = "predict --model people.y.model.json people.parquet --output p.parquet"
    assert cli(*words.split()).status == 0
    assert pd.read_parquet(tmp_path / "p.parquet").prediction.notna().all()

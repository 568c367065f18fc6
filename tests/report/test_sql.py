"""Models as SQL expressions: the same predictions, in DuckDB."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import nolook
from nolook.errors import ParameterError
from nolook.report.sql import sql_of
from tests.report.hand_made import fitted

ROWS = 12_000
LEVELS = {'of "two"': ["A", "it's", "C", None]}
SEED = {"random_state": 0}


def people(rows=ROWS, seed=0):
    """Numbers, a boolean, a category with a quote, and targets that are bent in the first."""
    g = np.random.default_rng(seed)
    age, dose = g.uniform(-3.0, 3.0, rows), g.normal(50.0, 20.0, rows)
    ward = g.choice(["A", "it's", "C", "other", "more"], rows)
    late = g.random(rows) < 0.4
    score = np.sin(2.0 * age) + 0.02 * dose + 0.5 * (ward == "C") - 0.7 * late
    return pa.table(
        {
            "Age": age,
            'do"se': dose,
            'of "two"': ward,
            "late": late,
            "days": g.uniform(0.0, 9.0, rows),
            "y": score + 0.3 * g.normal(size=rows),
            "n": g.poisson(np.exp(0.4 * score)),
            "ill": score + g.logistic(size=rows) > 1.0,
        }
    )


FEATURES = ["Age", 'do"se', 'of "two"', "late"]
MODELS = {
    "linear": (nolook.LinearRegression, "y", FEATURES),
    "linear-k": (lambda *a, **k: nolook.LinearRegression(*a, k=2, **k), "y", FEATURES),
    "additive": (nolook.AdditiveRegression, "y", FEATURES),
    "logistic": (nolook.LogisticRegression, "ill", FEATURES),
    "additive-logistic": (nolook.AdditiveClassifier, "ill", FEATURES),
    "poisson": (nolook.PoissonRegression, "n", FEATURES),
    "additive-exposure": (
        lambda *a, **k: nolook.AdditivePoissonRegression(*a, exposure="days", **k),
        "n",
        [*FEATURES, "days"],
    ),
}


def in_sql(expression, rows):
    """Return what the expression is of each row, NaN for NULL."""
    connection = duckdb.connect()
    connection.register("people", rows)
    found = connection.sql(f"SELECT {expression} AS p FROM people").arrow().read_all()["p"]
    return found.to_numpy(zero_copy_only=False).astype(float)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        # Every day each model under one of the policies.
        pytest.param(name, missing, marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, name in enumerate(MODELS)
        for j, missing in enumerate(["drop-row", "centre"])
    ],
)
def test_sql_predicts_what_the_model_predicts(name, missing, tmp_path):
    make, target, features = MODELS[name]
    read = {"features": features, "categories": LEVELS, "missing": missing}
    model = make(8.0, 1e-6, **SEED).fit(nolook.read_table(people(), target, **read))
    if name.startswith("additive"):
        assert not model.curves_[0].straight
    nolook.save(model, tmp_path / "m.json")
    model = nolook.load(tmp_path / "m.json")
    rows = people(2_000, seed=1)
    for place, column in enumerate(("Age", "late", 'of "two"')):  # gaps, and far outside
        cells = rows[column].to_pylist()
        cells[place] = None
        rows = rows.set_column(rows.column_names.index(column), column, pa.array(cells))
    far = np.array(rows['do"se']).copy()
    far[[10, 11]] = 1e9, -1e9
    rows = rows.set_column(1, 'do"se', pa.array(far))
    found = in_sql(sql_of(model), rows)
    held = nolook.read_table(rows, False, **read)
    expected = np.empty(0)
    for numbers, complete, _ in held.batches_in_place():
        from nolook.estimators._tables import predicted

        expected = np.append(expected, np.where(complete, predicted(model, numbers), np.nan))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert np.isnan(found).sum() == (3 if missing == "drop-row" else 0)


def test_sql_of_a_pipeline_is_that_of_its_regression():
    parts = nolook.MomentSelector(k=2, **SEED), nolook.LinearRegression(**SEED)
    pipeline = nolook.PrivatePipeline(*parts, epsilon=20.0, delta=1e-6)
    read = {"features": ["Age", 'do"se', "days", "late"]}
    pipeline.fit(nolook.read_table(people(), "y", **read))
    rows = people(100, seed=2)
    found = in_sql(sql_of(pipeline), rows)
    X = np.column_stack([np.array(rows[name], dtype=float) for name in read["features"]])
    expected = pipeline.predict(pa.table(dict(zip(read["features"], X.T, strict=True))))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: nolook.ECDF(8.0, nolook.LinearGrid(0, 1, 0.1), **SEED), "not a formula"),
        (lambda: nolook.AdaSSPRegressor(8.0, 1e-6, **SEED), "not a formula of its columns"),
    ],
)
def test_what_has_no_sql_is_refused(made, why):
    release = made()
    data = (np.random.default_rng(0).random((2_000, 2)), np.arange(2_000.0))
    release.fit(*(data if hasattr(release, "predict") else [data[0][:, 0]]))
    with pytest.raises(ParameterError, match=why):
        sql_of(release)


def test_derived_columns_are_refused():
    schema = {"columns": {"day": "date"}}
    rows = people().append_column(
        "day", pa.array(np.arange(ROWS, dtype=np.int32) % 900).cast(pa.date32())
    )
    table = nolook.read_table(rows, "y", features=["Age", "day"], schema=schema)
    model = nolook.LinearRegression(**SEED).fit(table)
    with pytest.raises(ParameterError, match="'day' is derived or declared"):
        sql_of(model)


def test_the_command_prints_it(tmp_path, cli):
    nolook.save(fitted(("a", "b", "y")), tmp_path / "m.json")
    done = cli("show", tmp_path / "m.json", "--format", "sql")
    assert done.status == 0, done.err
    assert done.out == sql_of(nolook.load(tmp_path / "m.json"))
    done = cli("show", tmp_path / "m.json", "--format", "excel")
    assert done.status == 2
    assert "sql" in done.err

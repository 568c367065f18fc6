"""Predictions of a logarithm on the original scale: the median and the mean, named apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import nolook

LEVELS = {"log_of": 0.0, "log1p_of": -1.0, "asinh_of": 0.0}
UNDO = {"log_of": np.exp, "log1p_of": np.expm1, "asinh_of": np.sinh}
ROWS = pd.DataFrame({"x": [-1.0, 0.0, 1.0]})


def rows(function, noise, n=40_000):
    """Return rows whose target is a function of a line with symmetric errors."""
    g = np.random.default_rng(5)
    x = g.normal(size=n)
    line = 3.0 + 0.5 * x
    errors = 0.6 * (g.normal(size=n) if noise == "normal" else g.laplace(size=n))
    return pd.DataFrame({"x": x, "y": UNDO[function](line + errors)})


def fitted(frame, function, kind=nolook.LinearRegression):
    schema = {"columns": {"logarithm": {function: "y"}}}
    read = nolook.read_table(frame, "logarithm", features=["x"], schema=schema)
    return kind(epsilon=3.0, delta=1e-6, random_state=0).fit(read)


@pytest.mark.parametrize("noise", ["normal", "laplace"])
@pytest.mark.parametrize("function", LEVELS)
def test_median_and_mean_are_those_of_the_column_itself(function, noise):
    model = fitted(rows(function, noise), function)
    line = 3.0 + 0.5 * ROWS.x.to_numpy()
    # E exp(e) of normal errors, and of Laplace's.
    factor = np.exp(0.18) if noise == "normal" else 1.0 / (1.0 - 0.36)
    assert model.smearing_ == pytest.approx(factor, rel=0.12)
    assert model.smearing_ > 1.1
    median = model.predict_median(ROWS)
    np.testing.assert_allclose(median, UNDO[function](line), rtol=0.15)
    short = LEVELS[function]
    np.testing.assert_allclose(model.predict_mean(ROWS) - short, model.smearing_ * (median - short))


def test_the_mean_is_that_of_the_rows_where_the_median_is_not():
    frame = rows("log_of", "normal")
    model = fitted(frame, "log_of", nolook.AdditiveRegression)
    observed = frame.y[frame.x.abs() < 0.05].mean()
    middle = ROWS[1:2]
    assert model.predict_mean(middle)[0] == pytest.approx(observed, rel=0.1)
    assert model.predict_median(middle)[0] < 0.93 * observed


def test_errors_on_one_side_give_no_mean(tmp_path):
    g = np.random.default_rng(1)
    x = g.normal(size=20_000)
    frame = pd.DataFrame({"x": x, "y": np.exp(x + g.pareto(0.8, size=x.size).clip(max=500.0))})
    model = fitted(frame, "log_of")
    assert model.cut_errors_ is not None
    assert model.smearing_ is None
    assert np.isfinite(model.predict_median(ROWS)).all()
    with pytest.raises(nolook.ParameterError, match="use predict_median"):
        model.predict_mean(ROWS)


def test_a_target_that_is_no_logarithm_is_on_its_own_scale():
    frame = rows("log_of", "normal", 5_000)
    read = nolook.read_table(frame, "y", features=["x"])
    model = nolook.LinearRegression(epsilon=1.0).fit(read)
    assert model.smearing_ is None
    for ask in (model.predict_median, model.predict_mean):
        with pytest.raises(nolook.ParameterError, match="not declared as a logarithm"):
            ask(ROWS)


def test_the_file_the_page_and_the_command_say_both(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = rows("log_of", "normal")
    frame.to_parquet("t.parquet")
    model = nolook.LinearRegression(epsilon=3.0).fit(nolook.from_formula("log(y) ~ x", frame))
    nolook.save(model, "m.json")
    again = nolook.load("m.json")
    assert again.smearing_ == model.smearing_
    np.testing.assert_array_equal(again.predict_mean(ROWS), model.predict_mean(ROWS))
    model.report("r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "On the original scale exp(prediction) is the median" in page
    assert f"{model.smearing_:.4g} times exp(prediction) the mean" in page
    done = cli("predict", "--model", "m.json", "t.parquet", "--output", "p.parquet", "--keep", "y")
    assert done.status == 0, done.err
    found = pq.read_table("p.parquet")
    assert found.column_names == ["y", "prediction", "median", "mean"]
    np.testing.assert_array_equal(found["median"], np.exp(found["prediction"].to_numpy()))
    mean = model.smearing_ * found["median"].to_numpy()
    np.testing.assert_allclose(found["mean"].to_numpy(), mean)

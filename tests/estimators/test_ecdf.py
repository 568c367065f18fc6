from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import kstest

import nolook
from nolook.errors import ParameterError
from nolook.privacy.accounting import total_delta

GRID = nolook.LinearGrid(0, 120, 1)
AGES = np.random.default_rng(0).integers(20, 60, 40_000)


@pytest.fixture(scope="module")
def ecdf():
    return nolook.ECDF(5.0, GRID, random_state=0).fit(AGES)


def test_one_release_answers_every_question(ecdf):
    assert ecdf.cdf(39) == pytest.approx((AGES <= 39).mean(), abs=0.01)
    assert ecdf.quantile(0.5) == pytest.approx(np.median(AGES), abs=1)
    assert ecdf.ppf(0.5) == ecdf.quantile(0.5)
    assert ecdf.interval(0.5) == pytest.approx(np.quantile(AGES, [0.25, 0.75]), abs=1)
    assert ecdf.mean() == pytest.approx(AGES.mean(), abs=0.3)
    assert ecdf.trimmed_mean(0.2) == pytest.approx(AGES.mean(), abs=0.3)
    assert ecdf.pdf(30.0) == pytest.approx(1 / 40, abs=0.01)
    masses, errors = ecdf.histogram([19, 29, 39, 49, 59])
    np.testing.assert_allclose(masses, 0.25, atol=0.01)
    assert ((errors > 0) & (errors < 0.01)).all()
    assert ecdf.rows_.value == pytest.approx(40_000, abs=60)


def test_draws_follow_the_distribution(ecdf):
    draws = ecdf.rvs(4000, random_state=1)
    assert draws.shape == (4000,)
    jitter = np.random.default_rng(0).random(4000)
    shares = ecdf.cdf(range(121))
    assert kstest(draws - jitter, lambda t: np.interp(t, np.arange(121.0), shares)).pvalue > 1e-4


def test_standard_errors_come_on_request(ecdf):
    shares, errors = ecdf.cdf([30, 40], return_std=True)
    assert shares.shape == errors.shape == (2,)
    assert (errors > 0).all()
    for value, error in (ecdf.mean(return_std=True), ecdf.trimmed_mean(0.1, return_std=True)):
        assert 0 < error < 0.2 < value
    noisy = nolook.ECDF(0.01, GRID, random_state=0).fit(AGES)
    values, ends = noisy.quantile([0.3, 0.7], return_interval=True)
    assert ends.shape == (2, 2)
    assert ((ends[:, 0] < values) & (values <= ends[:, 1])).all()
    assert (np.diff(ends) > np.diff(ecdf.quantile([0.3, 0.7], return_interval=True)[1])).all()


@pytest.mark.parametrize(
    "values",
    [
        AGES, AGES.tolist(), pd.Series(AGES), pl.Series("a", AGES), AGES[:, None],
        pd.DataFrame({"age": AGES}), nolook.read_table(pd.DataFrame({"age": AGES})),
    ],
    ids=["array", "list", "pandas", "polars", "column", "frame", "table"],
)  # fmt: skip
def test_a_column_may_come_in_any_form(values, ecdf):
    other = nolook.ECDF(5.0, GRID, random_state=0).fit(values)
    np.testing.assert_array_equal(other.cdf(range(121)), ecdf.cdf(range(121)))


def test_without_a_grid_any_scale_will_do():
    generator = np.random.default_rng(0)
    for scale in (1e-4, 1.0, 1e9):
        values = scale * generator.lognormal(0.0, 0.5, 30_000)
        found = nolook.ECDF(1.0, random_state=0).fit(values)
        assert found.quantile(0.5) == pytest.approx(np.median(values), rel=0.1)


def test_values_far_outside_a_grid_count_in_its_end_cells():
    values = np.concatenate([np.full(3000, -1e300), np.full(1000, 1e300)])
    found = nolook.ECDF(1e3, nolook.LinearGrid(0, 1, 0.25), random_state=0).fit(values)
    np.testing.assert_allclose(found.cdf([-1, 0, 0.5, 1]), [0, 0.75, 0.75, 1], atol=0.01)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda e: e.quantile(1.1), "p"), (lambda e: e.quantile(math.nan), "p"),
        (lambda e: e.interval(2.0), "p"), (lambda e: e.histogram([1.0]), "edges"),
        (lambda e: e.histogram([2.0, 1.0]), "edges"), (lambda e: e.trimmed_mean(0.5), "proportion"),
    ],
)  # fmt: skip
def test_bad_questions_are_refused_in_one_line(call, name, ecdf):
    with pytest.raises(nolook.ParameterError, match=rf"^{name} is ") as caught:
        call(ecdf)
    assert "\n" not in str(caught.value)


def test_a_table_of_two_columns_is_refused():
    with pytest.raises(nolook.ParameterError, match="X is a Table with 2 columns"):
        nolook.ECDF().fit(nolook.read_table(np.zeros((5, 2))))


def test_a_table_that_may_leave_rows_out_has_no_public_number_of_rows(costs_nothing):
    frame = pd.DataFrame({"age": [30.0, math.nan, 50.0]})
    dropping = nolook.read_table(frame, missing="drop-row")
    fit = partial(nolook.ECDF(1.0, GRID, relation="replace").fit, dropping)
    costs_nothing(fit, r"^relation is 'replace', but rows may be left", relation="replace")
    filling = nolook.read_table(frame, missing="zero")
    assert nolook.ECDF(1.0, GRID, relation="replace").fit(filling).rows_.value == 3
    assert nolook.ECDF(1.0, GRID).fit(dropping).rows_.value >= 1


# Quantiles of several columns.


def table(rows=20_000):
    generator = np.random.default_rng(0)
    return pd.DataFrame({
        "age": generator.integers(20, 60, rows),
        "pay": generator.lognormal(10.0, 0.4, rows),
        "rare": np.full(rows, 3.0),
    })  # fmt: skip


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_quantiles_of_several_columns_have_one_budget(delta, open_ledger):
    frame = table()
    with open_ledger() as ledger:
        found = nolook.quantiles(
            frame, [0.25, 0.5], epsilon=2.0, delta=delta, grids={"age": GRID}, ledger=ledger
        )
        (entry,) = ledger.history()
        assert entry.cost == nolook.Budget(2.0, delta)
    assert found.names == ("age", "pay", "rare")
    np.testing.assert_allclose(found.values, frame.quantile([0.25, 0.5]).T, rtol=0.06)
    assert found.ends.shape == (3, 2, 2)
    assert (found.ends[..., 0] <= found.values).all()
    assert (found.values <= found.ends[..., 1]).all()
    assert found.privacy.budget == nolook.Budget(2.0, delta)
    assert found.privacy.private
    assert total_delta(found.privacy.mechanisms, 2.0) <= delta


def test_a_column_of_integers_is_counted_at_whole_numbers(tmp_path):
    ecdf = nolook.ECDF(1.0, random_state=0).fit(AGES)
    shares = np.linspace(0.05, 0.95, 19)
    assert (ecdf.quantile(shares) % 1.0 == 0.0).all()
    # Between two of them there is no value, which therefore adds no error.
    for numbers in (ecdf.cdf([39.0, 39.5]), ecdf.cdf([39.0, 39.5], return_std=True)[1]):
        assert numbers[0] == numbers[1]
    assert ecdf.distribution_.mean_step(0.05) == 0.0
    page = ecdf.content()
    assert dict(page.settings)["Thresholds"].startswith("whole numbers: all up to 2048, then")
    assert page.cards[0][1] in {"39", "40"}
    nolook.save(ecdf, tmp_path / "ages.json")
    assert nolook.load(tmp_path / "ages.json").cdf(39.5) == ecdf.cdf(39)
    # As any number where nothing declares them to be whole.
    assert (nolook.ECDF(1.0, random_state=0).fit(AGES * 1.0).quantile(shares) % 1.0 != 0.0).any()


def test_quantiles_of_integers_are_such(tmp_path):
    frame = table().assign(large=np.arange(20_000) * 10_001)
    found = nolook.quantiles(frame, np.linspace(0.1, 0.9, 9), epsilon=2.0, random_state=0)
    assert found.whole == (True, False, False, True)
    assert (found.values[[0, 3]] % 1.0 == 0.0).all()
    assert (found.ends[[0, 3]] % 1.0 == 0.0).all()
    nolook.save(found, tmp_path / "found.json")
    np.testing.assert_array_equal(nolook.load(tmp_path / "found.json").ends, found.ends)


def test_quantiles_of_no_rows_are_ordinary_answers():
    found = nolook.quantiles(table(0), epsilon=1.0)
    assert np.isfinite(found.values).all()


def test_a_table_with_a_target_is_refused():
    with pytest.raises(nolook.ParameterError, match="with a target"):
        nolook.quantiles(nolook.read_table(table(5), "age"))


def test_a_mean_needs_a_range():
    ecdf = nolook.ECDF(1.0, random_state=0).fit(AGES)
    with pytest.raises(nolook.ParameterError, match="trimmed_mean"):
        ecdf.mean()
    assert ecdf.trimmed_mean() == pytest.approx(np.mean(AGES), rel=0.05)


def test_a_series_keeps_its_name():
    ages = pd.Series(AGES, name="age")
    assert nolook.ECDF(1.0, random_state=1).fit(ages).read_options_["features"] == ["age"]


def test_a_question_without_what_it_needs_is_refused_in_one_line():
    found = nolook.ECDF(1.0).fit(np.arange(100.0))
    with pytest.raises(ParameterError, match="'histogram', missing a required argument: 'edges'"):
        found.ask("histogram")


@pytest.mark.parametrize("grid", [None, nolook.LinearGrid(0, 1000, 100)])
def test_the_share_of_a_cell_that_an_edge_divides_is_part_of_the_error(grid):
    generator = np.random.default_rng(0)
    values = np.minimum(generator.uniform(0.0, 1000.0, 20_000), 742.5)  # 26 % are alike
    ecdf = nolook.ECDF(1.0, grid, random_state=0).fit(values)
    edges = [0.0, 100.0, 700.0, 742.0, 742.5, 743.0, 800.0, 2000.0]
    masses, errors = ecdf.histogram(edges)
    truth = np.diff([np.mean(values <= edge) for edge in edges])
    assert (abs(masses - truth) <= 4.0 * errors + 1e-3).all()
    # Between thresholds the share of values that are alike may be in either bin.
    assert errors[1] < 0.01
    if grid is not None:
        assert (errors[2:6] > 0.25).all()

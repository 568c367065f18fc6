"""What a plan says: as more is known or spent, less is expected to be lost."""

from __future__ import annotations

import numpy as np
import pytest

import nolook
from nolook.errors import ParameterError
from nolook.estimators.catalogue import MODELS
from nolook.planning.forecast import PLANNED
from scripts.planning_outcomes import description_errors

KNOWN = (
    "linear",
    "logistic",
    "poisson",
    "additive",
    "additive-logistic",
    "additive-poisson",
    "adassp",
    "boosted-adassp",
    "ecdf",
    "quantiles",
    "roc",
    "calibration",
    "compare-groups",
    "survival",
    "describe",
    "tabulate",
)


def test_all_models_and_distributions_are_planned():
    others = {"ecdf", "roc", "calibration", "quantiles", "compare-groups", "survival"}
    others |= {"describe", "tabulate"}
    assert set(PLANNED) == {*MODELS, *others}


def first(found):
    return next(name for name in PLANNED[found.method] if getattr(found.lines[0], name))


@pytest.mark.parametrize("method", KNOWN)
def test_more_epsilon_and_more_rows_tell_more(method):
    columns = 6 if method in {*MODELS, "quantiles", "describe"} else 1
    few = nolook.plan(2_000, columns, method=method)
    name = first(few)
    expected = [getattr(line, name).expected for line in few.lines]
    assert expected == sorted(expected, reverse=True)
    assert expected[0] > expected[-1]
    many = nolook.plan(50_000, columns, method=method)
    assert all(
        getattr(b, name).expected <= getattr(a, name).expected
        for a, b in zip(few.lines, many.lines, strict=True)
    )
    for line in few.lines:
        found = getattr(line, name)
        assert 0 <= found.low <= found.expected <= found.high


@pytest.mark.parametrize(
    ("method", "want"),
    [("linear", "interval 0.2"), ("logistic", "loss 0.02"), ("quantiles", "error 0.01")],
)
def test_the_smallest_epsilon_does_and_a_smaller_one_does_not(method, want):
    measure, most = want.split()
    found = nolook.plan(20_000, 5, method=method, want=want).wanted

    def expected(epsilon):
        return getattr(nolook.plan(20_000, 5, method=method, epsilon=epsilon).lines[0], measure)

    assert found.epsilon is not None
    assert expected(found.epsilon).expected <= float(most)
    assert expected(0.85 * found.epsilon).expected > float(most)
    if found.hardest is not None:
        assert expected(found.hardest).high <= float(most) < expected(0.85 * found.hardest).high


def test_what_no_epsilon_gives_is_not_promised():
    assert nolook.plan(300, 80, want="interval 0.001").wanted.epsilon is None


def test_units_of_which_rows_count_in_full_get_less_and_no_intervals():
    once, full = (nolook.plan(20_000, 5, epsilon=1.0, rows_per_unit=c) for c in ("weights", 4))
    assert full.lines[0].interval is None
    assert full.lines[0].loss.expected >= once.lines[0].loss.expected
    quarter = nolook.plan(20_000, method="ecdf", epsilon=0.25)
    of_four = nolook.plan(20_000, method="ecdf", epsilon=1.0, rows_per_unit=4)
    assert of_four.lines[0].error == quarter.lines[0].error


def test_quantiles_share_the_budget():
    one, four = (
        nolook.plan(20_000, n, method="quantiles", epsilon=e) for n, e in ((1, 1.0), (4, 4))
    )
    assert one.lines[0].error == four.lines[0].error


def test_tukey_says_how_many_rows_it_needs_and_nothing_else():
    line = nolook.plan(6_000, 5, method="tukey", epsilon=1.0).lines[0]
    assert line.rows_needed == nolook.TukeyRegressor(1.0, 1e-6).rows_needed(5)
    assert line.loss is None


@pytest.mark.parametrize("shape", [{"rows": 299}, {"columns": 81}, {"epsilon": 1e-3}])
def test_what_was_not_simulated_is_not_known(shape):
    line = nolook.plan(**{"rows": 1_000, "columns": 5, "epsilon": 1.0} | shape).lines[0]
    assert line.loss is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 0},
        {"rows": 10.5},
        {"columns": 0},
        {"method": "kendall"},
        {"epsilon": [1.0, -1.0]},
        {"epsilon": "much"},
        {"epsilon": []},
        {"delta": 2.0},
        {"rows_per_unit": "all"},
        {"rows_per_unit": 0},
        {"want": "interval"},
        {"want": "interval x"},
        {"want": "interval -1"},
        {"want": "interval nan"},
        {"want": "error 0.1"},
        {"want": 3},
        {"method": "tukey", "want": "loss 0.1"},
    ],
)
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError, match=r"expected|leave it out"):
        nolook.plan(**{"rows": 1_000} | wrong)


def test_a_plan_is_about_what_then_happens():
    """On a table of its own making, of no simulated kind, the plan is near."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(15_000, 6)) + generator.normal(size=(15_000, 1))
    y = X @ [1.0, -1, 0.5, 0, 1, -0.5] + generator.standard_t(4, size=15_000)
    narrowest = []
    for seed in range(5):
        model = nolook.LinearRegression(1.0, 1e-6, random_state=seed).fit(X, y)
        low, high = model.coef_interval_.T
        narrowest.append(np.nanmin((high - low) / 2 * X.std(axis=0) / y.std()))
    planned = nolook.plan(15_000, 6, epsilon=1.0).lines[0].interval
    assert planned.expected / 2 < np.median(narrowest) < planned.expected * 2


def test_a_description_is_as_wrong_as_a_plan_says():
    values = np.random.default_rng(0).normal(size=3_000)
    found = np.mean([description_errors(values, 1.0, seed) for seed in range(5)], axis=0)
    (line,) = nolook.plan(3_000, method="describe", epsilon=1.0).lines
    for error, expected in zip(found, (line.error, line.quantile), strict=True):
        assert expected.expected / 4.0 < error < 4.0 * expected.expected


def test_a_plan_is_shown_in_a_notebook_as_on_the_command_line():
    found = nolook.plan(20_000, 8, epsilon=[0.5, 2.0], want="interval 0.1")
    assert repr(found) == str(found.summary())
    for text in (repr(found), found._repr_html_()):
        assert "Plan of linear: 20,000 rows, 8 columns" in text
        assert "Expected of an ordinary table" in text
    assert "<table" in found._repr_html_()

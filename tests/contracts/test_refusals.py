"""What is refused in Python, one line each: nothing is spent. `test_cli_errors.py` has commands."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd
import pytest

import nolook
from nolook.algorithms.sublasso import MOST_MODELS
from nolook.errors import ParameterError, TableError
from nolook.estimators._chosen import MOST_PAIRED
from tests.contracts.releases import choices

GRID = nolook.LinearGrid(0, 120, 1)
RANGED = partial(nolook.SISSelector, 2, score="covariance")


def scored(rows=20):
    generator = np.random.default_rng(0)
    p = generator.beta(2, 5, rows)
    return p, (np.arange(rows) % 3 == 0).astype(int)


def pipeline(k=2, **settings):
    settings = {"epsilon": 2.0, "delta": 1e-5} | settings
    parts = nolook.KendallSelector(k), nolook.LinearRegression()
    return nolook.PrivatePipeline(*parts, **settings)


def counts(**settings):
    """A pipeline, whose selection may leave the exposures out."""
    parts = nolook.KendallSelector(2), nolook.PoissonRegression(**settings)
    return nolook.PrivatePipeline(*parts, epsilon=2.0, delta=1e-5)


# An estimator, a parameter, and values it refuses, beyond those every estimator refuses.
PARAMETERS = [
    (nolook.PoissonRegression, "exposure", 3, True, ("x0",), "", "days", "y"),
    (counts, "exposure", "x0", 2.5),
    (nolook.BoostedAdaSSPRegressor, "n_rounds", 0, 2.0, 10**6, True),
    (nolook.TukeyRegressor, "n_models", 0, -3, 2.5, True, 2**30, "many"),
    (nolook.TukeyRegressor, "on_failure", "ignore"),
    (partial(nolook.KendallSelector, 1), "sample", 0.0, 1.0, -0.5, "all", True),
    (partial(nolook.LassoSelector, 2), "n_models", 0, -3, 2.5, "all", MOST_MODELS + 1, True),
    (partial(nolook.LassoSelector, 2), "penalty", 0.0, 1.0, -1.0, "raw", math.nan, None),
    (RANGED, "delta", 0.0),
    (partial(nolook.SISSelector, 2), "score", "tau"),
    (partial(nolook.SISSelector, 2), "top_k", "gumbel"),
    (partial(nolook.SISSelector, 2), "delta", 1.0),
    (pipeline, "split", 0.0, 1.0),
    (pipeline, "epsilon", 0.0),
    (pipeline, "delta", 0.0),
    (pipeline, "k", 0, 5, 6),
    (nolook.ECDF, "grid", (0, 1), 100),
    (nolook.ECDF, "relation", "swap"),
    (nolook.ECDF, "delta", 1.0, -0.1),
    (nolook.ROCCurve, "grid", 100),
    (nolook.ROCCurve, "relation", "swap"),
    (nolook.ROCCurve, "pos_label", None, "yes"),
    (nolook.HosmerLemeshow, "groups", 0, 101, 2.5),
    (nolook.HosmerLemeshow, "pos_label", None, "yes"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "parameter", "value"),
    [(make, name, value) for make, name, *values in PARAMETERS for value in values],
)
def test_a_bad_parameter_costs_nothing(make, parameter, value, costs_nothing):
    rows = {nolook.ECDF: scored()[:1], nolook.ROCCurve: scored(), nolook.HosmerLemeshow: scored()}
    data = rows.get(make, choices(20))
    costs_nothing(
        lambda ledger: make(**{parameter: value}).fit(*data, ledger=ledger),
        f"^{parameter} (is|names) ",
    )


@pytest.mark.parametrize("second", [1, "auto", np.int64(2)])
def test_a_second_choice_of_columns_costs_nothing(second, costs_nothing):
    model = pipeline(k=3)
    model.regressor.set_params(k=second)
    costs_nothing(partial(model.fit, *choices(20)), "^regressor__k is .* in a pipeline")


@pytest.mark.parametrize(
    "make",
    [
        nolook.LinearRegression, nolook.LogisticRegression, nolook.PoissonRegression,
        nolook.AdditiveRegression, nolook.AdaSSPRegressor, nolook.BoostedAdaSSPRegressor,
        nolook.MomentSelector,
        lambda: nolook.PrivatePipeline(nolook.MomentSelector(3), nolook.TukeyRegressor()),
    ],
)  # fmt: skip
def test_features_whose_pairs_would_fill_the_memory_cost_nothing(make, costs_nothing):
    # 21,945 dummies of a census took 10 GB, and no end of time.
    X, y = np.zeros((3, MOST_PAIRED + 1)), np.arange(3) % 2
    costs_nothing(partial(make().fit, X, y), "at most 4,096 features, and there are 4,097 ")


def test_columns_may_be_more_where_a_selection_sums_no_pairs():
    X, y = np.random.default_rng(0).normal(size=(200, MOST_PAIRED + 1)), np.arange(200) % 2
    assert pipeline().fit(X, y).support_.sum() == 2


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("p", [1.5]), ("epsilon", 0.0), ("delta", 1.0), ("random_state", -1),
        ("grids", {"height": GRID}), ("grids", {"age": 3}),
    ],
)  # fmt: skip
def test_a_bad_parameter_of_quantiles_costs_nothing(parameter, value, costs_nothing):
    frame = pd.DataFrame({"age": [20, 30], "pay": [1.0, 2.0]})
    costs_nothing(
        partial(nolook.quantiles, frame, **{parameter: value}), f"^{parameter.removesuffix('s')}"
    )


@pytest.mark.parametrize("value", [None, 5, math.nan, object()])
@pytest.mark.parametrize("parameter", ["by", "mean", "median", "share", "quantiles", "all_pairs"])
def test_a_bad_parameter_of_a_tabulation_costs_nothing(parameter, value, costs_nothing):
    frame = pd.DataFrame({"age": [20, 30], "well": [True, False]})
    costs_nothing(partial(nolook.tabulate, frame, **{parameter: value}), f"^{parameter} is ")


def no_scores():
    """Scores and targets that are none, and what is said of them."""
    scores, labels = scored()
    table = nolook.read_table(pd.DataFrame({"a": scores, "b": scores, "c": labels}), "c")
    return {
        "different numbers of rows": ((scores, labels[1:]), TableError),
        "target is None": ((scores, None), ParameterError),
        "2 columns": ((np.ones((20, 2)), labels), ParameterError),
        "not numbers": ((np.array(["secret"] * 20), labels), TableError),
        "target has": ((scores, np.ones((20, 2))), TableError),
        "scores has 2 columns": ((table,), ParameterError),
        "target is given": ((table, labels), ParameterError),
    }


@pytest.mark.parametrize("make", [nolook.ROCCurve, nolook.HosmerLemeshow])
@pytest.mark.parametrize("message", no_scores())
def test_what_is_no_score_and_target_costs_nothing(make, message, costs_nothing):
    data, error = no_scores()[message]
    said = costs_nothing(lambda ledger: make().fit(*data, ledger=ledger), message, error)
    assert "secret" not in said

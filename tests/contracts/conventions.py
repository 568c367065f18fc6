"""Scikit-learn's checks of estimators: every day a quarter of them for each, in turn."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from itertools import islice

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_checks

__all__ = ["check_all_but", "with_quarters"]

QUARTERS = 4


def with_quarters(rows: Mapping[str, object]) -> pytest.MarkDecorator:
    """Pair rows with quarters of the checks: every day each with one, each quarter with a few."""
    pairs = [
        pytest.param(row, place, id=f"{name}-{place}", marks=[pytest.mark.slow] * (place != turn))
        for i, (name, row) in enumerate(rows.items())
        for turn in [i % QUARTERS]
        for place in range(QUARTERS)
    ]
    return pytest.mark.parametrize(("row", "quarter"), pairs)


def check_all_but(failures: Collection[str], estimator: BaseEstimator, quarter: int) -> None:
    """Assert that an estimator passes the checks of a quarter, but for those named."""
    every = estimator_checks.estimator_checks_generator

    def some(*of, **options):
        return islice(every(*of, **options), quarter, None, QUARTERS)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(estimator_checks, "estimator_checks_generator", some)
        checks = estimator_checks.check_estimator(estimator, on_fail=None)
    tried = {check["check_name"] for check in checks}
    failed = {check["check_name"] for check in checks if check["status"] == "failed"}
    assert failed == tried & set(failures)
    assert sum(check["status"] == "passed" for check in checks) > 30 // QUARTERS

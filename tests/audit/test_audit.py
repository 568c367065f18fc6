"""The audit: its bounds hold and are tight, its laws are right, every release is in it."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from scipy import stats

import nolook
from nolook.audit import bounds, exact_laws
from nolook.audit.audit_case import Case
from nolook.audit.catalogue import catalogue
from nolook.audit.findings import Finding, audit
from nolook.privacy.noise import SeededSource
from nolook.report.audit_page import cells
from tests.privacy.mechanisms import all_mechanisms

CASES = catalogue()
ESTIMATORS = [name for name, case in CASES.items() if hasattr(nolook, case.covers[0])]
MECHANISMS = [name for name in CASES if name not in ESTIMATORS]
# Most of the time of all quick audits.
LONG = {
    "tukey-1d",
    "tukey-2d",
    "range-search",
    "design-gram",
    "lasso-votes",
    "covariance-screening",
    "kendall-selection",
    "kendall-selection-on-a-sample",
    "propose-test-release",
    "rank-screening",
    "canonical-lipschitz",
    "lasso-votes-on-a-sample",
    "rank-screening-on-a-sample",
    "bounded-range-peeling",
    "bounded-range-kendall",
    "score-moments",
    "model-curvature",
    "unit-scores",
    # The attacks of tests/contracts/test_weights.py try these every day.
    "ECDF-weights",
    "ECDF-weights-units",
}
# A full audit takes some forty times as long. So few fits bound no loss: they show that a case
# can be audited.
QUICK, QUICK_FITS = 3_000, 4
# Of the claim, that a quick audit shows by draws: without laws nothing else shows a fault.
SHOWN = 0.4


def marked(names):
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in names]


def normal(mean, draws, seed):
    return np.random.default_rng(seed).normal(mean, 1.0, draws)


@pytest.mark.parametrize(("count", "draws"), [(0, 10), (1, 10), (10, 10), (37, 1000), (999, 1000)])
def test_limits_are_those_of_clopper_and_pearson(count, draws):
    exact = stats.binomtest(count, draws).proportion_ci(bounds.CONFIDENCE, method="exact")
    assert bounds.limits(np.array(count), draws) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_a_gaussian_shift_is_found_from_below(mu):
    bound = bounds.loss_bound(normal(mu, 100_000, 0), normal(0.0, 100_000, 1), None)
    assert 0.7 * mu < bound <= mu


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
def test_epsilon_of_a_gaussian_shift_is_found_from_below(delta):
    first, second = normal(1.0, 100_000, 0), normal(0.0, 100_000, 1)
    # The best event at a threshold: above it with p on one table, with q on the other.
    thresholds = np.linspace(-3.0, 3.0, 601)
    p, q = stats.norm.sf(thresholds - 1.0), stats.norm.sf(thresholds)
    possible = np.log(np.maximum(p - delta, 1e-12) / q).max()
    assert 0.0 < bounds.loss_bound(first, second, delta) <= possible


def test_equal_tables_show_nothing():
    same = normal(0.0, 50_000, 0), normal(0.0, 50_000, 1)
    assert bounds.loss_bound(*same, None) == 0.0
    assert bounds.loss_bound(*same, 0.0) == 0.0


def test_an_event_likelier_on_the_second_table_is_found_too():
    few = np.zeros(10_000)
    often = (np.arange(10_000) % 2).astype(float)
    assert bounds.loss_bound(few, often, 0.0) == bounds.loss_bound(often, few, 0.0) > 5.0


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        # Every day each law at one of the amounts.
        pytest.param(name, parameter, marks=[pytest.mark.slow] * ((i + j) % 3 > 0))
        for i, name in enumerate(name for name, case in CASES.items() if case.law)
        for j, parameter in enumerate([0.5, 1.0, 2.0])
    ],
)
def test_exact_laws_keep_the_claim_and_come_close_to_it(name, parameter):
    case = catalogue(parameter)[name]
    first, second = case.law(0), case.law(1)
    assert first.sum() == pytest.approx(1.0, abs=1e-9)
    assert second.sum() == pytest.approx(1.0, abs=1e-9)
    if case.measure == "mu":
        exact = exact_laws.exact_mu(first, second)
    else:
        exact = exact_laws.exact_epsilon(first, second, case.delta)
    assert case.power * case.claim <= exact <= case.claim * (1.0 + 1e-9)


def test_exact_epsilon_is_the_smallest_for_its_delta():
    first, second = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    assert exact_laws.exact_epsilon(first, second) == pytest.approx(np.log(2.5))
    epsilon = exact_laws.exact_epsilon(first, second, 0.1)
    assert exact_laws.exact_delta(first, second, epsilon) == pytest.approx(0.1)
    assert exact_laws.exact_epsilon(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5) == np.inf


def test_exact_mu_is_that_of_the_best_event():
    # One event: 0.7 on one table, 0.4 on the other.
    first, second = np.array([0.7, 0.3]), np.array([0.4, 0.6])
    assert exact_laws.exact_mu(first, second) == pytest.approx(
        stats.norm.ppf(0.7) - stats.norm.ppf(0.4)
    )
    assert exact_laws.exact_mu(first, second) == exact_laws.exact_mu(second, first)
    assert exact_laws.exact_mu(first, first) == 0.0
    assert exact_laws.exact_mu(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == np.inf


@pytest.mark.parametrize(("sigma", "center"), [(0.3, 1), (2.0, 0), (50.0, -2)])
def test_exact_mu_of_rounded_gaussian_noise_is_nearly_its_shift(sigma, center):
    limit = int(9 * sigma) + 3
    first, second = (exact_laws.gaussian_law(sigma, at, limit) for at in (center, center + 1))
    assert first.sum() == pytest.approx(1.0)
    mean = first @ np.arange(-limit, limit + 1)
    assert mean == pytest.approx(center)
    assert 0.8 / sigma < exact_laws.exact_mu(first, second) <= 1 / sigma * (1 + 1e-9)


@pytest.mark.parametrize("name", marked(MECHANISMS))
def test_a_quick_audit_of_a_mechanism_finds_what_is_promised_kept(name):
    case = evolve(CASES[name], power=0.0)
    found = audit(case, SeededSource(1), min(QUICK, case.runs // 4))
    assert found.verdict == "kept"
    if case.law is None and CASES[name].power >= 0.6:
        assert found.power > SHOWN


@pytest.mark.slow
@pytest.mark.parametrize("name", marked(ESTIMATORS))
def test_a_quick_audit_of_an_estimator_finds_what_is_promised_kept(name):
    assert audit(CASES[name], SeededSource(1), QUICK_FITS).verdict == "kept"


def fake(claim=1.0, measure="mu", power=0.6, law=None, wrong=0.0):
    """Return a case of Gaussian noise with mu 1, or of a fair coin and one that falls 3 of 4."""

    def draw(table, runs, source):
        uniform = source.words(runs) / 2**64
        if law is None:
            return stats.norm.ppf(uniform) + (1.0 - table)
        return (uniform < (0.75 if table else 0.5 + wrong)) * 1.0

    return Case(
        "fake", "", "add-remove", measure, claim, (), draw, law=law, runs=20_000, power=power
    )


def coins(table):
    return np.array([0.25, 0.75] if table else [0.5, 0.5])


@pytest.mark.parametrize(
    ("case", "verdict"),
    [
        (fake(), "kept"),
        (fake(claim=0.7), "broken"),
        (fake(claim=2.0), "too weak"),
        (fake(law=coins, measure="epsilon", claim=0.7), "kept"),
        (fake(law=coins, measure="epsilon", claim=0.6), "broken"),
        (fake(law=coins, measure="epsilon", claim=0.7, wrong=0.1), "not the law"),
        (fake(law=coins, measure="epsilon", claim=2.0), "too weak"),
    ],
)
def test_verdicts(case, verdict):
    assert audit(case, SeededSource(0)).verdict == verdict


def test_a_quick_audit_is_not_called_too_weak():
    assert audit(fake(claim=2.0), SeededSource(0), 1_000).verdict == "kept"


def covered():
    return {name for case in CASES.values() for name in case.covers}


def test_every_mechanism_is_audited():
    assert {name.rpartition(".")[2] for name in all_mechanisms()} <= covered()


def test_every_estimator_is_audited():
    public = (getattr(nolook, name) for name in nolook.__all__)
    estimators = {
        each.__name__ for each in public if inspect.isclass(each) and hasattr(each, "fit")
    }
    assert {*estimators, "quantiles"} <= covered()


def test_where_no_law_is_known_many_draws_tell():
    known = {name for name in MECHANISMS if CASES[name].law or not CASES[name].power}
    assert all(CASES[name].runs >= 200_000 for name in MECHANISMS if name not in known)
    assert all(case.runs >= 2_000 for case in CASES.values())


def test_a_finding_says_whether_its_claim_is_for_a_unit():
    case = CASES["laplace-count"]
    shown = [
        cells(Finding(evolve(case, protects=one), 100, 0.5, None, None, 0.0))[1]
        for one in ("row", "unit")
    ]
    assert shown == ["add-remove", "add-remove, a unit"]


def test_the_committed_audit_is_of_every_case_and_found_nothing_broken(project_root: Path):
    page = (project_root / "docs" / "audit.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| ")
    ]
    found = {row[0]: row for row in rows if len(row) == 8}
    kept = sum(row[7] == "kept" for row in found.values())
    assert f"\n{kept} of {kept} cases kept their claim" in page
    assert set(CASES) <= set(found)
    for name, case in CASES.items():
        assert found[name][7] == "kept"
        assert int(found[name][6].replace(",", "")) >= case.runs
        assert float(found[name][5]) >= round(case.power, 2)

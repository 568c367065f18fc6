"""OpenDP's samplers as an oracle, and as the measure of speed."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import stats

from nolook.privacy.noise import SeededSource, SystemEntropy, discrete_laplace, rounded_gaussian

N = 30_000


@pytest.fixture(scope="module")
def opendp():
    prelude = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")
    prelude.enable_features("contrib")
    return prelude


def laplace_of(opendp, scale):
    domain = opendp.vector_domain(opendp.atom_domain(T=int))
    return opendp.m.make_laplace(domain, opendp.l1_distance(T=int), scale=scale)


def gaussian_of(opendp, sigma):
    domain = opendp.vector_domain(opendp.atom_domain(T=int))
    return opendp.m.make_gaussian(domain, opendp.l2_distance(T=float), scale=sigma)


def two_sample_p_value(ours, theirs):
    """Chi-square test of two samples of integers, in about 20 cells of equal counts."""
    edges = np.unique(np.quantile(theirs, np.linspace(0.0, 1.0, 21)[1:-1]))
    table = [
        np.bincount(np.searchsorted(edges, sample), minlength=len(edges) + 1)
        for sample in (ours, np.array(theirs))
    ]
    table = np.array(table)
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


# OpenDP cannot be seeded: a false alarm has to be too rare to be seen.
@pytest.mark.parametrize(
    "scale",
    [pytest.param(1.0, marks=pytest.mark.slow), 3.7, pytest.param(1e6, marks=pytest.mark.slow)],
)
def test_discrete_laplace_agrees_with_opendp(opendp, scale):
    theirs = laplace_of(opendp, scale)([0] * N)
    assert two_sample_p_value(discrete_laplace(scale, N, SeededSource(40)), theirs) > 1e-9
    for factor in (0.7, 1.3):
        wrong = discrete_laplace(scale * factor, N, SeededSource(40))
        assert two_sample_p_value(wrong, theirs) < 1e-9


# So far above one grid unit the discrete Gaussian and the rounded one cannot be told apart.
@pytest.mark.parametrize("sigma", [1e3, 1e9])
def test_rounded_gaussian_agrees_with_opendps_discrete_gaussian(opendp, sigma):
    theirs = gaussian_of(opendp, sigma)([0] * N)
    assert two_sample_p_value(rounded_gaussian(sigma, N, SeededSource(41)), theirs) > 1e-9
    for factor in (0.7, 1.3):
        wrong = rounded_gaussian(sigma * factor, N, SeededSource(41))
        assert two_sample_p_value(wrong, theirs) < 1e-9


@pytest.mark.wallclock
@pytest.mark.parametrize(
    ("draw", "peer", "scale"),
    [(discrete_laplace, laplace_of, 1e6), (rounded_gaussian, gaussian_of, 1e6)],
)
def test_draws_are_at_least_three_times_as_quick_as_opendps(opendp, draw, peer, scale):
    measurement = peer(opendp, scale)

    def seconds_per_draw(run, n):
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            run(n)
            best = min(best, time.perf_counter() - start)
        return best / n

    source = SystemEntropy()
    ours = seconds_per_draw(lambda n: draw(scale, n, source), 100_000)
    theirs = seconds_per_draw(lambda n: measurement([0] * n), 4_000)
    assert theirs >= 3.0 * ours

from __future__ import annotations

import math

import numpy as np
import pytest

from nolook.algorithms.adassp import BoostedAdaSSP
from nolook.privacy.noise import SeededSource
from nolook.tables import table_from_arrays
from papers.public_design import public_design
from tests.algorithms.boosting import data, gram_of, no_stage, plain
from tests.collected import Collected


def run(X, y, mu, rounds, seed=0, release=BoostedAdaSSP):
    return release(mu, rounds).run(table_from_arrays(X, y), SeededSource(seed), no_stage)


@pytest.mark.parametrize("rounds", [1, 100])
def test_events_add_up_to_mu_and_every_release_has_one_sigma(rounds):
    events = BoostedAdaSSP(0.3, rounds).events()
    assert math.sqrt(sum(event.mu**2 for event in events)) == pytest.approx(0.3, rel=1e-12)
    matrix, eigenvalue, gradients = (event.mu for event in events[-3:])
    assert eigenvalue == matrix
    assert gradients == pytest.approx(eigenvalue * math.sqrt(rounds))


def test_it_is_the_mean_of_the_last_quarter():
    X, y = data(20_000)
    several, one = (run(X, y, 1e6, rounds) for rounds in (8, 1))
    table, release = table_from_arrays(X, y), BoostedAdaSSP(1e6, 8)
    _, _, blocks = release._designed(table, SeededSource(0), no_stage)
    seen = blocks.fold(Collected())
    rows, _, targets, *_ = zip(*seen.batches, strict=True)
    Z = np.concatenate(rows, axis=1).T / blocks.design.unit
    expected = np.mean(plain(Z, np.concatenate(targets), 8, 2)[-2:], axis=0)
    np.testing.assert_allclose(several.theta, expected, rtol=2e-3, atol=2e-3)
    assert one.theta.shape == (4,)


class OnPublicRows(BoostedAdaSSP):
    """Rows of norm 1, so that their second moments are known."""

    def _designed(self, table, *_):
        return public_design(table, 1.0, 1.0, 1.0, 2**14)


def test_a_round_has_the_noise_that_is_claimed():
    # Labels of zero: after one round the model is the solution for nothing but noise.
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    mu = 2.0
    gram, target = gram_of(X), np.zeros(len(X))
    noise = [gram @ run(X, target, mu, 1, seed, OnPublicRows).theta for seed in range(60)]
    sigma = math.sqrt(3 / 0.61) / mu
    assert 0.87 < np.std(noise) / (OnPublicRows.LARGEST * sigma) < 1.13


def test_every_stage_and_round_is_announced():
    seen = []
    release = BoostedAdaSSP(1.0, 5)
    release.run(table_from_arrays(*data(100)), SeededSource(0), seen.append)
    assert len(seen) == release.progress_steps
    assert seen[-1] == "round 5"

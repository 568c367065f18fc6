"""What neighbouring tables release lies on one grid: whole numbers, whatever the table.

Noise in floating point fails here: which of its results can be reached depends on the value it was
added to, so the last digits of one number may tell two tables apart.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import nolook
from nolook.privacy.mechanisms import (
    exponential,
    gaussian,
    laplace,
    top_k,
    tukey_depth,
)
from nolook.privacy.noise import SeededSource
from tests.contracts.distributions import DISTRIBUTIONS
from tests.contracts.estimators import ESTIMATORS
from tests.contracts.selectors import SELECTORS
from tests.privacy.mechanisms import MECHANISMS, all_mechanisms

every_mechanism = pytest.mark.parametrize("row", MECHANISMS.values(), ids=MECHANISMS)
DRAWS = 1000


def test_every_mechanism_has_its_row():
    assert set(MECHANISMS) == set(all_mechanisms())


def as_drawn(result):
    """Return what was drawn, hashable, and what it is made of."""
    if result is None or isinstance(result, bool | int):
        return result, (type(result),)
    if isinstance(result, list):
        return tuple(result), (list, *{type(one) for one in result})
    kind = {type(one) for one in result.ravel().tolist()}
    return tuple(result.ravel().tolist()), (result.dtype, *kind)


@every_mechanism
def test_neighbours_reach_the_same_outcomes(row):
    outcomes, kinds = [], []
    for table in (row.first, row.second):
        source = SeededSource(41)
        drawn = [as_drawn(row.draw(table, source)) for _ in range(DRAWS)]
        outcomes.append(Counter(outcome for outcome, _ in drawn))
        kinds.append({kind for _, kind in drawn})
    assert kinds[0] == kinds[1]
    assert not any(kind in (float, np.float64) for kinds_ in kinds[0] for kind in kinds_)
    assert len(outcomes[0]) > 1
    if row.whole:
        # Privacy lets no outcome be rarer than exp(-2) times as often with the other.
        for one, other in (outcomes, outcomes[::-1]):
            often = {outcome for outcome, count in one.items() if count >= 100}
            assert often <= set(other)


ADDING = {name: row.add for name, row in MECHANISMS.items() if row.add}


@pytest.mark.parametrize("name", ADDING)
@pytest.mark.parametrize("scale", [1e-3, 0.7, 12.5, 1e6, 1e12])
def test_noise_is_drawn_without_a_look_at_the_values(name, scale):
    # With the same bits the noise is the same to the last digit, so that every whole number is
    # reached from one value just as from another.
    zero = np.zeros(2, dtype=np.int64)
    for seed in range(5):
        noise = ADDING[name](zero, scale, SeededSource(seed))
        for value in (0, 1, 2**40 + 1, 2**60 + 1):
            added = np.array([value, 0])
            noisy = ADDING[name](added, scale, SeededSource(seed))
            assert noisy.dtype == noise.dtype == np.int64
            assert (noisy - noise).tolist() == added.tolist()


def test_noise_in_floating_point_is_told_from_noise_on_a_grid():
    # What the tests above look for: the same bits, added to another value, are rounded elsewhere.
    noise = np.random.default_rng(0).laplace(size=1000)
    differences = ((2.0**20 + 1 / 3) + noise) - (1 / 3 + noise)
    assert (differences != 2.0**20).mean() > 0.1
    # And one neighbour reaches numbers that the other cannot.
    assert not set((1.0 + noise).tolist()) & set((1 / 3 + noise).tolist())
    assert float in as_drawn(1.0 + noise)[1]


# --- whole estimators


@pytest.fixture
def released(monkeypatch):
    """Note everything that noise is added to, and all scores that something is chosen by."""
    notes = []

    def adding(values, noise):
        notes.append(
            ("added", values.dtype, noise.dtype, values.shape, values.copy(), noise.copy())
        )
        return exactly(values, noise)

    def choosing(scores, *rest):
        notes.append(("chosen", np.asarray(scores).dtype, None, None, None, None))
        return choose(scores, *rest)

    def flipping(scores, *rest):
        notes.append(("chosen", np.asarray(scores).dtype, None, None, None, None))
        return flip(scores, *rest)

    def classes(scores, *rest):
        notes.append(("set chosen", np.asarray(scores).dtype, None, None, None, None))
        return utility(scores, *rest)

    def tested(volumes, rule):
        notes.append(("tested", np.dtype(object), None, None, None, None))
        assert all(type(volume) is int for volume in volumes)
        return distance(volumes, rule)

    exactly = laplace.add_exactly
    choose, flip = exponential.report_noisy_max_gumbel, exponential.permuted_flips
    utility = top_k.UtilityClasses
    distance = tukey_depth.distance_to_unsafety
    for module in (laplace, gaussian):
        monkeypatch.setattr(module, "add_exactly", adding)
    monkeypatch.setattr(exponential, "report_noisy_max_gumbel", choosing)
    monkeypatch.setattr(exponential, "permuted_flips", flipping)
    monkeypatch.setattr(top_k, "UtilityClasses", classes)
    monkeypatch.setattr(tukey_depth, "distance_to_unsafety", tested)
    return notes


def _table(rows, columns=3):
    generator = np.random.default_rng(7)
    X = generator.normal(size=(1500, columns)) * 3.0 + 1.0
    y = X[:, 0] + 0.3 * generator.normal(size=1500)
    # The row that is added is one that moves everything.
    X[-1], y[-1] = 1e150, -1e150
    return X[:rows], y[:rows]


def _distribution(row, rows):
    parts = row.data(1500, 3)
    return tuple(part[:rows] for part in parts)


CASES = {
    **{
        name: (partial(row.make, epsilon=1.0, random_state=5), partial(_table))
        for name, row in ESTIMATORS.items()
    },
    "TukeyRegressor with models": (
        partial(
            nolook.TukeyRegressor, epsilon=20.0, n_models=40, on_failure="constant", random_state=5
        ),
        partial(_table, columns=1),
    ),
    **{
        name: (partial(row.make, k=2, epsilon=1.0, random_state=5), partial(_table))
        for name, row in SELECTORS.items()
    },
    **{
        name: (partial(row.make, epsilon=1.0, random_state=5), partial(_distribution, row))
        for name, row in DISTRIBUTIONS.items()
    },
}


@pytest.mark.parametrize(
    "name",
    # Every day every other one.
    [pytest.param(name, marks=[pytest.mark.slow] * (i % 2)) for i, name in enumerate(CASES)],
)
def test_estimators_release_whole_numbers_of_one_kind(name, released):
    make, table = CASES[name]
    replaced = "replacement" in name
    runs = []
    for rows in (1500, 1500 if replaced else 1499):
        released.clear()
        arguments = table(rows)
        if replaced and runs:
            arguments[0][-1] = -1e5
        with suppress(nolook.PrivateFitFailed):  # a result like any other
            make().fit(*arguments)
        runs.append(list(released))
    assert runs[0]
    for notes in runs:
        for what, own, noise, _, values, noises in notes:
            if what == "added":
                assert {own, noise} <= {np.dtype(np.int64), np.dtype(object)}
                for part in (values, noises):
                    assert {type(one) for one in part.ravel().tolist()} <= {int}
            elif what != "tested":
                assert own == np.int64
    kinds = [{note[:3] for note in notes} for notes in runs]
    assert kinds[0] == kinds[1]
    first, second = (notes[0] for notes in runs)
    if first[0] == "added":
        assert first[3] == second[3]
        # Nothing was released before, so the same bits make the same noise.
        assert np.array_equal(first[5], second[5])
    pairs = [(one, two) for one, two in zip(*runs, strict=False) if one[0] == two[0] == "added"]
    # The row is in what is released, so the test above saw two tables.
    assert not pairs or any(not np.array_equal(one[4], two[4]) for one, two in pairs)

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest

from nolook.algorithms.moment_selection import NoisyProducts, largest_of, select_features, strengths

ROWS = 4000


def moments(x, y, sigma=1e-6, seed=None):
    """Return the moments of a table, with noise of standard deviation sigma if there is a seed."""
    z = np.column_stack([np.ones(len(y)), x, y])
    matrix = z.T @ z
    if seed is not None:
        draw = np.random.default_rng(seed).normal(scale=sigma / 2, size=matrix.shape)
        matrix = matrix + draw + draw.T
    return NoisyProducts(
        matrix[:-1, :-1], matrix[:-1, -1], matrix[-1, -1], sigma, sigma / np.sqrt(2), len(y)
    )


def chosen(x, y, k, sigma=1e-6, seed=None, detected=None):
    detected = np.ones(x.shape[1], dtype=bool) if detected is None else detected
    found = select_features(moments(x, y, sigma, seed), k, detected)
    assert len(set(found)) == len(found)
    return found


def mixed(seed, features=7, rows=ROWS):
    """Return a table of correlated features and a target all of them have a part in."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, features)) @ generator.normal(size=(features, features))
    x /= x.std(axis=0)
    y = x @ generator.normal(size=features) + generator.normal(size=rows)
    return x, y / y.std()


def rss(x, y, features):
    z = np.column_stack([np.ones(len(y)), x[:, list(features)]])
    return float(np.linalg.lstsq(z, y, rcond=None)[1][0])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_without_noise_no_exchange_explains_more(seed, k):
    x, y = mixed(seed)
    found = chosen(x, y, k)
    assert len(found) == k
    best = rss(x, y, found)
    others = set(range(7)) - set(found)
    for out in range(k):
        for other in others:
            assert rss(x, y, [*found[:out], *found[out + 1 :], other]) > best * (1 - 1e-6)
    if k == 1:
        assert best == pytest.approx(min(rss(x, y, [j]) for j in range(7)))


def test_without_noise_most_choices_are_the_best_of_all():
    best = 0
    for seed in range(20):
        x, y = mixed(seed)
        least = min(rss(x, y, subset) for subset in combinations(range(7), 3))
        best += rss(x, y, chosen(x, y, 3)) < least * (1 + 1e-6)
    assert best >= 15


@pytest.mark.parametrize("seed", range(5))
def test_each_feature_is_followed_by_the_one_that_adds_most(seed):
    x, y = mixed(seed)
    found = chosen(x, y, 4)
    for place in range(4):
        steps = [rss(x, y, [*found[:place], other]) for other in found[place:]]
        assert steps[0] <= min(steps) * (1 + 1e-6)


def test_a_pair_that_only_explains_together_is_found():
    generator = np.random.default_rng(0)
    first, shift, noise = generator.normal(size=(3, ROWS))
    x = np.column_stack([first, first + 0.3 * shift, shift + noise])
    assert chosen(x, shift, 1) == (2,)
    assert set(chosen(x, shift, 2)) == {0, 1}


def test_a_constant_and_the_order_of_columns_make_no_difference():
    x, y = mixed(3, features=4)
    found = chosen(x, y, 2)
    for order in permutations(range(4)):
        assert [order[j] for j in chosen(x[:, order], y, 2)] == list(found)
    assert set(chosen(x + 2.0, y - 3.0, 2)) == set(found)


@pytest.mark.parametrize("seed", range(10))
def test_noise_does_not_make_near_copies_look_informative(seed):
    generator = np.random.default_rng(100 + seed)
    x = generator.normal(size=(ROWS, 6))
    x[:, 1:4] = x[:, :1] + 0.01 * generator.normal(size=(ROWS, 3))
    y = x[:, 0] + 0.3 * x[:, 5] + 0.3 * generator.normal(size=ROWS)
    # Of noise as large as the smallest eigenvalues hundreds of times over.
    found = chosen(x, y, 2, sigma=100.0, seed=seed)
    assert 5 in found
    assert set(found) & {0, 1, 2, 3}


def test_columns_without_a_scale_come_last():
    x, y = mixed(1)
    best = chosen(x, y, 3)
    detected = np.ones(7, dtype=bool)
    detected[list(best)] = False
    assert not set(chosen(x, y, 4, detected=detected)) & set(best)
    some = chosen(x, y, 5, detected=detected)
    assert set(some[:4]) == set(range(7)) - set(best)
    assert len(chosen(x, y, 3, detected=np.zeros(7, dtype=bool))) == 3
    assert not set(chosen(x, y, None, detected=detected)) & set(best)


@pytest.mark.parametrize("sigma", [1e-6, 30.0, 200.0])
def test_auto_finds_what_matters_and_little_else(sigma):
    generator = np.random.default_rng(5)
    numbers = []
    for seed in range(40):
        x = generator.normal(size=(ROWS, 20)) * 0.8 + 0.6 * generator.normal(size=(ROWS, 1))
        y = 0.5 * x[:, 3] - 0.5 * x[:, 7] + 0.6 * generator.normal(size=ROWS)
        found = chosen(x, y / y.std(), None, sigma, seed)
        assert {3, 7} <= set(found)
        numbers.append(len(found))
    # Nothing is added in about half of all cases, and one feature follows another as often.
    assert 0.25 < np.mean(np.array(numbers) == 2) < 0.8
    assert np.mean(numbers) < 4.0


def test_the_more_noise_the_fewer_features_stand_out():
    x, y = mixed(2)
    y = y + 0.5 * np.random.default_rng(0).normal(size=ROWS)
    numbers = [
        np.mean([len(chosen(x, y / y.std(), None, sigma, seed)) for seed in range(10)])
        for sigma in (1e-6, 100.0, 10_000.0)
    ]
    assert numbers[0] > numbers[1] > numbers[2]
    assert numbers[2] < 3.0


@pytest.mark.parametrize("kind", ["zeros", "copies", "ones", "negative", "huge"])
def test_any_matrix_gets_an_ordinary_answer(kind):
    x = np.repeat(np.arange(10.0)[:, None], 5, axis=1)
    size = 6
    gram = {
        "zeros": np.zeros((size, size)),
        "copies": np.column_stack([np.ones(10), x]).T @ np.column_stack([np.ones(10), x]),
        "ones": np.ones((size, size)),
        "negative": -np.eye(size),
        "huge": 1e60 * np.diag(np.arange(size) % 2.0),
    }[kind]
    for sigma, k in product([1e-100, 1e-6, 1e6, 1e30], [1, 3, 4, None]):
        given = NoisyProducts(gram, gram[0], 1.0, sigma, sigma, 1.0)
        with np.errstate(all="raise"):
            found = select_features(given, k, np.ones(5, dtype=bool))
        assert len(set(found)) == len(found) == (k or len(found)), (sigma, k)
        assert 1 <= len(found) <= 4, (sigma, k)


def test_what_adds_nothing_stands_out_as_far_as_is_said():
    largest, found = [], []
    for seed in range(60):
        generator = np.random.default_rng(seed)
        x = generator.normal(size=(ROWS, 6))
        y = x[:, 0] + generator.normal(size=ROWS)
        given = moments(x, y, sigma=20.0, seed=seed)
        of_all = strengths(given, (0, 1)), [strengths(given, (0, j))[1] for j in range(1, 6)]
        found.append(of_all[0][0])
        largest.append(max(of_all[1]))
    assert min(found) > 10.0
    assert 20 <= sum(one > largest_of(5) for one in largest) <= 40  # a median

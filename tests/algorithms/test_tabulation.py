"""Tabulations: what they draw, that margins agree, and that intervals hold what they say."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import nolook
from nolook._defaults import MOST_ROWS_PER_UNIT
from nolook.algorithms.clip_choice import HALVES, chosen_clip
from nolook.algorithms.group_estimates import Groups, count_of, moments_of, quantiles_of, share_of
from nolook.algorithms.histogram_noise import BinNoise
from nolook.algorithms.margins import subsets
from nolook.algorithms.tabulation import tabulation
from nolook.errors import ParameterError
from nolook.privacy.accounting import total_delta
from nolook.privacy.guarantee import Budget, GaussianEvent, PureEvent
from nolook.privacy.noise import SeededSource

NAMES = ["a", "b", "r", "y", "z"]
LEVELS = {"a": ["0", "1", "2", "3"], "b": ["0", "1", "2"]}
AT = [0.1, 0.5, 0.9]
MARGINS = subsets([(0, 1)])
GROUPS = Groups.of(MARGINS, [6, 5])


def _people(rows, generator):
    a = generator.choice(4, rows, p=[0.1, 0.2, 0.3, 0.4])
    b = generator.integers(0, 3, rows)
    y = np.exp(generator.normal(0.1 * a, 0.5, rows))
    z = generator.normal(b, 1.0, rows)
    return pd.DataFrame(
        {"a": a, "b": b, "r": generator.random(rows) < 0.1 + 0.05 * a, "y": y, "z": z}
    )


def _plan(budget, relation="add-remove"):
    return tabulation(budget, relation, [(0, 1), (0, 1, 2)], [(0, 1)], [3, 4], [3])


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6), Budget(0.01, 1e-9)])
def test_a_plan_costs_its_budget(budget, relation):
    events = _plan(budget, relation).events()
    assert total_delta(events, budget.epsilon) <= budget.delta
    kinds = {type(each) for each in events}
    assert len(kinds) == 1
    # And not much less.
    dearer = [
        type(each)(each.name, 1.01 * getattr(each, "mu", 0.0) or 1.01 * each.epsilon)
        for each in events
    ]
    if kinds == {GaussianEvent} or not budget.delta:
        assert total_delta(dearer, budget.epsilon) > budget.delta


def test_noise_is_that_which_is_less():
    counts = tabulation(Budget(1.0, 1e-6), "add-remove", [(0,)], [(0,)], [], [])
    many = tabulation(Budget(1.0, 1e-6), "add-remove", [(j,) for j in range(20)], [()], [], [])
    assert {type(each) for each in counts.events()} == {PureEvent}
    assert {type(each) for each in many.events()} == {GaussianEvent}


def test_too_small_a_budget_is_refused():
    with pytest.raises(ParameterError, match="epsilon"):
        _plan(Budget(1e-6))
    many = [(0,)] * 3000
    with pytest.raises(ParameterError, match="epsilon"):
        tabulation(Budget(2e-6), "add-remove", many, [], [], [])
    codes = nolook.read_table(pd.DataFrame({"g": ["a"]}), categories={"g": ["a"]}).as_codes()
    least = tabulation(Budget(1e-4), "add-remove", many, [], [], [])
    least.for_rows_per_unit(MOST_ROWS_PER_UNIT).run(codes, SeededSource(0), print)


def _estimates(released):
    found = {"count": count_of(GROUPS, released), "share": share_of(GROUPS, released, 2, 1, 2)}
    for column in (3, 4):
        _, _, found["mean", column], _, found["deviation", column] = moments_of(
            GROUPS, released, column
        )
    quantiles = quantiles_of(GROUPS, released, 3, AT)
    return found | {("quantile", at): each for at, each in zip(AT, quantiles, strict=True)}


def _truth(rows):
    return {
        "count": len(rows), "share": rows.r.mean(), ("mean", 3): rows.y.mean(),
        ("mean", 4): rows.z.mean(), ("deviation", 3): rows.y.std(), ("deviation", 4): rows.z.std(),
        **{("quantile", at): rows.y.quantile(at) for at in AT},
    }  # fmt: skip


def _truths(rows):
    """Return the truth of every group of enough rows."""
    found = {}
    for place, (own, codes) in enumerate(GROUPS.of_each()):
        chosen = np.logical_and.reduce(
            [
                np.full(len(rows), True),
                *(rows[NAMES[d]].to_numpy() == code for d, code in zip(own, codes, strict=True)),
            ]
        )
        if chosen.sum() >= 200:
            found[place] = _truth(rows[chosen])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_intervals_hold_as_often_as_they_say(delta):
    generator = np.random.default_rng(0)
    people, plan, source = _people(200_000, generator), _plan(Budget(1.0, delta)), SeededSource(1)
    whole, inside = _truths(people), {}
    for _ in range(25):
        rows = people.iloc[generator.integers(0, len(people), 12_000)]
        table = nolook.read_table(rows, False, features=NAMES, categories=LEVELS)
        found = _estimates(plan.run(table.as_codes(NAMES), source, lambda _: None))
        for place, truth in _truths(rows).items():
            for name, own in truth.items():
                value, low, high, noise_low, noise_high = (each[place] for each in found[name])
                if math.isnan(value):  # its own noise hides it
                    continue
                expected = whole[place][name] * (0.06 if name == "count" else 1.0)
                held = inside.setdefault(name, [])
                held.append((noise_low <= own <= noise_high, low <= expected <= high))
    for name, held in inside.items():
        noise, total = np.mean(held, axis=0)
        # Noise hides some deviations, and what clipping may take from squares is an upper bound.
        squared = name[0] == "deviation"
        assert len(held) > (120 if squared else 250), name
        # Intervals of noise 30 % smaller would hold 83 %. Smoothing lowers the noise of quantiles.
        most = 0.99 if name[0] == "quantile" else 1.001 if squared else 0.998
        assert 0.91 < noise < most, name
        assert 0.92 < total < most, name


def test_margins_agree_and_a_unit_of_many_rows_counts_once():
    generator = np.random.default_rng(1)
    rows = _people(4000, generator)
    rows["id"] = np.minimum(rows.index, 3000)  # the last one has 1,000 rows
    table = nolook.read_table(rows, False, features=NAMES, categories=LEVELS, unit="id")
    released = _plan(Budget(50.0)).run(table.as_codes(NAMES), SeededSource(0), lambda _: None)
    counts = released.counts
    assert abs(counts[()].values - 3001) < 20
    for own in MARGINS:
        np.testing.assert_allclose(counts[own].values.sum(), counts[()].values)
    sums = released.sums[3].moments
    np.testing.assert_allclose(sums[0, 1].values.sum(axis=(0, 1)), sums[()].values)


def test_a_column_of_which_nothing_is_detected_gives_numbers_without_raising():
    for rows in (0, 1, 3):
        frame = _people(10, np.random.default_rng(2)).iloc[:rows]
        table = nolook.read_table(frame, False, features=NAMES, categories=LEVELS)
        released = _plan(Budget(0.1)).run(table.as_codes(NAMES), SeededSource(3), lambda _: None)
        assert np.isfinite(released.sums[3].moments[()].values).all()


@pytest.mark.parametrize("spread", [1e-200, 1.0, 1e250])
def test_the_clip_grows_with_the_tail_and_the_unit(spread):
    generator = np.random.default_rng(4)
    edges = spread * np.exp2(HALVES)
    clips = []
    for values in (generator.random(20_000), np.exp(generator.normal(0, 1.5, 20_000))):
        counts = np.bincount(np.searchsorted(edges, spread * values), minlength=edges.size + 1)
        noisy = counts + generator.normal(0, 5, counts.size)
        clips.append(chosen_clip(noisy, edges, 0.0, BinNoise(5.0), 5.0)[0] / spread)
    assert 0.7 <= clips[0] <= 3.0
    assert clips[1] > 5.0
    assert chosen_clip(np.zeros(edges.size + 1), edges, 0.0, BinNoise(5.0), 5.0)[1] == 0.0


def test_no_mean_is_known_where_most_values_are_one_and_the_others_are_hidden():
    generator, edges = np.random.default_rng(7), np.exp2(HALVES)
    counts = np.zeros(edges.size + 1)
    counts[16] = 3_000.0
    noisy = counts + generator.normal(0.0, 20.0, counts.size)
    assert chosen_clip(noisy, edges, 0.85, BinNoise(20.0), 20.0)[1] == math.inf
    assert chosen_clip(noisy, edges, 0.0, BinNoise(20.0), 20.0)[1] < math.inf  # as of 0 and 1
    noisy[24] += 400.0
    assert chosen_clip(noisy, edges, 0.85, BinNoise(20.0), 20.0)[1] < math.inf
    noisy[-1] += 400.0
    assert chosen_clip(noisy, edges, 0.0, BinNoise(20.0), 20.0)[1] == math.inf


def test_means_of_columns_that_are_mostly_one_value_hold_where_they_are_shown():
    generator, rows = np.random.default_rng(8), 3_500
    shown = 0
    for seed in range(12):
        few = generator.random(rows) < 0.12
        columns = {
            "stay": np.where(few, generator.integers(0, 90, rows), 90.0),
            "cost": np.where(few, generator.lognormal(7.0, 1.0, rows), 0.0),
            "half": generator.integers(0, 2, rows),
        }
        table = nolook.read_table(pd.DataFrame(columns), False)
        found = nolook.describe(table, epsilon=0.4, random_state=seed).to_frame()
        means = found[found.what == "mean"].set_index("column")
        for name, values in columns.items():
            low, high = means.low[name], means.high[name]
            assert math.isnan(low) or low <= values.mean() <= high
        assert means.value.notna()["half"]
        shown += means.value.notna().sum() - 1
    assert shown < 24


def test_what_clipping_may_move_follows_the_tail():
    generator, edges = np.random.default_rng(5), np.exp2(HALVES)
    noise = BinNoise(20.0, laplace=True)
    allowed, held, squares, all_squares = [], [], [], []
    for draw in (generator.normal, generator.lognormal):
        for _ in range(40):
            far = np.abs(draw(size=10_000) - (draw == generator.lognormal) * math.exp(0.5))
            counts = np.bincount(np.searchsorted(edges, far), minlength=edges.size + 1)
            noisy = counts + generator.laplace(scale=20.0 / math.sqrt(2.0), size=counts.size)
            clip, clipped, squared, beyond, _ = chosen_clip(noisy, edges, 0.0, noise, 20.0)
            allowed.append(clipped)
            taken = np.square(far).mean() - np.square(far.clip(0.0, clip)).mean()
            all_squares.append((taken <= squared * clip**2, squared * clip**2))
            squares.append(clip**2 * beyond / max(np.square((far - clip).clip(0.0)).mean(), 1e-3))
            held.append((far - clip).clip(0.0).mean() <= 1.96 * clipped)
    normal, heavy = np.median(np.reshape(allowed, (2, -1)), axis=1)
    assert normal < 0.015 < heavy
    assert np.mean(held[:40]) > 0.95
    assert np.mean(held[40:]) > 0.9
    assert 0.5 < np.median(squares[40:]) < 10.0
    taken, most = np.reshape(all_squares, (2, 40, 2)).transpose(2, 0, 1)
    assert taken.mean(axis=1).min() > 0.75
    assert np.median(most[0]) < 0.3


@pytest.mark.parametrize(
    ("sigma", "epsilon"),
    [(1.5, 1.0), *(pytest.param(s, 0.5, marks=pytest.mark.slow) for s in (1.0, 1.5))],
)
def test_means_of_skewed_columns_are_covered(sigma, epsilon):
    generator, held = np.random.default_rng(9), []
    for seed in range(12):
        columns = {f"x{j}": generator.lognormal(7.0, sigma, 3_500) for j in range(8)}
        table = nolook.read_table(pd.DataFrame(columns), False)
        found = nolook.describe(table, epsilon=epsilon, random_state=seed).to_frame()
        means = found[found.what == "mean"].set_index("column")
        truths = pd.Series({name: values.mean() for name, values in columns.items()})
        held.extend(((means.low <= truths) & (truths <= means.high))[means.value.notna()])
    assert len(held) > 48
    # With tails that fall at once by a quarter or more (a bin of half an octave): .2 to .5. The
    # noise of the smallest budget hides a fourth of the rows, where all of the longest tail is.
    assert np.mean(held) > (0.6 if (sigma, epsilon) == (1.5, 0.5) else 0.75)


@pytest.mark.parametrize("epsilon", [0.3, pytest.param(1.0, marks=pytest.mark.slow)])
def test_a_deviation_is_within_its_interval_or_not_shown_where_values_are_clipped(epsilon):
    generator, held, shown = np.random.default_rng(6), [], []
    skewed = np.exp(1.2 * generator.normal(size=14_000))
    frame = pd.DataFrame({"skewed": skewed, "plain": generator.normal(size=14_000)})
    table = nolook.read_table(frame)
    for seed in range(15):
        found = nolook.describe(table, epsilon=epsilon, random_state=seed).to_frame()
        found = found[found.what == "deviation"].set_index("column")
        shown.append(np.isfinite(found.value[["skewed", "plain"]]))
        low, high = found.low["skewed"], found.high["skewed"]
        held.append(np.isnan(low) or low <= skewed.std() <= high)
    assert np.mean(held) > 0.85
    assert np.mean(shown, axis=0)[1] > 0.7

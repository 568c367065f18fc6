"""The experiments of Dick et al.: DPKendall as published, counterexamples, a quick run of all."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import nolook
from nolook.kernels.inversions import pair_differences
from nolook.privacy.guarantee import PureEvent
from nolook.privacy.noise import SeededSource
from nolook.statistics.kendall import KENDALL_UNIT, KendallRows
from nolook.tables import table_from_arrays
from papers.command import main
from papers.dick2023.counterexamples import loss_of_equal_parts, moves_of_tau, tau_b_of_one_row
from papers.dick2023.experiments import FOR_ROWS, plan_five, plan_ten
from papers.dick2023.kendall import (
    PublishedKendallSelector,
    published_sensitivity,
    without_ties,
)
from papers.dick2023.pages import PAPER, medians
from papers.dick2023.published import FIGURE_4, FIGURE_5, METHODS, TASKS
from papers.swope2024 import PublishedSISSelector

pytestmark = pytest.mark.papers


def test_tau_b_moves_by_half_the_rows_and_tau_by_three_halves():
    assert tau_b_of_one_row(100) == 50
    assert moves_of_tau() == (-1.5, 1.0)


def test_a_row_removed_from_equal_parts_costs_more_than_epsilon():
    assert loss_of_equal_parts(7) == pytest.approx(1.67, abs=0.005)
    assert loss_of_equal_parts(9) == pytest.approx(1.80, abs=0.005)


def sizes(x, y):
    """Return the size of tau of columns without ties, in the paper's own formula."""
    n = len(x)
    pairs = itertools.combinations(zip(x, y, strict=True), 2)
    discordant = sum((a - b) * (c - d) < 0 for (a, c), (b, d) in pairs)
    return abs(n / 2 - 2 * discordant / (n - 1)) if n > 1 else n / 2


def test_a_row_moves_the_published_score_by_its_sensitivity():
    moves = []
    for n in range(3, 6):
        for order in itertools.permutations(range(n)):
            for gone in range(n):
                kept = [i for i in range(n) if i != gone]
                fewer = sizes(kept, [order[i] for i in kept])
                moves.append(abs(sizes(range(n), order) - fewer))
    assert max(moves) == published_sensitivity(0) / KENDALL_UNIT == 1.5
    assert published_sensitivity(1) == 2 * published_sensitivity(0)


def test_ties_are_broken_at_random_and_order_is_kept():
    column = np.array([3.0, 1.0, 1.0, 1.0, 7.0])
    orders = Counter(tuple(without_ties(column, SeededSource(s))) for s in range(600))
    assert all(order[0] == 3 and order[4] == 4 for order in orders)
    assert len(orders) == 6
    assert min(orders.values()) > 60


def law(scores, epsilon, sensitivity):
    weights = np.exp(epsilon * np.array(scores) / (2 * sensitivity))
    return weights / weights.sum()


def test_choices_follow_the_published_mechanism():
    # No ties, so that the law is that of scores alone.
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(12, 3)), generator.normal(size=12)
    epsilon, draws = 4.0, 4000
    release = PublishedKendallSelector(2, epsilon).plan().release
    table = table_from_arrays(X, y)
    counts = Counter(
        release.choose(table, 0, SeededSource(seed), lambda _: None).features
        for seed in range(draws)
    )
    ranked = KendallRows(4).update(np.vstack([X.T, y])).value
    label = abs(pair_differences(ranked[3], ranked[:3])) / 11
    first = law(label, epsilon / 2, 1.5)
    for one in range(3):
        left = [j for j in range(3) if j != one]
        scores = label[left] - abs(pair_differences(ranked[one], [ranked[j] for j in left])) / 11
        for other, chance in zip(left, law(scores, epsilon / 2, 3.0), strict=True):
            expected = draws * first[one] * chance
            assert abs(counts[one, other] - expected) < 5 * np.sqrt(expected) + 5


def test_the_published_selector_is_private_and_spends_its_epsilon(tmp_path):
    X = np.random.default_rng(0).normal(size=(4000, 5))
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(3.0, 1e-4), name="a") as ledger:
        fitted = PublishedKendallSelector(2, 1.0).fit(X, 2 * X[:, 3] + X[:, 1], ledger=ledger)
        assert ledger.history()[0].cost == nolook.Budget(1.0, 0.0)
    assert sorted(fitted.order_) == [1, 3]
    (event,) = fitted.privacy_.mechanisms
    assert isinstance(event, PureEvent)
    assert event.epsilon == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("published", [PublishedKendallSelector, PublishedSISSelector])
def test_a_published_selector_is_told_how_many_features(published):
    with pytest.raises(nolook.ParameterError, match="k is 'auto'; expected a number"):
        published("auto").plan()


def test_numbers_of_the_paper_add_up_to_what_its_text_says():
    # Section 4.3.2: tables with a positive R2 at k = 5, and 41 and 19 of all methods together.
    positive = dict(zip(METHODS, (np.array(list(FIGURE_4.values())) > 0).sum(axis=0), strict=True))
    assert [positive[m] for m in ("K-Tukey", "L-Tukey", "K-BAS", "L-BAS")] == [14, 10, 7, 5]
    assert sum(positive.values()) - positive["NonDP"] == 41
    assert (np.array(list(FIGURE_5.values()))[:, 1:] > 0).sum() == 19
    assert set(TASKS.values()) <= set(FIGURE_4)


def test_every_method_is_tried_on_every_table_of_the_paper():
    five, ten = pd.DataFrame(plan_five(False)), pd.DataFrame(plan_ten(False))
    counts = five[five.table.isin(set(TASKS))].groupby(["table", "method"]).size()
    assert len(counts) == len(TASKS) * (len(METHODS) + len(FOR_ROWS))
    assert set(counts) == {10}
    assert {TASKS[table] for table in ten.table} == set(FIGURE_5) & set(TASKS.values())


def test_a_failed_trial_is_minus_infinity_in_a_median():
    rows = [("a", "tukey", 0, r2) for r2 in (0.5, -np.inf, 0.7, -np.inf)]
    rows += [("a", "linear", 0, r2) for r2 in (0.5, 0.6, 0.7, 0.8)]
    frame = pd.DataFrame(rows, columns=["table", "method", "k", "r2"])
    found = medians({"five": frame}, "five")
    assert found["tukey"]["a"] == -np.inf
    assert found["linear"]["a"] == pytest.approx(0.65)


@pytest.mark.slow
def test_a_quick_run_makes_every_figure(shared_data, tmp_path):
    data = shared_data("cpu_act.parquet").parent
    main(PAPER, ["--quick", "--jobs", "1", "--data", str(data), "--out", str(tmp_path)])
    page = (tmp_path / "README.md").read_text()
    assert "Not made yet" not in page
    assert "| cpu_act, paper | 0.730 | 0.780 | failed |" in page
    assert {path.name for path in tmp_path.glob("*.svg")} == {"figure1.svg", "figure2.svg"}
    assert "| K-Tukey | 14 | 2 |" in (tmp_path / "beside.md").read_text()

"""The experiments of Swope et al.: their parts, what they must show, and a quick run of all."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from nolook.audit.exact_laws import canonical_law, peeling_law
from nolook.privacy.mechanisms.top_k import canonical_lipschitz, peeling
from nolook.privacy.noise import SeededSource
from papers.command import main
from papers.swope2024 import experiments, published_law
from papers.swope2024.counterexamples import chances, classes, score
from papers.swope2024.gaps import chance_of_the_best, gap_for_half, gap_from_neighbour
from papers.swope2024.pages import PAPER
from papers.swope2024.tables import PAPER_R2, VARIANTS, load, proxy, synthetic
from papers.tables import DATA
from tests.conftest import skip_or_fail

pytestmark = pytest.mark.papers


@pytest.mark.parametrize(("d", "k"), [(6, 3), (7, 1), (5, 4)])
@pytest.mark.parametrize("gap", [0.5, 6.0, 20.0])
def test_the_chance_of_the_best_is_that_of_the_exact_laws(d, k, gap):
    scores = [gap] * k + [0.0] * (d - k)
    best = tuple(range(k))
    at_once = canonical_law(scores, k, 1.0)[best]
    peeled = peeling_law(scores, k, 1.0)
    assert chance_of_the_best(d, k, gap, "canonical-lipschitz") == pytest.approx(at_once)
    one_by_one = sum(peeled[order] for order in permutations(best))
    assert chance_of_the_best(d, k, gap, "peeling") == pytest.approx(one_by_one)


@pytest.mark.parametrize(("d", "k"), [(2000, 5), (20, 10)])
def test_at_that_gap_the_mechanisms_choose_the_best_half_of_the_time(d, k):
    for name, mechanism in (("canonical-lipschitz", canonical_lipschitz), ("peeling", peeling)):
        scores = np.zeros(d)
        scores[:k] = gap_for_half(d, k, name)
        source = SeededSource(1)
        right = [set(mechanism(scores, k, 1.0, 1.0, source)) == set(range(k)) for _ in range(400)]
        assert 0.4 < np.mean(right) < 0.6


@pytest.mark.parametrize("k", [2, 5])
def test_at_that_gap_a_neighbour_is_passed_over_nine_times_of_ten(k):
    for name, mechanism in (("canonical-lipschitz", canonical_lipschitz), ("peeling", peeling)):
        gap = gap_from_neighbour(k, name)
        scores = np.array([*[1e6] * (k - 1), gap, 0.0, *[-1e6] * 3])
        source = SeededSource(2)
        right = [k - 1 in mechanism(scores, k, 1.0, 1.0, source) for _ in range(1000)]
        assert 0.87 < np.mean(right) < 0.93


def test_peeling_needs_less_where_few_of_many_are_chosen_and_more_where_half_are():
    for d, k in ((456, 5), (22283, 10)):
        assert gap_for_half(d, k, "peeling") < gap_for_half(d, k, "canonical-lipschitz")
    assert gap_for_half(200, 100, "peeling") > gap_for_half(200, 100, "canonical-lipschitz")


def accuracy(data, table, score, mechanism, trials):
    """Return the mean share of the true k at every epsilon, shape (k, epsilons)."""
    screened = load(table, data)
    truth = proxy(screened.X, screened.y, VARIANTS[0])[0]
    rows = [experiments.selection_row(data, table, score, trial) for trial in range(trials)]
    return np.array(
        [
            [[np.isin(one, truth[: len(one)]).mean() for one in own] for own in row[mechanism]]
            for row in rows
        ]
    ).mean(axis=0)


def test_private_selection_is_better_than_two_stage(shared_data):
    data = shared_data("microarray_sorlie.parquet").parent
    ours = accuracy(data, "sorlie", experiments.KENDALL, "peeling", 15)
    two_stage = accuracy(data, "sorlie", experiments.TWO_STAGE, "peeling", 15)
    for gain in ours - two_stage:
        assert gain.max() > 0.25
        assert gain.min() > -0.1


def test_screening_is_more_stable_than_two_stage():
    for weights in experiments.WEIGHTS:
        row = experiments.stability_row(DATA, weights, 0)
        sis, two_stage = (np.array(row[name]) for name in ("SIS", experiments.TWO_STAGE))
        assert sis.sum() == two_stage.sum() == experiments.STEP * experiments.STABLE_K
        assert sis[:5].min() > 1.3 * two_stage[:5].max()
        assert sis[5:].max() < 0.2 * experiments.STEP


def test_the_truth_of_the_synthetic_table_is_what_made_it():
    made = synthetic()
    assert made.X.shape == (100, 2000)
    assert made.sizes == (5, 8)
    coefficients = np.linalg.lstsq(made.X[:, made.truth], made.y)[0]
    # Weights have a size of at least 4 ln(n)/sqrt(n), and come in decreasing order but for noise.
    assert (abs(coefficients) > 1.2).all()
    assert abs(coefficients[0]) > abs(coefficients[-1])


def test_table_1_is_the_papers():
    path = DATA.parent / "papers" / "swope2024-dp-sis.txt"
    if not path.is_file():
        skip_or_fail("needs the text of the paper in ../shared/papers")
    text = "".join(path.read_text(encoding="utf-8").split())
    # Some lines of the table ran into each other in the text, letter by letter.
    woven = {
        "chiaretti": "".join(a + b for a, b in zip("0.2705", "0.5879", strict=True)),
        "chowdary": "".join(a + b for a, b in zip("0.8338", "0.7870", strict=True)),
        "christensen": "".join(a + b for a, b in zip("0.8338", "0.7870", strict=True)),
    }
    for name, r2 in PAPER_R2.items():
        printed = f"{r2:.4f}"
        assert woven.get(name, printed) in text, name
        if name in woven:
            assert printed in (woven[name][::2], woven[name][1::2])


def test_the_published_score_is_not_of_sensitivity_1():
    x = [1.0, -1.0] * 50
    assert score(x, x) - score([*x, 1e6], [*x, 0.0]) > 90.0


def test_the_published_classes_overlap_and_the_order_of_ties_matters():
    listed = [own for sets in classes(6, 3).values() for own in sets]
    assert len(listed) == 32
    assert len(set(listed)) == math.comb(6, 3) == 20
    here, there = chances(range(6), 3), chances(range(5, -1, -1), 3)
    assert sum(here.values()) == pytest.approx(1.0)
    assert max(here[own] / there[own] for own in here) == pytest.approx(3.0)
    # As the mechanism's own law has it, for scores as good as equal.
    law = published_law([1e-9 * (6 - i) for i in range(6)], 3, 1e-3)
    for own, chance in law.items():
        assert here[frozenset(own)] == pytest.approx(chance, rel=1e-2)


def test_a_quick_run_makes_every_figure(shared_data, tmp_path):
    data = shared_data("microarray_sorlie.parquet").parent
    main(PAPER, ["--quick", "--jobs", "1", "--data", str(data), "--out", str(tmp_path)])
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "Not made yet" not in text
    for number in (1, 3, 5, 6, 7, 8):
        assert f"figure_{number}.svg" in text
        assert (tmp_path / f"figure_{number}.svg").stat().st_size > 1000

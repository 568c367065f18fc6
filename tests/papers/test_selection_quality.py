from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from papers.swope2024.quality import is_good, is_great, is_top


def by_definition(scores, selected, inner, outer):
    """Look for an order of the scores, ties in any order, for which the two demands hold."""
    for order in permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            held = set(selected)
            if set(order[:inner]) <= held <= set(order[:outer]):
                return True
    return False


@pytest.mark.parametrize(
    "scores", [[5, 1, 4, 3, 2], [2, 1, 2, 1, 2], [0, 0, 0, 0, 0], [1, 2, 2, 2, 0]]
)
def test_selections_are_judged_as_defined(scores):
    for k in (1, 2, 3):
        for selected in combinations(range(5), k):
            chosen = np.array(selected)
            for judge, inner, outer in (
                (is_top, k, k),
                (is_great, k // 10, 11 * k // 10),
                (is_good, k // 100, 3 * k // 2),
            ):
                assert judge(np.array(scores), chosen) == by_definition(
                    scores, selected, inner, outer
                )


def test_the_papers_example_of_200():
    scores = -np.arange(1000.0)
    great = np.r_[0:20, 40:220]
    assert is_great(scores, great)
    assert not is_top(scores, great)
    assert not is_great(scores, np.r_[0:19, 39:220])
    assert not is_great(scores, np.r_[0:20, 40:219, 220])
    assert is_good(scores, np.r_[0:2, 102:300])
    assert not is_good(scores, np.r_[0, 2, 102:300])
    assert not is_good(scores, np.r_[0:2, 103:301])
    assert is_top(scores, np.arange(200)[::-1])

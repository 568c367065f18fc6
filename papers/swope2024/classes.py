"""The canonical Lipschitz mechanism with the published classes, which overlap, by listing them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from nolook.audit.exact_laws import race_law

__all__ = ["published_law", "theorem_4_1"]


def published_law(
    scores: Sequence[float], k: int, epsilon: float, gamma: float = 0.5
) -> dict[tuple[int, ...], float]:
    """Return the law of the set of k features, for scores of sensitivity 1.

    A class's bodies may hold the missing index, so classes overlap: NOT private, since the order of
    nearly equal scores changes a set's chance by a factor of k at any epsilon.

    Parameters
    ----------
    scores : sequence of float
    k : int
    epsilon : float
        What the paper claims.
    gamma : float, default=0.5
        The loss of a set is (1 - gamma) times the best score missed less gamma times the worst one
        held; the paper has 1/2.

    Returns
    -------
    dict of tuple of int to float
        The chance of each set.
    """
    d = len(scores)
    order = sorted(range(d), key=lambda i: -scores[i])
    x = [scores[i] for i in order]
    labels: list[tuple[int, int]] = [(k - 1, k)]
    bodies: list[list[tuple[int, ...]]] = [[()]]
    for last in range(k + 1, d + 1):
        for head in range(k):
            labels.append((head, last))
            bodies.append(list(combinations(range(head, last - 1), k - head - 1)))
    utilities = [
        -epsilon / 2 * ((1 - gamma) * x[head] - gamma * x[last - 1]) for head, last in labels
    ]
    law = dict.fromkeys(combinations(range(d), k), 0.0)
    sizes = np.array([len(body) for body in bodies])
    chances = race_law(np.array(utilities), sizes)
    for (head, last), body, chance in zip(labels, bodies, chances, strict=True):
        for part in body:
            subset = tuple(sorted(order[i] for i in (*range(head), *part, last - 1)))
            law[subset] += chance / len(body)
    return law


def theorem_4_1(d: int, k: int, gap: float, epsilon: float, gamma: float = 0.5) -> float:
    """Return the bound of Theorem 4.1 on the chance of choosing exactly the k best of d.

    In the paper's exponent k log(d/k) + log c is the logarithm of the number of sets.

    Parameters
    ----------
    d, k : int
    gap : float
        xi: between the k-th score and the next, in sensitivities.
    epsilon : float
    gamma : float, default=0.5

    Returns
    -------
    float
        From below; 0 where the theorem says nothing.

    Examples
    --------
    >>> round(theorem_4_1(10, 3, 40.0, 1.0), 4)
    0.9946
    """
    sets = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
    return max(0.0, -math.expm1(sets - gap * gamma * epsilon / 2))

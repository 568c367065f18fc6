"""Top-k mechanisms by listing all subsets: slow, plain and independent of the library's classes."""

from __future__ import annotations

from itertools import combinations, permutations

import mpmath
import numpy as np


def loss(scores, subset):
    """Return half the distance from the best score missed to the worst one held, or 0."""
    held = [scores[i] for i in subset]
    missed = [score for i, score in enumerate(scores) if i not in subset]
    return max(0.0, (max(missed) - min(held)) / 2)


def race_law(utilities, sizes=None):
    """Return each class's chance of the largest utility plus noise, the best of its members'.

    Written with p = exp(-noise), a class's best value is below a level with probability
    (1 - w p)^m, a polynomial: Gaussian quadrature integrates it without error.
    """
    utilities = np.asarray(utilities, dtype=float)
    sizes = np.ones(len(utilities)) if sizes is None else np.asarray(sizes, dtype=float)
    weights = np.exp(utilities - utilities.max())
    nodes, masses = np.polynomial.legendre.leggauss(int(sizes.sum()) // 2 + 2)
    p = (nodes + 1) / 2
    below = 1 - weights[:, None] * p
    everyone = np.prod(below ** sizes[:, None], axis=0)
    return sizes * weights * np.sum(everyone / below * masses / 2, axis=1)


def canonical_law(scores, k, epsilon):
    """Return the canonical Lipschitz mechanism's law over subsets, as a dict."""
    subsets = list(combinations(range(len(scores)), k))
    chances = race_law([-epsilon / 2 * loss(scores, subset) for subset in subsets])
    return dict(zip(subsets, chances, strict=True))


def published_law(scores, k, epsilon):
    """Return the law with the published classes, whose bodies may hold the missing index."""
    d = len(scores)
    order = sorted(range(d), key=lambda i: -scores[i])
    x = [scores[i] for i in order]
    labels, bodies = [(k - 1, k)], [[()]]
    for last in range(k + 1, d + 1):
        for head in range(k):
            labels.append((head, last))
            bodies.append(list(combinations(range(head, last - 1), k - head - 1)))
    utilities = [-epsilon / 2 * (x[head] - x[last - 1]) / 2 for head, last in labels]
    law = dict.fromkeys(combinations(range(d), k), 0.0)
    chances = race_law(utilities, [len(body) for body in bodies])
    for (head, last), body, chance in zip(labels, bodies, chances, strict=True):
        for part in body:
            subset = tuple(sorted(order[i] for i in (*range(head), *part, last - 1)))
            law[subset] += chance / len(body)
    return law


def peeling_law(scores, k, epsilon):
    """Return the law of peeling over ordered choices, as a dict."""
    weights = [mpmath.exp(mpmath.mpf(epsilon) / k * score / 2) for score in scores]
    law = {}
    for order in permutations(range(len(scores)), k):
        chance, left = mpmath.mpf(1), mpmath.fsum(weights)
        for i in order:
            chance *= weights[i] / left
            left -= weights[i]
        law[order] = float(chance)
    return law

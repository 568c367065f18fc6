"""The published canonical Lipschitz classes, which overlap, by listing them."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from nolook.audit.laws import race_law


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
    sizes = np.array([len(body) for body in bodies])
    chances = race_law(np.array(utilities), sizes)
    for (head, last), body, chance in zip(labels, bodies, chances, strict=True):
        for part in body:
            subset = tuple(sorted(order[i] for i in (*range(head), *part, last - 1)))
            law[subset] += chance / len(body)
    return law

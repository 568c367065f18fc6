"""What was corrected in the paper, or around it, each with a short example of why.

    python -m papers.dick2023.counterexamples

Plain Python: nothing here is nolook's. That the Tukey mechanism's guarantee is one of models is
shown in `papers/amin2023/counterexamples.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

from rich.console import Console

__all__ = ["loss_of_equal_parts", "moves_of_tau", "tau_b_of_one_row"]

#: Two features and the target.
Row = tuple[float, float, float]


def tau(x: Sequence[int], y: Sequence[int]) -> float:
    """Return (C - D)/(n - 1) for C concordant and D discordant pairs; tied pairs count 0."""
    pairs = combinations(range(len(x)), 2)
    signs = [(x[i] - x[j]) * (y[i] - y[j]) for i, j in pairs]
    return (sum(s > 0 for s in signs) - sum(s < 0 for s in signs)) / max(len(x) - 1, 1)


def tau_b(x: Sequence[int], y: Sequence[int]) -> float:
    """Return n/2 times tau-b, which divides by the pairs that are not tied; 0 where all are."""
    pairs = list(combinations(range(len(x)), 2))
    untied = [sum(column[i] != column[j] for i, j in pairs) for column in (x, y)]
    if 0 in untied:
        return 0.0
    return len(x) / 2 * tau(x, y) * (len(x) - 1) / math.sqrt(untied[0] * untied[1])


def tau_b_of_one_row(rows: int = 100) -> float:
    """Return the change of n/2 times tau-b by one row, in a column of zeros and a single 1.

    The paper's Lemma 3.2 is for columns without ties, which noise breaks. If ties remain and tau-b
    replaces the score, as in programs that use a library's tau, the claimed sensitivity of 3/2
    does not hold.

    Returns
    -------
    float
        At most 3/2 if the lemma held for it.
    """
    column = [0] * (rows - 1) + [1]
    return abs(tau_b(column, column) - tau_b(column[:-1], column[:-1]))


def moves_of_tau(rows: int = 4) -> tuple[float, float]:
    """Return the least and the largest change of the size of tau by a row, over all small tables.

    Ties count 0 and need no noise: the bound of 3/2 holds with them, and moves up are shorter than
    moves down. An exponential mechanism needs only half of the range, 5/4 instead of 3/2.

    Returns
    -------
    tuple of float
        At least -3/2, at most 1.
    """
    moves = []
    for n in range(1, rows + 1):
        for x, y in product(product(range(rows), repeat=n), repeat=2):
            moves.append(abs(tau(x, y)) - abs(tau(x[:-1], y[:-1])))
    return min(moves), max(moves)


def lasso_choice(part: Sequence[Row], sweeps: int = 2000) -> int:
    """Return the feature, 0 or 1, whose Lasso coefficient is largest; the penalty is 1.

    The intercept is a penalised column of ones (section 4.1), solved coordinate by coordinate.
    """
    columns = [[row[0] for row in part], [row[1] for row in part], [1.0] * len(part)]
    theta, left = [0.0, 0.0, 0.0], [row[2] for row in part]
    for _ in range(sweeps):
        for j, column in enumerate(columns):
            square = sum(x * x for x in column)
            pull = sum(x * r for x, r in zip(column, left, strict=True)) + square * theta[j]
            new = math.copysign(max(abs(pull) - len(part), 0.0), pull) / (square or 1.0)
            left = [r - x * (new - theta[j]) for x, r in zip(column, left, strict=True)]
            theta[j] = new
    return int(abs(theta[1]) > abs(theta[0]))


def equal_parts_law(rows: Sequence[Row], parts: int, epsilon: float) -> list[float]:
    """Return the chance of either feature by Algorithm 2 with k = 1, for `parts` or one row more.

    With one more, all pairs of rows are as likely to be the part of two.
    """
    pairs: list[tuple[int, ...]] = [()]
    if len(rows) > parts:
        pairs = list(combinations(range(len(rows)), 2))
    law = [0.0, 0.0]
    for pair in pairs:
        dealt = [[row] for place, row in enumerate(rows) if place not in pair]
        choices = [lasso_choice(part) for part in [*dealt, [rows[i] for i in pair]] if part]
        weights = [math.exp(epsilon * choices.count(feature) / 2) for feature in (0, 1)]
        law = [p + w / sum(weights) / len(pairs) for p, w in zip(law, weights, strict=True)]
    return law


def loss_of_equal_parts(parts: int = 7, epsilon: float = 1.0) -> float:
    """Return the privacy loss of Algorithm 2 when a row is removed, with parts of equal size.

    A single row votes for the first feature, which differs from row to row; two rows together fit
    the second, which is always 50. In the removed row the first feature is 0, so it votes for the
    second, too. With this row, two parts vote for the second feature in most partitions; without
    it none does, since no part has two rows.

    Returns
    -------
    float
        At most epsilon if Lemma 4.1 held for a row removed.
    """
    rows = [(100.0 * 1.5**place, 50.0, 1000.0) for place in range(parts)]
    whole = equal_parts_law([*rows, (0.0, 50.0, 1000.0)], parts, epsilon)
    less = equal_parts_law(rows, parts, epsilon)
    return max(abs(math.log(p / q)) for p, q in zip(whole, less, strict=True))


def main() -> None:
    """Print the examples."""
    say = Console(highlight=False).print
    say(f"tau-b of 100 rows: claimed 1.5, one row moves it by {tau_b_of_one_row():g}.")
    low, high = moves_of_tau()
    say(f"Equal parts, epsilon = 1: removing a row costs {loss_of_equal_parts():.2f}.")
    say(f"tau with ties counted 0: a row that is added moves it by {low:g} to {high:g}.")


if __name__ == "__main__":
    main()

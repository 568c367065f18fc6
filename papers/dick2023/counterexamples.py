"""What was corrected in the paper, or around it, each with a short example of why.

    python -m papers.dick2023.counterexamples

Plain Python: nothing here is nolook's. That the Tukey mechanism's guarantee is one of models, and
that equal parts change together, is shown in `papers/amin2023/counterexamples.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product

from rich.console import Console

__all__ = ["moves_of_tau", "tau_b_of_one_row"]


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
    """Return how far a row moves n/2 times tau-b, in a column of zeros and a single 1.

    The paper's Lemma 3.2 is of columns without ties, which its text has broken by noise. With ties
    left in and tau-b in the place of the score, as programs that take a library's tau do, the
    claimed sensitivity of 3/2 does not hold.

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


def main() -> None:
    """Print the examples."""
    say = Console(highlight=False).print
    say(f"tau-b of 100 rows: claimed 1.5, one row moves it by {tau_b_of_one_row():g}.")
    low, high = moves_of_tau()
    say(f"tau with ties counted 0: a row that is added moves it by {low:g} to {high:g}.")


if __name__ == "__main__":
    main()

"""What was corrected in the paper, each with a short example of why.

    python -m papers.amin2023.counterexamples

Plain Python: nothing here is nolook's. `papers/audit.py` draws from the whole published mechanism,
on models that pass its test nearly always.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console

__all__ = ["loss_of_a_replaced_model", "parts_that_change"]


def depth(models: Sequence[int], y: int) -> int:
    """Return the Tukey depth of a number among models of one coefficient."""
    return min(sum(model <= y for model in models), sum(model >= y for model in models))


def law(models: Sequence[int], epsilon: float, t: int) -> dict[int, float]:
    """Return the law of RestrictedTukeyEM on whole numbers: weights exp(epsilon depth), depth >= t.

    The factor is the paper's (section 3.3.1): it leaves out the 1/2 of the exponential mechanism.
    """
    deep = {y: depth(models, y) for y in range(min(models), max(models) + 1)}
    weights = {y: math.exp(epsilon * d) for y, d in deep.items() if d >= t}
    return {y: weight / sum(weights.values()) for y, weight in weights.items()}


def loss_of_a_replaced_model(epsilon: float = 0.5) -> float:
    """Return the largest privacy loss when a row changes one model into another.

    The paper's proof assumes that a neighbouring set has one more model, so that depths change in
    one direction. But a row changes a model: here it moves from the left end to the right one, so
    depth falls on the left and rises on the right, and the two changes add up.

    Returns
    -------
    float
        At most epsilon if the claim held.
    """
    left = [1000 * i for i in range(20)]
    right = list(range(left[-1] + 1, left[-1] + 21))
    models = left + right
    moved = [*models[1:], models[-1] + 1]
    first, second = law(models, epsilon, 10), law(moved, epsilon, 10)
    return max(abs(math.log(first[y] / second[y])) for y in first.keys() & second.keys())


def parts_that_change(rows: int = 11, parts: int = 3) -> int:
    """Return how many equal parts of a shuffled table change when a row is added at its end.

    The paper deals rows evenly (Algorithm 2, line 2) and lets one model change. Where every row
    draws its part by itself, one more row changes one part; cut into equal parts, it can change
    all.

    Returns
    -------
    int
    """

    def cut(n: int) -> list[range]:
        size = n // parts
        return [range(size * i, size * (i + 1)) for i in range(parts)]

    return sum(a != b for a, b in zip(cut(rows), cut(rows + 1), strict=True))


def main() -> None:
    """Print the examples."""
    say = Console(highlight=False).print
    epsilon = 0.5
    say(f"A model replaced: claimed {epsilon}, lost {loss_of_a_replaced_model(epsilon):.3f}.")
    say(f"Parts of a table cut into three that one more row changes: {parts_that_change()}.")


if __name__ == "__main__":
    main()

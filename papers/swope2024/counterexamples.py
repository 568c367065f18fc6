"""What was corrected in the paper, each with a short example of why.

    python -m papers.swope2024.counterexamples

Plain Python: nothing here is nolook's. `papers/audit.py` draws from what is published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from rich.console import Console

__all__ = ["chances", "classes", "score"]


def score(x: Sequence[float], y: Sequence[float]) -> float:
    """Return |x'y| after steps 1 and 2 of Algorithm 1: centred, divided by the largest size.

    The claim is that an additional row changes it by at most 1. But the value in that row can be
    the largest one, by which all others are divided.
    """

    def scaled(column: Sequence[float]) -> list[float]:
        mean = sum(column) / len(column)
        peak = max(abs(value - mean) for value in column)
        return [(value - mean) / peak for value in column]

    return abs(sum(a * b for a, b in zip(scaled(x), scaled(y), strict=True)))


def classes(d: int, k: int) -> dict[tuple[int, int], list[tuple[int, ...]]]:
    """Return the sets of each utility class by definition A.2; places start at 0, the best first.

    The body may hold the place h + 1, though the set's loss is that of a set that misses it: so a
    set is in several classes.
    """
    found = {(k - 1, k): [tuple(range(k))]}
    for t in range(k + 1, d + 1):
        for h in range(k):
            bodies = combinations(range(h, t - 1), k - h - 1)
            found[h, t] = [(*range(h), *body, t - 1) for body in bodies]
    return found


def chances(order: Sequence[int], k: int) -> dict[frozenset[int], float]:
    """Return each set's probability if all scores are nearly equal, and sorted in this order.

    All sets of all classes are then equally likely, at any epsilon; a set that is in several
    classes counts once for each.
    """
    listed = [own for sets in classes(len(order), k).values() for own in sets]
    found: dict[frozenset[int], float] = {}
    for places in listed:
        chosen = frozenset(order[place] for place in places)
        found[chosen] = found.get(chosen, 0.0) + 1 / len(listed)
    return found


def main() -> None:
    """Print the examples."""
    say = Console(highlight=False).print
    x = [1.0, -1.0] * 500
    moved = score(x, x) - score([*x, 1e6], [*x, 0.0])
    say(f"One row added to 1000: the score, claimed to move by 1, moves by {moved:.1f}.")
    sizes = sum(len(sets) for sets in classes(6, 3).values())
    say(f"Sets in all classes of 3 of 6: {sizes}; sets of 3 of 6: {math.comb(6, 3)}.")
    here, there = chances(range(6), 3), chances(range(5, -1, -1), 3)
    lost = max(abs(math.log(here[own] / there[own])) for own in here)
    say(f"Equal scores sorted the other way: a set's chance changes by a factor {math.exp(lost):g}")
    say("at every epsilon.")


if __name__ == "__main__":
    main()

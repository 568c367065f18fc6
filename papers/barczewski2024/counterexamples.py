"""What was corrected in the paper, each with a short example of why.

    python -m papers.barczewski2024.counterexamples

Plain Python: nothing here is nolook's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from rich.console import Console

__all__ = ["error_of_a_share", "group_sums", "nodes_needed", "thresholds"]

#: Neighbouring tables: one value is replaced by another one.
ROWS = (1.0, 2.0, 3.0, 4.0)
NEIGHBOUR = (1.0, 2.0, 3.0, 9.0)


def thresholds(values: Sequence[float], count: int) -> list[float]:
    """Return equally spaced thresholds from the smallest value to the largest (section 3.1).

    They are published without noise, and so are these two values.
    """
    low, high = min(values), max(values)
    return [low + (high - low) * i / (count - 1) for i in range(count)]


def error_of_a_share(levels: int, epsilon: float, rows: int) -> tuple[float, float]:
    """Return the squared error that theorem 3.1 states, and that of equation (2).

    The theorem speaks of shares and forgets that (2) divides the noise by the number of rows.
    """
    of_a_count = 2 * (levels + 1) ** 3 / epsilon**2
    return of_a_count, of_a_count / rows**2


def changes(levels: int, relation: str) -> Iterator[tuple[int, ...]]:
    """Yield what neighbours can change in the counts of 2^levels thresholds: 0 or 1 in each.

    A row added is counted from its threshold on; a row replaced from one threshold to another. A
    sign counts for nothing.
    """
    size = 2**levels
    for first in range(size):
        for last in range(first + 1, size + 1) if relation == "replace" else (size,):
            # All values are at most the last threshold, so its count changes with the rows alone.
            if relation == "add-remove" or last < size:
                yield tuple(int(first <= place < last) for place in range(size))


def nodes_needed(levels: int, relation: str) -> int:
    """Return the number of nodes whose noise must change by 1 to hide a row, by trying all.

    The paper has levels + 1 if a row is replaced.
    """

    @cache
    def fewest(change: tuple[int, ...], above: int) -> int:
        if len(change) == 1:
            return abs(change[0] - above)
        half = len(change) // 2
        return min(
            abs(own) + fewest(change[:half], above + own) + fewest(change[half:], above + own)
            for own in (-1, 0, 1)
        )

    return max((fewest(change, 0) for change in changes(levels, relation)), default=0)


def group_sums(probability: float, *, positive: bool) -> tuple[float, float, float, float]:
    """Return what a row adds to O_1, O_0, E_1 and E_0 of its group (Algorithm 2, lines 8 and 9).

    The paper gives each of these four a part of epsilon; together they move by 2.
    """
    return float(positive), float(not positive), probability, 1.0 - probability


def main() -> None:
    """Print the examples."""
    say = Console(highlight=False).print
    say(f"Thresholds of {ROWS}: {thresholds(ROWS, 4)}")
    say(f"Thresholds of {NEIGHBOUR}: {thresholds(NEIGHBOUR, 4)}. The new value is the last one.")
    stated, right = error_of_a_share(15, 1.0, 98_304)
    say(
        f"Squared error of a share of 98,304 rows, 2^15 thresholds, epsilon = 1: stated {stated:g},"
    )
    say(f"by equation (2) {right:.2g}.")
    for levels in range(1, 6):
        needed = {
            relation: nodes_needed(levels, relation) for relation in ("replace", "add-remove")
        }
        say(f"L = {levels}: nodes that a row changes, paper {levels + 1}, needed {needed}")
    moved = sum(group_sums(0.3, positive=True))
    say(f"A row moves the four sums of its group by {moved:g} together; the paper counts 4.")


if __name__ == "__main__":
    main()

"""The strength of a guarantee in words: the only place where epsilon and delta become sentences.

Pages, terminals, ledgers and messages take their words and verdicts from here. No numeric library.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from nolook._unit import ROW, Unit
from nolook._validation import one_line

#: A verdict on a guarantee, by its epsilon.
Strength: TypeAlias = Literal["strong", "moderate", "weak", "next to none"]


#: What a release without a unit assumes.
INDEPENDENT = (
    "Rows are treated as independent: a person with several rows is protected less, and errors are "
    "larger than stated."
)

#: By what neighbouring tables differ, by their relation.
CHANGES = {"add-remove": "added or removed", "replace": "replaced by another"}
_UP_TO: tuple[tuple[float, Strength], ...] = ((1.0, "strong"), (3.0, "moderate"), (8.0, "weak"))
_LARGEST_EPSILON = 8.0
# From here on delta alone exposes somebody in any table of a hundred rows.
_LARGEST_DELTA = 0.01
_HARDLY_PRIVATE = 99.9  # percent; more digits would only look like a protection


def strength(epsilon: float, delta: float = 0.0) -> Strength:
    """Return the verdict on a guarantee, whatever the table.

    Examples
    --------
    >>> [strength(epsilon) for epsilon in (1.0, 3.0, 8.0, 8.1)]
    ['strong', 'moderate', 'weak', 'next to none']
    """
    if delta > _LARGEST_DELTA:
        return "next to none"
    return next((word for most, word in _UP_TO if epsilon <= most), "next to none")


def chance_of_guessing(epsilon: float, delta: float) -> float:
    """Return the chance that an attacker who knows all else guesses which of two tables it was.

    With S the outcomes after which the first table is guessed, p and q their chances under the
    two: p <= e^epsilon q + delta and 1 - q <= e^epsilon (1 - p) + delta. Added up they bound
    (p + 1 - q)/2, the chance of being right.
    """
    odds = math.exp(-epsilon)
    return min((1.0 + delta * odds) / (1.0 + odds), 1.0)


def percent_of_guessing(epsilon: float, delta: float) -> str:
    """Return that chance in percent, rounded up: never less than the guarantee allows.

    Examples
    --------
    >>> percent_of_guessing(1.0, 1e-6), percent_of_guessing(50.0, 0.0)
    ('73.2 %', 'practically 100 %')
    """
    percent = math.ceil(1000.0 * chance_of_guessing(epsilon, delta) - 1e-9) / 10.0
    return "practically 100 %" if percent >= _HARDLY_PRIVATE else f"{percent:.1f} %"


def delta_in_words(delta: float) -> str:
    """Return a delta above 0 as "1 in n", rounded so that it is not understated."""
    if delta > 0.1 or delta < 1e-15:
        return f"{delta:.3g}"
    return f"1 in {math.floor(1 / delta * (1 + 1e-12)):,}"


def guarantee_in_words(epsilon: float, delta: float, relation: str, unit: Unit = ROW) -> str:
    """Return sentences on the most an attacker can learn from a result."""
    one = unit.protected
    rare = f"; with a probability of at most {delta_in_words(delta)} this limit may fail"
    return (
        f"{attack_in_words(epsilon, delta, relation, one, 'this result')} That is differential "
        f"privacy with epsilon = {six_digits(epsilon)}, delta = {six_digits(delta)}, for any one "
        f"{one} {CHANGES[relation]}{rare * (delta > 0.0)}. {_protects(unit)}"
    )


def attack_in_words(epsilon: float, delta: float, relation: str, one: str, source: str = "") -> str:
    """Return a sentence on the success of an attacker, who may know every other row or unit."""
    what = f"whether one {one}"
    if relation == "replace":
        what = "which of two versions of a " + (one if one == "row" else f"{one}'s rows")
    knows = f"knows every other {one} and guesses from {source}" if source else "guesses"
    sure = percent_of_guessing(epsilon, delta)
    verdict = strength(epsilon, delta).replace("none", "no").capitalize()
    return (
        f"{verdict} protection: an attacker who {knows} {what} was in "
        f"the table is right {'at most ' * (sure[0] != 'p')}{sure} of the time (coin toss: 50 %)."
    )


def _protects(unit: Unit) -> str:
    """Return sentences on what is protected, and on who is protected less."""
    if unit.column is None:
        return f"This protects a row. {INDEPENDENT}"
    name = one_line(unit.column)
    counted = (
        f"Each {unit.protected} counts once: its rows share this weight equally."
        if unit.rows == "weights"
        else f"The release uses at most {unit.rows} of its rows, drawn at random."
    )
    return (
        f"All rows with the same {name}, however many, are one {unit.protected} and are protected "
        f"together. {counted} A person with several values of {name} is protected less."
    )


def too_weak(epsilon: float, delta: float) -> tuple[str, ...]:
    """Return the reasons why a guarantee is too weak to rely on for any table, if it is."""
    words = []
    if epsilon > _LARGEST_EPSILON:
        words.append(
            f"epsilon is {six_digits(epsilon)}: above {_LARGEST_EPSILON:g} the guarantee limits "
            "next to nothing; use up to 1 for strong protection, up to 3 for moderate"
        )
    if delta > _LARGEST_DELTA:
        words.append(
            f"delta is {six_digits(delta)}: with chance {delta_in_words(delta)} the "
            "guarantee may fail; use far less than one divided by the number of rows"
        )
    return tuple(words)


def delta_too_large(delta: float, counted: float, unit: Unit = ROW) -> tuple[str, ...]:
    """Return a warning that a delta is too large for the rows or units `counted`, if it is.

    `counted` is a released number, since the true one is private. Rows of which a unit has several
    are taken for as few units as they may be.
    """
    units = counted / (unit.max_rows * unit.row_weight)
    if delta > _LARGEST_DELTA or delta * units <= 1.0:
        return ()
    one, about = unit.counted, float(f"{counted:.2g}")
    words = (
        f"delta is {six_digits(delta)}: more than one divided by the number of {one}s, about "
        f"{about:,.0f}, so a release that published one {unit.protected} at random would keep the "
        f"promise; use far less, such as {six_digits(float(f'{0.01 / about:.0e}'))}"
    )
    return (words,)


def six_digits(amount: float) -> str:
    """Return an amount with six digits, written out below ten million."""
    return f"{float(f'{amount:.6g}'):,.10g}" if 1e3 <= amount < 1e7 else f"{amount:.6g}"

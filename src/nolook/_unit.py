"""The unit that a guarantee protects: a row, or all rows that share a value of a public column."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Literal, Self, TypeAlias

from attrs import asdict, evolve, field, frozen
from msgspec import ValidationError, convert

from nolook._defaults import MOST_ROWS_PER_UNIT
from nolook._validation import check_count_or_auto
from nolook.errors import ParameterError

#: How the rows of a unit count: by weights that add up to one, or so many of them in full.
RowsPerUnit: TypeAlias = Literal["weights"] | int

#: What the rows of a unit weigh together in exact sums, at most; a power of two.
WHOLE = 2**30

# A column called patient_id names patients, and so does Patienten-ID. English words only, whose
# plural ends in "s" alone: those of other languages, such as haushalt_id, are units.
_USUAL = "client|customer|employee|household|participant|pat|patient|person|student|subject|user"
_OTHERS = (
    "account|applicant|borrower|card|citizen|clinic|contract|device|doctor|donor|driver|employer|"
    "farm|firm|guest|home|hospital|member|mother|owner|parent|player|pupil|resident|respondent|"
    "school|store|taxpayer|teacher|tenant|vehicle|visitor|voter|worker"
)
_NAMED = re.compile(
    rf"(?i)({_USUAL}|{_OTHERS})(?:en)?(?:[ _.-](?:id|nr|no|key)|(?-i:(?<=[a-z])I[dD]))"
    rf"|({_USUAL})(?:en)?(?:nr|no|nummer)?"
)


def check_rows_per_unit(rows: object) -> RowsPerUnit:
    """Return "weights", or how many rows of a unit count in full."""
    return check_count_or_auto(rows, "rows_per_unit", MOST_ROWS_PER_UNIT, "weights") or "weights"


@frozen
class Weighting:
    """The use of survey weights: clipped at a bound and divided by it.

    Parameters
    ----------
    column : str
    bound : float or None
        Released; None before it is found.
    cut, squares : float
        Noisy, from the weights' histogram: the share of all weight that the bound cuts, and the sum
        of squared weights over that of weights, both in bounds.
    """

    column: str
    bound: float | None = None
    cut: float = 0.0
    squares: float = 1.0


@frozen
class Unit:
    """The difference between neighbouring tables: a row, or a unit with all its rows.

    Parameters
    ----------
    column : str or None
        The column whose values name units; None if every row is one.
    rows : "weights" or int
        Whether each of a unit's rows weighs one over their number, or the number of rows, drawn at
        random, that count in full.
    """

    column: str | None = None
    rows: RowsPerUnit = field(default="weights", converter=check_rows_per_unit)
    #: What else a row's weight is multiplied by; not a part of what is protected.
    weighting: Weighting | None = field(default=None, eq=False)

    @property
    def weight_scale(self) -> int:
        """The weight in exact sums, at most, of a unit, or of a row where rows count in full.

        Values are divided by it after noise.
        """
        return WHOLE if self.is_shared or self.weighting is not None else 1

    @property
    def is_shared(self) -> bool:
        """Whether the rows of a unit share one weight."""
        return self.column is not None and self.rows == "weights"

    @property
    def row_weight(self) -> float:
        """The sum of survey weights for which a row of weight 1 stands: their bound."""
        return 1.0 if self.weighting is None else self.weighting.bound or 1.0

    @property
    def max_rows(self) -> int:
        """The largest number of a unit's rows that count in full; 1 where they have weights."""
        return 1 if self.column is None or self.rows == "weights" else int(self.rows)

    @property
    def counted(self) -> str:
        """The thing that numbers count: units, where each counts once."""
        row = "row" if self.weighting is None else "case"
        return row if self.column is None or self.max_rows > 1 else self.protected

    @property
    def tally(self) -> str:
        """The heading of numbers of it."""
        return "Population" if self.weighting is not None else f"{self.counted.capitalize()}s"

    @property
    def protected(self) -> str:
        """The thing that a result protects, in a word: that of the column's name, if it has one."""
        if self.column is None:
            return "row"
        named = _NAMED.fullmatch(self.column)
        word = (named[1] or named[2]).lower() if named else "unit"
        return "patient" if word == "pat" else word

    def in_words(self) -> str:
        """Say on one line what is protected, however many of its rows are used."""
        # As Python writes a text: no two names look alike, and none breaks the line.
        named = f" named by {self.column!r}, with all its rows"
        return self.protected + named * (self.column is not None)

    @classmethod
    def from_plain(cls, data: object) -> Self:
        """Read a unit from plain data, its fields; anything else is a ParameterError."""
        with suppress(ValidationError):
            found = evolve(convert(data, cls))  # which checks the number of rows
            if asdict(found) == data and (found.column or found == ROW):
                return found
        raise ParameterError("unit is not a column with a number of rows and their weights")


#: Every row is a unit of its own.
ROW = Unit()

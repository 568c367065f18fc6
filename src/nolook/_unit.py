"""What a guarantee protects: a row, or all rows that share a value of a public column."""

from __future__ import annotations

from typing import Any, Literal, Self, TypeAlias

from attrs import field, frozen

from nolook._defaults import MOST_ROWS_PER_UNIT
from nolook._validation import check_choice, check_count
from nolook.errors import ParameterError

#: How the rows of a unit count: by weights that add up to one, or so many of them in full.
RowsPerUnit: TypeAlias = Literal["weights"] | int

#: What the rows of a unit weigh together in exact sums, at most; a power of two.
WHOLE = 2**30

# What files call a unit that is a row.
_RECORD = "record"


def check_rows_per_unit(rows: object) -> RowsPerUnit:
    """Return "weights", or how many rows of a unit count in full."""
    if isinstance(rows, str):
        check_choice("rows_per_unit", rows, ("weights",))
        return "weights"
    return check_count(rows, "rows_per_unit", MOST_ROWS_PER_UNIT)


@frozen
class Unit:
    """What neighbouring tables differ by: a row, or a unit with all its rows.

    Parameters
    ----------
    column : str or None
        The column whose values name units; None if every row is one.
    rows : "weights" or int
        Whether each of a unit's rows weighs one over their number, or so many of them, drawn at
        random, count in full.
    """

    column: str | None = None
    rows: RowsPerUnit = field(default="weights", converter=check_rows_per_unit)

    @property
    def weight_scale(self) -> int:
        """What a unit weighs in exact sums, at most: their values are divided by it after noise."""
        return WHOLE if self.column is not None and self.rows == "weights" else 1

    @property
    def max_rows(self) -> int:
        """How many of a unit's rows count in full, at most; 1 where they have weights."""
        return 1 if self.column is None or self.rows == "weights" else int(self.rows)

    @property
    def counted(self) -> str:
        """What numbers of a result count: units, each once, where their rows have weights."""
        return "row" if self.weight_scale == 1 else "unit"

    @property
    def protected(self) -> str:
        """What a result protects, in a word."""
        return "row" if self.column is None else "unit"

    def in_words(self) -> str:
        """Say on one line what is protected, however many of its rows are used."""
        if self.column is None:
            return "row"
        # As Python writes a text: no two names look alike, and none breaks the line.
        return f"unit named by {self.column!r}, with all its rows"

    def to_plain(self) -> Any:  # noqa: ANN401 -- a text or a mapping
        """Return the unit as plain data, fit for JSON."""
        return _RECORD if self.column is None else {"column": self.column, "rows": self.rows}

    @classmethod
    def from_plain(cls, data: object) -> Self:
        """Read what :meth:`to_plain` wrote; anything else is a ParameterError."""
        if isinstance(data, dict) and data.keys() == {"column", "rows"}:
            column = data["column"]
            if isinstance(column, str) and column:
                return cls(column, data["rows"])
        elif data == _RECORD:
            return cls()
        raise ParameterError("unit is neither 'record' nor a column with a number of rows")


#: Every row is a unit of its own.
ROW = Unit()

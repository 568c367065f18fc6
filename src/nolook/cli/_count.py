"""A private count of a table's rows, for a plan."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from nolook._validation import refusal
from nolook.cli._interruption import explained
from nolook.cli._release import printed_dry_run, tell
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.cli._release import Reading
    from nolook.tables import Table


_STOPPED = "the count may have been charged; see nolook ledger history"


def number_in(table: Table) -> str:
    """Return the first feature that is a column of numbers: counting rows reads one."""
    read_options = table.read_options()
    names = [name for name in read_options["features"] if name not in read_options["categories"]]
    if not names:
        raise ParameterError(
            "--features has no numeric column, which --count-epsilon needs (add one, or "
            "give --rows N)"
        )
    return str(names[0])


def count_rows(reading: Reading, column: Table, epsilon: float) -> int | None:
    """Count rows, those of the largest weight where they have weights; None in a dry run."""
    from nolook.algorithms.grids import LinearGrid
    from nolook.estimators.ecdf import ECDF
    from nolook.privacy.ledger import Ledger
    from nolook.report.wording import rows_in_words

    counter = ECDF(epsilon, LinearGrid(0.0, 1.0, 1.0), random_state=reading.random_state)
    opened = nullcontext() if reading.ledger is None else Ledger(reading.ledger)
    shown = printed_dry_run(reading, lambda: nullcontext(ledger))
    with opened as ledger, explained(lambda: _STOPPED), shown:
        counter.fit(column, ledger=ledger)
    if reading.dry_run:
        return None
    if counter.rows_ is None:
        raise refusal("--count-epsilon", epsilon, "enough to count with", "use 0.01 or more")
    unit = counter.privacy_.unit
    if not reading.quiet:
        value, error = rows_in_words(counter.rows_.value, counter.rows_.error, unit.counted)
        of_table = f" of {table}" if (table := counter.privacy_.of_table) else ""
        counted = f"Counted privately: {value}{of_table} (standard error of the noise: {error})."
        tell(counted, counter.privacy_.in_words())
    return max(1, round(counter.rows_.value / unit.row_weight))

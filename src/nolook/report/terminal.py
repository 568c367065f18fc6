"""What the command line prints: a model and a ledger as short tables.

Column and file names are shown as plain text, never read as markup, and on one line. Imports
nothing numeric, so that ``nolook ledger`` is quick; a model brings its numbers along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nolook.privacy.ledger import amount_text
from nolook.report.files import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from nolook.privacy.ledger import Ledger
    from nolook.report.methods import FittedModel

__all__ = ["NOT_PRIVATE", "print_history", "print_ledger", "print_model"]

NOT_PRIVATE = "NOT PRIVATE: --random-state makes the noise repeatable; for experiments only"
_MOST_ROWS = 20


def print_model(
    console: Console, model: FittedModel, *, model_file: Path, report_file: Path | None
) -> None:
    """Print coefficients with intervals, the fit, the guarantee and where the files lie.

    Parameters
    ----------
    console : Console
    model : fitted estimator
    model_file, report_file : Path
        What was written.
    """
    from nolook.report.summary import CONFIDENCE, coefficients, interval, number

    label = one_line(model.scaling_.names[-1])
    found = coefficients(model)
    shown = found
    title = f"{label}: coefficients"
    if len(found) > _MOST_ROWS:
        kept = sorted(found, key=lambda one: -abs(one.effect))[: _MOST_ROWS - 1]
        shown = tuple(one for one in found if one in kept)
    table = _table(title, ("column", "coefficient", f"{CONFIDENCE} interval"))
    for one in shown:
        ends = interval((one.low, one.high))
        table.add_row(Text(one_line(one.name)), number(one.value), ends)
    if len(shown) < len(found):
        left = f"... {len(found) - len(shown)} smaller effects"
        table.add_row(Text(left, style="dim"), "", "")
    intercept = (number(model.intercept_), interval(model.intercept_interval_))
    table.add_row(Text("intercept", style="dim"), *intercept)
    console.print(table)
    _say(
        console,
        f"R2 {number(model.r2_)} ({interval(model.r2_interval_)}), typical error "
        f"{number(model.rmse_)} ({interval(model.rmse_interval_)})",
    )
    hidden = sum(not seen for seen in model.scaling_.visible)
    if hidden:
        _say(
            console,
            f"{hidden} of {len(found) + 1} columns did not stand out from the noise: "
            "too few rows for this budget",
            style="yellow",
        )
    if not model.privacy_.private:
        _say(console, NOT_PRIVATE, style="bold red")
    _say(console, model.privacy_.in_words())
    _say(console, f"model: {one_line(model_file)}", whole=True)
    if report_file is not None:
        _say(console, f"report: {one_line(report_file)}", whole=True)


def print_ledger(console: Console, ledger: Ledger) -> None:
    """Print what a ledger allows and what is left of it.

    Parameters
    ----------
    console : Console
    ledger : Ledger
    """
    spent, left = ledger.spent, ledger.remaining
    table = _table(f"{one_line(ledger.name)} ({ledger.relation})", ("", "epsilon", "delta"))
    for name, amount in (("budget", ledger.budget), ("spent", spent), ("left", left)):
        up = name == "spent"
        table.add_row(name, amount_text(amount.epsilon, up=up), amount_text(amount.delta, up=up))
    console.print(table)


def print_history(console: Console, ledger: Ledger) -> None:
    """Print each release a ledger was charged for.

    Parameters
    ----------
    console : Console
    ledger : Ledger
    """
    heads = ("time (UTC)", "release", "state", "epsilon", "delta")
    table = _table(f"{one_line(ledger.name)}: releases", heads)
    for entry in ledger.history():
        row = (
            entry.time,
            entry.description,
            entry.state,
            f"{entry.cost.epsilon:.6g}",
            f"{entry.cost.delta:.6g}",
        )
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console.print(table)


def _table(title: str, heads: Sequence[str]) -> Table:
    table = Table(title=Text(title, style="bold"), title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right", overflow="fold")
    return table


def _say(console: Console, text: str, style: str = "", *, whole: bool = False) -> None:
    # A path stays whole, so that it can be copied; sentences are wrapped between words.
    console.print(Text(text, style=style), soft_wrap=whole)

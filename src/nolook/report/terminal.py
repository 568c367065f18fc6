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
from nolook.report.methods import method_of
from nolook.report.wording import NOT_ESTIMATED, failure_in_words, why_not_private

if TYPE_CHECKING:
    from pathlib import Path

    from nolook.privacy.ledger import Ledger
    from nolook.report.methods import FittedModel

__all__ = ["print_history", "print_ledger", "print_model"]

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
    _say(console, f"method: {method_of(model) or type(model).__name__}")
    failure = failure_in_words(model)
    if failure is not None:
        _say(console, failure, style="bold yellow")
    console.print(_coefficients(model))
    _say(console, _fit(model))
    hidden = sum(not seen for seen in model.scaling_.visible)
    if hidden:
        _say(
            console,
            f"{hidden} of {len(model.scaling_.names)} columns did not stand out from the noise: "
            "too few rows for this budget",
            style="yellow",
        )
    if not model.privacy_.private:
        _, reason = why_not_private(model)
        _say(console, f"NOT PRIVATE: {reason}", style="bold red")
    _say(console, model.privacy_.in_words())
    _say(console, f"model: {one_line(model_file)}", whole=True)
    if report_file is not None:
        _say(console, f"report: {one_line(report_file)}", whole=True)


def _coefficients(model: FittedModel) -> Table:
    from nolook.report.summary import CONFIDENCE, coefficients, has_intervals, interval, number

    found = coefficients(model)
    shown = found
    if len(found) > _MOST_ROWS:
        kept = sorted(found, key=lambda one: -abs(one.effect))[: _MOST_ROWS - 1]
        shown = tuple(one for one in found if one in kept)
    heads = ["column", "coefficient"]
    if has_intervals(model):
        heads.append(f"{CONFIDENCE} interval")
    table = _table(f"{one_line(model.scaling_.names[-1])}: coefficients", heads)
    rows = [(Text(one_line(one.name)), number(one.value), interval(one.ends)) for one in shown]
    if len(shown) < len(found):
        left = f"... {len(found) - len(shown)} smaller effects"
        rows.append((Text(left, style="dim"), "", ""))
    constant = number(model.intercept_), interval(model.intercept_interval_)
    rows.append((Text("intercept", style="dim"), *constant))
    for row in rows:
        table.add_row(*row[: len(heads)])
    return table


def _fit(model: FittedModel) -> str:
    """Say how well a model fits, and what its method does not tell."""
    from nolook.report.summary import has_intervals, interval, number

    known, unknown = [], [] if has_intervals(model) else ["coefficients' intervals"]
    for name, value, ends in (
        ("R2", model.r2_, model.r2_interval_),
        ("typical error", model.rmse_, model.rmse_interval_),
    ):
        if value is None:
            unknown.append(name)
        elif ends is None:
            known.append(f"{name} {number(value)}")
            unknown.append(f"interval of {name}")
        else:
            known.append(f"{name} {number(value)} ({interval(ends)})")
    if unknown:
        unknown = [f"{NOT_ESTIMATED}: {', '.join(unknown)}"]
    return "; ".join([part for part in (", ".join(known), *unknown) if part])


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

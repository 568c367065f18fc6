"""What the command line prints: a model and a ledger as short tables.

Column and file names are shown as plain text, never read as markup, and on one line. Imports
nothing numeric, so that ``nolook ledger`` is quick; a model brings its numbers along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nolook.privacy.ledger import amount_text
from nolook.report._console import empty_table, say, say_files, say_guarantee, spent
from nolook.report.files import one_line
from nolook.report.methods import method_of
from nolook.report.selectors import (
    chosen_columns,
    regression_of,
    selection_of,
    selector_of,
    steps,
)
from nolook.report.wording import NOT_ESTIMATED, failure_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from nolook.estimators._selector import PrivateSelector
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.privacy.ledger import Ledger
    from nolook.report.methods import FittedModel
    from nolook.report.selectors import Model, Release

__all__ = ["print_history", "print_ledger", "print_model", "print_selection"]

_MOST_ROWS = 20


def print_model(
    console: Console, model: Model, *, model_file: Path, report_file: Path | None
) -> None:
    """Print coefficients with intervals, the fit, the guarantee and where the files lie.

    Parameters
    ----------
    console : Console
    model : fitted estimator
    model_file, report_file : Path
        What was written.
    """
    part, selection = regression_of(model), selection_of(model)
    if selection is not None:
        _say_chosen(console, selection, part.scaling_.names[-1])
    say(console, f"method: {method_of(part) or type(part).__name__}")
    failure = failure_in_words(part)
    if failure is not None:
        say(console, failure, style="bold yellow")
    console.print(_coefficients(part))
    say(console, _fit(part))
    hidden = sum(not seen for seen in part.scaling_.visible)
    if hidden:
        say(
            console,
            f"{hidden} of {len(part.scaling_.names)} columns did not stand out from the noise: "
            "too few rows for this budget",
            style="yellow",
        )
    if selection is not None:
        console.print(spent(_guarantees(model)))
    say_guarantee(console, model)
    say_files(console, {"model": model_file, "report": report_file})


def print_selection(
    console: Console,
    selector: PrivateSelector,
    *,
    target: str,
    selection_file: Path,
    report_file: Path | None,
) -> None:
    """Print the columns chosen, what was spent, the guarantee and where the files lie.

    Parameters
    ----------
    console : Console
    selector : fitted selector
    target : str
        The label.
    selection_file, report_file : Path
        What was written.
    """
    _say_chosen(console, selector, target)
    console.print(spent(_guarantees(selector)))
    say_guarantee(console, selector)
    say_files(console, {"selection": selection_file, "report": report_file})


def _say_chosen(console: Console, selector: PrivateSelector, label: str) -> None:
    chosen, ordered = chosen_columns(selector)
    how = selector_of(selector) or type(selector).__name__
    many = f"{len(chosen)} of {selector.n_features_in_} columns"
    order = "in this order" if ordered else "in the table's order"
    say(console, f"{one_line(label)}: {many}, chosen by {how}, {order}", style="bold")
    for name in chosen:
        say(console, f"  {one_line(name)}", whole=True)


def _guarantees(release: Release) -> list[tuple[str, PrivacyGuarantee]]:
    return [(name, part.privacy_) for name, part in steps(release)]


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
    table = empty_table(f"{one_line(model.scaling_.names[-1])}: coefficients", heads)
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
    table = empty_table(f"{one_line(ledger.name)} ({ledger.relation})", ("", "epsilon", "delta"))
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
    table = empty_table(f"{one_line(ledger.name)}: releases", heads)
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

"""What the command line prints of a model or a selection.

Column and file names are shown as plain text, never read as markup, and on one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nolook.estimators._selector import chosen_columns
from nolook.estimators.catalogue import called
from nolook.estimators.pipeline import regression_of
from nolook.formats.files import one_line
from nolook.report._console import empty_table, say, say_files, say_guarantee, spent
from nolook.report.origin import Origin
from nolook.report.summary import CONFIDENCE, coefficients, has_intervals, interval, number
from nolook.report.wording import NOT_ESTIMATED, failure_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from nolook.estimators._selector import PrivateSelector
    from nolook.estimators.base import PrivateRegressor

__all__ = ["print_model", "print_selection"]

_MOST_ROWS = 20


def print_model(
    console: Console, model: PrivateRegressor, *, model_file: Path, report_file: Path | None
) -> None:
    """Print coefficients with intervals, the fit, the guarantee and where the files lie."""
    part, origin = regression_of(model), Origin.of_model(model)
    selection = origin.selector
    if selection is not None:
        _say_chosen(console, selection, part.scaling_.names[-1])
    say(console, f"method: {called(part)}")
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
        console.print(spent(origin.steps))
    say_guarantee(console, origin)
    say_files(console, {"model": model_file, "report": report_file})


def print_selection(
    console: Console,
    selector: PrivateSelector,
    *,
    target: str,
    selection_file: Path,
    report_file: Path | None,
) -> None:
    """Print the columns chosen, what was spent, the guarantee and where the files lie."""
    origin = Origin.of_selection(selector)
    _say_chosen(console, selector, target)
    console.print(spent(origin.steps))
    say_guarantee(console, origin)
    say_files(console, {"selection": selection_file, "report": report_file})


def _say_chosen(console: Console, selector: PrivateSelector, label: str) -> None:
    chosen, ordered = chosen_columns(selector)
    how = called(selector)
    many = f"{len(chosen)} of {selector.n_features_in_} columns"
    order = "in this order" if ordered else "in the table's order"
    say(console, f"{one_line(label)}: {many}, chosen by {how}, {order}", style="bold")
    for name in chosen:
        say(console, f"  {one_line(name)}", whole=True)


def _coefficients(model: PrivateRegressor) -> Table:
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


def _fit(model: PrivateRegressor) -> str:
    """Say how well a model fits, and what its method does not tell."""
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

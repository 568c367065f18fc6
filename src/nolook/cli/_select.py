"""``nolook select``: choose columns privately."""

from __future__ import annotations

from nolook._language import usage_hint
from nolook._validation import count_or_auto
from nolook.cli._options import MissingOption
from nolook.cli._release import Columns, Release, release_command, tell
from nolook.errors import ParameterError
from nolook.estimators._chosen import chosen_columns
from nolook.estimators.catalogue import MOST_BY_MOMENTS, SELECTORS, called


@release_command(
    "selection.json",
    "The selection file",
    {
        "-k K|auto": "Number of columns to choose, or auto.",
        f"--selector {'|'.join(SELECTORS)}": "Method of the choice; by default moments with a "
        f"delta and at most {MOST_BY_MOMENTS} columns, otherwise kendall.",
        "--delta": "Chance of a larger loss; 1e-6 for moments if not given. Others can do without, "
        "and use one only for many columns.",
    },
    forms={"missing": MissingOption},
)
def select(
    release: Release,
    columns: Columns,
    *,
    k: str,
    selector: str | None = None,
    delta: float | None = None,
) -> None:
    """Privately choose the columns that best explain the target."""
    from nolook.report.selection_findings import hardly_any

    make = release.selector(selector, columns, delta or 0.0)
    how = {"epsilon": release.epsilon, "random_state": release.random_state}
    fitted = make(k=count_or_auto(k, "-k"), **how)
    if delta is not None:
        if "delta" in fitted.get_params():
            fitted.set_params(delta=delta)
        if not fitted.plan().guarantee.delta:
            raise ParameterError(
                f"--delta is {delta!r}, but {called(fitted)} needs none (leave it out)"
            )
    release.fit(fitted, columns)
    release.keep(fitted)
    known, (chosen, _) = fitted.read_options_["features"], chosen_columns(fitted)
    names = [n for n in known if any(f"{each}=".startswith(f"{n}=") for each in chosen)]
    then = f"To fit a model to these columns: nolook fit ... {usage_hint('features', names)}"
    tell(*[then] * (not release.quiet and not hardly_any(fitted.rows)))

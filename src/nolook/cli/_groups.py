"""``nolook compare-groups``: whether groups differ in a value."""

from __future__ import annotations

from typing import Annotated

import typer

from nolook.cli._options import CategoriesOption, RelationOption, column_options
from nolook.cli._release import Release, release_command


@release_command("comparison.json", "The comparison's file", about=("value", "by"), missing=None)
def compare_groups(
    release: Release,
    *,
    value: Annotated[
        str, typer.Option(metavar="NAME", help="The column of numbers, or a boolean.")
    ],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            "-b",
            metavar="NAME",
            help="The column of the groups, a boolean or declared levels (--categories or a "
            "schema), all compared with the first.",
        ),
    ],
    categories: CategoriesOption = None,
    relation: RelationOption = "add-remove",
) -> None:
    """Compare a value between groups: difference of means, ranks, distributions, with tests."""
    from nolook.estimators.comparison import compare_groups as release_comparison

    levels = column_options(None, categories).get("categories", {})
    with release.running() as ledger_and_progress:
        found = release_comparison(
            release.read_groups([by, value], levels),
            value,
            by,
            epsilon=release.epsilon,
            relation=relation,
            random_state=release.random_state,
            **ledger_and_progress,
        )
    release.keep(found)

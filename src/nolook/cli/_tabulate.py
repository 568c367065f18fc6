"""``nolook tabulate`` and ``nolook describe``: groups of a table, and its columns."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import Any

from nolook._defaults import DEFAULT_DELTA
from nolook.cli._options import NO_POLICY, column_names, levels_of, shares
from nolook.cli._release import Features, Release, release_command
from nolook.errors import ParameterError


def release_by_groups(
    release: Release,
    columns: Sequence[str],
    at: Sequence[float],
    by: str | None,
    levels: Mapping[str, Sequence[str | None]],
    unused: Mapping[str, object],
    **how: Any,  # noqa: ANN401 -- delta and relation
) -> None:
    """Release quantiles of columns for each group of others; count categories instead.

    `unused` are options that do not apply to groups.
    """
    for option, given in {"--missing": release.gaps.policy, **unused}.items():
        if given:
            raise ParameterError(f"{option} does not apply to groups and categories (leave it out)")
    from nolook.estimators.tabulation import tabulate as release_groups

    groups = column_names(by, "--by")
    counted = [name for name in columns if has_levels(release, name, levels)]
    numbers = [name for name in columns if name not in counted]
    names = [*dict.fromkeys((*groups, *columns))]
    read = partial(release.read, False, features=names, categories=levels)
    how |= {"median": numbers, "quantiles": at if numbers else ()}
    release.keep(release.make(release_groups, read, [(*groups, *counted)], **how))


def has_levels(release: Release, name: str, given: Container[str] = ()) -> bool:
    """Tell whether options, which name those `given`, or the schema declare levels of a column."""
    declared = release.declared.columns.get(name)
    return name in given or bool(declared and declared.levels)


@release_command(
    "tabulation.json",
    "The tabulation's file",
    {
        "--by -b A,B": "The columns of the groups, at most three, with declared levels "
        "(--categories or a schema). May be repeated: several tables of one release.",
        "--mean A,B,C": "Columns whose means and sums are wanted (counts then have more noise).",
        "--median A,B,C": "Columns whose medians are wanted (counts then have more noise).",
        "--quantiles P,Q": "Further quantiles of the columns of --median.",
        "--share A,B,C": "Booleans whose share of true is wanted, or NAME=VALUE.",
        "--find-levels": "Find levels of columns of --by that have none declared, with half of "
        "--delta and without survey weights (--weights none).",
        "--all-pairs A,B,C": "Instead: every table of two of these columns, with declared levels.",
    },
    about=("by",),
    names={"features": "--by, --mean, --median, --share or --all-pairs"},
    forms=NO_POLICY,
)
def tabulate(
    release: Release,
    *,
    by: list[str] | None = None,
    mean: str | None = None,
    median: str | None = None,
    quantiles: str | None = None,
    share: str | None = None,
    categories: list[str] | None = None,
    find_levels: bool = False,
    all_pairs: str | None = None,
    delta: float = DEFAULT_DELTA,
    relation: str = "add-remove",
) -> None:
    """Count the rows of groups; release means, shares and quantiles of each, with all margins."""
    tables = [column_names(text, "--by") for text in by or ()]
    means, medians = column_names(mean, "--mean"), column_names(median, "--median")
    of_shares, pairs = column_names(share, "--share"), column_names(all_pairs, "--all-pairs")
    at = () if quantiles is None else shares(quantiles, "--quantiles")
    levels, shared = levels_of(categories), [each.rpartition("=")[0] or each for each in of_shares]
    booleans = {name for name, own in release.declared.columns.items() if own.type == "boolean"}
    for each, name in zip(of_shares, shared, strict=True):
        if each != name and name not in booleans and not has_levels(release, name):
            levels.setdefault(name, [each.rpartition("=")[2]])
    groups = [name for each in tables for name in each]
    if find_levels:
        open_ones = (name for name in groups if not has_levels(release, name, levels))
        levels |= {name: [None] for name in open_ones if name not in booleans}
    names = dict.fromkeys((*groups, *shared, *means, *medians, *pairs))
    if not names:
        raise ParameterError(
            "no columns are given; expected --by, --mean, --median or --share (for example --by "
            "ward --mean cost)"
        )

    from nolook.estimators.tabulation import tabulate as release_groups

    read = partial(release.read, False, features=[*names], categories=levels)
    numbers = {"mean": means, "median": medians, "quantiles": at, "share": of_shares}
    how = {"find_levels": find_levels, "all_pairs": pairs, "delta": delta, "relation": relation}
    release.keep(release.make(release_groups, read, tables, **numbers, **how))


@release_command("description.json", "The description's file", about=(), forms=NO_POLICY)
def describe(release: Release, columns: Features, *, delta: float = DEFAULT_DELTA) -> None:
    """Describe every column: values, mean, quartiles of numbers; rows of each level."""
    from nolook.estimators.tabulation import describe as release_columns

    release.keep(release.make(release_columns, partial(release.hinted, columns), delta=delta))

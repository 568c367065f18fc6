"""``nolook compare-groups`` and ``nolook survival``: values, and times to an event, by group."""

from __future__ import annotations

from functools import partial

from nolook.cli._options import NO_POLICY, levels_of
from nolook.cli._release import Release, release_command

_BY = {
    "--by -b NAME": "The column of the groups, a boolean or declared levels (--categories or a "
    "schema), all compared with the first."
}


@release_command(
    "comparison.json",
    "The comparison's file",
    _BY | {"--value NAME": "The column of numbers, or a boolean."},
    about=("value", "by"),
    forms=NO_POLICY,
    names={"features": "--value or --by"},
)
def compare_groups(
    release: Release,
    *,
    value: str,
    by: str,
    categories: list[str] | None = None,
    relation: str = "add-remove",
) -> None:
    """Compare a value between groups: difference of means, ranks, distributions, with tests."""
    from nolook.estimators.comparison import compare_groups as release_comparison

    names = [*dict.fromkeys((value, by))]
    read = partial(release.read, False, features=names, categories=levels_of(categories))
    release.keep(release.make(release_comparison, read, value, by, relation=relation))


@release_command(
    "survival.json",
    "The curves' file",
    {
        "--time NAME": "The column of times.",
        "--event NAME": "The events: a boolean, or two declared levels, the second the event.",
        **_BY,
    },
    about=("time", "event"),
    forms=NO_POLICY,
    names={"features": "--time, --event or --by"},
)
def survival(
    release: Release,
    *,
    time: str,
    event: str,
    by: str = "",
    categories: list[str] | None = None,
    relation: str = "add-remove",
) -> None:
    """Release survival curves (Kaplan-Meier) with medians and the log-rank test."""
    from nolook.estimators.survival import survival as release_curves

    names = [*dict.fromkeys(filter(None, (time, event, by)))]
    read = partial(release.read, False, features=names, categories=levels_of(categories))
    release.keep(release.make(release_curves, read, time, event, by or None, relation=relation))

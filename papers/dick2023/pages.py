"""The page of the paper's results, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from papers.dick2023.experiments import (
    EXPERIMENTS,
    FOR_ROWS,
    REGRESSORS,
    SELECTORS,
    SHARE,
    TRIALS,
    selects,
)
from papers.dick2023.published import FIGURE_4, FIGURE_5, IN_PART, METHODS, TASKS
from papers.drawing import axes, save
from papers.pages import Frames, Paper, Section, between, number, table

__all__ = ["PAPER", "medians"]

#: The paper's methods whose guarantee does not hold for rows.
NOT_FOR_ROWS = [method for method in METHODS if "Tukey" in method or method.startswith("L-")]
PRIVATE = METHODS[1:]
PUBLISHED = {"five": FIGURE_4, "ten": FIGURE_5}
CHOSEN = {"five": 5, "ten": 10}


def medians(frames: Frames, name: str) -> Any:
    """Return the median R2 of tables (rows) and methods; what selects nothing is in `five`."""
    frame = frames[name]
    if name != "five":
        plain = frames["five"]
        known = plain.table.isin(set(frame.table)) & ~plain.method.map(selects)
        frame = pd.concat([frame, plain[known]])
    found = frame.groupby(["table", "method"]).r2.agg(_median).unstack()
    return found.reindex(list(dict.fromkeys(frame.table)))


def _median(values: Any) -> float:
    """Return the median; a failed test is minus infinity, and so is its mean with a number."""
    low, high = np.quantile(values, 0.5, method="lower"), np.quantile(values, 0.5, method="higher")
    return float(low if low == high or np.isinf(low) else (low + high) / 2)


def of_paper(found: Any) -> list[str]:
    """Return the tables of the paper among those that were tried."""
    return [name for name in found.index if name in TASKS]


def trials_made(frame: Any, methods: Sequence[str]) -> str:
    """Say how many trials stand behind a median."""
    own = frame[frame.method.isin(methods) & frame.table.isin(set(TASKS))]
    made = own.groupby(["table", "method"]).size().unstack(fill_value=0).to_numpy()
    return f"Trials of a cell: {between(made.ravel().tolist())} of {TRIALS}."


def published(name: str, frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield a figure of the paper as a table, each of its rows above ours."""
    found, theirs = medians(frames, name), PUBLISHED[name]
    yield (
        f"Median R2 on held-out rows of random 90/10 splits, epsilon = ln 3 and delta = 1e-5 for "
        f"everything together, k = {CHOSEN[name]}. {trials_made(frames[name], METHODS)} "
        "The paper's number is above ours."
    )
    yield (
        f"**Not private for rows:** {', '.join(NOT_FOR_ROWS)}. Tukey's guarantee is one of "
        "models (`amin2023/counterexamples.py`); SubLasso's equal parts lose up to twice the claim "
        "where a row is added (`README.md`). The others are private. NonDP is least squares."
    )
    yield ""
    rows: list[list[str]] = []
    for own in of_paper(found):
        part = ", a part" if own in IN_PART else ""
        rows.append([f"{own}, paper", *map(number, theirs[TASKS[own]])])
        here = [number(found[m].get(own, np.nan)) for m in METHODS]
        rows.append([f"{own}, here{part}", *here])
    yield from table(["", *METHODS], rows)


def for_rows(name: str, frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield R2 of nolook's own methods."""
    found = medians(frames, name)
    yield (
        "All private for rows, with nothing given but the budget; before a regression, a selection "
        f"has {SHARE:.0%} of it. `boosted` and `tukey` are nolook's versions of BAS and Tukey. "
        f"{trials_made(frames[name], FOR_ROWS)}"
    )
    yield ""
    columns = [method for method in FOR_ROWS if method in found]
    rows = [[own, *(number(found[m][own]) for m in columns)] for own in found.index]
    yield from table(["", *columns], rows)
    yield from _counts(found, columns)


def _counts(found: Any, columns: Sequence[str]) -> Iterator[str]:
    """Yield on how many tables each method has a positive R2, and which selector is best."""
    positive = [f"{method} {int((found[method] > 0).sum())}" for method in columns]
    yield f"- R2 above 0, of {len(found)} tables: {'; '.join(positive)}."
    for regressor in REGRESSORS:
        names = {f"{s}, {regressor}": s for s in SELECTORS}
        own = found[[name for name in names if name in found]].dropna()
        own = own[(own > -np.inf).any(axis=1)]
        best = own.idxmax(axis=1).map(names).value_counts()
        said = ", ".join(f"{s} {int(best.get(s, 0))}" for s in SELECTORS)
        yield f"- Best before `{regressor}`, number of tables (where any passed): {said}."
        kendall, lasso = (own[f"{s}, {regressor}"] for s in ("kendall", "lasso"))
        yield (
            f"  Lasso beats Kendall on {int((lasso > kendall).sum())}, Kendall Lasso on "
            f"{int((kendall > lasso).sum())}."
        )
        alone = found.loc[own.index, regressor]
        yield (
            f"  With all columns `{regressor}` is better than after any selection on "
            f"{int((alone > own.max(axis=1)).sum())} of {len(own)}."
        )
        peers = own[[f"{s}, {regressor}" for s in ("kendall", "lasso")]].max(axis=1)
        gaps = own[f"moments, {regressor}"] - peers
        gaps = gaps[np.isfinite(gaps)]
        if len(gaps):
            yield (
                f"  Moments beat the better of both on {int((gaps > 0).sum())} of {len(gaps)}, "
                f"worst difference {gaps.min():.3f}."
            )


def ranks(found: Any, columns: Sequence[str]) -> Any:
    """Return on how many tables each method is first, and second."""
    order = found[list(columns)].rank(axis=1, ascending=False, method="min")
    return pd.DataFrame({"first": (order == 1).sum(), "second": (order == 2).sum()})


def _theirs(name: str, known: Sequence[str]) -> Any:
    rows = {own: PUBLISHED[name][TASKS[own]] for own in known}
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(METHODS))


def figure_1(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield how often each method is first or second."""
    figure, panels = axes(1, 2, size=(9.0, 3.4))
    lines: list[list[object]] = []
    for panel, name in zip(panels, ("five", "ten"), strict=True):
        found = medians(frames, name)
        found = found.loc[of_paper(found)]
        here, there = ranks(found, PRIVATE), ranks(_theirs(name, found.index), PRIVATE)
        for shift, counts, tone in ((-0.2, there, "#999999"), (0.2, here, "#0072b2")):
            places = np.arange(len(PRIVATE)) + shift
            label = "paper" if shift < 0 else "here"
            panel.bar(places, counts["first"], 0.38, color=tone, label=f"{label}, first")
            panel.bar(
                places, counts["second"], 0.38, bottom=counts["first"], color=tone, alpha=0.45,
                label=f"{label}, second",
            )  # fmt: skip
        panel.set_xticks(range(len(PRIVATE)), PRIVATE)
        panel.yaxis.set_major_locator(MaxNLocator(integer=True))
        panel.set(title=f"k = {CHOSEN[name]}, {len(found)} tables", ylabel="tables")
        lines += [
            [f"k = {CHOSEN[name]}", method, *there.loc[method], *here.loc[method]]
            for method in PRIVATE
        ]
    panels[0].legend(fontsize=7)
    yield f"![How often each method is first or second]({save(figure, folder / 'figure1.svg')})"
    yield ""
    yield (
        "Of the paper's methods, on the tables that are here, by the paper's medians and by ours; "
        "ties share a place."
    )
    yield ""
    head = ["", "method", "first, paper", "second, paper", "first, here", "second, here"]
    yield from table(head, lines, words=2)


def figure_2(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield on how many tables each method has a positive R2."""
    figure, panels = axes(2, 1, size=(9.0, 6.4))
    lines: list[list[object]] = []
    for panel, name in zip(panels, ("five", "ten"), strict=True):
        found = medians(frames, name)
        found = found.loc[of_paper(found)]
        theirs = (_theirs(name, found.index) > 0).sum()
        ours = [method for method in FOR_ROWS if method in found]
        columns = [*PRIVATE, *ours]
        counts = [int((found[method] > 0).sum()) for method in columns]
        for place, (method, count) in enumerate(zip(columns, counts, strict=True)):
            hatch = "//" if method in NOT_FOR_ROWS else ""
            colour = "#56b4e9" if method in PRIVATE else "#0072b2"
            panel.bar(place, count, 0.8, color=colour, hatch=hatch, edgecolor="white")
            if method in PRIVATE:
                panel.plot([place - 0.4, place + 0.4], [theirs[method]] * 2, color="black")
            paper = theirs[method] if method in PRIVATE else ""
            lines.append([f"k = {CHOSEN[name]}", method, paper, count])
        panel.yaxis.set_major_locator(MaxNLocator(integer=True))
        panel.set_xticks(range(len(columns)), columns, rotation=35, ha="right", fontsize=7)
        panel.set(title=f"k = {CHOSEN[name]}, {len(found)} tables", ylabel="tables with R2 > 0")
    yield f"![Tables with a positive R2]({save(figure, folder / 'figure2.svg')})"
    yield ""
    yield (
        "Tables of the paper that are here, on which the median R2 is above 0; black: by the "
        "paper's numbers. Light: the paper's methods, hatched if not private for rows. Dark: "
        "nolook's, all private for rows."
    )
    yield ""
    yield from table(["", "method", "paper", "here"], lines, words=2)


def missing(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield what differs from the paper, and what is not here."""
    gone = [str(task) for task in FIGURE_4 if task not in TASKS.values()]
    yield (
        f"- {len(gone)} of the paper's {len(FIGURE_4)} tables are not here: OpenML tasks "
        f"{', '.join(gone)}. Of {' and '.join(IN_PART)} there is only a part."
    )
    yield (
        "- Tables were rebuilt by the rules of the benchmark they come from, and columns may "
        "differ; so do splits. R2 far below 0 varies by orders of magnitude between runs."
    )
    yield (
        "- L and K select as published; where a table has no more than k features, all are kept "
        "and the selection's share is spent all the same."
    )
    yield (
        "- SubLasso's Lasso has the intercept as a penalised column, centres nothing and votes by "
        "raw coefficients. Columns that lie far from 0, such as degrees of latitude, collect the "
        "votes: that is why L-Tukey is far below 0 on MiamiHousing2016. nolook's own votes are by "
        "standardised coefficients."
    )
    yield (
        "- Numbers of models: by section 4.2, SubLasso, and the Tukey mechanism after a selection, "
        "have n/k. Here SubLasso has n/k, and Tukey n/(k + 1), as a model has k + 1 coefficients. "
        "The authors' public code has n/d for SubLasso, d counting the intercept, and n/(k + 1) "
        "for Tukey."
    )
    yield (
        "- BAS follows the rule of Tang et al. with noise that keeps delta; the authors' public "
        "code has another ridge, which may be why its R2 is lower on some tables."
    )


def beside(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield on how many tables R2 is positive: by the paper, as published here, for rows."""
    found = medians(frames, "five")
    found = found.loc[of_paper(found)]
    here, theirs = (found > 0).sum(), (_theirs("five", found.index) > 0).sum()
    everywhere = pd.DataFrame(FIGURE_4).T.gt(0).sum().set_axis(list(METHODS))
    ours = {"BAS": "boosted", "Tukey": "tukey", "L-BAS": "lasso, boosted"}
    ours |= {"L-Tukey": "lasso, tukey", "K-BAS": "kendall, boosted", "K-Tukey": "kendall, tukey"}
    head = [
        "tables with R2 above 0, k = 5", f"paper, all {len(FIGURE_4)}",
        f"paper, the {len(found)} here", "as published, here", "nolook's, for rows",
    ]  # fmt: skip
    rows: list[list[object]] = [
        [method, everywhere[method], theirs[method], here[method], here[ours[method]]]
        for method in PRIVATE
    ]
    rows.append(["`linear`, nothing selected", "", "", "", here["linear"]])
    rows += [[f"`{s}` before `linear`", "", "", "", here[f"{s}, linear"]] for s in SELECTORS]
    yield from table(head, rows)
    yield trials_made(frames["five"], [*PRIVATE, *FOR_ROWS])


PAPER = Paper(
    "dick2023",
    "Better Private Linear Regression Through Better Private Feature Selection",
    EXPERIMENTS,
    (
        Section("Figure 4: R2 at k = 5", ("five",), partial(published, "five")),
        Section("nolook at k = 5", ("five",), partial(for_rows, "five")),
        Section("Figure 5: R2 at k = 10", ("five", "ten"), partial(published, "ten")),
        Section("nolook at k = 10", ("five", "ten"), partial(for_rows, "ten")),
        Section("Figure 1: ranks", ("five", "ten"), figure_1),
        Section("Figure 2: tables with a positive R2", ("five", "ten"), figure_2),
        Section("What differs, and what is not here", ("five",), missing),
    ),
    Section("Beside", ("five",), beside),
)

"""The page of the paper's figures, from the trials that are kept."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from papers.barczewski2024.columns import line, mean, median, ratio_of, rejected
from papers.barczewski2024.experiments import (
    CURVE_EPSILONS,
    CURVES,
    EXPERIMENTS,
    LEVEL,
    RATES,
    RELATIONS,
    TABLES,
    TRIALS,
)
from papers.drawing import axes, line_style, save
from papers.pages import Frames, Paper, Section, table

__all__ = ["PAPER"]

#: Table 1 of the paper: name, rows, share of positive rows, features.
PAPER_TABLES = {
    "framingham": ("Heart disease", 4328, 0.152, 15),
    "bank_marketing": ("Bank-full", 45211, 0.117, 16),
    "diabetes_readmission": ("Diabetes", 101766, 0.460, 49),
}
RELATION = {"replace": "a row replaced", "add-remove": "a row added or removed"}
ECDF = (
    "paper, as it is", "paper, p = 1", "paper, p = 1, corner", "paper, p = 2", "paper, isotonic",
    "nolook, as it is", "nolook, isotonic",
)  # fmt: skip
ROC = (
    "paper, as it is", "paper, p = 1", "paper, p = 2",
    "nolook, as it is", "nolook, isotonic", "nolook, no grid given",
)  # fmt: skip
#: Curves that cross themselves, so that no area lies between them and another.
_CROSSING = ("paper, as it is", "nolook, as it is")
GROUPS = ("paper", "paper, literally", "nolook, H as in the paper", "nolook")
_CURVE_STYLES: dict[str, dict[str, Any]] = {
    "exact": {"color": "#000000", "linewidth": 1.2},
    "paper, as it is": {"color": "#cc79a7", "linewidth": 0.6},
    "paper, p = 1": {"color": "#009e73", "linestyle": ":"},
    "paper, p = 2": {"color": "#d55e00", "linestyle": "--"},
    "nolook, isotonic": {"color": "#0072b2"},
}


def data_lines(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield what differs between the paper's tables and those that are there."""
    rows: list[tuple[str, ...]] = []
    made = frames["curves"].drop_duplicates("table")
    here = {row.table: (row.rows, row.positive, row.features) for row in made.itertuples()}
    for name, (title, size, share, features) in PAPER_TABLES.items():
        rows.append((title, "paper", f"{size:,}", f"{share:.3f}", str(features)))
        if name in here:
            n, positive, columns = here[name]
            rows.append((name, "here", f"{n:,}", f"{positive:.3f}", str(columns)))
    head = ("table", "", "rows", "positive", "features")
    yield from table(head, rows, words=2)
    yield (
        "Heart disease: the table here has complete rows only. Diabetes: the paper's label is "
        "positive for 46 % of the rows, which is the share of patients readmitted at any time; "
        "the label here is readmission within 30 days. With fewer positive rows the lowest groups "
        "of the Hosmer-Lemeshow statistic expect fewer of them, and noise in their numbers weighs "
        "more: errors on diabetes here are not those of the paper. Features are coded, one column "
        "for each level."
    )


def curve_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figures 1, 8 and 9."""
    made = frames["curves"]
    for number, (name, epsilon) in CURVES.items():
        own = made[made.table == name]
        if own.empty:
            continue
        figure, panels = axes(1, 2, (7.5, 3.9), sharex=True, sharey=True)
        for axis, relation in zip(panels, RELATIONS, strict=True):
            row = own[own.relation == relation].iloc[0]
            for title, style in _CURVE_STYLES.items():
                fpr, tpr = row[title]
                axis.plot(fpr, tpr, label=title, **style)
            axis.set(title=RELATION[relation], xlabel="false positive rate", aspect="equal")
        panels[0].set_ylabel("true positive rate")
        panels[1].legend(fontsize=7, loc="lower right")
        yield f"![Figure {number}]({save(figure, folder / f'figure_{number}.svg')})"
        yield ""
        yield (
            f"Figure {number}: {name}, epsilon = {epsilon:g}, one release of each. Rates that are "
            "not smoothed leave the range from 0 to 1."
        )
        yield ""
    yield (
        "The regression was fitted without privacy on the rows it scores, as in the paper: that "
        "shows the size of the noise, and would give rows away where they matter. nolook takes "
        "scores of a model that does not know the rows."
    )


def smoothing_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figures 2 and 3: squared errors smoothed over unsmoothed."""
    made = frames["ecdf"]
    panels_of = {"epsilon": made[made.rate == 3.0], "rate": made[made.epsilon == 1.0]}
    for number, (along, own) in enumerate(panels_of.items(), 2):
        figure, panels = axes(1, 2, (8.0, 3.4), sharey=True)
        for axis, relation in zip(panels, RELATIONS, strict=True):
            for place, (title, base) in enumerate(_RATIOS.items()):
                xs, ys = line(own[own.relation == relation], along, ratio_of(title, base))
                axis.plot(xs, ys, label=title, **line_style(place))
            axis.axhline(1.0, color="black", linewidth=0.8)
            axis.set(xscale="log", xlabel=along, title=RELATION[relation])
        panels[0].set_ylabel("squared error, smoothed over not")
        panels[0].legend(fontsize=7)
        yield f"![Figure {number}]({save(figure, folder / f'figure_{number}.svg')})"
        yield ""
    yield (
        f"X(rate) has a Poisson number of values at each of 2^{LEVEL} thresholds. Figure 2: rate = "
        "3; figure 3: epsilon = 1. Errors of smoothed over those of unsmoothed shares of the same "
        f"release, summed over {TRIALS} trials. Linear programs are solved only where a row is "
        "replaced; they have many best solutions: *p = 1* is cvxopt's, from inside, *corner* that "
        "of the simplex method."
    )
    yield ""
    for relation in RELATIONS:
        columns = [("epsilon", e) for e in CURVE_EPSILONS] + [("rate", r) for r in RATES]
        rows = []
        for title, base in _RATIOS.items():
            cells = []
            for along, value in columns:
                chosen = panels_of[along]
                chosen = chosen[(chosen.relation == relation) & (chosen[along] == value)]
                ratio = ratio_of(title, base)(chosen)
                cells.append("" if math.isnan(ratio) else f"{ratio:.2f}")
            rows.append((title, *cells))
        yield f"### {RELATION[relation].capitalize()}"
        yield ""
        yield from table(("smoothed", *(f"{along} = {value:g}" for along, value in columns)), rows)


_RATIOS = {
    "paper, p = 1": "paper, as it is",
    "paper, p = 1, corner": "paper, as it is",
    "paper, p = 2": "paper, as it is",
    "paper, isotonic": "paper, as it is",
    "nolook, isotonic": "nolook, as it is",
}


def evaluation_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figure 4: errors of shares and of quantiles."""
    made = frames["ecdf"]
    own = made[made.rate == 3.0]
    figure, panels = axes(1, 2, (8.0, 3.6), sharey=True)
    wanted = ("paper, as it is", "paper, p = 2", "nolook, as it is", "nolook, isotonic")
    rows = []
    for axis, relation in zip(panels, RELATIONS, strict=True):
        for place, title in enumerate(wanted):
            for kind, dots in (("", "-"), (": quantile", ":")):
                xs, ys = line(
                    own[own.relation == relation],
                    "epsilon",
                    mean(title + kind),
                )
                style = {**line_style(place), "linestyle": dots}
                axis.plot(xs, ys, label=title + kind, **style)
                cells = (f"{y:.1e}" for y in ys)
                rows.append((RELATION[relation], title, kind[2:] or "share", *cells))
        axis.set(xscale="log", yscale="log", xlabel="epsilon", title=RELATION[relation])
    panels[0].set_ylabel("mean squared error")
    panels[1].legend(fontsize=7)
    yield f"![Figure 4]({save(figure, folder / 'figure_4.svg')})"
    yield ""
    yield (
        "X(3). Squared errors of the share at a threshold, and of the quantile as a part of the "
        "range, by Algorithm 1 (dotted)."
    )
    yield ""
    epsilons = sorted(set(own.epsilon))
    head = ("neighbours", "release", "of", *(f"{e:g}" for e in epsilons))
    yield from table(head, rows, words=3)
    for relation in RELATIONS:
        chosen = own[own.relation == relation]
        ratios = [
            chosen[chosen.epsilon == e]["paper, p = 2"].mean()
            / chosen[chosen.epsilon == e]["nolook, isotonic"].mean()
            for e in epsilons
        ]
        yield (
            f"- {RELATION[relation]}: the paper's squared error of shares, p = 2, over nolook's, "
            f"isotonic: {min(ratios):.1f} to {max(ratios):.1f}"
        )


def roc_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figure 5: errors of ROC curves."""
    made = frames["roc"]
    names = [name for name in TABLES if name in set(made.table)]
    figure, panels = axes(2, len(names), (3.2 * len(names), 5.6), sharex=True, sharey=True)
    places = [(relation, name) for relation in RELATIONS for name in names]
    rows = []
    for axis, (relation, name) in zip(panels, places, strict=True):
        own = made[(made.table == name) & (made.relation == relation)]
        for place, title in enumerate(ROC):
            xs, ys = line(own, "epsilon", mean(title))
            _, aucs = line(own, "epsilon", mean(f"{title}: AUC"))
            if title in _CROSSING:
                cells = [f", {auc:.4f}" for auc in aucs]
            else:
                axis.plot(xs, ys, label=title, **line_style(place))
                cells = [f"{y:.4f}, {auc:.4f}" for y, auc in zip(ys, aucs, strict=True)]
            rows.append((name, RELATION[relation], title, *cells))
        axis.set(xscale="log", yscale="log", title=f"{name}\n{RELATION[relation]}")
    for axis in panels[-len(names) :]:
        axis.set_xlabel("epsilon")
    panels[0].legend(fontsize=6)
    yield f"![Figure 5]({save(figure, folder / 'figure_5.svg')})"
    yield ""
    yield (
        "Mean area between the private curve and the exact one (the figure), and mean error of the "
        "AUC; unsmoothed curves cross themselves, and have the latter only. The paper's figure "
        "shows Bank alone. All have the same guarantee under either relation; the paper gives "
        "each class half of epsilon, which is only needed where a row may change its class. "
        "Thresholds: 1/256 to 1, but for *no grid given*."
    )
    yield ""
    head = ("table", "neighbours", "release", *(f"{e:g}" for e in sorted(set(made.epsilon))))
    yield from table(head, rows, words=3)


def calibration_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figures 6 and 10: relative squared errors of the Hosmer-Lemeshow statistic."""
    made = frames["calibration"].copy()
    for title in GROUPS:
        made[title] = (made[title] / made.exact - 1.0) ** 2
    for number, name in {6: "bank_marketing", 10: "diabetes_readmission"}.items():
        own = made[made.table == name]
        if own.empty:
            continue
        yield f"### Figure {number}: {name}, H = {own.exact.iloc[0]:.1f}"
        yield ""
        figure, panels = axes(1, 2, (8.0, 3.6), sharey=True)
        rows: list[tuple[str, ...]] = []
        for axis, relation in zip(panels, RELATIONS, strict=True):
            chosen = own[own.relation == relation]
            for place, title in enumerate(GROUPS):
                xs, means = line(chosen, "epsilon", mean(title))
                _, medians = line(chosen, "epsilon", median(title))
                style = line_style(place, private=not title.startswith("paper"))
                axis.plot(xs, means, label=_proved(title), **style)
                cells = (f"{a:.3g} ({b:.2g})" for a, b in zip(means, medians, strict=True))
                rows.append((RELATION[relation], _proved(title), *cells))
            axis.set(xscale="log", yscale="log", xlabel="epsilon", title=RELATION[relation])
        panels[0].set_ylabel("relative squared error, mean")
        panels[1].legend(fontsize=7)
        yield f"![Figure {number}]({save(figure, folder / f'figure_{number}.svg')})"
        yield ""
        yield "Relative squared error, mean (median)."
        yield ""
        head = ("neighbours", "release", *(f"{e:g}" for e in sorted(set(own.epsilon))))
        yield from table(head, rows, words=2)
        yield from _p_values(own)
    yield from _calibration_notes(made)


def _proved(title: str) -> str:
    return f"{title} (nothing proved here)" if title.startswith("paper") else title


def _p_values(own: pd.DataFrame) -> Iterator[str]:
    yield "How often nolook's p-value is below 0.05, with labels drawn from the scores and as are:"
    yield ""
    rows = []
    for relation in RELATIONS:
        chosen = own[own.relation == relation]
        for title in ("p-value, labels drawn", "p-value"):
            _, shares = line(chosen, "epsilon", rejected(title))
            rows.append((RELATION[relation], title, *(f"{share:.2f}" for share in shares)))
    head = ("neighbours", "", *(f"{e:g}" for e in sorted(set(own.epsilon))))
    yield from table(head, rows, words=2)


def _calibration_notes(made: pd.DataFrame) -> Iterator[str]:
    worst = max(
        getattr(own["nolook"], middle)() / getattr(own[title], middle)()
        for _, own in made.groupby(["table", "relation", "epsilon"])
        for title in GROUPS[:2]
        for middle in ("mean", "median")
    )
    yield (
        "*Paper*: Algorithm 2 with epsilon' = epsilon/17; nodes of the tree have noise of scale "
        "1/epsilon'. *Literally*: the tree has epsilon' alone. Both take the number of rows as "
        "public and are drawn dashed: nothing is proved here for either relation. *H as in the "
        "paper* divides by noisy numbers; *nolook* is `HosmerLemeshow.statistic_`."
    )
    yield ""
    yield (
        "nolook's error over that of either version of the paper's, in the mean and in the median, "
        f"at every epsilon: at most {worst:.2g}."
    )


def time_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figure 7: seconds of smoothing."""
    made = frames["times"]
    figure, (axis,) = axes(1, 1, (5.5, 3.6))
    levels = sorted(set(made.level))
    rows = []
    for place, program in enumerate(dict.fromkeys(made.program)):
        own = made[made.program == program]
        xs, ys = line(own, "level", median("took"))
        axis.plot([2.0**x for x in xs], ys, label=program, **line_style(place))
        by_level = dict(zip(xs, ys, strict=True))
        rows.append((program, *(f"{by_level[x]:.2g}" if x in by_level else "" for x in levels)))
    axis.set(xscale="log", yscale="log", xlabel="N", ylabel="seconds")
    axis.legend(fontsize=7)
    yield f"![Figure 7]({save(figure, folder / 'figure_7.svg')})"
    yield ""
    yield (
        "Seconds of smoothing X(3) at epsilon = 0.5, medians, one process; cvxopt is the paper's "
        "solver, given the problem in its sparsest form. The machine is not the paper's."
    )
    yield ""
    yield from table(("program", *(f"{1 << level:,}" for level in levels)), rows)


def beside(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield what the paper states in words and formulae beside what was found."""
    ecdf, roc, times = (frames[name] for name in ("ecdf", "roc", "times"))
    one = ecdf[(ecdf.rate == 3.0) & (ecdf.epsilon == 1.0) & (ecdf.relation == "replace")]
    rows = 3 * 2**LEVEL
    stated, found = 2 * (LEVEL + 1) ** 3 / rows**2, float(one["paper, as it is"].mean())
    ratios = line(
        ecdf[(ecdf.rate == 3.0) & (ecdf.relation == "replace")],
        "epsilon",
        ratio_of("paper, p = 2", "paper, as it is"),
    )
    said = ", ".join(f"{y:.2f} at {x:g}" for x, y in zip(*ratios, strict=True))
    bank = roc[(roc.table == "bank_marketing") & (roc.relation == "replace")]
    p_1, p_2 = (line(bank, "epsilon", mean(f"paper, p = {p}"))[1] for p in (1, 2))
    areas = [a / b for a, b in zip(p_1, p_2, strict=True)]
    solved = times[times.level == times[times.program == "cvxopt, p = 1"].level.max()]
    linear, quadratic = (
        float(solved[solved.program == f"cvxopt, p = {p}"].took.median()) for p in (1, 2)
    )
    compared = [
        (
            "squared error of a count is 2(L + 1)^3/epsilon^2: of a share of X(3), epsilon = 1",
            f"{stated:.2g}",
            f"{found:.2g}",
        ),
        ("p = 2 makes errors of X(3) smaller, by a ratio below 1", "from about 0.2 on", said),
        (
            "p = 1 and p = 2 do about equally well on Bank's ROC curve",
            "",
            f"areas by p = 1 over those by p = 2: {min(areas):.2f} to {max(areas):.2f}"
            if areas
            else "",
        ),
        (
            "the quadratic program is solved more quickly than the linear one",
            "",
            f"{linear / quadratic:.1f} times at N = {2 ** int(solved.level.max()):,}",
        ),
    ]
    yield from table(("the paper", "stated", "found"), compared, words=3)


PAPER = Paper(
    "barczewski2024",
    "Barczewski et al. (2024), Differentially Private Empirical CDFs",
    EXPERIMENTS,
    (
        Section("The tables", ("curves",), data_lines),
        Section("Figures 1, 8 and 9: ROC curves", ("curves",), curve_lines),
        Section("Figures 2 and 3: smoothing", ("ecdf",), smoothing_lines),
        Section("Figure 4: shares and quantiles", ("ecdf",), evaluation_lines),
        Section("Figure 5: errors of ROC curves", ("roc",), roc_lines),
        Section("Figures 6 and 10: Hosmer-Lemeshow", ("calibration",), calibration_lines),
        Section("Figure 7: time of smoothing", ("times",), time_lines),
    ),
    Section("Beside", ("ecdf", "roc", "times"), beside),
)

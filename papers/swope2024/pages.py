"""The page of the paper's table and figures, from the trials that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from papers.drawing import axes, line_style, save
from papers.pages import Frames, Paper, Section, table
from papers.swope2024.classes import published_law, theorem_4_1
from papers.swope2024.experiments import (
    EPSILONS,
    EXPERIMENTS,
    KENDALL,
    MECHANISMS,
    PUBLISHED,
    QUALITIES,
    QUALITY_K,
    REPETITIONS,
    SCORES,
    STABLE_K,
    STEP,
    TWO_STAGE,
    WEIGHTS,
)
from papers.swope2024.gaps import gap_for_half, gap_from_neighbour
from papers.swope2024.tables import PAPER_R2, SYNTHETIC, VARIANTS, synthetic

__all__ = ["PAPER"]

Vector = NDArray[np.float64]
#: Score and mechanism: a method.
Method = tuple[str, str]
#: Table, place of k: the share of the true k that a method chose at every epsilon.
Accuracies = dict[Method, dict[tuple[str, int], Vector]]

LENGTHS = ("k = 5", "k = floor(ln d)")
# It has 8 true features; floor(ln d) would be 7.
SYNTHETIC_LENGTHS = ("k = 5", "k = 8")
METHODS: tuple[Method, ...] = tuple((score, mech) for score in SCORES for mech in MECHANISMS)
OURS, BASELINE = (KENDALL, "peeling"), (TWO_STAGE, "peeling")
PAPERS, PAPERS_BASELINE = (PUBLISHED, MECHANISMS[0]), (TWO_STAGE, MECHANISMS[0])
GAIN = 0.2
_HEAD = tuple(f"{epsilon:g}" for epsilon in EPSILONS)


def called(method: Method) -> str:
    """Return a method's name in tables and figures."""
    score, mechanism = method
    marked = f"{score} (no proof for rows)" if score == PUBLISHED else score
    return f"{marked}, {mechanism}"


def truths(frames: Frames, variant: str) -> dict[str, list[int]]:
    """Return each table's true features by a variant of the Lasso, the best first."""
    made = frames["proxy"]
    chosen = made[made.variant == variant]
    found = {name: list(own) for name, own in zip(chosen.table, chosen.features, strict=True)}
    truth = synthetic().truth
    return {**found, SYNTHETIC: [] if truth is None else truth.tolist()}


def hits(chosen: Any, truth: list[int]) -> Vector:
    """Return the share of the true k among those chosen, for one selection after the other."""
    shares: Vector = np.array([np.isin(list(one), truth[: len(one)]).mean() for one in chosen])
    return shares


def accuracies(frames: Frames, variant: str) -> Accuracies:
    """Return the mean accuracy of every method against a variant of the truth."""
    true = truths(frames, variant)
    found: Accuracies = {}
    for key, own in frames["selection"].groupby(["table", "score"], sort=False):
        name, score = map(str, cast("tuple[str, str]", key))
        for mechanism in MECHANISMS:
            for place in range(len(LENGTHS)):
                each = [hits(chosen[place], true[name]) for chosen in own[mechanism]]
                found.setdefault((score, mechanism), {})[name, place] = np.mean(each, axis=0)
    return found


def tables_of(found: Accuracies) -> list[str]:
    """Return the tables in the order of the gain that the paper's figure 6 sorts by: by name."""
    return list(dict.fromkeys(name for name, _ in found[OURS]))


def closest(frames: Frames) -> str:
    """Return the variant of the truth whose R2 are nearest to the paper's."""
    made = frames["proxy"]
    return min(VARIANTS, key=lambda variant: _distance(made[made.variant == variant]))


def _distance(made: pd.DataFrame) -> float:
    off = [abs(r2 - PAPER_R2[name]) for name, r2 in zip(made.table, made.r2, strict=True)]
    return float(np.mean(off))


def truth_lines(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield table 1's R2, ours beside the paper's."""
    made, best = frames["proxy"], closest(frames)
    yield (
        "The truth is the k largest coefficients of a Lasso (alpha 0.1) of the whole table with "
        "class codes as the target. The paper does not say how columns and target are scaled, on "
        "which its R2 depends, nor in which order the classes are coded; here they are in the "
        "order of their labels. In sample; the number of features it keeps in brackets."
    )
    yield ""
    names = list(dict.fromkeys(made.table))
    rows: list[tuple[str, ...]] = []
    cells = {(t, v): (r2, len(f)) for t, v, r2, f in made[_TRUTH].itertuples(index=False)}
    for variant in VARIANTS:
        own = (f"{cells[n, variant][0]:.3f} ({cells[n, variant][1]})" for n in names)
        off = _distance(made[made.variant == variant])
        rows.append((variant, *own, f"{off:.3f}"))
    paper = ("paper's table 1", *(f"{PAPER_R2[name]:.3f}" for name in names), "")
    yield from table(("scaled", *names, "mean distance"), [paper, *rows])
    yield (
        f"Ours in everything below is the first: {VARIANTS[0]}. The closest to the paper on "
        f"average is: {best}. The mean over all tables is given for both. Of chiaretti 111 rows "
        "are here, the paper has 128; sorlie and su differ by one column. The paper's other seven "
        "tables are not here."
    )


_TRUTH = ["table", "variant", "r2", "features"]


def stability_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figure 1."""
    made = frames["stability"]
    repetitions = {name: STEP * int(np.sum(made.weights == name)) for name in WEIGHTS}
    figure, panels = axes(2, 2, (7.0, 4.6), sharex=True, sharey=True)
    rows = []
    for axis, (weights, method) in zip(
        panels, [(w, m) for w in repetitions for m in (TWO_STAGE, "SIS")], strict=True
    ):
        own = made[made.weights == weights]
        counts = np.sum([list(one) for one in own[method]], axis=0) / repetitions[weights]
        axis.step(np.arange(1, len(counts) + 1), counts, where="mid", color="#0072b2")
        axis.set(title=f"{weights}, {method}, without noise", ylim=(0, 1.02))
        least, most = counts[:STABLE_K].min(), counts[STABLE_K:].max()
        rows.append((weights, method, f"{least:.3f}", f"{most:.3f}"))
    for axis in panels[2:]:
        axis.set_xlabel("feature")
    yield f"![How often each feature is chosen]({save(figure, folder / 'figure_1.svg')})"
    yield ""
    yield (
        f"Share of {repetitions['W1']} tables (the paper: {REPETITIONS}) in which a feature is "
        "among five chosen without any noise. Only the first five have a weight; in W1/W2 one row "
        "of ten follows five others."
    )
    yield ""
    head = ("weights", "method", "least of the five", "most of any other")
    yield from table(head, rows, words=2)


def curve_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figures 2 to 5: accuracies on single tables."""
    found = accuracies(frames, VARIANTS[0])
    wanted = {2: "christensen", 3: "sorlie", 4: "chiaretti", 5: SYNTHETIC}
    for number, name in wanted.items():
        if (name, 0) not in found[OURS]:
            continue
        figure, panels = axes(1, 2, (8.0, 3.4), sharey=True)
        for place, axis in enumerate(panels):
            for method, own in found.items():
                style = line_style(METHODS.index(method), private=method[0] != PUBLISHED)
                axis.plot(EPSILONS, own[name, place], label=called(method), **style)
            title = f"{name}, {SYNTHETIC_LENGTHS[place] if name == SYNTHETIC else LENGTHS[place]}"
            axis.set(xscale="log", xlabel="epsilon", title=title)
        panels[0].set(ylabel="share of the true k", ylim=(-0.02, 1.02))
        panels[0].legend(fontsize=7)
        yield f"![Figure {number}]({save(figure, folder / f'figure_{number}.svg')})"
        yield ""
    yield (
        "Dashed: the published score, for which nothing is proved when a row is added or removed. "
        "Yeoh, the paper's figure 4, is not there; chiaretti has as many columns. Of the synthetic "
        "table k is 5 and 8, the number of its true features; floor(ln d) would be 7."
    )
    for place, title in enumerate(LENGTHS):
        yield from ("", f"### All tables, {title}", "")
        rows = [
            (name, called(method), *(f"{value:.2f}" for value in found[method][name, place]))
            for name in tables_of(found)
            for method in found
        ]
        yield from table(("table", "method", *_HEAD), rows, words=2)


def mean_lines(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield the mean of every method over all tables, k and epsilons, for both truths."""
    variants = {"ours": VARIANTS[0], "closest to the paper's": closest(frames)}
    means = {
        title: {
            method: float(np.mean(list(own.values())))
            for method, own in accuracies(frames, variant).items()
        }
        for title, variant in variants.items()
    }
    methods = list(means["ours"])
    rows = [(called(m), *(f"{means[title][m]:.4f}" for title in variants)) for m in methods]
    yield "Share of the true k among k chosen, mean over all tables, both k and all epsilons."
    yield ""
    yield from table(("method", *(f"truth: {title}" for title in variants)), rows)
    proved = [method for method in methods if method[0] != PUBLISHED]
    for title in variants:
        yield f"- truth {title}: best of those proved, {called(max(proved, key=means[title].get))}"  # type: ignore[arg-type]
    yield ""
    yield "By epsilon, truth: ours."
    yield ""
    found = accuracies(frames, VARIANTS[0])
    by_epsilon = [(called(m), np.mean(list(own.values()), axis=0)) for m, own in found.items()]
    yield from table(
        ("method", *_HEAD), [(m, *(f"{value:.3f}" for value in own)) for m, own in by_epsilon]
    )
    yield "Without any noise the scores choose this share of the true k (truth: ours):"
    yield ""
    true = truths(frames, VARIANTS[0])
    shares = [
        (name, score, *(f"{hits([one], true[name])[0]:.2f}" for one in chosen))
        for name, score, chosen in frames["noiseless"][["table", "score", "chosen"]].itertuples(
            index=False
        )
    ]
    yield from table(("table", "score", *LENGTHS), shares, words=2)


def gain_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figures 6 and 7: differences from the two-stage method on all tables."""
    found = accuracies(frames, VARIANTS[0])
    names = tables_of(found)
    pairs = {"ours": (OURS, BASELINE), "as published": (PAPERS, PAPERS_BASELINE)}
    for place, title in enumerate(LENGTHS):
        figure, panels = axes(1, 2, (9.0, 4.0), sharey=True)
        for axis, (kind, (method, baseline)) in zip(panels, pairs.items(), strict=True):
            gains = _gains(found, names, place, method, baseline)
            picture = axis.pcolormesh(gains[::-1], cmap="PuOr", vmin=-0.8, vmax=0.8)
            axis.set_xticks(np.arange(len(EPSILONS)) + 0.5, _HEAD)
            axis.set_yticks(np.arange(len(names)) + 0.5, names[::-1])
            axis.grid(visible=False)
            unproved = ", no proof for rows" if kind != "ours" else ""
            axis.set(xlabel="epsilon", title=f"{kind} less two-stage{unproved}")
        figure.colorbar(picture, ax=panels)
        name = save(figure, folder / f"figure_{6 + place}.svg")
        yield f"![Figure {6 + place}, {title}]({name})"
        yield ""
    yield (
        f"Left: {called(OURS)}, less {called(BASELINE)}. Right: {called(PAPERS)}, less "
        f"{called(PAPERS_BASELINE)}. Orange is worse."
    )
    yield ""
    both = np.array([_gains(found, names, place, OURS, BASELINE) for place in (0, 1)])
    worst, which, budget = np.unravel_index(both.argmin(), both.shape)
    yield (
        f"- ours less two-stage, the least of all: {both.min():+.3f} ({names[which]}, "
        f"{LENGTHS[worst]}, epsilon = {EPSILONS[budget]:g})"
    )
    usual = np.array(EPSILONS) >= 1
    for title, own in (*zip(LENGTHS, both, strict=True), ("either k", both.max(axis=0))):
        most = own[:, usual].max(axis=1)
        above = [f"{n} ({m:+.3f})" for n, m in zip(names, most, strict=True) if m >= GAIN]
        yield (
            f"- {title}: at least {GAIN} above two-stage for some epsilon from 1 to 20 on "
            f"{len(above)} of {len(names)} tables: {', '.join(above) or 'none'}"
        )


def _gains(
    found: Accuracies, names: list[str], place: int, method: Method, baseline: Method
) -> Vector:
    return np.array([found[method][n, place] - found[baseline][n, place] for n in names])


def quality_lines(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield figure 8."""
    made = frames["quality"]
    names, scores = (list(dict.fromkeys(made[column])) for column in ("table", "score"))
    figure, panels = axes(len(names), 2, (8.0, 3.2 * len(names)), sharex=True, sharey=True)
    rows = []
    places = [(name, mechanism) for name in names for mechanism in MECHANISMS]
    for axis, (name, mechanism) in zip(panels, places, strict=True):
        for score in scores:
            own = made[(made.table == name) & (made.score == score)]
            for colour, quality in enumerate(QUALITIES):
                rates = np.mean([list(one) for one in own[f"{mechanism}: {quality}"]], axis=0)
                style = line_style(colour, private=score != PUBLISHED)
                axis.plot(EPSILONS, rates, label=f"{quality}, {score}", **style)
                cells = (f"{rate:.2f}" for rate in rates)
                rows.append((name, called((score, mechanism)), quality, *cells))
        axis.set(xscale="log", title=f"{name}, {mechanism}", xlabel="epsilon")
    panels[0].legend(fontsize=7)
    yield f"![Figure 8]({save(figure, folder / 'figure_8.svg')})"
    yield ""
    yield (
        f"How often {QUALITY_K} features are TOP, GREAT and GOOD by a method's own scores. Dashed: "
        "the published score, without a proof for rows. Chin, the paper's table, is not there."
    )
    yield ""
    yield from table(("table", "method", "", *_HEAD), rows, words=3)


SIZES = ((456, 5), (2000, 5), (2000, 8), (22283, 5), (22283, 10), (100, 20), (20, 10), (200, 100))


def peeling_lines(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield what either mechanism needs to tell scores apart."""
    yield (
        "The gap between scores that either mechanism needs, in units of sensitivity over epsilon, "
        "computed without any table (`gaps.py`). *Crowd*: k equal scores above d - k equal others; "
        "the k best are chosen half of the time. *Neighbour*: only the next score is near the "
        "k-th; it is passed over nine times of ten."
    )
    yield ""
    rows = []
    for d, k in SIZES:
        crowd = [gap_for_half(d, k, mechanism) for mechanism in MECHANISMS]
        neighbour = [gap_from_neighbour(k, mechanism) for mechanism in MECHANISMS]
        rows.append((f"{d:,}", str(k), *(f"{gap:.0f}" for gap in (*crowd, *neighbour))))
    head = ("d", "k", *(f"{kind}: {m}" for kind in ("crowd", "neighbour") for m in MECHANISMS))
    yield from table(head, rows, words=0)
    yield (
        "All sets that hold a feature of the crowd lose the same by the canonical Lipschitz "
        "mechanism, however many they hold; four times the logarithm of their number, about "
        "k ln(d/k), has to be outweighed. Peeling has a k-th of epsilon for each choice, and has "
        "to outweigh ln d, 2k times. So from a crowd peeling needs less where k is small beside d, "
        "as in the paper's tables, and more where it is not (the last rows). Neighbours are told "
        "apart better by the canonical Lipschitz mechanism from k = 3 on: it gains where epsilon "
        "is large enough for the crowd to be out of reach."
    )


def beside(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield the paper's R2 of the Lasso that stands for the truth beside ours."""
    made, best = frames["proxy"], closest(frames)
    cells = {(t, v): r2 for t, v, r2, _ in made[_TRUTH].itertuples(index=False)}
    rows = [
        (
            name,
            f"{PAPER_R2[name]:.3f}",
            f"{cells[name, VARIANTS[0]]:.3f}",
            f"{cells[name, best]:.3f}",
        )
        for name in PAPER_R2
        if (name, best) in cells
    ]
    yield from table(("table 1: R2 of the Lasso", "paper", VARIANTS[0], f"closest: {best}"), rows)


def theorem_lines(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield the bound of Theorem 4.1 next to the exact chance, for several gamma."""
    d, k, gaps = 10, 3, np.arange(0.0, 61.0, 2.0)
    figure, (axis,) = axes(size=(5.0, 3.2))
    rows = []
    for place, gamma in enumerate((0.25, 0.5, 0.75)):
        scores = [np.repeat([gap, 0.0], [k, d - k]).tolist() for gap in gaps]
        exact = [published_law(own, k, 1.0, gamma)[tuple(range(k))] for own in scores]
        bound = [theorem_4_1(d, k, gap, 1.0, gamma) for gap in gaps]
        style = line_style(place, private=False)
        axis.plot(gaps, exact, label=f"gamma = {gamma}", **{**style, "marker": ""})
        axis.plot(gaps, bound, color=style["color"], linestyle=":")
        half = (
            next(gap for gap, y in zip(gaps, ys, strict=True) if y >= 0.5) for ys in (exact, bound)
        )
        rows.append((f"{gamma}", *(f"{gap:g}" for gap in half)))
    axis.set(xlabel="gap xi, in sensitivities", ylabel="chance of the k best")
    axis.legend(fontsize=7)
    yield f"![Theorem 4.1]({save(figure, folder / 'theorem_4_1.svg')})"
    yield ""
    yield (
        f"The chance that exactly the {k} best of {d} features are chosen, by the published law at "
        "epsilon = 1 (dashed), and the theorem's bound from below (dotted); scores are xi for the "
        f"{k} best and 0 for the others. `classes.py` has both as functions, `published_law` and "
        "`theorem_4_1`. Smallest gap of the grid at which each reaches 1/2:"
    )
    yield ""
    yield from table(("gamma", "exact", "bound"), rows, words=1)


PAPER = Paper(
    "swope2024",
    "Swope et al. (2024), Feature Selection from Differentially Private Correlations",
    EXPERIMENTS,
    (
        Section("Table 1: what stands for the truth", ("proxy",), truth_lines),
        Section("Theorem 4.1: when the best are chosen", (), theorem_lines),
        Section("Figure 1: stability without noise", ("stability",), stability_lines),
        Section("All methods", ("proxy", "selection", "noiseless"), mean_lines),
        Section("Why peeling finds more where there are many features", (), peeling_lines),
        Section("Figures 6 and 7: less two-stage", ("proxy", "selection"), gain_lines),
        Section("Figures 2 to 5: accuracy", ("proxy", "selection"), curve_lines),
        Section("Figure 8: by the scores themselves", ("quality",), quality_lines),
    ),
    Section("Beside", ("proxy",), beside),
)

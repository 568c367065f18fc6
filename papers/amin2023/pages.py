"""The page of the paper's results, and its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from papers.amin2023.data import FILES
from papers.amin2023.depth import POINTS
from papers.amin2023.experiments import EXPERIMENTS, ORACLE, REGRESSORS, SGD, TUKEY, WANG
from papers.amin2023.histograms import BINS, REACH
from papers.amin2023.published import FIGURE_1, METHODS, ROWS
from papers.drawing import axes, line_style, save
from papers.pages import Frames, Paper, Section, between, number, table

__all__ = ["PAPER"]

# What is not private for rows; the rest of what is fitted is.
PUBLISHED = [name for name in TUKEY if name.startswith("published")]
#: The paper's columns, and what stands for them here.
COUNTERPARTS = dict(
    zip(METHODS, (["NonDP"], [WANG, ORACLE], PUBLISHED, *([s] for s in SGD)), strict=True)
)
#: What the columns of trials are called on the page.
NAMES = {
    "lemma 2022": "Lemma 3.6 (Amin)",
    "lemma 2023": "Lemma 9.5 (Dick)",
    "published 2022": "TukeyEM, Lemma 3.6 (Amin)",
    "published 2023": "TukeyEM, Lemma 9.5 (Dick)",
}
OURS = [name for name in REGRESSORS if name != ORACLE]


def quartiles(values: Iterable[float], *, short: bool = False) -> str:
    """Return the median, and the quartiles; a trial whose private test failed counts as lowest."""
    low, middle, high = np.quantile(
        pd.Series(values).fillna(-np.inf), [0.25, 0.5, 0.75], method="nearest"
    )
    if short or low == high:
        return number(middle)
    return f"{number(middle)} ({number(low)}, {number(high)})"


def smallest_models(frame: Any) -> dict[tuple[str, str], int]:
    """Return the smallest number of models with which all trials passed, by table and version."""
    passed = frame.groupby(["table", "version", "models"]).r2.apply(lambda r2: r2.notna().all())
    found: dict[tuple[str, str], int] = {}
    for key, every in passed.items():
        name, version, models = key
        if every:
            found.setdefault((name, version), models)
    return found


def trials_made(methods: Any, tukey: Any) -> str:
    """Say how many trials stand behind a median."""
    fitted = methods[methods.method != "NonDP"]
    parts = ((fitted, ["table", "method"]), (tukey, ["table", "version"]))
    made = [frame.groupby(keys).trial.nunique() for frame, keys in parts]
    return f"{between(count for counts in made for count in counts)} trials"


def figure_1(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield R2 of all methods: the paper's and here."""
    methods, tukey = frames["methods"], frames["tukey"]
    known = [name for name in FILES if name in set(methods.table)]
    models = smallest_models(tukey)

    def cells(method: str) -> list[str]:
        own = methods[methods.method == method]
        return [quartiles(r2) if len(r2 := own[own.table == t].r2) else "" for t in known]

    def tukey_cells(version: str) -> list[str]:
        out = []
        for name in known:
            m = models.get((name, version))
            own = tukey[(tukey.table == name) & (tukey.version == version) & (tukey.models == m)]
            out.append("failed" if m is None else f"{quartiles(own.r2)}, m = {m}")
        return out

    yield (
        f"Median R2 in sample, with quartiles, of {trials_made(methods, tukey)}, at "
        "epsilon = ln 3 and delta = 1e-5. **Not private "
        "for rows**: the paper's methods, with the paper's own numbers above ours. The published "
        "Tukey mechanism has the smallest of 250, 500, ..., 2000 models with which every trial "
        "here passed its test, a choice made by looking, as in the paper."
    )
    yield ""
    rows: list[list[str]] = []
    for place, (method, here) in enumerate(COUNTERPARTS.items()):
        rows.append([f"{method}, paper", *(number(FIGURE_1[name][place]) for name in known)])
        for one in here:
            found = tukey_cells(one) if one in TUKEY else cells(one)
            rows.append([f"{NAMES.get(one, one)}, here", *found])
    yield from table(["", *known], rows)
    yield "**Private for rows**, with nothing given but the budget:"
    yield ""
    yield from table(["", *known], [[name, *cells(name)] for name in OURS])
    yield from notes(methods, known)


def notes(methods: Any, known: list[str]) -> Iterator[str]:
    """Yield what differs from the paper's own run."""
    counted = methods[methods.method == "NonDP"].set_index("table").rows
    differ = [
        f"{name} has {int(counted[name]):,} rows (paper: {ROWS[name]:,})"
        for name in known
        if counted[name] != ROWS[name]
    ]
    if differ:
        yield f"- Not the rows that the paper had: {'; '.join(differ)}."
    missing = [name for name in FIGURE_1 if name not in FILES]
    yield f"- Not here, since their tables are not: {', '.join(missing)}."
    yield (
        "- `raw tukey` is the mechanism for rows on the columns as they are; `tukey` decorrelates "
        "them privately first (figures 6 to 13 below show why)."
    )
    yield (
        "- DPSGD has the settings of the paper's figure 4, which were chosen with the tables and "
        "are not tuned anew; the paper names no optimiser, and Adam stands for it here, as in the "
        "authors' public code. `dpsgd` is `DPSGDRegressor` (`dpsgd.py`), with nothing to tune."
    )
    yield (
        f"- `{WANG}` has the constants of the published algorithm; `{ORACLE}` spends the same "
        "budget without waste, and predicts within the target's range."
    )


def figure_2(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield distances to unsafety, and how many models pass."""
    frame = frames["distance"]
    lemmas = {"lemma 2022": "threshold", "lemma 2023": "threshold"}
    lemmas["for rows"] = "threshold for rows"
    figure, panels = axes(1, 3, size=(10.0, 3.4), sharey=True)
    for panel, (lemma, threshold) in zip(panels, lemmas.items(), strict=True):
        for place, (features, own) in enumerate(frame.groupby("features")):
            means = own.groupby("models")[lemma].mean()
            style = line_style(place, private=lemma == "for rows")
            panel.plot(means.index, means, label=str(features), **style)
        panel.axhline(frame[threshold].iloc[0], color="black", linewidth=1, linestyle=":")
        title = lemma if lemma == "for rows" else f"{NAMES[lemma]}, not for rows"
        panel.set(title=title, xlabel="models m")
    panels[0].set_ylabel("distance to unsafety")
    panels[0].legend(fontsize=7, title="features")
    name = save(figure, folder / "figure2_distance.svg")
    yield f"![Distance to unsafety against the number of models]({name})"
    yield ""
    yield (
        "Means over synthetic tables of d + 1 rows a model; dotted: what the distance must reach "
        "after noise. The paper shows Lemma 3.6. The legend's numbers of features are ours: the "
        "text of the paper does not name its own. Smallest m whose mean distance reaches it:"
    )
    yield ""
    rows = []
    for features, own in frame.groupby("features"):
        means = own.groupby("models").mean(numeric_only=True)
        enough = [means.index[means[lemma] >= means[t]] for lemma, t in lemmas.items()]
        rows.append([features, *(str(min(m)) if len(m) else "more" for m in enough)])
    yield from table(["features", *(NAMES.get(lemma, lemma) for lemma in lemmas)], rows)


def durations(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield seconds of each method."""
    frame = frames["duration"]
    figure, (panel,) = axes()
    lines = dict(list(frame.groupby("method")))
    for place, name in enumerate(name for name in lines if name in TUKEY):
        middle = lines[name].groupby("models").took.median()
        style = line_style(place, private=name not in PUBLISHED)
        panel.plot(middle.index, middle, label=NAMES.get(name, name), **style)
    flat = [name for name in lines if name not in TUKEY]
    for place, name in enumerate(flat, len(TUKEY)):
        style = line_style(place, private=name in OURS)
        del style["marker"]
        panel.axhline(lines[name].took.median(), linewidth=1, label=name, **_no_marker(style))
    panel.set(xlabel="models m", ylabel="seconds", yscale="log")
    panel.legend(fontsize=7, ncols=2)
    yield f"![Seconds a fit]({save(figure, folder / 'figure2_seconds.svg')})"
    yield ""
    yield (
        "Median seconds for the synthetic table, on one core of a machine with other work, too. "
        "Dashed: not private for rows. Times of `tukey` and the other methods for rows hold the "
        "noise's exact sampling."
    )
    yield ""
    middle = frame.groupby(["method", "models"]).took.median()
    rows = [
        (NAMES.get(method, method), models or "", f"{took:.3f}")
        for (method, models), took in middle.items()
    ]
    yield from table(["method", "models", "seconds"], rows)


def _no_marker(style: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in style.items() if not name.startswith("marker")}


def figure_3(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield the exact and the approximate depth of places among six points."""
    frame = frames["depth"].set_index("kind")
    figure, panels = axes(1, 2, size=(7.0, 3.4), sharey=True)
    for panel, kind in zip(panels, ("exact", "approximate"), strict=True):
        depths = np.array(frame.depths[kind]).reshape(round(len(frame.depths[kind]) ** 0.5), -1)
        panel.grid(visible=False)
        panel.contourf(
            depths.clip(max=2), levels=[-0.5, 0.5, 1.5, 2.5], extent=(0, 8, 0, 8),
            colors=["white", "#cfe3f2", "#5b93c0"],
        )  # fmt: skip
        panel.plot(*POINTS.T, "o", color="black", markersize=4)
        panel.set(title=f"{kind} depth", aspect="equal")
    yield f"![Exact and approximate depth]({save(figure, folder / 'figure3.svg')})"
    yield ""
    yield (
        "Depth 0 is white, 1 light, 2 and more dark, among the paper's six points. The approximate "
        "depth of a place is never less than the exact one."
    )


#: Methods without a number of models, as horizontal lines; the paper's own are dashed.
FLAT = {
    "NonDP": ("black", "-"),
    "linear": ("black", "-."),
    WANG: ("#e69f00", "--"),
    SGD[0]: ("#cc79a7", "--"),
    SGD[1]: ("#56b4e9", "--"),
}


def figure_5(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield R2 against the number of models."""
    frame, methods = frames["tukey"], frames["methods"]
    known = [name for name in FILES if name in set(frame.table)]
    figure, panels = axes(2, 3, size=(10.0, 5.6))
    for panel, name in zip(panels, known, strict=False):
        own = frame[frame.table == name]
        for place, version in enumerate(TUKEY):
            one = own[(own.version == version) & own.r2.notna()].groupby("models").r2
            style = line_style(place, private=version not in PUBLISHED)
            middle = one.median()
            panel.plot(middle.index, middle, label=NAMES.get(version, version), **style)
            low, high = one.quantile(0.25), one.quantile(0.75)
            panel.fill_between(low.index, low, high, color=style["color"], alpha=0.2, linewidth=0)
        flat = methods[methods.table == name].groupby("method").r2.median()
        for method, (colour, line) in FLAT.items():
            panel.axhline(
                flat.get(method, np.nan), color=colour, linewidth=1, linestyle=line, label=method
            )
        least = own.r2.quantile(0.1)
        top = float(flat.get("NonDP", 1.0))
        panel.set(title=name, xlabel="models m", ylabel="R2")
        panel.set_ylim(max(least, -1.5) - 0.05, top + 0.05)
    for panel in panels[len(known) :]:
        panel.set_visible(False)
    panels[0].legend(fontsize=7)
    yield f"![R2 against the number of models]({save(figure, folder / 'figure5.svg')})"
    yield ""
    yield (
        "Medians and quartiles of the trials that passed the private test; no line where none did. "
        "Dashed: not private for rows. Horizontal: the medians of figure 1, which have no number "
        "of models. Axes end at -1.5; a line that is not shown lies below."
    )


def histograms(frames: Frames, folder: Path) -> Iterator[str]:
    """Yield histograms of block models, and what whitening changes."""
    frame = frames["histograms"]
    for name in dict.fromkeys(frame.table):
        by_kind = frame[frame.table == name].set_index("kind")
        columns = max(len(by_kind.beyond[kind]) for kind in by_kind.index)
        figure, panels = axes(len(by_kind), columns, size=(1.3 * columns, 2.8), sharex=True)
        for row, kind in enumerate(by_kind.index):
            own = panels[row * columns : (row + 1) * columns]
            _histograms_of(own, by_kind.loc[kind], kind)
        yield f"![Block models of {name}]({save(figure, folder / f'models_{name}.svg')})"
        yield ""
    yield (
        "A panel for each coefficient: 2000 block models of "
        "the columns as they are, then of the coordinates they are whitened to, privately, in "
        "robust deviations around their median; red: the normal curve of the same mean and "
        "deviation. Traffic and Beijing (figures 8, 11) are not here."
    )
    yield ""
    said = ("r2 of the median", "r2 of drawn points", "r2 of single models")
    rows = [
        (row.table, f"{row.kind} columns", number(row.tails), f"{row.together:.2f}",
         *(number(row[what]) for what in said))
        for _, row in frame.iterrows()
    ]  # fmt: skip
    head = ["table", "models of", "excess kurtosis", "most together"]
    head += ["R2 of the median", "R2 drawn", "R2 of one model"]
    yield from table(head, rows, words=2)
    yield (
        "Most together: the largest rank correlation, by size, of two coefficients over models. "
        "Depth looks along each axis by itself: the deep points fill a box, and where coefficients "
        "go together most of the box is far from every model. `R2 drawn` is that of points drawn "
        "as TukeyEM draws them, without its test: compare it with the median model's, before and "
        "after whitening."
    )


_LONGEST = 16  # letters of a panel's title


def _histograms_of(panels: list[Any], row: Any, kind: str) -> None:
    counts = np.array(row["counts"]).reshape(-1, BINS)
    places = np.linspace(-REACH, REACH, BINS + 1)
    middles = (places[1:] + places[:-1]) / 2
    for place, panel in enumerate(panels):
        panel.set_yticks([])
        panel.grid(visible=False)
        if place >= len(counts):
            panel.set_visible(False)
            continue
        panel.stairs(counts[place], places, fill=True, color="#0072b2")
        mean, deviation = row["means"][place], max(row["deviations"][place], 1e-9)
        bell = np.exp(-(((middles - mean) / deviation) ** 2) / 2) / deviation / np.sqrt(2 * np.pi)
        total = counts[place].sum() / max(1e-9, 1 - row["beyond"][place])
        panel.plot(middles, bell * total * (places[1] - places[0]), color="#d55e00", linewidth=1)
        name = row["names"][place]
        panel.set_title(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…", fontsize=6)
        if place == 0:
            panel.set_ylabel(kind)


def beside(frames: Frames, folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield the paper's R2 of its own methods beside that of nolook's with nothing but a budget."""
    methods, tukey = frames["methods"], frames["tukey"]
    models = smallest_models(tukey)
    medians = methods.groupby(["table", "method"]).r2.agg(lambda r2: quartiles(r2, short=True))
    rows = []
    for name in (name for name in FILES if name in set(methods.table)):
        m = models.get((name, "published 2022"))
        own = tukey[(tukey.table == name) & (tukey.version == "published 2022")]
        again = "failed" if m is None else quartiles(own[own.models == m].r2, short=True)
        paper = FIGURE_1[name]
        rows.append([
            name, number(paper[2]), again, medians.get((name, "tukey"), ""), number(paper[1]),
            medians.get((name, WANG), ""), medians.get((name, "linear"), ""),
        ])  # fmt: skip
    head = ["R2", "TukeyEM, paper", "as published, here", "`tukey`, for rows"]
    head += ["AdaSSP, paper", "as published, here", "`linear`, for rows"]
    yield from table(head, rows)
    yield f"Medians of {trials_made(methods, tukey)}."


PAPER = Paper(
    "amin2023",
    "Easy Differentially Private Linear Regression",
    EXPERIMENTS,
    (
        Section("Figure 1: R2", ("methods", "tukey"), figure_1),
        Section("Figure 2, left: distance to unsafety", ("distance",), figure_2),
        Section("Figure 2, right: seconds", ("duration",), durations),
        Section("Figure 3: exact and approximate depth", ("depth",), figure_3),
        Section("Figure 5: R2 and the number of models", ("methods", "tukey"), figure_5),
        Section("Figures 6 to 13: block models", ("histograms",), histograms),
    ),
    Section("Beside", ("methods", "tukey"), beside),
)

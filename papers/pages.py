"""A paper's page: what its experiments found, beside what the paper says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from papers.trials import CODE, COMMIT, SECONDS, Experiment, Kept, source_of

__all__ = ["Frames", "Paper", "Section", "between", "number", "table", "write_page"]

#: The rows of experiments by the experiment's name; pandas' own types know nothing of columns.
Frames = Mapping[str, Any]


@frozen
class Section:
    """A part of a paper's page.

    Parameters
    ----------
    title : str
    needs : tuple of str
        Names of the experiments it is about.
    lines : callable
        From their rows and the folder for figures to the lines; called if there are rows of each.
    """

    title: str
    needs: tuple[str, ...]
    lines: Callable[[Frames, Path], Iterable[str]]


@frozen
class Paper:
    """What ``python -m papers.NAME`` does.

    Parameters
    ----------
    name : str
        Of its folder.
    title : str
    experiments : tuple of Experiment
    sections : tuple of Section
    beside : Section, optional
        The paper's best known numbers beside ours, which the site shows: a file of its own.
    """

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    sections: tuple[Section, ...]
    beside: Section | None = None

    @property
    def figures(self) -> list[int]:
        """The figures that can be made."""
        return sorted({figure for one in self.experiments for figure in one.figures})


def table(head: Sequence[str], rows: Iterable[Sequence[object]], words: int = 1) -> Iterator[str]:
    """Yield the lines of a table; its first columns hold words, the others numbers.

    Parameters
    ----------
    head : sequence of str
    rows : iterable of sequences
    words : int, default=1
        How many columns hold words.
    """
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * words + "---:|" * (len(head) - words)
    for row in rows:
        yield f"| {' | '.join(str(cell) for cell in row)} |"
    yield ""


def between(counts: Iterable[int]) -> str:
    """Return the smallest and the largest of some counts in words, or the only one."""
    found = sorted(set(counts))
    return " to ".join(f"{count}" for count in dict.fromkeys((found[0], found[-1])))


def number(value: float) -> str:
    """Return an R2 as a person reads it: three decimals, or two digits where it is far below 0."""
    if math.isnan(value):
        return ""
    if value == -math.inf:
        return "failed"
    rough = f"{value:.1e}"
    if abs(value) >= 1e7:
        return rough
    return f"{value:.3f}" if abs(value) < 10 else f"{float(rough):,.0f}"


def write_page(paper: Paper, folder: Path, *, quick: bool) -> Path:
    """Write the page and its figures from the trials that are kept.

    Parameters
    ----------
    paper : Paper
    folder : Path
        Where its trials are, in ``trials``.
    quick : bool
        Whether they are those of a quick run.

    Returns
    -------
    Path
        Of the page.
    """
    plans = {one.name: one.plan(quick) for one in paper.experiments}
    frames = {name: Kept(folder / "trials", name).frame(plan) for name, plan in plans.items()}
    lines = [f"# {paper.title}: results", ""]
    if quick:
        lines += ["A quick run, to see whether everything works: the numbers say nothing.", ""]
    lines += [f"Made by `python -m papers.{paper.name}`.", ""]
    lines += _trials(paper, frames, {name: len(plan) for name, plan in plans.items()})
    for section in paper.sections:
        lines += [f"## {section.title}", "", *_made(section, frames, folder), ""]
    if paper.beside is not None:
        _write(folder / "beside.md", _made(paper.beside, frames, folder))
    return _write(folder / "README.md", lines)


def _made(section: Section, frames: Frames, folder: Path) -> Iterable[str]:
    missing = [name for name in section.needs if frames[name].empty]
    return [f"Not made yet: {', '.join(missing)}."] if missing else section.lines(frames, folder)


def _write(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    path.write_text(text.strip() + "\n", encoding="utf-8")
    return path


def _trials(paper: Paper, frames: Frames, planned: Mapping[str, int]) -> Iterator[str]:
    """Yield a table of how much was made, how long it took, and by which source."""
    rows = []
    for one in paper.experiments:
        frame = frames[one.name]
        empty = frame.empty
        minutes = 0.0 if empty else frame[SECONDS].sum() / 60
        same = 0 if empty else int((frame[CODE] == source_of(one.trial)).sum())
        figures = ", ".join(map(str, one.figures))
        commits = frame[COMMIT].fillna("") if COMMIT in frame else [""]
        named = ", ".join(sorted({own or "not recorded" for own in commits}))
        counts = (planned[one.name], len(frame), same, f"{minutes:.1f}")
        rows.append((one.name, figures, named, *counts))
    head = ("experiment", "figures", "commits", "planned", "made", "by this source", "minutes")
    yield from table(head, rows, words=3)
    yield (
        "`--renew` makes trials again that another source made: another digest of the modules that "
        "a trial imports. A plus: the files differed from the commit. Minutes are those of one "
        "process."
    )
    yield ""

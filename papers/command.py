"""``python -m papers.NAME``: makes a paper's trials, its figures and its page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from papers.pages import Paper, write_page
from papers.tables import DATA
from papers.trials import run

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]


def main(paper: Paper, arguments: Sequence[str] | None = None) -> None:
    """Make the trials that are missing, then the page; what is kept is not made again.

    Parameters
    ----------
    paper : Paper
    arguments : sequence of str, optional
        Instead of those of the command line.
    """
    parser = _parser(paper)
    given = parser.parse_args(arguments)
    chosen = given.figure or paper.figures
    known = ", ".join(map(str, paper.figures))
    for figure in set(chosen) - set(paper.figures):
        parser.error(f"figure is {figure}; expected one of {known}; give none to make all")
    folder = given.out or _usual_folder(paper, quick=given.quick)
    for experiment in paper.experiments:
        if not given.page and set(chosen) & set(experiment.figures):
            try:
                run(
                    experiment,
                    data=given.data,
                    folder=folder / "trials",
                    jobs=given.jobs,
                    quick=given.quick,
                    renew=given.renew,
                )
            except FileNotFoundError as error:
                missing = Path(error.filename or str(error)).name
                parser.exit(
                    1, f"a table is missing ({missing}); get it: python -m scripts.tables\n"
                )
    page = write_page(paper, folder, quick=given.quick)
    Console(highlight=False).print(str(page), soft_wrap=True)


def _usual_folder(paper: Paper, *, quick: bool) -> Path:
    """Return where results go: a quick run's never take the place of others."""
    if quick:
        return ROOT / "build" / "papers" / paper.name
    return ROOT / "papers" / paper.name / "results"


def _parser(paper: Paper) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m papers.{paper.name}",
        description=f"Make the figures of {paper.title}. A run that was stopped goes on.",
    )
    known = ", ".join(map(str, paper.figures))
    parser.add_argument("figure", nargs="*", type=int, help=f"any of {known} (default: all)")
    parser.add_argument("--quick", action="store_true", help="few trials: does everything work?")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--data", type=Path, default=DATA, help=f"the tables (default: {DATA})")
    parser.add_argument("--out", type=Path, help="the results (default: the paper's folder)")
    parser.add_argument("--renew", action="store_true", help="make again what other source made")
    parser.add_argument("--page", action="store_true", help="only the page, from what is kept")
    return parser

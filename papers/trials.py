"""Experiments as lists of trials: each is stored as soon as it is made, so a killed run goes on.

A trial is one setting and what came of it: a row of numbers, words and lists of numbers. While
an experiment runs, each row is a small file of its own, whole or absent; then all are one Parquet
file. Every row says by which source it was made, so that nobody takes old results for new ones.
"""

from __future__ import annotations

import hashlib
import inspect
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from threadpoolctl import threadpool_limits

from nolook.formats.files import replacing
from scripts.sources import commit, digest

__all__ = [
    "Experiment",
    "Kept",
    "Row",
    "Settings",
    "in_processes",
    "run",
    "source_file",
    "source_of",
]

#: What a trial is made with: words and numbers.
Settings: TypeAlias = Mapping[str, Any]
#: What came of it: words, numbers, lists of numbers.
Row: TypeAlias = Mapping[str, Any]

#: A row's columns next to those of the trial: digest and commit of the source, and seconds.
CODE, COMMIT, SECONDS = "code", "commit", "seconds"
_COMPACT_EVERY = 400  # rows; more small files would make a folder slow
_SAY_EVERY = 30.0  # seconds, where nobody watches a bar

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


@frozen
class Experiment:
    """A list of trials, and which figures of a paper are made of them.

    Parameters
    ----------
    name : str
        Of its file.
    figures : tuple of int
    trial : callable
        A function of a module, called with the folder of the tables and a trial's settings as
        keywords. It returns a row, the same one for the same settings but for times.
    plan : callable
        From whether the run is a quick one to the settings of all trials, all with the same names.
        The first trial of each kind comes before any second one: then a run that was stopped has
        something of everything, and the time left can be told.
    alone : bool
        It measures time: its trials are made one after the other.
    """

    name: str
    figures: tuple[int, ...]
    trial: Callable[..., Row]
    plan: Callable[[bool], Sequence[Settings]]
    alone: bool = False


class Kept:
    """The rows of an experiment in a folder.

    Parameters
    ----------
    folder : Path
    name : str
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.parquet"
        self.parts = folder / f"{name}.parts"

    def add(self, settings: Settings, row: Row) -> None:
        """Store the row of a trial, in the place of an older one."""
        self.parts.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(repr(_key(settings)).encode()).hexdigest()[:24]
        _write(self.parts / f"{name}.parquet", [{**settings, **row}])

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows; one of a small file comes after an older one of the same trial."""
        files = [self.path, *sorted(self.parts.glob("*.parquet"))]
        return [row for file in files if file.is_file() for row in pq.read_table(file).to_pylist()]

    def found(self, planned: Sequence[Settings]) -> dict[tuple[Any, ...], dict[str, Any]]:
        """Return the rows of the trials planned, by their settings."""
        names = list(planned[0]) if planned else []
        by_key = {_key({n: row.get(n) for n in names}): row for row in self.rows()}
        keys = (_key(settings) for settings in planned)
        return {key: by_key[key] for key in keys if key in by_key}

    def frame(self, planned: Sequence[Settings]) -> pd.DataFrame:
        """Return the rows of the trials planned, in their order."""
        return pd.DataFrame(list(self.found(planned).values()))

    def compact(self, planned: Sequence[Settings]) -> None:
        """Gather the small files into one, with the rows of the trials planned first."""
        first = self.found(planned)
        rows = list(first.values())
        names = list(planned[0]) if planned else []
        others = {_key({n: row.get(n) for n in names}): row for row in self.rows()}
        rows += [row for key, row in others.items() if key not in first]
        if rows:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _write(self.path, rows)
        for part in self.parts.glob("*"):  # what a killed run was writing, too
            part.unlink()
        if self.parts.is_dir():
            self.parts.rmdir()


def _key(settings: Settings) -> tuple[Any, ...]:
    return tuple(sorted(settings.items()))


def _write(path: Path, rows: Sequence[Row]) -> None:
    names = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: [row.get(name) for row in rows] for name in names})
    with replacing(path) as part:
        pq.write_table(table, part, compression="zstd")


def source_of(trial: Callable[..., Row]) -> str:
    """Return a digest of the code of the modules that a trial imports."""
    return digest(source_file(trial))


def source_file(trial: Callable[..., Row]) -> Path:
    """Return the file that defines a trial."""
    return Path(inspect.getfile(inspect.unwrap(trial)))


def run(
    experiment: Experiment,
    *,
    data: Path,
    folder: Path,
    jobs: int = 2,
    quick: bool = False,
    renew: bool = False,
) -> pd.DataFrame:
    """Make the trials that are not kept yet; return the rows of all.

    Parameters
    ----------
    experiment : Experiment
    data : Path
        The folder of the tables.
    folder : Path
        Where rows are kept.
    jobs : int, default=2
        Processes.
    quick : bool, default=False
        Make few trials, to see whether everything works.
    renew : bool, default=False
        Make trials again that another source made.

    Returns
    -------
    DataFrame
        A row a trial, in the order planned.
    """
    planned = experiment.plan(quick)
    kept, code = Kept(folder, experiment.name), source_of(experiment.trial)
    made_at = commit()
    found = kept.found(planned)
    done = {key for key, row in found.items() if not renew or row[CODE] == code}
    left = [settings for settings in planned if _key(settings) not in done]
    work = partial(_timed, experiment.trial, data)
    try:
        with _progress(experiment.name, len(left)) as advance:
            made = in_processes(work, left, 1 if experiment.alone else jobs)
            for count, (settings, row) in enumerate(made, 1):
                kept.add(settings, {**row, CODE: code, COMMIT: made_at})
                advance()
                if count % _COMPACT_EVERY == 0:
                    kept.compact(planned)
    finally:
        kept.compact(planned)
    return kept.frame(planned)


def _timed(trial: Callable[..., Row], data: Path, settings: Settings) -> Row:
    start = time.perf_counter()
    row = trial(data, **settings)
    return {SECONDS: round(time.perf_counter() - start, 3), **row}


def in_processes(
    work: Callable[[_Task], _Result], tasks: Iterable[_Task], jobs: int
) -> Iterator[tuple[_Task, _Result]]:
    """Yield each task with what a function of a module makes of it, as they come.

    Every process has one thread for BLAS, and ends with the one that started it. With one job,
    that is this process.
    """
    if jobs == 1:
        with threadpool_limits(1):
            for task in tasks:
                yield task, work(task)
        return
    # A library that a process loads later reads this; the limit reaches what is loaded already.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, context, _start)
    try:
        running = {pool.submit(work, task): task for task in tasks}
        for done in as_completed(running):
            yield running.pop(done), done.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _start() -> None:
    threadpool_limits(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _progress(name: str, count: int) -> Iterator[Callable[[], None]]:
    """Show how far a run is and the time left: a bar, or now and then a line."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TimeRemainingColumn(), TextColumn("left"),
    )  # fmt: skip
    if console.is_terminal:
        with Progress(*columns, console=console, speed_estimate_period=3600.0) as bar:
            task = bar.add_task(name, total=count)
            yield lambda: bar.advance(task)
        return
    start = said = time.monotonic()
    made = 0

    def advance() -> None:
        nonlocal said, made
        made += 1
        now = time.monotonic()
        if now - said >= _SAY_EVERY or made == count:
            left = (now - start) / made * (count - made)
            console.print(f"{name}: {made} of {count} trials, {left / 60:.0f} min left")
            said = now

    yield advance

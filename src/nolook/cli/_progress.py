"""A bar that shows how far a release is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nolook.estimators.releasing import Progress


#: Called with each step instead of a bar, by a program that runs a command.
STEPS: ContextVar[Progress | None] = ContextVar("steps", default=None)


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress | None]:
    """Give a progress callable that draws a bar, if there is a terminal to draw it on."""
    steps = STEPS.get()
    if steps is not None or quiet or not sys.stderr.isatty():
        yield steps
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(step: str, done: int, total: int) -> None:
            bar.update(task, description=step, completed=done, total=total)

        yield show

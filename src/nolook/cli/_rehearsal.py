"""A command that ends before it reads a row."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from nolook.privacy.ledger import Ledger


def rehearse(
    command: Callable[[], None],
    console: Console | None,
    charging: Callable[[], AbstractContextManager[Ledger | None]],
) -> None:
    """Run a command up to its release, and print what that would be and cost."""
    from nolook.estimators.making import Rehearsed, rehearsing
    from nolook.report.dry_run import print_rehearsed

    with rehearsing():
        try:
            command()
        except Rehearsed as found:
            if console is not None:
                with charging() as ledger:
                    print_rehearsed(console, found.purpose, found.guarantee, ledger)

"""Messages after Ctrl-C or a lost table: the budget spent, and the outputs written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nolook.errors import LedgerError, TableError
from nolook.formats.files import one_line

if TYPE_CHECKING:
    from nolook.privacy.ledger import Ledger, LedgerEntry


class Interrupted(Exception):  # noqa: N818 -- requested, not an error
    """A command was stopped; the message says what that means."""


@contextmanager
def explained(explanation: Callable[[], str]) -> Iterator[None]:
    """Turn an interruption of the block into one that says what it means."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {explanation()}") from None


class Outcome:
    """The charges and outputs of a release since this was created."""

    def __init__(self, ledger: Path | None, output: Path, report: Path | None) -> None:
        self._ledger = ledger
        self._output = output
        self._before = {path: _stamp(path) for path in (output, report) if path is not None}
        self._charged: tuple[LedgerEntry, ...] | None = ()  # None while it is not known

    @contextmanager
    def charging(self, ledger: Ledger) -> Iterator[None]:
        """Note what the block charges, however it ends."""
        self._charged = None
        try:
            yield
        finally:
            with suppress(LedgerError):  # it would take the place of what happened
                self._charged = ledger.charged()

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Add what was charged to the error of a table that could be read no longer."""
        try:
            yield
        except TableError as error:
            if self._charged == ():
                raise
            raise TableError(f"{error}; {self}") from None

    def __str__(self) -> str:
        """Report the charges and the outputs written."""
        new = {path: _stamp(path) != stamp for path, stamp in self._before.items()}
        again, files = "; start again", f"{one_line(self._output)} was not written"
        if new[self._output]:
            again, files = "", f"{one_line(self._output)} was written"
            files += "" if all(new.values()) else ", but not its report"
        if self._ledger is None:
            return f"not charged to any ledger, and {files}{again}"
        ledger = f"the ledger {one_line(self._ledger)}"
        if self._charged is None:
            return f"{ledger} may have been charged, and {files}; see nolook ledger history"
        if not self._charged:
            return f"nothing was charged, and {files}{again}"
        if again:
            again = "; to start again is charged again"
        return f"{ledger} was charged {' and '.join(map(_cost, self._charged))}, and {files}{again}"


def _cost(entry: LedgerEntry) -> str:
    """Return the cost of a release, rounded up, and what it is of."""
    from nolook.report.ledger_status import amounts

    epsilon, delta = amounts(entry.cost, up=True)
    return f"epsilon {epsilon}, delta {delta} for {one_line(entry.description)}"


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return the identity of a file, which a replacement does not share; None if there is none."""
    with suppress(OSError, ValueError):
        found = path.stat()
        return found.st_ino, found.st_mtime_ns
    return None

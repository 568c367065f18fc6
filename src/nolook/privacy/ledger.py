"""A file that keeps the releases of one data set within a total budget.

What it promises and why is in ``ledger.md``. A *cost* is what a release takes from a budget; to
*charge* a ledger is to record a cost in its file; *spent* is the sum of all charges so far.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self, TypeAlias, get_args

from attrs import evolve

from nolook._unit import Unit
from nolook._validation import check_choice, check_names, check_path, refusal
from nolook.errors import LedgerError, ParameterError
from nolook.privacy._ledger_file import (
    Contents,
    LedgerFile,
    amount_text,
    check_budget,
    check_line,
    create_file,
    now,
    one_line_errors,
    read_budget,
)
from nolook.privacy.guarantee import Budget, PrivacyGuarantee, Relation
from nolook.privacy.ledger_entries import (
    Amount,
    LedgerEntry,
    ReleaseDetails,
    check_affordable,
    check_unit,
    converted,
    detail_texts,
    entry_of,
    left,
    spent,
    total,
    unit_of,
)

__all__ = [
    "Amount",
    "AnyLedger",
    "Ledger",
    "LedgerEntry",
    "ReleaseDetails",
    "Reservation",
    "amount_text",
    "charge",
    "check_line",
    "open_ledger",
    "require",
]

#: A ledger, the path of its file, or neither.
AnyLedger: TypeAlias = "Ledger | str | os.PathLike[str] | None"

_EXAMPLE = "people.ledger"


class Reservation:
    """A charge for a release that is about to be made, from :meth:`Ledger.reserve`."""

    def __init__(self, ledger: Ledger, entry: int) -> None:
        self._ledger = ledger
        self._entry = entry

    def complete(self) -> None:
        """Mark the release as made. It stays charged."""
        self._ledger._settle(self._entry, "complete", None)

    def charged(self) -> bool:
        """Return whether the ledger's file still holds the charge."""
        return self._ledger._holds(self._entry)

    def refund(self, reason: str) -> None:
        """Take the charge back, and keep the reason in the file.

        ONLY for a release that stopped because of its own released output, and whose privacy proof
        says that stopping there costs nothing. After any other failure that depends on the data the
        charge must stay.
        """
        check_line(reason, "reason")
        self._ledger._settle(self._entry, "refunded", reason)


class Ledger:
    """The budget of one data set and all releases charged to it.

    Parameters
    ----------
    path : path-like
        A file written by :meth:`create`.
    output : str, optional
        Name of the file that releases charged here are written to; kept with each of them.

    Attributes
    ----------
    path : Path
    name : str
        Name of the data set.
    budget : Budget
        The total budget.
    relation : {"add-remove", "replace"}
        Which tables are neighbours.

    Raises
    ------
    LedgerError
        If there is no such file or it is not a ledger.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Ledger.create(f"{folder}/people.ledger", Budget(3.0), name="people") as ledger:
    ...         print(ledger.remaining)
    Amount(epsilon=3.0, delta=0.0)
    """

    def __init__(self, path: str | os.PathLike[str], *, output: str | None = None) -> None:
        self.path = check_path(path, _EXAMPLE)
        self._output = output
        self._own: list[tuple[object, ...]] = []
        with one_line_errors(self.path):
            if not self.path.is_file():
                raise LedgerError(
                    f"{str(self.path)!r} is not a file (create a ledger with "
                    "'nolook ledger create FILE' or Ledger.create)"
                )
            self._file = LedgerFile(self.path)
            try:
                with self._file.reading() as contents:
                    self.name, epsilon, delta, self.relation, _ = contents.terms
                    self.budget = read_budget(epsilon, delta)
                    check_choice("relation", self.relation, get_args(Relation))
                    spent(contents)
            except BaseException:
                self.close()
                raise

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: Budget,
        *,
        name: str,
        relation: Relation = "add-remove",
    ) -> Self:
        """Create a ledger; an existing file is never touched.

        Parameters
        ----------
        path : path-like
            The new file; its folder must exist.
        budget, name
            The total for all releases together, and the name of the data set.
        relation : {"add-remove", "replace"}
            Which tables are neighbours.

        Raises
        ------
        LedgerError
            If the file exists or cannot be written.
        """
        check_choice("relation", relation, get_args(Relation))
        place = check_path(path, _EXAMPLE)
        check_budget(budget, "budget")
        check_line(name, "name")
        with one_line_errors(place):
            create_file(place, budget, name, relation)
        return cls(place)

    def __repr__(self) -> str:
        try:
            left = f", remaining={self.remaining}"
        except LedgerError:  # closed, or the file cannot be read
            left = ""
        return f"Ledger({str(self.path)!r}, name={self.name!r}, budget={self.budget}{left})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the file's path: another process opens it again."""
        return partial(type(self), self.path.absolute(), output=self._output), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Nothing is pending: every change reached the disk when it was made."""
        self._file.close()

    @property
    def spent(self) -> Amount:
        """All charges so far, added up and rounded up."""
        with self._file.reading() as contents:
            return total(contents)

    @property
    def remaining(self) -> Amount:
        """The rest of the budget after all charges, rounded down."""
        with self._file.reading() as contents:
            return left(contents, self.budget)

    @property
    def unit(self) -> str | None:
        """The unit that its releases protect, in words; None before the first one."""
        with self._file.reading() as contents:
            return unit_of(contents)

    def history(self) -> tuple[LedgerEntry, ...]:
        """List all releases in the order of their reservation."""
        with self._file.reading() as contents:
            return tuple(map(entry_of, contents.releases))

    def charged(self) -> tuple[LedgerEntry, ...]:
        """List the charges of this object that the file holds, also after an interruption."""
        with self._file.reading() as contents:
            own = [row for row in contents.releases if row[:6] in self._own]
        return tuple(entry_of(row) for row in own if row[6] != "refunded")

    def require(self, cost: Budget, *, relation: Relation, unit: str | None = None) -> None:
        """Refuse a release that could not be reserved now; nothing is charged.

        `unit` is the protected unit, as in `ReleaseDetails`, if it is known already.

        Raises
        ------
        BudgetExceededError
            If too little is left.
        LedgerError
            If its relation cannot be converted to the ledger's, or its unit is another.
        """
        cost = converted(cost, relation, self.relation, self.path)
        with self._file.reading() as contents:
            check_affordable(contents, cost, self.budget, self.path)
            if unit is not None:
                check_unit(contents, ReleaseDetails(unit=unit), self.path)

    def charge(
        self,
        cost: Budget,
        *,
        description: str,
        relation: Relation | None = None,
        unit: str | None = None,
    ) -> None:
        """Enter a release that was made elsewhere; refused as by :meth:`reserve`.

        Parameters
        ----------
        cost, description
            As there.
        relation : {"add-remove", "replace"}, optional
            The relation that the cost was proved for; by default the ledger's.
        unit : str, optional
            The column that names the protected unit; by default a row is protected.
        """
        check_line(description, "description")
        relation = self.relation if relation is None else relation
        cost = converted(cost, relation, self.relation, self.path)
        column = None if unit is None else check_names([unit], "unit")[0]
        details = ReleaseDetails(unit=Unit(column).in_words())
        with self._file.writing() as contents:
            self._add(contents, cost, relation, description, details, state="complete")

    def reserve(
        self,
        cost: Budget,
        *,
        relation: Relation,
        description: str,
        details: ReleaseDetails | None = None,
    ) -> Reservation:
        """Charge a release before it is made.

        The charge is on disk when this returns, and stays if the process dies.

        Parameters
        ----------
        cost : Budget
            Of the release.
        relation : {"add-remove", "replace"}
            For which that cost was proved.
        description : str
            Kept in the file.
        details : ReleaseDetails, optional
            Kept too, with the ledger's `output` if they name none; no `unit` means a row.

        Raises
        ------
        BudgetExceededError
            If too little is left. Nothing is charged.
        LedgerError
            As for :meth:`require`, or if the file cannot be written: nothing may be released then,
            but the charge can stay if the disk failed in the last step of writing.
        """
        check_line(description, "description")
        cost = converted(cost, relation, self.relation, self.path)
        with self._file.writing() as contents:
            # No other process can write between reading the contents and charging.
            return Reservation(self, self._add(contents, cost, relation, description, details))

    def charge_once(
        self, cost: Budget, *, relation: Relation, description: str, unit: str | None = None
    ) -> None:
        """Charge a release that gives the same result if a crash repeats it.

        Parameters
        ----------
        cost, relation
            As for :meth:`reserve`.
        description : str
            A name of its own for this release: an entry with this name and cost that was not
            refunded is its charge.
        unit : str, optional
            The protected unit, as for :meth:`require`; by default a row.
        """
        details = ReleaseDetails(unit=unit)
        check_line(description, "description")
        cost = converted(cost, relation, self.relation, self.path)
        release = description, cost.epsilon.hex(), cost.delta.hex(), relation
        with self._file.writing() as contents:
            check_unit(contents, details, self.path)
            charged = (
                row[0] for row in contents.releases if row[2:6] == release and row[6] != "refunded"
            )
            entry = next(charged, None) or self._add(contents, cost, relation, description, details)
            self._file.database.execute(
                "UPDATE release SET state = 'complete' WHERE id = ? AND state = 'reserved'",
                (entry,),
            )

    def _add(
        self,
        contents: Contents,
        cost: Budget,
        relation: Relation,
        description: str,
        details: ReleaseDetails | None = None,
        *,
        state: str = "reserved",
    ) -> int:
        check_affordable(contents, cost, self.budget, self.path)
        check_unit(contents, details, self.path)
        entry = len(contents.releases) + 1
        row = (entry, now(), description, cost.epsilon.hex(), cost.delta.hex(), relation)
        # First, since an interruption may come right after the file was written.
        self._own.append(row)
        execute = self._file.database.execute
        execute("INSERT INTO release VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", (*row, state))
        texts = detail_texts(details, self._output)
        execute("INSERT INTO details VALUES (?, ?, ?, ?, ?, ?, ?)", (entry, *texts))
        return entry

    def _settle(self, entry: int, state: str, reason: str | None) -> None:
        with self._file.writing():
            changed = self._file.database.execute(
                "UPDATE release SET state = ?, reason = ? WHERE id = ? AND state = 'reserved'",
                (state, reason, entry),
            ).rowcount
            if changed != 1:
                raise LedgerError(f"release {entry} was already settled")

    def _holds(self, entry: int) -> bool:
        with self._file.reading() as contents:
            states = [row[6] for row in contents.releases]
        return len(states) >= entry and states[entry - 1] != "refunded"


@contextmanager
def open_ledger(ledger: AnyLedger) -> Iterator[Ledger]:
    """Yield a ledger; one that is named by the path of its file is open within the block only."""
    if isinstance(ledger, str | os.PathLike):
        with Ledger(ledger) as opened:
            yield opened
        return
    if not isinstance(ledger, Ledger):
        raise refusal("ledger", ledger, "a Ledger or its path", f"for example {_EXAMPLE!r}")
    yield ledger


def require(ledger: AnyLedger, guarantee: PrivacyGuarantee, unit: Unit | None = None) -> None:
    """Refuse what :func:`charge` would; `unit` is what is protected, once the table has said so."""
    if ledger is None:
        return
    with open_ledger(ledger) as opened:
        if not guarantee.private:
            raise ParameterError(
                "the result would not be private, so it cannot be charged to a ledger (leave "
                "out random_state and settings meant for reproduction only)"
            )
        words = None if unit is None else unit.in_words()
        opened.require(guarantee.budget, relation=guarantee.relation, unit=words)


@contextmanager
def charge(
    ledger: AnyLedger,
    guarantee: PrivacyGuarantee,
    description: str,
    details: ReleaseDetails | None = None,
) -> Iterator[None]:
    """Charge a release before the block runs; do nothing without a ledger.

    If the block fails the charge stays, since the failure may depend on the data. What is refused:
    a release that is not private, costs more than is left, or protects another unit.
    """
    require(ledger, guarantee, guarantee.unit)
    if ledger is None:
        yield
        return
    details = evolve(details or ReleaseDetails(), unit=guarantee.unit.in_words())
    with open_ledger(ledger) as opened:
        reservation = opened.reserve(
            guarantee.budget, relation=guarantee.relation, description=description, details=details
        )
        yield
        try:
            reservation.complete()
        except LedgerError:
            # The release is paid for: withhold it only if the charge is no longer in the file.
            if not reservation.charged():
                raise

"""The protocol of results: the questions every release answers once it is made.

How one is shown is the business of the room `report`, how it is written that of `formats`. Both
stand above this one and know results by their `kind`. A user has only the object in hand, so this
module finds these rooms by name; no other does.
"""

from __future__ import annotations

import os
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from attrs import frozen

from nolook._arrays import Vector
from nolook._validation import check_choice, require
from nolook.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from nolook.algorithms.scaling import NoisyCount
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.privacy.ledger import AnyLedger

__all__ = [
    "Coefficient",
    "Ends",
    "Measure",
    "Result",
    "Summary",
    "TableResult",
    "any_share",
    "frame",
]

_SHOWN, _WRITTEN = "nolook.report.results", "nolook.formats.model_file"

#: Both ends of an interval.
Ends: TypeAlias = tuple[float, float] | Vector


@frozen
class Measure:
    """One measure of a release's quality, with its 95 % interval; None where it is not known.

    `noise_only` marks a measure of the training rows themselves, whose interval is of the noise.
    """

    name: str
    value: float | None
    ends: Ends | None
    noise_only: bool = False

    @classmethod
    def of(cls, name: str, value: float | None, ends: Ends | None) -> Self:
        """Return a measure; a share that may be any is not known."""
        known = (None, None) if any_share(ends) else (value, ends)
        return cls(name, *known, name in {"r2", "rmse", "deviance_explained"})


def any_share(ends: Ends | None) -> bool:
    """Tell whether an interval is that of a share, and holds all of them."""
    return ends is not None and (*ends,) == (0.0, 1.0)


@frozen
class Coefficient:
    """One coefficient and its 95 % interval, None where none is known.

    `value` and `ends` are in units of the target per unit of the column; `effect` and
    `effect_ends` are the same times the column's scale, in units of the target.
    """

    name: str
    value: float
    ends: tuple[float, float] | None
    effect: float
    effect_ends: tuple[float, float] | None

    @property
    def clear(self) -> bool | None:
        """Whether the interval leaves out 0; None if there is none."""
        return None if self.ends is None else not self.ends[0] <= 0 <= self.ends[1]


@frozen(repr=False)
class Summary:
    """A release on one screen, as text and as HTML.

    Parameters
    ----------
    text : str
        Shown by ``print(summary)`` and the command line.
    html : str
        Shown by a notebook: without scripts or external resources, everything escaped.
    """

    text: str
    html: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html


class Result:
    """A release that answers for itself, so that no code asks for its class.

    An implementer owes `kind`, by which `report` and `formats` find how a release is shown (a row
    in ``report/results.py``) and written (a record in ``formats/model_file.py``); `privacy`, an
    error before there is a release, and `read_options`; `coefficients`, the intercept last, none
    unless it is a model; `measures` of how good it is; `_columns`, its main table; and `questions`,
    the methods that read more off it. These are numbers, names and kinds: sentences and pictures
    are for `report`. All answers are post-processing. None reads the table again, draws noise that
    protects it, costs anything or changes the release, and the same question has the same answer.
    """

    __slots__ = ()

    #: What it is, as its file says.
    kind: ClassVar[str]
    #: How many of the first columns of its main table name the rows.
    _indexed: ClassVar[int] = 1

    @property
    def privacy(self) -> PrivacyGuarantee:
        """Its guarantee; an error before there is a release."""
        raise NotImplementedError

    @property
    def read_options(self) -> dict[str, Any]:
        """Types and settings the columns were read with."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[tuple[str, PrivacyGuarantee], ...]:
        """The parts in order: name and guarantee of each."""
        return ((self.kind, self.privacy),)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The coefficients of a model, without columns left out, the intercept last."""
        return ()

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Measures of quality, if the method has any."""
        return ()

    @property
    def questions(self) -> tuple[str, ...]:
        """Questions that :meth:`ask` answers: names of methods."""
        return ()

    def ask(self, question: str, **arguments: Any) -> Any:  # noqa: ANN401
        """Return a further result at no cost, such as other quantiles.

        Parameters
        ----------
        question : str
            One of `questions`.
        **arguments
            Arguments of the method of this name.

        Returns
        -------
        What the method returns. Answers about rows that are given are as confidential as these.
        """
        answer = getattr(self, check_choice("question", question, self.questions))
        try:
            signature(answer).bind(**arguments)
        except TypeError as error:  # of the arguments' names alone
            raise ParameterError(
                f"question is {question!r}, {error}; expected the arguments of this method"
            ) from None
        return answer(**arguments)

    def content(self) -> Any:  # noqa: ANN401 -- of the room above
        """Return the sections of its report, which a page, a terminal and a notebook show."""
        return import_module(_SHOWN).content(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of its file as JSON types; :func:`nolook.save` writes it."""
        return import_module(_WRITTEN).to_dict(self)  # type: ignore[no-any-return]

    def summary(self) -> Summary:
        """Return the result, its cost and the guarantee on one screen.

        Returns
        -------
        Summary
            Prints as the command line does, and is a table in a notebook.
        """
        return import_module(_SHOWN).summary(self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().html

    def to_frame(self) -> pd.DataFrame:
        """Return the main table as a pandas frame, unrounded; NaN means not known.

        Returns
        -------
        pandas.DataFrame
            Coefficients with 95 % intervals, the columns chosen, the distribution, the points of a
            curve, the groups of a calibration, the measures of an evaluation, or scores by fold.

        Raises
        ------
        ParameterError
            If pandas is not installed.
        """
        about = self.privacy
        made = frame(self._columns(), indexed=self._indexed)
        made.attrs = {"table": about.table, "where": about.where}
        return made

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the main table."""
        raise NotImplementedError

    def plot(self, ax: Any = None) -> Any:  # noqa: ANN401 -- matplotlib's own types
        """Plot the result, with intervals or a band of the noise.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; by default new ones.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        ParameterError
            If matplotlib is not installed, or there is nothing to draw.
        """
        return import_module(_SHOWN).plot(self, ax)

    def report(
        self, path: str | os.PathLike[str], *, ledger: AnyLedger = None, title: str = ""
    ) -> None:
        """Write the report: one HTML page that loads nothing and may be shown to anyone.

        Parameters
        ----------
        path : path-like
            The page; an existing file is replaced.
        ledger : Ledger or path-like, optional
            The ledger of the table: the page then shows what is left of it.
        title : str, optional
            The page's title; by default the kind of release.

        Raises
        ------
        NolookError
            If the page cannot be written.
        """
        import_module(_SHOWN).report(self, path, ledger, title)


@frozen(eq=False, repr=False, kw_only=True)
class TableResult(Result):
    """A result that one function returns: the private number of rows, and its own guarantee."""

    rows: NoisyCount
    privacy: PrivacyGuarantee
    read_options: dict[str, Any]


def frame(columns: dict[str, Any], *, indexed: int = 1) -> pd.DataFrame:
    """Return columns as a frame, the first ones as its index."""
    made: pd.DataFrame = require("pandas", "frames", "pandas").DataFrame(columns)
    return made.set_index([*made.columns[:indexed]]) if indexed else made

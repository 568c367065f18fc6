"""What every release offers once it is made: a summary, a frame, a picture and a page.

How it is shown is the business of the room `report`, which knows every kind of release and stands
above this one. A user has only the object in hand, so this module alone finds that room by name.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    import pandas as pd

    from nolook.privacy.ledger import Ledger

__all__ = ["Drawn", "Result", "Summary", "room"]

_ROOM = "nolook.report.results"


@frozen(repr=False)
class Summary:
    """What a release says on one screen: the same words and numbers as text and as HTML.

    Parameters
    ----------
    text : str
        What ``print(summary)`` shows, and the command line.
    html : str
        What a notebook shows: without scripts or outside resources, everything escaped.
    """

    text: str
    html: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html


class Drawn:
    """What has a picture, which is post-processing and costs nothing more."""

    __slots__ = ()

    def plot(self, ax: Any = None) -> Any:  # noqa: ANN401 -- matplotlib's own types
        """Draw what was found, with intervals or a band of the noise.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; new ones by default.

        Returns
        -------
        matplotlib axes

        Raises
        ------
        ParameterError
            If matplotlib is not installed, or there is nothing to draw.
        """
        return room().plot(self, ax)


class Result(Drawn):
    """What is released can be looked at; all of it is post-processing and costs nothing more."""

    __slots__ = ()

    def summary(self) -> Summary:
        """Return what was found, what it cost and the guarantee, on one screen.

        Returns
        -------
        Summary
            Prints as the command line does, and is a table in a notebook.
        """
        shown: Summary = room().summary(self)
        return shown

    def _repr_html_(self) -> str:
        return self.summary().html

    def to_frame(self) -> pd.DataFrame:
        """Return the main table as a pandas frame, unrounded; NaN is what is not known.

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
        frame: pd.DataFrame = room().to_frame(self)
        return frame

    def report(self, path: str | os.PathLike[str], *, ledger: Ledger | None = None) -> None:
        """Write the report: one HTML page that loads nothing and may be shown to anyone.

        Parameters
        ----------
        path : path-like
            The page. An older one of the same name is replaced.
        ledger : Ledger, optional
            The ledger of the table: the page says what is left of it now.

        Raises
        ------
        NolookError
            If the page cannot be written.
        """
        room().report(self, path, ledger)


def room() -> Any:  # noqa: ANN401 -- a module
    """Return the module that shows results."""
    return import_module(_ROOM)

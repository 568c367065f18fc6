"""The content of a report before it has a form: every kind of release becomes one `Findings`.

Imports nothing numeric.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import field, frozen

from nolook.formats.files import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nolook.algorithms.scaling import NoisyCount
    from nolook.privacy.guarantee import PrivacyGuarantee
    from nolook.report.picture import Picture

__all__ = [
    "Figure",
    "Findings",
    "Name",
    "Section",
    "Table",
    "Text",
    "dates_of",
    "findings_of",
    "in_percent",
    "listed",
    "plain",
]


class Name(str):
    """A name out of a table, which keeps its writing direction to itself."""

    __slots__ = ()


#: A text, or pieces of one where it holds names.
Text: TypeAlias = str | tuple[str, ...]


def plain(text: Text) -> str:
    """Return a text on one line."""
    return one_line(text if isinstance(text, str) else "".join(text))


def in_percent(share: float) -> str:
    """Return a table's share of 1 in percent, with a digit where it is less than one.

    Examples
    --------
    >>> in_percent(0.54), in_percent(0.0021), in_percent(0.0)
    ('54 %', '0.2 %', '0 %')
    """
    return f"{100.0 * share:{'.0f' if share >= 0.01 else '.1g'}} %"


def listed(names: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the first of some names, and how many more there are, as pieces of a text."""
    pieces = [piece for name in names[:most] for piece in (", ", Name(name))][1:]
    if len(names) > most:
        pieces.append(f" and {len(names) - most} more")
    elif len(names) > 1:
        pieces[-2] = " and "
    return tuple(pieces)


def columns_read(read_options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the features of a table with the levels of categories; "..." is any other value."""
    categories = read_options["categories"]
    return tuple(
        f"{name} ({_levels(categories[name])})" if name in categories else name
        for name in read_options["features"]
    )


def _levels(levels: Sequence[str | None]) -> str:
    words = ["..." if level is None else level for level in levels]
    left = len(words) - _MOST_LEVELS
    if left > 1:
        words[_MOST_LEVELS - 1 : -1] = [f"{left} more"]
    return ", ".join(words)


_MOST_LEVELS = 6


@frozen
class Table:
    """A table whose rows begin with their names; a cell that is a number is a share of 1."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]
    #: A last row set apart from the others.
    foot: tuple[str, ...] = ()

    def texts(self) -> list[list[str]]:
        """Return the heads and the cells of all rows, on a line each."""
        return [
            [one_line(cell) if isinstance(cell, str) else in_percent(cell) for cell in row]
            for row in (self.heads, *self.rows, self.foot)
            if row
        ]


@frozen
class Figure:
    """A picture and what it shows."""

    picture: Picture
    caption: Text = field()

    @caption.default
    def _title_and_legend(self) -> str:
        return f"{self.picture.title}: {self.picture.legend}."


@frozen
class Section:
    """A part of a report: a page shows all but `printed`, in this order; a terminal only that.

    `answers` are questions, each with sentences that answer it, `points` a list of short texts.
    Unless it says otherwise, its sentences, tables and notes are printed.
    """

    name: str
    heading: str
    sentences: tuple[Text, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Text, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    printed: tuple[Text | Table, ...] = field()
    #: What other documents have, if that is not what is printed.
    exported: tuple[Text | Table, ...] = ()
    answers: tuple[tuple[str, tuple[Text, ...]], ...] = ()
    points: tuple[Text, ...] = ()

    @printed.default
    def _all(self) -> tuple[Text | Table, ...]:
        return *self.sentences, *self.tables, *self.notes


@frozen
class Findings:
    """The content of one report: headline, guarantee, cards, sections, settings.

    `kind` is what its file holds, `what` the beginning of its headline ("linear model of"), `of`
    the column it is about. A card has a head, a large and a small text.
    """

    kind: str
    what: str
    of: str
    guarantee: PrivacyGuarantee
    #: Its parts in order, together within the guarantee.
    parts: tuple[tuple[str, PrivacyGuarantee], ...]
    #: The policy for missing values.
    missing: str
    #: The features with their levels.
    columns: tuple[str, ...]
    #: The columns of dates, with the day that their numbers count from.
    dates: Mapping[str, str]
    #: The private number of rows used, if they were counted, and perhaps of those left out.
    rows: NoisyCount | None
    #: Columns of which a missing value leaves a row out.
    needed: tuple[str, ...]
    #: Whether one is a logarithm, which a number that is not positive has not.
    logarithms: bool
    sections: tuple[Section, ...]
    #: What was asked for; a page leaves out what has no value.
    settings: tuple[tuple[str, str | None], ...]
    cards: tuple[tuple[str, str, str], ...] = ()
    #: What the table was asked; follows its name.
    question: Text = ""
    #: The answer in a sentence or two, from estimates and their intervals.
    conclusion: tuple[Text, ...] = ()
    #: How sure that answer is.
    certainty: tuple[Text, ...] = ()
    #: What must be known before any of it is used.
    cautions: tuple[str, ...] = ()
    #: What a page is called instead of its headline.
    title: str = ""

    @property
    def headline(self) -> tuple[str, ...]:
        """The subject of a release, its table and rows, and whether it is private."""
        table = self.guarantee.of_table
        place = (" in ", Name(table)) if table else ()
        private = "differentially" if self.guarantee.private else "not"
        what = f"{self.what[:1].upper()}{self.what[1:]} "
        return what, Name(self.of), *place, f" ({private} private)"


def dates_of(release: Any) -> dict[str, str]:  # noqa: ANN401 -- a result
    """Return the columns of dates, with the day that their numbers count from."""
    return {
        name: one.get("origin", "1970-01-01")
        for name, one in release.read_options.get("schema", {}).get("columns", {}).items()
        if one.get("type") in {"date", "datetime"}
    }


def findings_of(release: Any, *needed: str, **own: Any) -> Findings:  # noqa: ANN401 -- a result
    """Return findings: what all releases answer alike, and what only this kind has.

    `needed` are columns that every row must have, apart from features.
    """
    options = release.read_options
    dropping = options["features"]
    if options["missing"] != "drop-row":  # where other values have a level, so have empty cells
        dropping = [
            name
            for name, words in options["categories"].items()
            if len(words) > 1 and None not in words
        ]
    alike = {
        "kind": release.kind,
        "guarantee": release.privacy,
        "parts": release.parts,
        "missing": options["missing"],
        "columns": columns_read(options),
        "dates": dates_of(release) if release.coefficients else {},
        "rows": getattr(release, "rows", None),
        "needed": (*dropping, *needed),
        "logarithms": "'log_of'" in str(options.get("schema")),
    }
    return Findings(**alike | own)

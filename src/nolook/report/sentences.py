"""Sentences: what pages, terminals and notebooks say, as macros in `templates/sentences`.

A macro returns plain text, escaped where it is shown. A sentence may take several lines of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.nativetypes import NativeEnvironment

from nolook.report.findings import Name, Text, listed, plain
from nolook.report.wording import (
    CONFIDENCE,
    count,
    grid_in_words,
    number,
    p_value,
    percent,
    rows_in_words,
)

__all__ = ["phrase", "sentence"]


def sentence(place: str, /, **values: object) -> Text:
    """Return the sentence of the macro "file.name" for some values, names as separate pieces."""
    subject, _, name = place.partition(".")
    said: Text = getattr(_environment().get_template(f"{subject}.jinja").module, name)(**values)
    return said


def phrase(place: str, /, **values: object) -> str:
    """Return a sentence on one line, where names need no piece of their own."""
    return plain(sentence(place, **values))


class _Value(str):
    """A value given to a macro, whose white space stays as it is."""

    __slots__ = ()


def _given(value: object) -> object:
    if isinstance(value, tuple):  # of another macro
        return tuple(map(_given, value))
    return _Value(value) if type(value) is str else value


class _Sentences(NativeEnvironment):
    """Macros return pieces of text, so that names keep apart; others are strings."""

    @staticmethod
    def concat(values: Iterable[object]) -> Text:  # type: ignore[override]
        """Join what a macro wrote: single spaces, none at its ends."""
        pieces: list[str] = []
        for value in values:
            for piece in value if isinstance(value, tuple) else (value,):
                if isinstance(piece, bool) or not isinstance(piece, str | int):
                    raise TypeError(f"{type(piece).__name__} in a sentence; expected a string")
                text = piece if isinstance(piece, str) else str(piece)
                last = pieces[-1] if pieces else " "
                if type(piece) is str:
                    text = re.sub(r"\s+", " ", piece)
                    text = text.lstrip() if last.endswith(" ") else text
                if pieces and not isinstance(text, Name) and not isinstance(last, Name):
                    pieces[-1] = f"{last}{text}"
                elif text != "":
                    pieces.append(text)
        if pieces and not isinstance(pieces[-1], Name):
            pieces[-1] = pieces[-1].rstrip()
        kept = tuple(piece for piece in pieces if piece)
        return kept if any(isinstance(piece, Name) for piece in kept) else "".join(kept)


@cache
def _environment() -> Environment:
    found = _Sentences(
        finalize=_given,
        loader=PackageLoader("nolook.report", "templates/sentences"),
        undefined=StrictUndefined,
    )
    found.filters |= {
        "count": count, "listed": listed, "name": Name, "number": number, "p_value": p_value,
        "percent": percent, "rows": rows_in_words, "thresholds": grid_in_words,
    }  # fmt: skip
    found.globals["confidence"] = CONFIDENCE
    return found

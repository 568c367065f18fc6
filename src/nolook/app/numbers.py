"""Numbers as people type them: with a decimal point or comma, and signs between thousands."""

from __future__ import annotations

import re

from nolook._validation import one_line
from nolook.errors import ParameterError

__all__ = ["as_number"]

_SPACES = re.compile(r"[\s'\u2019_]")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*")
_PLAIN = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?")


def as_number(text: str, flag: str, *, whole: bool = False) -> str:
    """Return a number as the command line takes it; refuse one that could be two.

    Examples
    --------
    >>> as_number("0,5", "--epsilon"), as_number("1.234,5", "--epsilon")
    ('0.5', '1234.5')
    >>> as_number("40.000", "--rows", whole=True)
    '40000'
    """
    given = _SPACES.sub("", text)
    if _GROUPED.fullmatch(given):
        signs = given.count(".") + given.count(",")
        if not whole and signs == 1:
            one, other = re.sub("[.,]", "", given), given.replace(",", ".") + "0"
            raise ParameterError(
                f"{flag} is {one_line(text)!r}, which can be read in two ways (write {one} or "
                f"{other})"
            )
        return re.sub("[.,]", "", given)
    last = max(given.rfind("."), given.rfind(","))
    if last >= 0 and {".", ","} <= {*given} and _GROUPED.fullmatch(given[:last]):
        given = re.sub("[.,]", "", given[:last]) + "." + given[last + 1 :]
    if not _PLAIN.fullmatch(given):
        raise ParameterError(
            f"{flag} is {one_line(text)!r}; expected a number (for example 0.5 or 0,5)"
        )
    return given.replace(",", ".")

"""Names of parameters in messages: as in Python, or as the options of the command that runs."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_OPTIONS: ContextVar[Mapping[str, str] | None] = ContextVar("options", default=None)


@contextmanager
def option_names(options: Mapping[str, str]) -> Iterator[None]:
    """Have messages name parameters by a command's options, such as "--features" for "features".

    Those not named keep the names that they have.
    """
    before = _OPTIONS.set({**(_OPTIONS.get() or {}), **options})
    try:
        yield
    finally:
        _OPTIONS.reset(before)


def parameter_name(parameter: str) -> str:
    """Return the name of a parameter in the caller's language."""
    return (_OPTIONS.get() or {}).get(parameter, parameter)


def is_settable(parameter: str) -> bool:
    """Tell whether the caller can set a parameter: always in Python."""
    options = _OPTIONS.get()
    return options is None or parameter in options


def usage_hint(parameter: str, value: object, python: str | None = None) -> str:
    """Return the instruction to set a parameter in the caller's language.

    `python` is how in Python, if it is not as a keyword argument.
    """
    name = parameter_name(parameter)
    if not name.startswith("-"):
        return f"{name}={value!r}" if python is None else python
    return name if value is True else f"{name} {shlex.quote(as_option(value))}"


def as_option(value: object) -> str:
    """Return a value as the text of an option: names with a comma in double quotes."""
    if isinstance(value, Mapping):
        return ";".join(f"{name}={as_option(of)}" for name, of in value.items())
    if isinstance(value, str) or not isinstance(value, Iterable):
        return str(value)
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(value)
    return line.getvalue()

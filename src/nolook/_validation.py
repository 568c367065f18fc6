"""Checks of parameters; a message gives the name, the value and what was expected.

Standard library only. NumPy scalars pass for Python numbers. A value that is neither a number nor
a short text is named by its type, so a message never shows data.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from nolook._language import parameter_name, usage_hint
from nolook.errors import ParameterError

_LONGEST_SHOWN = 60


def require(module: str, what: str, extra: str) -> Any:  # noqa: ANN401 -- an optional package
    """Import what an optional feature needs; `extra` installs it."""
    try:
        return [*map(import_module, (module.partition(".")[0], module))][-1]
    except ImportError:
        package = module.partition(".")[0]
        raise ParameterError(
            f"{what} need {package}, which is not installed: pip install 'nolook[{extra}]'"
        ) from None


def check_epsilon(epsilon: object, name: str = "epsilon") -> float:
    """Return a privacy parameter as a float if it is finite and above 0."""
    return check_positive(epsilon, name)


def check_positive(value: object, name: str) -> float:
    """Return `value` as a float if it is finite and above 0."""
    return _checked(value, name, math.inf, "a finite number above 0", 1.0)


def check_delta(delta: object, name: str = "delta", *, allow_zero: bool = False) -> float:
    """Return `delta` as a float if it is between 0 and 1, or 0 (pure) where that is allowed."""
    # A positive number too small for a double must not pass as a pure guarantee.
    if allow_zero and real_number(delta) == 0.0 and delta == 0:
        return 0.0
    return _checked(delta, name, 1.0, "0 or " * allow_zero + "a number between 0 and 1", 1e-6)


def check_fraction(value: object, name: str) -> float:
    """Return a share or a level as a float if it is strictly between 0 and 1."""
    return _checked(value, name, 1.0, "a number between 0 and 1", 0.5)


def _checked(value: object, name: str, most: float, expected: str, example: float) -> float:
    """Return `value` as a float if it is above 0 and below `most`."""
    number = real_number(value)
    if number is None or not 0.0 < number < most:
        raise refusal(name, value, expected, f"for example {usage_hint(name, example)}")
    return number


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`."""
    accepted = tuple(choices)
    if not isinstance(value, str) or value not in accepted:
        listed = ", ".join(repr(choice) for choice in accepted)
        raise refusal(name, value, f"one of {listed}", "give one of them")
    return value


def check_count(value: object, name: str, most: int, word: str = "") -> int:
    """Return `value` as an int from 1 to `most`; a message names the `word` that may be given."""
    number = _integer(value)
    if number is None or not 1 <= number <= most:
        expected = f"{f'{word!r} or ' * bool(word)}an integer from 1 to {most}"
        raise refusal(name, value, expected, f"for example {usage_hint(name, word or 100)}")
    return number


def check_count_or_auto(value: object, name: str, most: int, auto: str = "auto") -> int | None:
    """Return `value` as an int from 1 to `most`, None for the word `auto`."""
    is_auto = isinstance(value, str) and value == auto
    return None if is_auto else check_count(value, name, most, auto)


def count_or_auto(text: str, name: str, most: int = 2**20) -> int | str:
    """Translate a text that is a number from 1 to `most`, or ``auto``."""
    return check_count_or_auto(whole_number(text), name, most) or "auto"


def whole_number(text: str) -> int | str:
    """Return the number that a text of digits is; any other text as it is."""
    # More digits are too many for anything, and Python refuses to read some.
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else text


def check_path(path: object, example: str) -> Path:
    """Return the path of a file; `example` is shown in the message."""
    if not isinstance(path, str | os.PathLike):
        raise refusal("path", path, "the path of a file", f"for example {example!r}")
    return Path(path)


def check_random_state(value: object, name: str = "random_state") -> int | None:
    """Return None (the operating system's noise) or a seed of at least 0 (for experiments only)."""
    seed = _integer(value)
    if value is not None and (seed is None or seed < 0):
        raise refusal(name, value, "an integer of at least 0", "leave it out for a private result")
    return seed


def check_names(value: object, name: str, example: str | None = None) -> tuple[str, ...]:
    """Return `value` as a tuple if it holds distinct, non-empty strings, at least one."""
    advice = f"for example {example or usage_hint(name, ['age', 'height'])}"
    if isinstance(value, str) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise refusal(name, value, "a list of names", advice)
    names: dict[str, None] = {}
    for entry in value:
        if not isinstance(entry, str) or not entry:
            raise refusal(name, value, "non-empty strings", advice)
        if entry in names:
            raise refusal(name, entry, "each name once", "leave the second one out")
        names[entry] = None
    if not names:
        raise refusal(name, "", "at least one name", advice)
    return tuple(names)


def one_line(text: object) -> str:
    r"""Return a text on one line, control characters written as escapes.

    Column and file names may hold anything; shown raw they could move a terminal's cursor.

    Examples
    --------
    >>> one_line("income\n\x1b[31m")
    'income\\n\\x1b[31m'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in str(text)
    )


def real_number(value: object) -> float | None:
    """Return a real number as a float; anything else, a bool too, gives None."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def _integer(value: object) -> int | None:
    """Return an integer as an int; anything else, a bool too, gives None."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    return operator.index(value)


def shown(value: object) -> str:
    """Return a value as a short text on one line."""
    if value is None or isinstance(value, bool):
        return repr(value)
    number = real_number(value)
    if number is not None:
        integer = _integer(value)
        # Python refuses to print integers of very many digits.
        return repr(number) if integer is None or abs(number) >= 1e15 else repr(integer)
    if isinstance(value, str):
        text = repr(value)
        return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 4] + "...'"
    return f"a value of type {type(value).__name__}"


def refusal(name: str, value: object, expected: str, advice: str) -> ParameterError:
    """Return the error that a parameter's value is not what was expected."""
    return ParameterError(
        f"{parameter_name(name)} is {shown(value)}; expected {expected} ({advice})"
    )

"""Sentences about the first rows of a table, for its owner alone: nothing in them is private."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from nolook.errors import ParameterError
from nolook.tables.conversion import Vector, conversion
from nolook.tables.schema import ColumnSchema
from nolook.tables.source import Column, in_words
from nolook.tables.words import listed, trimmed

__all__ = ["DATES", "TIMES", "is_nothing", "look", "share", "texts"]

DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
TIMES = (
    *(f"%Y-%m-%d{between}%H:%M:%S{zone}" for between in " T" for zone in ("", "Z", "%z")),
    *(f"{day} %H:%M{seconds}" for day in DATES for seconds in ("", ":%S")),
)
# Words for a missing value, with or without capitals.
_NOTHING = (
    "", "-", "--", "?", ".", "NA", "N/A", "n.a.", "#N/A", "<NA>", "NaN", "null", "none", "missing",
    "unknown", "not known", "not available", "k. A.", "k.A.", "keine Angabe", "keine Angaben",
    "unbekannt", "nicht bekannt", "fehlend", "fehlt", "inconnu", "inconnue", "manquant",
    "non disponible", "non renseigné", "sconosciuto", "mancante", "non disponibile", "n.d.",
    "desconocido", "sin datos", "no disponible", "desconhecido", "sem dados", "onbekend",
    "ontbreekt", "okänd", "saknas", "ukjent", "ukendt", "nieznany", "brak", "brak danych",
)  # fmt: skip
_MISSING = pa.array(
    {each for word in _NOTHING for each in (word, word.lower(), word.upper(), word.capitalize())},
    pa.large_string(),
)
_LEAST_ROWS, _MOST_CLASSES = 20, 10
_NUMBERS = ("number", "integer")


def look(
    columns: dict[str, dict[str, Any]],
    cells: Mapping[str, Any],
    words: Mapping[str, list[str]],
    numbers: Mapping[str, Vector],
    target: str | None,
) -> Iterator[str]:
    """Yield sentences about the first rows, for their holder; draft what follows from them."""
    if target is not None and target not in columns:
        raise ParameterError(
            f"the target is {target!r}, but the table has no such column (check it)"
        )
    for name, values in numbers.items():
        if columns[name]["type"] != "boolean" and _counts(values):
            columns[name] = {"type": "identifier" if words.get(name) else "integer"}
            columns[name] |= {"use": "nothing"} if columns[name]["type"] == "integer" else {}
            yield f"{name} numbers the rows: it is not a feature."
    if target is not None and target in numbers and columns[target]["type"] in _NUMBERS:
        known = numbers[target][np.isfinite(numbers[target])]
        if {*known.tolist()} == {0.0, 1.0}:
            columns[target] = {"type": "boolean", "true": ["1"], "false": ["0"]}
            yield f"{target} is 0 or 1 in all of the first rows: drafted as yes (1) or no (0)."
    names = [name for name, each in columns.items() if each["type"] == "identifier"]
    if names:
        yield f"Identifiers, not features: {listed(names)}."
    yield from _written_oddly(columns, cells, words)
    shares = {name: _missing(cells[name], numbers.get(name)) for name in columns if name in cells}
    if some := [f"{name} {100 * share:.0f} %" for name, share in shares.items() if share >= 0.01]:
        yield f"Missing in the first rows: {listed(some)}."
    alone = [name for name in columns if len(words.get(name, ())) == 1 and name not in numbers]
    alone += [name for name, values in numbers.items() if _is_constant(values)]
    if alone:
        yield (
            f"The same in all of the first rows: {listed(alone)}. Such a column explains nothing "
            'and blurs the others: use = "nothing".'
        )
    yield from _followers(columns, cells, numbers, target)


def _written_oddly(
    columns: Mapping[str, Mapping[str, Any]],
    cells: Mapping[str, Any],
    words: Mapping[str, list[str]],
) -> Iterator[str]:
    """Name columns with codes, with dates of two readings or with two spellings of a word."""
    for name, settings in columns.items():
        if codes := [word for word in settings.get("missing", ()) if word.lstrip("-").isdigit()]:
            yield f"{name}: {', '.join(codes)} may stand for a missing value (drafted so)."
        other = str(settings.get("pattern", "")).translate({ord("d"): "m", ord("m"): "d"})
        if other in (*DATES, *TIMES) and share(cells[name], {**settings, "pattern": other}) == 1:
            yield f"{name}: day and month cannot be told apart ({settings['pattern']} is a guess)."
        own = words.get(name, [])
        if len({" ".join(word.casefold().split()) for word in own}) < len(own):
            yield f"{name}: some texts differ in capitals or blanks only (--levels shows them)."


def _counts(values: Vector) -> bool:
    """Tell whether numbers count the rows."""
    start = values[0] if len(values) >= _LEAST_ROWS else np.nan
    return start in {0.0, 1.0} and bool((values == start + np.arange(len(values))).all())


def _is_constant(values: Vector) -> bool:
    known = values[np.isfinite(values)]
    return len(known) >= _LEAST_ROWS and bool((known == known[0]).all())


def _missing(cells: Any, numbers: Vector | None) -> float:  # noqa: ANN401
    """Return the share of cells that say nothing."""
    if not len(cells):
        return 0.0
    if numbers is not None:
        return float(np.isnan(numbers).mean())
    nothing = cells.null_count
    if in_words(cells.type) == "text" and not pt.is_dictionary(cells.type):
        # Other words may be levels.
        nothing += pc.sum(pc.is_in(trimmed(cells.drop_null()), texts(["", "NA"]))).as_py() or 0
    return float(nothing / len(cells))


def _followers(
    columns: dict[str, dict[str, Any]],
    cells: Mapping[str, Any],
    numbers: Mapping[str, Vector],
    target: str | None,
) -> Iterator[str]:
    """Name columns of the same order as others, and those that follow from the target."""
    codes = {name: _codes(cells[name], numbers.get(name)) for name in columns if name in cells}
    alike: dict[bytes, list[str]] = {}
    for name in numbers:
        ranks = codes[name]
        if ranks.max(initial=0) >= _MOST_CLASSES:
            back = np.where(ranks < 0, -1, ranks.max() - ranks)
            alike.setdefault(min(ranks.tobytes(), back.tobytes()), []).append(name)
    for names in alike.values():
        if len(names) > 1 and target not in names:
            yield (
                f"{listed(names)} rise and fall together in all of the first rows: if one is the "
                "target, the others are not features."
            )
    if target is None:
        return
    columns[target] |= {} if columns[target]["type"] == "category" else {"use": "target"}
    same = next((names for names in alike.values() if target in names), [])
    others = [n for n in codes if n != target and columns[n].get("use") != "nothing"]
    found = [n for n in others if n in same or _follows(codes[n], codes[target])]
    for name in found:
        columns[name]["use"] = "nothing"
    if found:
        yield (
            f"{listed(found)} may follow from {target}, in all of the first rows: drafted as no "
            "features."
        )


def _codes(cells: Any, values: Vector | None) -> NDArray[np.intp]:  # noqa: ANN401
    """Return a number for each different cell, in order; of numbers, -1 for a missing one."""
    if values is not None:
        return np.where(np.isnan(values), -1, np.unique(values, return_inverse=True)[1])
    if pt.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    codes: NDArray[np.intp] = pc.rank(cells, tiebreaker="dense").to_numpy()
    return codes


def _follows(other: NDArray[np.intp], target: NDArray[np.intp]) -> bool:
    """Tell whether a column and the target, of few values, leave no doubt about each other."""
    if len(other) < _LEAST_ROWS or len(target) != len(other):
        return False
    few = [len({*codes.tolist()}) for codes in (other, target)]
    pairs = len({*zip(other.tolist(), target.tolist(), strict=True)})
    if 1 < few[1] <= _MOST_CLASSES and 1 < few[0] <= len(other) // 4 and pairs == few[0]:
        return True
    for one, many, values in ((target, other, few[1]), (other, target, few[0])):
        high, low = (many[(many >= 0) & (one == end)] for end in (one.max(), one.min()))
        known = values == 2 and min(len(high), len(low)) > 1
        if known and (high.min() > low.max() or high.max() < low.min()):
            return True
    return False


def share(cells: Any, settings: Mapping[str, Any]) -> float:  # noqa: ANN401
    """Return the share of cells that are what is declared, of those that say anything."""
    present = cells.filter(pc.invert(is_nothing(cells))).drop_null()
    found = conversion(Column("", pa.string(), ""), ColumnSchema(**settings))[1](present)
    return (len(found) - found.null_count) / len(present) if len(present) else 0.0


def texts(words: Sequence[str | None]) -> Any:  # noqa: ANN401
    """Return texts as Arrow holds them."""
    return pa.array(words, pa.large_string())


def is_nothing(cells: Any) -> Any:  # noqa: ANN401
    """Mark the public words for a missing value."""
    return pc.is_in(cells, value_set=_MISSING)

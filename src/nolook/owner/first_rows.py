"""Sentences about a sample of a table's rows, for its owner alone: nothing in them is private."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from nolook._arrays import Places, Vector
from nolook.errors import ParameterError
from nolook.tables.conversion import conversion
from nolook.tables.schema import ColumnSchema, FileFormat
from nolook.tables.source import BYTES, TEXT, Column, in_words
from nolook.tables.words import last_word, listed, trimmed

__all__ = [
    "DATES",
    "LEAST_ROWS",
    "TIMES",
    "Sample",
    "converted",
    "is_nothing",
    "look",
    "share",
]

DATES = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
TIMES = (
    *(f"%Y-%m-%d{between}%H:%M:%S{zone}" for between in " T" for zone in ("", "Z", "%z")),
    *(f"{day} %H:%M{seconds}" for day in DATES for seconds in ("", ":%S")),
)
# Words for a missing value, with or without capitals.
_NOTHING = (
    r"^(?i:|--?|\?|\.|n/?a|n\.a\.|#n/a|<na>|nan|null|none|missing|unknown|not known|not available"
    r"|k\. ?a\.|keine angaben?|unbekannt|nicht bekannt|fehlend|fehlt|inconnue?|manquant"
    r"|non disponible|non renseign(?:é|É)|sconosciuto|mancante|non disponibile|n\.d\.|desconocido"
    r"|sin datos|no disponible|desconhecido|sem dados|onbekend|ontbreekt|ok(?:ä|Ä)nd|saknas|ukjent"
    r"|ukendt|nieznany|brak|brak danych)$"
)
#: With fewer rows nothing can be told from how often values repeat.
LEAST_ROWS, _FEW_ROWS, _MOST_CLASSES, _CLOSE = 20, 200, 10, 0.6
_NUMBERS, _UNUSED = ("number", "integer"), ("identifier", "text", "nothing")
# Words of categories that may say nothing: those above, and codes.
_ODD = re.compile(rf"{_NOTHING}|-?([789])\1*")
# A word with a point, or one letter, and later one that it begins.
_SHORT = re.compile(r"(?ims)^([^\W\d_]+)\..*^\1\w|^([^\W\d_])$.*^\2\w{3}")
# Names of numbers that may be survey weights or codes.
_UNSURE = re.compile(r"[a-z]?weights?|w|gewicht|sex|gender|geschlecht")
# Names of what many rows have in common; numbers of these are codes, if there are many of them.
_GROUP = re.compile(
    r"[a-z]*(?:num|code?)"
    r"|(?:case|class|dist|fam|hh|hosp|int|pat|pers|plant|pupil|sch|stud|subj|teach|unit|user)[a-z]*"
    r"(?:id|no|nr)[a-z]{0,2}"
    r"|branch|cent(?:er|re)|clinic|cluster|commune|company|county|district|fips|firm|hospital"
    r"|industry|judge|municipality|occupation|player|province|psu|region|sic|site|state"
    r"|store|stratum|team|tract|village"
)


@frozen
class Sample:
    """The drafted settings of columns, cells of some rows, their words, numbers, and the target."""

    columns: dict[str, dict[str, Any]]
    cells: Mapping[str, Any]
    written: Mapping[str, list[str]]
    numbers: Mapping[str, Vector]
    target: str | None

    @property
    def dates(self) -> list[str]:
        """The features that are dates."""
        own = (name for name in self.features if name in self.cells)
        return [name for name in own if self.columns[name]["type"] in {"date", "datetime"}]

    @property
    def features(self) -> list[str]:
        """The columns, except the target, that are not set aside so far."""
        uses = {name: each.get("use", each["type"]) for name, each in self.columns.items()}
        return [name for name, use in uses.items() if name != self.target and use not in _UNUSED]


def look(found: Sample) -> Iterator[str]:
    """Yield sentences about some rows, for their owner; draft what follows from them."""
    columns, written, numbers, target = found.columns, found.written, found.numbers, found.target
    if target is not None and target not in columns:
        raise ParameterError(
            f"the target is {target!r}, but the table has no such column (check it)"
        )
    for name, values in numbers.items():
        plain = columns[name]["type"] == "number" and columns[name].keys() <= {"type", "missing"}
        if plain and len(values) >= _FEW_ROWS and not any(n % 1.0 for n in _known(values)):
            columns[name]["type"] = "integer"
        if name != target and columns[name]["type"] != "boolean" and _counts(values):
            columns[name] = {"type": "identifier"}
            yield f"{name} numbers the rows, or is their order: it is not a feature."
    many = [n for n, own in numbers.items() if n == target or len(own) >= _FEW_ROWS]
    marks = [n for n in many if columns[n]["type"] in _NUMBERS and _known(numbers[n]) == [0.0, 1.0]]
    if marks:
        columns |= {n: {"type": "boolean", "true": ["1"], "false": ["0"]} for n in marks}
        yield f"0 or 1 in all sampled rows: {listed(marks)} (drafted as yes or no)."
    yield from _identifiers(found)
    if unsure := [name for name in numbers if _UNSURE.fullmatch(last_word(name))]:
        yield f'{listed(unsure)}: survey weights need use = "weights", codes type = "category".'
    if bare := [n for n, each in columns.items() if each.get("levels") == [] and n != target]:
        yield f"Features once they have levels: {listed(bare)}."
    yield from _written_oddly(found)
    yield from _missing_often(found)
    known = {n: _known(numbers[n]) if n in numbers else written.get(n, ()) for n in found.features}
    alone = [n for n, own in known.items() if len(own) == 1 and len(found.cells[n]) >= LEAST_ROWS]
    if alone:
        columns |= {name: columns[name] | {"use": "nothing"} for name in alone}
        yield f"Only one value in the sampled rows: {listed(alone)}. Drafted as not used."
    yield from _followers(found)
    yield from _known_late(found)


def _identifiers(found: Sample) -> Iterator[str]:
    """Name columns that tell rows or groups apart."""
    columns = found.columns
    if names := [name for name, each in columns.items() if each["type"] == "identifier"]:
        yield f"Identifiers, not features: {listed(names)}."
    usual = [name for name in found.features if columns[name]["type"] in _NUMBERS]
    if groups := [n for n in usual if n in found.numbers and _are_codes(n, found.numbers[n])]:
        columns |= {name: {"type": "identifier"} for name in groups}
        yield f'Codes of groups, not features: {listed(groups)}. To protect groups: use = "unit".'


def _missing_often(found: Sample) -> Iterator[str]:
    """State which columns lack values, and draft those that mostly do as no features."""
    columns, cells, numbers = found.columns, found.cells, found.numbers
    shares = {name: _missing(cells[name], numbers.get(name)) for name in columns if name in cells}
    if some := [f"{name} {100 * share:.0f} %" for name, share in shares.items() if share >= 0.01]:
        yield f"Missing in the sampled rows: {listed(some)}."
    half = [name for name in found.features if shares.get(name, 0.0) >= 0.5]
    mostly = [n for n in half if len(cells[n]) >= LEAST_ROWS and columns[n]["type"] != "category"]
    if mostly:
        columns |= {name: columns[name] | {"use": "nothing"} for name in mostly}
        yield f"Missing in half of the rows or more: {listed(mostly)}. Drafted as not used."


def _written_oddly(found: Sample) -> Iterator[str]:
    """Name columns with codes, with dates of two readings or with two spellings of a word."""
    for name, settings in found.columns.items():
        own = found.written.get(name, [])
        if drafted := settings.get("missing"):
            yield f"{name}: {listed(drafted)} may stand for a missing value (drafted so)."
        if settings["type"] == "category" and (words := [*filter(_ODD.fullmatch, own)]):
            yield f"{name}: {listed(words)} may stand for a missing value (missing = [...] if so)."
        if settings["type"] == "category" and _SHORT.search("\n".join(sorted(own, key=str.lower))):
            yield f'{name}: a level may abbreviate another (merge = {{ LEVEL = ["OTHER"] }} if so).'
        other = str(settings.get("pattern", "")).translate({ord("d"): "m", ord("m"): "d"})
        swapped = {**settings, "pattern": other}
        if other in (*DATES, *TIMES) and share(found.cells[name], swapped) == 1:
            yield f"{name}: day and month cannot be told apart ({settings['pattern']} is a guess)."
        if len({" ".join(word.casefold().split()) for word in own}) < len(own):
            yield f"{name}: some differ only in case (ignored but in identifiers) or in blanks."


def _counts(values: Vector) -> bool:
    """Tell whether numbers count the rows, or whole ones rise with each of many rows."""
    steps = np.diff(values)
    regular = [*values[:1]] in ([0.0], [1.0]) and (steps[:LEAST_ROWS] == steps[:1]).all()
    many = len(values) >= (LEAST_ROWS if regular else _FEW_ROWS)
    return many and not (values % 1.0).any() and bool((steps > 0.0).all())


def _are_codes(name: str, values: Vector) -> bool:
    """Tell by a name and many different whole numbers whether a column has codes of groups."""
    known = _known(values)
    whole = len(known) > _MOST_CLASSES and known[0] >= 0.0 and not any(n % 1.0 for n in known)
    return whole and _GROUP.fullmatch(last_word(name)) is not None


def _known(values: Vector) -> list[float]:
    """Return the different numbers, in order."""
    return list(np.unique(values[np.isfinite(values)]))


def _missing(cells: Any, numbers: Vector | None) -> float:  # noqa: ANN401
    """Return the share of cells that say nothing."""
    lacking = cells.is_null() if numbers is None else np.isnan(numbers)
    if numbers is None and in_words(cells.type) == "text":
        # Other words may be levels.
        lacking = pc.is_in(trimmed(cells), value_set=pa.array(["", "NA", None], TEXT))
    return float(np.mean(lacking)) if len(cells) else 0.0


def _followers(found: Sample) -> Iterator[str]:
    """Name columns of the same order as others, and those that follow from the target."""
    columns, cells, numbers, target = found.columns, found.cells, found.numbers, found.target
    codes = {name: _codes(cells[name], numbers.get(name)) for name in columns if name in cells}
    alike: dict[bytes, list[str]] = {}
    for name in numbers:
        ranks = codes[name]
        if ranks.max(initial=0) >= _MOST_CLASSES:
            back = np.where(ranks < 0, -1, ranks.max() - ranks)
            alike.setdefault(min(ranks.tobytes(), back.tobytes()), []).append(name)
    for names in alike.values():
        if len(names) > 1 and target not in names:
            yield f"{listed(names)} rise and fall together: if one is the target, drop the others."
    if target is None:
        return
    columns[target] |= {} if columns[target]["type"] == "category" else {"use": "target"}
    same = next((names for names in alike.values() if target in names), [])
    others = [n for n in codes if n != target and columns[n].get("use") != "nothing"]
    after = [n for n in others if n in same or _follows(codes[n], codes[target])] + _ends(found)
    for name in after:
        columns[name]["use"] = "nothing"
    if after:
        yield f"{listed(after)} may follow from {target}: drafted as no features."


def _ends(found: Sample) -> list[str]:
    """Return the dates that mostly are as many days after another one as the target says."""
    values = found.numbers.get(str(found.target), np.full(1, np.nan))
    days = [np.asarray(converted(found.cells[n], found.columns[n]), float) for n in found.dates]
    after = (any(2 * np.sum(abs(b - a - values) <= 1) > len(b) for a in days) for b in days)
    return [*compress(found.dates, after)] if len(_known(values)) > _MOST_CLASSES else []


def _known_late(found: Sample) -> Iterator[str]:
    """Ask about dates, and numbers that mostly rise or fall with the target."""
    late, outcome = found.dates, found.target or "the outcome"
    known = [name for name in found.features if name in found.numbers]
    if outcome in found.numbers and len(found.cells[outcome]) >= LEAST_ROWS:
        ranks = [_codes(None, found.numbers[name]) for name in (outcome, *known)]
        with np.errstate(all="ignore"):
            late += compress(known, abs(np.atleast_2d(np.corrcoef(ranks))[0, 1:]) > _CLOSE)
    if late:
        yield f'Known only after {outcome}? If so, use = "nothing": {listed(late)}.'


def _codes(cells: Any, values: Vector | None) -> Places:  # noqa: ANN401
    """Return a number for each different cell, in order; of numbers, -1 for a missing one."""
    if values is not None:
        return np.where(np.isnan(values), -1, np.unique(values, return_inverse=True)[1])
    return np.asarray(pc.rank(cells, tiebreaker="dense"))


def _follows(other: Places, target: Places) -> bool:
    """Tell whether a column and the target, of few values, leave no doubt about each other."""
    if len(other) < LEAST_ROWS or len(target) != len(other):
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
    found = converted(present, settings)
    return (len(found) - found.null_count) / len(present) if len(present) else 0.0


def converted(cells: Any, settings: Mapping[str, Any], **form: Any) -> Any:  # noqa: ANN401
    """Return cells as a column of these settings, in a file of this format, has them."""
    column, declared = Column("", cells.type, ""), ColumnSchema(**settings)
    return conversion(column, declared.within(FileFormat(**form)))[1](cells)


def is_nothing(cells: Any) -> Any:  # noqa: ANN401
    """Mark the public words for a missing value."""
    return pc.match_substring_regex(cells.view(BYTES), pattern=_NOTHING)

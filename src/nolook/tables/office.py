"""Sheets, and files of SPSS, Stata and SAS: read once by another library, and kept as streams are.

A sheet declares no types, as a text file does: every cell becomes a text. Statistics programs
declare types, and words for codes, which are read instead of these.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from importlib import import_module
from itertools import count, islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from nolook._validation import require
from nolook.errors import ParameterError, TableError
from nolook.tables.csv import decoded
from nolook.tables.files import File, Place
from nolook.tables.schema import FileFormat
from nolook.tables.source import BYTES, TEXT, Column, as_text, attempt
from nolook.tables.spool import ROWS, Spooled
from nolook.tables.words import number_of

__all__ = ["SheetFile", "StatisticsFile"]

_READ = 1 << 17  # rows; a library reads from the start up to them
_1582, _1960, _1970 = (
    date(*day).toordinal() for day in ((1582, 10, 14), (1960, 1, 1), (1970, 1, 1))
)
_TIMES, _DAYS = pa.timestamp("ms"), pa.date32()
# By program: formats of dates and times, the seconds of their unit, the day they count from and the
# type.
_DATES = {
    ".sav": (("(DATETIME|YMDHMS)", 1.0, _1582, _TIMES), ("[AEJS]?DATE", 1.0, _1582, _DAYS)),
    ".dta": (("%-?t[cC]", 1e-3, _1960, _TIMES), ("%-?t?d", 86_400.0, _1960, _DAYS)),
    ".sas7bdat": (
        ("(DATETIME|E8601DT)", 1.0, _1960, _TIMES),
        ("(DATE|DDMMYY|MMDDYY|YYMMDD|E8601DA)", 86_400.0, _1960, _DAYS),
    ),
}
# The format of numbers without decimals, which SPSS keeps as doubles: exact below this.
_WHOLE, _LARGEST = re.compile(r"[FN]\d+(\.0)?"), 2.0**53
# What a number, a boolean or a date becomes, perhaps with blanks behind it.
_LIKE_A_VALUE = re.compile(
    r"(?:-?[\d.,]+(?:e[+-]?\d+)?|-?inf|nan|true|false|\d+-\d\d-\d\d [\d:.]+|[\d:.]+) *"
)
_LATEST = 1e12  # seconds
_ALONE = Lock()  # of the process's standard error


class _OnceFile(File):
    """A file that a library reads as a whole."""

    library: str
    _kept: Spooled | None = None

    def __init__(self, place: Place, *form: Any) -> None:  # noqa: ANN401
        require(self.library, f"files such as {place.name}", "files")
        super().__init__(place, *form)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": None}  # a file without a name stays here

    def _stream(self, names: list[str]) -> Iterator[Any]:
        if self._kept is None:
            self._kept = Spooled(self.name, self.columns, lambda _: self._rows())
        yield from self._kept.batches(names)

    @abstractmethod
    def _rows(self) -> Iterator[Any]:
        """Yield record batches of all columns."""


class SheetFile(_OnceFile):
    """The first sheet of a workbook; every column is text.

    Parameters
    ----------
    place : Place
    form : FileFormat
        How many rows to skip, whether there is a header, and the decimal sign: cells with numbers
        are written with it, as in a text file of the same schema.
    names : mapping of str to str
        The columns' names if there is no header, and decimal signs of their own.
    """

    kind, library, is_text = "Excel", "python_calamine", True
    endings = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")

    def _declared(self) -> tuple[Column, ...]:
        names: Sequence[str | None] = [*self._names]
        if self._form.header:
            names = next(islice(self.cells(), self._form.skip, None))
        while names and not names[-1]:  # beside the table
            names = names[:-1]
        return tuple(Column((name or "").strip(), TEXT, "text") for name in names)

    def cells(self, signs: Sequence[str] = ()) -> Iterator[list[str | None]]:
        """Yield rows that are not empty, with the decimal signs of the first columns."""
        calamine = import_module(self.library)
        with self.place.open() as file:
            sheet = calamine.CalamineWorkbook.from_filelike(file).get_sheet_by_index(0)
            rows, before = sheet.iter_rows(), (sheet.start or (0, 0))[1]
            signs = [*signs[before:], *[self._form.decimal] * sheet.width]
            while some := _some(rows, sheet.width):
                for row in some:
                    # From the sheet's first column.
                    cells = [None] * before + [*map(_text, row, signs)]
                    if any(cells):
                        yield cells

    def _rows(self) -> Iterator[Any]:
        names = [column.name for column in self.columns]
        rows = self.cells([self._names.get(name) or self._form.decimal for name in names])
        rows = islice(rows, self._form.skip + self._form.header, None)
        while some := list(islice(rows, ROWS)):
            # Rows of a sheet are of one length, whatever is beside the table.
            columns: list[Any] = [*zip(*some, strict=True)][: len(names)]
            columns += [[None] * len(some)] * (len(names) - len(columns))
            arrays = [pa.array(cells, TEXT) for cells in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=names)


def _some(rows: Iterator[Sequence[Any]], width: int) -> list[Sequence[Any]]:
    """Return the next rows; blanks stand for one with a date too far away for the library.

    What it writes of that to the standard error is lost, and so is what others write meanwhile.
    """
    some: list[Sequence[Any]] = []
    with _ALONE, open(os.devnull, "w") as nothing, open(os.dup(2), "w") as kept:  # noqa: PTH123
        os.dup2(nothing.fileno(), 2)
        try:
            while len(some) < ROWS:
                try:
                    row = attempt("", next, rows, None)
                except TableError:
                    row = [" "] * width
                if row is None:
                    break
                some.append(row)
        finally:
            os.dup2(kept.fileno(), 2)
    return some


def _text(cell: Any, decimal: str = ".") -> str | None:  # noqa: ANN401
    """Return a cell as a text file with this decimal sign would have it, none for an empty one."""
    if isinstance(cell, timedelta):
        cell /= timedelta(days=1)
    if isinstance(cell, float):  # as all numbers are
        whole = cell.is_integer() and abs(cell) < 1e15
        return str(int(cell)) if whole else repr(cell).replace(".", decimal)
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return f"{cell} 00:00:00"
    text = as_text(cell) or str(cell)
    # No text is what a number is, which may be another person's identifier.
    return text + " " if isinstance(cell, str) and _LIKE_A_VALUE.fullmatch(text) else text or None


class StatisticsFile(_OnceFile):
    """A file of SPSS, Stata or SAS. A column whose codes have words, its labels, is text.

    Numbers of SPSS without decimals are integers, so that they may identify persons, unless they
    are measured on a scale; a fraction among them is missing.
    """

    kind, library = "SPSS, Stata or SAS", "pyreadstat"
    endings = (".sav", ".zsav", ".dta", ".sas7bdat")

    def _declared(self) -> tuple[Column, ...]:
        about = self._read(metadataonly=True)[1]
        encoding = about.file_encoding
        if self._ending == ".dta" and encoding is None:
            with self.place.open() as file:
                start = file.read(64)
            is_new = start.startswith(b"<stata_dta>") and b"<release>117" not in start
            encoding = "utf-8" if is_new else "cp1252"
        self._encoding = "utf-8"  # which leaves bytes as they are
        with suppress(ParameterError):
            self._encoding = FileFormat(encoding=encoding).encoding
        kinds = about.readstat_variable_types
        self._labels = {
            name: _labels(words)
            for name, words in about.variable_value_labels.items()
            if about.variable_measure.get(name) != "scale" and kinds[name] != "string"
        }
        called = about.column_names_to_labels
        found = Counter([*called, *called.values()])
        #: Settings of columns in a schema: words in the order of their codes, and labels.
        self.settings: dict[str, dict[str, Any]] = {
            name: {"levels": [words[code] for code in sorted(words)]}
            for name, words in self._labels.items()
        }
        for name, label in called.items():
            if label and found[label] == 1:
                self.settings.setdefault(name, {})["label"] = label
        self._codes = {
            name
            for name, form in about.original_variable_types.items()
            if _WHOLE.fullmatch(form or "") and about.variable_measure.get(name) != "scale"
        }
        known = _DATES[self._ending]
        self._dates = {
            name: next((how for like, *how in known if re.match(like, form or "")), None)
            for name, form in about.original_variable_types.items()
        }
        return tuple(Column(name, self._kind(name, kinds[name])) for name in about.column_names)

    @property
    def _ending(self) -> str:
        return Path(self.place.label).suffix.lower().replace(".z", ".")

    def _read(self, **options: Any) -> Any:  # noqa: ANN401
        read = getattr(import_module(self.library), f"read_{self._ending[1:]}")
        with self.place.open() as file:
            return read(file, output_format="dict", disable_datetime_conversion=True, **options)

    def _kind(self, name: str, stored: str) -> Any:  # noqa: ANN401
        if name in self._labels or stored == "string":
            return TEXT
        if dates := self._dates[name]:
            return dates[2]
        return pa.int64() if stored.startswith("int") or name in self._codes else pa.float64()

    def _rows(self) -> Iterator[Any]:
        names = [column.name for column in self.columns]
        for start in count(0, _READ):
            # In an encoding without wrong bytes: no cell may be an error.
            found = self._read(row_offset=start, row_limit=_READ, encoding="latin1")[0]
            columns = list(map(self._as_declared, self.columns, found.values()))
            yield pa.RecordBatch.from_arrays(columns, names=names)
            if not columns or len(columns[0]) < _READ:
                return

    def _as_declared(self, column: Column, cells: Sequence[Any]) -> Any:  # noqa: ANN401
        if words := self._labels.get(column.name):
            return pa.array([None if c is None else words.get(c, _plain(c)) for c in cells], TEXT)
        if pa.types.is_large_string(column.type):
            raw = [
                None if c is None else decoded(c.encode("latin-1"), self._encoding) for c in cells
            ]
            return pa.array(raw, BYTES).view(TEXT)
        if dates := self._dates[column.name]:
            unit, start, kind = dates
            seconds = np.array(cells, np.float64) * unit + 86_400.0 * (start - _1970)
            known = abs(seconds) < _LATEST
            moments = np.where(known, seconds, 0.0) * 1e3
            days = np.floor(moments / 86_400e3).astype(np.int32)
            whole = days if kind == _DAYS else moments.astype(np.int64)
            return pa.array(whole, mask=~known).view(kind)
        if column.name in self._codes:
            numbers = np.array(cells, np.float64)
            known = (numbers == np.floor(numbers)) & (abs(numbers) < _LARGEST)
            return pa.array(np.where(known, numbers, 0.0).astype(np.int64), mask=~known)
        return pa.array(cells, column.type)


def _plain(code: Any) -> str:  # noqa: ANN401
    """Return a code without a word as a text."""
    return _text(float(code)) or "" if isinstance(code, float | int) else str(code)


def _labels(words: Mapping[Any, Any]) -> dict[Any, str]:
    """Return the words of a column's codes, with the codes where two codes could be one text.

    They may be identifiers, of which none may become another one.
    """
    labels = {code: str(word).strip() for code, word in words.items()}
    alone = len({*labels.values()}) == len(labels)
    if alone and all(number_of(word) in {None, code} for code, word in labels.items()):
        return labels
    return {code: f"{label} ({_plain(code)})" for code, label in labels.items()}

"""A table as people have them, and the same table clean."""

from __future__ import annotations

import datetime as dt
import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa

import nolook

__all__ = ["FILE", "SCHEMA", "clean", "compressed", "messy"]

FILE = {"delimiter": ";", "decimal": ",", "thousands": ".", "missing": ["k. A.", "unbekannt", "-"]}
SCHEMA = {
    "Kosten, gesamt": {"type": "number", "currency": ["€"], "use": "target"},
    'Tage "stationär"': "number",
    "Anteil": {"type": "number", "percent": True},
    "Raucher": {"type": "boolean", "true": ["JA"], "false": ["NEIN"]},
    "Aufnahme": {"type": "date", "pattern": "%d.%m.%Y", "origin": "2020-01-01"},
    "Station": {"type": "category", "levels": ["Nord", "Süd", "Geburt; Kinder"]},
    "Patient": "identifier",
    "Notiz": "text",
}
_WARDS = ["Nord", "Süd", "Geburt; Kinder", "Rest"]


def clean(rows: int, *, complete: bool = False) -> pa.Table:
    """The table as a database would have it: numbers, booleans, dates, texts and nulls."""
    generator = np.random.default_rng(5)
    days = generator.integers(0, 30, rows)
    share = np.round(generator.uniform(0, 1, rows), 3)
    smoker = generator.random(rows) < 0.3
    ward = generator.integers(0, 4, rows)
    admitted = generator.integers(0, 900, rows)
    cost = 800.0 * days + 2500.0 * smoker + 1500.0 * (ward == 2) + 1000 * share
    cost = np.round(cost + generator.normal(0, 900, rows), 2)

    def column(cells, kind=None):
        if complete:
            return pa.array(cells, kind)
        return pa.array(cells, kind, mask=generator.random(rows) < 0.01)

    first = dt.date(2022, 1, 1)
    dates = [first + dt.timedelta(days=int(day)) for day in admitted]
    return pa.table({
        "Kosten, gesamt": column(cost), 'Tage "stationär"': column(days), "Anteil": column(share),
        "Raucher": column(smoker), "Aufnahme": column(dates, pa.date32()),
        "Station": column([_WARDS[i] for i in ward], pa.string()),
        "Patient": pa.array(range(rows)), "Notiz": pa.array([f"SECRET; {i}" for i in range(rows)]),
    })  # fmt: skip


def messy(table: pa.Table, encoding: str = "utf-8") -> bytes:
    """The same as a spreadsheet would write it."""
    generator = np.random.default_rng(6)
    columns = [
        [None if cell is None else _WRITTEN[name](cell) for cell in table[name].to_pylist()]
        for name in table.column_names
    ]
    nothing = ["", "k. A.", "unbekannt", "-", " - "]
    stream = io.StringIO(newline="")
    stream.write(";".join(_quoted(name) for name in table.column_names) + "\r\n")
    for row in zip(*columns, strict=True):
        words = [nothing[generator.integers(5)] if cell is None else cell for cell in row]
        stream.write(";".join(words) + "\r\n")
        if generator.random() < 0.001:
            stream.write("\r\n")  # a blank line is no row
    return stream.getvalue().encode(encoding)


def _amount(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


_WRITTEN = {
    "Kosten, gesamt": lambda cost: f"{_amount(cost)} €" if cost > 0 else f"-€{_amount(-cost)}",
    'Tage "stationär"': str,
    "Anteil": lambda share: f"{share * 100:.1f}".replace(".", ",") + " %",
    "Raucher": lambda smoker: "JA" if smoker else " NEIN",
    "Aufnahme": lambda day: f"{day.day}.{day.month:02}.{day.year}",
    "Station": _quoted,
    "Patient": lambda number: f"{number:06}",
    "Notiz": _quoted,
}


def compressed(content: bytes, path: Path) -> Path:
    """Write bytes, compressed as the path's name says."""
    if path.name.endswith(".gz"):
        path.write_bytes(gzip.compress(content, 1))
    elif path.name.endswith(".zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(content)
    else:
        path.write_bytes(content)
    return path


def declared(encoding: str = "utf-8") -> nolook.Schema:
    """What the holder of the messy table declares of it."""
    return nolook.Schema(SCHEMA, **FILE, encoding=encoding)

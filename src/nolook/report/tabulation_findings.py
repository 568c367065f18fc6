"""Reports of tabulations, groups with their margins, and of descriptions of columns."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np
from attrs import evolve

from nolook._arrays import Flags, Places, Vector
from nolook.estimators.tabulation import Description, Measured, Tabulation
from nolook.report.findings import (
    Figure,
    Findings,
    Section,
    Table,
    Text,
    dates_of,
    findings_of,
)
from nolook.report.picture import (
    BARS,
    DASHES,
    Curve,
    Picture,
    Point,
    around,
    axis,
    groups_picture,
    rows_picture,
)
from nolook.report.reference_levels import unseen_levels
from nolook.report.sentences import phrase, sentence
from nolook.report.wording import HIDDEN, INTERVAL, count, number, with_ends
from nolook.tables.design import declared_labels
from nolook.tables.words import GAP, OTHERS, listed

__all__ = ["MISSING", "description_findings", "tabulation_findings"]

_TOLD, _MIDDLE = {"count", "mean", "share"}, {0.5}  # measures with a sentence of their own
_MOST_TOLD = 4
_SHARED = {"mean", "quantile"}  # measures that take a part of the budget
_MOST_DRAWN = 40  # groups in a picture
_MOST_QUANTILES = 9  # in a table; of more it has the quartiles, and a picture the rest
_QUARTILES = {0.25, 0.5, 0.75}
_WIDTH, _FEWEST_BARS = 12, 4  # of a small distribution
_MOMENTS = ("values", "missing", "mean", "deviation")
_MOST_PAIRS, _PAIRS_IN_FULL = 30, 10  # of all pairs of columns
_HIDDEN = "not shown"
_LIKELY = 0.95
_SIZES = [10**power * digit for power in range(1, 10) for digit in (1, 2, 5)]
MISSING = "counted as a group of their own"
_NAMES = {
    "count": "{}",
    "estimate": "{}, estimated",
    "values": "Values of {}",
    "deviation": "Standard deviation of {}",
}


def _head(found: Tabulation, each: Measured) -> str:
    """Return the heading of a measure."""
    if each.name == "quantile":
        at = float(each.at or 0.0)
        return f"{'Median' if at == 0.5 else f'{100 * at:g} % quantile'} of {each.column}"
    if each.name == "share":
        return f"Share of {each.column}{'' if each.at is None else f' = {each.at}'} (known values)"
    name = _NAMES.get(each.name, f"{each.name.capitalize()} of {{}}")
    return name.format(each.column or found.privacy.unit.tally)


def _with_ends(each: Measured) -> Iterator[Vector]:
    """Yield numbers and the ends of their intervals: total ones, or else those of the noise."""
    value, low, high, *noise = each.shown
    yield value
    for end, of_noise in zip((low, high), noise, strict=True):
        yield np.where(np.isnan(low), of_noise, end)


def _cell(found: Tabulation | Description, each: Measured, place: int) -> str:
    """Return one number and its interval."""
    value, low, high = (float(numbers[place]) for numbers in _with_ends(each))
    if each.name == "estimate":
        return f"{value:,.0f}"
    origin = dates_of(found).get(str(each.column)) if each.name in _SHARED else None
    return with_ends(value, (low, high), share=each.name == "share", origin=origin, missing=_HIDDEN)


def _shown(found: Tabulation | Description, places: Places) -> list[int]:
    """Return groups of declared levels, and of others those that stand out from the noise of all.

    The chance that any of these does by noise alone is that of one, as noise falls exponentially.
    """
    counts, declared = found.measured[0].estimates, _declared(found)
    wider = 1.0 + math.log(max(1, (~declared).sum())) / math.log(20.0)
    surely = counts.value > wider * (counts.value - counts.noise_low)
    return [int(place) for place in places if declared[place] or surely[place]]


def _declared(found: Tabulation | Description) -> Flags:
    """Mark the groups of declared levels."""
    known = [len(declared_labels(labels)) for labels in found.levels.values()]
    return np.asarray(np.all(found.codes < known, axis=1))


def _left_out(found: Tabulation | Description, tables: Sequence[Table]) -> tuple[str, ...]:
    """Return the notes on groups and numbers that are left out."""
    others = any(OTHERS in labels for labels in found.levels.values())
    hidden = any(_HIDDEN in row for table in tables for row in table.rows)
    means = isinstance(found, Tabulation) and any(each.name == "mean" for each in found.measured)
    groups = phrase("tables.left_out", others=OTHERS if others else "", means=means)
    return groups, *(phrase("tables.hidden", word=_HIDDEN, unit=found.privacy.unit),) * hidden


def _label(found: Tabulation, place: int, names: Sequence[str]) -> str:
    codes = dict(zip(found.names, found.codes[place].tolist(), strict=True))
    return ", ".join(found.label(name, codes[name]) for name in names)


def _of_groups(found: Tabulation, by: Sequence[str]) -> list[Measured]:
    """Return the measures of a table's groups; the share of a level is not one of its own group."""
    kept = (each for each in found.measured if each.name not in {"values", "missing"})
    return [each for each in kept if each.name != "share" or each.column not in by]


def _tables(found: Tabulation, by: Sequence[str], *, noise: bool = False) -> tuple[Table, ...]:
    """Return tables of some columns; shares of levels of one of these are by the others."""
    # Sums of units' means would be taken for totals.
    apart = {"values", "missing", "deviation", "sum" if found.privacy.unit.is_shared else ""}
    dates = dates_of(found)
    shares = {each.at for each in found.measured if each.name == "quantile"}
    shown = shares if len(shares) <= _MOST_QUANTILES else shares & _QUARTILES
    kept = [
        each
        for each in found.measured
        if each.name not in apart
        and not (each.name == "sum" and each.column in dates)
        and not (noise and np.isnan(each.estimates.low).all())
        and (each.name != "quantile" or each.at in shown)
    ]
    groups: dict[tuple[str, ...], list[Measured]] = {tuple(by): []}
    for each in kept:
        own = tuple(name for name in by if each.name != "share" or name != each.column)
        only = evolve(each, estimates=each.estimates.of_noise()) if noise else each
        groups.setdefault(own, []).append(only)
    what = f", with {INTERVAL}s of {'the noise only' if noise else 'noise and sampling'}"
    tables = (
        [_crossed(found, own, each, what) for each in measures]
        if len(own) == 2
        else [_listed(found, own, measures, what)]
        for own, measures in groups.items()
    )
    return tuple(chain(*tables))


def _caption(found: Tabulation, by: Sequence[str], head: str, what: str) -> str:
    """Return the caption of a table; it says where margins include more than its groups."""
    less = len(_shown(found, places := found.groups_of(by))) < len(places)
    margins = '; "all" includes groups left out' * less
    return f"{head}{' by ' * bool(by)}{' and '.join(by)}{what}{margins}"


def _listed(found: Tabulation, by: Sequence[str], measures: Sequence[Measured], what: str) -> Table:
    """Return measures of groups, then those of margins, then of all."""
    *rows, last = (
        (_label(found, place, by) or "all", *(_cell(found, each, place) for each in measures))
        for size in range(len(by), -1, -1)
        for own in combinations(by, size)
        for place in _shown(found, found.groups_of(own))
    )
    heads = (", ".join(by) or "Rows", *(_head(found, each) for each in measures))
    caption = _caption(found, by, "Numbers", what)
    return Table(caption, heads, tuple(rows) or (last,), last if rows else ())


def _crossed(found: Tabulation, by: Sequence[str], each: Measured, what: str) -> Table:
    """Return one measure by two columns: a row for each level of the first, then all."""
    own = [found.names.index(name) for name in by]
    margins = (by, by[:1], by[1:], ())
    places = [place for names in margins for place in _shown(found, found.groups_of(names))]
    cells = {tuple(found.codes[p, own].tolist()): _cell(found, each, p) for p in places}
    down, across = map(dict.fromkeys, zip(*cells, strict=True))
    heads = by[0], *(found.label(by[1], code) for code in across)
    rows = tuple(
        (found.label(by[0], code), *(cells.get((code, other), "") for other in across))
        for code in down
    )
    what *= each.name != "estimate"
    return Table(_caption(found, by, _head(found, each), what), heads, rows)


def _curves(
    found: Tabulation, by: Sequence[str], quantiles: Sequence[Measured]
) -> tuple[Picture, ...]:
    """Draw the distribution of a column in each of a table's first groups."""
    shares = np.array([each.at for each in quantiles], dtype=np.float64)
    curves: list[Curve] = []
    for place in _shown(found, found.groups_of(by)):
        cells = [[numbers[place] for numbers in _with_ends(each)] for each in quantiles]
        values, low, high = np.array(cells).T
        known = ~np.isnan(values)
        if known.any() and len(curves) < len(DASHES):
            across = np.union1d(low[known], high[known])
            # The share up to a value is least where quantiles are at their upper ends.
            least, most = (np.interp(across, each[known], shares[known]) for each in (high, low))
            line = values[known], shares[known]
            curves.append((_label(found, place, by) or "all", line, (across, least, most)))
    if not curves:
        return ()
    column, values = quantiles[0].column, np.concatenate([each for _, (each, _), _ in curves])
    shown = axis(str(column), *around(float(values.min()), float(values.max())))
    return (groups_picture(shown, curves, f"{INTERVAL}s"),)


def _pictures(found: Tabulation, by: Sequence[str]) -> tuple[Picture, ...]:
    """Draw one measure of a table's groups."""
    counts, *others = _of_groups(found, by)
    quantiles = [each for each in others if each.name == "quantile"]
    quantiles = [each for each in quantiles if each.column == quantiles[0].column]
    if len(quantiles) > _MOST_QUANTILES:
        return _curves(found, by, quantiles)
    each = others[0] if others and others[0].name != "estimate" else counts
    value, low, high = _with_ends(each)
    known = [p for p in _shown(found, found.groups_of(by)) if np.isfinite(value[p])]
    if not by or not known:
        return ()
    points = tuple(
        Point(float(value[p]), row, (float(low[p]), float(high[p])), name=_label(found, p, by))
        for row, p in enumerate(known[:_MOST_DRAWN])
    )
    title = _head(found, each)
    cut = f", the first {_MOST_DRAWN} of {len(known)} groups" * (len(known) > _MOST_DRAWN)
    about = f"{title} by {', '.join(by)}", f"with {INTERVAL}s{cut}"
    return (rows_picture(*about, title, points),)


def _sections(
    found: Tabulation,
    tables: Sequence[Sequence[str]],
    shown: Sequence[tuple[Table, ...]],
    notes: tuple[str, ...],
    pairs: Mapping[tuple[str, ...], float],
) -> tuple[Section, ...]:
    """Return a section for each table; of all pairs, the associations first and alone printed."""
    figures, first = tuple(map(Figure, _pictures(found, tables[0]))), shown[0]
    others = [
        Section(f"found{place}", f"By {', '.join(by)}", tables=own, printed=() if pairs else own)
        for place, (by, own) in [*enumerate(zip(tables, shown, strict=True))][1:]
    ]
    if not pairs:
        return Section("found", "Results", (), figures, first, notes), *others
    strengths = (HIDDEN if math.isnan(v) else number(v, 2) for v in pairs.values())
    rows = tuple(zip(map(", ".join, pairs), strengths, strict=True))
    strongest = Table("The strongest associations", ("Columns", "Cramér's V"), rows[:_MOST_PAIRS])
    every = chain(*(_tables(found, by) for by in pairs))
    section = Section(
        "found", "Results", (), figures, (strongest, *first), notes,
        printed=(strongest, *notes), exported=(strongest, *every, *notes),
    )  # fmt: skip
    return section, *others


def tabulation_findings(found: Tabulation) -> Findings:
    """Report the measures of groups."""
    pairs = found.associations()
    tables = tuple(pairs)[:_PAIRS_IN_FULL] or found.by or ((),)
    shown = [_tables(found, by) for by in tables]
    tested, names = found.independence(), found.names
    notes = (
        *_left_out(found, [*chain(*shown)]),
        *_levels_found(found),
        *([phrase("tables.associated", names=names, tested=tested)] if tested else []),
        *([phrase("tables.estimates", shown=len(tables), pairs=len(pairs))] if pairs else []),
        *((phrase("tables.noisier"),) * any(each.name in _SHARED for each in found.measured)),
        phrase("tables.margins"),
    )
    apart = tuple(each for by in tables for each in _tables(found, by, noise=True))
    asked = dict.fromkeys(each.column for each in found.measured if each.column is not None)
    split = ", by ".join(" and ".join(by) for by in tables) or "all rows"
    of = ", ".join(names) if pairs else split
    return findings_of(
        found,
        what="table by" if names else "table of",
        of=of,
        missing=MISSING,
        sections=(
            *_sections(found, tables, shown, notes, pairs),
            Section("noise", "The noise only", tables=apart, printed=()),
        ),
        settings=(
            ("Tables", f"all {len(pairs)} pairs of {of}" if pairs else split),
            ("Measured", ", ".join(asked) or "counts only"),
        ),
        question=sentence("questions.tabulation", names=names) if names else "",
        conclusion=tuple(
            phrase("tables.strongest", names=by, v=v) for by, v in [*pairs.items()][:1]
        )
        or tuple(_highest(found)),
        certainty=(phrase("tables.certainty", unit=found.privacy.unit),),
        cautions=tuple(_unseen(found)),
    )


def _unseen(found: Tabulation | Description) -> Iterator[str]:
    """Ask to check the words of columns whose declared levels hardly a row has."""
    rows, *_, low, high = found.measured[0].shown
    for name, labels in found.levels.items():
        words = declared_labels(labels)
        own = found.groups_of([name])[: len(words)]
        ends = (each[own].sum() / max(1.0, *rows) for each in (low, high))
        if words:
            yield from unseen_levels(name, found.privacy.unit, [(listed(words), *ends)])


def _levels_found(found: Tabulation) -> tuple[str, ...]:
    """Return a sentence on the sizes of levels that are shown."""
    search = found.searched
    if search is None:
        return ()
    likely = next(size for size in _SIZES if search.chance(size) > _LIKELY)
    return (phrase("tables.levels_found", one=found.privacy.unit.counted, size=likely),)


def _highest(found: Tabulation) -> Iterator[Text]:
    """Name the groups of the first table that may have the most rows, or the highest mean."""
    by, counted = found.by[0] if found.by else (), found.privacy.unit.counted
    places = found.groups_of(by)
    places = places[_declared(found)[places]]
    own = "({})" if len(by) > 1 else "{}"
    asked = [each for each in _of_groups(found, by) if each.at in _MIDDLE or each.name in _TOLD]
    for each in asked[:_MOST_TOLD] if by and places.size else ():
        value, low, high = (numbers[places] for numbers in _with_ends(each))
        if np.isnan(value).all():
            continue
        first, last, rows = int(np.nanargmax(value)), int(np.nanargmin(value)), each.name == "count"
        head, noun = _head(found, each), f" {counted}s" * rows
        names = [own.format(_label(found, place, by)) for place in places]
        ends = [(names[n], f"{_cell(found, each, places[n])}{noun}") for n in (first, last)]
        near = high >= low[first]
        yield sentence(
            "tables.highest",
            head=None if rows else f"{head[:1].lower()}{head[1:]}",
            first=ends[0],
            others=[name for n, name in enumerate(names) if near[n] and n != first],
            least=None if near[last] else ends[1],
            hidden=bool(np.isnan(value).any()),
        )


def description_findings(found: Description) -> Findings:
    """Report the contents of columns."""
    numbers: dict[str, list[Measured]] = {}
    for each in found.measured[1:]:
        if each.name != "share":
            numbers.setdefault(str(each.column), []).append(each)
    tables = (*_of_numbers(found, numbers), *_of_levels(found))
    columns, shapes = [*numbers, *found.names], (phrase("tables.shapes"),) * bool(numbers)
    unit, rows = found.privacy.unit, 5000.0 / found.privacy.epsilon
    deviations = (e.estimates.value[0] for e in found.measured if e.name == "deviation")
    if any(map(math.isnan, deviations)):
        shapes = (phrase("tables.deviations", word=_HIDDEN, unit=unit, rows=rows), *shapes)
    notes = (*_left_out(found, tables), *shapes)
    return findings_of(
        found,
        what="description of",
        of=count(len(columns), "column"),
        missing=MISSING,
        sections=(Section("found", "Results", (), (), tables, notes, printed=tables),),
        settings=(("Columns", ", ".join(columns)),),
        conclusion=(
            sentence(
                "tables.kinds", numbers=len(numbers), others=len(found.by), gaps=[*_gaps(found)]
            ),
        ),
        question=sentence("questions.description", names=columns),
        certainty=(phrase("tables.certainty", unit=found.privacy.unit),),
        cautions=tuple(_unseen(found)),
    )


def _gaps(found: Description) -> Iterator[str]:
    """Yield the columns that surely lack values, and how many."""
    for each in found.measured:
        if (each.name == "missing" or each.at == GAP) and each.estimates.low[0] > 0.0:
            noun = f" {found.privacy.unit.counted}s" * (each.name == "missing")
            yield f"{each.column} ({_cell(found, each, 0).partition(' (')[0]}{noun})"


def _of_numbers(found: Description, numbers: Mapping[str, Sequence[Measured]]) -> Iterator[Table]:
    """Yield the tables of the measures of all rows, by column."""

    def row(own: Sequence[Measured], kept: Container[object]) -> list[str]:
        return [_cell(found, each, 0) for each in own if each.name in kept or each.at in kept]

    if numbers:
        heads = ("Column", "Values", "Missing", "Mean", "Standard deviation")
        rows = [(name, *row(own, _MOMENTS)) for name, own in numbers.items()]
        yield Table(f"Numbers, with {INTERVAL}s", heads, tuple(rows))
        heads = ("Column", "25 %", "50 %", "75 %", "Shape")
        rows = [(name, *row(own, _QUARTILES), _shape(own)) for name, own in numbers.items()]
        yield Table(f"Quantiles, with {INTERVAL}s", heads, tuple(rows))


def _of_levels(found: Description) -> Iterator[Table]:
    """Yield the table of the levels of all categories."""
    rows, *others = found.measured
    shares = [each for each in others if each.name == "share"]  # in the order of groups
    levels = [
        (f"{each.column} = {each.at}", _cell(found, rows, place), _cell(found, each, 0))
        for place in _shown(found, np.arange(len(shares)) + 1)
        for each in shares[place - 1 : place]
    ]
    if levels:
        heads = ("Level", found.privacy.unit.tally, "Share")
        yield Table(
            f"Shares of all {found.privacy.unit.counted}s, with {INTERVAL}s", heads, tuple(levels)
        )


def _shape(measured: Sequence[Measured]) -> str:
    """Return bars for the shares of equal steps of a column's range, as many as noise allows."""
    quantiles = [each for each in measured if each.name == "quantile"]
    found = np.array([[each[0] for each in one.estimates] for one in quantiles])
    known = ~np.isnan(found[:, 0])
    if not known.any():
        return _HIDDEN
    values, *_, low, high = found[known].T
    shares = np.array([each.at for each in quantiles], dtype=np.float64)[known]
    # Four deviations of a share, less than a bar, at the middle: the noise of a bar is a third.
    middle = len(values) // 2
    noise = np.diff(np.interp([low[middle], high[middle]], values, shares)).item()
    bars = _WIDTH if noise * _WIDTH < 1.0 else int(1.0 / noise)
    sure = np.abs(shares - 0.5) < 0.5 - noise / 2.0  # quantiles further out may be anywhere
    if bars < _FEWEST_BARS or sure.sum() < 2:
        return _HIDDEN
    values, shares = values[sure], shares[sure]
    edges = np.linspace(values[0], values[-1], bars + 1)
    edges[[0, -1]] = -np.inf, np.inf
    # What lies between two quantiles is spread evenly; equal ones are one value.
    below = (edges[:, None] - values[:-1]) / np.maximum(np.diff(values), 1e-300)
    parts = np.diff(below.clip(0.0, 1.0) @ np.diff(shares))
    return "".join(BARS[round(each)] for each in parts / parts.max() * (len(BARS) - 1))

"""``nolook schema``: draft a schema of a table, for the data owner only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from nolook.cli._declared import SchemaOption, with_options
from nolook.cli._places import (
    FromTableOption,
    TableArgument,
    called,
    check_apart,
    files_of,
    place_of,
)
from nolook.cli._release import tell
from nolook.formats.files import check_outputs, one_line, write_text

if TYPE_CHECKING:
    from nolook.tables.databases import Database
    from nolook.tables.schema import Schema

_HOW_TO_DECLARE = (
    "Declare the levels that are known without the table. An undeclared value, even a misspelt "
    'one, counts as the level "..." unless undeclared = "missing".'
)


@with_options(
    {
        "--output -o FILE": "The TOML file to write; by default as the table's.",
        "--levels": "Only show the values of columns that have few, in the terminal; writes no "
        "file.",
        "--target -t NAME": "The column to explain: columns that seem to follow from it are not "
        "features.",
        "--check": "Only show which columns lack values, how often, and in which first rows: exact "
        "and not private, for the data owner only.",
    }
)
def schema(
    table: TableArgument,
    *,
    output: Path | None = None,
    levels: bool = False,
    target: str | None = None,
    check: bool = False,
    declared: SchemaOption = None,
    from_table: FromTableOption = None,
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Draft a schema from a sample of rows for the data owner to review. Not private."""
    source = place_of(table, from_table)
    if check:
        _show_gaps(source, cast("Path | None", declared))
        return

    place = output or Path(f"{called(source).name.split('.')[0] or 'table'}.toml")
    check_apart(source, [("--output", place)])
    if not levels:
        check_outputs([("--output", place)], files_of(source), replace=force)
    from nolook.owner.draft import draft_schema

    draft = draft_schema(source, target)
    if levels:
        found = [f"  {name}: {', '.join(of) or '(too many)'}" for name, of in draft.levels.items()]
        tell("Found in the sampled rows, for the data owner only:", *found, _HOW_TO_DECLARE)
    else:
        write_text(place, draft.text)
        draft.found.append(
            f"{one_line(place)} is a draft, made by looking at rows of the table: it is not "
            "private and must stay with the data owner. Review every line, then delete the line "
            "draft = true; until then every command refuses it. --levels shows the values found."
        )
    tell(*(() if quiet else draft.found))


def _show_gaps(source: Path | str | Database, declared: Path | None) -> None:
    """Show the columns that lack values, exactly; of a draft also what it leaves open."""
    from nolook.owner.draft import draft_schema
    from nolook.owner.gaps import MALFORMED, find_gaps
    from nolook.tables.folders import located
    from nolook.tables.read import open_declared
    from nolook.tables.schema import Schema

    if declared is None:
        draft = draft_schema(source)
        schema, is_draft = Schema.from_dict(draft.content), False
        tell("Without --schema, columns are taken as nolook schema drafts them.", *draft.found)
    else:
        schema, is_draft = Schema.read_draft(declared)
    found = [each for each in find_gaps(open_declared(located(source), schema)) if each.causes]
    tell("Not private, for the data owner only: exact shares, from all rows.")
    for each in found:
        shares = ", ".join(f"{100 * n / each.rows:.1f} % {why}" for why, n in each.causes.items())
        rows = ", ".join(f"row {row} ({why})" for row, why in each.first)
        tell(f"  {each.column.name} ({each.column.declared}): {shares}; first {rows}")
    if any(MALFORMED in each.causes for each in found):
        tell(
            "A malformed row has fewer or more values than the header. Are there line breaks in "
            "quotes? Declare multiline = true."
        )
    if is_draft:
        tell(f"{one_line(declared)} is still a draft. Not declared yet:", *_open_in(schema))


def _open_in(schema: Schema) -> list[str]:
    """List the open points of a draft."""
    kinds = schema.columns.items()
    bare = [name for name, each in kinds if each.type == "category" and not each.levels]
    uses = {"target": "the column to explain", "unit": "the patient or household of a row"}
    lines = [f"  levels of {one_line(', '.join(bare))}"] * bool(bare)
    lines += [
        f'  use = "{use}" ({words})' for use, words in uses.items() if not schema.used_as(use)
    ]
    return [*lines, "Once every line is reviewed, delete the line draft = true."]

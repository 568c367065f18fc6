"""The declarations of a table: the option of every command that reads one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from nolook._language import option_names
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.tables.schema import Schema

    #: What `reads_table` gives to a command: the schema, None if none is given.
    SchemaOption: TypeAlias = Schema | None
else:
    SchemaOption = Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            metavar="FILE.toml",
            help="Schema of the table: the data owner's declarations of its format and columns.",
        ),
    ]


def reads_table(
    names: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a command that takes a `SchemaOption` get the schema, read.

    Errors then name the command's options; `names` are those called otherwise than the parameter
    they set in Python.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = signature(command, eval_str=True)
        options = {option.name: _flag(option) for option in own.parameters.values()}
        options |= {"missing": "--missing", **(names or {})}

        def run(**given: Any) -> None:  # noqa: ANN401 -- Typer has checked the types
            if given["schema"] is not None:
                from nolook.tables.schema import Schema

                given["schema"] = Schema.read(given["schema"])
            with option_names(options):
                command(**given)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = own  # type: ignore[attr-defined]
        return run

    return decorate


def target_of(target: str, schema: Schema | None) -> str:
    """Return the target that is given, or that the schema declares."""
    declared = () if schema is None else schema.used_as("target")
    if not target and not declared:
        raise ParameterError(
            "--target is not given; expected the column to explain (for example --target income), "
            "or a schema in which a column's use is target"
        )
    return target or declared[0]


def _flag(option: Parameter) -> str:
    """Return the longest name of an option."""
    form = next(iter(getattr(option.annotation, "__metadata__", ())), None)
    # Typer takes the first name for a default.
    names = (getattr(form, "default", None), *(getattr(form, "param_decls", None) or ()))
    options = [name for name in names if isinstance(name, str) and name.startswith("-")]
    return max(options, key=len, default=f"--{option.name.replace('_', '-')}")

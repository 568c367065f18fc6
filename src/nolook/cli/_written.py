"""How a table is written: the options of every command that reads one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from attrs import frozen

from nolook._language import speaking
from nolook.cli._options import words
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.tables.schema import Schema


_SIGNS = {"tab": "\t", "\\t": "\t", "space": " "}


@frozen
class Written:
    """What a command is told of how its table is written."""

    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            metavar="FILE.toml",
            help="What the table's holder declared of its columns, and how it is written.",
        ),
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(metavar="SIGN|tab", help="For CSV: what separates cells.")
    ] = None
    decimal: Annotated[
        str | None, typer.Option(metavar=".|,", help="What begins a number's decimals.")
    ] = None
    thousands: Annotated[
        str | None, typer.Option(metavar="SIGN", help="What stands between thousands.")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="For CSV: utf-8 if not given.")
    ] = None
    na: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Words for a missing value. May be repeated."),
    ] = None

    @cached_property
    def _declared(self) -> Schema | None:
        from nolook.tables.schema import Schema

        return None if self.schema is None else Schema.read(self.schema)

    @property
    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {
            name: _SIGNS.get(value, value)
            for name in ("delimiter", "decimal", "thousands", "encoding")
            if (value := getattr(self, name)) is not None
        }
        if self.na:
            settings["missing"] = [word for text in self.na for word in words(text, "--na")]
        return settings

    def over(self, model: Mapping[str, Any] | None = None) -> Schema:
        """Return what is declared; where no schema was given, that which a model keeps."""
        from nolook.tables.declarations import FileFormat
        from nolook.tables.schema import Schema

        declared, settings = self._declared, self._settings
        if declared is None:
            declared = Schema.from_dict(model or {})
        if not settings:
            return declared
        plain = declared.to_dict()
        file = plain.get("file", {})
        FileFormat(**{**file, **settings})  # whose messages name the options
        return Schema.from_dict(plain | {"file": file | settings})


_PARAMETERS = tuple(signature(Written, eval_str=True).parameters.values())


def reads_table(
    names: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes a `Written` the options it is made from.

    Errors then name the command's options; `names` are those called otherwise than the parameter
    they set in Python.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(signature(command, eval_str=True).parameters.values())
        place = [option.name for option in own].index("written")
        own[place : place + 1] = [one.replace(kind=own[place].kind) for one in _PARAMETERS]
        options = {option.name: _flag(option) for option in own} | {"missing": "--missing"}
        options |= names or {}

        def run(**given: Any) -> None:  # noqa: ANN401 -- Typer has checked the types
            written = Written(**{one.name: given.pop(one.name) for one in _PARAMETERS})
            with speaking(options):
                command(**given, written=written)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = Signature(own)  # type: ignore[attr-defined]
        return run

    return decorate


def target_of(target: str, schema: Schema) -> str:
    """Return the target that is given, or that the schema declares."""
    declared = schema.used_as("target")
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

"""The declarations of a table: the option of every command that reads one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from attrs import has

from nolook._language import option_names
from nolook.cli._loaded import model_of
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


def options_of(
    command: Callable[..., None],
    forms: Mapping[str, Any] = MappingProxyType({}),
    more: Iterable[Parameter] = (),
) -> tuple[list[Parameter], Callable[[dict[str, Any]], dict[str, Any]]]:
    """Return the options of a command, and what makes its arguments of their values.

    A parameter of an attrs class stands for the options that the class has; those of such a first
    parameter come last. Some of these have `forms` of their own here; one of None is not an option
    of the command. `more` are those that it takes by `**`.
    """
    own = signature(command, eval_str=True).parameters
    groups = {
        name: signature(each.annotation, eval_str=True).parameters
        for name, each in own.items()
        if isinstance(each.annotation, type) and has(each.annotation)
    }
    options: list[Parameter] = []
    for name in sorted(own, key=lambda name: name in groups and name == next(iter(own))):
        if own[name].kind is Parameter.VAR_KEYWORD:
            options += more
            continue
        for option in groups.get(name, {name: own[name]}).values():
            if option.name not in forms:
                options.append(option)
            elif (form := forms[option.name]) is not None:
                options.append(option.replace(annotation=form, default=None))

    def arguments(given: dict[str, Any]) -> dict[str, Any]:
        made = {
            name: own[name].annotation(**{one: given.pop(one) for one in group if one in given})
            for name, group in groups.items()
        }
        return made | given

    return options, arguments


def as_command(
    command: Callable[..., None], run: Callable[..., None], options: Iterable[Parameter]
) -> Callable[..., None]:
    """Have Typer take a function for a command with some options, required ones first."""
    by_name = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]
    by_name.sort(key=lambda one: one.default is not Parameter.empty)
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = Signature(by_name)  # type: ignore[attr-defined]
    return run


def reads_table(
    names: Mapping[str, str] | None = None, forms: Mapping[str, Any] = MappingProxyType({})
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have a command that takes a `SchemaOption` get the schema, read.

    Errors then name the command's options; `names` are those called otherwise than the parameter
    they set in Python, and `forms` those of :func:`options_of`.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own, arguments = options_of(command, forms)
        options = {option.name: _flag(option) for option in own}
        options |= {"missing": "--missing", **(names or {})}

        def run(**given: Any) -> None:  # noqa: ANN401 -- Typer has checked the types
            if given["schema"] is not None:
                from nolook.tables.schema import Schema

                given["schema"] = Schema.read(given["schema"])
            with option_names(options):
                command(**arguments(given))

        return as_command(command, run, own)

    return decorate


def target_of(target: str, schema: Schema | None, model: Path | None = None) -> str:
    """Return the target that is given, or that the schema declares, or else a model's."""
    declared = () if schema is None else schema.used_as("target")
    if not target and not declared and model is not None:
        fitted = model_of(model)
        name = str(fitted.scaling_.names[-1])
        if name not in fitted.read_options_["features"]:
            return name
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

"""The options of commands, from their parameters; that of a table's declarations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_origin

from attrs import has

from nolook._language import option_names
from nolook.cli._loaded import model_of
from nolook.cli._options import SHARED, form_of
from nolook.errors import ParameterError

if TYPE_CHECKING:
    from nolook.tables.schema import Schema

    #: What `with_options` gives to a command: the schema, None if none is given.
    SchemaOption: TypeAlias = Schema | None
else:
    SchemaOption = Annotated[
        Path | None,
        form_of(
            "--schema -s FILE.toml",
            "Schema of the table: the data owner's declarations of its format and columns.",
        ),
    ]

#: What makes the arguments of a command of the values of its options.
Arguments: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

_NONE: Mapping[str, Any] = MappingProxyType({})
# Types of options are made at run time.
_Annotated: Any = Annotated


def options_of(
    command: Callable[..., None], own: Mapping[str, str] = _NONE, forms: Mapping[str, Any] = _NONE
) -> tuple[list[Parameter], Arguments]:
    """Return the options of a command, required ones first, and what makes its arguments of them.

    `own` are uses of options with their help, as in `SHARED`; the command takes by `**` those that
    are none of its parameters. A parameter of an attrs class stands for the options that the class
    has; those of such a first parameter come last. Some of these have `forms` of their own here;
    one of None is not an option of the command.
    """
    named, known = _by_parameter(own), _by_parameter(SHARED) | _by_parameter(own)
    declared = signature(command, eval_str=True).parameters
    groups = {
        name: signature(each.annotation, eval_str=True).parameters
        for name, each in declared.items()
        if isinstance(each.annotation, type) and has(each.annotation)
    }
    options: list[Parameter] = []
    for name in sorted(declared, key=lambda name: name in groups and name == next(iter(declared))):
        each = declared[name]
        several = [*groups.get(name, {name: each}).values()]
        if each.kind is Parameter.VAR_KEYWORD:
            each = each.replace(kind=Parameter.KEYWORD_ONLY, default=None)
            several = [each.replace(name=one) for one in named if one not in declared]
        for one in several:
            if one.name in forms:
                kind, default = forms[one.name], None
            else:
                kind, default = one.annotation, one.default
                if get_origin(kind) is not Annotated:
                    kind = _Annotated[kind, form_of(*known[one.name])]
            if kind is not None:
                options.append(one.replace(annotation=kind, default=default))
    options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]
    options.sort(key=lambda one: one.default is not Parameter.empty)

    def arguments(given: dict[str, Any]) -> dict[str, Any]:
        for name, group in groups.items():
            own = {one: given.pop(one) for one in group if one in given}
            given[name] = declared[name].annotation(**own)
        return given

    return options, arguments


def _by_parameter(uses: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the use and help of options by the parameters that they set."""
    return {use.split()[0].lstrip("-").replace("-", "_"): (use, uses[use]) for use in uses}


def _call(command: Callable[..., None], arguments: Arguments, given: dict[str, Any]) -> None:
    command(**arguments(given))


def with_options(
    own: Mapping[str, str] = _NONE,
    forms: Mapping[str, Any] = _NONE,
    names: Mapping[str, str] = _NONE,
    call: Callable[[Callable[..., None], Arguments, dict[str, Any]], None] = _call,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have Typer take a function for a command, which gets the schema of a `SchemaOption`, read.

    Errors name the command's options; `names` are those called otherwise than the parameter they
    set in Python, and the other tables those of :func:`options_of`. `call` calls the command with
    the arguments made of the values that were given.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options, arguments = options_of(command, own, forms)
        flags = {each.name: flag_of(each) for each in options} | {"missing": "--missing", **names}

        def run(**given: Any) -> None:  # noqa: ANN401 -- Typer has checked the types
            if given.get("schema") is not None:
                from nolook.tables.schema import Schema

                given["schema"] = Schema.read(given["schema"])
            with option_names(flags):
                call(command, arguments, given)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__signature__ = Signature(options)  # type: ignore[attr-defined]
        return run

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


def flag_of(option: Parameter) -> str:
    """Return the longest name of an option."""
    form = next(iter(getattr(option.annotation, "__metadata__", ())), None)
    # Typer takes the first name for a default.
    names = (getattr(form, "default", None), *(getattr(form, "param_decls", None) or ()))
    options = [name for name in names if isinstance(name, str) and name.startswith("-")]
    return max(options, key=len, default=f"--{option.name.replace('_', '-')}")

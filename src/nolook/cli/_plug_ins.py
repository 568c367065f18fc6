"""Commands of other packages: whatever is declared in the entry-point group ``nolook.commands``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from nolook.cli._start import WITHHELD
from nolook.errors import NolookError


class WithPlugIns(TyperGroup):
    """A group that looks for plug-ins only where none of its own commands is meant."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 -- Typer moved its class
        """List the commands for the help."""
        self._add_plug_ins()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401
        """Return the command of this name, if there is one."""
        if cmd_name not in self.commands:
            self._add_plug_ins()
        return super().get_command(ctx, cmd_name)

    def _add_plug_ins(self) -> None:
        from importlib.metadata import entry_points  # takes 30 ms

        for found in entry_points(group="nolook.commands"):
            if found.name in self.commands:
                continue
            if found.dist is None or found.dist.name != "nolook":
                WITHHELD.clear()  # another package may need it
            try:
                command: Any = get_command(found.load())
            except (Exception, SystemExit) as error:  # noqa: BLE001 -- stops no other command
                command = _broken(found.name, type(error).__name__)
            command.name = found.name
            self.add_command(command)


def plugged_in_words(file: Path) -> tuple[str, ...] | None:
    """Return the lines by which a package describes a file of its own; None for all other files.

    The packages' functions are the entry points of the group ``nolook.files``.
    """
    from importlib.metadata import entry_points

    found = (one.load()(file) for one in entry_points(group="nolook.files"))
    return next((lines for lines in found if lines is not None), None)


def help_without_command(context: typer.Context) -> None:
    """Print a group's help if none of its commands was named."""
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


def _broken(name: str, error: str) -> TyperCommand:
    """Return a command that says in one line why a plug-in is missing."""
    said = f"commands of {name} cannot be loaded ({error}); reinstall the package they are in"

    def refuse(**_: object) -> NoReturn:
        raise NolookError(f"the {said}")

    return TyperCommand(
        name,
        callback=refuse,
        help=f"The {said}.",
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )

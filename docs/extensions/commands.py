"""The directive `commands`: what `nolook --help` says of every command."""

from __future__ import annotations

import os

import typer
from docutils import nodes
from docutils.parsers.rst import Directive
from typer.testing import CliRunner

WIDTH = "80"


def commands(group, words=()):
    """Yield the words of every command below a group, in the order of its help."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name)


class Commands(Directive):
    """A section for each command."""

    def run(self):
        """Ask each command for its help."""
        from nolook.cli import app

        os.environ.update(COLUMNS=WIDTH, TERM="dumb", NO_COLOR="1")
        sections = []
        for words in commands(typer.main.get_command(app)):
            title = " ".join(("nolook", *words))
            section = nodes.section(ids=[nodes.make_id(title)], names=[title.lower()])
            section += nodes.title(title, title)
            text = CliRunner().invoke(app, [*words, "--help"], prog_name="nolook").output
            lines = (line.rstrip() for line in text.strip("\n").splitlines())
            text = "\n".join(lines)
            section += nodes.literal_block(text, text, language="none")
            self.state.document.note_implicit_target(section)
            sections.append(section)
        return sections


def setup(app):
    """Add the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}

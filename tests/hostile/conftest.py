"""What these tests share: a folder for all inputs of a test, and libraries that may complain."""

from __future__ import annotations

import functools

import pytest

import nolook.cli


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own; a warning in a command is an error here, and not kept quiet."""
    monkeypatch.setattr(nolook.cli, "_silence_libraries", lambda: None)
    # Typer makes all commands anew for each call, which takes most of the time.
    monkeypatch.setattr(nolook.cli, "get_command", functools.cache(nolook.cli.get_command))
    return tmp_path

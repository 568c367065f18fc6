"""What these tests share: a folder for all inputs of a test, and libraries that may complain."""

from __future__ import annotations

import pytest

import nolook.cli
from tests.conftest import commands_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own; a warning in a command is an error here, and not kept quiet."""
    monkeypatch.setattr(nolook.cli, "_silence_libraries", lambda: None)
    monkeypatch.setattr(nolook.cli, "get_command", commands_of)
    return tmp_path

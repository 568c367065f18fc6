"""Load a model file that somebody edited."""

from __future__ import annotations

import copy
import functools

import pytest

import nolook
from nolook import ModelFileError


def load_text(tmp_path, text):
    """Load a file with this content."""
    path = tmp_path / "edited.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return nolook.load(path)


def refusal(tmp_path, text):
    """The one line that refuses this content."""
    with pytest.raises(ModelFileError) as caught:
        load_text(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    assert "edited.json" in message
    assert caught.value.__cause__ is None
    return message


def at(value, path):
    return functools.reduce(lambda part, key: part[key], path, value)


def put(value, path, entry):
    """Return a copy with another value at a place, which shares all else."""
    if not path:
        return entry
    changed = copy.copy(value)
    # The last key may be new.
    changed[path[0]] = put(value[path[0]], path[1:], entry) if path[1:] else entry
    return changed

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import nolook
from nolook import _files

MAKE = {"create": _files.create, "append": _files.append}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_file_that_is_made_is_alone_whole_and_its_owners(tmp_path, make):
    make(tmp_path / "a", b"whole")
    (made,) = tmp_path.iterdir()
    assert made.read_bytes() == b"whole"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_what_becomes_of_an_older_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"older, and longer")
    with pytest.raises(FileExistsError):
        _files.create(path, b"new")
    assert path.read_bytes() == b"older, and longer"
    _files.append(path, b", and more")
    assert path.read_bytes() == b"older, and longer, and more"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_creation_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError

    monkeypatch.setattr(_files.os, "link", fail)
    with pytest.raises(OSError):  # noqa: PT011 -- it has no text
        _files.create(tmp_path / "a", b"whole")
    assert not list(tmp_path.iterdir())


def test_nobody_else_flushes_or_links():
    """So that one module says what is on the disk when; SQLite's files apart."""
    source = Path(nolook.__file__).parent
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if any(
            call in path.read_text(encoding="utf-8")
            for call in ("fsync(", "os.link(", ".replace(path)", "os.replace(")
        )
    }
    assert found == {"_files.py"}

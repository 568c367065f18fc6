from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from nolook import NolookError, ParameterError
from nolook.formats.files import check_outputs, one_line, replacing, write_text


def test_replacing_leaves_nothing_but_the_whole_file(tmp_path):
    path = tmp_path / "model.json"
    with replacing(path) as part:
        part.write_text("whole")
        assert part.parent == path.parent
        assert not path.exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]
    assert path.read_text() == "whole"


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_interruption_leaves_the_older_file(tmp_path, stop):
    path = tmp_path / "model.json"
    path.write_text("older")

    def write_half():
        with replacing(path) as part:
            part.write_text("half of")
            raise stop

    with pytest.raises(stop):
        write_half()
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]
    assert path.read_text() == "older"


def test_a_failed_write_is_one_plain_line(tmp_path):
    with pytest.raises(NolookError, match=r"^cannot write .*gone.*: No such file") as caught:
        write_text(tmp_path / "gone" / "model.json", "text")
    assert "\n" not in str(caught.value)


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    (tmp_path / "ordinary").touch()
    write_text(tmp_path / "ours", "text")
    modes = {stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()}
    assert len(modes) == 1


def test_text_with_half_a_surrogate_pair_can_be_written(tmp_path):
    write_text(tmp_path / "page", "a\udc80b")
    assert (tmp_path / "page").read_text() == "a\\udc80b"


def test_outputs_that_can_be_written_pass_and_leave_no_trace(tmp_path):
    old = tmp_path / "old.json"
    old.write_text("older")
    check_outputs([("--output", old), ("--report", tmp_path / "new.html")], [tmp_path / "table"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["old.json"]
    assert old.read_text() == "older"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing/model.json", "No such file or directory"),
        (".", "it is a folder"),
        ("fifo", "it is not an ordinary file"),
        ("file/model.json", "Not a directory"),
        ("x" * 300, "File name too long"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(tmp_path, name, reason):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match=reason) as caught:
        check_outputs([("--output", tmp_path / name)])
    assert str(caught.value).startswith("--output is ")
    assert "\n" not in str(caught.value)


def test_a_link_that_leads_in_a_circle_is_replaced(tmp_path):
    path = tmp_path / "loop"
    path.symlink_to(path)
    check_outputs([("--output", path)])
    write_text(path, "text")
    assert path.read_text() == "text"


def test_an_output_may_not_replace_an_input_or_another_output(tmp_path):
    table = tmp_path / "table.parquet"
    table.write_text("rows")
    (tmp_path / "link").symlink_to(table)
    for path in (table, tmp_path / "link", tmp_path / "." / "table.parquet"):
        with pytest.raises(ParameterError, match="used for something else"):
            check_outputs([("--output", path)], [table])
    same = tmp_path / "same"
    with pytest.raises(ParameterError, match=r"^--report is"):
        check_outputs([("--output", same), ("--report", same)])


def test_one_line_keeps_letters_and_escapes_controls():
    assert one_line("Größe 年収 😀") == "Größe 年収 😀"
    assert one_line("a\r\n\x1b[2J\u202e\u2028") == "a\\r\\n\\x1b[2J\\u202e\\u2028"


def test_paths_with_a_null_character_are_refused():
    path = Path("a\0b")
    with pytest.raises(NolookError, match=r"cannot write a\\x00b: it holds a null character"):
        write_text(path, "text")
    with pytest.raises(ParameterError, match=r"--output is .*null character"):
        check_outputs([("--output", path)])

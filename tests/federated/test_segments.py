"""Segments: what counts comes back, what a crash left is cut off, damage is named."""

from __future__ import annotations

import numpy as np
import pytest

from nolook.federated.failures import StoreError
from nolook.federated.reports import report_bytes
from nolook.federated.server.segments import Segments
from tests.federated.made import ROC, SMALL, reports

_, FIRST, SECOND, *_ = reports(SMALL, 20)
LENGTH = report_bytes(SMALL)
HEAD = 92
LARGEST = HEAD + 4 * LENGTH + 7  # four reports a file


def opened(folder, count, batch=SMALL, role=0):
    return Segments(folder, batch, role, count=count, largest=LARGEST)


def filled(folder, count):
    """Write reports in several goes of different sizes."""
    segments = opened(folder, 0)
    done = 0
    for size in (1, 2, 4, 9, 4):
        step = min(size, count - done)
        segments.append(b"".join(FIRST[done : done + step]))
        done += step
    segments.close()


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 8, 20])
def test_what_is_written_comes_back_after_a_restart(tmp_path, count):
    filled(tmp_path / "s", count)
    segments = opened(tmp_path / "s", count)
    for start in range(count + 1):
        for stop in range(start, count + 1):
            found = segments.read(start, stop)
            assert found.shape == (stop - start, LENGTH)
            assert found.tobytes() == b"".join(FIRST[start:stop])
    assert len(list((tmp_path / "s").iterdir())) == -(-count // 4)
    assert all(path.stat().st_size <= LARGEST for path in (tmp_path / "s").iterdir())
    assert all(path.stat().st_mode & 0o77 == 0 for path in (tmp_path / "s").iterdir())


@pytest.mark.parametrize("count", range(9))
@pytest.mark.parametrize("written", [8, 7])
def test_what_does_not_count_is_cut_off_and_written_anew(tmp_path, count, written):
    count = min(count, written)
    filled(tmp_path / "s", written)
    segments = opened(tmp_path / "s", count)
    segments.append(b"".join(FIRST[10:15]))
    assert segments.count == count + 5
    wanted = [*FIRST[:count], *FIRST[10:15]]
    assert segments.read(0, count + 5).tobytes() == b"".join(wanted)
    segments.close()
    again = opened(tmp_path / "s", count + 5)
    assert again.read(0, count + 5).tobytes() == b"".join(wanted)


@pytest.mark.parametrize("torn", [1, HEAD - 1, HEAD, HEAD + 1, HEAD + LENGTH - 1])
def test_a_file_that_was_being_made_when_the_process_died_is_made_again(tmp_path, torn):
    filled(tmp_path / "s", 5)
    last = tmp_path / "s" / "00000001.segment"
    last.write_bytes(last.read_bytes()[:torn])
    segments = opened(tmp_path / "s", 4)
    segments.append(FIRST[7])
    assert segments.read(3, 5).tobytes() == FIRST[3] + FIRST[7]


def test_a_change_of_any_byte_that_counts_is_found_and_named(tmp_path):
    filled(tmp_path / "s", 5)
    for name, size in (("00000000.segment", 4), ("00000001.segment", 1)):
        path = tmp_path / "s" / name
        whole = path.read_bytes()
        chosen = np.random.default_rng(2).choice(len(whole), 60, replace=False)
        for at in {*range(HEAD), *chosen.tolist(), len(whole) - 1}:
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
            with pytest.raises(StoreError, match=name) as caught:
                opened(tmp_path / "s", 5).read(0, 5)
            assert "\n" not in str(caught.value)
        path.write_bytes(whole)
        assert size * LENGTH + HEAD == len(whole)


@pytest.mark.parametrize("cut", [1, LENGTH, 4 * LENGTH, 4 * LENGTH + HEAD])
@pytest.mark.parametrize("number", [0, 1])
def test_a_file_that_lacks_what_counts_is_damage(tmp_path, cut, number):
    filled(tmp_path / "s", 8)
    path = tmp_path / "s" / f"{number:08d}.segment"
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(StoreError, match=path.name):
        opened(tmp_path / "s", 8)
    path.unlink()
    with pytest.raises(StoreError, match="missing"):
        opened(tmp_path / "s", 8)


def test_a_file_that_was_cut_after_the_start_is_damage(tmp_path):
    filled(tmp_path / "s", 8)
    segments = opened(tmp_path / "s", 8)
    path = tmp_path / "s" / "00000001.segment"
    path.write_bytes(path.read_bytes()[:-1])
    assert len(segments.read(0, 7)) == 7
    with pytest.raises(StoreError, match=path.name):
        segments.read(0, 8)


def test_too_much_in_a_full_file_is_damage(tmp_path):
    filled(tmp_path / "s", 8)
    path = tmp_path / "s" / "00000000.segment"
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(StoreError, match=path.name):
        opened(tmp_path / "s", 8)


def test_files_of_another_batch_or_role_are_refused(tmp_path):
    filled(tmp_path / "s", 3)
    for batch, role in ((ROC, 0), (SMALL, 1)):
        with pytest.raises(StoreError, match="not a segment of this batch"):
            opened(tmp_path / "s", 3, batch, role)


def test_reports_to_the_other_server_are_damage(tmp_path):
    """Files are trusted for nothing: every record is checked as a report that arrives is."""
    segments = opened(tmp_path / "s", 0)
    segments.append(SECOND[0])
    with pytest.raises(StoreError, match="damaged"):
        segments.read(0, 1)


def test_dropping(tmp_path):
    filled(tmp_path / "s", 9)
    opened(tmp_path / "s", 9).drop()
    assert not list((tmp_path / "s").iterdir())
    opened(tmp_path / "s", 0).drop()

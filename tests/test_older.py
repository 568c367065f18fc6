"""Pages of benchmarks and trials of papers know which code they measured."""

from __future__ import annotations

import sys

import pytest

from benchmarks import harness
from scripts import older, sources

BENCHMARK = """
from papers.helpers import helper

PROGRAM = '''
import nolook
nolook.ECDF(1.0)
'''

def report():
    yield str(helper(1))  # a comment
"""
HELPER = "def helper(x: int) -> int:\n    return x\n"


def of_changing_files(known):
    """Let a function that remembers its answers read all files anew but those of nolook."""

    def call(file):
        stays = file.is_relative_to(sources.ROOMS["nolook"])
        return known(file) if stays else known.__wrapped__(file)

    return call


@pytest.fixture
def rooms(tmp_path, monkeypatch):
    for room in ("papers", "benchmarks"):
        (tmp_path / room).mkdir()
        monkeypatch.setitem(sources.ROOMS, room, tmp_path / room)

    for name in ("code_of", "imported"):
        monkeypatch.setattr(sources, name, of_changing_files(getattr(sources, name)))

    def write(benchmark, helper):
        (tmp_path / "benchmarks" / "small.py").write_text(benchmark)
        (tmp_path / "papers" / "helpers.py").write_text(helper)
        return tmp_path / "benchmarks" / "small.py"

    return write


def test_a_change_of_what_a_module_imports_is_another_source(rooms):
    first = sources.digest(rooms(BENCHMARK, HELPER))
    plain = HELPER.replace(": int", "").replace(" -> int", "").replace(":\n", ':\n    """New."""\n')
    assert sources.digest(rooms(BENCHMARK.replace("# a comment", ""), "# new\n" + plain)) == first
    assert sources.digest(rooms(BENCHMARK, HELPER.replace("return x", "return 2 * x"))) != first
    assert sources.digest(rooms(BENCHMARK.replace("(1)", "(2)"), HELPER)) != first


def test_a_digest_covers_what_is_imported_of_nolook_and_no_more(rooms, project_root):
    program = {file.name for file in sources.modules_of(rooms(BENCHMARK, HELPER))}
    assert {"helpers.py", "ecdf.py", "noise.py"} <= program  # ECDF is used in a process of its own
    trial = project_root / "papers" / "dick2023" / "experiments.py"
    names = {file.name for file in sources.modules_of(trial)}
    assert {"sublasso.py", "kendall.py", "block_lasso.py", "noise.py", "tukey_depth.py"} <= names
    assert not {"hosmer_lemeshow.py", "roc.py", "screening.py", "trials.py"} & names


def test_a_page_is_older_once_its_code_changed(rooms, tmp_path, monkeypatch):
    source = rooms(BENCHMARK, HELPER)
    monkeypatch.setattr(harness.inspect, "getfile", lambda _: str(source))
    folder = tmp_path / "results"
    folder.mkdir()
    argv = ["small", "--output", str(folder / "small.md"), "--runs", "3", "--kept", "/tmp/kept"]
    monkeypatch.setattr(sys, "argv", argv)
    harness.main(lambda **_: iter(["# Small"]), "About.", runs=5, kept="", turns=2)
    last = (folder / "small.md").read_text().splitlines()[-1]
    assert last.endswith(": `python -m benchmarks.small --runs 3`.")
    assert "/" not in last
    (folder / "old.md").write_text("# Old\n")

    def said():
        return "\n".join(older.report(older.pages(folder)))

    unknown = "Older than the code they measure:\n  unknown: no commit named: old"
    assert said() == unknown
    rooms(BENCHMARK, HELPER.replace("return x", "return 2 * x"))
    assert said().endswith(": small") or ": small\n" in said()
    (folder / "old.md").unlink()
    rooms(BENCHMARK, HELPER + "# as it was\n")
    assert said() == "No page is older than its code."


def test_every_experiment_of_the_papers_is_known():
    names = {name for name, _, _, source in older.trials() if source.is_file()}
    assert {"dick2023/five", "swope2024/quality", "amin2023/depth"} <= names

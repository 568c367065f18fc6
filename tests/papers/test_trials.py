"""Trials are kept as they come, pages and figures are made of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from papers.command import main
from papers.drawing import axes, line_style, save
from papers.pages import Paper, Section, number
from papers.trials import Experiment, Kept, in_processes, run

pytestmark = pytest.mark.papers

ROOT = Path(__file__).resolve().parents[2]
MADE: list[int] = []


def square(data, *, table, trial):
    MADE.append(trial)
    return {"value": trial**2 + 0.5, "word": table, "list": [1.0, trial]}


def plan(quick):
    return [{"table": t, "trial": i} for i in range(2 if quick else 5) for t in ("a", "b")]


EXPERIMENT = Experiment("squares", (1, 3), square, plan)


def made(folder, **options):
    MADE.clear()
    frame = run(EXPERIMENT, data=folder, folder=folder, jobs=1, **options)
    return frame, len(MADE)


def test_every_trial_is_a_row_and_is_made_once(tmp_path):
    frame, count = made(tmp_path)
    assert count == len(frame) == 10
    assert list(zip(frame.table, frame.trial, strict=True))[:3] == [("a", 0), ("b", 0), ("a", 1)]
    assert (frame.value == frame.trial**2 + 0.5).all()
    assert list(frame.list[9]) == [1.0, 4.0]
    again, count = made(tmp_path)
    assert count == 0
    pd.testing.assert_frame_equal(again, frame)
    assert [path.name for path in tmp_path.iterdir()] == ["squares.parquet"]


def test_a_quick_run_is_kept_and_goes_on_as_a_whole_one(tmp_path):
    assert made(tmp_path, quick=True)[1] == 4
    frame, count = made(tmp_path)
    assert (len(frame), count) == (10, 6)


def test_trials_of_another_source_are_made_again_if_that_is_wanted(tmp_path):
    made(tmp_path)
    kept = Kept(tmp_path, "squares")
    kept.add({"table": "a", "trial": 3}, {"value": -1.0, "word": "a", "code": "other"})
    frame, count = made(tmp_path)
    assert (count, (frame.value < 0).sum()) == (0, 1)
    frame, count = made(tmp_path, renew=True)
    assert (count, (frame.value < 0).sum()) == (1, 0)


def test_rows_survive_a_crash_between_the_steps_of_gathering(tmp_path):
    frame, _ = made(tmp_path)
    kept = Kept(tmp_path, "squares")
    for row in kept.rows()[:4]:  # the gathered file is there, small files are too
        kept.add({name: row[name] for name in ("table", "trial")}, row)
    (kept.parts / "torn.parquet.part").write_bytes(b"PAR1")  # a file that was being written
    again, count = made(tmp_path)
    assert count == 0
    assert not kept.parts.exists()
    pd.testing.assert_frame_equal(again, frame)


def twice(number):
    return 2 * number


def test_processes_do_the_same_as_one():
    tasks = list(range(20))
    assert sorted(in_processes(twice, tasks, 2)) == list(in_processes(twice, tasks, 1))


SLOW = """
import sys, time
from pathlib import Path
from papers.trials import Experiment, run

def trial(data, *, trial):
    time.sleep(0.2)
    return {"value": trial}

def plan(quick):
    return [{"trial": i} for i in range(1000)]

run(Experiment("slow", (1,), trial, plan), data=Path("."), folder=Path(sys.argv[1]), jobs=1)
"""


def test_a_killed_run_has_kept_its_trials(tmp_path):
    script = tmp_path / "slow_trials.py"
    script.write_text(SLOW)
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen([sys.executable, script, tmp_path], env=path)
    try:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("slow.parts/*.parquet"))) < 3 and time.monotonic() < until:
            time.sleep(0.05)
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
    rows = Kept(tmp_path, "slow").rows()
    assert len(rows) >= 3
    assert all(row["value"] == row["trial"] for row in rows)


def drawn(frames, folder):
    figure, (left, right) = axes(1, 2, sharey=True)
    for place, (name, rows) in enumerate(frames["squares"].groupby("table")):
        left.plot(rows.trial, rows.value, label=name, **line_style(place, private=place == 0))
    left.legend()
    right.set_title("nothing")
    yield f"![squares]({save(figure, folder / 'figure1.svg')})"


PAPER = Paper(
    "squares2024",
    "Squares",
    (EXPERIMENT, Experiment("others", (2,), square, plan)),
    (Section("Figure 1", ("squares",), drawn), Section("Figure 2", ("others",), drawn)),
)


def test_a_page_shows_what_was_made_and_says_what_was_not(tmp_path, capsys):
    main(PAPER, ["1", "--quick", "--jobs", "1", "--out", str(tmp_path)])
    assert capsys.readouterr().out.strip() == str(tmp_path / "README.md")
    page = (tmp_path / "README.md").read_text()
    assert "A quick run" in page
    assert re.search(r"\| squares \| 1, 3 \| \w+\+? \| 4 \| 4 \| 4 \|", page)
    assert "Not made yet: others." in page
    assert "![squares](figure1.svg)" in page
    first = (tmp_path / "figure1.svg").read_bytes()
    main(PAPER, ["--page", "--quick", "--out", str(tmp_path)])
    assert (tmp_path / "figure1.svg").read_bytes() == first
    assert (tmp_path / "README.md").read_text() == page
    assert b"<text" in first  # words stay words


def test_a_figure_that_the_paper_has_not_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(PAPER, ["7"])
    assert "figure is 7; expected one of 1, 2, 3; give none" in capsys.readouterr().err


def test_numbers_read_well():
    found = [number(value) for value in (0.9971, -1.285, -4.5e4, float("-inf"), float("nan"))]
    assert found == ["0.997", "-1.285", "-45,000", "failed", ""]


def test_a_row_names_its_commit_and_a_missing_table_is_one_line(tmp_path, capsys):
    from papers.dick2023.pages import PAPER as DICK
    from scripts.sources import commit

    assert re.fullmatch(r"([0-9a-f]{10}\+?)?", commit())
    options = ["--quick", "--jobs", "1", "--data", str(tmp_path), "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as ended:
        main(DICK, options)
    assert ended.value.code == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last == "a table is missing (cpu_act.parquet); get it: python -m scripts.tables"

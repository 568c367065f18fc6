"""Three people, each with a task and README alone: its commands and names are all that is used."""

from __future__ import annotations

import html
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from sklearn.metrics import r2_score

import nolook
from scripts.planning_outcomes import explained, plain_line

pytestmark = pytest.mark.slow  # whole fits, each in a process of its own

QUESTIONS = (
    "What was asked",
    "What came out",
    "How sure it is",
    "What it cost",
    "How well each row is protected",
)


@pytest.fixture(scope="module")
def readme(project_root):
    return (project_root / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def here(demo_table, tmp_path, monkeypatch):
    """A folder with the demo's table where README has it."""
    place = tmp_path / demo_table.parent.relative_to(demo_table.parents[2])
    place.parent.mkdir(parents=True)
    place.symlink_to(demo_table.parent)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(readme, name):
    """Return the words of README's only such command that does something."""
    lines = re.findall(rf"^    nolook {name} .*$", readme, re.MULTILINE)
    (line,) = (line for line in lines if "--help" not in line)
    return shlex.split(line)[1:]


def run(*words):
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def nolook_says(*words):
    return run(Path(sys.executable).with_name("nolook"), *words)


def answers(page):
    """Return what a page answers, by question, as somebody reads it."""
    pairs = re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", page, re.DOTALL)
    bare = ([html.unescape(re.sub(r"<[^>]*>", "", part)) for part in pair] for pair in pairs)
    return {question: " ".join(said.split()) for question, said in bare}


def test_a_manager_reads_a_report_and_answers_five_questions(readme, here):
    words = command(readme, "fit")
    nolook_says(*words)
    page = (here / words[words.index("--report") + 1]).read_text(encoding="utf-8")
    said = answers(page)
    assert list(said)[:5] == list(QUESTIONS)
    asked, found, sure, cost, protected = (said[question] for question in QUESTIONS)
    assert "diamonds_onehot_log" in asked
    assert "target" in asked
    assert re.search(r"target is [\d.,]+ (higher|lower) |no clear direction", found)
    assert re.search(r"predictions of target are off by at most [\d.]+ \([\d.]+ to [\d.]+\)", found)
    assert "95 % intervals" in sure
    assert "epsilon 1, delta 1e-06" in cost
    assert "Made on" in cost
    assert "Strong protection" in protected
    assert "right at most 73.2 % of the time (coin toss: 50 %)" in protected
    assert "What is not protected" in page


def test_an_analyst_plans_and_then_fits_with_the_budget_that_was_planned(readme, here, demo_table):
    plan, fit = command(readme, "plan"), command(readme, "fit")
    (most,) = re.findall(r"loss ([\d.]+)", " ".join(plan))
    planned = " ".join(nolook_says(*plan).split())
    (epsilon,) = re.findall(r"of at most \S+: about epsilon (\S+) on an ordinary table", planned)
    fit[fit.index("--epsilon") + 1] = epsilon
    nolook_says(*fit)
    (written,) = here.glob("*.model.json")
    model = nolook.load(written)
    rows = pq.read_table(demo_table).to_pandas()
    X, y = rows.drop(columns="target").astype(float), rows["target"].to_numpy(float)
    plain = explained(plain_line(X, y, "number"), X, y, "number")
    loss = plain - r2_score(y, model.predict(X))
    assert loss <= float(most)


def test_a_programmer_gets_a_plot_in_a_notebook(readme, here):
    (example,) = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    (offered,) = re.findall(r"^Every release has (.*?);", readme, re.MULTILINE)
    assert {"summary()", "to_frame()", "plot()", "report(path)"} <= set(
        re.findall(r"`(.*?)`", offered)
    )
    cells = f"""{example}
shown = model._repr_html_()
axes = model.plot()
axes.figure.savefig("plot.png")
print(len(axes.lines), "table" in shown, len(model.to_frame()), model.summary(), sep="\\n")
"""
    # A notebook's kernel draws without a screen, and shows every warning.
    told = run(
        sys.executable, "-W", "error", "-c", f"import matplotlib as m; m.use('Agg')\n{cells}"
    )
    assert (here / "plot.png").read_bytes()[:4] == b"\x89PNG"
    assert "Linear model of log_price" in told
    assert "Unknown section" not in told

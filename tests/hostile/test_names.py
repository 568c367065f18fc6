"""Names of files and columns that break careless code work, and are shown as text."""

from __future__ import annotations

import html

import numpy as np
import pyarrow as pa
import pytest

import nolook
from tests.hostile.arbitrary import store
from tests.hostile.commands import COMMANDS, release
from tests.hostile.harness import run
from tests.report.pages import Page
from tests.report.test_browser import run_browser

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

SCRIPT = "<script>document.title='ran'</script>"
COLUMNS = [
    SCRIPT,
    "<img src=x onerror=document.title='ran'>",
    "\"><svg onload=document.title='ran'>",
    "'-document.title='ran'-'",
    "&lt;b&gt;",
    "javascript:alert(1)",
    "</style><script>document.title='ran'</script>",
    "</title><script>document.title='ran'</script>",
    "{{7*7}}",
    "\u202eevil",
]
# Names of files: none has a slash, and all are at most 255 bytes long.
FILES = {
    "spaces": "a table of people ",
    "leading dash": "-rf",
    "unicode": "Tabelle größer 日本語 🙂",
    "two hundred letters": "x" * 200,
    "two hundred bytes": "é" * 100,
    "quotes": "a'b\"c",
    "markup": "<b>&amp;[red]",
    "percent": "%s%n{}",
    "newline": "a\nb",
    "escape": "\x1b[31mred",
    "not UTF-8": "a\udcffb",
    "dots": "..a..b",
    "wildcards": "*?$HOME`id`;",
    "uri": "file:a?mode=ro#x",
}
# Every name, and some with other formats.
CASES = [(kind, ".parquet") for kind in FILES] + [
    pytest.param(kind, ending, marks=pytest.mark.slow)
    for kind in ("newline", "not UTF-8", "uri")
    for ending in (".csv", ".arrow")
]


def table(names):
    generator = np.random.default_rng(0)
    return pa.table({name: generator.normal(size=1000) for name in names})


@pytest.mark.parametrize(("kind", "ending"), CASES)
def test_paths(folder, kind, ending):
    inside = folder / FILES[kind]
    inside.mkdir()
    name = FILES[kind]
    path = inside / f"{name}{ending}"
    store(table(["a", "b", "y"]), folder / f"t{ending}")
    (folder / f"t{ending}").rename(path)
    ledger, model, page, out = (inside / f"{name}.{end}" for end in ("l", "json", "html", "pq"))
    budget = ["--epsilon", "1", "--delta", "1e-6"]
    given = ["--ledger", ledger, "--output", model, "--report", page]
    commands = [
        ["ledger", "create", ledger, *budget, "--name", "people"],
        ["fit", path, "--target", "y", "--features", "a,b", "--method", "adassp", *budget, *given],
        ["predict", "--model", model, path, "--output", out, "--keep", "a,y"],
        ["predict", "--model", model, path, "--output", inside / f"{name}.p.csv", "--keep", "a,y"],
        ["ledger", "show", ledger],
        ["ledger", "history", ledger],
        ["ledger", "report", ledger, "--output", inside / f"{name}.ledger.html"],
    ]
    for words in commands:
        done = run(folder, *words)
        assert done.status == 0, done
        assert done.out.replace("\n", "").isprintable()
    assert out.stat().st_size
    assert Page(page.read_text(encoding="utf-8")).outside == []
    # Without options the results go to the current folder, under the table's name.
    words = ["ecdf", path, "--column", "a", "--epsilon", "1", "--grid", "0:1:0.5"]
    assert run(inside, *words).status == 0
    assert (inside / f"{name}.a.distribution.json").exists()


def test_a_name_too_long_is_refused_before_anything_is_spent(folder):
    store(table(["a", "y"]), folder / "t.parquet")
    nolook.Ledger.create(folder / "a.ledger", nolook.Budget(5, 1e-3), name="a").close()
    words = "fit t.parquet --target y --epsilon 1 --delta 1e-6 --ledger a.ledger --output"
    assert run(folder, *words.split(), "é" * 200).status == 2
    with nolook.Ledger(folder / "a.ledger") as ledger:
        assert not ledger.history()


def reports(folder):
    """A report of each kind of a table whose columns have all these names."""
    store(table([*COLUMNS, "y"]), folder / "t.parquet")
    for name in COMMANDS:
        page = folder / f"{name}.html"
        words = release(name, "t.parquet", COLUMNS)
        words += ["--positive", "1"] * (name in {"roc", "calibration"})  # of doubles
        done = run(folder, *words, "--random-state", "1", "--report", page)
        assert done.status == 0, done
        yield name, page


def test_columns_are_shown_as_text(folder):
    for name, page in reports(folder):
        parsed = Page(page.read_text(encoding="utf-8"))
        assert parsed.outside == [], name
        assert parsed.unbalanced == [], name
        assert " ".join(SCRIPT.split()) in parsed.text, name


@pytest.mark.slow
def test_columns_run_nothing_in_a_browser(chromium, folder):
    for name, page in reports(folder):
        source = page.read_text(encoding="utf-8")
        policy = [line for line in source.splitlines() if "Content-Security-Policy" in line]
        assert len(policy) == 1, name
        # Even without the policy that forbids all scripts.
        page.write_text(source.replace(policy[0], ""), encoding="utf-8")
        shown = run_browser(chromium, folder, page, "--dump-dom")
        assert "<title>ran</title>" not in shown, name
        assert html.escape(SCRIPT, quote=False) in shown, name
        # And the same name, not escaped, would run: the test can fail.
        if name == "fit":
            page.write_text(source.replace(policy[0], SCRIPT), encoding="utf-8")
            assert "<title>ran</title>" in run_browser(chromium, folder, page, "--dump-dom")

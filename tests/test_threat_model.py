"""The threat model names tests that exist and run."""

from __future__ import annotations

import ast
import pickle
import re
from functools import cache

import numpy as np
import pytest

import nolook
from tests.conftest import ROOT
from tests.contracts.distributions import DISTRIBUTIONS
from tests.contracts.estimators import ESTIMATORS
from tests.contracts.selectors import SELECTORS
from tests.report.hand_made import probable

PAGE = ROOT / "docs" / "threat-model.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
LINK = re.compile(r"\]\(([^)#]+)")


@cache
def functions(path):
    """Return a file's functions by name."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def problem(path, name):
    """Return what is wrong with a test that is named, or None."""
    if not (ROOT / path).is_file():
        return "no such file"
    if not name.startswith("test_") or name not in functions(path):
        return "no such test"
    marks = " ".join(ast.unparse(mark) for mark in functions(path)[name].decorator_list)
    return "is skipped or expected to fail" if "skip" in marks or "xfail" in marks else None


@pytest.fixture(scope="module")
def text():
    return PAGE.read_text(encoding="utf-8")


def test_every_test_that_is_named_exists_and_runs(text):
    named = TEST.findall(text)
    assert len(named) >= 40
    assert [(one, problem(*one)) for one in named if problem(*one)] == []


def test_every_row_of_a_table_names_its_test(text):
    rows = [line for line in text.splitlines() if line.startswith("| ") and "| claim " not in line]
    assert len(rows) >= 15
    assert [row for row in rows if not TEST.search(row)] == []


def test_nothing_else_looks_like_a_test(text):
    # A name with a typing error would not be looked for.
    assert text.count("::") == len(TEST.findall(text))


def test_links_lead_somewhere(text):
    links = LINK.findall(text)
    assert links
    assert [link for link in links if not (PAGE.parent / link).exists()] == []


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("tests/nowhere.py", "test_x"),
        ("tests/test_threat_model.py", "test_that_does_not_exist"),
        ("tests/test_threat_model.py", "functions"),
    ],
)
def test_what_does_not_exist_is_noticed(path, name):
    assert problem(path, name) is not None


def test_the_times_that_are_quoted_were_printed(text):
    printed = (ROOT / "benchmarks" / "results" / "timing.txt").read_text(encoding="utf-8")
    ratios = {float(one) for one in re.findall(r"\| (\d+\.\d\d)$", printed, re.MULTILINE)}
    section = text.partition("**Time**")[2].partition("**Memory**")[0]
    rounded = ratios | {round(one, 1) for one in ratios}
    quoted = [float(one) for one in re.findall(r"\d+\.\d+", section)]
    assert len(quoted) >= 6
    assert set(quoted) <= rounded


def _table(rows):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, 4))
    return X, X[:, 0] + generator.normal(size=rows)


def _evaluated(X, y):
    return nolook.evaluate(probable(0.2, 0.0, 0.0, 0.0, intercept=0.5), X, y > 0, **SETTINGS)


SETTINGS = {"epsilon": 1.0, "random_state": 0}
FITS = {
    **{
        name: lambda rows, row=row: row.make(**SETTINGS).fit(*_table(rows))
        for name, row in ESTIMATORS.items()
    },
    **{
        name: lambda rows, row=row: row.make(k=2, **SETTINGS).fit(*_table(rows))
        for name, row in SELECTORS.items()
    },
    **{
        name: lambda rows, row=row: row.make(**SETTINGS).fit(*row.data(rows, 0))
        for name, row in DISTRIBUTIONS.items()
    },
    "evaluation": lambda rows: _evaluated(*_table(rows)),
}


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize("name", FITS)
def test_a_fitted_object_keeps_no_rows(name):
    few, many = (len(pickle.dumps(FITS[name](rows).__getstate__())) for rows in (3000, 7500))
    # A private number may have more digits, and there may be more groups of probabilities or bins
    # of noisy histograms; so many more rows would be 36,000 bytes or more.
    assert abs(few - many) < 4_000

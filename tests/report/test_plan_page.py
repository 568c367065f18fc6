"""The page of a plan: what it shows, and that it fits the screen."""

from __future__ import annotations

import re

import pytest

import nolook
from nolook.planning.forecast import PLANNED
from nolook.report.plan_page import render_plan_page
from tests.report.test_browser import measure

METHODS = {name: nolook.plan(9_000, 7, method=name, want=None) for name in PLANNED}


@pytest.mark.parametrize("name", METHODS)
def test_a_curve_where_something_is_known_and_words_where_nothing_is(name):
    page = render_plan_page(METHODS[name])
    known = name != "tukey"
    assert ("<polyline" in page) == known
    assert ("not known" in page) == (not known)
    assert ("easiest to the hardest" in page) == known
    assert "<script" not in page


@pytest.mark.parametrize("name", ["linear", "quantiles"])
def test_the_page_has_the_numbers_of_the_plan(name):
    found = METHODS[name]
    page = render_plan_page(found)
    cells = re.findall(r'<td role="cell" class="number"[^>]*>(.*?)</td>', page)
    assert len(cells) == len(found.lines) * len(PLANNED[name])
    measure_of = PLANNED[name][0]
    ranges = [getattr(line, measure_of) for line in found.lines]
    said = [float(re.sub("[^0-9.].*", "", cell)) for cell in cells[:: len(PLANNED[name])][:3]]
    assert said == pytest.approx([one.expected for one in ranges[:3]], rel=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 768, 500])
@pytest.mark.parametrize("name", ["linear", "tukey", "ecdf"])
def test_the_page_fits_the_screen(chromium, tmp_path, name, width):
    source = render_plan_page(METHODS[name])
    found = measure(chromium, tmp_path, source, f"--window-size={width},900")
    assert found["content"] <= found["width"]
    assert found["over"] == []

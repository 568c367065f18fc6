"""Every kind of page in a browser: at three widths, light and dark, and on paper."""

from __future__ import annotations

import math
import re

import pytest

from tests.docs.test_built import look
from tests.report.golden_pages import LEDGERS, PAGES, whole_page
from tests.report.test_browser import run_browser

pytestmark = pytest.mark.slow  # a browser for each

EVERY = (*PAGES, *LEDGERS)
WIDTHS = (375, 768, 1280)
DARK = {"light": (), "dark": ("--blink-settings=preferredColorScheme=0",)}
# Letter paper, at 96 pixels an inch, less the margins of 15 mm; Chromium prints on it.
PAPER = (8.5 * 96 - 2 * 15 / 25.4 * 96, 11 * 96 - 2 * 15 / 25.4 * 96)
# Looked at in every width and theme; all others on a telephone.
SAMPLE = (
    *("clipped", "logistic", "levels", "many-features", "not-detected", "seeded", "selected"),
    *("distribution", "quantiles", "roc", "evaluation", "ledger", "ledger-units", "names"),
    *("cross-validation", "counts-exposure"),
)
# Where axe-core judges too, which takes most of the time: both layouts, and both themes' colours.
JUDGED = {(375, "light"), (375, "dark"), (1280, "light")}
# A picture of coefficients stays as wide as names without a place to break.
WIDE = {"names", "dropped"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """All pages; their policy, which would stop what looks at them, is lifted."""
    folder = tmp_path_factory.mktemp("pages")
    for name in EVERY:
        lines = whole_page(name).splitlines()
        kept = "\n".join(line for line in lines if "Content-Security-Policy" not in line)
        (folder / f"{name}.html").write_text(kept, encoding="utf-8")
        printed = kept.replace("@media print", "@media all").replace("@page {", "@page print {")
        (folder / f"{name}.print.html").write_text(printed, encoding="utf-8")
    return folder


@pytest.mark.parametrize("theme", DARK)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_and_can_be_read_by_anybody(chromium, tmp_path, site, width, theme):
    every = EVERY if (width, theme) == (375, "light") else SAMPLE
    jobs = [[f"{name}.html", width, theme, (width, theme) in JUDGED] for name in every]
    found = look(chromium, tmp_path, jobs, site, *DARK[theme])
    assert len(found) == len(jobs)
    for one in found:
        assert one["content"] <= one["width"], one
        assert one["violations"] == [], one
        assert one["elsewhere"] == [], one
    # Cards take the place of tables that a telephone would have to scroll.
    scrolling = {one["page"].removesuffix(".html") for one in found if one["scrolling"]}
    assert scrolling <= WIDE
    (background,) = {one["background"] for one in found}
    dark = sum(map(int, re.findall(r"\d+", background)[:3])) < 3 * 128
    assert dark == (theme == "dark")


def test_nothing_is_cut_on_paper(chromium, tmp_path, site):
    jobs = [[f"{name}.print.html", int(PAPER[0]), "light", False] for name in SAMPLE]
    for one in look(chromium, tmp_path, jobs, site):
        assert one["content"] <= one["width"], one
        assert one["scrolling"] == [], one


@pytest.mark.parametrize("name", ["clipped", "many-features", "logistic", "roc", "evaluation"])
def test_sheets_are_not_left_half_empty(chromium, tmp_path, site, name):
    """A page needs few more sheets than its height fills."""
    printed = tmp_path / "page.pdf"
    run_browser(chromium, tmp_path, site / f"{name}.html", f"--print-to-pdf={printed}")
    sheets = len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))
    job = [f"{name}.print.html", int(PAPER[0]), "light", False]
    (measured,) = look(chromium, tmp_path, [job], site)
    filled = measured["height"] / PAPER[1]
    assert math.ceil(filled) <= sheets <= math.ceil(filled) + 1, filled
    assert filled > sheets / 2

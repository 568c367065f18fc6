"""The pages of distributions in a real browser: they fit on any screen and ask for nothing."""

from __future__ import annotations

import numpy as np
import pytest

import nolook
from nolook.formats.findings_file import Scored
from nolook.report.page import render_page
from tests.report.pages import of_table
from tests.report.test_browser import measure, proxy, through
from tests.report.test_html import NASTY

__all__ = ["proxy"]

pytestmark = pytest.mark.slow  # a browser for each

LONG = "a_rather_long_column_name_" * 5


def scores() -> tuple:
    generator = np.random.default_rng(0)
    score = generator.random(3000)
    return score, generator.random(3000) < score


def distribution():
    ecdf = nolook.ECDF(0.1).fit(scores()[0])
    ecdf.read_options_ = {**ecdf.read_options_, "features": [LONG]}
    return ecdf.content()


def quantiles():
    table = np.column_stack([scores()[0]] * 6)
    found = nolook.quantiles(table, np.linspace(0, 1, 9))
    object.__setattr__(found, "names", (LONG, *NASTY)[:6])
    return found.content()


def curve():
    fitted = nolook.ROCCurve(0.5).fit(*scores())
    fitted.scored_ = Scored(LONG, NASTY[0], LONG)
    return fitted.content()


def calibration():
    fitted = nolook.HosmerLemeshow(0.2).fit(*scores())
    fitted.scored_ = Scored(LONG, NASTY[0], LONG)
    return fitted.content()


@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("make", [distribution, quantiles, curve, calibration])
def test_the_page_fits_the_screen_and_asks_for_nothing(chromium, tmp_path, proxy, make, width):
    source = render_page(of_table(make(), LONG))
    if make is quantiles:  # it has no picture, and what measures a page expects one
        source = source.replace("</main>", '<svg class="picture" height="9"></svg></main>')
    found = measure(chromium, tmp_path, source, f"--window-size={width},900", *through(proxy))
    assert found["width"] == width
    assert found["content"] <= found["width"]
    assert found["over"] == []
    assert found["asked"] == []
    if make is not quantiles:
        assert found["picture"] > 300
    if make is calibration:
        assert found["points"] == sorted(found["points"])
        assert len(found["points"]) > 5

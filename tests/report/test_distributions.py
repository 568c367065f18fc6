"""Private distributions on pages; the command line's tests run real ones."""

from __future__ import annotations

import numpy as np
import pytest

import nolook
from nolook import ECDF, LinearGrid
from nolook.formats.findings_file import Scored
from nolook.report.page import render_page
from nolook.report.picture import Axis, Band, Line, Picture, Point, axis
from nolook.report.plots import draw_on
from nolook.report.svg import svg
from nolook.report.wording import rows_in_words
from tests.report.golden_pages import of_column
from tests.report.pages import Page, of_table


def values(seed=0, count=3000):
    return np.random.default_rng(seed).normal(50, 10, count)


@pytest.mark.parametrize(
    "data",
    [
        [],
        [3.0],
        np.full(100, -5.0),
        np.full(100, 1e300),
        [np.inf] * 50 + [-np.inf] * 50,
        np.zeros(1000),
        np.full(1000, 1e-320),
    ],
    ids=["empty", "one", "equal", "huge", "infinite", "zero", "tiny"],
)
@pytest.mark.parametrize("epsilon", [0.01, 50.0])
def test_the_page_of_any_distribution(data, epsilon):
    ecdf = ECDF(epsilon).fit(np.array(data, dtype=float))
    page = Page(render_page(ecdf.content()))
    assert (page.unbalanced, page.outside) == ([], [])
    (curve,) = (a for a in page.all("polyline") if a["class"] == "curve solid")
    points = np.array([pair.split(",") for pair in curve["points"].split()], dtype=float)
    assert ((points >= 0) & (points <= 1000)).all()
    assert "nan" not in page.text


def test_the_page_says_what_the_release_says():
    ecdf = ECDF(0.5, LinearGrid(0, 100, 1)).fit(values())
    page = Page(render_page(of_table(of_column(ecdf, "age").content(), "people.csv")))
    for text in (
        "Distribution of age in people.csv",
        "Table people.csv: how the values of age are distributed.",
        "epsilon 0.5",
        rows_in_words(ecdf.rows_.value, ecdf.rows_.error)[0].removesuffix(" rows"),
        f"{ecdf.quantile(0.95):.0f}",
        "from 0 to 100 in steps of 1",
        "counts of blocks",
        "if this page gives one, it is a noisy one",
    ):
        assert text in page.text
    public = ECDF(0.5, LinearGrid(0, 100, 1), relation="replace").fit(values())
    page = Page(render_page(public.content()))
    assert "The number of rows, which is treated as public" in page.text
    assert "0, the number is public" in page.text
    assert "3,000" in page.text


def test_the_page_of_a_curve_warns_of_the_scored_model():
    curve = nolook.ROCCurve(1.0, LinearGrid(0, 100, 1)).fit(values(), values() > 50)
    curve.scored_ = Scored("s", "ill", "yes")
    page = Page(render_page(curve.content()))
    for text in (
        curve.caution,
        "ROC curve of s",
        f"{curve.auc_:.2f}",
        "Target ill",
        "Positive class yes",
        "counts of blocks",
    ):
        assert text in page.text
    # Higher scores are positive: the curve runs far above the line of guessing.
    _, line, *_ = page.all("polyline")
    points = np.array([pair.split(",") for pair in line["points"].split()], dtype=float)
    assert np.trapezoid(1000 - points[:, 1], points[:, 0]) > 0.9e6


def test_an_interval_is_at_least_as_wide_as_a_step_of_the_grid():
    ecdf = ECDF(5.0, LinearGrid(-1000, 1000, 500), random_state=0).fit(values())
    assert ecdf.quantile(0.5, return_interval=True)[1].tolist() == [0.0, 500.0]
    assert ecdf.content().cards[0][1:] == ("500", "95 % interval 0 to 500")
    # Times in seconds of one month lie in three cells of the grid of all numbers.
    stamps = 1.6e9 + np.random.default_rng(0).random(5000) * 86400 * 30
    for found in (
        ECDF(1.0, random_state=0).fit(stamps).quantile([0.25, 0.75], return_interval=True)[1],
        nolook.quantiles(stamps[:, None], [0.25, 0.75], random_state=0).ends[0],
    ):
        assert (np.diff(found) >= 2.0**20).all()


def test_a_quantile_that_may_lie_beyond_the_grid_has_one_end():
    ecdf = ECDF(2.0, LinearGrid(0, 60, 1), random_state=0).fit(values())
    low, high = ecdf.quantile(0.95, return_interval=True)[1]
    assert (low, high) == (59.0, np.inf)
    (section,) = (each for each in ecdf.content().sections if each.tables)
    name, shown, ends = section.tables[0].rows[4]
    assert (name, shown, ends) == ("95 % lie at or below", "at least 59", "no upper end")
    said = "".join(map(str, ecdf.content().conclusion[0]))
    assert "have a value of " in said
    assert "at least 59" in said
    # Where all values are whole numbers, the end itself may be the value.
    own = nolook.read_table(np.full((500, 1), 60))
    ecdf = ECDF(5.0, LinearGrid(0, 60, 1), random_state=0).fit(own)
    assert "at least 60" in "".join(map(str, ecdf.content().conclusion[0]))


def test_what_a_picture_draws_lies_where_it_should():
    picture = Picture(
        "t",
        "l",
        axis("x", -2.0, 2.0),
        axis("y", 0.0, 1.0),
        (
            Band(np.array([-2.0, 2.0]), np.array([-0.5, 0.25]), np.array([0.25, 0.75]), "b"),
            Line(np.array([-2.0, 0.0, 3.0]), np.array([0.0, 0.5, 1.5]), "c"),
            Point(0.0, 0.5, (0.25, 0.75)),
        ),
    )
    page = Page(svg(picture))
    (line,) = page.all("polyline")
    assert line["points"] == "0.0,1000.0 500.0,500.0 1000.0,0.0"
    (band,) = page.all("polygon")
    assert band["points"] == "0.0,750.0 1000.0,250.0 1000.0,750.0 0.0,1000.0"
    (circle,) = page.all("circle")
    assert circle["cx"] == "53.500%"
    bar = page.all("line")[-1]
    assert float(bar["y1"]) > float(circle["cy"]) > float(bar["y2"])
    # Ticks, at round numbers.
    assert [a["x"] for a in page.all("text")[5:10]] == [
        f"{10 + 87 * share:.3f}%" for share in (0, 0.25, 0.5, 0.75, 1)
    ]


def test_both_ways_to_draw_a_picture_have_the_same_numbers():
    from matplotlib import pyplot as plt

    band = np.array([0.0, 4.0]), np.array([0.0, 0.5]), np.array([0.25, 0.75])
    line = np.array([0.0, 2.0, 4.0]), np.array([0.0, 0.25, 1.0])
    marks = Band(*band, "band"), Line(*line, "line"), Point(1.0, 0.5, (0.25, 0.75))
    picture = Picture("t", "l", axis("x", 0.0, 4.0), axis("y", 0.0, 1.0), marks)
    page, axes = Page(svg(picture)), draw_on(picture)
    (drawn,) = page.all("polyline")
    pairs = np.array([pair.split(",") for pair in drawn["points"].split()], dtype=float)
    np.testing.assert_allclose(pairs / [250.0, -1000.0] + [0.0, 1.0], axes.lines[0].get_xydata())
    np.testing.assert_array_equal(axes.lines[0].get_xydata().T, line)
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), (0.25, 0.75))
    (outline,) = axes.collections[0].get_paths()
    assert {tuple(point) for point in outline.vertices} == {
        (x, y) for x, *ends in zip(*band, strict=True) for y in ends
    }
    labels = [text.get_text() for text in axes.get_xticklabels()]
    words = [words for _, words in picture.across.ticks]
    assert labels == words == ["0", "1", "2", "3", "4"]
    plt.close(axes.figure)


def test_rows_are_named_from_the_top_and_wild_intervals_get_arrows_both_ways():
    from matplotlib import pyplot as plt

    marks = (
        Point(0.5, 0, (0.25, 0.75), name="first"),
        Point(0.0, 1, (-9.0, 9.0), False, name="second"),
    )
    ticks = tuple((place, f"{place:g}") for place in (-1.0, 0.0, 1.0))
    picture = Picture(
        "t", "l", Axis("x", -1, 1, ticks, zero=0.0), Axis("", -0.5, 1.5), marks, rows=True
    )
    drawn, axes = svg(picture), draw_on(picture)
    assert drawn.count('class="arrow"') == 2
    assert [line.get_marker() for line in axes.lines if line.get_marker() in "<>"] == ["<", ">"]
    assert drawn.index("first") < drawn.index("second")
    names = [(label.get_text(), label.get_position()[1]) for label in axes.get_yticklabels()]
    assert names == [("first", 0), ("second", 1)]
    assert axes.get_ylim() == (1.5, -0.5)
    assert 'class="clear"' in drawn
    assert 'class="unclear"' in drawn
    assert [p.get_markerfacecolor() for p in axes.lines if p.get_marker() == "o"][1] == "white"
    plt.close(axes.figure)


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 7e12, 1.5e308])
def test_an_axis_has_three_to_six_round_ticks(scale):
    for part in np.linspace(0.05, 1.0, 200):
        low, high = -0.37 * scale, (part - 0.37) * scale
        places = [place for place, _ in axis("x", low, high).ticks]
        assert 3 <= len(places) <= 6
        assert all(low - 1e-9 * scale <= place <= high + 1e-9 * scale for place in places)

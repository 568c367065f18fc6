"""What every release offers once it is made: a summary, a frame, a picture and a page."""

from __future__ import annotations

import functools
import html
import io
import json
import re
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from attrs import asdict, evolve
from rich.console import Console
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression as PlainRegression
from sklearn.pipeline import make_pipeline

import nolook
from nolook.errors import ParameterError
from nolook.estimators.catalogue import MODELS, SELECTORS
from nolook.report.curve_findings import curve_sections
from nolook.report.exports import _latex, exported
from nolook.report.findings import Table
from nolook.report.sections import sections
from nolook.report.terminal import print_table
from nolook.report.wording import estimated
from tests.report.golden_pages import NASTY, bending, bent, classified_model, counting
from tests.report.hand_made import (
    choosing,
    counted,
    current,
    dropping,
    fitted,
    make_constant,
    not_detected,
    withheld,
    without,
)

mpl.use("Agg")
GRID = nolook.LinearGrid(0, 1, 0.01)
UNFITTED = [
    *(entry.load()() for entry in (*MODELS.values(), *SELECTORS.values())),
    *(nolook.ECDF(), nolook.ROCCurve(), nolook.HosmerLemeshow()),
    nolook.QuantileScaler(),
    nolook.PrivatePipeline(
        nolook.MomentSelector(), nolook.LinearRegression(), epsilon=1.0, delta=1e-6
    ),
]


def rows():
    """Probabilities, other numbers and what happened."""
    generator = np.random.default_rng(0)
    first, second = generator.random((2, 4000))
    return first, second, generator.random(4000) < first


@functools.cache
def releases():
    """One release of each kind, by its name."""
    first, second, happened = rows()
    X = np.column_stack([first, second])
    groups = pa.table({"a": first, "z": happened, "y": second > 0.5})
    return {
        "linear": counted(current(fitted())),
        "additive": bending(),
        "logistic": classified_model(),
        "additive-logistic": bent(classified_model(), nolook.AdditiveClassifier),
        "counts": counting(exposure="days", exposures=(3.0, 750.0)),
        "selection": nolook.KendallSelector(k=1).fit(X, happened),
        "scaler": nolook.QuantileScaler().fit(X),
        "ecdf": nolook.ECDF(grid=GRID).fit(first),
        "quantiles": nolook.quantiles(X, grids={"x0": GRID, "x1": GRID}),
        "roc": nolook.ROCCurve(grid=GRID).fit(first, happened),
        "calibration": nolook.HosmerLemeshow(groups=5).fit(first, happened),
        "evaluation": nolook.evaluate(
            PlainRegression().fit(X, happened), X, happened, other_rows=True
        ),
        "cross-validation": nolook.cross_validate(
            nolook.LinearRegression(), X, happened, folds=2, epsilon=8.0
        ),
        "comparison": nolook.compare_groups(groups, "a", "y"),
        "survival": nolook.survival(groups, "a", "z", "y"),
    }


KINDS = [
    *(
        "linear",
        "additive",
        "logistic",
        "additive-logistic",
        "counts",
        "selection",
        "scaler",
        "ecdf",
        "quantiles",
        "roc",
    ),
    *("calibration", "evaluation", "cross-validation", "comparison", "survival"),
]
DRAWN = [name for name in KINDS if name not in {"selection", "scaler", "quantiles"}]


@pytest.fixture(scope="module", autouse=True)
def _made():
    """Make them with noise of their own, whichever test comes first."""
    releases()


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def texts(page):
    """Return what a reader sees of HTML."""
    page = re.sub(r'<span class="whole">(.*?)</span>', r"\1", page)  # no line ends in it
    bare = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(bare).split())


@pytest.mark.parametrize("name", KINDS)
def test_text_and_html_say_the_same_as_the_report(name):
    release = releases()[name]
    summary = release.summary()
    found = release.content()
    shown, told = texts(summary.html), " ".join(str(summary).split())
    assert found.guarantee.in_words() in shown
    assert found.guarantee.in_words() in told
    for section in sections(found):
        for part in () if section.name == "costs" else section.printed:
            words = [part] if isinstance(part, str) else [part.caption, *part.heads]
            words += [] if isinstance(part, str) else [c for r in part.rows for c in r]
            for each in words:
                if isinstance(each, str):
                    assert " ".join(each.split()) in shown
                    assert each.split()[:1] == [] or each.split()[0] in told


@pytest.mark.parametrize("name", KINDS)
def test_a_notebook_shows_the_summary(name):
    release = releases()[name]
    assert release._repr_html_() == release.summary().html == release.summary()._repr_html_()
    if hasattr(release, "_repr_mimebundle_"):
        assert release._repr_mimebundle_()["text/html"] == release.summary().html
        with config_context(display="text"):
            assert list(release._repr_mimebundle_()) == ["text/plain"]
            assert not hasattr(release, "_repr_html_")


@pytest.mark.parametrize("estimator", UNFITTED, ids=lambda one: type(one).__name__)
def test_a_notebook_shows_what_is_not_fitted(estimator):
    # scikit-learn reads the docstring here, and warns of sections it does not know.
    assert type(estimator).__name__ in estimator._repr_html_()
    assert type(estimator).__name__ in make_pipeline(estimator)._repr_html_()
    for ask in (estimator.summary, estimator.to_frame, estimator.plot):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize("name", KINDS)
def test_html_loads_and_runs_nothing(name):
    page = releases()[name].summary().html
    assert not re.search(r"<script|<link|<img|<iframe|url\(|@import|\bon\w+=|https?:", page)


def test_names_cannot_break_out():
    summary = current(fitted(NASTY)).summary()
    assert "<b>" not in summary.html
    assert "\u202e" not in str(summary)
    assert "\x1b" not in str(summary)
    assert all(line == line.rstrip() for line in str(summary).splitlines())


def test_coefficients_come_with_their_intervals():
    model = withheld(current(fitted()), 1)
    frame = model.to_frame()
    known = [model.coef_[0], np.nan, model.intercept_]  # nothing is known without an interval
    np.testing.assert_array_equal(frame["coefficient"], known)
    ends = np.vstack([model.coef_interval_, model.intercept_interval_])
    np.testing.assert_array_equal(frame[["low", "high"]], ends)
    effect = model.coef_[0] * model.scaling_.scale[0]
    np.testing.assert_allclose(frame["times_scale"], [effect, np.nan, np.nan])
    assert list(frame.index) == ["age", "height", "intercept"]
    assert frame.loc["height", ["low", "high"]].isna().all()


def test_odds_ratios_are_exponentials():
    model = classified_model()
    frame = model.to_frame()
    ratios = frame[["odds_ratio", "odds_ratio_low", "odds_ratio_high"]]
    np.testing.assert_allclose(np.log(ratios[:-1]), frame[["coefficient", "low", "high"]][:-1])
    assert ratios.loc["intercept"].isna().all()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (choosing(current(fitted()), 1), ["height", "intercept"]),
        (dropping(current(fitted()), 0), ["height", "intercept"]),
        (not_detected(fitted()), ["intercept"]),
        (without(fitted()), ["age", "height", "intercept"]),
    ],
)
def test_only_columns_with_a_coefficient_are_listed(model, expected):
    assert list(model.to_frame().index) == expected


def test_frames_hold_what_was_released():
    made = releases()
    curve, test, found = made["roc"], made["calibration"], made["quantiles"]
    frame = made["ecdf"].to_frame()
    np.testing.assert_allclose(made["ecdf"].cdf(frame.index), frame["share"])
    assert frame["share"].iloc[-1] == 1.0
    points = curve.to_frame()
    assert np.trapezoid(points["tpr"], points.index) == pytest.approx(curve.auc_, abs=0.01)
    np.testing.assert_array_equal(points[["low", "high"]].T, curve.band_[1:])
    np.testing.assert_array_equal(test.to_frame()["rows"], test.table_.counts)
    table = found.to_frame()
    np.testing.assert_array_equal(table["quantile"], found.values.ravel())
    np.testing.assert_array_equal(table[["low", "high"]], found.ends.reshape(-1, 2))
    assert list(table["column"].unique()) == ["x0", "x1"]
    assert list(made["selection"].to_frame().index) == ["x0"]
    assert list(made["scaler"].to_frame().index) == ["x0", "x1"]
    measures = made["evaluation"].to_frame()
    assert measures.loc["auc", "value"] == made["evaluation"].roc.auc_
    folds = made["cross-validation"]
    assert list(folds.to_frame()["R2"]) == [one.value for one in (*folds.scores, folds.mean)]
    assert measures.loc["auc", "low"] <= measures.loc["auc", "value"] <= measures.loc["auc", "high"]


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_draw_on_given_axes_or_new_ones(name):
    from matplotlib import pyplot as plt

    release = releases()[name]
    axes = release.plot()
    axes.figure.canvas.draw()
    before = len(axes.lines)
    assert before
    assert release.plot(axes) is axes
    assert len(axes.lines) > before
    plt.close(axes.figure)


def test_quantiles_of_one_column_have_a_picture():
    one = nolook.quantiles(rows()[0][:, np.newaxis], grids={"x0": GRID})
    axes = one.plot()
    assert [text.get_text() for text in axes.get_yticklabels()][:1] == ["x0"]
    with pytest.raises(ParameterError, match="has no picture"):
        releases()["quantiles"].plot()


def test_the_picture_of_a_curve_ends_where_rows_do():
    from matplotlib import pyplot as plt

    model = bending()
    places, below = model.curves_[0].places, np.repeat([0.0, 0.25, 0.75, 1.0], [3, 1, 2, 3])
    model.curves_ = evolve(model.curves_[0], below=below), *model.curves_[1:]
    across = curve_sections(model)[0].figures[0].picture.across
    assert (across.low, across.high) == (places[2], places[6])
    axes = model.plot()
    np.testing.assert_allclose(axes.get_xlim(), (across.low, across.high), rtol=0.1)
    plt.close(axes.figure)


def test_the_picture_has_the_intervals_and_hollow_points():
    from matplotlib import pyplot as plt

    model = current(fitted())
    model.coef_interval_ = model.coef_[:, np.newaxis] + [[-1e-3, 1e-3], [-1e3, 1e3]]
    axes = model.plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    lines = [
        line
        for line in axes.lines
        if len(set(line.get_ydata())) == 1 and line.get_marker() == "None"
    ]
    drawn = {names[int(line.get_ydata()[0])]: line.get_xdata() for line in lines[:2]}
    for place, name in enumerate(("age", "height")):
        scaled = model.coef_interval_[place] * model.scaling_.scale[place]
        np.testing.assert_allclose(drawn[name], scaled)
    points = [line for line in axes.lines if line.get_marker() == "o"]
    faces = {names[int(p.get_ydata()[0])]: p.get_markerfacecolor() for p in points}
    assert faces["height"] == "white" != faces["age"]
    plt.close(axes.figure)


def test_the_numbers_at_risk_stand_below_the_curves(tmp_path):
    from matplotlib import pyplot as plt

    found = releases()["survival"]
    found.report(tmp_path / "page.html")
    page, axes = texts((tmp_path / "page.html").read_text("utf-8")), found.plot()
    drawn = [each.get_text() for each in axes.texts]
    for group, curve in zip(found.groups, found.curves, strict=True):
        name, first = f"at risk, {group}", f"{np.interp(0.0, curve.times, curve.at_risk):,.0f}"
        assert f"{name} {first}" in page
        assert drawn[drawn.index(name) + 1] == first
    plt.close(axes.figure)


def test_a_dollar_in_a_name_is_no_formula():
    from matplotlib import pyplot as plt

    axes = current(fitted(("a$x", "b$", "$y"))).plot()
    axes.figure.canvas.draw()
    plt.close(axes.figure)


@pytest.mark.parametrize(
    "make",
    [
        lambda: make_constant(fitted()),
        lambda: not_detected(fitted()),
        lambda: releases()["selection"],
        lambda: releases()["scaler"],
    ],
)
def test_where_there_is_nothing_to_draw_the_error_says_so(make):
    release = make()
    with pytest.raises(ParameterError, match=r"summary\(\)") as caught:
        release.plot()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("package", "ask"), [("matplotlib", "plot"), ("pandas", "to_frame")])
@pytest.mark.parametrize("name", DRAWN)
def test_without_an_optional_package_the_error_says_what_to_install(
    package, ask, name, monkeypatch
):
    monkeypatch.setitem(sys.modules, package, None)
    extra = {"matplotlib": "plot", "pandas": "pandas"}[package]
    with pytest.raises(ParameterError, match=rf"pip install 'nolook\[{extra}\]'") as caught:
        getattr(releases()[name], ask)()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", KINDS)
def test_the_page_is_the_report(name, tmp_path):
    releases()[name].report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for section in sections(releases()[name].content()):
        for table in section.tables:
            assert isinstance(table, Table)
            assert html.escape(table.caption, quote=False).split("'")[0] in page


def test_looking_costs_nothing_and_changes_nothing():
    model = counted(current(fitted()))
    before = {name: repr(value) for name, value in vars(model).items()}
    model.summary(), model.to_frame(), model.plot()
    assert {name: repr(value) for name, value in vars(model).items()} == before
    assert estimated(model.coef_[0], model.coef_interval_[0])[0] in str(model.summary())


def test_an_evaluation_keeps_no_model_that_is_not_private():
    # It may be shown to anyone, and saved as an object.
    found = releases()["evaluation"]
    assert (found.method, found.model_privacy) == ("LinearRegression", None)
    assert not any(hasattr(value, "predict") for value in asdict(found, recurse=False).values())


@pytest.mark.parametrize(
    ("model", "said"),
    [(not_detected(fitted()), "There is no regression"), (fitted(private=False), "NOT PRIVATE")],
)
def test_what_must_not_be_overlooked_stands_out(model, said):
    assert f'<p class="caution"><strong>{said}' in model.summary().html
    assert said in str(model.summary())
    assert 'caution"' not in fitted().summary().html


@pytest.mark.parametrize("width", [40, 60])
def test_a_table_too_wide_for_the_terminal_breaks_no_number(width):
    heads = ("Group", *(f"Quantile {place}" for place in range(6)))
    row = ("North", *("1,234,567 (1,200,000 to 1,300,000)",) * 6)
    with io.StringIO() as text:
        print_table(
            Console(file=text, width=width), Table("Counts", heads, (row,), ("all", *row[1:]))
        )
        shown = text.getvalue().split()
    assert shown.count("(1,200,000") == 12
    assert {"North", "all"} <= {*shown}


def test_an_area_that_may_be_any_is_not_exported():
    generator = np.random.default_rng(0)
    target = generator.random(60) < 0.3
    curve = nolook.ROCCurve(0.02, random_state=1).fit(generator.normal(size=60) + target, target)
    assert curve.auc_interval_.tolist() == [0.0, 1.0]
    assert curve.to_frame().isna().all().tolist() == [True, True, True, False]
    document = json.loads(exported(curve, "json"))
    assert document["measures"][0] == {"name": "auc", "value": None, "interval": None}
    assert exported(curve, "csv").splitlines()[9].split(",")[1:4] == ["", "", ""]
    assert "not known" in str(curve.summary())
    assert "0 to 100" not in str(curve.summary())
    assert "0.00 to 1.00" not in str(curve.summary())


def test_no_sign_of_a_name_is_a_command_or_another_character_in_latex():
    names = ("<16", ">=65", 'a|b "c"', "1_2 & 5 % {x}~^\\")
    shown = _latex(Table("t", ("Age", *names), (("x", *"1234"),)))
    heads = shown.splitlines()[3]
    assert r"Age & \textless{}16 & \textgreater{}=65 & a\textbar{}b \char34{}c\char34{} & " in heads
    end = r"1\_2 \& 5 \% \{x\}\textasciitilde{}\textasciicircum{}\textbackslash{} \\"
    assert heads.endswith(end)

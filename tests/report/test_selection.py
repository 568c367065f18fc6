"""Pages of a selection; the command line's tests run real ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import nolook
from nolook.privacy.mechanisms.exponential import permute_and_flip
from nolook.privacy.noise import SeededSource
from nolook.report.selection_findings import _lead
from nolook.statistics.kendall import KENDALL_UNIT, kendall_sensitivity
from tests.report.pages import Page, render

NAMES = [f"x{place}" for place in range(5)]


def rows(seed=0, count=3000):
    x = np.random.default_rng(seed).normal(size=(count, 5))
    return x, 5 * x[:, 3] - 2 * x[:, 1]


def fitted(selector=None, regressor=None, *, names=None, **budget):
    x, y = rows()
    pipeline = nolook.PrivatePipeline(
        nolook.KendallSelector(k=2) if selector is None else selector,
        nolook.LinearRegression() if regressor is None else regressor,
        **{"epsilon": 20.0, "delta": 1e-6, **budget},
    )
    return pipeline.fit(x if names is None else pd.DataFrame(x, columns=names), y)


@pytest.fixture(scope="module")
def named():
    return fitted(names=NAMES)


def test_the_page_of_a_pipeline_tells_of_both_parts(named):
    page = Page(render(named, table="people.parquet"))
    assert (page.unbalanced, page.outside) == ([], [])
    assert "with 2 of 5 columns, chosen privately" in page.text
    assert (
        "Cost of the selection: 2 noisy releases, together within epsilon = 4, delta" in page.text
    )
    assert "together within epsilon = 16, delta = 1e-06" in page.text
    assert "Chosen from x0, x1, x2, x3, x4" in page.text
    assert page.text.count("The columns were chosen with the same rows. Intervals would not") == 1
    for event in named.privacy_.mechanisms:
        assert event.name in page.text


def test_the_page_blames_the_seed_that_took_the_guarantee():
    pipeline = fitted(nolook.SISSelector(2, random_state=1), names=NAMES)
    assert not pipeline.privacy_.private
    page = Page(render(pipeline, table="t"))
    assert "NOT PRIVATE" in page.text
    assert "nothing is promised. The noise came from a known seed" in page.text


def test_the_lead_that_is_said_decides_nineteen_choices_in_twenty():
    x, y = rows()
    selector = nolook.KendallSelector(k=1, epsilon=2.0).fit(x, y)
    ahead = int(_lead(selector) * len(y) / 2 * KENDALL_UNIT)
    (features,) = (one for one in selector.privacy_.mechanisms if one.name == "features")
    source = SeededSource(0)
    scores = np.array([0, ahead])
    drawn = [
        permute_and_flip(scores, kendall_sensitivity(0), features.epsilon, source)
        for _ in range(2000)
    ]
    assert 0.95 < np.mean(drawn) < 0.99


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        (nolook.KendallSelector(k=2, epsilon=1e-6), "close to chance"),
        (nolook.SISSelector(k=2), "is not known"),
        (nolook.MomentSelector(k=2), "of 4 columns that add nothing"),
    ],
)
def test_a_page_says_how_strong_the_choices_are(selector, said):
    assert said in " ".join(str(selector.fit(*rows()).summary()).split())


def test_a_level_that_is_chosen_is_said_by_its_column(tmp_path):
    x, _ = rows()
    frame = pd.DataFrame(x[:, :2], columns=["a", "b"])
    frame["city"] = np.where(x[:, 2] > 1.0, "Biel", np.where(x[:, 3] > 0.0, "Bern", "Basel"))
    frame["y"] = (frame.city == "Biel") * 10.0 + (frame.city == "Bern")
    levels = {"city": ["Basel", "Bern"]}
    read = nolook.read_table(frame, "y", features=["a", "b", "city"], categories=levels)
    selector = nolook.MomentSelector(k=2, epsilon=50.0).fit(read)
    assert set(selector.get_feature_names_out()) == {"city=Bern", "city=..."}
    said = " ".join(str(selector.summary()).split())
    assert "city = none of the 2 declared levels" in said
    assert "city = Bern" in said
    selector.report(tmp_path / "chosen.html")
    assert "city=" not in Page((tmp_path / "chosen.html").read_text("utf-8")).text
    parts = nolook.MomentSelector(k=2), nolook.LinearRegression()
    model = nolook.PrivatePipeline(*parts, epsilon=100.0).fit(read)
    model.report(tmp_path / "model.html")
    text = " ".join(Page((tmp_path / "model.html").read_text("utf-8")).text.split())
    assert "Chosen: city = Bern and city = none of the 2 declared levels." in text

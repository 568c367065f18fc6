"""Models of counts on the command line: rate ratios, exposures, predictions, no evidence."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import nolook

ROWS = 5_000


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table of visits in a number of days, and of costs, most of which are 0."""
    generator = np.random.default_rng(0)
    dose, age = generator.normal(size=(2, ROWS))
    days = generator.uniform(30.0, 400.0, size=ROWS)
    visits = generator.poisson(days / 100.0 * np.exp(0.6 * dose))
    cost = np.where(generator.random(ROWS) < 0.6, 0.0, np.exp(5.0 + dose))
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    frame = pd.DataFrame({"dose": dose, "age": age, "days": days, "visits": visits, "cost": cost})
    frame.to_parquet(path)
    return path


@pytest.fixture
def fit(cli):
    words = ("--method", "poisson", "--epsilon", "3", "--force")
    return lambda path, *more: cli("fit", path, *words, *more)


def words_of(text):
    return " ".join(text.split())


def test_a_model_of_counts_is_told_in_rate_ratios(people, fit, cli, tmp_path):
    done = fit(people, "--target", "visits", "-x", "cost", "--exposure", "days", "-o", "m.json")
    assert done.status == 0, done.err
    assert "Count model of visits" in done.out
    shown = cli("show", "m.json")
    assert shown.status == 0, shown.err
    for text in map(words_of, (done.out, shown.out)):
        assert "Rate ratio" in text
        assert "method: poisson" in text
        assert "proportional to days, clipped to" in text
        assert "deviance of a constant mean" in text
        assert "% higher" in text
    document = json.loads((tmp_path / "m.json").read_text())
    assert (document["kind"], document["method"]) == ("count model", "poisson")
    assert document["parameters"] == {"exposure": "days"}
    model = nolook.load(tmp_path / "m.json")
    low, high = model.coef_interval_[0]
    assert low < 0.6 < high
    assert model.coef_[2] == 0.0


def test_predictions_are_means(people, fit, cli, tmp_path):
    frame = pd.read_parquet(people)
    for words in (("--exposure", "days"), (), ("--select", "2")):
        assert fit(people, "--target", "visits", "-x", "cost", *words, "-o", "m.json").status == 0
        done = cli("predict", "--model", "m.json", people, "-o", "p.parquet", "--force")
        assert done.status == 0, done.err
        means = pd.read_parquet(tmp_path / "p.parquet")["prediction"]
        assert (means >= 0.0).all()
        assert means.mean() == pytest.approx(frame["visits"].mean(), rel=0.15)
        if words[:1] == ("--exposure",):
            rates = means / frame["days"]
            few = frame["days"] < 100.0
            assert rates[few].mean() == pytest.approx(rates[~few].mean(), rel=0.1)


def test_costs_with_many_zeros_have_a_model(people, fit, tmp_path):
    done = fit(people, "--target", "cost", "--features", "dose,age", "-o", "m.json")
    assert done.status == 0, done.err
    low, high = nolook.load(tmp_path / "m.json").coef_interval_[0]
    assert 0.0 < low < high
    assert "The mean of cost is" in words_of(done.out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--exposure", "hours"), "--exposure names 'hours', which is not a feature (--features"),
        (("--exposure", "visits"), "--exposure names 'visits', which is not a feature (--features"),
        (
            ("--exposure", "days", "--select", "1"),
            "--exposure is 'days' in a pipeline, whose selection decides which columns are left",
        ),
        (
            ("--exposure", "days", "--method", "linear"),
            "--exposure is 'days'; expected --method poisson",
        ),
        (
            ("--exposure", "days", "--method", "auto"),
            "--exposure is 'days'; expected --method poisson",
        ),
        (("-k", "2"), "-k is '2'; expected --method linear"),
    ],
)
def test_what_is_refused_is_one_line_and_costs_nothing(people, fit, cli, tmp_path, words, message):
    with nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-4), name="a"):
        pass
    done = fit(people, "--target", "visits", "--ledger", "a.ledger", *words)
    assert done.status == 2
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert message in done.err
    with nolook.Ledger(tmp_path / "a.ledger") as ledger:
        assert ledger.spent.epsilon == 0.0


def test_a_model_that_did_not_stand_out_ends_with_status_5(people, fit, cli, tmp_path):
    pd.read_parquet(people).iloc[:300].to_parquet(tmp_path / "few.parquet")
    words = ("--target", "visits", "--epsilon", "0.01", "--exposure", "days", "-o", "m.json")
    done = fit("few.parquet", *words)
    assert done.status == 5
    assert "did not stand out" in done.err
    assert "hardly more than the mean" in done.err
    told = words_of(done.out)
    assert "No coefficients are given; predictions stay near the mean" in told
    assert "Rate ratio" not in told
    document = json.loads((tmp_path / "m.json").read_text())
    ends = ("coef_interval", "intercept_interval", "deviance_explained")
    assert {document[name] for name in ends} == {None}
    assert cli("show", "m.json").status == 0
    assert cli("predict", "--model", "m.json", people, "-o", "p.parquet").status == 0


def test_a_plan_of_counts_says_how_much_of_the_deviance_is_lost(cli):
    done = cli("plan", "--rows", "1000", "--columns", "3", "--method", "poisson")
    assert done.status == 0
    told = words_of(done.out)
    assert "Loss of deviance explained" in told
    assert "in logarithms of the mean" in told

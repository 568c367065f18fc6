"""Private distributions on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pytest

import nolook
import nolook.cli
from nolook.privacy.guarantee import PrivacyGuarantee
from nolook.report.wording import estimated, number, rows_in_words
from tests.ledgers import new_ledger
from tests.report.command import Result, names_in, spent, write_table
from tests.report.pages import Page
from tests.test_cli_errors import refused

ROWS = 4000


def columns(rows: int = ROWS, seed: int = 0) -> dict:
    """Ages and heights; a score that tells how likely a row is a member."""
    generator = np.random.default_rng(seed)
    score = generator.random(rows)
    member = generator.random(rows) < score
    return {
        "age": generator.integers(20, 60, rows),
        "height": generator.normal(170, 10, rows),
        "city": generator.choice(["Bern", "Basel"], rows),
        "score": score,
        "member": member,
        "number": member.astype(int),
        "real": member.astype(float),
        "text": np.where(member, "yes", "no"),
    }


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    return write_table(tmp_path_factory.mktemp("tables") / "people.parquet", columns())


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch, people) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.parquet").write_bytes(people.read_bytes())
    new_ledger(tmp_path / "a.ledger", nolook.Budget(50, 1e-4))
    return tmp_path


def ecdf(*more, table="people.parquet", column="age") -> list:
    return ["ecdf", table, "--column", column, "--epsilon", "2", *more]


def quantiles(*more) -> list:
    return ["quantiles", "people.parquet", "--columns", "age,height", "--epsilon", "2", *more]


def roc(*more, target="number") -> list:
    words = ["roc", "people.parquet", "--score", "score", "--target", target]
    return [*words, "--epsilon", "2", *more]


def calibration(*more, target="number") -> list:
    words = ["calibration", "people.parquet", "--probability", "score", "--target", target]
    return [*words, "--epsilon", "2", *more]


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def shown(done: Result, folder: Path, privacy: dict) -> Page:
    """Check what every printed release and every page must say; return the page."""
    assert done.status == 0, done.err
    assert done.err == ""
    page = Page((folder / "r.html").read_text(encoding="utf-8"))
    assert (page.unbalanced, page.outside) == ([], [])
    guarantee = PrivacyGuarantee.from_dict(privacy)
    for event in guarantee.mechanisms:
        assert event.name in page.text
    assert guarantee.in_words()[:60] in done.out
    assert guarantee.in_words() in page.text
    assert "NOT PRIVATE" not in done.out + page.text
    return page


def test_a_distribution_is_printed_written_and_charged(here, cli):
    done = cli(*ecdf("--grid", "0:120:1", "--ledger", "a.ledger", "--report", "r.html"))
    assert names_in(here) == {"people.age.distribution.json", "r.html"}
    document = read(here / "people.age.distribution.json")
    page = shown(done, here, document["privacy"])
    assert document["kind"] == "distribution"
    assert document["read_options"]["features"] == ["age"]
    assert document["grid"] == ["linear", 0.0, 120.0, 1.0]
    assert spent(here) == (2.0, ["distribution"])
    fitted = nolook.load(here / "people.age.distribution.json")
    assert abs(fitted.cdf(39) - 0.5) < 0.05
    median = f"{fitted.quantile(0.5):.6g}"
    for text in ("Distribution of age", "ows used", "50 % lie at or below", median):
        assert text in done.out
        assert text in page.text
    assert rows_in_words(fitted.rows_.value, fitted.rows_.error)[0] in done.out.lower()
    assert "epsilon = 2, delta = 0" in done.out
    assert "distribution: people.age.distribution.json" in done.out
    assert len(page.all("polyline")) == len(page.all("polygon")) == 1


def test_every_option_of_a_distribution_reaches_it(here, cli):
    words = ecdf("--grid", "100:250:0.1%", "--delta", "1e-6", "--relation", "replace")
    done = cli(*words, "--column", "height", "--missing", "zero")
    assert done.status == 0, done.err
    fitted = nolook.load(here / "people.height.distribution.json")
    assert fitted.get_params() == {
        "epsilon": 2.0,
        "delta": 1e-6,
        "grid": nolook.LogGrid(100, 250, 0.001),
        "relation": "replace",
        "random_state": None,
    }
    assert fitted.read_options_ == {"features": ["height"], "categories": {}, "missing": "zero"}
    assert fitted.rows_.value == ROWS
    assert "4,000" in done.out
    assert "the number is public" in done.out


@pytest.mark.parametrize("ledger", [(), ("--ledger", "r.ledger")])
def test_a_number_of_rows_is_not_public_where_rows_may_be_left_out(here, cli, ledger):
    nolook.Ledger.create(
        here / "r.ledger", nolook.Budget(5, 1e-4), name="r", relation="replace"
    ).close()
    words = ecdf("--relation", "replace", "--missing", "drop-row", *ledger)
    refused(cli(*words), "relation is 'replace'")
    assert names_in(here) == {"r.ledger"}


def test_missing_values_are_dropped_or_zero(here, cli):
    write_table(here / "odd.parquet", {"age": [np.nan] * 1000 + [50.0] * 1000})
    words = ecdf("--grid", "0:120:1", "--epsilon", "40", "--quiet", table="odd.parquet")
    found = {}
    for policy in ("drop-row", "zero", None):
        given = () if policy is None else ("--missing", policy)
        assert cli(*words, *given, "--force") == (0, "", "")
        found[policy] = nolook.load(here / "odd.age.distribution.json")
    assert abs(found["drop-row"].cdf(0)) < 0.02
    assert abs(found[None].cdf(0)) < 0.02
    assert abs(found["zero"].cdf(0) - 0.5) < 0.02


def test_quantiles_are_printed_written_and_charged(here, cli):
    words = quantiles("--at", "0.1,0.5", "--grid", "age=0:120:1", "--ledger", "a.ledger")
    done = cli(*words, "--report", "r.html")
    assert names_in(here) == {"people.age+height.quantiles.json", "r.html"}
    document = read(here / "people.age+height.quantiles.json")
    page = shown(done, here, document["privacy"])
    assert document["kind"] == "quantiles"
    assert (document["read_options"]["features"], document["shares"]) == (
        ["age", "height"],
        [0.1, 0.5],
    )
    assert document["grids"].keys() == {"age"}
    assert document["grids"]["age"] == ["linear", 0.0, 120.0, 1.0]
    assert document["read_options"]["features"] == ["age", "height"]
    np.testing.assert_allclose(document["values"], [[23, 39], [157, 170]], atol=10)
    assert np.shape(document["ends"]) == (2, 2, 2)
    assert spent(here) == (2.0, ["quantiles"])
    values, ends = np.ravel(document["values"]), np.reshape(document["ends"], (-1, 2))
    for value, both in zip(values.tolist(), ends.tolist(), strict=True):
        for words in estimated(value, both):
            assert words in done.out
            assert words in page.text
    assert "Thresholds of age from 0 to 120 in steps of 1" in page.text
    assert "Thresholds of height all numbers" in page.text
    assert set(document) == (
        {"format", "version", "nolook_version", "kind", "grids", "whole", "shares", "values"}
        | {"ends", "rows", "read_options", "privacy"}
    )


def test_names_with_commas_and_equals_signs_can_be_given(here, cli):
    write_table(here / "odd.parquet", {"a,b": [1.0] * 500, "c=d": [2.0] * 500})
    words = ["quantiles", "odd.parquet", "--columns", '"a,b",c=d', "--grid", "c=d=0:4:1"]
    done = cli(*words, "--epsilon", "20", "--delta", "1e-6", "--at", "0.5", "--quiet")
    assert done == (0, "", "")
    document = read(here / "odd.a_b+c_d.quantiles.json")
    assert document["read_options"]["features"] == ["a,b", "c=d"]
    assert document["values"] == [[1.0], [2.0]]
    assert document["privacy"]["delta"] == 1e-6


def area(score: np.ndarray, positive: np.ndarray) -> float:
    """The share of pairs of a positive and a negative in which the positive has more."""
    ranks = np.argsort(np.argsort(score)) + 1
    many = positive.sum()
    return (ranks[positive].sum() - many * (many + 1) / 2) / (many * (~positive).sum())


def test_a_curve_is_printed_written_and_charged(here, cli):
    done = cli(*roc("--grid", "0:1:0.01", "--ledger", "a.ledger", "--report", "r.html"))
    assert names_in(here) == {"people.score+number.roc.json", "r.html"}
    document = read(here / "people.score+number.roc.json")
    page = shown(done, here, document["privacy"])
    assert document["kind"] == "ROC curve"
    assert (document["scored"]["score"], document["scored"]["target"]) == ("score", "number")
    assert document["classes"]["grid"][-1] == 0.01
    assert spent(here) == (2.0, ["ROC curve"])
    data = columns()
    exact = area(data["score"], data["member"])
    curve = nolook.load(here / "people.score+number.roc.json")
    assert abs(curve.auc_ - exact) < 0.05
    low, high = curve.auc_interval_
    assert low <= curve.auc_ <= high
    auc, _ = estimated(curve.auc_, curve.auc_interval_)
    for text in (auc, nolook.ROCCurve.caution, "Positive rows"):
        assert text in page.text
        assert text in " ".join(done.out.split())
    assert [a["class"] for a in page.all("polyline")] == ["zero", "curve solid"] * 2
    assert len(page.all("polygon")) == 2
    assert document["asked"] == []


def test_rows_are_classified_at_thresholds(here, cli):
    more = ("--threshold", "0.3", "--threshold", "0.505", "--report", "r.html")
    done = cli(*roc("--grid", "0:1:0.01", *more))
    document = read(here / "people.score+number.roc.json")
    page = shown(done, here, document["privacy"])
    assert document["asked"] == [0.3, 0.505]
    curve = nolook.load(here / "people.score+number.roc.json")
    found = [curve.at(above) for above in curve.asked_]
    assert [each.threshold for each in found] == [0.3, 0.5]
    data = columns()
    for each in found:
        called = data["score"] > each.threshold
        wanted = (called & data["member"]).sum() / data["member"].sum()
        assert each.sensitivity.low - 0.02 <= wanted <= each.sensitivity.high + 0.02
    for text in ("above 0.505 (0.5 on the grid)", "Sensitivity (recall)"):
        assert text in page.text
        assert text in " ".join(done.out.split())
    # The rates are those of the same release: nothing more was spent.
    assert len(document["privacy"]["mechanisms"]) == 1


@pytest.mark.usefixtures("few_repeats")
@pytest.mark.parametrize(
    ("target", "positive", "ending"),
    [
        # Every day each in one of the formats, and each type but texts in both.
        pytest.param(*case, ending, marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, case in enumerate(
            [
                ("number", ()),
                ("number", ("--positive", "1")),
                ("member", ()),
                ("member", ("--positive", "true")),
                ("member", ("--positive", "True")),
                ("real", ("--positive", "1.0")),
                ("text", ("--positive", "yes", "-n", "no")),
            ]
        )
        for j, ending in enumerate(["parquet", "csv"])
    ],
)
def test_the_target_may_be_anything(here, cli, target, positive, ending):
    if ending == "csv":
        pa.csv.write_csv(pa.table(columns()), here / "people.csv")
    words = roc("--grid", "0:1:0.01", "--epsilon", "40", *positive, "--quiet", target=target)
    words[1] = f"people.{ending}"
    assert cli(*words) == (0, "", "")
    curve = nolook.load(here / f"people.score+{target}.roc.json")
    data = columns()
    assert abs(curve.n_positive_ - data["member"].sum()) < 50
    assert abs(curve.auc_ - area(data["score"], data["member"])) < 0.01


@pytest.mark.usefixtures("few_repeats")
def test_the_other_class_turns_a_curve_round(here, cli):
    for target, other in (("number", "0"), ("member", "0"), ("real", "0"), ("text", "no")):
        words = roc("--grid", "0:1:0.01", "--epsilon", "40", "--quiet", target=target)
        more = ("-n", "yes") if target == "text" else ()
        assert cli(*words, "--positive", other, *more) == (0, "", "")
        data = columns()
        exact = 1 - area(data["score"], data["member"])
        assert abs(nolook.load(here / f"people.score+{target}.roc.json").auc_ - exact) < 0.01


def test_options_reach_a_curve(here, cli):
    words = roc("--relation", "replace")
    assert "--missing zero" in cli(*words).err  # rows may be left out, and are counted
    words += ["--missing", "zero"]
    assert cli(*words, "--output", "one.json", "--report", "r.html").status == 0
    assert "found privately" in Page((here / "r.html").read_text(encoding="utf-8")).text
    document = read(here / "one.json")
    assert document["read_options"]["missing"] == "zero"
    assert document["privacy"]["relation"] == "replace"


def test_a_score_that_is_missing_follows_the_policy_and_a_target_the_relation(here, cli):
    score = [0.9] * 1000 + [0.1] * 1000 + [np.nan] * 1000 + [0.1] * 2000
    label = ["yes"] * 1000 + ["no"] * 1000 + ["yes"] * 1000 + [None] * 1000 + ["maybe"] * 1000
    write_table(here / "odd.parquet", {"score": score, "text": pa.array(label)})
    words = roc("--grid", "0:1:0.01", "--epsilon", "40", "-p", "yes", "-n", "no", target="text")
    words[1] = "odd.parquet"
    ways = (
        (("--missing", "drop-row"), 1000, 1000, 1.0),
        (("--missing", "zero"), 2000, 1000, 0.5),
        # All rows count then, so one without a class is no positive.
        (("--missing", "zero", "--relation", "replace"), 2000, 3000, 0.5),
    )
    for more, positives, negatives, exact in ways:
        done = cli(*words, *more, "--quiet", "--force")
        assert (done.status, done.err) == (0, ""), done
        curve = nolook.load(here / "odd.score+text.roc.json")
        assert abs(curve.n_positive_ - positives) < 20
        assert abs(curve.n_negative_ - negatives) < 20
        assert abs(curve.auc_ - exact) < 0.01


def test_a_calibration_is_printed_written_and_charged(here, cli):
    done = cli(*calibration("--groups", "5", "--ledger", "a.ledger", "--report", "r.html"))
    assert names_in(here) == {"people.score+number.calibration.json", "r.html"}
    document = read(here / "people.score+number.calibration.json")
    page = shown(done, here, document["privacy"])
    assert document["kind"] == "calibration"
    assert spent(here) == (2.0, ["calibration"])
    test = nolook.load(here / "people.score+number.calibration.json")
    groups, curve = test.degrees_of_freedom_, test.calibration_curve()
    assert groups == 5
    assert len(document["groups"]["table"]["borders"]) == groups + 1
    assert np.sum(curve.counts) == pytest.approx(ROWS, rel=0.05)
    np.testing.assert_allclose(curve.prob_true, [0.1, 0.3, 0.5, 0.7, 0.9], atol=0.15)
    p_value = f"p-value {number(test.p_value_, 2)}"
    for text in (p_value, nolook.HosmerLemeshow.caution, "Positive r"):
        assert text in page.text
        assert text in " ".join(done.out.split())
    circles = [float(a["cy"]) for a in page.all("circle")]
    assert len(circles) == groups
    assert circles == sorted(circles, reverse=True)  # higher probabilities lie higher
    bars = [a for a in page.all("line") if a["class"] == "interval"]
    assert len(bars) == groups

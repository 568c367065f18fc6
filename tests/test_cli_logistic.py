from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import nolook

ROWS = 4_000


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table whose target is there as text, as a boolean and as a number."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(ROWS, 2))
    y = generator.random(ROWS) < expit(2.0 * X[:, 0] - 1.0)
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    frame = pd.DataFrame(X, columns=["dose", "age"])
    frame.assign(sick=np.where(y, "yes", "no"), flag=y, number=y.astype(int)).to_parquet(path)
    return path


@pytest.fixture
def fit(cli):
    words = ("--features", "dose,age", "--epsilon", "3", "-o", "m.json", "--force")
    return lambda path, *more: cli("fit", path, *words, *more)


def method_in(folder):
    return json.loads((folder / "m.json").read_text())["method"]


@pytest.mark.parametrize(
    ("words", "method"),
    [
        (("--target", "sick", "--positive", "yes", "--negative", "no"), "logistic"),
        (("--target", "flag"), "logistic"),
        (("--target", "number", "--positive", "1"), "logistic"),
        (("--target", "number"), "linear"),
        (("--target", "flag", "--method", "linear"), "linear"),
        (("--target", "number", "--positive", "1", "--method", "logistic"), "logistic"),
    ],
)
def test_two_declared_values_get_a_logistic_model(words, method, people, fit, tmp_path):
    done = fit(people, *words)
    assert done.status == 0, done.err
    assert method_in(tmp_path) == method
    assert f"{method.capitalize()} model of" in done.out
    assert ("Odds ratio" in done.out) == (method == "logistic")


def test_a_schema_declares_two_values(people, fit, tmp_path):
    frame = pd.read_parquet(people)
    frame.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "schema.toml").write_text(
        '[columns.sick]\ntype = "boolean"\ntrue = ["yes"]\nfalse = ["no"]\nuse = "target"\n'
    )
    done = fit("people.csv", "--schema", "schema.toml")
    assert done.status == 0, done.err
    assert method_in(tmp_path) == "logistic"


def test_predictions_are_probabilities(people, fit, cli, tmp_path):
    for words in ((), ("--select", "1")):
        assert fit(people, "--target", "flag", *words).status == 0
        done = cli("predict", "--model", "m.json", people, "-o", "p.parquet", "--force")
        assert done.status == 0, done.err
        p = pd.read_parquet(tmp_path / "p.parquet")["prediction"]
        true = pd.read_parquet(people)["flag"]
        assert p.between(0, 1).all()
        assert p[true].mean() > p[~true].mean() + 0.2
        assert abs(p.mean() - true.mean()) < 0.05


@pytest.mark.parametrize(
    ("words", "classes"),
    [
        (("--target", "sick", "--positive", "yes", "--negative", "no"), ("no", "yes")),
        (("--target", "sick", "--positive", "yes", "--negative", "..."), ("not yes", "yes")),
        (("--target", "sick", "--positive", "no", "--negative", "yes"), ("yes", "no")),
        (("--target", "flag"), (False, True)),
        (("--target", "number", "--positive", "1"), (0, 1)),
        (("--target", "number", "--positive", "0", "--negative", "1"), (1, 0)),
        (("--target", "sick", "--schema", "words.toml"), ("no", "yes")),
        (("--target", "sick", "--schema", "words.toml", "--positive", "no"), ("yes", "no")),
    ],
)
def test_the_likelier_class_is_named_as_the_outcome_is(words, classes, people, fit, cli, tmp_path):
    (tmp_path / "words.toml").write_text(
        '[columns.sick]\ntype = "boolean"\ntrue = ["yes"]\nfalse = ["no"]\n'
    )
    done = fit(people, *words)
    assert done.status == 0, done.err
    assert nolook.load("m.json").classes_.tolist() == list(classes)
    done = cli("predict", "--model", "m.json", people, "-o", "p.parquet", "--force")
    assert done.status == 0, done.err
    found = pd.read_parquet(tmp_path / "p.parquet")
    assert found.columns.tolist() == ["prediction", "predicted_class"]
    likelier = found.prediction > 0.5
    assert set(found.predicted_class[likelier]) == {classes[1]}
    assert set(found.predicted_class[~likelier]) == {classes[0]}
    table = nolook.read_table(people, False, features=["dose", "age"])
    (rows,) = [numbers for numbers, *_ in table.batches_in_place()]
    frame = pd.DataFrame(rows.T, columns=["dose", "age"])
    assert nolook.load("m.json").predict(frame).tolist() == found.predicted_class.tolist()


def test_a_model_that_did_not_stand_out_ends_with_status_5(people, fit, tmp_path):
    few = pd.read_parquet(people).iloc[:300]
    few.to_parquet(tmp_path / "few.parquet")
    done = fit("few.parquet", "--target", "flag", "--epsilon", "0.01")
    assert done.status == 5
    assert "did not stand out" in done.err
    assert "hardly more than the base rate" in done.err
    assert "predictions stay near the base rate" in " ".join(done.out.split())
    assert "No coefficients are given" in " ".join(done.out.split())
    assert "Odds ratio" not in done.out
    assert method_in(tmp_path) == "logistic"
    document = json.loads((tmp_path / "m.json").read_text())
    ends = ("coef_interval", "intercept_interval", "pseudo_r2", "auc")
    assert {document[name] for name in ends} == {None}

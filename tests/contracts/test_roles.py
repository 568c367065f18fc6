"""What a column may be used for, by its declared type alone: one table for Python, the command line
and owners of a federation."""

from __future__ import annotations

import datetime as dt
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.errors import NolookError
from nolook.federated.commands._submit import _Wanted
from tests.federated.made import SCORES, batch_of

ROWS = 60
PLACES = np.arange(ROWS)
COLUMNS = {
    "whole": PLACES % 7,
    "number": PLACES % 11 / 11.0,
    "flag": PLACES % 2 == 0,
    "word": [("yes", "no")[i % 2] for i in PLACES],
    "day": [dt.date(2024, 1, 1 + int(i % 28)) for i in PLACES],
    "nested": [[1.0, 2.0]] * ROWS,
    "y": PLACES % 2,
}
LINEAR = nolook.LinearRegression(1.0)
# By role: the types it takes, and how it is asked for in Python and on the command line.
ROLES = {
    "target": (
        {"whole", "number", "flag"},
        lambda t, name: LINEAR.fit(nolook.read_table(t, name, features=["y"])),
        lambda name: ("fit", "-t", name, "-f", "y", "-d", "1e-6"),
    ),
    "feature": (
        {"whole", "number", "flag"},
        lambda t, name: LINEAR.fit(nolook.read_table(t, "y", features=[name])),
        lambda name: ("fit", "-t", "y", "-f", name, "-d", "1e-6"),
    ),
    "distribution": (
        {"whole", "number", "flag"},
        lambda t, name: nolook.ECDF(1.0).fit(nolook.read_table(t, False, features=[name])),
        lambda name: ("ecdf", "-c", name),
    ),
    "score": (
        {"whole", "number"},
        lambda t, name: nolook.ROCCurve(1.0).fit(nolook.read_table(t, "y", features=[name])),
        lambda name: ("roc", "--score", name, "-t", "y"),
    ),
    "outcome": (
        {"whole", "flag"},
        lambda t, name: nolook.ROCCurve(1.0).fit(nolook.read_table(t, name, features=["y"])),
        lambda name: ("roc", "--score", "y", "-t", name),
    ),
    "probability": (
        {"number"},
        lambda t, name: nolook.HosmerLemeshow(1.0).fit(nolook.read_table(t, "y", features=[name])),
        lambda name: ("calibration", "--probability", name, "-t", "y"),
    ),
    "unit": (
        {"whole", "flag", "word", "day"},
        lambda t, name: nolook.ECDF(1.0).fit(
            nolook.read_table(t, False, features=["y"], unit=name)
        ),
        lambda name: ("ecdf", "-c", "y", "--unit", name),
    ),
}  # fmt: skip
SCHEMAS = {
    "file": None,  # a double of Parquet
    "number": {"columns": {"stay": "number"}},
    "integer": {"columns": {"stay": "integer"}},
}
# The roles that owners of reports have too: the kind of their batch, column, target and unit.
OWNERS = {
    "distribution": lambda name: ("ecdf", name, None, None),
    "score": lambda name: ("roc", name, "y", None),
    "outcome": lambda name: ("roc", "y", name, None),
    "probability": lambda name: ("hosmer-lemeshow", name, "y", None),
    "unit": lambda name: ("ecdf", "y", None, name),
}


@pytest.mark.parametrize(
    ("role", "name"),
    [
        # Every day each role with half of the types.
        pytest.param(role, name, marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, role in enumerate(ROLES)
        for j, name in enumerate(name for name in COLUMNS if name != "y")
    ],
)
def test_a_role_takes_the_types_that_make_sense(role, name, tmp_path, cli, open_ledger):
    types, in_python, command = ROLES[role]
    table = pa.table(COLUMNS)
    pq.write_table(table, tmp_path / "t.parquet")
    first, *words = command(name)
    ledger = open_ledger()
    done = cli(first, tmp_path / "t.parquet", *words, "-e", "1", "-o", tmp_path / "o.json",
               "--ledger", ledger.path)  # fmt: skip
    charged = len(ledger.history())
    if name in types:
        in_python(table, name)
        assert done.status in {0, 5}, done.err
        return
    with pytest.raises(NolookError) as refused:
        in_python(table, name)
    for message in (done.err, str(refused.value)):
        assert name in message
        assert "expected" in message or "declare" in message
        assert message.strip().count("\n") == 0
    assert done.status == 2
    assert not charged
    assert not (tmp_path / "o.json").exists()


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "y"])
@pytest.mark.parametrize("role", OWNERS)
def test_owners_are_refused_what_one_table_is(role, name, tmp_path):
    pq.write_table(pa.table(COLUMNS), tmp_path / "t.parquet")
    kind, column, target, unit = OWNERS[role](name)
    batch = batch_of(kind, grid=SCORES if kind == "roc" else None)
    owner = _Wanted(None, tmp_path / "t.parquet", column, target, (None, None), None, unit)
    if name in ROLES[role][0]:
        assert len(owner._rows(batch)[0]) == (ROWS if unit is None else len({*COLUMNS[name]}))
        return
    with pytest.raises(nolook.NolookError, match=name):
        owner._rows(batch)


def test_an_evaluation_of_a_length_of_stay_is_refused():
    table = pa.table({"x": PLACES * 1.0, "stay": PLACES * 3.0 + 20})
    opened = nolook.read_table(table, "stay", features=["x"])
    model = nolook.LinearRegression(100.0).fit(opened)
    with pytest.raises(nolook.ParameterError, match="'stay' goes from"):
        nolook.evaluate(model, opened)
    frame = table.to_pandas()
    model = nolook.LinearRegression(100.0).fit(frame[["x"]], frame["stay"])
    with pytest.raises(nolook.ParameterError, match="'stay' goes from"):
        nolook.evaluate(model, frame[["x"]], frame["stay"])


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_number_is_no_outcome_of_yes_or_no_by_its_declared_type(kind, tmp_path, cli, open_ledger):
    table = pa.table({"x": PLACES * 1.0, "died": PLACES % 2 == 0, "stay": PLACES * 3.0 + 20})
    place = tmp_path / "t.parquet"
    pq.write_table(table, place)
    opened = nolook.read_table(place, "stay", features=["x"], schema=SCHEMAS[kind])
    model = nolook.LogisticRegression(100.0).fit(nolook.read_table(place, "died", features=["x"]))
    nolook.save(model, tmp_path / "m.json")
    schema = [] if SCHEMAS[kind] is None else ["--schema", tmp_path / "s.toml"]
    (tmp_path / "s.toml").write_text(f'[columns]\nx = "number"\nstay = "{kind}"\n')
    ledger = open_ledger()
    judged = cli("evaluate", place, "--model", tmp_path / "m.json", "-t", "stay", "-e", "1",
                 *schema, "--ledger", ledger.path)  # fmt: skip
    assert (judged.status, ledger.history()) == (2, ())
    said = "names 'stay', which is not declared to have two values"
    assert f"--target {said}" in judged.err
    assert "--positive 1" in judged.err
    with pytest.raises(nolook.ParameterError, match=said):
        nolook.evaluate(model, opened)
    # A value that counts as 1 declares two, of a double too.
    how = {"features": ["x"], "positive": "20", "negative": "..."}
    nolook.evaluate(model, nolook.read_table(place, "stay", **how))


def test_an_epsilon_that_is_not_used_is_refused():
    model = nolook.LinearRegression(epsilon=3.0)
    with pytest.raises(nolook.ParameterError, match=r"epsilon is 3\.0, which is not used"):
        nolook.cross_validate(model, np.ones((ROWS, 1)), PLACES * 1.0)


def test_scores_may_be_given_in_the_order_of_scikit_learn_by_name(costs_nothing):
    score, out = COLUMNS["number"], COLUMNS["y"]
    ours, theirs = (nolook.ROCCurve(1.0, random_state=1) for _ in range(2))
    ours.fit(score, out)
    assert theirs.fit(y_true=out, y_score=score).auc_ == ours.auc_
    for given in ({}, {"scores": score, "y_score": score}, {"y_true": out}):
        with pytest.raises(nolook.ParameterError, match="twice or not at all"):
            nolook.ROCCurve(1.0).fit(**given)
    for estimator in (nolook.ROCCurve(1.0), nolook.HosmerLemeshow(1.0)):
        for change in (
            np.asarray,
            pa.array,
            pd.Series,
            lambda cells: pd.Series(cells, name="a").to_frame(),
        ):
            costs_nothing(
                partial(estimator.fit, change(out), change(score)), "scikit-learn's order"
            )
        estimator.fit(score, out)
    nolook.ROCCurve(1.0).fit(COLUMNS["whole"], out)
    nolook.ROCCurve(1.0).fit(y_score=COLUMNS["whole"], y_true=out * 1.0)
    with pytest.raises(nolook.ParameterError, match="true and false"):
        nolook.ROCCurve(1.0).fit(COLUMNS["flag"], score)

"""Faults that generated input once found, each in a few lines."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import nolook
from nolook import ParameterError


@pytest.mark.parametrize("names", [np.array(1.0), 5, None, {}])
def test_what_holds_no_names_is_refused(names):
    with pytest.raises(ParameterError, match="features is"):
        nolook.read_table(np.ones((2, 2)), features=[] if names is None else names)


@pytest.mark.parametrize("step", [5e-324, 1e-323])
def test_a_step_whose_half_is_nothing_is_refused(step):
    with pytest.raises(ParameterError, match="more than 16777216 points"):
        nolook.LinearGrid(0, 1, step)


@pytest.mark.parametrize("shares", [10**400, 1j, ["a"], [[0.5]], [2.0], np.nan])
def test_what_is_no_share_is_refused(shares):
    with pytest.raises(ParameterError, match="p is not from 0 to 1"):
        nolook.quantiles(np.ones((3, 1)), shares)


@pytest.mark.parametrize("grids", [True, [1], "a"])
def test_grids_are_a_mapping(grids):
    with pytest.raises(ParameterError, match="grids is a value of type"):
        nolook.quantiles(np.ones((3, 1)), grids=grids)


@pytest.mark.parametrize("label", [2**63, -(10**30), np.float32(0.5), np.int8(1), True])
@pytest.mark.parametrize("kind", [bool, np.int8, np.float64, object])
def test_positive_classes_of_any_size(label, kind):
    labels = np.array([0, 1, 1, 0]).astype(kind)
    curve = nolook.ROCCurve(1.0, nolook.LinearGrid(0, 1, 0.5), pos_label=label, random_state=0)
    assert 0.0 <= curve.fit([0.1, 0.5, 0.6, 0.2], labels).auc_ <= 1.0


@pytest.mark.parametrize("path", [None, 3, [], b"m.json"])
def test_paths_are_texts_or_paths(path):
    with pytest.raises(ParameterError, match=r"path is .*; expected the path of a file"):
        nolook.load(path)
    with pytest.raises(ParameterError, match=r"path is .*; expected the path of a file"):
        nolook.save(nolook.QuantileScaler(), path)


def test_a_frame_over_which_polars_panics_is_refused():
    class Panics:
        def __arrow_c_stream__(self, requested_schema=None):
            raise pl.exceptions.PanicException("a cell")

    with pytest.raises(nolook.TableError, match="gives no readable Arrow stream") as caught:
        nolook.read_table(Panics())
    assert "a cell" not in repr(caught.value.__context__) + str(caught.value)


def test_a_polars_frame_with_a_null_character_in_a_name_does_not_end_the_process():
    with pytest.raises(nolook.TableError, match="gives no readable Arrow stream"):
        nolook.read_table(pl.DataFrame({"a\0": [1.0]}))
    with pytest.raises(nolook.TableError, match="gives no readable Arrow stream"):
        nolook.read_table(pl.DataFrame({"a": [{"b\0": 1.0}]}))


def test_an_interruption_is_no_panic():
    class Interrupted:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nolook.read_table(Interrupted())


@pytest.mark.parametrize("use", ["target", "unit", "weights"])
@pytest.mark.parametrize("name", [np.array(1.0), np.array("x0"), ["x0"], {}, 3, b"x0", ""])
def test_a_column_of_a_use_has_a_name(use, name):
    for schema in (None, {"columns": {"x1": {"type": "number", "use": use}}}):
        with pytest.raises(ParameterError, match=f"^{use} is .*; expected non-empty strings"):
            nolook.read_table(np.ones((3, 3)), schema=schema, **{use: name})


def test_what_is_not_a_ledger_is_refused_with_the_way_to_name_one(tmp_path):
    X = np.arange(20.0).reshape(-1, 2)
    words = "ledger is 3; expected a Ledger or its path (for example 'people.ledger')"
    with pytest.raises(ParameterError, match=re.escape(words)):
        nolook.LinearRegression(1.0).fit(X, X[:, 0], ledger=3)
    with pytest.raises(ParameterError, match=re.escape(words)):
        nolook.QuantileScaler(1.0).fit(X).report(tmp_path / "r.html", ledger=3)
    with pytest.raises(nolook.LedgerError, match="is not a file"):
        nolook.LinearRegression(1.0).fit(X, X[:, 0], ledger=tmp_path / "none.ledger")


@pytest.mark.parametrize("kind", [str, Path])
def test_a_ledger_may_be_named_by_its_path(tmp_path, kind):
    path, X = tmp_path / "people.ledger", np.arange(200.0).reshape(-1, 2)
    nolook.Ledger.create(path, nolook.Budget(2.0, 1e-4), name="people").close()
    found = nolook.describe(X, epsilon=0.5, ledger=kind(path))
    nolook.LinearRegression(0.5).fit(X, X[:, 0], ledger=kind(path))
    with nolook.Ledger(path) as ledger:
        assert [entry.state for entry in ledger.history()] == ["complete"] * 2
    found.report(tmp_path / "page.html", ledger=kind(path))
    assert "people" in (tmp_path / "page.html").read_text("utf-8")
    with pytest.raises(nolook.BudgetExceededError):
        nolook.describe(X, epsilon=9.0, ledger=kind(path))


def test_a_series_in_place_of_a_frame_is_named():
    column = pl.Series("age", [1.0, 2.0])
    words = r"X is a Series; expected a frame \(for example df\[\['age'\]\]\)"
    with pytest.raises(nolook.TableError, match=words):
        nolook.LinearRegression(1.0).fit(column, column)


def test_a_group_that_the_table_lacks_is_refused_with_the_nearest_name():
    table = nolook.read_table(pl.DataFrame({"cost": [1.0, 2.0], "ward": ["A", "B"]}))
    with pytest.raises(nolook.TableError, match=r"by names 'wards', .* \(do you mean 'ward'\?\)"):
        nolook.compare_groups(table, "cost", "wards")
    with pytest.raises(ParameterError, match="by names 'ward', which is not a column in use"):
        nolook.compare_groups(table, "cost", "ward")


def test_a_formula_names_the_way_to_declare_levels():
    frame = pl.DataFrame({"cost": [1.0, 2.0], "age": [1.0, 2.0], "ward": ["A", "B"]})
    with pytest.raises(ParameterError, match=re.escape("categories={'ward': ['A', 'B']}")):
        nolook.from_formula("cost ~ age*ward", frame)

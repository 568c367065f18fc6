"""Model files and ledgers that somebody damaged or made up: refused in one line, never run."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import re
import shutil
import sqlite3

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook.estimators.base import PrivateRegressor
from tests.formats.releases import EVERY, TABLE
from tests.formats.test_every_kind import text
from tests.hostile.arbitrary import NAMES, damaged
from tests.hostile.harness import Charged, attempt, inputs, run

PREDICTING = (PrivateRegressor, nolook.LogisticRegression)
VALUES = st.one_of(
    st.sampled_from([
        None, True, False, 0, 1, -1, 1.5, 1e308, -1e-320, 10**400, 2**63, "", "a", "auto", "error",
        [], [[]], {}, {"a": []}, [None], ["a"], ["a", "a"], [0.0, 1.0], [1.0, 0.0], "\ud800",
        "Bern", "add-remove", "replace", "x" * 3000, "line\nbreak", [1e308] * 2, -(10**400), 1e-6,
        math.nan, math.inf, "__class__", "!!python/object/apply:os.system", {"$ref": "#"},
    ]),
    st.sampled_from(NAMES),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-10, 10),
)  # fmt: skip


def places(value, path=()):
    """Every place in a document."""
    yield path
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(entry, (*path, key))


@st.composite
def edited(draw, document):
    """A document in which a few values or keys are changed, left out, doubled or swapped."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        *path, key = draw(st.sampled_from([place for place in places(changed) if place]))
        holder = changed
        for step in path:
            holder = holder[step]
        kind = draw(st.sampled_from(["value", "value", "value", "drop", "rename", "copy"]))
        if kind == "value":
            holder[key] = copy.deepcopy(draw(VALUES))  # edits must not reach the next example
        elif kind == "drop":
            del holder[key]
        elif isinstance(holder, dict):
            value = holder.pop(key) if kind == "rename" else copy.deepcopy(holder[key])
            holder[draw(st.sampled_from([*holder, "extra", "coef", "__class__"]))] = value
        else:
            holder.append(copy.deepcopy(holder[key]))
        if not any(place for place in places(changed)):
            break
    return changed


@pytest.fixture(scope="module")
def documents():
    """The text of each release's file."""
    return {place: text(*of) for place, of in enumerate(EVERY)}


def use(path):
    """Load a file; what was accepted predicts, is saved again and then reads the same."""
    model = attempt(lambda: nolook.load(path))
    if isinstance(model, nolook.NolookError):
        assert isinstance(model, nolook.ModelFileError)
        return False
    again = path.with_name("again.json")
    nolook.save(model, again)
    text = again.read_text(encoding="utf-8")
    nolook.save(nolook.load(again), again)
    assert again.read_text(encoding="utf-8") == text
    assert str(attempt(model.summary))
    if isinstance(model, PREDICTING):
        rows = np.ones((2, model.n_features_in_))
        names = getattr(model, "feature_names_in_", None)
        with np.errstate(all="ignore"):
            if names is None:
                assert not pd.isna(model.predict(rows)).all()
            else:
                attempt(lambda: model.predict(pa.table(dict(zip(names, rows.T, strict=True)))))
    return True


@inputs(200)
@given(st.integers(0, len(EVERY) - 1), st.data())
def test_edited_model_files(folder, documents, name, data):
    path = folder / "m.json"
    document = data.draw(edited(json.loads(documents[name])))
    path.write_text(json.dumps(document), encoding="utf-8")
    accepted = use(path)
    if accepted:
        pq.write_table(TABLE, folder / "t.parquet")
        done = run(
            folder, "predict", "--model", "m.json", "t.parquet", "--output", "p.parquet", "--force"
        )
        assert (folder / "p.parquet").exists() == (done.status == 0)
        (folder / "p.parquet").unlink(missing_ok=True)


@inputs(150)
@given(st.integers(0, len(EVERY) - 1), st.data())
def test_damaged_model_files(folder, documents, name, data):
    path = folder / "m.json"
    path.write_bytes(data.draw(damaged(documents[name].encode())))
    use(path)


@inputs(100)
@given(
    st.one_of(
        st.binary(max_size=300),
        st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3)).map(
            lambda value: json.dumps(value).encode()
        ),
        st.sampled_from([
            b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b'"' + b"\\u0000" * 10_000,
            b"\xef\xbb\xbf{}", b"{}" * 2, b'{"a": 1e999}', "{}".encode("utf-16"), b"null", b"NaN",
        ]),
    )
)  # fmt: skip
def test_bytes_as_model_files(folder, content):
    path = folder / "m.json"
    path.write_bytes(content)
    assert not use(path)


class Runs:
    """A pickle that makes a file when it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("ran",)


EXECUTABLE = {
    "pickle": pickle.dumps(Runs()),
    "old pickle": pickle.dumps(Runs(), protocol=0),
    "YAML": b'!!python/object/apply:os.mkdir ["ran"]',
    "JSON with tags": b'{"py/reduce": [{"py/function": "os.mkdir"}, {"py/tuple": ["ran"]}]}',
    "JSON with a class": b'{"format": "nolook", "version": 1, "__class__": "os"}',
    "Python": b"import os; os.mkdir('ran')",
    "zip": b"PK\x03\x04" + b"__main__.py import os; os.mkdir('ran')",
}


@pytest.mark.parametrize("kind", EXECUTABLE)
def test_loading_never_runs_anything(folder, monkeypatch, kind):
    monkeypatch.chdir(folder)
    path = folder / "file"
    path.write_bytes(EXECUTABLE[kind])
    if "pickle" in kind:
        pickle.loads(EXECUTABLE[kind])
        (folder / "ran").rmdir()  # so the test could fail
    with pytest.raises(nolook.ModelFileError):
        nolook.load(path)
    with pytest.raises(nolook.LedgerError):
        nolook.Ledger(path)
    for name in ("file.csv", "file.parquet", "file.arrow"):
        shutil.copy(path, folder / name)
        assert run(folder, "ecdf", name, "--column", "a", "--epsilon", "1").status == 2
    assert (
        run(folder, "predict", "--model", "file", "file.csv", "--output", "p.parquet").status == 2
    )
    assert not (folder / "ran").exists()


def test_no_module_reads_a_format_that_can_run_code(project_root):
    formats = r"^\s*(import|from) (pickle|marshal|shelve|joblib|yaml)\b"
    forbidden = re.compile(formats + r"|\beval\(|\bexec\(|__import__", re.MULTILINE)
    spark = project_root / "src" / "nolook" / "spark"
    of_workers = {spark / "cluster.py", spark / "moving.py"}  # states and rows from its own workers
    for path in {*(project_root / "src").rglob("*.py")} - of_workers:
        text = path.read_text(encoding="utf-8")
        assert not forbidden.search(text), path


@pytest.fixture(scope="module")
def ledger_content(tmp_path_factory):
    """The bytes of a ledger with three releases."""
    charged = Charged(tmp_path_factory.mktemp("ledger"))
    with nolook.Ledger(charged.path) as ledger:
        for _ in range(3):
            ledger.reserve(
                nolook.Budget(1.0, 1e-6), relation="add-remove", description="test"
            ).complete()
    return charged.path.read_bytes()


TRIGGERS = {
    "on insert": "CREATE TRIGGER t AFTER INSERT ON release BEGIN "
    "UPDATE release SET state = 'refunded'; END",
    "view": "ALTER TABLE release RENAME TO other; CREATE VIEW release AS SELECT * FROM other",
    "endless view": "ALTER TABLE release RENAME TO other; CREATE VIEW release AS "
    "WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r) SELECT id, '' time, "
    "'' description, '' epsilon, '' delta, '' relation, '' state, '' reason FROM r",
}


@pytest.mark.parametrize("kind", TRIGGERS)
def test_a_ledger_with_statements_of_its_own_is_refused(folder, kind):
    charged = Charged(folder)
    database = sqlite3.connect(charged.path)
    database.executescript(TRIGGERS[kind])
    database.close()
    for words in (("ledger", "show", "a.ledger"), ("ledger", "history", "a.ledger")):
        assert run(folder, *words).status == 2


@inputs(120)
@given(st.data())
def test_damaged_ledgers(folder, ledger_content, data):
    content = data.draw(damaged(ledger_content))
    path = folder / "a.ledger"
    for ending in ("-wal", "-shm"):
        (folder / f"a.ledger{ending}").unlink(missing_ok=True)
    path.write_bytes(content)
    spent = attempt(lambda: opened(path))
    assert isinstance(spent, nolook.LedgerError | float)
    run(folder, "ledger", "show", "a.ledger")
    run(folder, "ledger", "history", "a.ledger")


def opened(path):
    with nolook.Ledger(path) as ledger:
        ledger.history()
        return float(ledger.spent.epsilon)

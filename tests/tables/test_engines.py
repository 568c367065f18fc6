"""Passes whose rows other processes read, without these: what is sent and what comes back."""

from __future__ import annotations

import pickle
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook import read_table
from nolook.errors import ParameterError, TableError
from nolook.kernels.histogram import magnitude_counts, row_counts
from nolook.statistics.histograms import Histograms
from nolook.statistics.moments import MomentMatrix
from nolook.tables.checksum import Checksum
from nolook.tables.declared import original
from nolook.tables.engines import Answer, Cluster, packed, state_of, unpacked
from nolook.tables.reading import open_typed
from nolook.tables.table import Table

ROWS = 9_000


class Elsewhere(Cluster):
    """Files whose parts are read after a journey as bytes; a `fault` changes what comes back."""

    engine = "Elsewhere"

    def __init__(self, opened, fault=lambda answers: answers):
        self.name, self.label, self.columns = opened.name, opened.label, opened.columns
        self.opened, self.fault, self.passes = opened, fault, 0

    def states(self, task, names):  # noqa: ARG002
        self.passes += 1
        parts = [packed(part) for part in self.opened.parts()]
        answers = [
            Answer(i, nolook.__version__, state_of(task, unpacked(part)))
            for i, part in enumerate(parts)
        ]
        return self.fault(answers[::-1]), len(parts)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, ROWS))
    frame = pa.table(
        {
            "a": x[0],
            "b": np.where(rng.random(ROWS) < 0.1, np.nan, x[1] ** 3),
            "c": np.array(["u", "v", "w"])[rng.integers(0, 3, ROWS)].tolist(),
            "when": np.array(["2024-01-02", "2024-03-09", ""])[rng.integers(0, 3, ROWS)].tolist(),
            "y": x[0] - x[1] + x[2],
            "yes": (x[0] + x[2] > 0).tolist(),
            "id": rng.integers(0, 3_000, ROWS),
        }
    )
    path = tmp_path_factory.mktemp("engines") / "people.parquet"
    pq.write_table(frame, path, row_group_size=1_700)
    return path


def opened(path, missing="drop-row", **more):
    return read_table(
        path, "y", features=["a", "b", "c", "when.month"],
        categories={"c": ["u", "v", None]}, missing=missing,
        schema={"columns": {"when": {"type": "date", "parts": ["month"]}}}, **more,
    )  # fmt: skip


def elsewhere(table, fault=lambda answers: answers):
    """Return the table with its rows read elsewhere."""
    away = Elsewhere(original(table._source), fault)
    return Table(table.over(away)._source, table._design)


def linear(table):
    return nolook.LinearRegression(1.0, 1e-6, random_state=3).fit(table).coef_


def charged(table, ledger):
    nolook.LinearRegression(1.0, 1e-6).fit(table, ledger=ledger)


@pytest.mark.parametrize("missing", ["drop-row", "zero", "centre"])
def test_states_that_travel_give_the_bits_of_one_process(missing, path):
    table = opened(path, missing)
    np.testing.assert_array_equal(linear(elsewhere(table)), linear(table))


@pytest.mark.parametrize("missing", ["drop-row", "zero", "centre"])
def test_every_table_travels_with_its_parts(missing, path):
    center = np.arange(len(opened(path).column_names), dtype=float)
    table = opened(path, missing).filled(center).select(center[:-1] % 2 == 0)
    bare = pickle.dumps(table.over(None))
    read = [
        batch
        for part in table._source._source.parts()
        for batch in pickle.loads(bare).over(pickle.loads(pickle.dumps(part))).batches()
    ]
    np.testing.assert_array_equal(
        np.concatenate(read, axis=1), np.concatenate([*table.batches()], axis=1)
    )


def test_what_is_sent_has_neither_rows_nor_who_pays(path):
    table = opened(path)
    table._units, table._first_pass.pay = "rows", lambda: None  # no lambda can be pickled
    sent = pickle.loads(pickle.dumps(table.over(None)))
    assert sent._units is None
    assert sent._source._source is None


@pytest.mark.parametrize("method", ["LinearRegression", "LogisticRegression"])
def test_no_row_comes_back(method, path):
    """A state has a size that does not depend on how many rows it has seen."""
    sizes = []

    def weighed(answers):
        sizes.append(max(len(zlib.decompress(answer.state)) for answer in answers))
        return answers

    target = {"LinearRegression": "y", "LogisticRegression": "yes"}[method]
    table = read_table(path, target, features=["a", "b"], missing="drop-row")
    fitted = [
        getattr(nolook, method)(1.0, 1e-6, random_state=3).fit(each).coef_
        for each in (table, elsewhere(table, weighed))
    ]
    np.testing.assert_array_equal(*fitted)
    assert len(sizes) > 10
    # Those after the scales: a kept row has more than 16 bytes.
    assert max(sizes[4:]) < 1_700 * 8


FAULTS = {
    "left out": lambda answers: answers[1:],
    "twice": lambda answers: [*answers, answers[2]],
    "twice for another": lambda answers: [*answers[1:], answers[2]],
    "none": lambda answers: answers[:0],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_part_that_is_missing_or_came_twice_is_refused(fault, path):
    table = elsewhere(opened(path), FAULTS[fault])
    with pytest.raises(TableError, match=r"left out a part of .* or gave one twice"):
        table.fold(Histograms(row_counts))


def test_another_version_is_refused_before_its_state_is_read(path):
    def older(answers):
        return [*answers[1:], Answer(answers[0].part, "0.0.1", b"not to be read")]

    with pytest.raises(TableError, match=r"with nolook 0\.0\.1; expected"):
        elsewhere(opened(path), older).fold(Histograms(row_counts))


def changing(change):
    """Return a fault of every pass but the first."""
    passes = []

    def fault(answers):
        passes.append(answers)
        return answers if len(passes) == 1 else change(answers)

    return fault


def edited(answers):
    (statistic, gaps, checksum), refused = unpacked(answers[0].state)
    checksum.sum ^= 1
    state = packed(((statistic, gaps, checksum), refused))
    return [answers[0]._replace(state=state), *answers[1:]]


def test_other_rows_in_a_later_pass_are_refused_and_stay_charged(path, tmp_path):
    ledger = nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-5), name="a")
    table = elsewhere(opened(path), changing(edited))
    with pytest.raises(TableError, match="gave other rows than in the pass before"):
        charged(table, ledger)
    assert ledger.spent.epsilon == 1.0


def test_an_interruption_after_the_charge_leaves_it(path, tmp_path):
    def interrupted(answers):
        raise KeyboardInterrupt

    for fault, spent in ((interrupted, 0.0), (changing(interrupted), 1.0)):
        name = tmp_path / f"{spent}.ledger"
        ledger = nolook.Ledger.create(name, nolook.Budget(5, 1e-5), name="a")
        with pytest.raises(KeyboardInterrupt):
            charged(elsewhere(opened(path), fault), ledger)
        assert ledger.spent.epsilon == spent


def test_gaps_are_refused_before_the_charge(path, tmp_path):
    ledger = nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-5), name="a")
    table = elsewhere(opened(path, "error"))
    with pytest.raises(TableError, match="missing or infinite value"):
        charged(table, ledger)
    with pytest.raises(TableError, match="missing or infinite value"):
        table.check_complete()
    assert ledger.spent.epsilon == 0.0


def test_what_a_part_refuses_comes_through(path, tmp_path):
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(path.read_bytes())
    table = elsewhere(opened(copy))
    copy.write_bytes(path.read_bytes())
    with pytest.raises(TableError, match="was changed or removed while it was in use"):
        table.fold(Histograms(row_counts))


def in_sequence(selector, regressor):
    return nolook.make_private_pipeline(selector, regressor, epsilon=1.0, delta=1e-6)


TOGETHER = [
    nolook.TukeyRegressor(),
    nolook.BoostedAdaSSPRegressor(),
    nolook.DPSGDRegressor(),
    nolook.KendallSelector(1),
    nolook.LassoSelector(1),
    nolook.SISSelector(1),
    in_sequence(nolook.KendallSelector(1), nolook.LinearRegression()),
    in_sequence(nolook.MomentSelector(1), nolook.TukeyRegressor()),
]


@pytest.mark.parametrize("method", TOGETHER, ids=lambda each: type(each).__name__)
def test_methods_that_need_rows_together_are_refused_by_name_and_unpaid(method, path, tmp_path):
    ledger = nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-5), name="a")
    table = elsewhere(opened(path))
    with pytest.raises(ParameterError, match=f"{type(method).__name__} needs all rows in one"):
        method.fit(table, ledger=ledger)
    assert ledger.spent.epsilon == 0.0
    assert table._source._source.passes == 0


def test_rows_are_never_handed_over(path):
    table = elsewhere(opened(path))
    for ask in (table.batches, table.batches_of_units):
        with pytest.raises(TableError, match="hands none over"):
            next(iter(ask()))


def test_units_are_refused(path):
    source = Elsewhere(open_typed(path))
    with pytest.raises(ParameterError, match=r"unit is 'id', but .* finds no rows of one unit"):
        Table(source, opened(path, unit="id")._design)


def test_the_checksum_is_of_the_rows_whatever_their_order_and_parts():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4, 1_000))
    rows[0] = 0.0

    def total(numbers, cuts=()):
        made = Checksum()
        for part in np.split(numbers, cuts, axis=1):
            own = Checksum()
            own.update(part)
            made.merge(own)
        return made

    whole = total(rows)
    assert total(rows[:, rng.permutation(1_000)], [10, 10, 700]) == whole
    swapped, moved = rows.copy(), rows.copy()
    swapped[1, [3, 4]] = swapped[1, [4, 3]]  # the same columns, other rows
    moved[2, 5] = np.nextafter(moved[2, 5], 9)
    for other in (swapped, moved, rows[[1, 0, 2, 3]], rows[:, 1:], np.hstack([rows, rows[:, :1]])):
        assert total(other) != whole


def test_what_cannot_be_pickled_is_refused():
    with pytest.raises(TableError, match="cannot be sent to other processes"):
        packed(lambda: None)


@pytest.mark.parametrize("engine", ["spark", 1, object()])
def test_an_engine_that_is_none_is_refused(engine, path):
    with pytest.raises(ParameterError, match=r"engine is a value of type .*; expected a session"):
        read_table(path, engine=engine)


def test_a_state_is_small(path):
    """Nearly all of a state is zeros, which nobody should pay to send."""
    seen = []
    elsewhere(opened(path), lambda answers: seen.extend(answers) or answers).fold(
        Histograms(magnitude_counts)
    )
    assert seen
    for answer in seen:
        assert len(answer.state) < len(pickle.dumps(unpacked(answer.state))) / 20


@pytest.mark.parametrize("several", [False, True])
def test_files_of_every_kind_travel(several, file_store, tmp_path):
    frame = pa.table({"a": np.arange(50.0), "c": ["u", "v"] * 25, "y": np.arange(50.0) ** 2})
    places = []
    for name in ("g=1", "g=2"):
        (tmp_path / name).mkdir()
        places.append(file_store(frame, tmp_path / name))
    features, categories = ["a", "c"], {"c": ["u", "v"]}
    if several:
        features, categories = [*features, "g"], {**categories, "g": ["1", "2"]}
    source = tmp_path if several else places[0]
    table = read_table(source, "y", features=features, categories=categories)
    here, away = (
        each.fold(MomentMatrix(table.n_columns, 2**40)).value for each in (table, elsewhere(table))
    )
    np.testing.assert_array_equal(here, away)

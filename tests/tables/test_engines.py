"""Passes whose rows other processes read, without these: what is sent and what comes back."""

from __future__ import annotations

import pickle
import zlib
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook import read_table
from nolook.algorithms.per_unit_sampling import rows_in_blocks, sampled_rows
from nolook.errors import ParameterError, TableError
from nolook.kernels.histogram import magnitude_counts, row_counts
from nolook.privacy.noise import SeededSource
from nolook.privacy.sampling import SAMPLING_UNIT
from nolook.spark import moving
from nolook.spark.cluster import PartResult, packed, unpacked
from nolook.spark.frames import refuse_races
from nolook.spark.moving import ByUnit
from nolook.spark.workers import sum_of_rows
from nolook.statistics.histograms import Histograms
from tests.collected import Collected
from tests.tables.elsewhere import elsewhere

ROWS = 9_000
SLOW = pytest.mark.slow


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
            "id": (numbers := rng.integers(0, 3_000, ROWS)),
            "name": [None if i % 50 == 0 else f"n{i}" for i in numbers],
            "word": pa.array([f"w{i % 40}" for i in numbers]).dictionary_encode(),
            "spaced": [("NA" if i % 60 == 0 else f"{' ' * rng.integers(3)}s{i} ") for i in numbers],
        }
    )
    path = tmp_path_factory.mktemp("engines") / "people.parquet"
    pq.write_table(frame, path, row_group_size=1_700)
    return path


def opened(path, missing="drop-row", **more):
    return read_table(
        path, "y", features=["a", "b", "c", "month"],
        categories={"c": ["u", "v", None]}, missing=missing,
        schema={"columns": {"when": "date", "month": {"month_of": "when"}}}, **more,
    )  # fmt: skip


def linear(table):
    return nolook.LinearRegression(1.0, 1e-6, random_state=3).fit(table).coef_


def charged(table, ledger):
    nolook.LinearRegression(1.0, 1e-6).fit(table, ledger=ledger)


@pytest.mark.parametrize(
    "missing", ["drop-row", *(pytest.param(one, marks=SLOW) for one in ("zero", "centre"))]
)
def test_states_that_travel_give_the_bits_of_one_process(missing, path):
    table = opened(path, missing)
    np.testing.assert_array_equal(linear(elsewhere(table)), linear(table))


@pytest.mark.parametrize("unit", [pytest.param(None, marks=SLOW), "id"])
def test_weights_travel_with_their_rows(unit, path):
    schema = {"columns": {"weight": {"asinh_of": "b"}}}  # half of them are below 0: left out
    table = read_table(path, "y", features=["a"], weights="weight", schema=schema, unit=unit)
    np.testing.assert_array_equal(linear(elsewhere(table)), linear(table))
    alone = read_table(path, features=["a"], weights="weight", schema=schema, unit=unit)
    here, there = (
        nolook.describe(each, random_state=3).to_frame().value.fillna(0.0)
        for each in (alone, elsewhere(alone))
    )
    np.testing.assert_array_equal(there, here)


@pytest.mark.parametrize("missing", ["drop-row", "zero", "centre"])
def test_every_table_travels_with_its_parts(missing, path):
    center = np.arange(len(opened(path).column_names), dtype=float)
    table = opened(path, missing).filled(center).select(center[:-1] % 2 == 0)
    bare = pickle.dumps(table.with_source(None))
    read = [
        batch
        for part in table._source.original.parts()
        for batch in pickle.loads(bare).with_source(pickle.loads(pickle.dumps(part))).batches()
    ]
    np.testing.assert_array_equal(
        np.concatenate(read, axis=1), np.concatenate([*table.batches()], axis=1)
    )


def test_what_is_sent_has_neither_rows_nor_who_pays(path):
    table = opened(path).charging(lambda: None)  # no lambda can be pickled
    table._places.units = "rows"
    sent = pickle.loads(pickle.dumps(table.with_source(None)))
    assert sent._places.units is None
    assert sent._source.original is None


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
    with pytest.raises(TableError, match=r"left out a part of .* or returned one twice"):
        table.fold(Histograms(row_counts))


def test_another_version_is_refused_before_its_state_is_read(path):
    def older(answers):
        return [*answers[1:], PartResult(answers[0].part, "0.0.1", b"not to be read")]

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
    statistic, gaps, checksum = unpacked(answers[0].state)
    checksum[1] ^= np.uint64(1)
    state = packed((statistic, gaps, checksum))
    return [answers[0]._replace(state=state), *answers[1:]]


def test_other_rows_in_a_later_pass_are_refused_and_stay_charged(path, tmp_path):
    ledger = nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-5), name="a")
    table = elsewhere(opened(path), changing(edited))
    with pytest.raises(TableError, match=r"the rows of .* changed between two passes"):
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


def test_rows_that_are_left_out_are_counted_elsewhere(path):
    tables = opened(path, "drop-row"), elsewhere(opened(path, "drop-row"))
    for table in tables:
        table.fold(Histograms(row_counts))
    here, there = (table.left_out() for table in tables)
    assert here == there > 0


def test_what_a_part_refuses_comes_through(path, tmp_path):
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(path.read_bytes())
    table = elsewhere(opened(copy))
    copy.write_bytes(path.read_bytes())
    with pytest.raises(TableError, match="was changed or removed while it was in use"):
        table.fold(Histograms(row_counts))


def in_sequence(selector, regressor):
    return nolook.PrivatePipeline(selector, regressor, epsilon=1.0, delta=1e-6)


TOGETHER = [
    nolook.BoostedAdaSSPRegressor(),
    nolook.KendallSelector(1),
    nolook.LassoSelector(1),
    nolook.SISSelector(1),
    in_sequence(nolook.KendallSelector(1), nolook.LinearRegression()),
    in_sequence(nolook.MomentSelector(1), nolook.BoostedAdaSSPRegressor()),
]


@pytest.mark.parametrize("method", TOGETHER, ids=lambda each: type(each).__name__)
def test_methods_that_need_rows_together_are_refused_by_name_and_unpaid(method, path, tmp_path):
    ledger = nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-5), name="a")
    table = elsewhere(opened(path))
    with pytest.raises(ParameterError, match=f"{type(method).__name__} needs all rows in one"):
        method.fit(table, ledger=ledger)
    assert ledger.spent.epsilon == 0.0
    assert table._source.original.passes == 0


def test_levels_are_not_searched_for_elsewhere_and_that_costs_nothing(path, tmp_path):
    ledger = nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-5), name="a")
    table = elsewhere(read_table(path, features=["c"], categories={"c": [None]}))
    with pytest.raises(ParameterError, match=r"find_levels is not .*declare the levels") as refused:
        nolook.tabulate(table, "c", find_levels=True, ledger=ledger)
    assert "\n" not in str(refused.value)
    assert (ledger.spent.epsilon, table._source.original.passes) == (0.0, 0)


BY_SAMPLE = [
    nolook.KendallSelector(1, 20.0, sample=0.5, random_state=1),
    nolook.KendallSelector(1, 20.0, sample="auto", random_state=1),
    nolook.SISSelector(1, 20.0, sample=0.5, random_state=1),
    nolook.SISSelector(1, 20.0, sample="auto", random_state=1),
    nolook.LassoSelector(1, 20.0, sample=0.5, random_state=1),
    nolook.LassoSelector(1, 20.0, n_models=20, sample="auto", random_state=1),
]


@pytest.mark.parametrize(
    ("selector", "unit"),
    [
        pytest.param(
            selector,
            unit,
            marks=[SLOW] * ((i // 2 + i + j) % 2 or i % 2 == 0),
            id=f"{selector!r}-{unit}",
        )
        for i, selector in enumerate(BY_SAMPLE)
        for j, unit in enumerate([None, "id"])
    ],
)
def test_a_sample_of_rows_that_are_read_elsewhere_finds_the_best_column(selector, unit, path):
    table = read_table(path, "y", features=["c", "a"], categories={"c": ["u", "v"]},
                       missing="drop-row", unit=unit)  # fmt: skip
    here = selector.fit(table).support_
    there = selector.fit(elsewhere(table)).support_
    again = selector.fit(elsewhere(table, reorder=sorted)).support_
    assert here.tolist() == there.tolist() == again.tolist() == [False, False, True]


@pytest.mark.parametrize("unit", [None, "id"])
def test_parts_draw_apart_and_keep_as_many_as_they_should(unit, path):
    """Every part draws numbers of its own, also from a seed; all rows of a unit share theirs."""
    table = elsewhere(read_table(path, features=["a"], unit=unit))
    source = SeededSource(5)
    ((rows, _, blocks),) = rows_in_blocks(table, 1_000, source, SAMPLING_UNIT // 4)
    assert abs(rows.shape[1] / ROWS - 0.25) < 0.05
    counts = np.bincount(blocks, minlength=1_000)
    # As spread as chance has it: were parts alike, a block would have several rows or none.
    expected = rows.shape[1] / 1_000
    assert counts.var() < (1.4 if unit is None else 5) * expected
    if unit is None:
        return
    a, units = (column.to_numpy() for column in pq.read_table(path, columns=["a", "id"]).columns)
    owner = dict(zip(a, units, strict=True))
    own = np.array([owner[each] for each in rows[0]])
    everyone, kept = (np.bincount(each, minlength=3_000) for each in (units, own))
    np.testing.assert_array_equal(kept[kept > 0], everyone[kept > 0])
    for each in np.unique(own)[:50]:
        assert len(set(blocks[own == each].tolist())) == 1


def test_rows_that_count_in_full_are_sampled_one_by_one(path):
    """Kept or left out together, several rows of a unit would cost more than each by itself."""
    table = read_table(path, features=["a"], unit="id", rows_per_unit=2)
    for where in (table, elsewhere(table)):
        pairs = where.sample_rows(2, SeededSource(5).words)
        rows = sampled_rows(pairs, SAMPLING_UNIT // 2, SeededSource(5))
        a, units = (each.to_numpy() for each in pq.read_table(path, columns=["a", "id"]).columns)
        owner = dict(zip(a, units, strict=True))
        found = np.concatenate([batch[0] for (batch,) in rows._batches])
        kept = np.bincount([owner[each] for each in found])
        assert 0.8 * np.count_nonzero(kept == 2) < 0.5 * np.count_nonzero(kept == 1) < len(found)


def test_rows_of_a_sample_come_in_an_order_that_follows_from_them(path):
    table = read_table(path, features=["a", "b"], missing="drop-row")
    ((rows, _, _),) = rows_in_blocks(elsewhere(table), 3, SeededSource(1), SAMPLING_UNIT // 2)
    np.testing.assert_array_equal(rows, rows[:, np.lexsort(rows)])


@pytest.mark.parametrize("unit", [None, "id"])
def test_models_of_blocks_are_fitted_where_rows_are(unit, path):
    table = read_table(path, "y", features=["a", "b"], missing="drop-row", unit=unit)
    tukey = nolook.TukeyRegressor(50.0, 1e-6, n_models=400, random_state=1)
    here, there = (tukey.fit(each).coef_ for each in (table, elsewhere(table)))
    np.testing.assert_allclose(there, here, atol=0.5)


def test_rows_are_never_handed_over(path):
    table = elsewhere(opened(path))
    for ask in (table.batches, table.batches_of_units):
        with pytest.raises(TableError, match="sums and not rows"):
            next(iter(ask()))


UNITS = {"weights": "weights", "two rows": 2}
IDENTIFIERS = ["id", "name", "word", "spaced"]


def of_units(path, unit, rows="weights", missing="drop-row", **more):
    return read_table(
        path, "y", features=["a", "b"], missing=missing, unit=unit, rows_per_unit=rows,
        schema={"columns": {"spaced": {"type": "text", "missing": ["NA"]}}}, **more,
    )  # fmt: skip


# The weights of their rows are compared every day, of each kind of identifier.
@pytest.mark.parametrize(
    "unit", ["id", *(pytest.param(one, marks=SLOW) for one in IDENTIFIERS[1:])]
)
def test_units_elsewhere_have_the_bits_of_one_process(unit, path):
    table = of_units(path, unit)
    np.testing.assert_array_equal(linear(elsewhere(table)), linear(table))


def collected(table):
    """Return the rows of a table with their weights, in an order of their own."""
    batches = table.fold(Collected()).batches
    rows = np.hstack(
        [
            np.vstack([numbers, np.ones(numbers.shape[1]) if w is None else w])
            for numbers, w in batches
        ]
    )
    return rows[:, np.lexsort(rows)]


@pytest.mark.parametrize("unit", IDENTIFIERS)
def test_each_row_weighs_elsewhere_what_it_weighs_here(unit, path):
    table = of_units(path, unit)
    expected = collected(table)
    assert len(np.unique(expected[-1])) > 3
    np.testing.assert_array_equal(collected(elsewhere(table)), expected)


def test_pieces_of_many_cuts_and_on_disk_have_the_same_rows(path, monkeypatch):
    table = of_units(path, "word")
    monkeypatch.setattr(moving, "_NUMBERS", 2_000)
    monkeypatch.setattr(moving, "_SPOOLED", 100)
    np.testing.assert_array_equal(collected(elsewhere(table)), collected(table))


def test_a_unit_cut_in_two_would_be_seen(path, monkeypatch):
    table = of_units(path, "id")
    monkeypatch.setattr(
        ByUnit, "_places", lambda _, batch, places: np.arange(batch.num_rows) % places
    )
    assert collected(elsewhere(table))[-1].sum() > collected(table)[-1].sum() * 1.2


def kept(table, keys):
    return collected(table.sample_rows(2, keys))


def fixed(seed):
    return lambda n: np.random.Philox(seed).random_raw(n)


def test_so_many_rows_of_each_unit_are_the_same_in_every_pass_and_order(path):
    table = of_units(path, "id", 2)
    first = kept(elsewhere(table), fixed(1))
    rng = np.random.default_rng(0)
    again = kept(elsewhere(table, reorder=lambda p: rng.permutation(np.array(p, object))), fixed(1))
    np.testing.assert_array_equal(again, first)
    assert kept(elsewhere(table), fixed(2)).tolist() != first.tolist()
    assert first.shape == kept(table, fixed(1)).shape


def test_a_part_of_a_release_draws_no_other_rows_elsewhere(path):
    once = elsewhere(of_units(path, "id", 2)).sample_rows(2, fixed(1))
    np.testing.assert_array_equal(kept(once, fixed(2)), collected(once))


def test_rows_of_a_unit_are_kept_alike_whatever_is_in_them(tmp_path):
    """Of ten rows, nine of them equal, each is kept as often as any other; in each unit anew."""
    units = 4_000
    value = np.tile([1.0] + [0.0] * 9, units)
    place = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": value, "y": value, "id": np.repeat(np.arange(units), 10)}), place)
    table = elsewhere(read_table(place, "y", features=["a"], unit="id", rows_per_unit=2))
    rows = collected(table.sample_rows(2, fixed(3)))
    assert rows.shape[1] == 2 * units
    # A fifth of the units keep the odd one.
    assert abs(rows[0].sum() - units / 5) < 5 * np.sqrt(units * 0.2 * 0.8)


@pytest.mark.parametrize("missing", ["drop-row", "zero"])
def test_units_that_are_left_out_are_counted_elsewhere(path, missing):
    tables = [
        make(of_units(path, "id", missing=missing)) for make in (lambda same: same, elsewhere)
    ]
    for table in tables:
        table.fold(Histograms(row_counts))
    here, there = (table.left_out() for table in tables)
    assert here == there


@pytest.mark.parametrize("fault", FAULTS)
def test_a_place_that_is_missing_or_came_twice_is_refused(fault, path):
    table = elsewhere(of_units(path, "id"), FAULTS[fault])
    with pytest.raises(TableError, match=r"left out a part of .* or returned one twice"):
        table.fold(Histograms(row_counts))


def test_pieces_that_are_lost_in_a_later_pass_are_refused(path):
    passes = []

    def losing(pieces):
        passes.append(pieces)
        full = [i for i, (_, piece) in enumerate(pieces) if piece]
        return pieces if len(passes) == 1 else [p for i, p in enumerate(pieces) if i != full[3]]

    table = elsewhere(of_units(path, "id"), reorder=losing)
    table.fold(Histograms(row_counts))
    with pytest.raises(TableError, match=r"the rows of .* changed between two passes"):
        table.fold(Histograms(row_counts))


def test_the_public_number_of_units_is_counted_elsewhere(path):
    table = of_units(path, "id").select(np.array([True, False]))
    assert elsewhere(table).count_units() == table.count_units()


def test_the_checksum_is_of_the_rows_whatever_their_order_and_parts():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(4, 1_000))
    rows[0] = 0.0

    def total(numbers, cuts=()):
        return sum(map(sum_of_rows, np.split(numbers, cuts, axis=1))) % 2**64

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
        each.fold(Histograms(magnitude_counts)).value(table.n_columns)
        for each in (table, elsewhere(table))
    )
    np.testing.assert_array_equal(here, away)


def test_whatever_is_declared_of_columns_travels(path, tmp_path):
    """Words of a dictionary, integers as identifiers, and conditions on either."""
    stored = pq.read_table(path)
    words = pa.array([f"w{i % 5}" for i in range(len(stored))]).dictionary_encode()
    pq.write_table(stored.append_column("coded", words), tmp_path / "t.parquet")
    table = read_table(
        tmp_path / "t.parquet",
        "y",
        features=["a", "coded"],
        schema={"columns": {"coded": {"type": "category", "levels": ["w0", "w1"]}}},
        unit="id",
        where=[("coded", "!=", "w4")],
        missing="drop-row",
    )
    np.testing.assert_array_equal(collected(elsewhere(table)), collected(table))


@pytest.mark.parametrize("value", ["true", "True", True])
def test_a_session_whose_tasks_race_is_refused(value):
    conf = {"spark.speculation": value}
    with pytest.raises(ParameterError, match="speculation is true; expected false"):
        refuse_races(SimpleNamespace(conf=conf))
    refuse_races(SimpleNamespace(conf={}))

"""One pass by any number of threads: the same bits, every row once, errors that come through."""

from __future__ import annotations

import os
import threading
import time
import weakref
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook import _numerics, read_table
from nolook._numerics import undisturbed, worker_threads
from nolook.errors import ParameterError, TableError
from nolook.kernels.histogram import row_counts
from nolook.privacy.noise import SeededSource
from nolook.statistics.histograms import Histograms
from nolook.tables.folding import Batches, Mapped, Together, fold
from tests.collected import Collected

ROWS = 30_000


class Numbers:
    """The numbers seen, and how often one was updated or merged."""

    def __init__(self):
        self.seen, self.calls = [], 0

    def update(self, numbers):
        self.seen += list(numbers)
        self.calls += 1
        return self

    def merge(self, other):
        self.seen += other.seen
        return self


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_every_batch_of_every_part_is_seen_once(threads):
    def reader(part, batches):
        return lambda: (([1000 * part + batch],) for batch in range(batches))

    for parts, batches in product([0, 1, 2, 3, 50], [0, 1, 2, 20]):
        seen = fold(Numbers(), [reader(part, batches) for part in range(parts)], threads)
        expected = sorted(1000 * p + b for p in range(parts) for b in range(batches))
        assert sorted(seen.seen) == expected, (parts, batches)
        if threads == 1:
            assert seen.seen == sorted(seen.seen)


def test_a_statistic_that_is_fed_in_turns_is_copied_before_it_sees_a_row():
    held = Numbers()
    turned = Mapped(
        Together(held, Numbers()), lambda numbers: [(numbers,), ([-n for n in numbers],)]
    )
    fold(turned, [lambda n=n: [([n],)] for n in range(10)], 3)
    assert held.seen == [sign * n for n in range(10) for sign in (1, -1)]


def test_parts_are_read_by_several_threads_and_few_at_a_time():
    waiting, most, open_now = threading.Barrier(2, timeout=300), [0], [0]
    lock = threading.Lock()

    def reader(part):
        def batches():
            with lock:
                open_now[0] += 1
                most[0] = max(most[0], open_now[0])
            if part < 2:
                waiting.wait()  # both at once, or never
            yield ([part],)
            with lock:
                open_now[0] -= 1

        return batches

    assert len(fold(Numbers(), [reader(part) for part in range(40)], 2).seen) == 40
    assert most[0] == 2


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("parts", [1, 50])
def test_few_batches_are_in_memory_at_a_time(threads, parts):
    held, most, lock = weakref.WeakSet(), [0], threading.Lock()

    class Batch(list):
        __hash__ = object.__hash__

    def batches():
        for _ in range(200 // parts):
            with lock:
                batch = Batch([0])
                held.add(batch)
                most[0] = max(most[0], len(held))
            yield (batch,)

    assert len(fold(Numbers(), [batches] * parts, threads).seen) == 200
    assert most[0] <= 2 * threads + 1


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("single", [True, False])
def test_what_fails_comes_through_and_ends_the_others(threads, single):
    read = []

    def reader(part):
        def batches():
            for batch in range(200):
                if (part, batch) == (1, 3) or (single and batch == 30):
                    raise TableError("damaged")
                if part != 1 and not single:
                    time.sleep(0.001)
                read.append(part)
                yield ([batch],)

        return batches

    before = threading.active_count()
    with pytest.raises(TableError, match="damaged"):
        fold(Numbers(), [reader(part) for part in range(1 if single else 30)], threads)
    assert threading.active_count() == before
    assert len(read) < 200 * 8


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_a_statistic_raises_comes_through(error):
    class Failing(Numbers):
        def update(self, numbers):
            if numbers == [5]:
                raise error
            return super().update(numbers)

    for readers in ([lambda: (([n],) for n in range(9))], [lambda n=n: [([n],)] for n in range(9)]):
        with pytest.raises(error):
            fold(Failing(), readers, 2)


def test_threads_work_under_the_settings_of_the_caller():
    class Dividing(Numbers):
        def update(self, numbers):
            return super().update(np.ones(1) / np.array(numbers))  # a warning is an error here

    batches = [([0.0],)] * 8
    with undisturbed():
        for parts in ([lambda: batches], [lambda: batches] * 4):
            assert set(fold(Dividing(), parts, 2).seen) == {np.inf}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, ROWS))
    frame = pa.table(
        {
            "a": x[0],
            "b": np.where(rng.random(ROWS) < 0.1, np.nan, x[1] ** 3),
            "c": np.array(["u", "v", "w"])[rng.integers(0, 3, ROWS)].tolist(),
            "y": x[0] - x[1] + x[2],
            "id": rng.integers(0, 3_000, ROWS),
            "yes": (x[0] + x[2] > 0).tolist(),
        }
    )
    path = tmp_path_factory.mktemp("folding") / "people.parquet"
    pq.write_table(frame, path, row_group_size=1_700)
    return path


KINDS = {
    "plain": {},
    "weights": {"unit": "id"},
    "two rows": {"unit": "id", "rows_per_unit": 2},
}


def opened(path, threads, missing="drop-row", **more):
    categories = {"c": ["u", "v", None]}
    return read_table(
        path, "y", features=["a", "b", "c"], categories=categories, missing=missing,
        threads=threads, **more,
    )  # fmt: skip


@pytest.mark.parametrize("missing", ["drop-row", "centre", "zero"])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_table_have_its_rows_and_their_weights(kind, missing, people):
    table = opened(people, 2, missing, **KINDS[kind])
    if table.unit.column is not None and table.unit.weight_scale == 1:
        table = table.sample_rows(2, SeededSource(1).words)
    view = table.select(np.array([True, False, True, True]))
    assert len(view._parts) == 18
    batches = view.fold(Collected()).batches
    assert {own is None for _, own in batches} == {kind != "weights"}
    rows = [
        np.concatenate([each if own is None else np.vstack([each, own]) for each, own in some], 1)
        for some in (batches, [(each, own) for each, own, _ in view.batches_of_units()])
    ]
    one, other = (each[:, np.lexsort(each)] for each in rows)  # threads take parts in any order
    np.testing.assert_array_equal(one, other)
    assert view.fold(Histograms(row_counts)).value(4).item() == (
        one.shape[1] if kind != "weights" else int(one[-1].sum())
    )


METHODS = ["LinearRegression", "AdaSSPRegressor", "LogisticRegression", "ECDF"]


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        pytest.param(method, kind, marks=[pytest.mark.slow] * ((i + j) % 3 != 1))
        for i, method in enumerate(METHODS)
        for j, kind in enumerate(KINDS)
    ],
)
def test_the_number_of_threads_changes_no_bit(method, kind, people):
    made = []
    for threads in (1, 2, 5):
        model = getattr(nolook, method)(epsilon=1.0, delta=1e-6, random_state=3)
        if method == "LogisticRegression":
            table = read_table(
                people, "yes", features=["a", "b"], missing="zero", threads=threads, **KINDS[kind]
            )
        else:
            table = opened(people, threads, **KINDS[kind])
            if method == "ECDF":
                table = read_table(people, features=["a"], threads=threads, **KINDS[kind])
        model.fit(table)
        made.append(model.cdf(np.linspace(-2, 2, 9)) if method == "ECDF" else model.coef_)
    for other in made[1:]:
        np.testing.assert_array_equal(np.ravel(made[0]), np.ravel(other))


def test_the_environment_says_what_auto_is(monkeypatch, people):
    monkeypatch.setenv("NOLOOK_THREADS", "3")
    assert worker_threads() == opened(people, "auto").threads == 3
    assert opened(people, 2).threads == 2
    monkeypatch.delenv("NOLOOK_THREADS")
    assert worker_threads() >= 1


@pytest.mark.parametrize(
    ("share", "expected"),
    [("max 100000", 8), ("150000 100000", 2), ("50000 100000", 1), ("nonsense", 8), (None, 8)],
)
def test_a_container_may_allow_fewer(share, expected, monkeypatch, tmp_path):
    monkeypatch.delenv("NOLOOK_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(_numerics, "_QUOTA", tmp_path / "cpu.max")
    if share is not None:
        (tmp_path / "cpu.max").write_text(share)
    assert worker_threads() == expected


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", "99999", "²"])
def test_a_bad_environment_is_refused_before_anything_is_spent(
    value, monkeypatch, people, tmp_path
):
    table = opened(people, "auto")
    ledger = nolook.Ledger.create(tmp_path / "a.ledger", nolook.Budget(5, 1e-5), name="a")
    monkeypatch.setenv("NOLOOK_THREADS", value)
    with pytest.raises(ParameterError, match=r"NOLOOK_THREADS is .*expected 'auto' or an integer"):
        nolook.LinearRegression(1.0, 1e-6).fit(table, ledger=ledger)
    assert ledger.spent.epsilon == 0.0


@pytest.mark.parametrize("threads", [0, -1, 2000, True, 1.0, "2", None])
def test_a_bad_number_of_threads_is_refused(threads, people):
    with pytest.raises(ParameterError, match=r"threads is .*expected 'auto'"):
        opened(people, threads)


def test_rows_in_hand_are_folded_too():
    batches = [([n],) for n in range(20)]
    assert sorted(Batches(batches, 3).fold(Numbers()).seen) == list(range(20))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_error_is_that_of_the_first_part_that_fails(threads):
    def part(place):
        def read():
            if place == 0:
                time.sleep(0.05)
            yield (np.zeros((1, 1)), None)
            raise ValueError(f"part {place}")

        return read

    for _ in range(5):
        with pytest.raises(ValueError, match="part 0"):
            fold(Histograms(row_counts), [part(place) for place in range(4)], threads)

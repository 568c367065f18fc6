"""The first pass reads everything, then the release is charged, and only then it goes on."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook import read_table
from nolook.estimators.releasing import release
from nolook.kernels.histogram import row_counts
from nolook.privacy.guarantee import Budget, PureEvent
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.release import Plan
from nolook.statistics.histograms import Histograms
from nolook.tables.files import ParquetFile


@pytest.fixture
def ledger(tmp_path):
    return nolook.Ledger.create(tmp_path / "a.ledger", Budget(100.0, 1e-4), name="a")


def stored(folder, gap=False, rows=3_000):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, rows))
    y = x[0] - x[1]
    if gap:
        y[-1] = np.nan
    pq.write_table(pa.table({"a": x[0], "b": x[1], "c": x[2], "y": y}), folder / "t.parquet")
    return read_table(folder / "t.parquet", "y")


class Reading:
    """Counts rows as often as asked, and notes what the ledger held after each."""

    progress_steps = 0

    def __init__(self, ledger, passes, views=True):
        self.ledger, self.passes, self.views, self.spent = ledger, passes, views, []

    def events(self):
        return (PureEvent("rows", 1.0),)

    def run(self, table, source, progress):  # noqa: ARG002
        counted = 0
        for _ in range(self.passes):
            view = table.filled(np.zeros(4)).select(np.array([True, False, True]))
            counted = (view if self.views else table).fold(Histograms(row_counts)).value(4)
            self.spent.append(self.ledger.spent.epsilon)
        return laplace_release(np.atleast_1d(counted), 1, 1.0, source)


def made(reading, table, ledger):
    plan = Plan.of(reading, Budget(1.0), None)
    return release(plan, lambda: table, "rows", lambda found, _: found, ledger, None)


@pytest.mark.parametrize("views", [True, False])
def test_what_was_read_is_handed_on_when_it_is_paid_for(views, ledger, tmp_path):
    reading = Reading(ledger, 3, views)
    made(reading, stored(tmp_path), ledger)
    assert reading.spent == [1.0] * 3


def damaged(folder):
    path = folder / "t.parquet"
    path.write_bytes(path.read_bytes()[:-200] + bytes(100) + path.read_bytes()[-100:])


def test_a_release_that_reads_nothing_is_charged_and_its_table_read(ledger, tmp_path):
    made(Reading(ledger, 0), stored(tmp_path), ledger)
    assert ledger.spent.epsilon == 1.0
    table = stored(tmp_path)
    damaged(tmp_path)
    with pytest.raises(nolook.TableError):
        made(Reading(ledger, 0), table, ledger)
    assert ledger.spent.epsilon == 1.0


@pytest.mark.parametrize("views", [True, False])
def test_a_file_that_cannot_be_read_costs_nothing_and_nothing_is_handed_on(views, ledger, tmp_path):
    reading = Reading(ledger, 2, views)
    table = stored(tmp_path)
    damaged(tmp_path)
    for _ in range(2):  # the same table again, too
        with pytest.raises(nolook.TableError):
            made(reading, table, ledger)
    assert not reading.spent
    assert ledger.spent.epsilon == 0.0
    assert not list(ledger.charged())


@pytest.mark.parametrize("views", [True, False])
def test_a_gap_is_charged_like_any_other_cell(views, ledger, tmp_path):
    reading = Reading(ledger, 2, views)
    made(reading, stored(tmp_path, gap=True), ledger)
    assert reading.spent == [1.0] * 2


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_ends_the_first_pass_costs_nothing_and_later_ones_do(
    error, ledger, tmp_path, monkeypatch
):
    table, stream, left = stored(tmp_path), ParquetFile._stream, []

    def failing(self, names):
        yield from stream(self, names)
        if not left.pop():
            raise error

    monkeypatch.setattr(ParquetFile, "_stream", failing)
    for passes, spent in ((0, 0.0), (2, 1.0)):
        left[:] = [False] + [True] * passes
        with pytest.raises(BaseException) as caught:  # noqa: PT011
            made(Reading(ledger, 3), table, ledger)
        assert caught.type in {error, nolook.TableError}
        assert ledger.spent.epsilon == spent


@pytest.mark.parametrize("kept", [True, False])
def test_no_pass_is_spent_on_looking_for_gaps_alone(kept, ledger, tmp_path, monkeypatch, request):
    if not kept:
        request.getfixturevalue("nothing_kept")
    table, stream, passes = stored(tmp_path), ParquetFile._stream, []
    monkeypatch.setattr(
        ParquetFile, "_stream", lambda self, names: passes.append(1) or stream(self, names)
    )
    made(Reading(ledger, 3), table, ledger)
    assert len(passes) == (1 if kept else 3)


@pytest.mark.parametrize("unit", [None, "a"])
def test_fits_of_one_table_at_the_same_time_are_each_charged(unit, ledger, tmp_path):
    table = stored(tmp_path, rows=200_000)
    if unit:
        rows = {"y": np.arange(5e4), "a": np.arange(50_000) % 99, "x": np.arange(5e4)}
        table = read_table(pa.table(rows), "y", unit=unit)
    failed = []

    def fit():
        try:
            with nolook.Ledger(ledger.path) as own:
                nolook.LinearRegression(1.0, 1e-6).fit(table, ledger=own)
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [Thread(target=fit) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert ledger.spent.epsilon == pytest.approx(3.0)


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_pipeline_is_charged_by_the_first_pass_of_its_first_part(unit, ledger, tmp_path):
    columns = pq.read_table(stored(tmp_path) and tmp_path / "t.parquet")
    pq.write_table(
        columns.append_column("who", pa.array(np.arange(3_000) // 2)), tmp_path / "t.parquet"
    )
    table = read_table(tmp_path / "t.parquet", "y", features=["a", "b", "c"], unit=unit)
    pipeline = nolook.PrivatePipeline(
        nolook.MomentSelector(k=1), nolook.LinearRegression(), epsilon=1.0, delta=1e-6
    )
    spent = {}

    def note(stage, *_):
        spent[stage] = ledger.spent.epsilon

    pipeline.fit(table, ledger=ledger, progress=note)
    assert spent["selection"] == 0.0
    assert spent["regression"] == spent["results"] == pytest.approx(1.0)


def test_a_part_of_a_release_that_could_not_be_paid_is_not_paid_by_asking_again(tmp_path):
    def refuse():
        raise nolook.LedgerError("nothing left")

    table = stored(tmp_path).charging(refuse)
    for _ in range(2):
        with pytest.raises(nolook.LedgerError):
            table.fold(Histograms(row_counts))

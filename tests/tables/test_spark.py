"""Spark's workers read: the bits of one process, each row once whatever fails, no row gathered.

A session is real and takes long to start, so all of it is slow; `test_engines.py` shows briefly
what needs none.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import pairwise

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
import nolook.cli
from nolook import read_table
from nolook.errors import ParameterError, TableError
from nolook.estimators.calibration import HosmerLemeshow
from nolook.formats.predictions import write_predictions
from nolook.kernels.histogram import row_counts
from nolook.spark import cluster
from nolook.spark.predictions import predict_on_spark
from nolook.statistics.histograms import Histograms
from nolook.tables.read import read_scores
from tests.collected import Collected
from tests.tables import spark_session

pytestmark = [
    pytest.mark.slow,
    # What intervals simulate is tested in tests/algorithms.
    pytest.mark.usefixtures("few_repeats"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.skipif(
        shutil.which("java") is None and not os.environ.get("NOLOOK_REQUIRE_ALL"),
        reason="no Java (.ci/run installs it)",
    ),
]

ROWS = 12_000
FILES = 5


@pytest.fixture(scope="module")
def session():
    started = spark_session.start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, ROWS))
    return pa.table(
        {
            "a": x[0],
            "a.b": np.where(rng.random(ROWS) < 0.1, np.nan, x[1] ** 3),
            "c": np.array(["u", "v", "w"])[rng.integers(0, 3, ROWS)].tolist(),
            "y": x[0] - x[1] + x[2],
            "id": rng.integers(0, 3_000, ROWS),
            "score": 1 / (1 + np.exp(-x[0])),
            "yes": (x[0] + x[2] > 0).tolist(),
        }
    )


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    """Files of different lengths, each in several row groups; one has no row."""
    place = tmp_path_factory.mktemp("people")
    ends = [0, 0, 500, 4_000, 4_001, ROWS]
    for i, (first, last) in enumerate(pairwise(ends)):
        part = people.slice(first, last - first)
        pq.write_table(part, place / f"part{i}.parquet", row_group_size=1_500)
    return place


@pytest.fixture(scope="module")
def frame(session, folder):
    return session.read.parquet(str(folder)).repartition(5).persist()


def as_folder(folder, frame, session):
    return folder, {}


def as_files(folder, frame, session):
    return folder, {"engine": session}


def as_frame(folder, frame, session):
    return frame, {}


def as_other_partitions(folder, frame, session):
    return frame.repartition(3, "id"), {}


def as_more_partitions(folder, frame, session):
    return frame.repartition(20, "id"), {}


KINDS = [as_files, as_frame, as_other_partitions, as_more_partitions]


def linear(source, **more):
    table = read_table(
        source, "y", features=["a", "a.b", "c"], categories={"c": ["u", "v", None]}, **more
    )
    return nolook.LinearRegression(1.0, 1e-6, random_state=3).fit(table).coef_


def adassp(source, **more):
    table = read_table(source, "y", features=["a", "a.b"], **more)
    return nolook.AdaSSPRegressor(1.0, 1e-6, random_state=3).fit(table).coef_


def logistic(source, **more):
    table = read_table(source, "yes", features=["a", "a.b"], **more)
    return nolook.LogisticRegression(1.0, 1e-6, random_state=3).fit(table).coef_


def screening(source, **more):
    table = read_table(source, "y", features=["a", "a.b", "score", "id"], **more)
    selector = nolook.SISSelector(2, 1.0, score="covariance", random_state=3)
    return selector.fit(table).support_


def moments(source, **more):
    table = read_table(source, "y", features=["a", "a.b", "score", "id"], **more)
    return nolook.MomentSelector(2, 1.0, random_state=3).fit(table).support_


def ecdf(source, **more):
    table = read_table(source, features=["a"], **more)
    return nolook.ECDF(epsilon=1.0, random_state=3).fit(table).cdf(np.linspace(-2, 2, 9))


def scaler(source, **more):
    table = read_table(source, features=["a", "a.b", "score"], **more)
    fitted = nolook.QuantileScaler(1.0, 1e-6, random_state=3).fit(table)
    return np.concatenate([fitted.center_, fitted.scale_])


def roc(source, **more):
    table = read_scores(source, "score", "yes", "true", **more)
    return nolook.ROCCurve(1.0, random_state=3).fit(table).tpr_


def calibration(source, **more):
    table = read_scores(source, "score", "yes", "true", **more)
    return HosmerLemeshow(1.0, random_state=3).fit(table).statistic_


def quantiles(source, **more):
    table = read_table(source, features=["a", "a.b"], **more)
    return nolook.quantiles(table, [0.1, 0.5], epsilon=1.0, random_state=3).values


class Guess:
    """A classifier without scikit-learn's checks, which take long where each row is alone."""

    classes_ = np.array([False, True])

    def predict_proba(self, rows):
        high = 1.0 / (1.0 + np.exp(-rows @ [1.0, 0.5]))
        return np.column_stack([1.0 - high, high])


def evaluation(source, **more):
    table = read_table(source, "yes", features=["a", "score"], **more)
    found = nolook.evaluate(Guess(), table, epsilon=1.0, other_rows=True, random_state=3)
    return found.roc.auc_


def pipeline(source, **more):
    table = read_table(source, "y", features=["a", "a.b", "score"], **more)
    made = nolook.PrivatePipeline(
        nolook.MomentSelector(2, random_state=1),
        nolook.LinearRegression(random_state=2),
        epsilon=1.0,
        delta=1e-6,
    )
    return made.fit(table).coef_


def comparison(source, **more):
    table = read_table(source, features=["a", "yes"], **more)
    return nolook.compare_groups(table, "a", "yes", random_state=3).forests.groups[1].cells


LEVELS = {"c": ["u", "v"]}


def curves(source, unit=None, **more):
    features = ["score", "yes", "c"]
    table = read_table(source, features=features, categories=LEVELS, unit=unit, **more)
    found = nolook.survival(table, "score", "yes", "c", random_state=3)
    return np.concatenate([each.cells for each in found.forests.groups])


def all_pairs(source, **more):
    levels = {"c": ["u", "v"], "id": [1, 2], "score": [0, 1]}
    table = read_table(source, features=[*levels, "yes"], categories=levels, **more)
    names = ["c", "id", "score", "yes"]
    return nolook.tabulate(table, all_pairs=names, random_state=3).to_frame().to_numpy()


def survey(source, **more):
    columns = {
        "band": {"bins_of": "a", "borders": [0, 1]},
        "z": {"log_of": "score"},
        "square": {"square_of": "z", "around": -0.5},
        "gap": {"difference_of": ["square", "c=u"]},
        "product": {"product_of": ["gap", "c=u"]},
        "w": {"log1p_of": "id"},
        "c": {"type": "category", "levels": LEVELS["c"], "use": "nothing"},
    }
    features = ["band", "z", "product"]
    table = read_table(source, features=features, schema={"columns": columns}, weights="w", **more)
    found = nolook.tabulate(table, "band", mean="product", median="z", random_state=3)
    return found.to_frame().fillna(0.0).to_numpy()


WORK = [linear, adassp, logistic, screening, moments, ecdf, scaler, roc, calibration, quantiles]
WORK += [all_pairs, evaluation, pipeline, comparison, curves, survey]


@pytest.mark.parametrize("work", WORK)
def test_spark_gives_the_bits_of_one_process(work, folder, frame, session):
    missing = {"missing": "drop-row"}
    expected = work(folder, **missing)
    # Where rows are is one thing, and what is made of them another.
    for kind in KINDS if work is adassp else [as_files] if work is ecdf else [as_frame]:
        source, more = kind(folder, frame, session)
        np.testing.assert_array_equal(work(source, **more, **missing), expected)


def linear_of_units(source, **more):
    table = read_table(source, "y", features=["a", "a.b"], unit="id", **more)
    return nolook.LinearRegression(1.0, 1e-6, random_state=3).fit(table).coef_


@pytest.mark.parametrize("work", [linear_of_units, partial(curves, unit="id")])
@pytest.mark.parametrize("kind", [as_files, as_frame])
def test_units_on_spark_have_the_bits_of_one_process(kind, work, folder, frame, session):
    source, more = kind(folder, frame, session)
    more["missing"] = "drop-row"
    np.testing.assert_array_equal(work(source, **more), work(folder, missing="drop-row"))


def test_so_many_rows_of_a_unit_are_those_of_any_partitions(folder, frame, session):
    more = {"missing": "drop-row", "rows_per_unit": 2}
    found = []
    for kind in (as_files, as_other_partitions):
        source, engine = kind(folder, frame, session)
        table = read_table(source, features=["a", "a.b"], unit="id", **more, **engine)
        kept = table.sample_rows(2, lambda n: np.arange(n, dtype=np.uint64)).fold(Collected())
        rows = np.hstack([numbers for numbers, _ in kept.batches])
        found.append(rows[:, np.lexsort(rows)])
    np.testing.assert_array_equal(*found)
    here = read_table(folder, features=["a", "a.b"], unit="id", **more).units().counts
    assert found[0].shape[1] == np.minimum(here, 2).sum()


def test_what_was_moved_is_let_go(frame, session):
    def kept():
        return session.sparkContext._jsc.getPersistentRDDs().size()

    before = kept()
    table = read_table(frame, "y", features=["a", "score"], unit="id")
    table.fold(Histograms(row_counts))
    assert kept() == before + 1
    del table
    gc.collect()
    assert kept() == before


def rows_of(source, **more):
    """Count the rows in a pass, and add them up."""
    table = read_table(source, "y", features=["a", "score"], **more)
    return table.fold(Histograms(row_counts)).value(3).item()


def test_many_partitions_are_read_in_few_tasks(frame, session):
    table = read_table(frame.repartition(20), "y", features=["a", "score"])
    tracker = session.sparkContext.statusTracker()
    session.sparkContext.setJobGroup("few", "", interruptOnCancel=False)
    table.fold(Histograms(row_counts))
    jobs = tracker.getJobIdsForGroup("few")
    stages = [stage for job in jobs for stage in tracker.getJobInfo(job).stageIds]
    tasks = [tracker.getStageInfo(stage).numTasks for stage in stages]
    assert max(tasks) == 4 * session.sparkContext.defaultParallelism  # others make the frame


def failing(times, rows, batches):
    """Fail a partition the first few times it is tried, after some of its rows."""
    from pyspark import TaskContext

    for place, batch in enumerate(batches):
        yield batch
        context = TaskContext.get()
        if place == 0 and context.partitionId() == 1 and context.attemptNumber() < times:
            raise RuntimeError(rows)


@pytest.mark.parametrize("times", [1, 3, spark_session.ATTEMPTS])
def test_a_partition_that_fails_is_tried_again_and_counts_once(times, frame):
    plain = frame.select("a", "score", "y")
    flaky = plain.mapInArrow(partial(failing, times, "secret 1234.5"), plain.schema)
    if times < spark_session.ATTEMPTS:
        assert rows_of(flaky) == ROWS
        return
    with pytest.raises(TableError, match="Spark could not finish a pass") as refused:
        rows_of(flaky)
    assert (
        "1234.5" not in f"{refused.value!r} {refused.value.__cause__} {refused.value.__context__}"
    )


class Slow:
    """The number of rows, counted slowly; who counts leaves a mark."""

    def __init__(self, marks):
        self.marks, self.rows = marks, 0

    def update(self, batch, _weights):
        (self.marks / f"{os.getpid()}").touch()
        time.sleep(2.0)
        self.rows += batch.shape[1]
        return self

    def merge(self, other):
        self.rows += other.rows
        return self


def kill_workers():
    """Kill the processes that read for Spark; return how many there were."""
    killed = 0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            of_daemon = "tests.tables.spark_daemon" in process.parent().cmdline()
            if of_daemon and process.status() != psutil.STATUS_ZOMBIE:
                process.send_signal(signal.SIGKILL)
                killed += 1
    return killed


def test_predictions_are_those_of_the_command_line(people, frame, session, tmp_path):
    table = read_table(
        people, "y", features=["a", "a.b", "c"], categories={"c": ["u", "v", None]},
        missing="drop-row",
    )  # fmt: skip
    model = nolook.LinearRegression(1.0, 1e-6, random_state=3).fit(table)
    classes = nolook.LogisticRegression(1.0, 1e-6, random_state=3).fit(
        read_table(people, "yes", features=["a", "score"])
    )
    beside = predict_on_spark(classes, predict_on_spark(model, frame), column="chance")
    assert beside.columns == [*frame.columns, "prediction", "chance"]
    for fitted, column in ((model, "prediction"), (classes, "chance")):
        write_predictions(
            fitted, read_table(people, **fitted.read_options_), tmp_path / "p.parquet"
        )
        expected = pq.read_table(tmp_path / "p.parquet")["prediction"]
        # By a column that tells rows apart.
        here = dict(zip(people["score"].to_pylist(), expected.to_pylist(), strict=True))
        there = {row["score"]: row[column] for row in beside.select("score", column).collect()}
        assert there == here
    assert None in set(here.values()) | {row["prediction"] for row in beside.collect()}


def test_predictions_refuse_what_they_cannot_use(people, frame):
    table = read_table(people, "y", features=["a"])
    model = nolook.LinearRegression(1.0, 1e-6, random_state=3).fit(table)
    with pytest.raises(ParameterError, match="frame is a value of type Table; expected a table of"):
        predict_on_spark(model, people)
    with pytest.raises(ParameterError, match="column is 'y', which the table already has"):
        predict_on_spark(model, frame, column="y")
    with pytest.raises(TableError, match="has no such column"):
        predict_on_spark(model, frame.drop("a"))


def by_unit(folder, frame, session):
    return frame, {"unit": "id"}


@pytest.mark.parametrize("kind", [as_files, as_frame, by_unit])
def test_a_worker_killed_in_mid_pass_changes_nothing(kind, folder, frame, session, tmp_path):
    marks = tmp_path
    source, more = kind(folder, frame, session)
    table = read_table(source, "y", features=["a", "score"], **more)
    killed = []

    def kill():
        # Once a batch is being counted.
        for _ in range(1500):
            time.sleep(0.2)
            if any(marks.iterdir()):
                killed.append(kill_workers())
                return

    killer = threading.Thread(target=kill)
    killer.start()
    assert table.fold(Slow(marks)).rows == ROWS
    killer.join()
    assert killed
    assert killed[0] > 0


def redrawn(batches):
    random = np.random.default_rng()
    for batch in batches:
        columns = [random.normal(size=batch.num_rows), *batch.columns[1:]]
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def test_a_frame_that_is_drawn_anew_in_each_pass_is_refused(frame):
    plain = frame.select("a", "score", "y")
    table = read_table(plain.mapInArrow(redrawn, plain.schema), "y", features=["a", "score"])
    table.fold(Histograms(row_counts))
    with pytest.raises(TableError, match=r"the rows of .* changed between two passes"):
        table.fold(Histograms(row_counts))


def test_workers_of_another_version_are_refused(frame, monkeypatch):
    monkeypatch.setattr(cluster, "__version__", "9.9.9")
    with pytest.raises(TableError, match=r"with nolook .*; expected 9\.9\.9"):
        rows_of(frame)


@pytest.mark.parametrize("unit", [None, "id"])
def test_what_a_worker_refuses_comes_through(people, session, tmp_path, unit):
    for i in range(2):
        pq.write_table(people, tmp_path / f"{i}.parquet")
    table = read_table(tmp_path, "y", features=["a"], engine=session, unit=unit)
    pq.write_table(people.slice(1), tmp_path / "1.parquet")
    with pytest.raises(TableError, match="was changed or removed while it was in use"):
        table.fold(Histograms(row_counts))


def test_columns_of_any_name_and_type_are_declared(session):
    frame = session.sql(
        "select 1 as `a.b`, 2.5D as `A.b`, '7' as `x``y`, array(1) as list, "
        "cast(1.25 as decimal(9, 2)) as money, interval '1' month as odd, true as yes"
    )
    table = read_table(frame, "A.b", features=["a.b", "money", "yes"])
    (numbers,) = [batch for batch, _ in table.fold(Collected()).batches]
    assert numbers[:, 0].tolist() == [1.0, 1.25, 1.0, 2.5]
    with pytest.raises(TableError, match="which in the Spark table has type list"):
        read_table(frame, "a.b", features=["list"])
    with pytest.raises(TableError, match="has type"):
        read_table(frame, "a.b", features=["odd"])


def test_what_spark_cannot_read_again_or_at_all_is_refused(session, people, tmp_path):
    stream = session.readStream.format("rate").load()
    with pytest.raises(TableError, match="is a stream; expected rows that can be read again"):
        read_table(stream, features=["value"])
    with pytest.raises(ParameterError, match=r"engine is given, but .* is not a file"):
        read_table(people, "y", features=["a"], engine=session)


def test_the_command_line_fits_a_folder_that_workers_read(folder, session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(nolook.cli, "_silence_libraries", lambda: None)
    words = ("fit", str(folder), "-t", "y", "-f", "a,score", "--missing", "drop-row")
    words = (*words, "--epsilon", "1", "--random-state", "1", "--quiet", "--method", "adassp")
    away = ("--engine", "spark", "--spark-master", "local[2]")
    for name, more in (("here", ()), ("away", away)):
        assert nolook.cli._run([*words, *more, "-o", f"{name}.json"]) == 0
    here, there = (nolook.load(f"{name}.json") for name in ("here", "away"))
    np.testing.assert_array_equal(here.coef_, there.coef_)


def test_the_page_shows_what_runs(project_root, session, folder, tmp_path):
    page = (project_root / "docs" / "scaling.md").read_text(encoding="utf-8")
    code = re.findall(r"^```py\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    found = {"folder": str(folder), "target": str(tmp_path / "predicted")}
    exec(compile("".join(code), "scaling.md", "exec", dont_inherit=True), found)
    assert pq.read_table(found["target"])["prediction"].null_count == 0
    assert found["model"].coef_.shape == (2,)

"""Spark's workers read: the bits of one process, each row once whatever fails, no row gathered.

A session is real and takes long to start, so all of it is slow; `test_engines.py` shows briefly
what needs none.
"""

from __future__ import annotations

import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook import read_table
from nolook.estimators.calibration import HosmerLemeshow
from nolook.tables.scored import read_scores
from tests.tables import spark_session

pytestmark = [
    pytest.mark.slow,
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
    for i, (first, last) in enumerate(zip(ends, ends[1:], strict=False)):
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


KINDS = [as_files, as_frame, as_other_partitions]


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
    return nolook.ECDF(1.0, 1e-6, random_state=3).fit(table).cdf(np.linspace(-2, 2, 9))


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


def pipeline(source, **more):
    table = read_table(source, "y", features=["a", "a.b", "score"], **more)
    made = nolook.make_private_pipeline(
        nolook.MomentSelector(2, random_state=1), nolook.LinearRegression(random_state=2)
    )
    return made.fit(table).coef_


WORK = [linear, adassp, logistic, screening, moments, ecdf, scaler, roc, calibration, pipeline]


@pytest.mark.parametrize("work", WORK)
def test_spark_gives_the_bits_of_one_process(work, folder, frame, session):
    missing = {"missing": "drop-row"}
    expected = (
        work(folder, threads=1, **missing)
        if work not in {roc, calibration}
        else work(folder, **missing)
    )
    kinds = KINDS if work is linear else [as_frame, as_files]
    for kind in kinds:
        source, more = kind(folder, frame, session)
        np.testing.assert_array_equal(work(source, **more, **missing), expected)

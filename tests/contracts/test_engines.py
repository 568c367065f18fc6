"""Every method and selector by one thread, by two, by an engine and on Spark: the same bits."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nolook
from nolook.errors import ParameterError
from tests.contracts.test_units import CLASSIFIERS, MAKERS, UNITS, frame, published, table
from tests.tables import spark_session
from tests.tables.elsewhere import elsewhere

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A file in several row groups."""
    path = tmp_path_factory.mktemp("engines") / "people.parquet"
    data = frame().assign(high=lambda each: each.y > 7.5)
    pq.write_table(pa.Table.from_pandas(data), path, row_group_size=UNITS // 6)
    return path


@pytest.fixture(scope="module")
def session():
    if shutil.which("java") is None and not os.environ.get("NOLOOK_REQUIRE_ALL"):
        pytest.skip("no Java (.ci/run installs it)")
    started = spark_session.start()
    yield started
    started.stop()


def opened(source, make, **more):
    target = {MAKERS["QuantileScaler"]: None, **dict.fromkeys(CLASSIFIERS, "high")}.get(make, "y")
    return table(source, make, unit=None, target=target, **more)


def check(make, away, place):
    """Compare a fit elsewhere with one here, or expect its refusal by name."""
    method = make(random_state=3)
    if method._needs_local_rows:
        with pytest.raises(ParameterError, match=f"{type(method).__name__} needs all rows in one"):
            method.fit(away)
        return
    here, there = (make(random_state=3).fit(each) for each in (opened(place, make), away))
    if type(method).__name__ == "TukeyRegressor" or getattr(method, "sample", None) is not None:
        # Rows draw where they are: other numbers of one distribution.
        assert published(there).shape == published(here).shape
        assert there.privacy_ == here.privacy_
    else:
        np.testing.assert_array_equal(published(there), published(here))


def in_turn(*turns):
    """Try some of the methods every day: in each of three turns a third of them."""
    some = [
        pytest.param(make, id=name, marks=[pytest.mark.slow] * (i % 3 not in turns))
        for i, (name, make) in enumerate(MAKERS.items())
    ]
    return pytest.mark.parametrize("make", some)


@in_turn(0)
def test_two_threads_give_the_bits_of_one(make, place):
    found = [make(random_state=3).fit(opened(place, make, threads=n)) for n in (1, 2)]
    np.testing.assert_array_equal(*map(published, found))


@in_turn(1, 2)
def test_an_engine_gives_the_bits_of_one_process_or_refuses(make, place):
    check(make, elsewhere(opened(place, make)), place)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
@every_maker
def test_spark_gives_the_bits_of_one_process_or_refuses(make, place, session):
    check(make, opened(session.read.parquet(str(place)).repartition(3), make), place)


@pytest.fixture(scope="module")
def bent(tmp_path_factory):
    """A file of two rows a person; the target is bent in the first column."""
    path = tmp_path_factory.mktemp("bent") / "people.parquet"
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=(2, 2 * UNITS))
    y = np.sin(2.0 * a) + b + 0.3 * generator.normal(size=a.size)
    columns = {"who": np.arange(a.size) % UNITS, "a": a, "b": b, "y": y}
    pq.write_table(pa.table(columns), path, row_group_size=UNITS // 3)
    return path


def curves_of(source, moved=lambda table: table):
    """Return the curves of an additive model: of persons, and of rows that meet a condition."""
    condition = {"unit": "who", "where": [("b", ">", -1.0)]}
    read = nolook.read_table(source, "y", features=["a", "b"], **condition)
    model = nolook.AdditiveRegression(8.0, random_state=3).fit(moved(read))
    assert not model.curves_[0].straight
    assert np.interp(0.5, model.curves_[1].places, model.curves_[1].heights) > 0.2
    return np.concatenate([each.heights for each in model.curves_])


def test_an_engine_gives_curves_of_persons_and_conditions(bent):
    np.testing.assert_array_equal(curves_of(bent, elsewhere), curves_of(bent))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_spark_gives_curves_of_persons_and_conditions(bent, session):
    rows = session.read.parquet(str(bent)).repartition(3)
    np.testing.assert_array_equal(curves_of(rows), curves_of(bent))

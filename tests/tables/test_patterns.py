"""Dates as Python's datetime reads them."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nolook.errors import ParameterError
from nolook.tables.conversion import SECONDS_A_DAY, civil_days, parse_times
from nolook.tables.schema import check_pattern

DATES = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d %m %Y!", "(%d|%m|%Y)*", "é%d€%m^%Y$"]
TIMES = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%H.%M.%S, %d.%m.%Y", "%d/%m/%Y %H"]


def parsed(texts, pattern):
    seconds, valid = parse_times(pa.array(texts, pa.binary()), pattern)
    return [value if known else None for value, known in zip(seconds, valid, strict=True)]


def by_datetime(text, pattern):
    """The same by the standard library, None for what is no such time."""
    try:
        time = dt.datetime.strptime(text, pattern).replace(tzinfo=dt.UTC)
    except ValueError:
        return None
    return (time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)).total_seconds()


@pytest.mark.parametrize("pattern", DATES + TIMES)
@given(time=st.datetimes())
def test_what_datetime_writes_is_read(pattern, time):
    text = time.strftime(pattern.replace("%Y", f"{time.year:04}"))
    assert parsed([text.encode()], pattern) == [by_datetime(text, pattern)]


@pytest.mark.parametrize("pattern", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
@given(
    numbers=st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 9999)),
    noise=st.sampled_from(["", "", "", "x", " ", "-", "\n"]),
)
def test_a_day_that_does_not_exist_is_missing(pattern, numbers, noise):
    day, month, year = numbers
    text = pattern.replace("%d", f"{day}").replace("%m", f"{month}").replace("%Y", f"{year:04}")
    assert parsed([(text + noise).encode()], pattern) == [by_datetime(text + noise, pattern)]


def test_fractions_of_a_second_and_leap_seconds():
    texts = [b"1970-01-02 00:00:01.25", b"1970-01-01 23:59:60", b"1970-01-01 24:00:00"]
    assert parsed(texts, "%Y-%m-%d %H:%M:%S") == [SECONDS_A_DAY + 1.25, None, None]


def test_every_day_of_the_calendar():
    days = np.arange(np.datetime64("0001-01-01"), np.datetime64("10000-01-01"))
    months = days.astype("datetime64[M]")
    year = months.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12 + 1
    day = (days - months.astype("datetime64[D]")).astype(np.int64) + 1
    found, valid = civil_days(year, month, day)
    assert valid.all()
    np.testing.assert_array_equal(found, days.astype(np.int64))


@pytest.mark.parametrize(
    "pattern",
    ["", "%Y-%m", "%Y-%m-%d-%d", "%Y-%m-%d%", "%y-%m-%d", "%Y-%b-%d", "%%%Y%m%d", 3, None, b"%Y"],
)
def test_patterns_without_a_meaning_are_refused(pattern):
    with pytest.raises(ParameterError, match=r"expected a string with %Y, %m and %d"):
        check_pattern(pattern)


def test_a_long_pattern_is_not_quoted():
    with pytest.raises(ParameterError) as caught:
        check_pattern("%Y-%m-%d" + "x" * 1000)
    assert len(str(caught.value)) < 200

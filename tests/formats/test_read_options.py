"""How a table was read goes into a file and comes back."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook.formats.parts import ReadOptions
from nolook.formats.strict import convert, plain

CELLS = ["a", "b", "c", "...", "other", None]
LEVELS = st.lists(st.sampled_from(CELLS), min_size=1, unique=True).filter(lambda one: one != [None])


def numbers(options):
    table = pa.table({"n": [float(place) for place in range(len(CELLS))], "city": CELLS})
    opened = nolook.read_table(table, **options)
    return opened.feature_names, np.concatenate(list(opened.batches()), axis=1).tolist()


def in_a_file(options):
    return json.loads(json.dumps(plain(ReadOptions(**options))))


@given(LEVELS)
def test_options_come_back_from_a_file_and_read_the_same(levels):
    if "..." in levels:
        return  # two columns of one name
    if len(levels) > 1 and None not in levels:
        levels = [*levels, None]  # as a table's options always say
    options = {"features": ["city", "n"], "categories": {"city": levels}, "missing": "zero"}
    content = in_a_file(options)
    read_options = convert(content, ReadOptions)
    assert in_a_file(plain(read_options)) == content
    assert numbers(plain(read_options)) == numbers(options)
    assert plain(read_options) == options
    assert tuple(read_options.names) == numbers(options)[0]


@pytest.mark.parametrize("levels", [["yes"], [None, "yes"], ["yes", None]])
def test_a_distribution_of_a_level(tmp_path, levels):
    table = pa.table({"answer": ["yes"] * 300 + ["no"] * 500 + ["?"] * 200})
    opened = nolook.read_table(table, categories={"answer": levels})
    ecdf = nolook.ECDF(5.0, nolook.LinearGrid(0, 1, 1)).fit(opened)
    share = 700 if levels[-1] == "yes" else 300
    assert abs(ecdf.cdf(0.5) - share / 1000) < 0.05
    nolook.save(ecdf, tmp_path / "d.json")
    loaded = nolook.load(tmp_path / "d.json")
    (name,) = opened.feature_names
    assert nolook.read_table(table, **loaded.read_options_).feature_names == (name,)

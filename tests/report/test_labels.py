"""Labels of columns: what every kind of release calls a column that its schema labels."""

from __future__ import annotations

import copy
import json

import pyarrow as pa
import pytest
from attrs import asdict

import nolook
from nolook.errors import ParameterError
from nolook.formats.model_file import from_dict, to_dict
from tests.formats.releases import EVERY, release

#: A label is its name in these, so that a text without them is the one without labels.
MARKS = "\u2039\u203a"


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        # Every day one in four.
        pytest.param(kind, place, marks=[pytest.mark.slow] * (i % 4 > 0))
        for i, (kind, place) in enumerate(EVERY)
    ],
)
def test_every_kind_calls_columns_by_their_labels(kind, place):
    document = json.loads(json.dumps(to_dict(release(kind, place))))
    first = next(iter(_options(document)))["features"]
    plain, called = _texts(copy.deepcopy(document), ()), _texts(document, first)
    assert [_unmarked(text) for text in called] == plain
    named = [text for text, own in zip(called, plain, strict=True) if own in first]
    assert named == [_label(_unmarked(text)) for text in named]
    assert called != plain


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": "Age", "b": "Age"}, "label is 'Age'; expected each name once"),
        ({"a": "b", "b": None}, "label is 'b'; expected each name once"),
        ({"a": ""}, "in column 'a', label is"),
        ({"a": 3}, "in column 'a', label is"),
    ],
)
def test_labels_that_name_no_column_or_two_are_refused(columns, said):
    declared = {name: {"type": "number", "label": label} for name, label in columns.items()}
    with pytest.raises(ParameterError, match=said):
        nolook.Schema(declared)


def test_frames_and_files_keep_the_names():
    rows = pa.table({"age": [float(i) for i in range(200)]})
    schema = {"columns": {"age": {"type": "number", "label": "Age in years"}}}
    found = nolook.quantiles(nolook.read_table(rows, False, schema=schema), 1.0, random_state=1)
    assert "age" in found.to_frame().to_csv()
    assert found.to_dict()["read_options"]["features"] == ["age"]
    assert "of Age in years" in str(found.summary())


def _label(name):
    return f"{MARKS[0]}{name}{MARKS[1]}"


def _unmarked(text):
    return text.translate(dict.fromkeys(map(ord, MARKS)))


def _options(value):
    """Yield the read options in a document."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from [each] if key == "read_options" else _options(each)


def _texts(document, names):
    """List all texts of a release's content, with labels for some columns."""
    for options in _options(document):
        columns = options.setdefault("schema", {}).setdefault("columns", {})
        for name in names:
            columns.setdefault(name, {"type": "text"})["label"] = _label(name)
    del document["format"], document["version"], document["nolook_version"]
    found = from_dict({"format": "nolook", "version": 1, "nolook_version": "", **document})
    return list(_strings(asdict(found.content(), recurse=True)))


def _strings(value):
    if isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, str):
        yield value

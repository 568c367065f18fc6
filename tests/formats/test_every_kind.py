"""Every kind of file: what was saved comes back bit for bit, all else is refused in one line."""

from __future__ import annotations

import copy
import functools
import json
import tempfile
from pathlib import Path
from pkgutil import resolve_name

import pytest

import nolook
from nolook import _files
from nolook.estimators.catalogue import MODELS
from nolook.formats.model_file import _RECORDS
from nolook.report.page import render_page
from tests.formats.edited import at, load_text, put, refusal
from tests.formats.releases import EVERY, KINDS, bits, release

CANARY = "canary-5f3e"
WRONG = (None, True, -1.5, "", CANARY, [], {}, [None], [[]], {CANARY: 1}, 10**400, [1.0] * 7)


@functools.cache
def text(kind, place=0):
    return saved(release(kind, place))


def saved(found):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        nolook.save(found, path)
        return path.read_text(encoding="utf-8")


def document(kind, place=0):
    return json.loads(text(kind, place))


def places(value, path=()):
    """Every place in a document; one entry stands for all of a list."""
    yield path
    entries = value.items() if isinstance(value, dict) else ()
    entries = enumerate(value[:1]) if isinstance(value, list) else entries
    for key, entry in entries:
        yield from places(entry, (*path, key))


def test_every_kind_is_tried():
    assert sorted(KINDS) == sorted(_RECORDS)
    assert len(KINDS) == 18
    homes = {kind: resolve_name(f"nolook.formats.{home}") for kind, home in _RECORDS.items()}
    methods = {entry.load().kind: name for name, entry in MODELS.items()}
    made = {kind: home(methods[kind]) for kind, home in homes.items() if kind in methods}
    tags = {kind: home.__struct_config__.tag for kind, home in (homes | made).items()}
    assert tags == dict(zip(_RECORDS, _RECORDS, strict=True))


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        # Every day the first of each kind, and every other one of the rest.
        pytest.param(kind, place, marks=[pytest.mark.slow] * (place > 0 and i % 2))
        for i, (kind, place) in enumerate(EVERY)
    ],
)
def test_a_release_comes_back_bit_for_bit_with_all_that_follows_from_it(tmp_path, kind, place):
    found = release(kind, place)
    again = load_text(tmp_path, text(kind, place))
    assert dict(_by_place(again)) == dict(_by_place(found))
    assert saved(again) == text(kind, place)
    assert document(kind, place)["kind"] == kind
    assert str(again.summary()) == str(found.summary())
    assert page(again) == page(found)
    assert again.to_frame().equals(found.to_frame())


def page(found):
    return render_page(found.content())


def _by_place(found):
    return ((path, said) for path, *said in bits(found))


def test_extreme_ends_unknown_intervals_and_negative_zeros_are_among_them():
    told = dict(_by_place(release("linear model")))
    assert told[".target_range_[0]"] == [b"\xff\xff\xff\xff\xff\xff\xef\xff"]
    assert told[".coef_"][2].startswith(b"\0\0\0\0\0\0\0\x80\x01")
    assert told[".intercept_"] == [b"\0\0\0\0\0\0\0\x80"]
    said = document("linear model")
    assert said["coef_interval"][0] is said["intercept_interval"] is said["weight_norm"] is None


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_key_is_refused_in_any_object(tmp_path, kind):
    whole = document(kind)
    for path in places(whole):
        if isinstance(at(whole, path), dict):
            refusal(tmp_path, json.dumps(put(whole, (*path, "added"), 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_key_is_refused_in_any_object(tmp_path, kind):
    whole = document(kind)
    for path in places(whole):
        # Whether a column of quantiles has a grid of its own is for its release to say, and whether
        # words were given for an outcome for the table. A column without its levels is a boolean.
        own = "grids" in path[:-1] or path[-1:] in {("positive",), ("negative",)}
        own |= "categories" in path[:-1] and kind in {"group comparison", "survival curve"}
        if path and isinstance(path[-1], str) and not own:
            changed = copy.deepcopy(whole)
            del at(changed, path[:-1])[path[-1]]
            refusal(tmp_path, json.dumps(changed))


# Where null says that something is not known, or has no limit.
NULL = frozenset({
    *("coef_interval", "intercept_interval", "r2", "r2_interval", "rmse", "rmse_interval"),
    *("base_rate_interval", "pseudo_r2", "pseudo_r2_interval", "auc", "auc_interval"),
    *("row_norm", "weight_norm", "influence_bound", "spread", "chosen"),
    *("clipped_share", "k", "grid", "groups", "estimates"),
    *("model_privacy", "exposure", "exposure_range", "band", "below", "straight", "monotone"),
    "ends",
    *("deviance_explained", "deviance_explained_interval", "undeclared"),
    *("left_out", "lost_error"),
    *("median_error", "median_error_interval", "p90_error", "p90_error_interval", "cut_errors"),
    *("means", "by", "rows"),
})  # fmt: skip
# Numbers or texts; whether they can be is for the release's class to say.
EITHER = frozenset({"k", "sample", "pos_label", "classes"})
# Lists of any length, and what is said of other rows than those of the file's release.
LISTS = frozenset({"privacy", "model_privacy", "asked"})


def fits(path, wrong, value):
    """Tell whether another value may be at a place."""
    if path[-1] in {"table", "where", "column"}:  # of a guarantee: texts, if anything
        return wrong is None or isinstance(wrong, str)
    if wrong is None:
        # Of a table's counts every number is known.
        return value is None or ("measured" not in path and not NULL.isdisjoint(path))
    if not EITHER.isdisjoint(path) and isinstance(wrong, str | float):
        return True
    if path[-1] == "pos_label" and wrong is True:
        return True
    numbers = type(wrong) in (int, float) and wrong != 10**400
    if value is None:
        return numbers or wrong in ([], [None]) or (path[-1] == "monotone" and wrong == {})
    return type(wrong) is type(value) or (numbers and type(value) in (int, float))


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_another_type_is_refused_and_none_is_quoted(tmp_path, kind, every):
    whole, tried = document(kind), 0
    for place, path in enumerate(places(whole)):
        for wrong in WRONG[place % every :: every] if path else ():
            if not fits(path, wrong, at(whole, path)):
                message = refusal(tmp_path, json.dumps(put(whole, path, wrong)))
                assert CANARY not in message or wrong == {CANARY: 1}
                tried += 1
    assert tried > 60 // every


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_of_a_file_is_quoted(tmp_path, kind):
    whole = document(kind)
    for path in places(whole):
        if path and isinstance(at(whole, path), str):
            try:
                load_text(tmp_path, json.dumps(put(whole, path, CANARY)))
            except nolook.ModelFileError as error:
                assert CANARY not in str(error)  # noqa: PT017


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_other_sizes_are_refused(tmp_path, kind):
    whole = document(kind)
    for path in places(whole):
        value = at(whole, path)
        # Nothing else in these files says which columns a model has.
        free = {"features"} if kind in {"evaluation", "cross-validation"} else set()
        if path == ("measured",):  # a table may have any measures
            continue
        if (
            kind in {"tabulation", "description", "group comparison", "survival curve"}
            and isinstance(value, list)
            and value[-1:] == [None]
        ):
            continue  # values that are not declared have a label in any case
        if isinstance(value, list) and value and (LISTS | free).isdisjoint(path):
            refusal(tmp_path, json.dumps(put(whole, path, value[:-1])))


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_twice_and_a_number_that_is_not_finite_are_refused(tmp_path, kind):
    whole = text(kind)
    for key in ('"kind":', '"epsilon":', '"features":'):
        assert "twice" in refusal(tmp_path, whole.replace(key, f"{key} 1, {key}", 1))
    for number in ("NaN", "-Infinity", "1e999", "1" + "0" * 400):
        changed = whole.replace('"epsilon": ', f'"epsilon": {number}, "other": ', 1)
        assert "not a finite double" in refusal(tmp_path, changed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_cut_or_damaged_is_refused(tmp_path, kind):
    whole = text(kind).rstrip()
    for length in range(0, len(whole), max(1, len(whole) // 50)):
        refusal(tmp_path, whole[:length])
    for wrong in (whole + "}", whole.replace(":", ";", 1), whole.encode("utf-16"), b"\xff"):
        refusal(tmp_path, wrong)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("version", (0, 2, "1", 1.0, True, None), "with version 1"),
        ("format", ("other", "nolook-model", None), '"format": "nolook"'),
        ("nolook_version", (1, None), "nolook_version"),
        ("kind", (CANARY, None, ["a"]), "'linear model', 'logistic model'"),
    ],
)
def test_a_file_of_another_version_or_kind_is_refused_with_what_was_expected(
    tmp_path, kind, key, values, expected
):
    for value in values:
        message = refusal(tmp_path, json.dumps(document(kind) | {key: value}))
        assert expected in message
        assert CANARY not in message


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_not_read_as_another_kind(tmp_path, kind):
    whole = document(kind)
    for other in KINDS:
        if other != kind:
            refusal(tmp_path, json.dumps(whole | {"kind": other}))


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_save_leaves_the_older_file(tmp_path, kind, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text("older")

    def fail(*_, **__):
        raise KeyboardInterrupt

    for step in ("flush", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(_files, step, fail)
            with pytest.raises(KeyboardInterrupt):
                nolook.save(release(kind), path)
        assert [one.name for one in tmp_path.iterdir()] == ["a.json"]
        assert path.read_text() == "older"
    nolook.save(release(kind), path)
    assert path.read_text(encoding="utf-8") == text(kind)

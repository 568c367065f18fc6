from __future__ import annotations

import copy
import json
import string

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook import LinearRegression, ModelFileError, ParameterError
from nolook.algorithms.scaling import Scaling
from tests.formats.edited import load_text, refusal
from tests.report.hand_made import (
    OPTIONAL,
    choosing,
    counted,
    current,
    fitted,
    make_constant,
    not_visible,
    unlimited,
    withheld,
    without,
)

RECIPE = {
    "features": ["city", "age"],
    "categories": {"city": ["Aarau", "Bern", "Zürich"]},
    "missing": "drop-row",
}
NAMES = ("city=Bern", "city=Zürich", "age", "income")
ATTRIBUTES = (
    "coef_",
    "coef_interval_",
    "intercept_",
    "intercept_interval_",
    "target_range_",
    "r2_",
    "r2_interval_",
    "rmse_",
    "rmse_interval_",
)


@pytest.fixture
def document(tmp_path):
    """A valid file as Python objects."""
    nolook.save(fitted(NAMES, recipe=RECIPE), tmp_path / "valid.json")
    return json.loads((tmp_path / "valid.json").read_text(encoding="utf-8"))


def bits(value):
    return np.asarray(value, dtype=np.float64).tobytes()


def assert_same(loaded, model):
    for attribute in ATTRIBUTES:
        ours, theirs = getattr(loaded, attribute), getattr(model, attribute)
        assert type(ours) is type(theirs), attribute
        if theirs is not None:
            assert bits(ours) == bits(theirs), attribute
            assert np.shape(ours) == np.shape(theirs)
    assert loaded.row_norm_ == model.row_norm_
    assert loaded.scaling_.limit == model.scaling_.limit
    assert loaded.scaling_.names == model.scaling_.names
    for part in ("center", "scale"):
        assert bits(getattr(loaded.scaling_, part)) == bits(getattr(model.scaling_, part))
    assert loaded.scaling_.visible.tolist() == model.scaling_.visible.tolist()
    assert loaded.privacy_ == model.privacy_
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert loaded.n_features_in_ == model.n_features_in_


def test_a_model_comes_back_as_it_was(tmp_path):
    model = fitted(NAMES, recipe=RECIPE, epsilon=0.5, delta=1e-7)
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    assert_same(loaded, model)
    assert loaded.recipe_ == RECIPE
    assert type(loaded) is LinearRegression
    assert loaded.get_params() == {
        "epsilon": 0.5,
        "delta": 1e-7,
        "k": None,
        "random_state": None,
    }


@pytest.mark.parametrize("row_norm", [np.inf, 2.5, 0.1])
@pytest.mark.parametrize("change", [lambda model: model, unlimited, without, make_constant])
def test_a_loaded_model_predicts_the_same(tmp_path, change, row_norm):
    model = change(fitted(("x0", "x1", "y")))
    model.row_norm_ = row_norm
    del model.feature_names_in_  # fitted to arrays
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(str(tmp_path / "model.json"))
    rows = np.random.default_rng(0).normal(size=(50, 2)) * 100
    assert loaded.predict(rows).tobytes() == model.predict(rows).tobytes()


def test_what_is_not_limited_or_estimated_is_null_in_the_file(tmp_path):
    model = without(unlimited(fitted(NAMES)))
    nolook.save(model, tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert document["target_range"] == [None, None]
    assert document["scaling"]["limit"] is None
    for key in ("row_norm", *(name.removesuffix("_") for name in OPTIONAL)):
        assert document[key] is None
    loaded = nolook.load(tmp_path / "model.json")
    assert_same(loaded, model)
    assert "row_norm_" not in vars(loaded)


@pytest.mark.parametrize("attribute", OPTIONAL)
def test_any_one_estimate_may_be_missing(tmp_path, attribute):
    model = without(fitted(NAMES), attribute)
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    assert_same(loaded, model)
    assert getattr(loaded, attribute) is None


@pytest.mark.parametrize("ends", [(-np.inf, 2.0), (-1.5, np.inf), (0.0, 0.0)])
def test_either_end_of_the_target_range_may_be_infinite(tmp_path, ends):
    model = fitted(NAMES)
    model.target_range_ = ends
    nolook.save(model, tmp_path / "model.json")
    assert nolook.load(tmp_path / "model.json").target_range_ == ends


def test_a_constant_says_so_in_the_file(tmp_path):
    nolook.save(make_constant(fitted(NAMES)), tmp_path / "model.json")
    assert nolook.load(tmp_path / "model.json").failed_ is True
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    document["failed"] = False
    assert load_text(tmp_path, json.dumps(document)).failed_ is False
    for wrong in (None, 1, "true"):
        document["failed"] = wrong
        assert "expected `bool`" in refusal(tmp_path, json.dumps(document))
    document |= {"failed": True, "coef": [0.0, 1.0, 0.0]}
    assert "zeros" in refusal(tmp_path, json.dumps(document))


def test_the_number_of_rows_is_in_the_file_if_they_were_counted(tmp_path, document):
    assert document["n_rows"] is document["n_rows_error"] is None
    nolook.save(counted(fitted(NAMES), 3990.0, 87.5), tmp_path / "model.json")
    told = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert (told["n_rows"], told["n_rows_error"]) == (3990.0, 87.5)
    loaded = nolook.load(tmp_path / "model.json")
    assert (loaded.n_rows_, loaded.n_rows_error_) == (3990.0, 87.5)
    assert (loaded.scaling_.rows.value, loaded.scaling_.rows.error) == (3990.0, 87.5)
    for key in ("n_rows", "n_rows_error"):
        assert key in refusal(tmp_path, json.dumps(told | {key: -0.5}))
        assert "or neither" in refusal(tmp_path, json.dumps(told | {key: None}))


def test_a_target_that_was_not_visible_is_said_to_be_so_in_the_file(tmp_path, document):
    model = not_visible(fitted(NAMES))
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    assert_same(loaded, model)
    assert loaded.visible_ is False
    told = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert told["scaling"]["visible"] == [True, True, True, False]
    for change in (
        {"coef": [0.0, 1.0, 0.0]},
        {"coef_interval": document["coef_interval"]},
        {"intercept_interval": [1.0, 2.0]},
        {"r2": 0.5},
    ):
        assert "no estimates" in refusal(tmp_path, json.dumps(told | change))


def test_withheld_intervals_and_clipped_shares_come_back(tmp_path):
    model = withheld(counted(current(fitted(NAMES), [0.0, 1.0, 0.25, 1 / 3])), 1)
    nolook.save(model, tmp_path / "model.json")
    told = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert [ends is None for ends in told["coef_interval"]] == [False, True, False]
    assert "NaN" not in (tmp_path / "model.json").read_text(encoding="utf-8")
    loaded = nolook.load(tmp_path / "model.json")
    assert_same(loaded, model)
    assert bits(loaded.clipped_share_) == bits(model.clipped_share_)
    assert loaded.weight_norm_ == model.weight_norm_
    assert loaded.influence_bound_ == model.influence_bound_
    assert bits(loaded.spread_.center) == bits(model.spread_.center)
    assert bits(loaded.spread_.map) == bits(model.spread_.map)
    assert loaded.chosen_ is None
    for change, expected in (
        ({"clipped_share": [0.0, 0.0, 0.0]}, "expected clipped_share to have 4 entries"),
        ({"clipped_share": [0.0, 0.0, 0.0, 1.5]}, "<= 1.0 - at `$.clipped_share[3]`"),
        ({"clipped_share": [0.0, 0.0, 0.0, -0.5]}, ">= 0.0 - at `$.clipped_share[3]`"),
        ({"clipped_share": [0.0, 0.0, 0.0, None]}, "got `null` - at `$.clipped_share[3]`"),
        ({"coef_interval": [None, [None, 1.0], None]}, "got `null` - at `$.coef_interval`"),
        ({"weight_norm": 0.0}, "> 0.0 - at `$.weight_norm`"),
        ({"influence_bound": -1.0}, "> 0.0 - at `$.influence_bound`"),
        (
            {"spread": told["spread"] | {"center": [0.0]}},
            "expected spread.center to have 3 entries",
        ),
    ):
        assert expected in refusal(tmp_path, json.dumps(told | change))


@pytest.mark.parametrize("places", [(), (2,), (2, 0), (1, 0, 2)])
def test_features_chosen_come_back_in_their_order(tmp_path, places):
    model = choosing(current(fitted(NAMES)), *places)
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    assert_same(loaded, model)
    assert loaded.chosen_.tolist() == list(places)
    assert loaded.k == len(places)
    assert loaded.chosen_.dtype == model.chosen_.dtype
    told = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    for bad in ([0, 0], [3], [-1], [0.5]):
        assert "chosen" in refusal(tmp_path, json.dumps(told | {"chosen": bad}))
    assert "not chosen" in refusal(
        tmp_path, json.dumps(told | {"coef": [0.0, 1.0, 0.0], "chosen": [0, 2]})
    )


def test_columns_of_0_and_1_are_clipped_to_that_range_after_loading(tmp_path):
    model = fitted(("a", "b", "y"))
    nolook.save(model, tmp_path / "model.json")
    model.scaling_ = evolve(model.scaling_, binary=np.array([True, False, False]))
    del model.feature_names_in_
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    rows = np.array([[-9.0, 0.0], [0.25, 0.0], [9.0, 0.0]])
    assert loaded.predict(rows).tobytes() == model.predict(rows).tobytes()
    assert (loaded.scaling_.low[0], loaded.scaling_.high[0]) == (0.0, 1.0)
    document = json.loads((tmp_path / "model.json").read_text())
    document["scaling"]["binary"] = [True]
    assert "expected scaling.binary to have 3 entries" in refusal(tmp_path, json.dumps(document))


finite = st.floats(allow_nan=False, allow_infinity=False)
ordered = st.tuples(finite, finite).map(sorted).map(np.array)
names = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1), min_size=2, unique=True
)


@given(st.data(), names)
def test_every_finite_model_round_trips_bit_for_bit(tmp_path_factory, data, columns):
    model = fitted(columns)
    features = len(columns) - 1
    vector = st.lists(finite, min_size=features, max_size=features)
    model.coef_ = np.array(data.draw(vector))
    ends = st.lists(ordered, min_size=features, max_size=features)
    model.coef_interval_ = np.stack(data.draw(ends))
    model.intercept_, model.rmse_ = data.draw(finite), data.draw(finite)
    model.intercept_interval_, model.rmse_interval_ = data.draw(ordered), data.draw(ordered)
    all_columns = {"min_size": features + 1, "max_size": features + 1}
    model.scaling_ = Scaling(
        tuple(columns),
        np.array(data.draw(st.lists(finite, **all_columns))),
        np.array(data.draw(st.lists(finite.filter(lambda x: x > 0), **all_columns))),
        np.array([*data.draw(st.lists(st.booleans(), min_size=features, max_size=features)), True]),
    )
    path = tmp_path_factory.mktemp("round") / "model.json"
    nolook.save(model, path)
    assert_same(nolook.load(path), model)


def test_a_result_of_a_seed_says_so_in_the_file(tmp_path):
    nolook.save(fitted(private=False), tmp_path / "model.json")
    assert json.loads((tmp_path / "model.json").read_text())["privacy"]["private"] is False
    assert nolook.load(tmp_path / "model.json").privacy_.private is False


@pytest.mark.parametrize("model", [LinearRegression(), object(), nolook.QuantileScaler()])
def test_only_a_fitted_model_is_saved(tmp_path, model):
    with pytest.raises(ParameterError, match="expected a fitted LinearRegression"):
        nolook.save(model, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", '"format": "nolook"'),
        ("null", '"format": "nolook"'),
        ('{"format": "other"}', '"format": "nolook"'),
        (b"\xff\xfe", "UTF-8"),
        (b"PAR1\x00\x01", "JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "not a finite double"),
        ('{"a": -Infinity}', "not a finite double"),
        ('{"a": 1' + "0" * 10_000 + "}", "not a finite double"),
        ('{"a": 1e999}', "not a finite double"),
    ],
)
def test_what_is_no_model_file_is_refused(tmp_path, text, expected):
    assert expected in refusal(tmp_path, text)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.json", tmp_path, tmp_path / "nul\0"):
        with pytest.raises(ModelFileError, match="is not the file of a release") as caught:
            nolook.load(path)
        assert "\n" not in str(caught.value)


def test_a_huge_file_is_refused_without_being_read_whole(tmp_path):
    path = tmp_path / "edited.json"
    with path.open("wb") as stream:
        stream.truncate(2**33)  # sparse
    with pytest.raises(ModelFileError, match="more than"):
        nolook.load(path)


def places(value, path=()):
    """Every place in a document, as the keys and positions that lead there."""
    if path:
        yield path
    # One entry of each list stands for all of them.
    children = value.items() if isinstance(value, dict) else []
    children = enumerate(value[:1]) if isinstance(value, list) else children
    for key, child in children:
        yield from places(child, (*path, key))


def edited(document, path, change):
    """A deep copy of a document in which `change` was applied to the parent of a place."""
    again = copy.deepcopy(document)
    parent = again
    for key in path[:-1]:
        parent = parent[key]
    change(parent, path[-1])
    return again


def test_a_recipe_may_say_how_quoted_line_breaks_are_read(tmp_path):
    recipe = RECIPE | {"schema": {"file": {"multiline": True}}}
    nolook.save(fitted(NAMES, recipe=recipe), tmp_path / "m.json")
    assert nolook.load(tmp_path / "m.json").recipe_ == recipe


def test_privacy_is_read_strictly(tmp_path, document):
    for path in places(document["privacy"]):
        for wrong in (None, [], {}, "text", -1.5):

            def put(at, key, wrong=wrong):
                at[key] = wrong

            if path[-1] in {"name", "table", "where"} and wrong == "text":
                continue
            if path[-1] in {"table", "where"} and wrong is None:
                continue
            refusal(tmp_path, json.dumps(edited(document, ("privacy", *path), put)))


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("coef",), [1.0], "expected coef to have 3 entries"),
        (("coef_interval", 0), [2.0, 1.0], "the lower end before the upper end"),
        (("target_range",), [2.0, 1.0], "the lower end of target_range before the upper end"),
        (("target_range",), [None, None, None], "of length 2, got 3 - at `$.target_range`"),
        (("row_norm",), -1.0, ">= 0.0 - at `$.row_norm`"),
        (("scaling", "limit"), 0.0, "> 0.0 - at `$.scaling.limit`"),
        (("r2_interval",), [0.5, 0.25], "the upper end - at `$.r2_interval`"),
        (("scaling", "scale", 0), 0.0, "scaling.scale to be above 0"),
        (("features",), ["city=Bern", "age", "age"], "each column once"),
        (("method",), "magic", "one of 'linear'"),
        (("recipe", "missing"), "guess", "invalid value - at `$.recipe.missing`"),
        (
            ("recipe", "categories"),
            {"town": ["A"]},
            "categories of some of features - at `$.recipe`",
        ),
        (("recipe", "categories", "city"), ["Aarau", "Bern"], "features that recipe names"),
        (("recipe", "categories", "city"), ["Bern", None], "features that recipe names"),
        (("recipe", "categories", "city"), ["Bern", "Bern"], "expected each name once"),
        (("recipe", "categories", "city"), [], "length >= 1 - at `$.recipe.categories[...]`"),
        (("recipe", "features"), ["age", "city"], "features to be those of recipe"),
    ],
)
def test_impossible_contents_are_refused_by_name(tmp_path, document, path, value, expected):
    def put(at, key):
        at[key] = value

    assert expected in refusal(tmp_path, json.dumps(edited(document, path, put)))


@given(st.binary(max_size=200) | st.text(string.printable, max_size=200).map(str.encode))
def test_no_content_raises_anything_else(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "model.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        nolook.load(path)

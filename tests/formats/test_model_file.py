from __future__ import annotations

import json

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import nolook
from nolook import LinearRegression, ModelFileError, ParameterError
from nolook.algorithms.scaling import Scaling
from tests.formats.edited import put, refusal
from tests.formats.releases import bits, release
from tests.report.golden_pages import counting
from tests.report.hand_made import (
    OPTIONAL,
    choosing,
    counted,
    current,
    fitted,
    make_constant,
    not_detected,
    unclipped,
    without,
)

READ_OPTIONS = {
    "features": ["city", "age"],
    "categories": {"city": ["Aarau", "Bern", "Zürich"]},
    "missing": "drop-row",
}
NAMES = ("city=Bern", "city=Zürich", "age", "income")


def saved(model, folder):
    nolook.save(model, folder / "valid.json")
    return json.loads((folder / "valid.json").read_text(encoding="utf-8"))


@pytest.fixture
def document(tmp_path):
    """A valid file as Python objects."""
    return saved(fitted(NAMES, read_options=READ_OPTIONS), tmp_path)


def assert_same(loaded, model):
    assert list(bits(loaded)) == list(bits(model))


@pytest.mark.parametrize("change", [lambda model: model, unclipped, without, make_constant])
@pytest.mark.parametrize("row_norm", [np.inf, 2.5, 0.1])
def test_a_loaded_model_predicts_the_same(tmp_path, change, row_norm):
    model = change(fitted(("x0", "x1", "y")))
    model.row_norm_ = row_norm
    del model.feature_names_in_  # fitted to arrays
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(str(tmp_path / "model.json"))
    rows = np.random.default_rng(0).normal(size=(50, 2)) * 100
    assert loaded.predict(rows).tobytes() == model.predict(rows).tobytes()


@pytest.mark.parametrize("attribute", OPTIONAL)
def test_any_one_estimate_may_be_missing(tmp_path, attribute):
    model = without(fitted(NAMES), attribute)
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    assert_same(loaded, model)
    assert getattr(loaded, attribute) is None


def chosen(model):
    return choosing(current(model), 2, 0)


@pytest.mark.parametrize("places", [(), (2,), (2, 0), (1, 0, 2)])
def test_features_chosen_come_back_in_their_order(tmp_path, places):
    model = choosing(current(fitted(NAMES)), *places)
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    assert_same(loaded, model)
    assert loaded.chosen_.tolist() == list(places)
    assert loaded.k == len(places)
    assert loaded.chosen_.dtype == model.chosen_.dtype


HIDDEN = "no estimates"
ROWS = {"value": 9.0, "error": 1.0, "left_out": 0.0, "undeclared": None, "lost_error": 1.0}


@pytest.mark.parametrize(
    ("make", "change", "expected"),
    [
        (make_constant, {"coef": [0.0, 1.0, 0.0]}, "zeros"),
        (not_detected, {"coef": [0.0, 1.0, 0.0]}, "zeros where nothing is detected"),
        (not_detected, {"coef_interval": [[0.0, 1.0]] * 3}, HIDDEN),
        (not_detected, {"intercept_interval": [1.0, 2.0]}, HIDDEN),
        (not_detected, {"r2": 0.5}, HIDDEN),
        (counted, {"rows": {**ROWS, "value": -0.5}}, "rows above 0"),
        (counted, {"rows": {**ROWS, "error": -0.5}}, "errors of at least 0"),
        (counted, {"rows": {**ROWS, "value": None}}, "`$.rows.value`"),
        (counted, {"rows": {**ROWS, "lost_error": -0.5}}, "errors of at least 0"),
        (current, {"clipped_share": [0.0] * 3}, "expected clipped_share to have 4 entries"),
        (current, {"clipped_share": [0.0] * 3 + [1.5]}, "clipped_share from 0 to 1"),
        (current, {"clipped_share": [0.0] * 3 + [-0.5]}, "clipped_share from 0 to 1"),
        (current, {"coef_interval": [None, [None, 1.0], None]}, "`null` - at `$.coef_interval`"),
        (current, {"weight_norm": 0.0}, "> 0.0 - at `$.weight_norm`"),
        (current, {"influence_bound": -1.0}, "> 0.0 - at `$.influence_bound`"),
        *((chosen, {"chosen": bad}, "chosen") for bad in ([0, 0], [3], [-1], [0.5])),
        (chosen, {"coef": [0.0, 1.0, 0.0], "chosen": [0, 2]}, "not chosen"),
    ],
)
def test_impossible_contents_of_special_models_are_refused(tmp_path, make, change, expected):
    document = saved(make(fitted(NAMES)), tmp_path)
    assert expected in refusal(tmp_path, json.dumps(document | change))


@pytest.mark.parametrize(
    ("detected", "path", "value", "expected"),
    [
        (True, ("parameters", "exposure"), None, "exposure_range with an exposure"),
        (True, ("exposure_range",), None, "exposure_range with an exposure"),
        (True, ("parameters", "exposure"), "hours", "parameters.exposure to be a feature"),
        (True, ("parameters", "exposure"), "visits", "parameters.exposure to be a feature"),
        (True, ("exposure_range",), [-1.0, 5.0], "exposure_range to be above 0"),
        (True, ("exposure_range",), [0.0, 5.0], "exposure_range to be above 0"),
        (True, ("exposure_range",), [6.0, 5.0], "exposure_range to be above 0"),
        (True, ("target_range",), [-1.0, 5.0], "target_range to be above 0"),
        (True, ("target_range",), [6.0, 5.0], "the lower end of target_range"),
        (True, ("deviance_explained",), 1.5, "deviance_explained"),
        (True, ("influence_bound",), 0.0, "influence_bound"),
        (True, ("influence_bound",), None, "influence_bound"),
        (False, ("deviance_explained",), 0.5, "no estimates where nothing is detected"),
        (False, ("deviance_explained_interval",), [0.0, 0.1], "no estimates where nothing is"),
        (False, ("intercept_interval",), [0.0, 1.0], "no estimates where nothing is detected"),
        (False, ("coef_interval",), [[0.0, 1.0]] * 3, "no estimates where nothing is detected"),
    ],
)
def test_impossible_contents_of_a_model_of_counts_are_refused(
    tmp_path, detected, path, value, expected
):
    model = counting(exposure="days", exposures=(3.0, 750.0), detected=detected)
    assert expected in refusal(tmp_path, json.dumps(put(saved(model, tmp_path), path, value)))


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        ("linear model", "detected", "unknown field `detected`"),
        ("linear model", "curves", "expected curves to have 0 entries"),
        ("count model", "curves", "expected curves to have 0 entries"),
    ],
)
def test_what_a_class_never_says_is_refused(tmp_path, kind, change, expected):
    document = saved(release(kind), tmp_path)
    if change == "detected":
        change = {"detected": True}
    if change == "curves":
        drawn = saved(release("additive model"), tmp_path)["curves"][:1]
        change = {"curves": drawn * len(document["features"])}
    assert expected in refusal(tmp_path, json.dumps(document | change))


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
        (b"\xff\xfe", "UTF-8"),
        (b"PAR1\x00\x01", "JSON"),
        ("[" * 100_000, "not JSON"),
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


def test_a_recipe_may_say_how_quoted_line_breaks_are_read(tmp_path):
    read_options = READ_OPTIONS | {"schema": {"file": {"multiline": True}}}
    nolook.save(fitted(NAMES, read_options=read_options), tmp_path / "m.json")
    assert nolook.load(tmp_path / "m.json").read_options_ == read_options


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("coef",), [1.0], "expected coef to have 3 entries"),
        (("coef_interval", 0), [2.0, 1.0], "the lower end before the upper end"),
        (("target_range",), [2.0, 1.0], "the lower end of target_range before the upper end"),
        (("target_range",), [None, None, None], "of length 2, got 3 - at `$.target_range`"),
        (("row_norm",), -1.0, ">= 0.0 - at `$.row_norm`"),
        (("weight_norm",), 0.0, "> 0.0 - at `$.weight_norm`"),
        (("scaling", "limit"), 0.0, "> 0.0 - at `$.scaling.limit`"),
        (("r2_interval",), [0.5, 0.25], "the upper end - at `$.r2_interval`"),
        (("scaling", "scale", 0), 0.0, "scaling.scale to be above 0"),
        (("features",), ["city=Bern", "age", "age"], "each column once"),
        (("method",), "magic", "one of 'linear'"),
        (("read_options", "missing"), "guess", "invalid value - at `$.read_options.missing`"),
        (
            ("read_options", "categories"),
            {"town": ["A"]},
            "categories of some of features - at `$.read_options`",
        ),
        (
            ("read_options", "categories", "city"),
            ["Aarau", "Bern"],
            "features of read_options",
        ),
        (
            ("read_options", "categories", "city"),
            ["Bern", None],
            "features of read_options",
        ),
        (("read_options", "categories", "city"), ["Bern", "Bern"], "expected each name once"),
        (
            ("read_options", "categories", "city"),
            [],
            "length >= 1 - at `$.read_options.categories[...]`",
        ),
        (("read_options", "features"), ["age", "city"], "features to be those of read_options"),
    ],
)
def test_impossible_contents_are_refused_by_name(tmp_path, document, path, value, expected):
    assert expected in refusal(tmp_path, json.dumps(put(document, path, value)))

from __future__ import annotations

import datetime as dt
import json
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.metrics import roc_auc_score

import nolook
from nolook.estimators._classes import class_places

SLOPES = np.array([1.0, -0.5, 0.0])


def data(rows=8_000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3))
    return X, generator.random(rows) < expit(X @ SLOPES - 1.0)


@pytest.fixture(scope="module")
def fitted():
    X, y = data()
    return nolook.LogisticRegression(3.0, 1e-6, random_state=0).fit(X, y)


def test_probabilities_classes_and_scores_agree(fitted):
    X, _ = data(500, seed=1)
    p, scores = fitted.predict_proba(X), fitted.decision_function(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p[:, 1], expit(scores))
    np.testing.assert_array_equal(fitted.predict(X), scores > 0)
    np.testing.assert_allclose(scores, fitted.intercept_ + X @ fitted.coef_, rtol=1e-9, atol=1e-9)


def test_far_rows_lose_weight_in_training_and_nothing_in_predictions(fitted):
    far = np.array([[1e6, 1e6, 0.0], [1e300, -1e300, 1e300]])
    X = np.vstack([far, np.random.default_rng(2).normal(size=(200, 3)) * 4.0])
    scaling, spread = fitted.scaling_, fitted.spread_
    clipped = X.clip(scaling.low[:-1], scaling.high[:-1])
    standard = (clipped - scaling.center[:-1]) / scaling.scale[:-1]
    lengths = np.hypot(1.0, np.linalg.norm((standard - spread.center) @ spread.map, axis=1))
    assert 0.1 < (lengths > fitted.weight_norm_).mean() < 0.9
    found = fitted.decision_function(X)
    np.testing.assert_allclose(found, fitted.intercept_ + clipped @ fitted.coef_, rtol=1e-9)
    for step in (1, 3, 100):
        parts = [fitted.decision_function(X[i : i + step]) for i in range(0, len(X), step)]
        assert np.concatenate(parts).tobytes() == found.tobytes()


def test_what_is_told_of_the_fit_is_near_the_truth(fitted):
    X, y = data()
    for name, true in (
        ("auc", roc_auc_score(y, fitted.decision_function(X))),
        ("base_rate", y.mean()),
    ):
        low, high = getattr(fitted, f"{name}_interval_")
        assert low - 0.01 <= true <= high + 0.01
        assert low <= getattr(fitted, f"{name}_") <= high
    assert 0.1 < fitted.pseudo_r2_ < 0.25


def test_intervals_cover_the_truth():
    held, given = 0, 0
    for seed in range(25):
        X, y = data(seed=seed)
        ends = nolook.LogisticRegression(2.0, 1e-6, random_state=seed).fit(X, y).coef_interval_
        known = ~np.isnan(ends[:, 0])
        held += ((ends[:, 0] <= SLOPES) & (ends[:, 1] >= SLOPES))[known].sum()
        given += known.sum()
    assert given >= 70
    assert held / given > 0.85


@pytest.mark.parametrize(("rows", "slope", "known"), [(20_000, 4.2, True), (5000, 5.6, False)])
def test_the_slope_of_classes_far_apart_is_held_or_not_known(rows, slope, known):
    """Curvature falls with every step there, so that gradients seem small far from the solution."""
    given, wrong = 0, 0
    for seed in range(12):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(rows, 4))
        y = generator.random(rows) < expit(slope * X[:, 2] - 0.7 * slope)
        low, high = nolook.LogisticRegression(random_state=seed).fit(X, y).coef_interval_[2]
        given += not np.isnan(low)
        wrong += slope < low or high < slope
    # Of the first, 53 of 60 are known with other seeds: fewer than 7 of 12 in 0.2 % of all runs. Of
    # the second, 25 of 420 are wrong, as 95 % intervals may be: 5 of 12 or more in 0.06 %.
    assert (given >= 7) is known
    assert wrong <= 4


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
@pytest.mark.parametrize(
    ("classes", "made"),
    [
        (("no", "yes"), lambda y: np.where(y, "yes", "no")),
        ((2, 1), lambda y: np.where(y, 1, 2)),
        ((-1.0, 1.0), lambda y: np.where(y, 1.0, -1.0).tolist()),
        (("no", "yes"), lambda y: pd.Series(np.where(y, "yes", "no"), dtype=object)),
        ((False, True), list),
    ],
)
def test_classes_are_what_they_are_declared(classes, made, fitted):
    X, y = data()
    target = made(y)
    model = nolook.LogisticRegression(3.0, 1e-6, classes, random_state=0).fit(X, target)
    np.testing.assert_array_equal(model.coef_, fitted.coef_)
    assert model.classes_.tolist() == list(classes)
    assert model.score(X, np.asarray(target)) == fitted.score(X, y) > 0.7


def test_classes_are_never_looked_up():
    X, y = data(50)
    for target in (np.where(y, 1, 2), np.where(y, 1.0, np.nan)):
        model = nolook.LogisticRegression(20.0, random_state=0).fit(X, target)
        assert model.classes_.tolist() == [0, 1]
        assert abs(model.rows_.left_out - (50 - np.isin(target, (0, 1)).sum())) < 10


WORDS = ["yes", "no"] * 20


def test_objects_are_no_outcome_unless_classes_name_them(costs_nothing):
    X, objects = np.arange(40.0)[:, None], np.array(WORDS, dtype=object)
    costs_nothing(partial(nolook.LogisticRegression(1.0).fit, X, objects), "the type of y")


@pytest.mark.parametrize(
    "words",
    [
        np.array(WORDS),
        pd.Series(WORDS, dtype="str"),
        pl.Series(WORDS),
        pa.array(WORDS),
    ],
)
def test_words_are_no_outcome_unless_classes_name_them(words, costs_nothing):
    X = np.arange(40.0)[:, None] / 40.0
    for kind in (nolook.LogisticRegression, nolook.AdditiveClassifier):
        costs_nothing(partial(kind(1.0).fit, X, words), r"classes=\('no', 'yes'\)")
    for kind in (nolook.ROCCurve, nolook.HosmerLemeshow):
        costs_nothing(partial(kind(1.0).fit, X[:, 0], words), "pos_label is 1, .* holds words")


@pytest.mark.parametrize(
    ("made", "classes"),
    [
        (lambda words, _: pd.Categorical(words, ["yes", "no"]), ["yes", "no"]),
        (lambda _, y: pa.array(y), [False, True]),
        (lambda _, y: pl.Series(y), [False, True]),
        (lambda _, y: pd.Series(y, dtype="boolean"), [False, True]),
        (lambda _, y: pd.Series(y, dtype="int8"), [0, 1]),
    ],
)
def test_classes_follow_from_the_declared_type(made, classes):
    X, y = data(60)
    model = nolook.LogisticRegression(20.0).fit(X, made(np.where(y, "yes", "no"), y))
    assert model.classes_.tolist() == classes
    assert set(model.predict(X)) <= {*classes}


CELLS = ["no", "yes", "yes", "no"]


@pytest.mark.parametrize(
    ("target", "classes"),
    [
        *((np.array([0, 1, 1, 0], dtype=kind), [0, 1]) for kind in ("f2", "g", "u8", ">i4", "?")),
        (np.array([0, 1, 1, 0]), [False, True]),
        (np.array([2**60, 2**60 + 1, 2**60 + 1, 2**60]), [2**60, 2**60 + 1]),
        ([0.0, True, 1, "0"], [0, 1]),
        ([" no", "YES", "yes", "No "], ["no", "yes"]),
        (np.array(CELLS, dtype=object)[:, None], ["no", "yes"]),
        (pd.Index(CELLS), ["no", "yes"]),
        (pd.Series(CELLS, dtype="category"), ["no", "yes"]),
        (pd.Categorical([0.0, 1.0, 1.0, 0.0]), [0.0, 1.0]),
        (pd.DataFrame({"y": CELLS}), ["no", "yes"]),
        (pl.Series(CELLS, dtype=pl.Enum(["no", "yes"])), ["no", "yes"]),
        (pl.DataFrame({"y": [0, 1, 1, 0]}), [0, 1]),
        (pa.array(CELLS).dictionary_encode(), ["no", "yes"]),
        (pa.chunked_array([[False, True], [True, False]]), [0, 1]),
    ],
)
def test_classes_are_found_in_whatever_holds_an_outcome(target, classes):
    assert class_places(target, classes, "y", "classes").to_pylist() == [0, 1, 1, 0]


def test_a_cell_that_is_no_class_is_missing_whatever_it_is():
    cells = [None, pd.NA, np.nan, [1], "\ud800", 1 + 1j, object(), 2**200, b"1", 1]
    assert class_places(cells, [0, 1], "y", "classes").to_pylist() == [None] * 9 + [1]


class Raises:
    def __float__(self):
        raise RuntimeError("of a cell")

    __str__ = __int__ = encode = __float__


def test_a_cell_that_raises_is_missing():
    made = [type("Cell", (Raises, kind), {})(1) for kind in (int, float, str)]
    assert class_places([*made, 1], [0, 1], "y", "classes").null_count == 2


@pytest.mark.parametrize(
    "words",
    [
        pd.Categorical(WORDS, ["no", "yes", "not asked"]),
        pd.DataFrame({"y": np.array(WORDS, dtype=object)}),
    ],
)
def test_more_than_two_words_are_no_outcome_either(words, costs_nothing):
    X = np.arange(40.0)[:, None] / 40.0
    costs_nothing(partial(nolook.LogisticRegression(1.0).fit, X, words), "^the type of y")


@pytest.mark.parametrize("y", [WORDS, [0, 1] * 20, [True, False] * 20, ["no", 1] * 20])
def test_an_outcome_without_a_type_is_refused_whatever_its_cells_hold(y, costs_nothing):
    X = np.arange(40.0)[:, None] / 40.0
    said = costs_nothing(partial(nolook.LogisticRegression(1.0).fit, X, y), "a list, words")
    assert said == costs_nothing(
        partial(nolook.LogisticRegression(1.0).fit, X, WORDS), "a list, words"
    )
    nolook.LogisticRegression(1.0, classes=("no", "yes")).fit(X, y)


DAYS = pa.array([dt.date(2024, 1, 1)] * 40)


@pytest.mark.parametrize(
    "y",
    [
        *(
            DAYS,
            DAYS.cast(pa.timestamp("s")),
            DAYS.to_pandas().astype("M8[s]"),
            np.ones(40, "M8[D]"),
        ),
        *(pa.array([[1.0]] * 40), pa.array([{"a": 1}] * 40), pl.Series([[1.0]] * 40)),
        *(pl.Series([dt.date(2024, 1, 1)] * 40), pa.array([b"1"] * 40)),
        *(pa.array([{"a": 1}] * 40, pa.map_(pa.string(), pa.int64())), np.full(40, b"1")),
        pd.Series([[1.0]] * 40, dtype=pd.ArrowDtype(pa.list_(pa.float64()))),
        *(pa.nulls(40), pa.chunked_array([pa.nulls(40)]), pl.Series([None] * 40)),
        pd.Series([None] * 40, dtype=pd.ArrowDtype(pa.null())),
    ],
    ids=lambda y: str(getattr(y, "dtype", getattr(y, "type", None))),
)
@pytest.mark.parametrize("classes", [None, (0, 1), ("no", "yes")])
def test_an_outcome_of_dates_lists_or_nothing_is_refused_by_its_type(y, classes, costs_nothing):
    X = np.arange(40.0)[:, None] / 40.0
    said = costs_nothing(
        partial(nolook.LogisticRegression(1.0, classes=classes).fit, X, y), "^y is"
    )
    assert "one a row" in said
    assert "|s1" not in said  # which tells how long the longest cell is
    costs_nothing(partial(nolook.ROCCurve(1.0).fit, X[:, 0], y), "^target is of type")


@pytest.mark.parametrize("classes", ["ab", ("a",), ("a", "a"), ("a", 1), (0, 1, 2), 3, (None, 1)])
def test_classes_that_are_no_pair_are_refused(classes):
    with pytest.raises(nolook.ParameterError, match="classes"):
        nolook.LogisticRegression(classes=classes).fit(*data(20))


YES = {"positive": "yes", "negative": "no"}


def table(target, **options):
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        buys=np.where(y, "yes", "no"), flag=y, number=y.astype(int)
    )
    return nolook.read_table(frame, target, features=["a", "b", "c"], **options)


def test_a_table_names_its_positive_class(fitted):
    model = nolook.LogisticRegression(3.0, 1e-6, random_state=0)
    for each, classes in (
        (table("buys", **YES), ["no", "yes"]),
        (table("flag"), [False, True]),
        (table("number", positive="1"), [0, 1]),
    ):
        np.testing.assert_array_equal(model.fit(each).coef_, fitted.coef_)
        assert model.classes_.tolist() == classes


def test_a_table_of_numbers_has_no_classes():
    with pytest.raises(nolook.ParameterError, match="positive"):
        nolook.LogisticRegression().fit(table("number"))
    with pytest.raises(nolook.ParameterError, match="classes is given with a Table"):
        nolook.LogisticRegression(classes=("no", "yes")).fit(table("buys", **YES))


def test_missing_features_are_centred_and_missing_targets_left_out():
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=pd.array(y, dtype="boolean"))
    frame.loc[::10, "a"] = np.nan
    frame.loc[5::50, "y"] = pd.NA
    held = nolook.read_table(frame, "y", missing="centre")
    model = nolook.LogisticRegression(3.0, 1e-6, random_state=0).fit(held)
    assert abs(model.rows_.value - 0.98 * len(y)) < 10 * model.rows_.error
    assert np.abs(model.coef_ - SLOPES).max() < 0.4
    assert np.isfinite(model.predict_proba(frame[["a", "b", "c"]])).all()


def test_where_noise_drowns_the_slopes_they_are_pulled_and_nothing_else_is_said():
    X, y = data(300)
    hidden = []
    for seed in range(12):
        model = nolook.LogisticRegression(0.05, 1e-6, random_state=seed).fit(X, y)
        if model.detected_:
            continue
        assert model.coef_interval_ is model.intercept_interval_ is None
        assert model.auc_ is model.pseudo_r2_ is None
        low, high = model.base_rate_interval_
        assert low <= model.base_rate_ <= high
        hidden.append(model.coef_ * model.scaling_.scale[:-1])
    assert len(hidden) >= 8
    assert np.median(np.abs(hidden)) < 0.1 * np.abs(SLOPES).max()


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_a_model_without_evidence_keeps_what_it_has_for_predictions(tmp_path):
    X, y = data(600)
    models = (nolook.LogisticRegression(0.5, random_state=seed).fit(X, y) for seed in range(20))
    hidden = [model for model in models if not model.detected_]
    assert hidden
    fresh, truth = data(5_000, seed=1)
    scores = [model.decision_function(fresh) for model in hidden]
    assert np.mean([roc_auc_score(truth, each) for each in scores]) > 0.6
    nolook.save(hidden[0], tmp_path / "m.json")
    loaded = nolook.load(tmp_path / "m.json")
    assert not loaded.detected_
    assert loaded.decision_function(fresh).tobytes() == scores[0].tobytes()


def pipeline(classes=None, epsilon=8.0):
    return nolook.PrivatePipeline(
        nolook.KendallSelector(2, random_state=0),
        nolook.LogisticRegression(classes=classes, random_state=0),
        epsilon=epsilon,
        delta=1e-6,
    )


@pytest.mark.filterwarnings("ignore::nolook.errors.OutsideGuarantee")
def test_a_pipeline_chooses_columns_and_classifies():
    X, y = data()
    model = pipeline(("no", "yes")).fit(X, np.where(y, "yes", "no"))
    assert is_classifier(model)
    assert model.support_.tolist() == [True, True, False]
    assert model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}
    np.testing.assert_array_equal(model.predict(X) == "yes", model.predict_proba(X)[:, 1] > 0.5)
    assert model.score(X, np.where(y, "yes", "no")) > 0.7
    assert not hasattr(nolook.PrivatePipeline(
        nolook.KendallSelector(2), nolook.LinearRegression(), epsilon=1.0, delta=1e-6
    ), "predict_proba")  # fmt: skip


def test_a_pipeline_that_sees_nothing_says_so():
    X, y = data(300)
    model = pipeline(epsilon=0.05).fit(X, y)
    assert not model.detected_
    assert model.intercept_ == model.regressor_.intercept_
    assert model.coef_[model.support_].tolist() == model.regressor_.coef_.tolist()
    near = model.intercept_ + X[:20] @ model.coef_
    np.testing.assert_allclose(model.decision_function(X[:20]), near, atol=0.02)


@pytest.mark.parametrize(
    "change", [lambda s: s["center"].pop(), lambda s: s["map"].pop(), lambda s: s["map"][1].pop()]
)
def test_a_file_with_a_spread_of_another_size_is_refused(fitted, tmp_path, change):
    path = tmp_path / "m.json"
    nolook.save(fitted, path)
    document = json.loads(path.read_text("utf-8"))
    change(document["spread"])
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(nolook.ModelFileError, match=r"to have 3 entries|rows of one length"):
        nolook.load(path)


@pytest.mark.parametrize("levels", [None, {"c": ["a", "b"]}])
@pytest.mark.parametrize("pattern", [None, "%d.%m.%Y"])
def test_dates_are_predicted_as_they_were_fitted(pattern, levels):
    places = np.arange(400)
    frame = pd.DataFrame({"d": pd.to_datetime("2020-01-01") + pd.to_timedelta(places, "D")})
    frame = frame.assign(x=places % 7, c=np.array(["a", "b"])[places % 2], y=places / 40.0)
    if pattern:
        frame["d"] = frame.d.dt.strftime(pattern)
    column = {"type": "date"} | ({"pattern": pattern} if pattern else {})
    features = ["d", "x", *(levels or ())]
    options = {"features": features, "categories": levels, "schema": {"columns": {"d": column}}}
    table = nolook.read_table(frame, "y", **options)
    model = nolook.LinearRegression(1e4, 0.1, random_state=0).fit(table)
    days = model.predict(frame)
    assert days[-1] - days[0] > 5.0
    for rows in (frame[features], pl.from_pandas(frame), pa.Table.from_pandas(frame[features])):
        np.testing.assert_array_equal(model.predict(rows), days)
    with pytest.raises(nolook.TableError, match="missing or infinite"):
        model.predict(frame.assign(d=None))


@pytest.mark.parametrize("classes", [None, ("nein", "ja")])
def test_the_word_for_the_positive_class_is_in_the_sentence(classes):
    X, y = data()
    words = pd.Series(np.where(y, "ja", "nein"), name="Abschluss").astype("category")
    words = words.cat.reorder_categories(["nein", "ja"])
    model = nolook.LogisticRegression(8.0, classes=classes, random_state=0).fit(X, words)
    assert "The chance of Abschluss = ja, " in str(model.summary())
    assert ("Positive class", "ja") in model.content().settings
    assert "The chance of y, " in str(nolook.LogisticRegression(8.0).fit(X, y).summary())


def test_the_interval_of_the_pseudo_r2_covers_sampling():
    """The noise alone leaves a tenth of the width at this budget."""

    def fit(rows, seed, epsilon):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(rows, 2))
        y = generator.random(rows) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))
        return nolook.LogisticRegression(epsilon=epsilon, random_state=seed).fit(X, y)

    true = fit(200_000, 0, 20.0).pseudo_r2_
    ends = np.array([fit(1_000, seed, 300.0).pseudo_r2_interval_ for seed in range(1, 41)])
    assert ((ends[:, 0] <= true) & (true <= ends[:, 1])).sum() >= 34

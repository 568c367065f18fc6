"""What scikit-learn does outside the guarantee is said where it can be known, and nowhere else."""

from __future__ import annotations

import pickle
import re
import warnings
from linecache import getline

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingRegressor
from sklearn.feature_selection import RFE
from sklearn.linear_model import LinearRegression as PlainRegression
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import nolook
from nolook.errors import OutsideGuarantee

ROWS = 300


def data():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(ROWS, 2))
    return X, X[:, 0] + generator.normal(size=ROWS)


def said(call):
    """Return the warnings of a call, and the files that they are shown at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [one for one in caught if issubclass(one.category, OutsideGuarantee)]
    places = {(one.filename, "call()" in getline(one.filename, one.lineno)) for one in ours}
    return [str(one.message) for one in ours], places


class Untagged(BaseEstimator):
    """A step of no library."""

    def fit(self, *_):
        return self

    def transform(self, X):
        return X


def model():
    return nolook.LinearRegression()


X, Y = data()
WARNED = {
    "calibration": (
        lambda: CalibratedClassifierCV(nolook.LogisticRegression(), cv=2).fit(X, Y > 0),
        "several times",
    ),
    "bagging": (lambda: BaggingRegressor(model(), n_estimators=2).fit(X, Y), "several times"),
    "elimination": (lambda: RFE(model(), n_features_to_select=1).fit(X, Y), "several times"),
    "outputs": (
        lambda: MultiOutputRegressor(model()).fit(X, np.column_stack([Y, Y])),
        "several times",
    ),
    "step": (lambda: make_pipeline(StandardScaler(), model()).fit(X, Y), "StandardScaler is"),
    "step before a selector": (
        lambda: make_pipeline(StandardScaler(), nolook.KendallSelector(1), model()).fit(X, Y),
        "StandardScaler is",
    ),
    "step of no library": (lambda: make_pipeline(Untagged(), model()).fit(X, Y), "Untagged is"),
    "cross_val_score": (lambda: cross_val_score(model(), X, Y, cv=2), "several times"),
    "cross_validate": (lambda: cross_validate(model(), X, Y, cv=2), "several times"),
    "learning_curve": (
        lambda: learning_curve(model(), X, Y, cv=2, train_sizes=[0.5, 1.0]),
        "several times",
    ),
    "grid": (
        lambda: GridSearchCV(model(), {"epsilon": [1.0, 2.0]}, cv=2).fit(X, Y),
        "several times",
    ),
    "score": (lambda: model().fit(X, Y).score(X, Y), "score"),
    "score of classes": (
        lambda: nolook.LogisticRegression().fit(X, Y > 0).score(X, Y > 0),
        "score",
    ),
    "score of a pipeline": (
        lambda: (
            nolook.PrivatePipeline(nolook.KendallSelector(1), model(), epsilon=1.0, delta=1e-6)
            .fit(X, Y)
            .score(X, Y)
        ),
        "score",
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_is_outside_is_said_where_the_user_called(name):
    call, words = WARNED[name]
    messages, files = said(call)
    assert messages
    assert any(words in message for message in messages)
    assert all(
        "\n" not in message and re.search("expected|leave it out|use ", message)
        for message in messages
    )
    assert files == {(__file__, False)}


def test_a_search_of_many_fits_is_told_of_once():
    for call in (
        lambda: cross_val_score(model(), X, Y, cv=2),
        lambda: cross_val_score(model(), X, Y, cv=5),
    ):
        messages, _ = said(call)
        assert len([one for one in messages if "several times" in one]) == 1


def test_the_next_cell_of_a_notebook_is_told_again():
    code = "\ncross_val_score(model(), X, Y, cv=2)"
    for _ in range(2):
        messages, _ = said(lambda: exec(compile(code, "<stdin>", "exec"), globals()))
        assert len(messages) == 1


def test_a_search_over_a_pipeline_is_said_to_be_both():
    messages, _ = said(lambda: cross_val_score(make_pipeline(StandardScaler(), model()), X, Y))
    assert len({message[:12] for message in messages}) == 2


SILENT = {
    "fit": lambda: model().fit(X, Y),
    "predict": lambda: model().fit(X, Y).predict(X),
    "other rows": lambda: model().fit(X, Y).score(X.copy(), Y),
    "stateless steps": lambda: make_pipeline(FunctionTransformer(), Normalizer(), model()).fit(
        X, Y
    ),
    "private steps": lambda: make_pipeline(nolook.KendallSelector(1), model()).fit(X, Y),
    "passthrough": lambda: make_pipeline("passthrough", model()).fit(X, Y),
    "a plain model after": lambda: make_pipeline(nolook.QuantileScaler(), PlainRegression()).fit(
        X, Y
    ),
    "ours": lambda: nolook.cross_validate(model(), X, Y, folds=2),
    "another model's search": lambda: cross_val_score(PlainRegression(), X, Y),
    "a copy": lambda: clone(model().fit(X, Y)).fit(X.copy(), Y).score(X, Y),
    "read again": lambda: pickle.loads(pickle.dumps(model().fit(X, Y))).score(X, Y),
    "a list": lambda: model().fit(X.tolist(), Y).score(X, Y),
}


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_said_that_is_not_known(name):
    messages, _ = said(SILENT[name])
    assert not messages


def test_it_does_not_depend_on_what_is_in_the_rows():
    scaled = make_pipeline(StandardScaler(), model())
    assert said(lambda: scaled.fit(X, Y)) == said(lambda: scaled.fit(10 + 0 * X, Y - 5e3))


def test_a_filter_silences_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", nolook.OutsideGuarantee)
        cross_val_score(model(), X, Y, cv=2)


def test_where_it_is_an_error_every_fit_raises():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Scoring failed")
        with pytest.raises(ValueError, match="All the 3 fits failed"):
            cross_val_score(model(), X, Y, cv=3)


def test_rows_are_not_kept_alive():
    frame = pd.DataFrame(X)
    fitted = model().fit(frame, Y)
    assert not any(value is frame for value in vars(fitted).values())
    assert b"_FITTED" not in pickle.dumps(fitted)

"""The parameters of a method in the model file."""

from __future__ import annotations

import json

import numpy as np
import pytest

import nolook
from nolook import ParameterError
from nolook.estimators.catalogue import METHODS, own_parameters
from tests.formats.edited import refusal
from tests.report.hand_made import CHOOSY, Choosy, fitted

NAMES = ("age", "height", "income")


@pytest.fixture
def choosy(monkeypatch):
    monkeypatch.setitem(METHODS, "tukey", CHOOSY)


CHOICES = (
    {},
    {"n_models": 500, "on_failure": "constant", "exact": False},
    {"bound": 2.5},
    {"bound": 3},
    {"n_models": np.int64(7), "bound": np.float64(0.1)},
)


@pytest.mark.parametrize("chosen", CHOICES, ids=str)
def test_the_parameters_of_a_method_come_back(tmp_path, choosy, chosen):
    model = fitted(NAMES, made_by=Choosy(0.5, **chosen), epsilon=0.5)
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    assert type(loaded) is Choosy
    assert loaded.get_params() == model.get_params()
    kinds = {name: type(value) for name, value in loaded.get_params().items()}
    assert kinds["n_models"] in (int, str)
    assert kinds["exact"] is bool
    assert json.loads((tmp_path / "model.json").read_text())["method"] == "tukey"


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, np.inf, np.nan, 1j, np.ones(2), object(), "1", True, (1.0, 2.0)]
)
def test_a_parameter_that_is_no_plain_value_of_its_type_is_not_saved(tmp_path, choosy, value):
    model = fitted(NAMES, made_by=Choosy(bound=value))
    with pytest.raises(ParameterError, match=r"type Choosy, which cannot be saved: ") as caught:
        nolook.save(model, tmp_path / "model.json")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"n_models": 1.0}, "in parameters, expected `int | str`, got `float` - at `$.n_models`"),
        ({"n_models": None}, "`$.n_models`"),
        ({"n_models": True}, "`$.n_models`"),
        ({"exact": 1}, "`$.exact`"),
        ({"bound": "1"}, "`$.bound`"),
        ({"bound": False}, "`$.bound`"),
        ({"bound": [1.0]}, "`$.bound`"),
        ({"bound": 10**400}, "not a finite double"),
        ({"bound": {}}, "`$.bound`"),
        ({"on_failure": None}, "`$.on_failure`"),
        ({"magic": 1}, "in parameters, object contains unknown field `magic`"),
        ({"random_state": 1}, "unknown field `random_state`"),
        ({"epsilon": 9.0}, "unknown field `epsilon`"),
    ],
)
def test_parameters_are_read_strictly(tmp_path, choosy, changes, expected):
    nolook.save(fitted(NAMES, made_by=Choosy()), tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["parameters"] |= changes
    assert expected in refusal(tmp_path, json.dumps(document))


def test_no_parameter_may_be_left_out(tmp_path, choosy):
    nolook.save(fitted(NAMES, made_by=Choosy()), tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    del document["parameters"]["bound"]
    expected = "in parameters, object missing required field `bound`"
    assert expected in refusal(tmp_path, json.dumps(document))


def test_loading_fits_nothing(tmp_path, choosy, monkeypatch):
    nolook.save(fitted(NAMES, made_by=Choosy()), tmp_path / "model.json")

    def fail(self, *args, **kwargs):
        raise AssertionError

    monkeypatch.setattr(Choosy, "fit", fail)
    monkeypatch.setattr(Choosy, "predict", fail)
    nolook.load(tmp_path / "model.json")


@pytest.mark.parametrize("method", METHODS)
def test_each_method_comes_back_with_its_parameters(tmp_path, method):
    # Also fails where a constructor's types cannot be told from its annotations.
    model = fitted(NAMES, made_by=METHODS[method].load()())
    nolook.save(model, tmp_path / "model.json")
    loaded = nolook.load(tmp_path / "model.json")
    assert type(loaded) is type(model)
    assert own_parameters(loaded) == own_parameters(model)


def test_a_subclass_with_parameters_of_its_own_is_not_saved(tmp_path):
    class Ours(nolook.LinearRegression):
        def __init__(self, epsilon=1.0, delta=1e-6, weight=1.0, random_state=None):
            super().__init__(epsilon, delta, random_state=random_state)
            self.weight = weight

    with pytest.raises(ParameterError, match="type Ours, which cannot be saved: in parameters"):
        nolook.save(fitted(NAMES, made_by=Ours()), tmp_path / "model.json")
    assert not list(tmp_path.iterdir())

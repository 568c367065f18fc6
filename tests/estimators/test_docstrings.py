"""What `help` shows of an estimator: every parameter and attribute, also those of its bases."""

from __future__ import annotations

import ast
import inspect
import re

import numpy as np
import pytest

import nolook
from nolook.estimators.base import PrivateEstimator
from tests.contracts.distributions import DISTRIBUTIONS
from tests.contracts.estimators import ESTIMATORS
from tests.contracts.selectors import SELECTORS

SECTION = r"^{}\n-+\n((?:.+\n?)*)"
KINDS = [
    kind
    for kind in (getattr(nolook, name) for name in nolook.__all__)
    if isinstance(kind, type) and issubclass(kind, PrivateEstimator)
]


def documented(kind, title):
    (entries,) = re.findall(SECTION.format(title), inspect.getdoc(kind), re.MULTILINE)
    lines = re.findall(r"^(\w.*?)(?: :.*)?$", entries, re.MULTILINE)
    return [name for line in lines for name in line.split(", ")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_is_documented_once_in_the_order_of_the_signature(kind):
    assert documented(kind, "Parameters") == list(inspect.signature(kind).parameters)


@pytest.mark.parametrize("kind", KINDS)
def test_each_default_is_documented_as_it_is(kind):
    entries = re.findall(r"^(\w+) : .*default=(.+)$", inspect.getdoc(kind), re.MULTILINE)
    defaults = {name: one.default for name, one in inspect.signature(kind).parameters.items()}
    required = {name for name, value in defaults.items() if value is inspect.Parameter.empty}
    assert defaults.keys() - required <= dict(entries).keys()
    assert all(ast.literal_eval(stated) == defaults[name] for name, stated in entries)


@pytest.mark.parametrize(
    "name",
    sorted(
        {kind.__name__ for kind in KINDS}
        | {"Budget", "Ledger", "LinearGrid", "LogGrid"}
        | {"load", "PrivatePipeline", "quantiles", "read_table"}
    ),
)
def test_whatever_users_call_has_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(nolook, name))


@pytest.mark.parametrize(
    "name",
    sorted(
        {kind.__name__ for kind in KINDS}
        | {"compare_groups", "cross_validate", "describe", "evaluate", "quantiles", "survival"}
        | {"tabulate", "CalibrationCurve", "CrossValidation", "Description", "Evaluation"}
        | {"GroupComparison", "Quantiles", "SurvivalCurve", "Tabulation"}
    ),
)
def test_releases_and_results_name_what_is_like_them(name):
    text = inspect.getdoc(getattr(nolook, name))
    (entries,) = re.findall(SECTION.format("See Also"), text, re.MULTILINE)
    assert all(hasattr(nolook, other) for other in re.findall(r"^(\w+) : ", entries, re.MULTILINE))


def test_a_method_keeps_what_its_base_documents():
    text = inspect.getdoc(nolook.LinearRegression.fit)
    (entries,) = re.findall(SECTION.format("Parameters"), text, re.MULTILINE)
    listed = re.findall(r"^(\w+) : ", entries, re.MULTILINE)
    assert listed == list(inspect.signature(nolook.LinearRegression.fit).parameters)[1:]
    assert "BudgetExceededError" in text


def table():
    X = np.random.default_rng(0).normal(size=(300, 3))
    return X, X[:, 0]


FITS = {
    **{name: lambda row=row: row.make().fit(*table()) for name, row in ESTIMATORS.items()},
    **{name: lambda row=row: row.make(1).fit(*table()) for name, row in SELECTORS.items()},
    **{
        name: lambda row=row: row.make().fit(*row.data(300, 0))
        for name, row in DISTRIBUTIONS.items()
    },
    "PrivatePipeline": lambda: nolook.PrivatePipeline(
        nolook.KendallSelector(1), nolook.LinearRegression()
    ).fit(*table()),
}


@pytest.mark.parametrize("name", FITS)
def test_just_the_fitted_attributes_are_documented_once(name):
    estimator = FITS[name]()
    names = documented(type(estimator), "Attributes")
    assert len(names) == len(set(names))
    stored = {name for name in vars(estimator) if name.endswith("_")}
    assert stored <= set(names)
    # Columns of arrays have no names.
    assert all(hasattr(estimator, name) for name in set(names) - {"feature_names_in_"})


class _Base(PrivateEstimator):
    """A base.

    Parameters
    ----------
    epsilon : float
        Of the base.

    Attributes
    ----------
    first_ : int
    """

    def __init__(self, epsilon=1.0):
        self.epsilon = epsilon


class _Own(_Base):
    """A class of its own.

    More words.

    Parameters
    ----------
    epsilon : float
        Its own.
    other : int

    Notes
    -----
    Last.
    """

    def __init__(self, other=1, epsilon=1.0):
        super().__init__(epsilon)
        self.other = other


def test_an_entry_of_the_class_itself_replaces_that_of_a_base():
    text = inspect.getdoc(_Own)
    assert text.startswith(
        "A class of its own.\n\nMore words.\n\nParameters\n----------\nother : int"
    )
    assert "Its own." in text
    assert "Of the base." not in text
    assert documented(_Own, "Attributes") == ["privacy_", "read_options_", "rows_", "first_"]
    assert text.endswith("Notes\n-----\nLast.")

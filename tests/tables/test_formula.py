"""Formulas: every term becomes the columns it says, or is refused in one line."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import nolook
from nolook.errors import ParameterError, TableError
from nolook.tables import read_table
from nolook.tables.formula import formula_of, from_formula, schema_of

SCHEMA = nolook.Schema(
    {
        "sex": {"type": "category", "levels": ["M", "F"], "undeclared": "missing"},
        "ward": {"type": "category", "levels": ["A", "B", "C"], "undeclared": "missing"},
    }
)
RNG = np.random.default_rng(0)
AGE, DAYS = RNG.uniform(1.0, 90.0, 500).round(1), RNG.lognormal(size=500)
SEX, WARD = RNG.choice(["M", "F"], 500), RNG.choice(["A", "B", "C"], 500)
ROWS = pa.table(
    {"cost": 10 * DAYS, "age": AGE, "days": DAYS, "b m i": AGE / 3, "sex": SEX, "ward": WARD}
)
F, B, C = SEX == "F", WARD == "B", WARD == "C"


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ("age", [AGE]),
        ("1 + age + I(age**2)", [AGE, AGE**2]),
        ("I((age - 40.5)**2) + I((age+1e1) ** 2)", [(AGE - 40.5) ** 2, (AGE + 10) ** 2]),
        ("I(age**3) + np.log1p(days)+ arcsinh(`b m i`)",
         [AGE**3, np.log1p(DAYS), np.arcsinh(AGE / 3)]),
        ("I(age * `b m i`*days)", [AGE * (AGE / 3) * DAYS]),
        ("age*days", [AGE, DAYS, AGE * DAYS]),
        ("age:log(days)", [AGE * np.log(DAYS)]),
        ("C(ward) + sex", [B, C, F]),
        ("sex*ward", [F, B, C, F & B, F & C]),
        ("age + sex*ward + age:sex + age:ward + age:sex:ward",
         [AGE, F, B, C, F & B, F & C, AGE * F, AGE * B, AGE * C, AGE * (F & B), AGE * (F & C)]),
        ("sex*age*days", [F, AGE, DAYS, F * AGE, F * DAYS, AGE * DAYS, F * AGE * DAYS]),
    ],
)  # fmt: skip
def test_terms_give_the_columns_they_stand_for(right, expected):
    table = from_formula(f"log(cost) ~ {right}", ROWS, schema=SCHEMA)
    found = np.concatenate([*table.batches()], axis=1)
    assert table.target_name == "log(cost)"
    np.testing.assert_allclose(found[:-1], np.array(expected, dtype=float), rtol=1e-14)
    np.testing.assert_allclose(found[-1], np.log(10 * DAYS), rtol=1e-14)


REFUSED = {
    "age^2": "which in a formula is age (write I(age**2))",
    "age**2": "which in a formula is age (write I(age**2))",
    "age - 1": "a model always has a constant",
    "0 + age": "a model always has a constant",
    "age + age": "'age', which occurs twice",
    "age + C(ward) + ward": "'ward', which occurs twice",
    "sex*ward + age*ward": "'ward', which occurs twice",
    "age:days + days:age": "'days:age', which occurs twice",
    "age:age": "which occurs twice",
    "np.log(age) + log(age)": "'log(age)', which occurs twice",
    "sex:ward": "but not 'ward' (add it: + ward)",
    "age:ward": "but not 'age'",
    "sex*ward + age:sex:ward": "but not 'age:ward'",
    "C(age)": "no levels are declared",
    "poly(age, 2)": "which is none of",
    "scale(age)": "which is none of",
    "bs(age, df=4)": "which is none of",
    "C(ward, Sum)": "which is none of",
    "(age + days)*sex": "which is none of",
    "age/sex": "which is none of",
    "age - days": "which is none of",
    "2*age": "which is none of",
    "I(age)": "which is none of",
    "I(age**9)": "which is none of",
    "I(age/days)": "which is none of",
    "I(age + days)": "which is none of",
    ".": "which is none of",
    "": "which is none of",
    "age +": "which is none of",
    "age + cost2": "no such column",
    "log(cost2)": "log_of names 'cost2', but the table has no such column",
    "log(sex)": "is of type category",
    "age + cost": "names 'cost', which is also the target",
}


@pytest.mark.parametrize("right", REFUSED)
def test_whatever_would_be_dropped_merged_or_found_in_the_data_is_refused(right):
    with pytest.raises((ParameterError, TableError)) as caught:
        from_formula(f"cost ~ {right}", ROWS, schema=SCHEMA)
    assert REFUSED[right] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("left", ["cost ~ days", "cost + days", "I(cost)", "exp(cost)", "log(cost"])
def test_a_target_is_one_column_or_its_logarithm_or_power(left):
    with pytest.raises(ParameterError, match="which is none of"):
        from_formula(f"{left} ~ age", ROWS, schema=SCHEMA)


def test_without_a_target_there_is_none_and_a_declared_one_gives_way():
    assert from_formula("~ age", ROWS).target_name is None
    schema = nolook.Schema({"cost": {"type": "number", "use": "target"}})
    assert from_formula("log(cost) ~ age", ROWS, schema=schema).target_name == "log(cost)"
    assert from_formula("days ~ age", ROWS, schema=schema).target_name == "days"


def test_levels_may_be_given_and_a_category_that_is_not_used_is_refused():
    levels = {"sex": ["M", "F"]}
    table = from_formula("cost ~ age*sex", ROWS, categories=levels)
    assert table.feature_names == ("age", "sex=F", "sex=...", "age:sex=F", "age:sex=...")
    with pytest.raises(ParameterError, match="'sex', which is not a feature"):
        from_formula("cost ~ age", ROWS, categories=levels)


def test_a_model_predicts_rows_without_its_target_and_says_its_formula(tmp_path):
    formula = "log(cost) ~ age + I(age**2) + age*days*sex"
    with pytest.raises(ParameterError, match="'age', which occurs twice"):
        from_formula(formula, ROWS, schema=SCHEMA)
    formula = "log(cost) ~ I(age**2) + age*sex + log(days)"
    table = from_formula(formula, ROWS, schema=SCHEMA)
    model = nolook.LinearRegression(epsilon=1.0, delta=1e-6, random_state=0).fit(table)
    new = ROWS.drop_columns("cost")
    again = read_table(new, False, **model.read_options_)
    assert again.feature_names == table.feature_names
    said = "log(cost) ~ I(age**2) + age + sex + log(days) + age:sex"
    assert formula_of("log(cost)", model.read_options_) == said
    model.report(tmp_path / "r.html")
    assert said in (tmp_path / "r.html").read_text("utf-8")
    made, target, features = schema_of(said, SCHEMA)
    assert (target, features) == ("log(cost)", model.read_options_["features"])
    assert formula_of("cost", {"features": ["age"]}) is None
    assert made.columns["age:sex=F"].derived.of == ("age", "sex=F")

"""Derived columns: a cell depends on its own row alone, to the last bit, wherever it stands."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest

import nolook
from nolook._numerics import inverse_sinhs, logarithms, logarithms_1p
from nolook.errors import ParameterError, TableError
from nolook.tables import read_table

ROWS = pa.table(
    {
        "x": [1.5, -2.0, math.inf, None, math.nan, 0.0, 1e200],
        "n": pa.array([0, -1, 3, None, 2**53, 1, 7]),
        "b": [True, False, True, None, True, True, False],
        "sex": ["F", " m ", "x", None, "", "F", "M"],
    }
)
SEX = {"type": "category", "levels": ["M", "F"]}


def column(source: pa.Table = ROWS, *, sex: object = SEX, **settings: object) -> list[float]:
    """Read one derived column; NaN where it is missing."""
    schema = {"columns": {"sex": sex, "made": settings}}
    table = read_table(source, features=["made"], schema=schema)
    (numbers, complete, _), *_ = table.batches_in_place()
    return [each if there else math.nan for each, there in zip(numbers[-1], complete, strict=True)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"log_of": "x"}, [math.log(1.5), None, None, None, None, None, math.log(1e200)]),
        ({"log1p_of": "n"}, [0, None, math.log(4), None, *map(math.log, (2**53, 2, 8))]),
        ({"square_of": "n"}, [0, 1, 9, None, 2.0**106, 1, 49]),
        ({"square_of": "n", "around": 3}, [9, 16, 0, None, (2.0**53 - 3) ** 2, 4, 16]),
        ({"square_of": "x"}, [2.25, 4, None, None, None, 0, None]),
        ({"product_of": ["n", "b"]}, [0, 0, 3, None, 2**53, 1, 0]),
        ({"product_of": ["n", "sex=F"]}, [0, 0, 0, None, None, 1, 0]),
        ({"product_of": ["n", "sex=M"]}, [0, -1, 0, None, None, 0, 7]),
        ({"product_of": ["n", "sex=..."]}, [0, 0, 3, None, None, 0, 0]),
        ({"product_of": ["n", "sex=F"], "sex": {**SEX, "undeclared": "missing"}},
         [0, 0, None, None, None, 1, 0]),
        ({"product_of": ["b", "sex=F"]}, [1, 0, 0, None, None, 1, 0]),
        ({"difference_of": ["n", "x"]}, [-1.5, 1, None, None, None, 1, 7 - 1e200]),
        ({"difference_of": ["n", "sex=F"]}, [-1, -1, 3, None, None, 0, 7]),
        ({"missing_of": "x"}, [0, 0, 1, 1, 1, 0, 0]),
        ({"missing_of": "b"}, [0, 0, 0, 1, 0, 0, 0]),
    ],
)  # fmt: skip
def test_each_cell_is_the_function_of_its_row_or_missing(settings, expected):
    wanted = [math.nan if each is None else each for each in expected]
    assert column(**settings) == pytest.approx(wanted, rel=1e-15, nan_ok=True)


def test_nothing_missing_is_no_special_case():
    for each, expected in (("sex=F", [2.0, 0.0]), ("sex=...", [0.0, 0.0]), ("b", [0.0, 3.0])):
        rows = pa.table({"x": [2.0, 3.0], "sex": ["F", "M"], "b": [False, True]})
        assert column(rows, product_of=["x", each]) == expected


def test_the_difference_of_two_dates_is_the_days_between_them():
    rows = pa.table({"out": ["31.01.2024", "2.3.2024", "", "x"], "in": ["2024-01-28"] * 4})
    dates = {
        "out": {"type": "date", "pattern": "%d.%m.%Y", "origin": "2020-01-01"},
        "in": {"type": "date"},
    }
    schema = {"columns": {**dates, "stay": {"difference_of": ["out", "in"]}}}
    table = read_table(rows, features=["stay"], schema=schema)
    (numbers, complete, _), *_ = table.batches_in_place()
    assert numbers[0, complete].tolist() == [3.0, 34.0]
    assert complete.tolist() == [True, True, False, False]


def test_bins_contain_their_lower_border():
    schema = {"columns": {"band": {"bins_of": "x", "borders": [0, 1.5]}}}
    table = read_table(ROWS, features=["band"], schema=schema)
    assert table.feature_names == ("band=0 to <1.5", "band=>=1.5")
    (numbers, complete, _), *_ = table.batches_in_place()
    assert complete.tolist() == [True, True, False, False, False, True, True]
    assert numbers[:, complete].tolist() == [[0, 0, 1, 0], [1, 0, 0, 1]]
    assert read_table(ROWS, **table.read_options()).feature_names == table.feature_names


def test_products_of_booleans_and_levels_need_no_scale_search():
    made = {"both": {"product_of": ["b", "sex=F"]}, "one": {"product_of": ["n", "sex=F"]}}
    table = read_table(ROWS, features=["both", "one"], schema={"columns": {"sex": SEX, **made}})
    assert table.binary.tolist() == [True, False]


@pytest.mark.parametrize(
    ("function", "exact", "values"),
    [
        (logarithms, lambda x: x.ln(), np.exp(np.linspace(-740, 709, 41))),
        (logarithms, lambda x: x.ln(), 1 + np.linspace(-0.3, 0.42, 41)),
        (logarithms_1p, lambda x: (1 + x).ln(), np.linspace(-0.99, 3, 41)),
        (logarithms_1p, lambda x: (1 + x).ln(), np.geomspace(1e-18, 1e18, 41)),
        (inverse_sinhs, lambda x: (x + (x * x + 1).sqrt()).ln(), np.geomspace(1e-9, 1e300, 41)),
    ],
)
def test_logarithms_are_right_to_a_few_units_in_the_last_place(function, exact, values):
    with localcontext(prec=700):
        wanted = np.array([float(exact(Decimal(float(x)))) for x in values])
    assert function(values) == pytest.approx(wanted, rel=1e-15, abs=0.0)
    assert inverse_sinhs(-values).tolist() == (-inverse_sinhs(values)).tolist()


@pytest.mark.parametrize("function", ["log_of", "log1p_of", "asinh_of", "square_of"])
def test_a_cell_has_the_same_bits_wherever_it_stands(function):
    values = np.random.default_rng(3).lognormal(sigma=3, size=1_001)
    whole = np.array(column(pa.table({"x": values, "sex": ["F"] * 1_001}), **{function: "x"}))
    for start, stop in ((0, 1), (1, 1_001), (997, 1_001)):
        part = pa.table({"x": values[start:stop], "sex": ["F"] * (stop - start)})
        assert column(part, **{function: "x"}) == whole[start:stop].tolist()
    order = np.random.default_rng(4).permutation(1_001)
    shuffled = pa.table({"x": values[order], "sex": ["F"] * 1_001})
    assert column(shuffled, **{function: "x"}) == whole[order].tolist()


def test_derived_columns_may_be_derived_further_and_conditions_and_targets_use_them():
    made = {"twice": {"square_of": "log"}, "log": {"log_of": "x", "use": "target"}}
    table = read_table(ROWS, features=["twice"], schema={"columns": made}, where=[("log", ">", 1)])
    rows = np.concatenate([*table.batches()], axis=1)
    assert rows[:, 0] == pytest.approx([math.log(1e200) ** 2, math.log(1e200)])
    assert rows.shape == (2, 1)


def test_a_model_keeps_what_its_derived_columns_are_derived_from(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.lognormal(size=4_000)
    table = pa.table({"x": x, "y": 3 * np.log(x) + rng.normal(size=4_000)})
    schema = {"x": {"type": "number", "use": "nothing"}, "log": {"log_of": "x"}}
    schema["z"] = {"type": "number"}
    read = read_table(table.append_column("z", table["x"]), "y", schema={"columns": schema})
    model = nolook.LinearRegression(epsilon=5.0, delta=1e-6, random_state=0).fit(read)
    kept = model.read_options_["schema"]["columns"]
    assert kept == schema
    slopes = dict(zip(read.feature_names, model.coef_, strict=True))
    assert slopes == pytest.approx({"log": 3, "z": 0}, abs=0.3)
    nolook.save(model, tmp_path / "m.json")
    loaded = nolook.load(tmp_path / "m.json")
    again = read_table(table.append_column("z", table["x"]), **loaded.read_options_)
    assert again.feature_names == read.feature_names


def test_a_schema_with_derived_columns_survives_a_journey():
    columns = {
        "sex": SEX,
        "a": {"log_of": "x"},
        "b": {"square_of": "a", "around": 1.5, "use": "target"},
        "c": {"product_of": ["x", "sex=F"]},
        "d": {"bins_of": "x", "borders": [0.1, 2.0]},
        "e": {"year_of": "day"},
        "f": {"weekday_of": "day"},
        "g": {"missing_of": "x", "use": "nothing"},
    }
    schema = nolook.Schema(columns)
    assert schema.to_dict() == {"columns": columns}
    assert nolook.Schema.from_dict(schema.to_dict()) == schema
    assert [*schema.only(["b"]).columns] == ["a", "b"]


REFUSED = [
    ({"log_of": 3}, "log_of is 3"),
    ({"log_of": ["x"]}, "expected the name of a column"),
    ({"log_of": "x", "type": "number"}, "'type' is not a setting"),
    ({"log_of": "x", "square_of": "x"}, "'square_of' is not a setting"),
    ({"log_of": "x", "decimal": ","}, "'decimal' is not a setting"),
    ({"square_of": "x", "around": math.nan}, "around is nan"),
    ({"square_of": "x", "around": True}, "around is True"),
    ({"product_of": ["x"]}, "expected 2 to 8 columns"),
    ({"product_of": ["x"] * 9}, "expected 2 to 8 columns"),
    ({"difference_of": ["x", "n", "b"]}, "expected 2 columns"),
    ({"bins_of": "x"}, "borders is None; expected at most 100 ascending numbers"),
    ({"bins_of": "x", "borders": []}, "ascending numbers"),
    ({"bins_of": "x", "borders": [1, 1]}, "ascending numbers"),
    ({"bins_of": "x", "borders": [0, math.inf]}, "ascending numbers"),
    ({"bins_of": "x", "borders": [0], "use": "target"}, "'target' for categories"),
    ({"month_of": "x", "use": "target"}, "'target' for categories"),
    ({"year_of": "x", "years": [2020]}, "'years' is not a setting"),
    ({"log_of": "made"}, "'made' are derived from each other"),
]


@pytest.mark.parametrize(("settings", "said"), REFUSED)
def test_a_derivation_that_is_none_is_refused_in_one_line(settings, said):
    with pytest.raises(ParameterError) as caught:
        nolook.Schema({"made": settings})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"log_of": "z"}, "log_of names 'z', but the table has no such column"),
        ({"log_of": "sex"}, "is of type category; expected a number"),
        ({"missing_of": "sex"}, "is of type category; expected a number"),
        ({"month_of": "x"}, "'x', which is not declared to be a date (x = \"date\""),
        ({"product_of": ["x", "sex"]}, "in a schema 'sex=A'"),
        ({"product_of": ["x", "sex=Q"]}, "names 'sex=Q'"),
        ({"product_of": ["x", "day"]}, "day"),
    ],
)
def test_a_column_that_cannot_be_read_so_is_refused(settings, said):
    with pytest.raises((ParameterError, TableError)) as caught:
        column(**settings)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_derived_column_must_not_hide_one_of_the_table():
    with pytest.raises(TableError, match="has a column 'x', but the schema derives"):
        read_table(ROWS, features=["n"], schema={"columns": {"x": {"log_of": "n"}}})
    with pytest.raises(ParameterError, match="derives 'made', which has no values to name"):
        read_table(ROWS, "made", schema={"columns": {"made": {"log_of": "n"}}}, positive="1")

"""What a ledger keeps of a release in addition to its cost."""

from __future__ import annotations

import getpass
import sqlite3

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from sklearn.base import clone

import nolook
from nolook._unit import Unit
from nolook.errors import BudgetExceededError, LedgerError, ParameterError
from nolook.privacy.guarantee import Budget, PureEvent
from nolook.privacy.ledger import Ledger, ReleaseDetails, charge
from tests.privacy.ledger_processes import quick_folder
from tests.report.command import columns, write_table

ADD_REMOVE = {"relation": "add-remove", "description": "test"}
NOTHING = ReleaseDetails(who="ada")
WHOLE = ReleaseDetails("people.csv", "ab12", "income", "m.json", "grace", "row")


@pytest.fixture(autouse=True)
def account(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")


@pytest.fixture
def path():
    with quick_folder() as folder:
        yield folder / "people.ledger"


def make(path, **options):
    return Ledger.create(path, Budget(1.0, 1e-6), name="people", **options)


def test_details_are_kept_and_the_file_is_named_by_the_ledger_if_not_by_them(path):
    make(path).close()
    with Ledger(path, output="here.json") as ledger:
        for details in (WHOLE, ReleaseDetails(table="t"), None):
            ledger.reserve(Budget(0.1), **ADD_REMOVE, details=details)
    with Ledger(path) as ledger:
        ledger.charge_once(Budget(0.1), **ADD_REMOVE | {"description": "other"})
        found = [entry.details for entry in ledger.history()]
    here = ReleaseDetails(output="here.json", who="ada")
    assert found == [WHOLE, evolve(here, table="t"), here, NOTHING]


@pytest.mark.parametrize("text", ["a\nb\x1b[31m", "x" * 10_000, "\udcff", "\u202eright", ""])
def test_whatever_a_name_holds_one_line_is_kept(path, text):
    with make(path) as ledger:
        ledger.reserve(Budget(0.1), **ADD_REMOVE, details=ReleaseDetails(about=text))
        (entry,) = ledger.history()
    assert len(entry.details.about) <= 500
    assert entry.details.about.isprintable()


def test_a_fit_says_what_it_is_of(path):
    table = write_table(path.parent / "people.parquet", columns())
    made = nolook.LinearRegression()
    with make(path, relation="add-remove") as ledger:
        for target, features in (("income", ["age"]), (None, ["age"])):
            opened = nolook.read_table(table, target, features=features)
            estimator = clone(made) if target else nolook.ECDF(0.1)
            estimator.set_params(epsilon=0.1, delta=1e-7 if target else 0.0)
            estimator.fit(opened, ledger=ledger)
        clone(made).set_params(epsilon=0.1, delta=1e-7).fit(
            np.ones((50, 2)), np.ones(50), ledger=ledger
        )
        found = [entry.details for entry in ledger.history()]
    assert found == [
        ReleaseDetails("people.parquet", None, "income", None, "ada", "row"),
        ReleaseDetails("people.parquet", None, "age", None, "ada", "row"),
        ReleaseDetails(None, None, "y", None, "ada", "row"),
    ]


def test_a_score_is_named_with_its_target(path):
    score = np.linspace(0, 1, 200)
    with make(path) as ledger:
        curve = nolook.ROCCurve(0.5, nolook.LinearGrid(0, 1, 0.1))
        curve.fit(score, score > 0.5, ledger=ledger)
        assert ledger.history()[0].details.unit == "row"


PATIENTS = Unit("patient_id").in_words()


def protecting(words):
    return ReleaseDetails(unit=words)


def test_the_first_charge_that_stays_decides_what_a_ledger_protects(path):
    with make(path) as ledger, Ledger(path) as other:
        assert ledger.unit is None
        ledger.reserve(Budget(0.1), **ADD_REMOVE, details=protecting("row")).refund("stopped")
        assert ledger.unit is None
        ledger.reserve(Budget(0.1), **ADD_REMOVE, details=protecting(PATIENTS))
        assert ledger.unit == other.unit == PATIENTS
        before = other.spent
        for details in (protecting("row"), protecting(Unit("household").in_words()), None):
            with pytest.raises(LedgerError, match="create a ledger for each") as refused:
                other.reserve(Budget(0.1), **ADD_REMOVE, details=details)
            assert "\n" not in str(refused.value)
        with pytest.raises(LedgerError, match="protects a row"):
            other.charge_once(Budget(0.1), **ADD_REMOVE)
        with pytest.raises(LedgerError, match="protects a row"):
            other.charge(Budget(0.1), description="table 3")
        assert other.spent == before
        other.charge(Budget(0.1), description="table 3", unit="patient_id")
        assert {entry.details.unit for entry in other.history()[1:]} == {PATIENTS}


@pytest.mark.parametrize(
    "names", [("a\nb", "a\\nb"), ("x", "x, with all its rows"), ("é", "e\u0301")]
)
def test_units_whose_names_look_alike_are_told_apart(path, names):
    first, second = (Unit(name).in_words() for name in names)
    with make(path) as ledger:
        ledger.reserve(Budget(0.1), **ADD_REMOVE, details=protecting(first))
        assert ledger.unit == first
        with pytest.raises(LedgerError, match="create a ledger for each"):
            ledger.reserve(Budget(0.1), **ADD_REMOVE, details=protecting(second))


def test_a_unit_whose_name_would_be_cut_is_refused(path):
    with make(path) as ledger:
        with pytest.raises(LedgerError, match="too long a name"):
            ledger.reserve(
                Budget(0.1), **ADD_REMOVE, details=protecting(Unit("x" * 600).in_words())
            )
        assert ledger.history() == ()


def test_how_many_rows_of_a_unit_are_used_makes_no_other_unit():
    assert Unit("patient_id", 5).in_words() == PATIENTS


def visits():
    rows = np.arange(600)
    numbers = {"age": rows % 70, "cost": rows % 41, "patient_id": rows // 3}
    return pa.table(numbers)


def test_a_fit_for_another_unit_is_refused_before_the_table_is_read(path, monkeypatch):
    tables = [nolook.read_table(visits(), "cost", unit=unit) for unit in ("patient_id", None)]
    with make(path) as ledger:
        nolook.LinearRegression(0.1, 1e-7).fit(tables[0], ledger=ledger)
        assert ledger.unit == PATIENTS
        before = ledger.spent
        # Not even for missing values, whose answer is free.
        monkeypatch.setattr(nolook.tables.Table, "read_through", lambda _: 1 / 0)
        with pytest.raises(LedgerError, match="protects a row"):
            nolook.LinearRegression(0.1, 1e-7).fit(tables[1], ledger=ledger)
        assert ledger.spent == before


def test_a_charge_takes_the_unit_from_the_guarantee(path):
    promise = nolook.PrivacyGuarantee(
        0.1, 0.0, "add-remove", (PureEvent("x", 0.1),), True, Unit("patient_id")
    )
    with make(path) as ledger, charge(ledger, promise, "x", protecting("row")):
        assert ledger.unit == PATIENTS


def test_what_was_charged_here_is_told_from_all_other_charges(path):
    with make(path) as ledger, Ledger(path) as other:
        other.reserve(Budget(0.1), **ADD_REMOVE)
        assert ledger.charged() == ()
        ledger.reserve(Budget(0.2), **ADD_REMOVE).refund("stopped")
        ledger.reserve(Budget(0.3), **ADD_REMOVE)
        with pytest.raises(BudgetExceededError):
            ledger.reserve(Budget(0.9), **ADD_REMOVE)
        assert [entry.cost.epsilon for entry in ledger.charged()] == [0.3]
        assert [entry.cost.epsilon for entry in other.charged()] == [0.1]


def test_what_was_not_written_was_not_charged(path, monkeypatch):
    with make(path) as ledger:
        monkeypatch.setattr("nolook.privacy._ledger_file._seal", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ledger.reserve(Budget(0.3), **ADD_REMOVE)
        assert ledger.charged() == ledger.history() == ()


def test_an_outside_release_is_entered_whole(path):
    with make(path, relation="replace") as ledger:
        ledger.charge(Budget(0.25), description="table 3 of the annual report")
        ledger.charge(Budget(0.25), description="a mean", relation="add-remove")
        with pytest.raises(BudgetExceededError):
            ledger.charge(Budget(0.5), description="too much")
        with pytest.raises(ParameterError, match="one line"):
            ledger.charge(Budget(0.1), description="two\nlines")
        assert [(e.description, e.cost.epsilon, e.state) for e in ledger.history()] == [
            ("table 3 of the annual report", 0.25, "complete"),
            ("a mean", 0.5, "complete"),
        ]


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE details SET output = 'other.json' WHERE id = 1",
        "DELETE FROM details WHERE id = 1",
        "DROP TABLE details",
        "CREATE TRIGGER t AFTER INSERT ON details BEGIN DELETE FROM release; END",
    ],
)
def test_changed_details_are_damage(path, harm):
    with make(path) as ledger:
        ledger.reserve(Budget(0.1), **ADD_REMOVE, details=WHOLE)
    database = sqlite3.connect(path)
    database.execute(harm)
    database.commit()
    database.close()
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path)

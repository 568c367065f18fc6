from __future__ import annotations

import multiprocessing
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path

import joblib
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nolook.errors import BudgetExceededError, LedgerError, ParameterError
from nolook.privacy.guarantee import Budget, GaussianEvent, PrivacyGuarantee
from nolook.privacy.ledger import Amount, Ledger, amount_text, charge
from tests.privacy.ledger_processes import quick_folder

ADD_REMOVE = {"relation": "add-remove", "description": "test"}


@pytest.fixture
def path():
    with quick_folder() as folder:
        yield folder / "people.ledger"


def make(path, epsilon=1.0, delta=1e-6, **options):
    return Ledger.create(path, Budget(epsilon, delta), name="people", **options)


def guarantee(epsilon=0.4, delta=1e-7, *, private=True):
    return PrivacyGuarantee(
        epsilon, delta, "add-remove", (GaussianEvent("x", 0.1),), private=private
    )


def test_a_new_ledger_has_its_whole_budget(path):
    with make(path) as ledger:
        assert ledger.name == "people"
        assert ledger.budget == Budget(1.0, 1e-6)
        assert ledger.relation == "add-remove"
        assert ledger.spent == Amount(0.0, 0.0)
        assert ledger.remaining == Amount(1.0, 1e-6)
        assert ledger.history() == ()
    assert list(path.parent.iterdir()) == [path]


def test_a_charge_is_there_for_the_next_process(path):
    with make(path) as ledger, charge(ledger, guarantee(), "a model"):
        pass
    with Ledger(path) as ledger:
        (entry,) = ledger.history()
        assert (entry.id, entry.description, entry.state) == (1, "a model", "complete")
        assert entry.cost == Budget(0.4, 1e-7)
        assert ledger.spent == Amount(0.4, 1e-7)


def test_the_cost_is_reserved_before_the_release(path):
    with make(path) as ledger, charge(ledger, guarantee(), "x"), Ledger(path) as other:
        assert other.history()[0].state == "reserved"
        assert other.spent.epsilon == 0.4


def test_a_failed_release_stays_charged(path):
    with make(path) as ledger:
        with pytest.raises(ZeroDivisionError), charge(ledger, guarantee(), "x"):
            raise ZeroDivisionError
        assert ledger.history()[0].state == "reserved"
        assert ledger.spent.epsilon == 0.4


def test_only_a_refund_gives_cost_back(path):
    with make(path) as ledger:
        reservation = ledger.reserve(Budget(0.9), **ADD_REMOVE)
        reservation.refund("the test for stability failed")
        assert ledger.spent == Amount(0.0, 0.0)
        with pytest.raises(LedgerError, match="settled"):
            reservation.complete()
        assert ledger.history()[0].state == "refunded"


def test_a_release_that_is_repeated_is_charged_once(path):
    cost, one, other = Budget(0.2), ADD_REMOVE, {**ADD_REMOVE, "description": "other"}
    with make(path) as ledger:
        ledger.reserve(cost, **one)  # by a process that died before it was made
        for _ in range(2):
            ledger.charge_once(cost, **one)
        assert [entry.state for entry in ledger.history()] == ["complete"]
        ledger.reserve(cost, **other).refund("not made")
        ledger.charge_once(cost, **other)
        assert [entry.state for entry in ledger.history()] == ["complete", "refunded", "complete"]
        assert ledger.spent.epsilon == 0.4
        with pytest.raises(BudgetExceededError):
            ledger.charge_once(Budget(0.7), relation="add-remove", description="third")


def test_a_name_alone_does_not_pay_for_another_cost(path):
    with make(path) as ledger:
        for epsilon in (0.2, 0.3, 0.2):
            ledger.charge_once(Budget(epsilon), **ADD_REMOVE)
        ledger.charge_once(Budget(0.2, 1e-7), **ADD_REMOVE)
        assert [entry.cost.epsilon for entry in ledger.history()] == [0.2, 0.3, 0.2]


def test_too_little_is_refused_in_one_line_with_what_is_left(path):
    with make(path) as ledger:
        ledger.reserve(Budget(0.75, 1e-7), **ADD_REMOVE)
        for cost in (Budget(0.5), Budget(0.1, 1e-6)):
            with pytest.raises(
                BudgetExceededError, match=r"epsilon 0\.25 and delta 9e-07"
            ) as caught:
                ledger.reserve(cost, **ADD_REMOVE)
            assert "\n" not in str(caught.value)
            assert caught.value.exit_status == 3
        assert len(ledger.history()) == 1
        ledger.reserve(Budget(0.25, 9e-7), **ADD_REMOVE)


def test_sums_are_exact(path):
    # In doubles 0.1 + 0.2 exceeds 0.3, and ten times 0.1 stays below 1.
    with make(path, epsilon=0.3, delta=0.0) as ledger:
        ledger.reserve(Budget(0.1), **ADD_REMOVE)
        assert ledger.remaining.epsilon == 0.2
        ledger.reserve(Budget(0.2), **ADD_REMOVE)
        assert ledger.remaining.epsilon == 0.0
        with pytest.raises(BudgetExceededError):
            ledger.reserve(Budget(1e-300), **ADD_REMOVE)


def test_ten_tenths_are_one(path):
    with make(path) as ledger:
        for _ in range(10):
            ledger.reserve(Budget(0.1, 1e-7), **ADD_REMOVE)
        assert ledger.remaining == Amount(0.0, 0.0)
        assert ledger.spent == Amount(1.0, 1e-6)


@settings(max_examples=30)
@given(costs=st.lists(st.floats(1e-6, 0.6), max_size=8))
def test_what_is_left_is_never_overstated(costs, tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "a.ledger"
    with make(path) as ledger:
        total = Fraction(0)
        for cost in costs:
            fits = total + Fraction(repr(cost)) <= 1
            try:
                ledger.reserve(Budget(cost), **ADD_REMOVE)
            except BudgetExceededError:
                assert not fits
            else:
                assert fits
                total += Fraction(repr(cost))
        assert Fraction(repr(ledger.remaining.epsilon)) <= 1 - total
        assert Fraction(repr(ledger.spent.epsilon)) >= total


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.floats(5e-324, 1e300),
            st.one_of(st.just(0.0), st.floats(5e-324, 0.1)),
            st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=50),
            st.sampled_from(["reserved", "complete", "refunded"]),
        ),
        max_size=5,
    )
)
def test_what_was_reserved_is_read_back_bit_for_bit(tmp_path_factory, releases):
    path = tmp_path_factory.mktemp("ledger") / "a.ledger"
    with make(path, 1e308, 0.9) as ledger:
        for epsilon, delta, text, state in releases:
            made = ledger.reserve(Budget(epsilon, delta), relation="add-remove", description=text)
            if state == "complete":
                made.complete()
            elif state == "refunded":
                made.refund("stopped on its own output")
    with Ledger(path) as ledger:
        entries = ledger.history()
        assert ledger.budget == Budget(1e308, 0.9)
    assert [(e.cost.epsilon, e.cost.delta, e.description, e.state) for e in entries] == releases
    assert [e.id for e in entries] == list(range(1, len(releases) + 1))


def repeat(path, start, results):
    """Charge releases that another process charges at the same moment; count the failures."""
    failed = 0
    with Ledger(path) as ledger:
        for name in map(str, range(20)):
            start.wait(timeout=120)
            try:
                ledger.charge_once(Budget(0.01), relation="add-remove", description=name)
            except LedgerError:
                failed += 1
    results.put(failed)


def test_racing_processes_charge_a_repeated_release_once(path):
    make(path).close()
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(2), context.Queue()
    racers = [context.Process(target=repeat, args=(path, start, results)) for _ in range(2)]
    for racer in racers:
        racer.start()
    assert [results.get(timeout=120) for _ in racers] == [0, 0]
    for racer in racers:
        racer.join()
    with Ledger(path) as ledger:
        assert [entry.state for entry in ledger.history()] == ["complete"] * 20


def test_every_commit_is_flushed(path):
    make(path).close()
    with Ledger(path) as ledger:
        assert ledger._file.database.execute("PRAGMA synchronous").fetchone() == (3,)
        assert ledger._file.database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_an_existing_file_is_never_touched(path):
    path.write_text("precious")
    with pytest.raises(LedgerError, match="exists"):
        make(path)
    assert path.read_text() == "precious"


def damaged(path):
    make(path).close()
    content = bytearray(path.read_bytes())
    content[200:] = b"\x55" * (len(content) - 200)
    path.write_bytes(content)


def of_another_version(path):
    make(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()


def foreign(path):
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE ledger (id)")
    database.close()


def cut_short(path):
    make(path).close()
    path.write_bytes(path.read_bytes()[:1000])


@pytest.mark.parametrize(
    "prepare",
    [
        lambda _: None,
        Path.mkdir,
        Path.touch,
        lambda path: path.write_text("name,epsilon\n" * 100),
        foreign,
        damaged,
        of_another_version,
        cut_short,
    ],
    ids=["missing", "folder", "empty", "text", "foreign", "damaged", "version", "cut short"],
)
def test_what_is_not_a_ledger_is_refused_in_one_line(path, prepare):
    prepare(path)
    with pytest.raises(LedgerError) as caught:
        Ledger(path)
    message = str(caught.value)
    assert "\n" not in message
    assert "people.ledger" in message
    assert caught.value.exit_status == 2


def test_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(LedgerError, match="cannot be opened or written"):
        make(tmp_path / "nowhere" / "a.ledger")


def test_a_path_that_cannot_be_looked_at_is_one_line(tmp_path):
    long = tmp_path / ("a" * 300)
    for use in (Ledger, make):
        with pytest.raises(LedgerError, match="cannot be opened") as caught:
            use(long)
        assert "\n" not in str(caught.value)


def test_a_ledger_that_cannot_be_written_grants_nothing_and_can_be_read(path):
    with make(path) as ledger:
        # As SQLite opens a file without the right to write it; root may write any file.
        ledger._file.database.execute("PRAGMA query_only = ON")
        with pytest.raises(LedgerError, match="folder you may write to") as caught:
            ledger.reserve(Budget(0.1), **ADD_REMOVE)
        assert "\n" not in str(caught.value)
        assert ledger.remaining.epsilon == 1.0


# Forks a process of its own, since threads of libraries that the tests use may hold locks.
FORKED = """
import os, sys
from nolook import Budget, Ledger
from nolook.errors import LedgerError

uses = {
    "spent": lambda ledger: ledger.spent,
    "remaining": lambda ledger: ledger.remaining,
    "history": lambda ledger: ledger.history(),
    "require": lambda ledger: ledger.require(Budget(0.1), relation="add-remove"),
    "reserve": lambda ledger: ledger.reserve(
        Budget(0.1), relation="add-remove", description="x"
    ),
}
with Ledger(sys.argv[1]) as ledger:
    for name, use in uses.items():
        child = os.fork()
        if child == 0:
            try:
                use(ledger)
            except LedgerError as error:
                os.write(1, f"{name}: {error}\\n".encode())
            os._exit(0)
        os.waitpid(child, 0)
        use(ledger)
"""


def test_a_forked_child_may_not_use_its_parents_ledger(path):
    make(path).close()
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    said = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in said] == [
        *("spent", "remaining", "history", "require", "reserve")
    ]
    assert all("opened by the parent process" in line for line in said)


def test_a_bare_number_is_no_cost(path):
    with pytest.raises(ParameterError, match="Budget"):
        Ledger.create(path, 1.0, name="people")
    assert not path.exists()
    with make(path) as ledger:
        for use in (ledger.require, partial(ledger.reserve, description="x")):
            with pytest.raises(ParameterError, match="Budget"):
                use(0.1, relation="add-remove")
        assert ledger.history() == ()


def test_a_busy_ledger_is_refused_after_a_while(path, monkeypatch):
    monkeypatch.setattr("nolook.privacy._ledger_file._PATIENCE", 0.1)
    with make(path) as ledger, Ledger(path) as other:
        other._file.database.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="in use"):
            ledger.reserve(Budget(0.1), **ADD_REMOVE)
        other._file.database.execute("ROLLBACK")
        assert ledger.history() == ()


def test_an_add_remove_release_is_converted_for_a_replacement_ledger(path):
    with make(path, delta=1e-5, relation="replace") as ledger:
        with charge(ledger, guarantee(0.3, 1e-6), "x"):
            pass
        cost = ledger.history()[0].cost
        assert cost.epsilon == 0.6
        assert cost.delta == pytest.approx(1e-6 * (1 + 2.718281828459045**0.3), rel=1e-12)
        for cost in (Budget(1.0, 0.5), Budget(800.0, 1e-300), Budget(1e308)):
            for use in (ledger.require, partial(ledger.reserve, description="x")):
                with pytest.raises(LedgerError, match="smaller cost"):
                    use(cost, relation="add-remove")
        assert len(ledger.history()) == 1


@given(st.floats(1e-3, 600.0), st.floats(5e-324, 1e-270))
def test_the_converted_cost_is_never_below_the_proved_one(tmp_path_factory, epsilon, delta):
    path = tmp_path_factory.mktemp("ledger") / "a.ledger"
    with make(path, 2000.0, 0.9, relation="replace") as ledger:
        ledger.reserve(Budget(epsilon, delta), **ADD_REMOVE)
        cost = ledger.history()[0].cost
    with mpmath.workdps(50):
        assert cost.epsilon == 2 * epsilon
        assert mpmath.mpf(cost.delta) >= (1 + mpmath.exp(epsilon)) * mpmath.mpf(delta)


def test_a_replacement_release_is_refused_by_an_add_remove_ledger(path):
    with make(path) as ledger, pytest.raises(LedgerError, match="replace"):
        ledger.reserve(Budget(0.1), relation="replace", description="x")


def test_a_seeded_release_is_refused(path):
    with make(path) as ledger:
        with (
            pytest.raises(ParameterError, match="random_state"),
            charge(ledger, guarantee(private=False), "x"),
        ):
            pytest.fail("the release was made")
        assert ledger.history() == ()


def test_without_a_ledger_nothing_is_charged():
    with charge(None, guarantee(private=False), "x"):
        pass


def test_the_rest_of_a_deleted_ledger_is_not_taken_over(path):
    Path(f"{path}-journal").touch()
    with pytest.raises(LedgerError, match="left by a deleted ledger"):
        make(path)
    assert not path.exists()


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM release WHERE id = 1",
        "DELETE FROM release WHERE id = 2",
        "UPDATE release SET epsilon = '-0x1p-1' WHERE id = 1",
        "UPDATE release SET epsilon = 'inf' WHERE id = 1",
        "UPDATE release SET delta = 'nan' WHERE id = 1",
        "UPDATE release SET epsilon = '0x0p+0' WHERE id = 1",
        "UPDATE ledger SET epsilon = 'inf'",
        "UPDATE ledger SET relation = 'swap'",
        "DELETE FROM ledger",
    ],
)
def test_a_ledger_whose_sum_cannot_be_trusted_is_refused(path, harm):
    with make(path) as ledger:
        for _ in range(2):
            ledger.reserve(Budget(0.1), **ADD_REMOVE)
    database = sqlite3.connect(path)
    database.execute(harm)
    database.commit()
    database.close()
    with pytest.raises(LedgerError, match="damaged") as caught:
        Ledger(path)
    assert "\n" not in str(caught.value)


def test_a_ledger_is_shown_by_its_file_and_terms_and_what_is_left_while_it_is_open(path):
    with make(path) as ledger:
        assert f"budget={ledger.budget}, remaining={ledger.remaining})" in repr(ledger)
        first = repr(ledger)
        ledger.charge(Budget(0.25), description="elsewhere")
        assert f"remaining={ledger.remaining})" in repr(ledger) != first
    assert str(path) in repr(ledger)
    assert f"budget={ledger.budget})" in repr(ledger)


@pytest.mark.parametrize("cost", [Budget(2.0), Budget(0.1, 0.5)])
def test_a_refusal_says_what_is_left_and_what_to_ask_for(path, cost):
    with make(path) as ledger, pytest.raises(BudgetExceededError, match="cannot be raised"):
        ledger.reserve(cost, **ADD_REMOVE)


def test_what_is_left_is_shown_rounded_down(path):
    with make(path) as ledger:
        ledger.reserve(Budget(0.9 + 1e-11), **ADD_REMOVE)
        with pytest.raises(BudgetExceededError, match=r"has epsilon 0\.0999999 "):
            ledger.reserve(Budget(0.1), **ADD_REMOVE)


@given(st.floats(0.0, 1e300))
def test_shown_amounts_keep_to_their_side(amount):
    texts = amount_text(amount, up=False), amount_text(amount, up=True)
    low, high = (float(text.replace(",", "")) for text in texts)
    assert low <= amount <= high
    assert high <= low * (1 + 1.1e-5) or amount < 1e-300


@given(st.floats(1e-4, 1e7, exclude_max=True))
def test_amounts_that_people_can_picture_have_no_exponent(amount):
    for up in (False, True):
        text = amount_text(amount, up=up)
        assert "e" not in text or float(text) == 1e7
    assert amount_text(1_234_567.0, up=False) == "1,234,560"


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "\x1b[2J", "\udcff", "x" * 501, None, 3])
def test_names_and_descriptions_are_one_line(path, text):
    with pytest.raises(ParameterError, match="one line") as caught:
        Ledger.create(path, Budget(1.0), name=text)
    assert "\n" not in str(caught.value)
    assert not path.exists()
    with make(path) as ledger:
        with pytest.raises(ParameterError, match="one line"):
            ledger.reserve(Budget(0.1), relation="add-remove", description=text)
        assert ledger.history() == ()


def test_a_ledger_belongs_to_its_thread_and_its_process(path, monkeypatch):
    with make(path) as ledger:
        with ThreadPoolExecutor(1) as pool, pytest.raises(LedgerError, match="another thread"):
            pool.submit(lambda: ledger.spent).result()
        with monkeypatch.context() as patched:
            patched.setattr("os.getpid", lambda: -1)
            with pytest.raises(LedgerError, match="opened by the parent process"):
                ledger.reserve(Budget(0.1), **ADD_REMOVE)
    with pytest.raises(LedgerError, match="closed"):
        ledger.history()


def test_what_is_not_a_path_is_refused():
    with pytest.raises(ParameterError, match="path is None; expected the path"):
        Ledger(None)
    with pytest.raises(ParameterError, match="path is 7; expected the path"):
        Ledger.create(7, Budget(1.0, 0.0), name="seven")


def test_processes_of_joblib_charge_it(path):
    ledger = Ledger.create(path, Budget(3.0), name="people")
    joblib.Parallel(n_jobs=2)(
        joblib.delayed(ledger.charge)(Budget(0.5), description="a count") for _ in range(3)
    )
    assert ledger.remaining == Amount(1.5, 0.0)
    assert not ledger.charged()  # by this process

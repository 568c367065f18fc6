"""Every release withstands the replay attack, on tables that take each of its branches."""

from __future__ import annotations

from copy import copy
from functools import cache, partial
from itertools import chain, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from attrs import astuple, evolve

import nolook
from nolook.algorithms import (
    adassp,
    evaluation,
    kendall_selection,
    node_counts,
    per_unit_sampling,
    selection_plan,
    tabulation,
)
from nolook.algorithms.glm import clips, designs, linear
from nolook.algorithms.scaling import Scaling
from nolook.estimators import cross_validation
from nolook.statistics.group_sums import GroupSums
from nolook.statistics.group_totals import GroupedCells
from nolook.statistics.held_out import HeldOutErrors
from nolook.tables import Table
from tests.contracts.replay import attack, drawn_and_stated
from tests.contracts.test_costs import (
    RELEASES,
    UNDIVIDED,
    classes,
    data,
    exposed,
    scored,
)
from tests.report.hand_made import probable

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

EXTREME = [0.0, -0.0, 5e-324, 1e308, -1.7e308, 1e-300, 2.0**53 + 2, -1e15, 2.0**-1000, -3.7]
#: Rows, features and a number that targets follow, before they become those of a kind of model.
TABLES = {
    "ordinary": lambda g: (g.normal(size=(250, 4)) * [1.0, 20.0, 1e-3, 1.0], None),
    "no rows": lambda _: (np.empty((0, 4)), None),
    "one row": lambda g: (g.normal(size=(1, 4)), None),
    "nothing varies": lambda _: (np.zeros((200, 4)), np.zeros(200)),
    "no feature varies": lambda g: (np.zeros((250, 4)), g.normal(size=250)),
    "the target varies not": lambda g: (g.normal(size=(250, 4)), np.zeros(250)),
    "binary columns": lambda g: (g.integers(0, 2, size=(250, 4)).astype(float), None),
    "equal columns": lambda g: (np.repeat(g.normal(size=(250, 1)), 4, axis=1), None),
    "extreme": lambda g: (
        np.where(g.random((200, 4)) < 0.2, g.choice(EXTREME, (200, 4)), g.normal(size=(200, 4))),
        None,
    ),
}
#: Features, and the number that a target follows, of the row or rows that a neighbour has more.
MORE = {
    "far out": lambda _, rows: (np.full((rows, 4), 1e300), np.full(rows, -1e300)),
    "opposite": lambda _, rows: (
        np.tile([9.0, -200.0, 0.009, 5.0], (rows, 1)),
        np.full(rows, -9.0),
    ),
    "zeros": lambda _, rows: (np.zeros((rows, 4)), np.zeros(rows)),
    "any": lambda g, rows: (g.choice(EXTREME, (rows, 4)), g.choice(EXTREME, rows)),
}
#: What is protected: how many rows a unit has at most, how many the one more has, how they count.
UNITS = {
    "rows": None,
    "units": (4, 30, "weights"),
    "some rows of units": (4, 30, 2),
}


def _judged(table, epsilon):
    model = probable(1.0)
    return nolook.evaluate(model, table, epsilon=epsilon, other_rows=True)


def _folded(table, epsilon, model=nolook.LinearRegression, folds=3):
    return nolook.cross_validate(model(), table, folds=folds, epsilon=epsilon)


def _quantiles(table, epsilon, delta=0.0):
    return nolook.quantiles(table, [0.1, 0.5], epsilon=epsilon, delta=delta)


def _fitted(make, table, epsilon):
    return make().set_params(epsilon=epsilon).fit(table)


def _compared(table, epsilon):
    return nolook.compare_groups(table, "p", "y", epsilon=epsilon)


def _curves(table, epsilon):
    return nolook.survival(table, "p", "y", epsilon=epsilon)


def _crossed(table, epsilon):
    return nolook.tabulate(table, all_pairs=table.feature_names, epsilon=epsilon)


def crossed():
    """Columns of true and false only."""


#: What releases; which columns it reads. Samples cost less than what is drawn from them.
ATTACKED = {
    **{
        name: (partial(_fitted, make), arguments)
        for name, (make, _, arguments) in RELEASES.items()
        if "sample" not in name
    },
    "scaler": (partial(_fitted, nolook.QuantileScaler), None),
    "evaluate": (_judged, scored),
    "quantiles": (_quantiles, None),
    "quantiles-gaussian": (partial(_quantiles, delta=1e-6), None),
    "compare-groups": (_compared, scored),
    "survival": (_curves, scored),
    "all-pairs": (_crossed, crossed),
    "cross-validated": (_folded, data),
    "cross-validated-logistic": (
        partial(_folded, model=nolook.LogisticRegression, folds=2),
        classes,
    ),
}
#: Parts of which a row takes part in some only, so that more is drawn than it costs.
PARALLEL = ("evaluate", "hosmer-lemeshow", "cross-validated", "cross-validated-logistic")
#: Whose number of rows is public: neighbours differ in one row.
REPLACES = ("ecdf-replace", "roc-replace")


def columns(kind, X, follows):
    """Return the columns that a kind of model reads, the target last."""
    if kind in {data, None}:
        return {f"x{j}": X[:, j] for j in range(4)} | ({} if kind is None else {"y": follows})
    named = {f"x{j}": X[:, j] for j in range(4)}
    if kind is classes:
        return named | {"y": follows > 0}
    if kind is exposed:
        with np.errstate(all="ignore"):
            return named | {"y": np.floor(np.abs(follows))}
    if kind is crossed:
        return {name: column > 0 for name, column in named.items()}
    score = {"p": np.clip(np.nan_to_num(X[:, 0]), -1e300, 1e300)}
    return score | ({"y": follows > 0} if kind is scored else {})


def neighbours(kind, case, more, unit, replaces=False, seed=0):
    """Return two tables that differ in one row, or in one unit with all its rows."""
    generator = np.random.default_rng(seed)
    X, follows = TABLES[case](generator)
    if follows is None:
        with np.errstate(all="ignore"):
            follows = np.clip(X[:, 0] / max(1e-300, np.abs(X[:, 0]).max(initial=0.0)) * 3, -3, 3)
            follows = follows + generator.normal(size=len(X))
    most, extra, how = UNITS[unit] or (1, 1, None)
    ids = np.repeat(np.arange(len(X)), generator.integers(1, most + 1, len(X)))[: len(X)]
    row, target = MORE[more](generator, extra)
    other = MORE["zeros"](generator, extra)
    tables = []
    for rows in ([other] * replaces, [(row, target)]):
        parts = [(X, follows), *rows]
        made = columns(kind, *(np.concatenate(part) for part in zip(*parts, strict=True)))
        features = [name for name in made if name != "y"]
        options: dict[str, Any] = {"target": "y"} if "y" in made else {}
        if replaces:
            options["missing"] = "zero"  # the number of rows is public: none may be left out
        if how is not None:
            made["id"] = np.append(ids, np.full(extra * len(rows), 10**6))
            options |= {"unit": "id", "rows_per_unit": how}
        tables.append(nolook.read_table(pa.table(made), features=features, **options))
    return tables


def combinations():
    """Yield a quarter of all; of each release every day: a third of the tables, each of them once.

    And a small budget of those that meet the ordinary table.
    """
    others = len(MORE) * len(UNITS)
    for n, name in enumerate(ATTACKED):
        for i, (case, more, unit) in enumerate(product(TABLES, MORE, UNITS)):
            if name in REPLACES and unit != "rows":
                continue
            table, rest = divmod(i, others)
            turn = rest == (0 if name in REPLACES else (5 * table + 7 * n) % others)
            third = table % 3 == n % 3
            turn &= "-" not in name or third
            # Of the board of rows and units every fourth field: another one for each table, and of
            # four tables and four releases in turn all.
            row, column = divmod(rest, len(UNITS))
            if not turn and (row + 2 * column + table + n) % 4:
                continue
            for epsilon in (30.0, 0.3) if turn or more == "far out" else (30.0,):
                daily = turn and third and (epsilon > 1.0 or case == "ordinary")
                yield daily, (name, case, more, unit, epsilon)


DAILY = [parameters for daily, parameters in combinations() if daily]
REST = [(name, case) for name in ATTACKED for case in TABLES]


def check(name, case, more, unit, epsilon):
    """Attack a release with one pair of tables; check that no more is drawn than is stated."""
    release, kind = ATTACKED[name]
    first, second = neighbours(kind, case, more, unit, name in REPLACES)
    replay = attack(partial(release, epsilon=epsilon), first, second)
    if replay.guarantee is None or name in PARALLEL:
        return
    counted = 1 if UNITS[unit] is None or name in UNDIVIDED else UNITS[unit][2]
    rows = 1 if counted == "weights" else counted
    (square, squares), (epsilons, sum_of_epsilons) = drawn_and_stated(replay)
    assert square * rows**2 <= squares * (1 + 1e-9), "more is drawn than is stated"
    assert epsilons * rows <= sum_of_epsilons * (1 + 1e-9), "more is drawn than is stated"


@pytest.mark.parametrize(("name", "case", "more", "unit", "epsilon"), DAILY)
def test_neighbours_are_told_apart_by_what_the_guarantee_states_alone(
    name, case, more, unit, epsilon
):
    check(name, case, more, unit, epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), REST)
def test_all_neighbours_are_told_apart_by_what_the_guarantee_states_alone(name, case):
    for daily, parameters in combinations():
        if not daily and parameters[:2] == (name, case):
            check(*parameters)


def test_a_row_is_judged_by_one_model_which_it_did_not_train(monkeypatch):
    fitted, judged = [], []

    def noted(method, tables, place):
        def call(self, *arguments):
            batches = list(arguments[place].batches())
            tables.append(np.concatenate(batches, axis=1)[0].tolist())
            return method(self, *arguments)

        return call

    kind = cross_validation.FoldsInSequence
    monkeypatch.setattr(kind, "fit", noted(kind.fit, fitted, 0))
    monkeypatch.setattr(kind, "judge", noted(kind.judge, judged, 1))
    X, y = data()
    nolook.cross_validate(nolook.LinearRegression(), X, y, folds=3)
    assert len(fitted) == len(judged) == 3
    rows = sorted(X[:, 0])
    assert np.array_equal(sorted(chain(*judged)), rows)
    for rest, part in zip(fitted, judged, strict=True):
        assert np.array_equal(sorted(rest + part), rows)


def again(place, fault):
    """Put a function in the place of another, which it is given first."""
    module, name = place
    return lambda patch: patch.setattr(module, name, partial(fault, getattr(module, name)))


def smaller(module, name):
    """Make a sensitivity half of what it is."""
    return again((module, name), lambda found, *arguments: found(*arguments) / 2)


def method(owner, name, fault):
    """Put a function in the place of a method, which it is given first, the object second."""
    old = getattr(owner, name)

    def call(self, *arguments):
        return fault(old, self, *arguments)

    return lambda patch: patch.setattr(owner, name, call)


def dearer_without_features(release, blocks, model, most, mu, source):
    return release(blocks, model, most, mu * (2**0.5 if blocks.design.size == 1 else 1), source)


def dearer_without_target(begun, self, *arguments):
    found, blocks = begun(self, *arguments)
    if not found.scaling.detected[-1]:
        object.__setattr__(self, "mu", self.mu * 2**0.5)
    return found, blocks


def repeated_if_nothing_is_found(find, *arguments):
    found = find(*arguments)
    return found if astuple(found)[2] > 50 else find(*arguments)


def one_part_more_at_the_end(run, self, table, source, progress):
    found = run(self, table, source, progress)
    if isinstance(found, Scaling):
        designs.gaussian_release(np.zeros(3, dtype=np.int64), 1.0, self.mu / 3, source)
    return found


def ended_by_the_exact_number(run, self, table, source, progress):
    found = run(self, table, source, progress)
    if sum(batch.shape[1] for batch in table.batches()) % 2:
        designs.gaussian_release(np.zeros(3, dtype=np.int64), 1.0, 1e-9, source)
    return found


def with_the_exact_number(run, self, table, source, progress):
    found = run(self, table, source, progress)
    rows = sum(batch.shape[1] for batch in table.batches())
    return evolve(found, norm=found.norm + 1e-9 * rows)


def half_an_event(events, self):
    first, *rest = events(self)
    return (evolve(first, mu=first.mu / 2), *rest)


def one_event_less(events, self):
    return events(self)[1:]


def on_a_finer_grid(fold, self, statistic):
    found = fold(self, statistic)
    if isinstance(found, HeldOutErrors):
        found._total = found._total * 2
    return found


def undivided(read, self, *arguments):
    for numbers, weights, units in read(self, *arguments):
        whole = self.unit.weight_scale
        yield numbers, None if weights is None else np.full_like(weights, whole), units


def all_rows(_, self, most, keys):
    del keys
    table = copy(self)
    table.unit = evolve(self.unit, rows=most)
    return table


def drawn_by_rows(kept, self, batch, weights, units):
    del units
    return kept(self, batch, weights, None)


def in_every_forest(update, self, batch, weights=None):
    found = update(self, batch, weights)
    for total in self._totals:
        total[:] = total.sum(axis=0)
    return found


def ends_of_exact_cells(histograms, self, name, exact, columns):
    found, noise = histograms(self, name, exact, columns)
    return (exact.value(self._table.n_columns) * 1.0 if name == tabulation.RANGES else found), noise


def one_level_of_blocks(noisy, self, name, exact, columns, whole):
    return noisy(self, name, exact, 1 if name == tabulation.BLOCKS else columns, whole)


def in_two_groups(value, self):
    positives, negatives, excess = value.fget(self)
    return positives + np.roll(positives, 1), negatives + np.roll(negatives, 1), excess


#: Faults of each kind, and the release and the tables that tell of them.
FAULTS = {
    "gradients twice as dear where no feature is detected": (
        again((linear, "release_products"), dearer_without_features),
        ("linear", "no feature varies", "far out", "rows"),
    ),
    "parts twice as dear where the target is not detected": (
        method(linear.LinearRelease, "_begun", dearer_without_target),
        ("linear", "the target varies not", "far out", "rows"),
    ),
    "a search that is repeated unpaid": (
        again((evaluation, "find_range"), repeated_if_nothing_is_found),
        ("roc-found", "no rows", "far out", "rows"),
    ),
    "a part unpaid where a release ends early": (
        method(linear.LinearRelease, "run", one_part_more_at_the_end),
        ("linear", "nothing varies", "zeros", "rows"),
    ),
    "an end that the exact number decides": (
        method(linear.LinearRelease, "run", ended_by_the_exact_number),
        ("linear", "ordinary", "zeros", "rows"),
    ),
    "an exact number in the result": (
        method(linear.LinearRelease, "run", with_the_exact_number),
        ("linear", "ordinary", "zeros", "rows"),
    ),
    "half of an event": (
        method(adassp.AdaSSP, "events", half_an_event),
        ("adassp", "one row", "far out", "rows"),
    ),
    "an event left out": (
        method(adassp.AdaSSP, "events", one_event_less),
        ("adassp", "binary columns", "far out", "rows"),
    ),
    "the cost of a row for each of several": (
        lambda patch: patch.setattr("nolook.privacy.release.row_share", lambda amount, _: amount),
        ("logistic", "ordinary", "far out", "some rows of units"),
    ),
    "the cost of a choice for each of several rows": (
        lambda patch: patch.setattr(selection_plan, "row_share", lambda amount, *_: amount),
        ("kendall", "ordinary", "opposite", "some rows of units"),
    ),
    "all rows of a unit in full": (
        method(Table, "sample_rows", all_rows),
        ("scaler", "ordinary", "far out", "some rows of units"),
    ),
    "rows of a unit that weigh a unit each": (
        method(Table, "_of_units", undivided),
        ("ecdf", "ordinary", "far out", "units"),
    ),
    "rows of a unit in several blocks": (
        method(per_unit_sampling._Draws, "kept", drawn_by_rows),
        ("lasso", "binary columns", "opposite", "units"),
    ),
    "a row in two groups": (
        lambda patch: patch.setattr(
            GroupSums,
            "value",
            property(partial(in_two_groups, GroupSums.value)),
        ),
        ("hosmer-lemeshow", "ordinary", "zeros", "rows"),
    ),
    "errors on a finer grid": (
        method(Table, "fold", on_a_finer_grid),
        ("cross-validated", "ordinary", "opposite", "rows"),
    ),
    "half the sensitivity of gradients": (
        smaller(clips, "clipped_products_sensitivity"),
        ("linear", "binary columns", "far out", "rows"),
    ),
    "half the sensitivity of counts": (
        smaller(node_counts, "node_counts_sensitivity"),
        ("quantiles", "ordinary", "any", "rows"),
    ),
    "half the sensitivity of counts of two classes": (
        smaller(node_counts, "node_counts_sensitivity"),
        ("evaluate", "one row", "any", "rows"),
    ),
    "half the sensitivity of counts of all pairs": (
        smaller(tabulation, "cell_counts_sensitivity"),
        ("all-pairs", "ordinary", "opposite", "rows"),
    ),
    **{
        f"{fault} ({name})": (plant, (name, "binary columns", "zeros", "rows"))
        for name in ("compare-groups", "survival")
        for fault, plant in {
            "half the sensitivity of counts": smaller(tabulation, "cell_counts_sensitivity"),
            "one level of a forest charged": method(tabulation._Run, "_noisy", one_level_of_blocks),
            "a row in the forests of all groups": method(GroupedCells, "update", in_every_forest),
            "cells of equal mass among the exact rows": method(
                tabulation._Run, "_histograms", ends_of_exact_cells
            ),
            "an event left out": method(tabulation.TabulationRelease, "events", one_event_less),
        }.items()
    },
    "half the sensitivity of group sums": (
        smaller(tabulation, "moments_l1_sensitivity"),
        ("compare-groups", "ordinary", "opposite", "rows"),
    ),
    "half the sensitivity of concordance": (
        smaller(kendall_selection, "kendall_sensitivity"),
        ("kendall", "ordinary", "opposite", "rows"),
    ),
}


#: Without a fault, of which several are shown by the same release and tables.
check_once = cache(check)


@pytest.mark.parametrize(("plant", "where"), FAULTS.values(), ids=FAULTS)
def test_the_attack_tells_of(plant, where, monkeypatch):
    check_once(*where, 30.0)
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        check(*where, 30.0)


def test_the_folds_tell_of_another_draw_for_each(monkeypatch):
    folds_of = cross_validation.folds_of

    def anew(table, folds, draw):
        for number in range(folds):
            yield list(folds_of(table, folds, draw))[number]

    monkeypatch.setattr(cross_validation, "folds_of", anew)
    with pytest.raises(AssertionError):
        test_a_row_is_judged_by_one_model_which_it_did_not_train(monkeypatch)

"""Distributions, curves and groups of tables whose rows belong to units with many rows.

A release runs on a table, then on a neighbour with the same noisy answers: the results must be the
same to the last bit, and the exact counts may differ by the sensitivity at most.
"""

from __future__ import annotations

import math
import pickle
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from sklearn.metrics import roc_auc_score

import nolook
from nolook.algorithms import hosmer_lemeshow, node_counts
from nolook.algorithms.ecdf import ecdf_release
from nolook.algorithms.evaluation import calibration_release, scores_release
from nolook.privacy.guarantee import Budget, GaussianEvent
from nolook.privacy.mechanisms.gaussian import gaussian_release
from nolook.privacy.mechanisms.laplace import laplace_release
from nolook.privacy.noise import SeededSource
from nolook.privacy.release import for_unit
from nolook.statistics.group_sums import GROUP_UNIT

WHOLE = 2**30
GRID = nolook.LinearGrid(1 / 64, 1, 1 / 64)


def columns(budget):
    return lambda relation: ecdf_release(budget, relation, [GRID, GRID])


RELEASES = {
    "columns": columns(Budget(1.5)),
    "Gaussian columns": columns(Budget(1.5, 1e-6)),
    "classes": lambda r: scores_release(1.5, r, GRID),
    "classes on a grid that is found": lambda r: scores_release(1.5, r),
    "groups": lambda r: calibration_release(1.5, 10, r),
    "an evaluation": lambda _: scores_release(1.5, groups=10, bounds=(0.0, 1.0)),
}
UNDER_RELATIONS = [(name, "add-remove") for name in RELEASES] + [
    (name, "replace") for name in RELEASES if name != "an evaluation"
]
under_relations = pytest.mark.parametrize(("name", "relation"), UNDER_RELATIONS)


@dataclass
class Run:
    """What a release asked for, what it was told, and its result."""

    asked: list = field(default_factory=list)
    exact: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    result: bytes = b""


def run(release, rows, *, noise=True, like=None):
    """Run a release; with the answers of another run, if there is one."""
    seen = Run()
    before = iter([] if like is None else like.answers)

    def spy(mechanism):
        def call(values, sensitivity, cost, source):
            seen.asked.append((mechanism.__name__, values.shape, Fraction(sensitivity), cost))
            seen.exact.append(values.copy())
            found = mechanism(values, sensitivity, cost, source) if noise else values
            seen.answers.append(found if like is None else next(before))
            return seen.answers[-1]

        return call

    with pytest.MonkeyPatch.context() as patch:
        for mechanism in (laplace_release, gaussian_release):
            for name, module in list(sys.modules.items()):
                inside = name.startswith("nolook.algorithms.")
                if inside and vars(module).get(mechanism.__name__) is mechanism:
                    patch.setattr(module, mechanism.__name__, spy(mechanism))
        seen.result = pickle.dumps(release.run(rows, SeededSource(1), lambda _: None))
    return seen


def opened(table, name, **unit):
    """Open a table of identifiers, probabilities and classes for a release."""
    identifiers, scores, positives = table
    frame = pd.DataFrame({"id": identifiers, "p": scores, "y": positives.astype(float)})
    if "columns" in name:
        return nolook.read_table(frame, features=["p", "y"], **unit)
    return nolook.read_table(frame, "y", features=["p"], positive="1", **unit)


def panel(units, most=50, seed=0, correlation=0.5):
    """Simulate units with 1 to `most` rows whose outcomes are alike, given calibrated scores."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, most + 1, units)
    of_rows = np.repeat(np.arange(units), sizes)
    shared, own = generator.normal(size=units)[of_rows], generator.normal(size=of_rows.size)
    latent = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own
    scores = generator.beta(2.0, 3.0, units)[of_rows] ** generator.uniform(0.8, 1.2, of_rows.size)
    return of_rows.astype(str), scores, ndtr(latent) < scores


def joined(*tables):
    return tuple(np.concatenate(parts) for parts in zip(*tables, strict=True))


def one_unit(scores, positives):
    return np.full(len(scores), "one"), np.asarray(scores), np.asarray(positives, dtype=bool)


MANY = 2 * 10**4
UNITS = {
    "a row": one_unit([1.0], [True]),
    "three rows": one_unit([0.2, 0.7, 1.0], [True, True, False]),
    "equal rows": one_unit(np.ones(MANY), np.ones(MANY)),
    "rows that are all different": one_unit(np.linspace(0, 1, MANY), np.ones(MANY)),
    "rows of both classes": one_unit(np.linspace(0, 1, MANY), np.arange(MANY) % 2),
    "a class far from the other": one_unit(np.repeat([0.0, 1.0], MANY), np.arange(2 * MANY) < MANY),
}
OTHER = one_unit(np.full(7, 0.01), np.zeros(7))


def loss(one, other):
    """Return the exact loss of all answers together: pure, or the square of mu."""
    total = Fraction(0)
    for (mechanism, _, sensitivity, cost), *exact in zip(
        one.asked, one.exact, other.exact, strict=True
    ):
        moved = [abs(int(a) - int(b)) for a, b in zip(*(e.ravel() for e in exact), strict=True)]
        if mechanism == "gaussian_release":
            squared = Fraction(sum(each**2 for each in moved))
            total += squared * Fraction(cost) ** 2 / sensitivity**2
        else:
            total += sum(moved) * Fraction(cost) / sensitivity
    return total


def stated(release):
    return sum(
        Fraction(event.mu) ** 2 if isinstance(event, GaussianEvent) else Fraction(event.epsilon)
        for event in release.events()
    )


#: A unit of equal rows, which loses most, every day; the others of each release in turn.
OF_UNITS = [
    pytest.param(
        *case,
        unit,
        marks=[pytest.mark.slow] * (unit != "equal rows" and (i + j) % 3 > 0),
    )
    for i, case in enumerate(UNDER_RELATIONS)
    for j, unit in enumerate(UNITS)
]


@pytest.mark.parametrize(("name", "relation", "unit"), OF_UNITS)
def test_a_unit_with_any_rows_loses_what_a_row_may(name, relation, unit):
    release, rest = RELEASES[name](relation), panel(30)
    other = joined(rest, OTHER) if relation == "replace" else rest
    first, second = (opened(t, name, unit="id") for t in (joined(rest, UNITS[unit]), other))
    one = run(release, first)
    two = run(release, second, like=one)
    assert two.asked == one.asked
    # Nothing but the answers decides: not the sum of weights, which rounding leaves below n.
    assert two.result == one.result, TOLD
    lost = loss(one, two) / stated(release)
    # The more rows differ, the less their unit moves; a replaced row may stay in its group.
    alike = unit in {"a row", "equal rows"}
    assert lost <= 1, BEYOND
    assert lost > ((0.4 if relation == "replace" else 0.99) if alike else 0)


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        pytest.param(name, unit, marks=case.marks)
        for case in OF_UNITS
        for name, relation, unit in [case.values]
        if relation == "add-remove"
    ],
)
def test_a_unit_of_which_so_many_rows_count_loses_no_more(name, unit):
    release, rest = RELEASES[name]("add-remove"), panel(30)
    runs = []
    for table in (joined(rest, UNITS[unit]), rest):
        rows = opened(table, name, unit="id", rows_per_unit=5)
        fewer = for_unit(release, rows.unit)
        limited = rows.sample_rows(5, SeededSource(3).words)
        runs.append(run(fewer, limited, like=runs[0] if runs else None))
    assert stated(fewer) * (25 if "Gaussian" in name else 5) <= stated(release) * (
        1 + Fraction(1, 10**12)
    )
    assert runs[0].result == runs[1].result
    assert 0 < loss(*runs) <= stated(release)


@under_relations
def test_rows_that_are_all_there_twice_change_nothing(name, relation):
    identifiers, scores, positives = panel(50, most=8)
    # Powers of two divide W.
    sizes = 2 ** np.random.default_rng(1).integers(0, 4, 50)
    once = tuple(
        np.repeat(part[:50], sizes) for part in (np.unique(identifiers), scores, positives)
    )
    twice = tuple(np.repeat(part, 2) for part in once)
    release = RELEASES[name](relation)
    one = run(release, opened(once, name, unit="id"))
    two = run(release, opened(twice, name, unit="id"), like=one)
    assert two.asked == one.asked
    for first, second in zip(one.exact, two.exact, strict=True):
        # Excesses of probabilities, Python ints, are rounded once a row, in units of 2^-30.
        rounded = 8 * 50 * 2 if first.dtype == object else 0
        assert max(abs(first - second).ravel()) <= rounded


@under_relations
def test_without_noise_rows_that_are_units_count_as_without_a_unit(name, relation):
    _, scores, positives = panel(100, most=1)
    table = np.arange(100), scores, positives
    release = RELEASES[name](relation)
    plain, units = (
        run(release, opened(table, name, **unit), noise=False) for unit in ({}, {"unit": "id"})
    )
    for (_, _, before, _), (_, _, after, _), *exact in zip(
        plain.asked, units.asked, plain.exact, units.exact, strict=True
    ):
        factor = after / before
        assert factor in ({1, WHOLE} if name in {"groups", "an evaluation"} else {WHOLE})
        assert (exact[0] * int(factor) == exact[1]).all()


# --- faults -----------------------------------------------------------------------------------


def total_of_weights(patch):
    patch.setattr(
        node_counts.Weighing,
        "known_rows",
        lambda self, cells: sum(each.sum() for each in cells) / self.weight_scale,
    )


def weights_that_add_up_to_more(patch):
    from nolook.tables.table import Table

    exact = Table._weighted

    def heavier(self, part):
        for numbers, weights in exact(self, part):
            yield numbers, weights + 1

    patch.setattr(Table, "_weighted", heavier)


def excess_in_full(patch):
    class Full(hosmer_lemeshow.GroupSums):
        def __init__(self, borders, _):
            super().__init__(borders, 2**29)

    patch.setattr(hosmer_lemeshow, "GroupSums", Full)


def noise_of_a_row(patch):
    patch.setattr(node_counts, "node_counts_sensitivity", lambda levels, _: levels / WHOLE)


TOLD, BEYOND = "the result does not follow from the answers", "beyond the sensitivity"
FAULTS = {
    "a total that is read off the data": (total_of_weights, "columns", "replace", TOLD),
    "such a total of both classes": (total_of_weights, "classes", "replace", TOLD),
    "weights that add up to more": (weights_that_add_up_to_more, "columns", "add-remove", BEYOND),
    "an excess that counts twice": (excess_in_full, "groups", "add-remove", BEYOND),
    "noise of a row": (noise_of_a_row, "classes", "add-remove", BEYOND),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault, monkeypatch):
    plant, name, relation, said = FAULTS[fault]
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=said):
        test_a_unit_with_any_rows_loses_what_a_row_may(name, relation, "equal rows")


# --- what is said -----------------------------------------------------------------------------


def share_of_wins(table):
    """Return the area under the exact curve of units: rows weigh one over those of their unit."""
    identifiers, scores, positives = table
    _, places, sizes = np.unique(identifiers, return_inverse=True, return_counts=True)
    cells = np.ceil(scores * 64)
    return roc_auc_score(positives, cells, sample_weight=1 / sizes[places])


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_the_interval_of_the_area_covers_that_of_units(correlation):
    runs = 80
    covered = 0
    for seed in range(runs):
        table = panel(600, seed=seed, correlation=correlation)
        curve = nolook.ROCCurve(0.5, GRID, random_state=seed)
        low, high = curve.fit(opened(table, "", unit="id")).auc_interval_
        covered += low <= share_of_wins(table) <= high
    assert covered / runs >= 0.93


@pytest.mark.parametrize(
    ("correlation", "runs"), [pytest.param(0.0, 100, marks=pytest.mark.slow), (0.9, 30)]
)
def test_a_calibrated_model_is_not_refuted_by_rows_that_are_alike(correlation, runs, monkeypatch):
    monkeypatch.setattr("nolook.algorithms.calibration_table._REPEATS", 499)  # to save time

    def refuted(**unit):
        tables = (panel(400, seed=seed, correlation=correlation) for seed in range(runs))
        return np.mean(
            [
                nolook.HosmerLemeshow(20.0, random_state=seed)
                .fit(opened(table, "", **unit))
                .p_value_
                < 0.05
                for seed, table in enumerate(tables)
            ]
        )

    assert refuted(unit="id") <= 0.1
    # As if rows were independent, it would be.
    assert (refuted() > 0.5) == (correlation > 0)


def test_with_several_full_rows_no_p_value_is_given():
    found = nolook.HosmerLemeshow(1.0).fit(opened(panel(50), "", unit="id", rows_per_unit=5))
    assert found.p_value_ is None
    assert math.isfinite(found.statistic_)


@pytest.mark.parametrize(
    ("kind", "name"), [(nolook.ECDF, "columns"), (nolook.ROCCurve, "classes")], ids=["ecdf", "roc"]
)
def test_several_full_rows_cannot_be_replaced(kind, name, costs_nothing):
    """Two units may have another number of rows, so none is public."""
    rows = opened(panel(50), name, unit="id", rows_per_unit=5, missing="zero")
    if name == "columns":
        rows = rows.select(np.array([True, False]))
    fit = partial(kind(0.5, GRID, relation="replace").fit, rows)
    costs_nothing(fit, "'replace' and rows_per_unit 5", relation="replace")


def test_the_excess_of_a_unit_is_no_more_than_a_rows():
    """Each part is rounded down, so that many small ones do not add up to more."""
    rows = 10**5 + 3
    weights = np.full(rows, WHOLE // rows)
    sums = hosmer_lemeshow.GroupSums(np.array([0.0, 1.0]), WHOLE)
    _, negatives, excess = sums.update(np.stack([np.ones(rows), np.zeros(rows)]), weights).value
    assert 0.999 * WHOLE < negatives[0] <= WHOLE
    assert 0.999 * GROUP_UNIT < excess[0] <= GROUP_UNIT

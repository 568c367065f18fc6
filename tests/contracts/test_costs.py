"""What a fit draws is what its guarantee says, number by number: no draw is left out or cheaper."""

from __future__ import annotations

import inspect
import math
import sys
from functools import partial
from types import FunctionType

import attrs
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import nolook
from nolook.algorithms.glm.logistic import LogisticRelease
from nolook.estimators.base import PrivateEstimator
from nolook.estimators.catalogue import METHODS, MODELS, SELECTORS
from nolook.estimators.cross_validation import FoldsInSequence
from nolook.privacy import noise
from nolook.privacy.guarantee import DeltaEvent
from tests.privacy.mechanisms import MECHANISMS, all_mechanisms
from tests.report.hand_made import probable

# What intervals simulate is tested in tests/algorithms.
pytestmark = pytest.mark.usefixtures("few_repeats")

#: How mechanisms call what they may cost.
BUDGETS = ("mu", "epsilon", "rule")
#: What estimators draw by, with an answer that no table decides.
ANSWERS = {
    mechanism: MECHANISMS[name].answer
    for name, mechanism in all_mechanisms().items()
    if {"source", *BUDGETS} & set(inspect.signature(mechanism).parameters) > {"source"}
}
#: What draws noise; which rows a block or a sample has is drawn otherwise.
SAMPLERS = (
    noise.discrete_laplace,
    noise.rounded_gaussian,
    noise.report_noisy_max_gumbel,
    noise.permuted_flips,
)
ROUNDS = 7
#: What a logistic regression draws first: scales, moments, norms, moments, balance of the classes.
BEFORE_STEPS = 8


def data():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(6000, 4)) * [1.0, 20.0, 1e-3, 1.0] + 5
    return X, X[:, 1] / 20 + 0.1 * generator.normal(size=6000)


def classes():
    X, y = data()
    return X, y > np.median(y)


def exposed():
    """Numbers of events, in proportion to the first column."""
    X, y = data()
    return X, np.floor(X[:, 0].clip(0.0) * np.exp(y))


def scored():
    generator = np.random.default_rng(0)
    p = generator.beta(2.0, 5.0, 3000)
    return p, generator.random(3000) < p


@pytest.fixture
def drawn(monkeypatch):
    """The amounts that mechanisms are called with from outside, in order."""
    amounts, inside = [], []

    def spy(mechanism):
        parameters = inspect.signature(mechanism).parameters
        name = next(name for name in BUDGETS if name in parameters)

        def call(*positional, **named):
            given = inspect.signature(mechanism).bind(*positional, **named).arguments[name]
            if not inside:
                rule = name == "rule"
                amounts.append(given.epsilon_test + given.epsilon_sample if rule else given)
            inside.append(mechanism)
            try:
                return mechanism(*positional, **named)
            finally:
                inside.pop()

        return call

    def guard(sampler):
        def call(*positional, **named):
            assert inside, "noise is drawn by no mechanism"
            return sampler(*positional, **named)

        return call

    spies = {mechanism: spy(mechanism) for mechanism in ANSWERS}
    replace_everywhere(spies | {sampler: guard(sampler) for sampler in SAMPLERS}, monkeypatch)
    return amounts


def replace_everywhere(spies, monkeypatch):
    """Put other functions in the place of some, wherever the package names them."""
    for module in [m for name, m in sys.modules.items() if name.startswith("nolook.")]:
        for name, value in list(vars(module).items()):
            if type(value) is FunctionType and value in spies:
                monkeypatch.setattr(module, name, spies[value])
            elif isinstance(value, dict) and name != "__builtins__":
                for key, one in value.items():
                    if type(one) is FunctionType and one in spies:
                        monkeypatch.setitem(value, key, spies[one])


def stated(guarantee):
    """The cost of each release, as the mechanisms take it."""
    return [getattr(event, "mu", None) or event.epsilon for event in guarantee.mechanisms]


def each(draws):
    return draws


def gradients(draws):
    """All rounds are stated as one release."""
    return [*draws[:-ROUNDS], math.hypot(*draws[-ROUNDS:])]


def descent(draws):
    """Sizes come before the first and the third of eight gradients; four releases come last."""
    *before, sizes, one, two, again = draws[:-10]
    return [*before, math.hypot(sizes, again), math.hypot(one, two, *draws[-10:-4]), *draws[-4:]]


def steps(draws):
    """Gradients and curvatures are stated as one release; the fit and scores come last."""
    before, rounds, fit = draws[:BEFORE_STEPS], draws[BEFORE_STEPS:-2], draws[-2:]
    return [*before, math.hypot(*rounds), *fit]


def counted_steps(draws):
    """Sizes come before the first gradient, and before the last curvature and gradient."""
    before, (sizes, *rounds, again, curvature, last, fit, scores) = draws[:10], draws[10:]
    steps = math.hypot(*rounds, curvature, last)
    return [*before, math.hypot(sizes, again), steps, fit, scores]


def curved(composed, place, gradients):
    """Histograms for curves, gradients of lines and the choice are stated with the gradients."""

    def together(draws):
        knots, *lines, choice = draws[place : place + 4]
        assert lines == pytest.approx([knots * math.sqrt(0.75)] * 2)
        assert choice == pytest.approx(knots * math.sqrt(1.5))
        made = composed([*draws[:place], *draws[place + 4 :]])
        made[gradients] = math.hypot(knots, *lines, choice, made[gradients])
        return made

    return together


def until_scores(draws):
    """How many draws a logistic fit has, of which noise decides: one after that of the fit."""
    shares = LogisticRelease(1.0).shares()
    fit = draws[BEFORE_STEPS - 1] * math.sqrt(shares["fit"] / shares["classes"])
    return 1 + next(
        place
        for place, draw in enumerate(draws, 1)
        if place > BEFORE_STEPS and math.isclose(draw, fit, rel_tol=1e-12)
    )


def choices(draws):
    """Rows are counted; choices one after the other are stated as one."""
    return [draws[0], math.fsum(draws[1:])]


def on_half(draws):
    """Choices on a sample, of every second row, cost all rows less than those in it."""
    *before, last = draws
    return [*before, math.log1p(math.expm1(last) / 2)]


def groups(draws):
    """A row is in one group, of which counts and sum are drawn one after the other."""
    borders, *rest = draws
    sums = [one + other for one, other in zip(rest[::2], rest[1::2], strict=True)]
    np.testing.assert_allclose(sums, sums[0], rtol=1e-9)
    return [borders, max(sums)]


def alike(draws):
    """Rows are counted; choices are stated by the epsilon of each."""
    assert len(set(draws[1:])) == 1
    return draws[:2]


def parts(draws):
    """Rows counted, two choices, then a regression."""
    return [*alike(draws[:3]), *descent(draws[3:])]


CONSTANT = "constant"
GRID = nolook.LinearGrid(0, 1, 1 / 64)
PIPELINE = nolook.PrivatePipeline(
    nolook.KendallSelector(2), nolook.LinearRegression(), epsilon=2.0, delta=1e-6
)
RELEASES = {
    # A new method or selector is held against its guarantee without a row here, draw by draw.
    **{name: (entry.load(), each, data) for name, entry in METHODS.items()},
    **{name: (partial(entry.load(), 2), each, data) for name, entry in SELECTORS.items()},
    "linear": (nolook.LinearRegression, descent, data),
    "additive": (partial(nolook.AdditiveRegression, 8.0), curved(descent, 8, -5), data),
    "additive-logistic": (
        partial(nolook.AdditiveClassifier, 8.0),
        curved(steps, BEFORE_STEPS - 3, -3),
        classes,
    ),
    "additive-poisson": (
        partial(nolook.AdditivePoissonRegression, 8.0),
        curved(counted_steps, 8, -3),
        data,
    ),
    "additive-exposure": (
        partial(nolook.AdditivePoissonRegression, 8.0, exposure="x0"),
        curved(counted_steps, 8, -3),
        exposed,
    ),
    "logistic": (nolook.LogisticRegression, steps, classes),
    "poisson": (nolook.PoissonRegression, counted_steps, data),
    "poisson-exposure": (partial(nolook.PoissonRegression, exposure="x0"), counted_steps, exposed),
    "linear-k": (partial(nolook.LinearRegression, k=2), descent, data),
    "scaler": (nolook.QuantileScaler, each, data),
    "boosted-adassp": (partial(nolook.BoostedAdaSSPRegressor, n_rounds=ROUNDS), gradients, data),
    "tukey": (partial(nolook.TukeyRegressor, 8.0, on_failure=CONSTANT), each, data),
    "tukey-models": (
        partial(nolook.TukeyRegressor, n_models=300, on_failure=CONSTANT),
        each,
        data,
    ),
    "kendall": (partial(nolook.KendallSelector, 3), choices, data),
    "kendall-delta": (partial(nolook.KendallSelector, 3, 0.1, delta=0.01), alike, data),
    "kendall-sample": (
        partial(nolook.KendallSelector, 3, sample=0.5),
        lambda draws: on_half(choices(draws)),
        data,
    ),
    "lasso-delta": (partial(nolook.LassoSelector, 3, 0.1, delta=0.01), each, data),
    "lasso-sample": (partial(nolook.LassoSelector, 3, sample=0.5), on_half, data),
    "sis-delta": (partial(nolook.SISSelector, 3, 0.1, delta=0.01), each, data),
    "sis-sample": (partial(nolook.SISSelector, 2, sample=0.5), on_half, data),
    "sis-lipschitz": (partial(nolook.SISSelector, 2, top_k="canonical-lipschitz"), each, data),
    "sis-ranges": (partial(nolook.SISSelector, 2, score="covariance"), each, data),
    "ecdf": (nolook.ECDF, each, lambda: scored()[:1]),
    "ecdf-gaussian": (partial(nolook.ECDF, grid=GRID, delta=1e-6), each, lambda: scored()[:1]),
    "ecdf-replace": (partial(nolook.ECDF, relation="replace"), each, lambda: scored()[:1]),
    "roc": (partial(nolook.ROCCurve, grid=GRID), each, scored),
    "roc-replace": (partial(nolook.ROCCurve, grid=GRID, relation="replace"), each, scored),
    "roc-found": (nolook.ROCCurve, each, scored),
    "hosmer-lemeshow": (nolook.HosmerLemeshow, groups, scored),
    "pipeline": (lambda: clone(PIPELINE), parts, data),
}


@pytest.mark.parametrize("name", RELEASES)
def test_what_is_drawn_is_what_is_stated(name, drawn):
    make, composed, arguments = RELEASES[name]
    estimator = make()
    planned = estimator.plan().guarantee
    fitted = estimator.fit(*arguments())
    assert fitted.privacy_ == planned
    ours, theirs = composed(drawn), stated(planned)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
        # Rounding may only make a draw cheaper than stated, up to that of the sums made here.
        assert np.all(np.asarray(one) <= np.asarray(other) * (1 + 1e-14))


#: Whose last release a unit changes as one row does, however many of its rows count in full.
UNDIVIDED = ("tukey", "tukey-models", "lasso", "lasso-delta", "lasso-sample")


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        pytest.param(name, rows, marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, name in enumerate(name for name, row in RELEASES.items() if row[2] is data)
        for j, rows in enumerate(["weights", 2])
    ],
)
def test_what_is_drawn_for_units_is_what_is_stated(name, rows, drawn):
    make, composed, arguments = RELEASES[name]
    X, y = arguments()
    table = pd.DataFrame(X).rename(columns=str).assign(y=y, unit=np.arange(len(y)) % 1500)
    target = None if name == "scaler" else "y"
    features = ["0", "1", "2", "3"]
    fitted = make().fit(
        nolook.read_table(table, target, features=features, unit="unit", rows_per_unit=rows)
    )
    ours, theirs = composed(drawn), stated(fitted.privacy_)
    assert len(ours) == len(theirs)
    divisors = np.full(len(ours), 1.0 if rows == "weights" else rows)
    if name in UNDIVIDED:
        divisors[-1] = 1.0
    for one, other, divisor in zip(ours, theirs, divisors, strict=True):
        np.testing.assert_allclose(one, np.asarray(other) / divisor, rtol=1e-9)
        assert np.all(np.asarray(one) * divisor <= np.asarray(other) * (1 + 1e-14))


def plain(value):
    """All that somebody can see of a fitted estimator, as text."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, value.tobytes()  # digits take far longer
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, PrivateEstimator):
        return {name: plain(one) for name, one in vars(value).items()}
    if attrs.has(type(value)):
        return {one.name: plain(getattr(value, one.name)) for one in attrs.fields(type(value))}
    return vars(value) if hasattr(value, "__dict__") else value


@pytest.mark.parametrize("name", RELEASES)
def test_where_mechanisms_answer_the_same_tables_make_no_difference(name, monkeypatch):
    make, _, arguments = RELEASES[name]
    replace_everywhere(ANSWERS, monkeypatch)
    other = [given[1000:] for given in arguments()]
    if make().plan().guarantee.relation == "replace":  # the number of rows is public
        other = [np.concatenate([given, given[:1000]]) for given in other]
        other[0] = 1.0 - other[0]
    first, second = (repr(plain(make().fit(*table))) for table in (arguments(), other))
    assert first == second


@pytest.mark.parametrize("rows", ["weights", 4])
@pytest.mark.parametrize("name", ["ecdf", "ecdf-gaussian", "roc-found", "hosmer-lemeshow"])
def test_what_is_drawn_for_distributions_of_units_is_what_is_stated(name, rows, drawn):
    make, composed, arguments = RELEASES[name]
    columns = dict(zip(("p", "y"), arguments(), strict=False))
    frame = pd.DataFrame(columns).assign(id=lambda table: table.index // 5)
    target = "y" if "y" in columns else None
    table = nolook.read_table(frame, target, features=["p"], unit="id", rows_per_unit=rows)
    fitted = make().fit(table)
    each = 1 if rows == "weights" else rows
    ours, theirs = composed(drawn), stated(fitted.privacy_)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one * each, other, rtol=1e-9)
        assert one * each <= other * (1 + 1e-14)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_quantiles_draw_what_they_state(delta, drawn):
    found = nolook.quantiles(data()[0], [0.5], epsilon=1.0, delta=delta)
    assert drawn == stated(found.privacy)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_where_mechanisms_answer_the_same_quantiles_are_the_same(delta, monkeypatch):
    replace_everywhere(ANSWERS, monkeypatch)
    tables = data()[0], -data()[0][1000:]
    first, second = (
        repr(plain(nolook.quantiles(each, [0.1, 0.5], delta=delta))) for each in tables
    )
    assert first == second


def tabulated(rows, find_levels=False, **options):
    """Tabulate all that can be asked."""
    frame = pd.DataFrame(data()[0], columns=["a", "b", "c", "d"]).iloc[rows:]
    frame["e"], frame["f"] = frame.a > 5.0, (frame.b > 5.0).map({True: "x", False: "y"})
    frame["id"] = frame.index // 5
    levels, shares = ([None], ["e"]) if find_levels else (["x", "y"], ["e", "f=x"])
    table = nolook.read_table(
        frame, False, features=[*"abcdef"], categories={"f": levels}, unit="id", **options
    )
    asked = {"mean": ["a", "b"], "median": "c", "share": shares, "find_levels": find_levels}
    return lambda **budget: nolook.tabulate(table, [["e"], ["f"]], **asked, **budget)


def grouped(rows, release=nolook.compare_groups, **options):
    """Compare groups of all but the first rows."""
    frame = pd.DataFrame(data()[0][rows:, :1], columns=["a"])
    frame["e"], frame["id"] = frame.a > 5.0, frame.index // 5
    table = nolook.read_table(frame, False, features=["a", "e"], unit="id", **options)
    return release(table, "a", "e", epsilon=1.0)


@pytest.mark.parametrize("release", [nolook.compare_groups, nolook.survival])
@pytest.mark.parametrize("rows", ["weights", 4])
def test_comparisons_of_groups_draw_what_they_state(rows, release, drawn):
    found = grouped(0, release, rows_per_unit=rows)
    times = 1 if rows == "weights" else rows
    np.testing.assert_allclose(np.array(drawn) * times, stated(found.privacy), rtol=1e-9)
    assert len(drawn) == (6 if release is nolook.compare_groups else 4)


@pytest.mark.parametrize("release", [nolook.compare_groups, nolook.survival])
def test_where_mechanisms_answer_the_same_comparisons_are_the_same(release, monkeypatch):
    replace_everywhere(ANSWERS, monkeypatch)
    first, second = (repr(plain(grouped(rows, release))) for rows in (0, 1000))
    assert first == second


def crossed(rows, **options):
    """Count all pairs of four columns."""
    frame = pd.DataFrame(data()[0][rows:] > 5.0, columns=[*"abcd"])
    frame["id"] = frame.index // 5
    table = nolook.read_table(frame, False, features=[*"abcd"], unit="id", **options)
    return lambda **budget: nolook.tabulate(table, all_pairs=[*"abcd"], **budget)


@pytest.mark.parametrize("rows", ["weights", 4])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_counts_of_all_pairs_draw_what_they_state(delta, rows, drawn):
    found = crossed(0, rows_per_unit=rows)(delta=delta)
    times = 1 if rows == "weights" else rows
    np.testing.assert_allclose(np.array(drawn) * times, stated(found.privacy), rtol=1e-9)
    assert len(drawn) == 2


@pytest.mark.parametrize("rows", ["weights", 4])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_tabulations_draw_what_they_state(delta, rows, drawn):
    found = tabulated(0, rows_per_unit=rows)(delta=delta)
    times = 1 if rows == "weights" else rows
    np.testing.assert_allclose(np.array(drawn) * times, stated(found.privacy), rtol=1e-9)
    assert len(drawn) == 7
    described = nolook.describe(data()[0], delta=delta)
    assert drawn[7:] == stated(described.privacy)


def test_a_search_for_levels_draws_what_it_states(drawn):
    found = tabulated(0, find_levels=True)()
    assert len(drawn) == 8
    once = [event for event in found.privacy.mechanisms if isinstance(event, DeltaEvent)]
    assert [event.delta for event in once] == [5e-7]
    others = [event for event in found.privacy.mechanisms if event not in once]
    assert drawn == [event.mu for event in others]


@pytest.mark.parametrize(
    "budget", [{"delta": 0.0}, {"delta": 1e-6}, {"find_levels": True, "epsilon": 3.0}]
)
def test_where_mechanisms_answer_the_same_tabulations_are_the_same(budget, monkeypatch):
    replace_everywhere(ANSWERS, monkeypatch)
    find = budget.pop("find_levels", False)
    first, second = (repr(plain(tabulated(rows, find)(**budget))) for rows in (0, 1000))
    assert first == second


def judged(rows):
    """Evaluate a model of probabilities, whose score is its first feature."""
    p, positive = (each[rows:] for each in scored())
    return nolook.evaluate(probable(1.0, 0.0), np.stack([p, p], axis=1), positive, epsilon=1.0)


def test_evaluations_draw_what_they_state(drawn):
    theirs = stated(judged(0).privacy)
    ours = [*drawn[:2], *groups(drawn[2:])]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert np.all(np.array(ours) <= np.array(theirs) * (1 + 1e-14))


def test_where_mechanisms_answer_the_same_evaluations_are_the_same(monkeypatch):
    replace_everywhere(ANSWERS, monkeypatch)
    first, second = (repr(plain(judged(rows))) for rows in (0, 1000))
    assert first == second


FOLDED = {
    "linear": (nolook.LinearRegression(), descent, lambda _: 24, data, each),
    "logistic": (
        nolook.LogisticRegression(),
        steps,
        until_scores,
        classes,
        each,
    ),
}


def cross_validated(name, rows=0):
    """Cross-validate in two folds: a row is in one fit and in one evaluation."""
    estimator, _, _, arguments, _ = FOLDED[name]
    X, y = arguments()
    return nolook.cross_validate(estimator, X[rows:], y[rows:], folds=2, epsilon=4.0)


def check_cross_validation(name, drawn):
    estimator, fitted, length, arguments, judged = FOLDED[name]
    estimator.fit(*arguments())
    assert length(drawn) == len(drawn)
    drawn.clear()
    theirs = stated(cross_validated(name).privacy)
    # A fit begins as the first one did.
    second = next(k for k in range(3, len(drawn)) if drawn[k : k + 3] == drawn[:3])
    for draws in (drawn[:second], drawn[second:]):
        fit = length(draws)
        ours = [*fitted(draws[:fit]), *judged(draws[fit:])]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
        assert np.all(np.array(ours) <= np.array(theirs) * (1 + 1e-14))


@pytest.mark.parametrize("name", FOLDED)
def test_each_fold_of_a_cross_validation_draws_what_is_stated(name, drawn):
    check_cross_validation(name, drawn)


def test_an_evaluation_that_is_not_charged_is_noticed(drawn, monkeypatch):
    def free(self, fit, _):
        return [fit] * (self.folds - 1)

    monkeypatch.setattr(FoldsInSequence, "of_a_row", free)
    with pytest.raises(AssertionError):
        check_cross_validation("linear", drawn)


def test_where_mechanisms_answer_the_same_cross_validations_are_the_same(monkeypatch):
    replace_everywhere(ANSWERS, monkeypatch)
    for name in FOLDED:
        first, second = (repr(plain(cross_validated(name, rows))) for rows in (0, 1000))
        assert first == second


def test_nothing_that_releases_is_left_out():
    named = (getattr(nolook, name) for name in nolook.__all__)
    kinds = {
        kind for kind in named if isinstance(kind, type) and issubclass(kind, PrivateEstimator)
    }
    assert {type(make()) for make, _, _ in RELEASES.values()} == kinds
    listed = {entry.load() for entry in (MODELS | SELECTORS).values()}
    listed |= {nolook.ECDF, nolook.ROCCurve, nolook.HosmerLemeshow}
    assert kinds - listed == {nolook.QuantileScaler, nolook.PrivatePipeline}

"""Whether the log-rank test holds its level, how often intervals are right, and a curve's error.

Everything is of `nolook.survival` itself, next to SciPy's curve and test without privacy on the
same rows. Times are days from exponential laws, rounded up; in the test's table groups are censored
at different rates, and SciPy has no test of three. The table flchain (7,874 rows, 2,169 deaths) is
that of scikit-survival, which and lifelines run in an environment of their own. The error of its
curve is the root mean square over whole days up to the 99th percentile, against the exact curve.

    python -m benchmarks.survival [--output benchmarks/results/survival.md] [--runs 1000]
        [--peer PYTHON] [--kept FILE] [--processes 1] [--quick]
        [--picture benchmarks/results/survival.png]

With `--kept`, what an interrupted run found is not computed again. Without `--peer` a temporary
environment is made for the other software.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import nolook
from benchmarks.harness import in_own_process, in_parallel, interpreter_with, main

EPSILONS = (0.1, 0.3, 1.0)
SIZES = (500, 2_000, 20_000, 50_000)
CENSORING = (1_500.0, 500.0, 800.0)  # mean days until a row of each group is censored
LEVEL = 0.05
#: Deviations from 0 that are found in 90 % of runs.
NINETY = 3.24
PLACES = np.array([100.0, 300.0, 600.0])
FLCHAIN = np.array([1_000.0, 2_500.0, 4_000.0])
COVERED = (
    ("exponential", 2_000, 1.0),
    ("exponential", 20_000, 0.3),
    ("exponential", 20_000, 1.0),
    ("flchain", 7_874, 0.3),
    ("flchain", 7_874, 1.0),
)
NEEDS = ("lifelines==0.30.3", "scikit-survival==0.28.0")
PROGRAM = """
import numpy as np
from lifelines import KaplanMeierFitter
from lifelines.statistics import logrank_test
from sksurv.datasets import load_flchain
from sksurv.nonparametric import kaplan_meier_estimator
about, ends = load_flchain()
days, died, women = ends["futime"], ends["death"], (about["sex"] == "F").to_numpy()
places = np.array(json.loads(sys.argv[1]))
fitted = KaplanMeierFitter().fit(days, died)
band = fitted.confidence_interval_survival_function_
held = np.array([band.loc[:place].iloc[-1] for place in places]).T
at, share = kaplan_meier_estimator(died, days)
other = share[np.searchsorted(at, places, "right") - 1]
parts = [part for group in (women, ~women) for part in (days[group], died[group])]
test = logrank_test(parts[0], parts[2], parts[1], parts[3])
def curve(group):
    one = KaplanMeierFitter().fit(days[group], died[group])
    ends = one.confidence_interval_survival_function_
    found = one.timeline, one.survival_function_.iloc[:, 0], *ends.T.values
    return [each.tolist() for each in found]
print(json.dumps({
    "curves": [curve(women), curve(~women)],
    "days": days.tolist(), "died": died.tolist(), "women": women.tolist(),
    "lifelines": [fitted.survival_function_at_times(places).tolist(), *held.tolist()],
    "scikit-survival": other.tolist(), "p": float(test.p_value),
}))
"""


def drawn(generator, rows, mean, censoring):
    """Return days, and whether the event happened then."""
    ends, seen = generator.exponential(mean, rows), generator.exponential(censoring, rows)
    seen = np.minimum(seen, 900.0)
    return np.ceil(np.minimum(ends, seen)), ends <= seen


def released(days, happened, groups=None, **options):
    """Return the survival curves of whole days."""
    frame = pd.DataFrame({"days": days.astype(int), "died": happened})
    if groups is None:
        return nolook.survival(nolook.read_table(frame), "days", "died", **options)
    names = np.array(["first", "second", "third"])[: groups.max() + 1]
    table = nolook.read_table(frame.assign(arm=names[groups]), categories={"arm": list(names)})
    return nolook.survival(table, "days", "died", "arm", **options)


def censored(days, happened):
    """Return times as SciPy takes them."""
    return stats.CensoredData(uncensored=days[happened], right=days[~happened])


def tested(rows, epsilon, groups, ratio, runs):
    """Return the runs done, those with a p-value, those below .05, SciPy's, and those of both.

    They end when so many runs have a p-value.
    """
    generator = np.random.default_rng(0)
    shown = found = peers = both = 0
    for run in range(10 * runs):
        sides = [
            drawn(generator, rows // groups, 300.0 / (ratio if place else 1.0), CENSORING[place])
            for place in range(groups)
        ]
        plain = 1.0
        if groups == 2:
            plain = stats.logrank(*(censored(*each) for each in sides)).pvalue
        days, died = (np.concatenate(each) for each in zip(*sides, strict=True))
        arms = np.repeat(np.arange(groups), rows // groups)
        p_value = released(days, died, arms, epsilon=epsilon, random_state=run).p_value
        shown += p_value is not None
        found += (below := p_value is not None and p_value < LEVEL)
        peers += int(plain < LEVEL)
        both += int(below and plain < LEVEL)
        if shown == runs or (run == runs // 10 and not shown):
            break  # all that were asked for, or hardly any has one
    return run + 1, shown, found, peers, both


def covered(rows, epsilon, population, runs):
    """Return the share of intervals of S(t), of the median and of SciPy's that hold the truth.

    And the share of curves that reach the last time.
    """
    generator, held, shown = np.random.default_rng(1), np.zeros(5), np.full(5, runs)
    at = FLCHAIN if population else PLACES
    # The population's median of days rounded up.
    truth, middle = np.exp(-at / 300.0), 208.0
    if population:
        days, died = (np.array(each) for each in population)
        truth, middle = stats.ecdf(censored(days, died)).sf.evaluate(at), np.inf
    for run in range(runs):
        if population:
            chosen = generator.integers(len(days), size=rows)
            own = days[chosen], died[chosen]
        else:
            own = drawn(generator, rows, 300.0, 900.0)
        curve = released(*own, epsilon=epsilon, random_state=run).curves[0]
        _, low, high = curve.at(at)
        held[:3] += (low <= truth) & (truth <= high)
        shown[:3] -= np.isnan(low)
        _, low, high = curve.median()
        held[3] += (low or np.inf) <= middle <= (high or np.inf)
        plain = stats.ecdf(censored(*own)).sf.confidence_interval()
        ends = (each.evaluate(at[1:2])[0] for each in (plain.low, plain.high))
        held[4] += next(ends) <= truth[1] <= next(ends)
    return (held / shown).tolist(), (shown[:3].min() / runs).item()


def wrong(epsilon, days, died, runs):
    """Return of each curve its mean squared error, and the part of the days that is shown."""
    days, died = np.array(days), np.array(died)
    at = np.arange(1.0, np.quantile(days, 0.99))
    exact = stats.ecdf(censored(days, died)).sf.evaluate(at)
    found = []
    for run in range(runs):
        curve = released(days, died, epsilon=epsilon, random_state=run).curves[0]
        off = curve.at(at)[0] - exact
        found.append((float(np.nanmean(off**2)), float(np.mean(~np.isnan(off)))))
    return found


def row(*cells):
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def head(*cells):
    """Return the first rows of a table, after an empty line."""
    return ["", row(*cells), row(*["---"] * len(cells))]


def tests(found):
    """Yield how often the log-rank test rejects equal hazards, and different ones."""
    names = "rows", "groups", "epsilon", "hazards", "runs", "with a p-value", "p < .05", "SciPy's"
    yield from head(*names, "power over SciPy's")
    for (rows, epsilon, groups, ratio, _), (runs, shown, below, peers, both) in found.items():
        # Both tests are of the same rows, so that the ratio varies less than either.
        power = below / max(peers, 1)
        error = np.sqrt(below - 2.0 * power * both + power**2 * peers) / max(peers, 1)
        yield row(
            f"{rows:,}",
            str(groups),
            f"{epsilon:g}",
            "equal" if ratio == 1.0 else f"{ratio:.2f} times",
            f"{runs:,}",
            f"{shown / runs:.2f}",
            f"{below / shown:.3f}" if shown / runs > 0.05 else "-",
            f"{peers / runs:.3f}" if groups == 2 else "",
            "" if ratio == 1.0 else f"{power:.3f} ± {error:.3f}",
        )


def others(peer):
    """Yield S(t) of flchain as other software has it, without privacy, and as released."""
    days, died, women = (np.array(peer[each]) for each in ("days", "died", "women"))
    yield from head(*(f"S({place:g})" for place in FLCHAIN), "log-rank, men and women", "by")
    cells = [
        f"{one:.3f} ({low:.3f} to {high:.3f})"
        for one, low, high in zip(*peer["lifelines"], strict=True)
    ]
    yield row(*cells, f"{peer['p']:.1g}", NEEDS[0].replace("==", " "))
    yield row(*(f"{one:.3f}" for one in peer["scikit-survival"]), "", NEEDS[1].replace("==", " "))
    for epsilon in EPSILONS[::-1]:
        curve = released(days, died, epsilon=epsilon, random_state=0).curves[0]
        test = released(days, died, women.astype(int), epsilon=epsilon, random_state=0).p_value
        cells = [f"{one:.3f} ({low:.3f} to {high:.3f})" for one, low, high in curve.at(FLCHAIN).T]
        yield row(*cells, "-" if test is None else f"{test:.3f}", f"nolook, epsilon {epsilon:g}")


def drawn_by_both(peer, path):
    """Draw the curves of women and men by lifelines, and beside them as released."""
    if not path:
        return
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for name, style, (at, share, low, high) in zip(
        ("women", "men"), ("-", "--"), peer["curves"], strict=True
    ):
        left.step(at, share, style, where="post", label=name)
        left.fill_between(at, low, high, step="post", alpha=0.3)
    left.set(title="lifelines, without privacy", xlabel="days")
    left.legend()
    table = {name: np.array(peer[name]) for name in ("days", "died")}
    table["sex"] = np.where(peer["women"], "women", "men")
    rows = nolook.read_table(pd.DataFrame(table), categories={"sex": ["women", "men"]})
    found = nolook.survival(rows, "days", "died", "sex", epsilon=1.0, random_state=0)
    found.plot(right)
    right.set_title("nolook, epsilon 1")
    figure.savefig(path, bbox_inches="tight")
    yield ""
    yield f"![The curves of both groups by lifelines and by nolook]({Path(path).name})"


def report(runs, peer, processes, kept, picture):
    """Yield the lines of the page."""
    with interpreter_with(NEEDS, peer) as python:
        other = in_own_process(PROGRAM, json.dumps(FLCHAIN.tolist()), python=python)
    flchain = other["days"], other["died"]

    def measured(work, tasks, name):
        return in_parallel(work, tasks, processes, kept and f"{kept}.{name}")

    tasks = [
        (rows, epsilon, groups, 1.0, runs)
        for rows in SIZES
        for groups in ((2, 3) if rows < 20_000 else (2,))
        for epsilon in EPSILONS
    ]
    for rows in (2_000, 20_000):
        # About two in three have the event.
        ratio = float(np.exp(NINETY * 2.0 / np.sqrt(rows * 0.66)))
        tasks += [(rows, 0.3, 2, ratio, runs), (rows, 1.0, 2, ratio, 4 * runs)]
    yield "# Survival curves"
    yield ""
    means = "{:,g}, {:g} and {:g} days".format(*CENSORING)
    yield "Printed by `python -m benchmarks.survival`. The log-rank test of groups of one size, all"
    yield f"censored by exponential laws, after {means} in the mean, and at the latest after"
    yield "900; SciPy's of two groups, without privacy, on the same rows."
    yield from tests(measured(tested, tasks, "tests"))
    yield ""
    few = max(2, 2 * runs // 5)
    yield f"Share of 95 % intervals with the population's value in them, of {few} releases:"
    yield "S(t) at 100, 300 and 600 days of an exponential law, at 1,000, 2,500 and 4,000 days of"
    yield "flchain, drawn with replacement; its median is not reached. SciPy's of the second time."
    columns = (
        "times",
        "rows",
        "epsilon",
        "S(t)",
        "",
        "",
        "median",
        "SciPy's S(t)",
        "known to the end",
    )
    yield from head(*columns)
    tasks = [(rows, epsilon, None, few) for name, rows, epsilon in COVERED if name != "flchain"]
    found = list(measured(covered, tasks, "covered").values())
    found += [covered(rows, epsilon, flchain, few) for _, rows, epsilon in COVERED[len(found) :]]
    for (name, rows, epsilon), (shares, known) in zip(COVERED, found, strict=True):
        cells = (f"{each:.3f}" for each in (*shares, known))
        yield row(name, f"{rows:,}", f"{epsilon:g}", *cells)
    yield ""
    few = max(2, runs // 10)
    yield f"Error of the curve of flchain, root mean square of {few} releases."
    yield from head("epsilon", "RMSE", "largest of the runs", "part of the days that is shown")
    for epsilon in EPSILONS:
        squares, shown = zip(*wrong(epsilon, *flchain, few), strict=True)
        sizes = [f"{np.sqrt(each):.4f}" for each in (np.mean(squares), max(squares))]
        yield row(f"{epsilon:g}", *sizes, f"{np.mean(shown):.3f}")
    yield ""
    yield "The same table by other software, without privacy, and one release each."
    yield from others(other)
    yield from drawn_by_both(other, picture)


if __name__ == "__main__":
    main(report, __doc__, runs=1000, peer="", processes=1, kept="", picture="", quick={"runs": 5})

"""Values no parameter expects: refused in one line, and nothing is charged."""

from __future__ import annotations

import inspect

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from typer.main import get_command

import nolook
import nolook.cli
from nolook.estimators.catalogue import CLASSIFIERS, COUNTS, METHODS, SELECTORS
from tests.hostile.arbitrary import NAMES, odd_values
from tests.hostile.commands import COMMANDS, release
from tests.hostile.harness import Charged, attempt, inputs, run

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(40, 3))
y = X @ [1.0, 2.0, 0.0]
PROBABILITIES = 1.0 / (1.0 + np.exp(-y))

# Parameters that make a fit cheap, since most inputs change another one.
CHEAP = {nolook.BoostedAdaSSPRegressor: {"n_rounds": 3}}
ESTIMATORS = {
    **{
        kind: (CHEAP.get(kind, {}), (X, y))
        for kind in (one.load() for one in (METHODS | COUNTS).values())
    },
    **{entry.load(): ({"k": 1}, (X, y)) for entry in SELECTORS.values()},
    **{entry.load(): ({}, (X, y > 0)) for entry in CLASSIFIERS.values()},
    nolook.QuantileScaler: ({}, (X,)),
    nolook.ECDF: ({"grid": nolook.LinearGrid(0, 1, 0.1)}, (y,)),
    nolook.ROCCurve: ({"grid": nolook.LinearGrid(0, 1, 0.1)}, (PROBABILITIES, y > 0)),
    nolook.HosmerLemeshow: ({"groups": 2}, (PROBABILITIES, y > 0)),
}


def parameters_of(kind):
    return [name for name in inspect.signature(kind).parameters if name != "random_state"]


@inputs(250)
@given(st.sampled_from(list(ESTIMATORS)), st.data())
def test_estimators(folder, kind, data):
    cheap, given_data = ESTIMATORS[kind]
    known = parameters_of(kind)
    odd = data.draw(
        st.dictionaries(st.sampled_from([*known, "random_state"]), odd_values(), max_size=2)
    )
    parameters = {name: value for name, value in cheap.items() if name in known} | odd
    ledger = Charged(folder)

    def fit():
        with nolook.Ledger(ledger.path) as charged:
            return kind(**parameters).fit(*given_data, ledger=charged)

    done = attempt(fit)
    failed = isinstance(done, nolook.PrivateFitFailed)
    ledger.check(delivered=failed or not isinstance(done, nolook.NolookError))


TABLE = nolook.read_table(X)
CALLS = {
    nolook.read_table: (X, "x0", ["x1"], None, "error"),
    nolook.LinearGrid: (0, 1, 0.5),
    nolook.LogGrid: (1, 2, 0.5),
    nolook.Budget: (1.0, 0.0),
    nolook.load: ("none.json",),
}
NAMED = {nolook.read_table: ("source", "target", "features", "categories", "missing")}


@inputs(150)
@given(st.sampled_from(list(CALLS)), st.data())
def test_functions(folder, monkeypatch, function, data):
    monkeypatch.chdir(folder)
    arguments = list(CALLS[function])
    place = data.draw(st.integers(0, len(arguments) - 1))
    arguments[place] = data.draw(odd_values())
    if function in NAMED:
        named = dict(zip(NAMED[function], arguments, strict=True))
        attempt(lambda: function(**named))
    else:
        attempt(lambda: function(*arguments))


@inputs(100)
@given(st.sampled_from(["p", "epsilon", "delta", "grids"]), odd_values())
def test_quantiles(folder, name, value):
    ledger = Charged(folder)
    parameters = {"grids": {f"x{i}": nolook.LinearGrid(0, 1, 0.1) for i in range(3)}, name: value}

    def release():
        with nolook.Ledger(ledger.path) as charged:
            return nolook.quantiles(TABLE, **parameters, ledger=charged)

    done = attempt(release)
    ledger.check(delivered=isinstance(done, nolook.Quantiles))


WORDS = st.one_of(
    st.sampled_from([
        "1", "0", "-1", "nan", "inf", "1e-6", "1e400", "9" * 5000, "0.5", "", " ", "auto", "a", "b",
        "y", "a,b", "a,a", ",", "a=A,B", "=", "0:1:0.5", "1:0:1", "0:1:0", "::", "0:1e300:1e-300",
        "1:9:5%", "%", "zero", "drop-row", "tukey", "sis", "lasso", "l1", "none", "replace",
        "t.csv", "out.json", "a.ledger", ".", "/", "x" * 300, "\udcff", "\x1b[31m", "--", "-k", "2",
        "1_000", "\u0661",
    ]),
    st.sampled_from(NAMES),
)  # fmt: skip
OPTIONS = st.sampled_from([
    "--target", "--epsilon", "--delta", "--features", "--categories", "--missing", "--method",
    "--on-failure", "--select", "--selector", "--split", "--output",
    "--report", "--random-state", "--quiet", "-k", "--column", "--columns", "--at", "--grid",
    "--relation", "--score", "--label", "--positive", "--probability",
    "--groups", "--model", "--keep", "--what", "--force", "--name", "--version", "--help",
])  # fmt: skip
SOUND = {
    **{name: release(name, "t.csv", ["a", "b"]) for name in COMMANDS},
    "predict": ["predict", "--model", "m.json", "t.csv", "--output", "out.csv", "--keep", "a"],
    "create": ["ledger", "create", "b.ledger", "--epsilon", "1", "--delta", "0"],
    "charge": ["ledger", "charge", "a.ledger", "--epsilon", "1", "--what", "x"],
    "report": ["ledger", "report", "a.ledger", "--output", "l.html"],
}


@inputs(300)
@given(st.sampled_from(list(SOUND)), st.data())
def test_command_lines(folder, name, data):
    (folder / "t.csv").write_text("a,b,y\n" + "0.5,1,1\n0.25,3,0\n" * 20)
    for path in folder.iterdir():
        if path.name not in {"t.csv", "a.ledger"} and path.is_file():
            path.unlink()
    before = (folder / "t.csv").read_bytes()
    ledger = Charged(folder)
    words = list(SOUND[name])
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(0, len(words)))
        kind = data.draw(st.sampled_from(["change", "change", "drop", "option", "put"]))
        if kind == "option":
            words += [data.draw(OPTIONS), data.draw(WORDS)]
        elif kind == "put":
            words.insert(place, data.draw(st.one_of(WORDS, OPTIONS)))
        elif kind == "drop":
            del words[place : place + 1]
        else:
            words[place : place + 1] = [data.draw(WORDS)]
    charges = bool(words) and words[0] in COMMANDS and "--" not in words
    if charges:
        words += ["--ledger", "a.ledger"]
    done = run(folder, *words)
    shown = {"--help", "--version"} & set(words)
    if charges and not shown:
        ledger.check(delivered=done.status in {0, 4, 5})
    assert (folder / "t.csv").read_bytes() == before


def test_every_command_that_makes_a_release_is_here():
    commands = get_command(nolook.cli.app).commands
    charging = {
        name
        for name, command in commands.items()
        if any("--ledger" in option.opts for option in command.params)
    }
    # A plan charges for a count of rows, and makes nothing else.
    assert charging == {*COMMANDS, "plan"}

"""Write one small file of every kind that version 0.1 wrote; runs with version 0.1 only.

The files beside this script were made by ``python make.py`` and are never made again: later
versions must read them as they are.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
COLUMNS = ["age", "height", "weight", "income"]


def people(rows):
    """Return a table whose last column depends on the others; some heights are missing."""
    draws = np.random.default_rng(0)
    age, height = draws.uniform(20, 60, rows), draws.normal(170, 10, rows)
    weight = 0.5 * height + draws.normal(0, 8, rows)
    income = 1000 * age + 50 * height + draws.normal(0, 3000, rows)
    score = draws.uniform(0, 1, rows)
    return pd.DataFrame(
        {
            "age": age,
            "height": height,
            "weight": weight,
            "income": income,
            "city": draws.choice(["Bern", "Basel", "Chur"], rows),
            "score": score,
            "bought": np.where(draws.uniform(0, 1, rows) < score, "yes", "no"),
        }
    )


def models(nolook):
    """Yield the name and the unfitted estimator of every model file."""
    tukey, adassp = nolook.TukeyRegressor, nolook.AdaSSPRegressor
    boosted, dpsgd = nolook.BoostedAdaSSPRegressor, nolook.DPSGDRegressor
    paper = {"guarantee": "paper", "n_models": 300}
    yield "linear", nolook.LinearRegression(**BUDGET)
    yield "linear-seeded", nolook.LinearRegression(**BUDGET, random_state=1)
    yield "tukey", tukey(**BUDGET)
    yield "tukey-scaled", tukey(**BUDGET, basis="private-scaling", n_models=600)
    yield "tukey-failed", tukey(0.1, 1e-6, on_failure="constant")
    yield "tukey-failed-test", tukey(**BUDGET, n_models=20, on_failure="constant")
    yield "tukey-raw", tukey(**BUDGET, basis="raw", n_models=600)
    yield "tukey-paper", tukey(**BUDGET, **paper)
    yield "tukey-paper-raw-2022", tukey(**BUDGET, **paper, basis="raw", ptr="2022")
    yield "tukey-seeded", tukey(**BUDGET, random_state=2)
    yield "adassp", adassp(**BUDGET)
    yield "adassp-bounds", adassp(**BUDGET, bound_X=300.0, bound_y=70000)
    yield "adassp-oracle", adassp(**BUDGET, bounds="oracle")
    yield "boosted-adassp", boosted(**BUDGET)
    yield "boosted-adassp-unscaled", boosted(**BUDGET, n_rounds=20, scaling="none")
    yield "dpsgd", dpsgd(**BUDGET, n_steps=50)


def selectors(nolook):
    """Yield the name and the unfitted estimator of every selection file."""
    kendall, lasso, sis = nolook.KendallSelector, nolook.LassoSelector, nolook.SISSelector
    covariance = {"k": 2, "epsilon": 4.0, "score": "covariance"}
    yield "kendall", kendall(2, 4.0)
    yield "kendall-sampled", kendall("auto", 4.0, sample="auto")
    yield "kendall-half", kendall(2, 4.0, sample=0.5)
    yield "kendall-seeded", kendall(2, 4.0, random_state=3)
    yield "lasso", lasso(2, 4.0)
    yield "lasso-blocks", lasso(1, 4.0, n_models=40, penalty=0.2)
    yield "lasso-raw", lasso(2, 4.0, penalty="raw")
    yield "sis", sis(2, 4.0)
    yield "sis-lipschitz", sis("auto", 4.0, top_k="canonical-lipschitz")
    yield "sis-covariance", sis(**covariance)
    yield "sis-public", sis(**covariance, ranges=(0.0, [100.0, 250.0, 200.0, 1e5]))
    yield "sis-oracle", sis(**covariance, ranges="oracle", top_k="canonical-lipschitz")


def pipelines(nolook):
    """Yield the name and the unfitted pipeline of every file of both."""
    selector, model = dict(selectors(nolook)), dict(models(nolook))
    parts = {
        "kendall+linear": 0.2,
        "kendall-seeded+linear": 0.2,
        "kendall-sampled+dpsgd": 0.4,
        "lasso+boosted-adassp": 0.2,
        "lasso-raw+linear": 0.2,
        "sis+tukey": 0.1,
        "sis-public+adassp": 0.2,
        "sis-oracle+tukey-paper": 0.2,
        "sis-covariance+adassp-oracle": 0.2,
        "lasso-blocks+tukey-failed-test": 0.2,
    }
    for name, share in parts.items():
        first, second = name.split("+")
        both = selector[first], model[second]
        yield name, nolook.make_private_pipeline(*both, **BUDGET, split=share)


def distributions(nolook):
    """Yield the name and the unfitted estimator of every distribution file."""
    linear, log = nolook.LinearGrid(10, 70, 0.5), nolook.LogGrid(1, 100, 0.05)
    yield "ecdf", nolook.ECDF(4.0)
    yield "ecdf-linear", nolook.ECDF(4.0, linear)
    yield "ecdf-log", nolook.ECDF(4.0, log, smoothing="isotonic")
    yield "ecdf-gaussian", nolook.ECDF(4.0, linear, 1e-6, smoothing="l1")
    yield "ecdf-replace", nolook.ECDF(4.0, linear, relation="replace", smoothing=None)
    yield "ecdf-seeded", nolook.ECDF(4.0, linear, random_state=4)


def write_estimators(nolook, frame):
    """Write models, pipelines, selections and distributions; for arrays, columns have no names."""
    from nolook.report.selection_file import write_selection

    x, y = frame[COLUMNS[:-1]], frame["income"]
    for name, model in (*models(nolook), *pipelines(nolook)):
        nolook.save(model.fit(x, y), HERE / f"{name}.model.json")
    arrays = nolook.LinearRegression(**BUDGET).fit(x.to_numpy(), y.to_numpy())
    nolook.save(arrays, HERE / "linear-arrays.model.json")
    both = dict(pipelines(nolook))["kendall+linear"].fit(x.to_numpy(), y.to_numpy())
    nolook.save(both, HERE / "kendall+linear-arrays.model.json")
    for name, selector in selectors(nolook):
        write_selection(selector.fit(x, y), HERE / f"{name}.selection.json", target="income")
    for name, ecdf in distributions(nolook):
        nolook.save(ecdf.fit(frame["age"][:500]), HERE / f"{name}.distribution.json")


def write_commands(frame, folder):
    """Write what the command line made of a table: models with categories, and of scores."""
    frame.loc[::50, "height"] = np.nan
    frame.to_parquet(folder / "people.parquet")
    spend = "--epsilon 4 --delta 1e-6"
    city = "--features age,height,city --categories city=Bern,Basel,Chur --target income"
    scored = "people.parquet --score score --label bought --positive yes --epsilon 4"
    chance = "people.parquet --probability score --label bought --positive yes --epsilon 4"
    files = {
        "categories.model.json": f"fit people.parquet {city} {spend} --missing drop-row",
        "categories-selected.model.json": f"fit people.parquet {city} {spend} --missing zero "
        "--select 2 --method adassp",
        "categories.selection.json": f"select people.parquet {city} -k 2 --epsilon 4 "
        "--missing drop-row",
        "people.distribution.json": "ecdf people.parquet --column height --epsilon 4 "
        "--missing drop-row --log-grid 100:300:0.01",
        "people.quantiles.json": "quantiles people.parquet --columns age,income --epsilon 4 "
        "--grid age=10:70:0.5",
        "people.roc.json": f"roc {scored} --grid 0:1:0.05",
        "people-replace.roc.json": f"roc {scored} --grid 0:1:0.05 --relation replace "
        "--smoothing isotonic --random-state 5",
        "people.calibration.json": f"calibration {chance}",
        "people-seeded.calibration.json": f"calibration {chance} --groups 4 --random-state 6",
    }
    for name, words in files.items():
        call(folder, *words.split(), "--output", HERE / name)


def call(folder, *words):
    """Run the command line in a folder."""
    command = Path(sys.executable).with_name("nolook")
    subprocess.run([command, *words, "--quiet"], cwd=folder, check=True)


def write_ledger(nolook):
    """Write a ledger with a release that was paid, one given back and one that never ended."""
    budget = nolook.Budget(10.0, 1e-5)
    with nolook.Ledger.create(HERE / "people.ledger", budget, name="people") as ledger:
        draws = np.random.default_rng(1).uniform(0, 1, 500)
        nolook.ECDF(1.0, nolook.LinearGrid(0, 1, 0.1)).fit(draws, ledger=ledger)
        spent = {"relation": "add-remove", "description": "another"}
        ledger.reserve(nolook.Budget(2.0, 1e-6), **spent).refund("stopped on its own output")
        ledger.reserve(nolook.Budget(0.5), **spent)


def write_federated(nolook, folder):
    """Write batches and what two servers' answers about them became."""
    from nolook.federated.owners import make_reports
    from nolook.report.batch_file import write_batch
    from nolook.report.federated_counts import Counts, write_counts
    from nolook.report.findings_file import write_calibration, write_roc

    from nolook.federated import answers, shares
    from nolook.federated.pending import write_pending
    from nolook.privacy.noise import SystemEntropy
    from nolook.report.score_findings import Scored

    draws = np.random.default_rng(2)
    values = draws.uniform(0, 1, 200)
    positive = draws.uniform(0, 1, 200) < values
    grid = nolook.LinearGrid(0.125, 1, 0.125)
    made = (
        answers.Batch("federated-ecdf", "ecdf", 4.0, grid),
        answers.Batch("federated-log", "ecdf", 4.0, nolook.LogGrid(0.01, 1, 0.5), 50),
        answers.Batch("federated-roc", "roc", 4.0, grid),
        answers.Batch("federated-calibration", "hosmer-lemeshow", 4.0),
        answers.Batch("federated-any", "ecdf", 4.0),
    )

    def answered(batch, noisy, computed):
        labels = None if batch.kind == "ecdf" else positive
        reports = make_reports(batch, values, labels, SystemEntropy())[1:]
        return [
            answers.Answer(
                role, batch.digest, bytes(32), 200, noisy(computed(batch, role, own), bytes([role]))
            )
            for role, own in enumerate(reports)
        ]

    def curves(batch):
        return answered(
            batch, lambda sums, key: shares.noisy_curves(batch, sums, key * 32), shares.curve_sums
        )

    for batch in made:
        write_batch(batch, HERE / f"{batch.name}.batch.json")
    for batch in made[:2]:
        found = answers.distribution(batch, *curves(batch))
        nolook.save(found, HERE / f"{batch.name}.distribution.json")
    scored = Scored("federated", "label", "1")
    roc = answers.distribution(made[2], *curves(made[2]))
    write_roc(roc, HERE / "federated.roc.json", scored=scored)
    both = curves(made[3])
    places = answers.borders(made[3], *both, 4)
    groups = answered(
        made[3],
        lambda sums, key: shares.noisy_groups(made[3], sums, places, key * 32),
        shares.curve_sums,
    )
    test = answers.calibration(made[3], both, groups, places, 4)
    write_calibration(test, HERE / "federated.calibration.json", scored=scored)
    asked = answers.places(made[4], [0.25, 0.5])
    counted, errors = answers.counts(
        made[4],
        *answered(
            made[4],
            lambda sums, key: shares.noisy_points(made[4], sums, asked, key * 32),
            lambda batch, role, own: shares.point_sums(batch, role, own, asked),
        ),
        asked,
    )
    points = made[4].points()[asked]
    counts = Counts(made[4], 200, points, counted, errors, shares.guarantee(made[4]))
    write_counts(counts, HERE / "federated.counts.json")
    named, *both = make_reports(made[0], values[:2], None, SystemEntropy())
    digest = named.tobytes()[:32].ljust(32, b"\0")
    write_pending(HERE / "federated-ecdf.pending", made[0], digest, *both)


def main():
    """Write every file."""
    import nolook

    if nolook.__version__ != "0.1.0":
        sys.exit("these are files of version 0.1.0; expected that version")
    frame = people(6000)
    write_estimators(nolook, frame)
    write_ledger(nolook)
    with tempfile.TemporaryDirectory() as folder:
        write_commands(frame, Path(folder))
        write_federated(nolook, Path(folder))


if __name__ == "__main__":
    main()

"""What do hospital visits cost? A private model of patients who have one visit or sixty.

    python examples/patients.py [FOLDER]

writes a table of visits, its schema, a ledger, a model and a report into FOLDER (default: the
current one). Nobody's data: the visits are simulated. Ill patients come more often, so a table of
visits is mostly about few patients; here each patient is protected with all their visits, and
each counts once.
"""

from __future__ import annotations

import csv
import math
import random
import sys
import tomllib
from datetime import date, timedelta
from pathlib import Path

import nolook

PATIENTS = 6000
MOST_VISITS = 60
FIRST_DAY = date(2023, 1, 1)
# What a ward treats, how much more costly that is, and how common.
WARDS = {"general": (0, 40), "heart": (900, 25), "lungs": (350, 20), "accident": (500, 15)}
# The data owner's declarations. The unit is the patient, for everyone who uses the table.
SCHEMA = """\
[file]
delimiter = ";"
missing = ["NA"]

[columns.patient_id]
type = "identifier"
use = "unit"

[columns.visited]
type = "date"
use = "nothing"

[columns.age]
type = "number"

[columns.sex]
type = "category"
levels = ["f", "m"]

[columns.ward]
type = "category"
levels = ["general", "heart", "lungs", "accident"]

[columns.crp]
type = "number"

[columns.creatinine]
type = "number"

[columns.nights]
type = "number"

[columns.readmitted]
type = "boolean"
true = ["yes"]
false = ["no"]
use = "nothing"

[columns.cost]
type = "number"
thousands = ","
use = "nothing"
"""


def visits_of(patient, chance):
    """Yield the visits of a patient, who is ill to a degree that all of them share."""
    illness = chance.gauss(0, 1)
    age, sex = chance.triangular(0, 98, 70), chance.choice("fm")
    visits = min(MOST_VISITS, 1 + int(chance.expovariate(1) * math.exp(1 + 0.8 * illness)))
    ward = chance.choices(list(WARDS), [share for _, share in WARDS.values()])[0]
    day = chance.randrange(300)
    for _ in range(visits):
        day += 1 + int(chance.expovariate(1 / 40))
        crp = math.exp(chance.gauss(1.2 + 0.5 * illness, 0.8))
        creatinine = chance.gauss(0.9 + 0.1 * (sex == "m") + 0.004 * (age - 40), 0.15)
        nights = int(chance.expovariate(1) * math.exp(0.6 + 0.3 * illness))
        cost = 800 + 12 * age + 450 * nights + 25 * crp + 600 * illness + WARDS[ward][0]
        cost = max(60.0, cost + chance.gauss(0, 500))
        again = chance.random() < 1 / (1 + math.exp(2.5 - illness - 0.1 * nights))
        yield (
            f"P{patient:06d}",
            (FIRST_DAY + timedelta(day)).isoformat(),
            f"{age + day / 365:.1f}",
            sex,
            ward,
            # Not everybody's blood is tested.
            f"{crp:.1f}" if chance.random() < 0.9 else "NA",
            f"{creatinine:.2f}" if chance.random() < 0.7 else "NA",
            nights,
            "yes" if again else "no",
            f"{cost:,.2f}",
        )


def write_visits(path):
    """Simulate the visits of two years in the order of their days, the same each time."""
    chance = random.Random(1)
    visits = [visit for patient in range(PATIENTS) for visit in visits_of(patient, chance)]
    visits.sort(key=lambda visit: visit[1])
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(tomllib.loads(SCHEMA)["columns"])
        rows.writerows(visits)


def main():
    """Simulate, declare, choose, fit, print and save."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    visits, declared = folder / "visits.csv", folder / "visits.toml"
    write_visits(visits)
    declared.write_text(SCHEMA, encoding="utf-8")
    schema = nolook.Schema.read(declared)
    # A missing value becomes its column's private centre.
    table = nolook.read_table(visits, "cost", schema=schema, missing="centre")
    outcome = nolook.read_table(visits, "readmitted", schema=schema, missing="centre")
    # One column alone, and whose it is.
    nights = nolook.read_table(
        visits, features=["nights"], schema=schema.only(["nights", "patient_id"])
    )
    selector = nolook.MomentSelector(k=3, epsilon=0.5, delta=1e-7)
    model = nolook.LinearRegression(epsilon=1.0, delta=1e-7)
    again = nolook.LogisticRegression(epsilon=0.5, delta=1e-7)
    stays = nolook.ECDF(epsilon=0.5)
    budget = nolook.Budget(epsilon=3.0, delta=1e-6)
    with nolook.Ledger.create(folder / "visits.ledger", budget, name="visits") as ledger:
        selector.fit(table, ledger=ledger)
        model.fit(table, ledger=ledger)
        again.fit(outcome, ledger=ledger)
        stays.fit(nights, ledger=ledger)
        print(f"each release protects a {ledger.unit}")
        left = ledger.remaining
    print("most of the cost:", ", ".join(selector.get_feature_names_out()))
    print(f"about {model.rows_.value:,.0f} patients, each counted once")
    for name, slope in zip(table.feature_names, model.coef_, strict=True):
        print(f"{name:16s}{slope:10.1f}")
    print("R2", "not distinguishable from noise" if model.r2_ is None else f"{model.r2_:.3f}")
    print(f"readmitted: {100 * again.base_rate_:.1f} %")
    at_most, error = stays.cdf(1.0, return_std=True)
    print(f"one night at most: {100 * at_most:.1f} % (noise: {100 * error:.1f} %)")
    print(model.privacy_.in_words())
    print(f"left for later releases: epsilon {left.epsilon:g}, delta {left.delta:g}")
    nolook.save(model, folder / "visits.model.json")
    model.report(folder / "visits.html")
    stays.report(folder / "nights.html")


if __name__ == "__main__":
    main()

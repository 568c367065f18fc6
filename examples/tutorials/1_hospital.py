"""
From a messy table to a published model
=======================================

A hospital wants to publish which patients are readmitted within a month, without revealing who was
in the table. This page goes from its CSV file to a private model that is evaluated and
reported, all within one budget. For a table of your own, change the file, the schema and the names
of the columns.

Two roles matter: the **data owner** may see the table, and the **reader** of the results may be
anyone.
"""

# %%
# The table
# ---------
#
# This table is simulated, but as messy as a real one: semicolons, decimal commas, points between
# thousands, dates with the day first, "n/a", and several stays for many patients. ``shell`` runs a
# command and shows its output.

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from helpers.hospital import write_stays
from helpers.shell import FOLDER, shell

import nolook

write_stays(FOLDER / "stays.csv")
shell("head -4 stays.csv")

# %%
# The data owner holds out some patients, to evaluate the model later on people it has not seen.
# Split a table by a property of the row itself, here the last digit of the patient's number, never
# by its position: removing one row would shift all rows after it.

shell("awk -F';' 'NR == 1 || $2 % 10 < 7' stays.csv > fitted.csv")
shell("awk -F';' 'NR == 1 || $2 % 10 >= 7' stays.csv > kept.csv")

# %%
# A schema
# --------
#
# A CSV file declares no types, so the data owner declares once what each column is. ``nolook
# schema`` drafts this from a sample of rows; with ``--levels`` it shows the values of columns that
# have few. The draft is not private, and commands refuse it until the data owner has reviewed it:

shell("nolook schema stays.csv")
shell("nolook fit stays.csv --schema stays.toml --target readmitted --epsilon 1", status=2)

# %%
# This is the reviewed schema. The data owner knows how numbers and dates are written, which wards
# exist, which column identifies the patient (``use = "unit"``), and which column is the target.
# Columns that explain nothing, such as one with the same value in every row, cost accuracy: give
# them ``use = "nothing"``.

SCHEMA = """
[file]
delimiter = ";"
decimal = ","
missing = ["n/a"]

[columns]
stay = "identifier"
patient_id = { type = "integer", use = "unit" }
admitted = { type = "date", pattern = "%d.%m.%Y", use = "nothing" }
age = "integer"
sex = { type = "category", levels = ["F", "M"] }
ward = { type = "category", levels = ["Medicine", "Surgery", "Cardiology", "Geriatrics"] }
systolic = "number"
days = "integer"
cost = { type = "number", thousands = ".", use = "nothing" }
readmitted = { type = "boolean", true = ["yes"], false = ["no"], use = "target" }
"""
(FOLDER / "stays.toml").write_text(SCHEMA)

# %%
# A budget
# --------
#
# How much may all results together reveal about one patient? The hospital decides on epsilon = 2
# before anything is computed, and creates a ledger with this total. nolook refuses any release that
# would exceed it.

shell("nolook ledger create stays.ledger --epsilon 2 --delta 1e-5 --name 'stays of 2024'")

# %%
# A model
# -------
#
# Half of the budget goes to the model. The budget is the only setting: there are no bounds and no
# penalties. A target with two declared values gets a logistic regression. Some blood pressures are
# missing; ``--missing centre`` replaces them by the column's private centre. Because the schema
# names a unit, the guarantee protects each patient with all their stays.

shell(
    "nolook fit fitted.csv --schema stays.toml --missing centre --epsilon 1"
    " --ledger stays.ledger --output stays.model.json --report model.html"
)

# %%
# What it says
# ------------
#
# From here on the table is not needed. Each column multiplies the odds of readmission; the picture
# shows the factor from one end of the column's usual range to the other (two of its scales). An
# interval that includes 1 means that the direction is not known. Where no interval is known, none
# is drawn. See :doc:`/intervals`.

model = nolook.load(FOLDER / "stays.model.json")
names = list(model.feature_names_in_)
places = np.arange(len(names))[::-1]
range_of = 2 * np.asarray(model.scaling_.scale)[: len(names)]
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.plot(np.exp(model.coef_ * range_of), places, "o", color="#0b5fa5")
for place, ends, width in zip(places, model.coef_interval_, range_of, strict=True):
    axes.plot(np.exp(ends * width), [place, place], color="#0b5fa5")
axes.axvline(1, color="black", linewidth=0.8)
axes.set_xscale("log")
ticks = [0.5, 1, 2, 4, 8]
axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
axes.minorticks_off()
axes.set_yticks(places, names)
axes.set_xlabel("odds ratio over the column's usual range")
plt.show()

# %%
print(textwrap.fill(model.privacy_.in_words(), 88))

# %%
# How good it is
# --------------
#
# The held-out patients are protected too: evaluating on them is charged to the same ledger. One
# release gives the ROC curve, the area under it, precision, and the base rate.

table = nolook.read_table(
    FOLDER / "kept.csv", schema=nolook.Schema.read(FOLDER / "stays.toml"), missing="centre"
)
with nolook.Ledger(FOLDER / "stays.ledger") as ledger:
    found = nolook.evaluate(model, table, epsilon=0.5, other_rows=True, ledger=ledger)
low, high = found.roc.auc_interval_
print(f"area under the curve {found.roc.auc_:.3f} (95 % interval {low:.3f} to {high:.3f})")
print(f"share readmitted {found.roc.base_rate_:.3f}")
found.roc.plot()
plt.show()

# %%
# The model predicts probabilities. Are they right? The calibration groups patients by predicted
# probability and compares each group with its observed outcomes. A small p-value would mean that
# the probabilities are wrong.

print(f"p-value {found.calibration.p_value_:.3f}")
found.calibration.plot()
plt.show()

# %%
# The same from the command line, with a page to publish:
# ``nolook evaluate kept.csv --schema stays.toml --model stays.model.json --other-rows -e 0.5
# --ledger stays.ledger --report evaluation.html``.
#
# Publish ``model.html`` and ``evaluation.html``. As a measure of the model, report the area under
# the curve on the held-out patients, with its interval.
#
# What is spent
# -------------
#
# The ledger lists both releases. The rest of the budget is for later questions; a release that
# would cost more is refused. ``model.html`` is a self-contained page that can be sent to anyone.

shell("nolook ledger show stays.ledger")
shell(
    "nolook quantiles kept.csv --schema stays.toml --columns cost --epsilon 1"
    " --ledger stays.ledger",
    status=3,
)

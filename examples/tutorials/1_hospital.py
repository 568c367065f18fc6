"""
From a messy table to a published model
=======================================

A hospital wants to say which patients come back within a month, and may show nobody its stays.
This page goes from its CSV file to a model that is private, evaluated and reported, all within
one budget. To use a table of your own, change the file, the schema and the names of the columns.

Two people take part. The **holder** may see the table. The **reader** may be anybody.
"""

# %%
# The table
# ---------
#
# Here the table is made up, but as untidy as real ones: semicolons, decimal commas, points between
# thousands, dates with the day first, "n/a", and several stays of many patients. ``shell`` runs a
# command and shows what it prints.

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
# The holder keeps some patients back, to see later how good the model is on people it never saw. A
# table is split by what a row says of itself, here the last digit of the patient's number, never by
# its place: one row less would move all rows after it.

shell("awk -F';' 'NR == 1 || $2 % 10 < 7' stays.csv > fitted.csv")
shell("awk -F';' 'NR == 1 || $2 % 10 >= 7' stays.csv > kept.csv")

# %%
# A schema
# --------
#
# A CSV file declares nothing, so the holder says once what each column is. ``nolook schema`` drafts
# that from some of the rows; with ``--levels`` it shows the holder the words of columns that have
# few. The draft is not private, and is refused until the holder has read it:

shell("nolook schema stays.csv")
shell("nolook fit stays.csv --schema stays.toml --target readmitted --epsilon 1", status=2)

# %%
# This is what the holder makes of the draft, from what is known about the hospital: how numbers and
# dates are written, which wards there are, whose row it is (``use = "unit"``), what is explained
# and by what. Columns that explain nothing, such as one that is the same everywhere, would blur the
# others: ``use = "nothing"``.

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
# How much may everybody together ever learn about one patient? The hospital decides on epsilon = 2,
# before anything is computed, and writes it into a ledger. Nothing exceeds it.

shell("nolook ledger create stays.ledger --epsilon 2 --delta 1e-5 --name 'stays of 2024'")

# %%
# A model
# -------
#
# Half of it goes to the model. Nothing but the budget is given: no bounds, no penalties. A target
# that is declared to have two values gets a logistic regression. Some blood
# pressures are missing: the column's centre stands for them. The schema's unit makes the guarantee
# one for patients, with all their stays.

shell(
    "nolook fit fitted.csv --schema stays.toml --missing centre --epsilon 1"
    " --ledger stays.ledger --output stays.model.json --report model.html"
)

# %%
# What it says
# ------------
#
# From here on nobody needs the table. A column multiplies the odds of coming back; below, by how
# much from one end of its usual range to the other (two of its scales). An interval that holds 1
# says that the sign is not known. Where no interval is known, none is drawn. See
# :doc:`/intervals`.

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
axes.set_xlabel("factor of the odds, for the column's usual range")
plt.show()

# %%
print(textwrap.fill(model.privacy_.in_words(), 88))

# %%
# How good it is
# --------------
#
# The patients who were kept back are people too: what is said of them is paid for from the same
# ledger. One release gives the ROC curve, the area under it, precision, and the base rate.

table = nolook.read_table(
    FOLDER / "kept.csv", schema=nolook.Schema.read(FOLDER / "stays.toml"), missing="centre"
)
with nolook.Ledger(FOLDER / "stays.ledger") as ledger:
    found = nolook.evaluate(model, table, epsilon=0.5, other_rows=True, ledger=ledger)
low, high = found.roc.auc_interval_
print(f"area under the curve {found.roc.auc_:.3f}, with the noise from {low:.3f} to {high:.3f}")
print(f"share readmitted {found.roc.base_rate_:.3f}")
found.roc.plot()
plt.show()

# %%
# The model gives probabilities. Are they right? Groups of patients by what was predicted, with what
# happened; a small p-value would say that they are off.

print(f"p-value {found.calibration.p_value_:.3f}")
found.calibration.calibration_curve().plot()
plt.show()

# %%
# The same from the command line, with a page to publish:
# ``nolook evaluate kept.csv --schema stays.toml --model stays.model.json --other-rows -e 0.5
# --ledger stays.ledger --report evaluation.html``.
#
# To publish: ``model.html`` and ``evaluation.html``, and of how good the model is the area under
# the curve with its interval, found on patients who were kept back.
#
# What is spent
# -------------
#
# The ledger lists both releases. What is left is for later questions; when it is gone, nolook
# refuses. ``model.html`` is a page that loads nothing and can be sent to anyone.

shell("nolook ledger show stays.ledger")
shell(
    "nolook quantiles kept.csv --schema stays.toml --columns cost --epsilon 1"
    " --ledger stays.ledger",
    status=3,
)

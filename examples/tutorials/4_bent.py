"""
A curve that a line misses
==========================

In a linear model every year of age changes the odds by the same factor. Where young and old people
resemble each other and differ from those in between, a line misses the pattern. An additive model
gives a column a curve instead, where the data show that one is needed. There are no ranges or knots
to choose.
"""

# %%
# The table has 45,211 customers of a bank who were called and offered a deposit. Who opened one?
# First a model with lines, for half of the budget.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet as pq
from helpers.shell import DATA, FOLDER

import nolook

table = pq.read_table(DATA / "bank_marketing.parquet")
X = table.select(["age", "balance", "campaign"]).to_pandas()
opened = table["target"].to_numpy().astype(bool)

ledger = nolook.Ledger.create(FOLDER / "bank.ledger", nolook.Budget(2.0, 1e-5), name="bank")
lines = nolook.LogisticRegression(epsilon=1.0).fit(X, opened, ledger=ledger)
low, high = np.exp(10 * lines.coef_interval_[0])
print(f"ten more years multiply the odds by {low:.2f} to {high:.2f}")
print(f"AUC {lines.auc_:.3f}, from {lines.auc_interval_[0]:.3f} to {lines.auc_interval_[1]:.3f}")

# %%
# Curves
# ------
#
# The additive model costs the same and has the same options.

curves = nolook.AdditiveClassifier(epsilon=1.0).fit(X, opened, ledger=ledger)
print(f"AUC {curves.auc_:.3f}, from {curves.auc_interval_[0]:.3f} to {curves.auc_interval_[1]:.3f}")
for name, curve in zip(X.columns, curves.curves_, strict=True):
    print(f"{name}: {'a line' if curve.straight else 'a curve'}, {curve.share:.0%} of what varies")

# %%
# Heights are log-odds, so their differences are logarithms of odds ratios. Compared with age 40:

age = curves.curves_[0]
years = np.array([20.0, 30.0, 50.0, 60.0, 70.0])
for year, ratio in zip(years, np.exp(age.at(years) - age.at(np.array([40.0]))), strict=True):
    print(f"at {year:.0f} the odds are {ratio:.2f} times those at 40")

# %%
# The picture shows the odds relative to the curve's mean, with a 95 % band of sampling and noise.
# The steps at the bottom show how customers are distributed. The report has one picture per column,
# those that explain most first.

curves.plot()
plt.show()

# %%
# ``monotone={"balance": "up"}`` makes a curve that only rises, ``straight=["campaign"]`` a line.
# Neither costs anything. A curve that cannot be distinguished from a line is drawn as a line.

ledger.close()

"""
A curve that a line misses
==========================

When are bicycles rented? Few are at night, many at eight and at six o'clock, when people go to work
and home. In a linear model every hour adds the same number of rentals, which misses the pattern. An
additive model gives a column a curve instead, where the data show that one is needed. There are no
ranges or knots to choose.
"""

# %%
# The table has 17,379 hours of a bicycle rental: the weather, and how many bicycles were rented.
# First a model with lines, for half of the budget.

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet as pq
from helpers.shell import DATA, FOLDER

import nolook

table = pq.read_table(DATA / "bike_hours.parquet").to_pandas()
X, rentals = table.drop(columns="rentals"), table["rentals"]

ledger = nolook.Ledger.create(FOLDER / "bikes.ledger", nolook.Budget(2.0, 1e-5), name="bikes")
lines = nolook.LinearRegression(epsilon=1.0).fit(X, rentals, ledger=ledger)
low, high = lines.coef_interval_[X.columns.get_loc("hour")]
print(f"one hour later, {low:.1f} to {high:.1f} more bicycles are rented")
print(f"R2 {lines.r2_:.3f}, from {lines.r2_interval_[0]:.3f} to {lines.r2_interval_[1]:.3f}")

# %%
# Curves
# ------
#
# The additive model costs the same and has the same options.

curves = nolook.AdditiveRegression(epsilon=1.0).fit(X, rentals, ledger=ledger)
print(f"R2 {curves.r2_:.3f}, from {curves.r2_interval_[0]:.3f} to {curves.r2_interval_[1]:.3f}")
for name, curve in zip(X.columns, curves.curves_, strict=True):
    print(f"{name}: {'a line' if curve.straight else 'a curve'}, {curve.share:.0%} of what varies")

# %%
# Heights are in bicycles, relative to the curve's mean. By hour of the day, all other columns held
# equal:

hour = curves.curves_[X.columns.get_loc("hour")]
hours = np.array([4.0, 8.0, 12.0, 18.0, 22.0])
for at, height in zip(hours, hour.at(hours), strict=True):
    print(f"at {at:2.0f} o'clock: {height:+.0f} bicycles")

# %%
# The picture shows the curves with 95 % bands of sampling and noise. The steps at the bottom show
# how the hours of the table are distributed. The report has one picture per column, those that
# explain most first.

curves.plot()
plt.show()

# %%
# ``monotone={"temperature": "up"}`` makes a curve that only rises, ``straight=["wind"]`` a line.
# Neither costs anything. A curve that cannot be distinguished from a line is drawn as a line.

ledger.close()

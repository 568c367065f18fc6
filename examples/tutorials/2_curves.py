"""
A distribution and a ROC curve
==============================

Release a column's distribution once, and read shares, quantiles and means from it repeatedly, at no
further cost. The same holds for the ROC curve of a score.
"""

# %%
# A distribution
# --------------
#
# The weight of 53,940 diamonds, in carats. No range is given, and none is needed.

from __future__ import annotations

import textwrap

import matplotlib.pyplot as plt
import numpy as np
import pyarrow.parquet as pq
from helpers.shell import DATA, FOLDER

import nolook

table = pq.read_table(DATA / "diamonds.parquet")

ledger = nolook.Ledger.create(FOLDER / "diamonds.ledger", nolook.Budget(2.0), name="diamonds")
weights = nolook.ECDF(epsilon=0.5).fit(table["carat"], ledger=ledger)
print(f"about {weights.rows_.value:.0f} rows (standard error {weights.rows_.error:.0f})")

# %%
# Every further question is free. Standard errors cover the noise and the sampling of rows.

for share in (0.1, 0.5, 0.9):
    print(f"{share:.0%} of the diamonds weigh up to {weights.quantile(share):.2f} carats")
share, error = weights.cdf(1.0, return_std=True)
print(f"up to one carat: {share:.4f} (standard error {error:.4f})")

# %%
# The steps show which weights sell: diamonds of half a carat, one carat, one and a half.

carats = np.linspace(0.2, 2.5, 400)
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(carats, weights.cdf(carats), color="#0b5fa5")
axes.set(xlabel="carats", ylabel="share of diamonds at most as heavy", ylim=(0, 1))
plt.show()

# %%
# A known range reduces the noise. It must be known without looking at the table, here from the
# weights that a jeweller's scale can measure.

finer = nolook.ECDF(epsilon=0.5, grid=nolook.LinearGrid(0, 10, 0.01))
finer.fit(table["carat"], ledger=ledger)
share, error = finer.cdf(1.0, return_std=True)
print(f"up to one carat: {share:.4f} (standard error {error:.4f})")

# %%
# A ROC curve
# -----------
#
# How well does the weight separate expensive diamonds from others? Any score will do, except the
# predictions of a model that was fitted to the same rows without privacy.

expensive = table["log_price"].to_numpy() > 8.0
curve = nolook.ROCCurve(epsilon=0.5).fit(table["carat"], expensive, ledger=ledger)
low, high = curve.auc_interval_
print(f"area under the curve {curve.auc_:.4f} (95 % interval {low:.4f} to {high:.4f})")
curve.plot()
plt.show()

# %%
# Any threshold can be tried, again at no further cost.

threshold = curve.threshold_at(fpr=0.05)
print(f"at most 5 % false positives: above {threshold:.2f} carats")
print(textwrap.fill(f"caution: {curve.caution}", 88))

# %%
# What is left
# ------------

print(f"epsilon left: {ledger.remaining.epsilon:g}")
ledger.close()

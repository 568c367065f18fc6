"""What are diamonds worth? A private model of prices, within a budget, and its report.

    python examples/diamonds.py [FOLDER]

writes a ledger, a model and an HTML report into FOLDER (default: the current one).
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import nolook
from nolook.report.reference_levels import contrasts

TABLE = Path(__file__).parent / "data" / "diamonds.parquet"
# Public knowledge, not read off the table. Each grade is compared with a common one, named first.
GRADES = {
    "cut": ["Ideal", "Premium", "Very Good", "Good", "Fair"],
    "color": ["G", "D", "E", "F", "H", "I", "J"],
    "clarity": ["SI1", "IF", "VVS1", "VVS2", "VS1", "VS2", "SI2", "I1"],
}


def in_words(ends):
    """Write an interval; the noise may hide one."""
    known = ends is not None and not math.isnan(ends[0])
    return f"{ends[0]:.3f} to {ends[1]:.3f}" if known else "not known"


def main():
    """Fit, print and save."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    # For everything ever released from this table.
    budget = nolook.Budget(epsilon=3.0, delta=1e-5)
    # The length in millimetres and the grades; the target is the logarithm of the price.
    features = ["x", *GRADES]
    table = nolook.read_table(TABLE, "log_price", features=features, categories=GRADES)
    model = nolook.LinearRegression(epsilon=1.0, delta=1e-6)
    with nolook.Ledger.create(folder / "diamonds.ledger", budget, name="diamonds") as ledger:
        model.fit(table, ledger=ledger)
        left = ledger.remaining
    fit = "not distinguishable from noise" if model.r2_ is None else f"{model.r2_:.3f}"
    print(f"R2 {fit}, interval {in_words(model.r2_interval_)}")
    compared = contrasts(model)
    rows = zip(table.feature_names, model.coef_, model.coef_interval_, strict=True)
    for name, slope, ends in rows:
        print(f"{compared.get(name, name):43s}{slope:8.3f}  ({in_words(ends)})")
    print(model.privacy_.in_words())
    print(f"left for later releases: epsilon {left.epsilon:g}, delta {left.delta:g}")
    nolook.save(model, folder / "diamonds.model.json")
    model.report(folder / "diamonds.html")


if __name__ == "__main__":
    main()

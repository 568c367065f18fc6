"""Which columns matter? A private choice of features, then a private model of them.

    python examples/selection.py [FOLDER]

writes a ledger into FOLDER (default: the current one). Selection and model share one budget.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nolook

TABLE = Path(__file__).parent / "data" / "diamonds_onehot_log.parquet"


def main():
    """Choose four of 26 columns, fit them, and print the model."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    table = nolook.read_table(TABLE, "target")
    model = nolook.PrivatePipeline(
        nolook.KendallSelector(4), nolook.LinearRegression(), epsilon=1.0, delta=1e-6, split=0.3
    )
    budget = nolook.Budget(epsilon=2.0, delta=1e-5)
    with nolook.Ledger.create(folder / "selection.ledger", budget, name="diamonds") as ledger:
        model.fit(table, ledger=ledger)
        left = ledger.remaining.epsilon
    for name, slope in zip(table.feature_names, model.coef_, strict=True):
        if slope:
            print(f"{name:14s}{slope:10.4f}")
    print("R2", "not distinguishable from noise" if model.r2_ is None else f"{model.r2_:.3f}")
    for event in model.privacy_.mechanisms:
        print(f"released: {event.name}")
    print(f"left for later releases: epsilon {left:g}")


if __name__ == "__main__":
    main()

"""Four private regressions of one table, all charged to one ledger.

    python examples/methods.py [FOLDER]

prints each method's coefficients and its predictions for three diamonds; the ledger goes into
FOLDER (default: the current one).
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

import nolook

TABLE = Path(__file__).parent / "data" / "diamonds_onehot_log.parquet"
FEATURES = ["carat", "x", "color_D", "clarity_IF"]

METHODS = {
    "linear": nolook.LinearRegression,
    "tukey": nolook.TukeyRegressor,
    "boosted AdaSSP": nolook.BoostedAdaSSPRegressor,
    "AdaSSP": nolook.AdaSSPRegressor,
}


def main():
    """Fit every method and print its model."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    budget = nolook.Budget(epsilon=4.0, delta=1e-5)
    table = nolook.read_table(TABLE, "target", features=FEATURES)
    # Made up, not taken from the table: half a carat to two carats, of average colour and clarity.
    columns = ([0.5, 1.0, 2.0], [5.1, 6.4, 8.1], [0, 0, 0], [0, 0, 0])
    diamonds = pa.table(dict(zip(FEATURES, columns, strict=True)))
    print(f"{'method':16s}" + "".join(f"{name:>12s}" for name in FEATURES) + "  log price")
    with nolook.Ledger.create(folder / "methods.ledger", budget, name="diamonds") as ledger:
        for name, method in METHODS.items():
            model = method(epsilon=1.0, delta=1e-6).fit(table, ledger=ledger)
            predicted = ", ".join(f"{value:.2f}" for value in model.predict(diamonds))
            print(f"{name:16s}" + "".join(f"{c:12.3f}" for c in model.coef_) + f"  {predicted}")
        print(f"left for later releases: epsilon {ledger.remaining.epsilon:g}")


if __name__ == "__main__":
    main()

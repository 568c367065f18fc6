"""Are a model's probabilities right? A private test, and a curve.

    python examples/calibration.py [FOLDER]

draws the curve into FOLDER (default: the current one). The model is a rule of thumb,
fitted to nothing: one fitted to these rows without privacy would void the guarantee.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow.parquet as pq

import nolook

TABLE = Path(__file__).parent / "data" / "diamonds_onehot_log.parquet"
EXPENSIVE = 8.0  # the logarithm of a price


def main():
    """Guess from its weight how likely a diamond is expensive, and test the guess."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    mpl.use("Agg")
    table = pq.read_table(TABLE)
    weight, expensive = table["carat"].to_numpy(), table["target"].to_numpy() > EXPENSIVE
    probabilities = 1 / (1 + np.exp(-10 * (weight - 0.85)))
    with nolook.Ledger.create(
        folder / "calibration.ledger", nolook.Budget(1.0), name="c"
    ) as ledger:
        test = nolook.HosmerLemeshow(epsilon=0.5).fit(probabilities, expensive, ledger=ledger)
        left = ledger.remaining.epsilon
    curve = test.calibration_curve()
    print("predicted  happened  error of the noise")
    for row in zip(curve.prob_pred, curve.prob_true, curve.errors, strict=True):
        print("{:9.3f}  {:8.3f}  {:.3f}".format(*row))
    print(f"Hosmer-Lemeshow {test.statistic_:.0f}, p-value {test.p_value_:g}")
    print(f"caution: {test.caution}")
    print(f"left for later releases: epsilon {left:g}")
    test.plot().figure.savefig(folder / "calibration.png")


if __name__ == "__main__":
    main()

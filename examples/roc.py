"""How good is a model, on confidential rows? A private ROC curve of its scores.

    python examples/roc.py [FOLDER]

draws the curve into FOLDER (default: the current one). The model is a rule of thumb,
fitted to nothing: one fitted to these rows without privacy would void the guarantee.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pyarrow.parquet as pq

import nolook

TABLE = Path(__file__).parent / "data" / "diamonds_onehot_log.parquet"
EXPENSIVE = 8.0  # the logarithm of a price


def main():
    """Score diamonds by their weight, and release how well that finds the expensive ones."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    mpl.use("Agg")
    table = pq.read_table(TABLE)
    scores, expensive = table["carat"], table["target"].to_numpy() > EXPENSIVE
    with nolook.Ledger.create(folder / "roc.ledger", nolook.Budget(1.0), name="roc") as ledger:
        curve = nolook.ROCCurve(epsilon=0.5).fit(scores, expensive, ledger=ledger)
        left = ledger.remaining.epsilon
    low, high = curve.auc_interval_
    print(f"AUC {curve.auc_:.4f}, with the noise from {low:.4f} to {high:.4f}")
    print(f"up to a false positive rate of 0.1: {curve.partial_auc(0.1):.4f}")
    print(f"at most 5 % false positives: above {curve.threshold_at(fpr=0.05):.2f}")
    print(f"at least 90 % found: above {curve.threshold_at(tpr=0.9):.2f}")
    print(f"caution: {curve.caution}")
    print(f"left for later releases: epsilon {left:g}")
    curve.plot().figure.savefig(folder / "roc.png")


if __name__ == "__main__":
    main()

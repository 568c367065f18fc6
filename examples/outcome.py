"""Who opens a deposit? Columns, a model of them and how good it is, within one private budget.

    python examples/outcome.py [FOLDER]

writes a ledger, a model and two HTML reports into FOLDER (default: the current one).
"""

from __future__ import annotations

import sys
from pathlib import Path

import nolook
from nolook.formats.findings_file import Scored

TABLE = Path(__file__).parent / "data" / "bank_marketing.parquet"
METHOD = nolook.LogisticRegression()


def main():
    """Select, fit, evaluate, print and save."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    table = nolook.read_table(TABLE, "target", positive="1")
    model = nolook.PrivatePipeline(
        nolook.MomentSelector(8), METHOD, epsilon=1.0, delta=1e-6, split=0.3
    )
    budget = nolook.Budget(epsilon=2.0, delta=1e-5)
    with nolook.Ledger.create(folder / "bank.ledger", budget, name="bank") as ledger:
        model.fit(table, ledger=ledger)
        found = nolook.evaluate(model, table, epsilon=0.5, ledger=ledger)
        left = ledger.remaining.epsilon
    chosen = [name for name, kept in zip(table.feature_names, model.support_, strict=True) if kept]
    print("chosen:", ", ".join(chosen))
    for name, value, ends in (
        ("AUC", found.roc.auc_, found.roc.auc_interval_),
        ("average precision", found.roc.average_precision_, found.roc.average_precision_interval_),
        ("base rate", found.roc.base_rate_, found.roc.base_rate_interval_),
    ):
        print(f"{name} {value:.3f}, with the noise from {ends[0]:.3f} to {ends[1]:.3f}")
    if found.calibration is None:
        print("calibration: not tested, the model gives no probabilities")
    else:
        print(f"calibration: p-value {found.calibration.p_value_:.3g}")
    print(f"left for later releases: epsilon {left:g}")
    nolook.save(model, folder / "bank.model.json")
    model.report(folder / "bank.model.html")
    found.roc.scored_ = Scored("bank.model.json", "target", "1")
    found.report(folder / "bank.evaluation.html")


if __name__ == "__main__":
    main()

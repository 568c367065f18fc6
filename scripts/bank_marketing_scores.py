"""Write examples/data/bank_marketing_scores.parquet: scores of customers the model never saw.

A logistic regression is fitted to the other rows of the table and scores 2,000 rows kept aside.
Needs the shared tables beside the project.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT.parent / "shared" / "data" / "bank_marketing.parquet"
OUTPUT = ROOT / "examples" / "data" / "bank_marketing_scores.parquet"
OWNERS = 2000


def main():
    """Fit, score and write."""
    frame = pd.read_parquet(TABLE).astype(float)
    X, y = frame.drop(columns="target").to_numpy(), frame["target"].to_numpy() == 1
    aside = np.zeros(len(y), dtype=bool)
    aside[np.random.default_rng(0).permutation(len(y))[:OWNERS]] = True
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(X[~aside], y[~aside])
    scores = np.round(model.predict_proba(X[aside])[:, 1], 4)
    table = pa.table({"score": scores, "deposit": y[aside].astype(np.int8)})
    pq.write_table(table, OUTPUT, compression="zstd")


if __name__ == "__main__":
    main()

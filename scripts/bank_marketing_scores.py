"""Write examples/data/bank_marketing.parquet and bank_marketing_scores.parquet.

The first is the whole table. For the second a logistic regression is fitted to all rows but 2,000,
and scores these, which it never saw. Needs the shared tables beside the project.
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
FOLDER = ROOT / "examples" / "data"
OWNERS = 2000


def main():
    """Fit, score and write."""
    whole = pq.read_table(TABLE).replace_schema_metadata()
    pq.write_table(whole, FOLDER / TABLE.name, compression="zstd", compression_level=19)
    frame = pd.read_parquet(TABLE).astype(float)
    X, y = frame.drop(columns="target").to_numpy(), frame["target"].to_numpy() == 1
    aside = np.zeros(len(y), dtype=bool)
    aside[np.random.default_rng(0).permutation(len(y))[:OWNERS]] = True
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(X[~aside], y[~aside])
    scores = np.round(model.predict_proba(X[aside])[:, 1], 4)
    table = pa.table({"score": scores, "deposit": y[aside].astype(np.int8)})
    pq.write_table(table, FOLDER / "bank_marketing_scores.parquet", compression="zstd")


if __name__ == "__main__":
    main()

"""The tasks with Tumult Analytics: queries of Spark tables within a session's budget."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession
from tasks import (
    CARAT,
    CARATS,
    CLASSES,
    CUT,
    CUTS,
    EPSILON,
    EXPENSIVE,
    PROBABILITIES,
    auc_of_counts,
    class_of,
    measure,
)
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

# Spark's own processes need the same packages.
os.environ["PYSPARK_PYTHON"] = sys.executable
SPARK = (
    SparkSession.builder.master("local[1]")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
SPARK.sparkContext.setLogLevel("ERROR")
CODES = class_of(CARAT) + CLASSES * EXPENSIVE
DIAMONDS = SPARK.createDataFrame(
    list(zip(CARAT.tolist(), CUT, CODES.tolist(), strict=True)),
    "carat double, cut string, code int",
).cache()


def ask(*queries):
    """Share the budget among queries; return each one's rows."""
    session = Session.from_dataframe(
        PureDPBudget(EPSILON), "diamonds", DIAMONDS, protected_change=AddOneRow()
    )
    share = PureDPBudget(EPSILON / len(queries))
    return [session.evaluate(query, share).collect() for query in queries]


def rows():
    """Count the rows."""
    return ask(QueryBuilder("diamonds").count())[0][0][0]


def mean():
    """Average what lies in the range."""
    return ask(QueryBuilder("diamonds").average("carat", *CARATS))[0][0][0]


def quartiles():
    """Ask for three quantiles, a third of the budget each."""
    queries = [QueryBuilder("diamonds").quantile("carat", p, *CARATS) for p in PROBABILITIES]
    return [rows[0][0] for rows in ask(*queries)]


def groups():
    """Count the rows of each cut."""
    (rows,) = ask(QueryBuilder("diamonds").groupby(KeySet.from_dict({"cut": CUTS})).count())
    counts = {row["cut"]: row["count"] for row in rows}
    return [counts[cut] for cut in CUTS]


def auc():
    """Count the classes of scores, expensive diamonds apart from others."""
    keys = KeySet.from_dict({"code": list(range(2 * CLASSES))})
    (rows,) = ask(QueryBuilder("diamonds").groupby(keys).count())
    counts = {row["code"]: row["count"] for row in rows}
    in_order = [counts[code] for code in range(2 * CLASSES)]
    return auc_of_counts(in_order[CLASSES:], in_order[:CLASSES])


measure(
    {
        "rows": (rows, ""),
        "mean": (mean, "range"),
        "quartiles": (quartiles, "range"),
        "groups": (groups, ""),
        "auc": (auc, "range, classes; curve by hand"),
    },
    runs=5,
)

"""A real session of Spark for the tests: two workers, little memory, four attempts a task."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

#: Attempts of a task before the job fails.
ATTEMPTS = 4


def start():
    """Return a session whose workers can import nolook and these tests."""
    root = Path(__file__).parents[2]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions of pandas
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(f"local[2,{ATTEMPTS}]").appName("tests")
        for key, value in {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "512m",
            "spark.driver.bindAddress": "127.0.0.1",
            # Short jobs: a compiler that optimises costs more than it saves.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.python.daemon.module": "tests.tables.spark_daemon",
            "spark.sql.shuffle.partitions": "3",
            "spark.log.level": "OFF",
            "spark.ui.showConsoleProgress": "false",
        }.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

"""What starts Spark's Python workers in tests: they skip the search for garbage after each task.

It would go through every module that is loaded, which takes longer than most tasks here.
"""

from __future__ import annotations

import gc
from functools import partial

from pyspark import daemon

if __name__ == "__main__":
    gc.collect = partial(gc.collect, 0)
    daemon.manager()

"""Kernels that are compiled at their first call: where nothing can be kept, and on the way."""

from __future__ import annotations

import pickle
import sys

from nolook.kernels.histogram import _count_magnitudes
from tests.report.command import run_python_script


def test_without_a_folder_to_keep_it_in_a_kernel_is_compiled_each_time(tmp_path):
    program = (
        "import numpy as np\nfrom numba.core import caching\n"
        "caching.CacheImpl._locator_classes = []\n"
        "from nolook._compiled import compiled\n"
        "@compiled\ndef twice(x):\n    return 2 * x\n"
        "print(twice(np.arange(3)))\n"
    )
    done = run_python_script([sys.executable, "-c", program], cwd=tmp_path, env=None)
    assert done.out == "[0 2 4]\n", done


def test_a_kernel_travels_by_its_name():
    assert pickle.loads(pickle.dumps(_count_magnitudes)) is _count_magnitudes

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import threadpoolctl

from nolook import _numerics
from nolook._numerics import undisturbed


def blas_threads():
    """Return how many threads each BLAS library may use that can use several."""
    found = threadpoolctl.ThreadpoolController().select(user_api="blas").info()
    several = [one for one in found if one.get("threading_layer") != "disabled"]
    assert several
    return {library["num_threads"] for library in several}


@pytest.fixture(autouse=True)
def _two_threads():
    """Two BLAS threads, however many processors there are."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        yield
        assert blas_threads() == {2}


class Visitor:
    """A thread that enters and leaves when told."""

    def __init__(self):
        self._steps = [threading.Event(), threading.Event(), threading.Event()]
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        with undisturbed():
            self._steps[0].set()
            assert self._steps[1].wait(30)
        self._steps[2].set()

    def enter(self):
        self._thread.start()
        assert self._steps[0].wait(30)

    def leave(self):
        self._steps[1].set()
        assert self._steps[2].wait(30)
        self._thread.join(30)


def test_inside_no_floating_point_error_is_raised_and_settings_return():
    with np.errstate(all="raise"):
        with undisturbed():
            assert np.divide(np.array([1.0, 0.0, 5e-324]), 0.0)[0] == np.inf
            assert (np.array([5e-324]) / 2)[0] == 0.0
        with pytest.raises(FloatingPointError, match="underflow"):
            _ = np.array([5e-324]) / 2


def test_blas_has_one_thread_inside_and_what_it_had_afterwards():
    with undisturbed():
        assert blas_threads() == {1}
        with undisturbed():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_an_exception_restores_all():
    before = np.geterr()
    with pytest.raises(KeyError), undisturbed():
        raise KeyError
    assert blas_threads() == {2}
    assert np.geterr() == before


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_last_of_two_threads_restores_the_limits(order):
    visitors = [Visitor(), Visitor()]
    for visitor in visitors:
        visitor.enter()
        assert blas_threads() == {1}
    visitors[order[0]].leave()
    assert blas_threads() == {1}
    visitors[order[1]].leave()
    assert blas_threads() == {2}


def test_a_thread_that_set_limits_before_does_not_keep_others_from_it():
    with undisturbed():
        pass
    visitor = Visitor()
    visitor.enter()
    assert blas_threads() == {1}
    visitor.leave()


def test_another_thread_keeps_its_error_state():
    visitor = Visitor()
    visitor.enter()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        _ = np.array([5e-324]) / 2
    visitor.leave()


def test_libraries_are_searched_for_only_after_something_was_imported(monkeypatch):
    with undisturbed():
        pass
    searches = []
    real = _numerics.ThreadpoolController
    monkeypatch.setattr(_numerics, "ThreadpoolController", lambda: searches.append(1) or real())
    for _ in range(3):
        with undisturbed():
            pass
    assert not searches
    monkeypatch.setitem(sys.modules, "imported_just_now", threading)
    for _ in range(3):
        with undisturbed():
            assert blas_threads() == {1}
    assert len(searches) == 1


def test_a_library_loaded_later_is_limited_too():
    program = (
        "from nolook._numerics import undisturbed\n"
        "import threadpoolctl\n"
        "with undisturbed():\n"
        "    pass\n"
        "first = threadpoolctl.ThreadpoolController().select(user_api='blas').lib_controllers\n"
        "import scipy.linalg\n"
        "later = threadpoolctl.ThreadpoolController().select(user_api='blas').lib_controllers\n"
        "for library in later:\n"
        "    library.set_num_threads(2)\n"
        "with undisturbed():\n"
        "    assert [library.num_threads for library in later] == [1] * len(later)\n"
        "assert [library.num_threads for library in later] == [2] * len(later)\n"
        "print(len(first), len(later))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    first, later = map(int, done.stdout.split())
    if later == first:
        pytest.skip("NumPy and SciPy share one BLAS library here")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_child_forked_while_another_thread_enters_can_enter_too():
    program = (
        "import os, signal, threading\n"
        "from nolook import _numerics\n"
        "inside, forked = threading.Event(), threading.Event()\n"
        "search = _numerics._process_wide\n"
        "def slow():\n"
        "    inside.set()\n"
        "    forked.wait(30)\n"
        "    return search()\n"
        "def enter():\n"
        "    with _numerics.undisturbed():\n"
        "        pass\n"
        "_numerics._process_wide = slow\n"
        "thread = threading.Thread(target=enter)\n"
        "thread.start()\n"
        "inside.wait(30)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    signal.alarm(10)\n"
        "    forked.set()\n"
        "    enter()\n"
        "    os._exit(0)\n"
        "forked.set()\n"
        "thread.join()\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

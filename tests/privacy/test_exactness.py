"""The list of all places where randomness decides something private is complete and up to date."""

from __future__ import annotations

import importlib.util
import shutil
import sys

import pytest

from nolook.privacy import noise
from tests.conftest import ROOT
from tests.privacy.mechanisms import MECHANISMS

PACKAGE = ROOT / "src" / "nolook"


@pytest.fixture(scope="module")
def exactness():
    spec = importlib.util.spec_from_file_location("exactness", ROOT / "scripts" / "exactness.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["exactness"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(exactness):
    return exactness.collect(PACKAGE)


@pytest.fixture
def copy(tmp_path):
    """A small part of the package, in which nothing is wrong."""
    target = tmp_path / "nolook"
    shutil.copytree(PACKAGE / "privacy", target / "privacy")
    for folder in ("algorithms", "app", "estimators", "kernels", "report", "statistics"):
        (target / folder).mkdir()
    for name in (
        "algorithms/row_count_bound.py",
        "algorithms/row_count_bound.md",
        "app/guards.py",
        "estimators/releasing.py",
    ):
        shutil.copy(PACKAGE / name, target / name)
    return target


def test_the_small_part_is_clean_and_has_another_page(exactness, copy, capsys):
    assert exactness.collect(copy).problems == []
    assert exactness.main(["--check", "--package", str(copy)]) == 1
    assert "not up to date" in capsys.readouterr().err


def test_every_place_has_its_argument_and_the_page_is_up_to_date(exactness, found):
    assert found.problems == []
    written = (ROOT / "docs" / "exactness.md").read_text(encoding="utf-8")
    assert written == exactness.page(found), "run python scripts/exactness.py"


@pytest.mark.parametrize("known", ["tukey_em.published_tukey", "summed_ecdf.SummedQuery"])
def test_every_place_outside_the_package_has_its_argument(exactness, known):
    found = [exactness.collect(folder, PACKAGE) for folder in exactness.OUTSIDE]
    assert [problem for each in found for problem in each.problems] == []
    places = {place.key for each in found for place in each.places}
    assert any(place.startswith(known) for place in places)


def test_all_samplers_and_mechanisms_are_among_the_places(found):
    called = {name for place in found.places for name in place.callees}
    # Found by other means than the script's: by what the modules say they offer.
    samplers = {name for name in noise.__all__ if name.islower()} - {"byte_source", "derived_key"}
    assert samplers <= called
    assert {name.rpartition(".")[2] for name in MECHANISMS} <= called


PLANTED = {
    "a call without an argument": (
        "algorithms/sneaky.py",
        "from nolook.privacy.noise import geometric\n\n\ndef f(s):\n    geometric(1.0, 1, s)\n",
        "sneaky.py: f calls geometric; no argument",
    ),
    "under another name": (
        "algorithms/sneaky.py",
        "from nolook.privacy.noise import geometric as plain\n\nX = {'a': plain}\n",
        "sneaky.py: X calls geometric; no argument",
    ),
    "a mechanism": (
        "estimators/sneaky.py",
        "from nolook.privacy.mechanisms.laplace import laplace_release as f\n\nf(0, 1, 1.0, 0)\n",
        "sneaky.py: module calls laplace_release; no argument",
    ),
    "the bits themselves": (
        "kernels/sneaky.py",
        "class A:\n    def f(self, source):\n        return source.words(3)\n",
        "sneaky.py: A.f calls words; no argument",
    ),
    "a new mechanism": (
        "privacy/mechanisms/sneaky.py",
        "def other(source):\n    pass\n\n\ndef f(source):\n    other(source)\n",
        "sneaky.py: f calls other; no argument",
    ),
    "a module as a whole": (
        "algorithms/sneaky.py",
        "from nolook.privacy import noise\n",
        "imports nolook.privacy.noise as a whole",
    ),
    "everything in a module": (
        "algorithms/sneaky.py",
        "from nolook.privacy.noise import *\n",
        "imports nolook.privacy.noise as a whole",
    ),
    "NumPy": (
        "algorithms/sneaky.py",
        "import numpy as np\n\n\ndef f():\n    return np.random.default_rng().normal()\n",
        "takes random numbers from numpy.random",
    ),
    "the standard library": (
        "report/sneaky.py",
        "from random import gauss\n",
        "takes random numbers from random.gauss",
    ),
    "the operating system": (
        "statistics/sneaky.py",
        "import os\n\n\ndef f():\n    return os.urandom(8)\n",
        "takes random numbers from os.urandom",
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_what_is_hidden_is_found(exactness, copy, case):
    file, text, message = PLANTED[case]
    (copy / file).write_text(text, encoding="utf-8")
    problems = exactness.collect(copy).problems
    assert any(message in problem for problem in problems), problems


def test_a_place_that_is_gone_is_found(exactness, copy):
    module = copy / "algorithms" / "row_count_bound.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace("(laplace_release(", "(print("), encoding="utf-8")
    assert any("no such place" in problem for problem in exactness.collect(copy).problems)


def test_an_argument_is_for_what_is_called_there(exactness, copy):
    module = copy / "algorithms" / "row_count_bound.py"
    text = module.read_text(encoding="utf-8").replace("laplace_release", "gaussian_release")
    module.write_text(text.replace("mechanisms.laplace", "mechanisms.gaussian"), encoding="utf-8")
    problems = exactness.collect(copy).problems
    assert any("calls gaussian_release; no argument" in problem for problem in problems)

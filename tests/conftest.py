"""Fixtures for what lies outside the repository: the shared tables and a browser."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

from tests.entropy.sitecustomize import CHOSEN, Entropy

# A busy machine is not a failure, and without NOLOOK_NOISE the same examples are tried every time.
LONG = os.environ.get("NOLOOK_LONG", "") not in {"", "0"}
settings.register_profile(
    "nolook",
    max_examples=1000 if LONG else 15,
    deadline=None,
    derandomize=not CHOSEN,
    database=None,
    print_blob=True,
)
settings.load_profile("nolook")
# Numba keeps what it has compiled beside the sources; bytecode is kept there too, also by the many
# processes that tests start, each of which would compile the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Idle BLAS threads wait in a busy loop, which takes the time of other workers. This is read when
# NumPy is imported. A release has one thread anyway; tests that need two say so.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Where these are set, pytest compares values that differ line by line, which takes minutes for a
# few hundred numbers, also in tests that expect the difference.
for name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(name, None)
# A ledger that somebody works with is not for tests.
os.environ.pop("NOLOOK_LEDGER", None)

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


class RepeatedNoise:
    """Each test draws the same noise in every run, and so does each fixture that tests share."""

    def __init__(self) -> None:
        self._entropy = Entropy()
        self._entropy.install()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        fresh = item.get_closest_marker("fresh_noise")
        with self._entropy.of(None if fresh else item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        if fixturedef.scope == "function":
            return (yield)
        index = getattr(request, "param_index", 0)
        with self._entropy.of(f"{fixturedef.baseid} {fixturedef.argname} {index}"):
            return (yield)


def pytest_configure(config):
    """Repeat the noise of every test, also of those outside this folder."""
    if CHOSEN != "fresh":
        config.pluginmanager.register(RepeatedNoise())


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Search tests for garbage neither while they are collected nor later: they stay.

    And all that lives long a tenth as often: modules and shared fixtures become more and more.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*gc.get_threshold()[:2], 100)
        gc.enable()


def pytest_sessionfinish():
    """Thaw them: DuckDB reports frozen cycles as leaks."""
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Look for examples in docstrings of the package alone: none of tests."""
    found = yield
    return [each for each in found if type(each) is pytest.Module]


def skip_or_fail(reason: str) -> NoReturn:
    """Skip, but fail where everything must be there (NOLOOK_REQUIRE_ALL is set)."""
    if os.environ.get("NOLOOK_REQUIRE_ALL", "") not in {"", "0"}:
        pytest.fail(f"{reason}, and NOLOOK_REQUIRE_ALL is set")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def demo_table(project_root: Path) -> Path:
    """The table shipped with the repository; its target is the column `target`."""
    return project_root / "examples" / "data" / "diamonds_onehot_log.parquet"


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Give the path of a shared table by its file name; skip where it is not there."""

    def path_of(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.is_file():
            skip_or_fail(f"needs the table {name} in ../shared/data")
        return path

    return path_of


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium executable; skip where there is none."""
    for browser in BROWSERS:
        found = shutil.which(browser)
        if found:
            return found
    skip_or_fail("needs Chromium")


@pytest.fixture
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pass read the table anew, as if it were a long one."""
    monkeypatch.setattr("nolook.tables.folding.CACHE_BYTES", 0)


@pytest.fixture
def few_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate intervals and p-values a tenth as often, where it matters not how good they are."""
    from nolook.algorithms import calibration_table, group_tests, roc_curve, survival

    for module in (calibration_table, group_tests, roc_curve, survival):
        monkeypatch.setattr(module, "_REPEATS", module._REPEATS // 10)
    monkeypatch.setattr(roc_curve, "_MOST_REPEATS", roc_curve._MOST_REPEATS // 10)


@pytest.fixture
def open_ledger(tmp_path: Path) -> Callable[..., object]:
    """Open a new ledger with a budget, for the relation of a release."""
    from nolook import Ledger
    from tests.ledgers import new_ledger

    return lambda *of: Ledger(new_ledger(tmp_path / "a.ledger", *of))


@pytest.fixture
def costs_nothing(open_ledger: Callable[..., object]) -> Callable[..., str]:
    """Check that a call is refused in one line and leaves the ledger it is given as it is."""
    from nolook import ParameterError
    from tests.ledgers import ENOUGH

    def check(
        call: Callable[..., object],
        match: str,
        error: type[Exception] = ParameterError,
        relation: str = "add-remove",
    ) -> str:
        with open_ledger(ENOUGH, relation) as ledger:
            with pytest.raises(error, match=match) as caught:
                call(ledger=ledger)
            assert ledger.history() == ()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return check


@pytest.fixture
def replace(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, object], None]:
    """Put something else in the place of a function, wherever the package names it."""

    def put(module: str, name: str, other: object) -> None:
        ordinary = getattr(importlib.import_module(module), name)
        for each in [each for key, each in sys.modules.items() if key.startswith("nolook.")]:
            if vars(each).get(name) is ordinary:
                monkeypatch.setattr(each, name, other)

    return put


@functools.cache
def commands_of(app: object) -> object:
    """Return the commands of an app, which Typer makes anew for each call: most of its time."""
    from typer.main import get_command

    return get_command(app)


@pytest.fixture
def cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> Callable[..., object]:
    """Run the command line in this process and a folder of its own; a warning is an error."""
    import nolook.cli
    from tests.report.command import Result

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(nolook.cli, "_silence_libraries", lambda: None)
    monkeypatch.setattr(nolook.cli, "get_command", commands_of)

    def call(*words: object) -> object:
        status = nolook.cli._run([str(word) for word in words])
        return Result(status, *capsys.readouterr())

    return call

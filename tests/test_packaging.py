from __future__ import annotations

import ast
import importlib
import itertools
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import nolook

HEAVY = (
    "dp_accounting",
    "jinja2",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "sklearn",
)


def run(*command, **kwargs):
    """Run a command and return what it printed; its errors are shown if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **kwargs,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(project_root, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--wheel", "--no-isolation", "--outdir", folder)
    run(sys.executable, "-m", "build", *options, project_root, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def clean_python(wheel, tmp_path_factory) -> Path:
    """A new environment's interpreter: nolook from the wheel, its dependencies from here."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    install = ("install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel)
    run(sys.executable, "-m", "pip", "--python", python, *install)
    # A path file adds the folder only: the editable install of nolook in it stays unseen.
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site_packages,) = folder.glob("lib/python3*/site-packages")
    (site_packages / "dependencies.pth").write_text("\n".join(sorted(paths)) + "\n")
    return python


def test_the_wheel_holds_the_whole_package(wheel, project_root):
    source = project_root / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "nolook").rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    assert "nolook/py.typed" in expected
    assert expected <= set(zipfile.ZipFile(wheel).namelist())


def test_the_source_archive_holds_what_tests_and_documents_use(project_root, tmp_path):
    options = ("--sdist", "--no-isolation", "--outdir", tmp_path)
    run(sys.executable, "-m", "build", *options, project_root, cwd=tmp_path)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        held = {name.partition("/")[2] for name in files.getnames()}
    for folder in ("benchmarks", "contrib", "examples", "scripts", "src", "tests"):
        found = {
            path.relative_to(project_root).as_posix()
            for ending in ("py", "pyi", "md", "parquet")
            for path in (project_root / folder).rglob(f"*.{ending}")
        }
        assert found
        assert found <= held


@pytest.mark.slow  # `make test-install` tries more
def test_the_wheel_runs_in_a_clean_environment(clean_python, tmp_path):
    where = run(clean_python, "-c", "import nolook; print(nolook.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(clean_python.parents[1])
    command = clean_python.with_name("nolook")
    printed = run(command, "--help", cwd=tmp_path)
    for name in ("fit", "predict", "ledger"):
        assert name in printed
    assert nolook.__version__ in run(command, "--version", cwd=tmp_path)


def test_help_imports_nothing_numeric():
    program = (
        "import sys\n"
        "sys.argv = ['nolook', '--help']\n"
        "from nolook.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as stop:\n"
        "    assert not stop.code\n"
        f"print('loaded:', sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    printed = run(sys.executable, "-c", program)
    assert "fit" in printed
    assert printed.splitlines()[-1] == "loaded: []"


def test_the_check_for_imports_notices_one():
    loaded = f"import sys, numpy; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    assert "numpy" in run(sys.executable, "-c", loaded)


def test_import_nolook_is_light_and_lists_its_names():
    program = (
        "import sys, nolook\n"
        "assert set(nolook.__all__) <= set(dir(nolook))\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    assert run(sys.executable, "-c", program).strip() == "[]"


@pytest.mark.parametrize("name", nolook.__all__)
def test_every_public_name_loads(name):
    assert getattr(nolook, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"nolook.*no attribute 'LinearRegresion'"):
        _ = nolook.LinearRegresion


def test_type_checkers_are_told_where_the_names_really_come_from():
    stub = Path(nolook.__file__).with_suffix(".pyi")
    told = {
        alias.asname: statement.module
        for statement in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert told == nolook._HOMES
    assert sorted(told) == sorted(nolook.__all__)
    for name, module in told.items():
        home = importlib.import_module(module)
        assert name in getattr(home, "__all__", vars(home))


# Each project, and the extras and the group of dependencies that its requirements.txt pins.
LOCKED = [
    (".", {"app", "databases", "federated", "files", "pandas", "plot", "polars", "spark"}, "dev"),
    ("contrib/flower", set(), "test"),
]


@pytest.mark.parametrize("folder", [folder for folder, _, _ in LOCKED])
def test_requirements_are_pinned_with_hashes_and_name_no_index(project_root, folder):
    text = (project_root / folder / "requirements.txt").read_text(encoding="utf-8")
    entries = text.replace("\\\n", " ").splitlines()
    assert len(entries) > 50
    for entry in entries:
        assert re.match(r"[a-z0-9][a-z0-9.-]*==\S+ .*--hash=sha256:[0-9a-f]{64}", entry), entry
    assert "://" not in text
    assert "index" not in text


@pytest.mark.parametrize(("folder", "extras", "group"), LOCKED)
def test_every_dependency_is_pinned(project_root, folder, extras, group):
    text = (project_root / folder / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)
    optional = project["project"].get("optional-dependencies", {})
    assert set(optional) == extras
    wanted = [
        *project["project"]["dependencies"],
        *itertools.chain.from_iterable(optional[extra] for extra in extras),
        *project["dependency-groups"][group],
        *project["build-system"]["requires"],
    ]
    text = (project_root / folder / "requirements.txt").read_text(encoding="utf-8")
    pinned = {line.split("==")[0] for line in text.splitlines() if "==" in line}
    assert {re.split(r"[<>=~!\[]", entry)[0] for entry in wanted} - {"nolook"} <= pinned

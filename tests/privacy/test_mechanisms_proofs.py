from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_proofs.py"
UNREAD = "# A proof\n\n| Source | SHA-256 |\n| --- | --- |\n| `{}` | `` |\n"


@pytest.fixture(scope="module")
def check_proofs():
    spec = importlib.util.spec_from_file_location("check_proofs", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path):
    """A package with one mechanism and its proof, not stamped yet."""
    mechanisms = tmp_path / "privacy" / "mechanisms"
    mechanisms.mkdir(parents=True)
    (mechanisms / "__init__.py").write_text("")
    (mechanisms / "some.py").write_text("x = 1\n")
    (mechanisms / "some.md").write_text(UNREAD.format("some.py"))
    for name in ("noise", "_compare", "_refine"):
        (tmp_path / "privacy" / f"{name}.py").write_text("")
        (tmp_path / "privacy" / f"{name}.md").write_text(UNREAD.format(f"{name}.py"))
    return tmp_path


def test_the_proofs_of_this_room_are_up_to_date(check_proofs):
    room = [line for line in check_proofs.problems(check_proofs.PACKAGE) if "privacy/" in line]
    assert room == []


def test_a_proof_is_stale_until_stamped_and_after_a_change(check_proofs, package, capsys):
    run = ["--package", str(package)]
    proofs = sorted(str(path) for path in package.rglob("*.md"))
    assert check_proofs.main(run) == 1
    assert "some.py has changed since this proof was read" in capsys.readouterr().err
    assert check_proofs.main([*run, "--stamp", *proofs]) == 0
    source = package / "privacy" / "mechanisms" / "some.py"
    source.write_text("x = 2\n")
    assert check_proofs.main(run) == 1
    # Stamping another proof leaves this one stale.
    others = [path for path in proofs if "some" not in path]
    assert check_proofs.main([*run, "--stamp", *others]) == 1
    source.write_text("x = 1\n")
    assert check_proofs.main(run) == 0


def test_a_mechanism_without_proof_is_reported(check_proofs, package, capsys):
    proofs = sorted(str(path) for path in package.rglob("*.md"))
    (package / "privacy" / "mechanisms" / "new.py").write_text("")
    assert check_proofs.main(["--package", str(package), "--stamp", *proofs]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["privacy/mechanisms/new.py: has no proof; write one beside it"]


def test_a_proof_of_a_file_that_is_gone_is_reported(check_proofs, package):
    (package / "privacy" / "mechanisms" / "some.py").unlink()
    assert "privacy/mechanisms/some.md: there is no some.py" in check_proofs.problems(package)
